//! Tables of requests in bytes that are not whole sectors.

use super::columns::NamedColumn;
use super::numbers::Numbers;
use super::table::Table;
use crate::read::foreign::awk;
use crate::read::formats::Head;
use crate::read::formats::mapping::cells_of;
use ssd_core::metrics::numbers::count;
use ssd_core::units::SECTOR_BYTES;

/// The lines of a table with requests extended to whole sectors.
pub(crate) struct ExtendedTable {
    pub(crate) lines: Vec<Vec<u8>>,
    requests: usize,
    /// Requests that are not whole sectors.
    unaligned: usize,
    /// The filter that extends them; `None` if awk would split the cells differently.
    pub(crate) filter: Option<String>,
}

impl ExtendedTable {
    /// Extends the `table` with addresses and lengths in these columns, counted from 1; returns `None` if all requests
    /// are whole sectors.
    pub(crate) fn of(table: &awk::Table<'_>, offset: usize, size: usize) -> Option<ExtendedTable> {
        let (mut requests, mut unaligned) = (0, 0);
        let lines = table.lines.iter().enumerate().map(|(above, line)| {
            let mut cells = cells_of(line);
            let request = range_of(&cells, offset, size).filter(|_| above >= table.names);
            requests += usize::from(request.is_some());
            let sectors = request.and_then(|request| Some((request, whole_sectors(request)?)));
            let Some((_, (start, length))) =
                sectors.filter(|(request, sectors)| request != sectors)
            else {
                return line.to_vec();
            };
            unaligned += 1;
            (cells[offset - 1], cells[size - 1]) = (start.to_string(), length.to_string());
            joined(&cells, table.separator)
        });
        let lines = lines.collect();
        let statement = format!(
            "e = ${offset} + ${size}; ${offset} -= ${offset} % 512; ${size} = int((e - ${offset} + 511) / 512) * 512"
        );
        let filter = table.filter("", &statement, Some(0));
        (unaligned > 0).then_some(ExtendedTable { lines, requests, unaligned, filter })
    }

    /// Extends the table in `head`; returns `None` unless its columns have the names of a request and `is_meant`
    /// accepts their units and numbers.
    fn of_names(
        head: &Head<'_>,
        is_meant: impl Fn([Option<&str>; 2], &Numbers) -> bool,
    ) -> Option<ExtendedTable> {
        let table = Table::of(head).filter(|table| !table.columns.is_end)?;
        let (offset, size) = (&table.columns.offset, &table.columns.size);
        if !is_meant([offset.unit, size.unit], &table.numbers()?) {
            return None;
        }
        let Table { separator, line: names, .. } = table;
        let lines = awk::Table { separator, lines: head.lines, names };
        ExtendedTable::of(&lines, offset.at + 1, size.at + 1)
    }

    /// Extends the table in `head` if its column names say that addresses and lengths are in bytes.
    pub(crate) fn of_named_bytes(head: &Head<'_>) -> Option<ExtendedTable> {
        ExtendedTable::of_names(head, |units, _| units == [Some("B"); 2])
    }

    /// Extends the table in `head` if its column names state no units, and its numbers are more likely bytes than
    /// sectors.
    pub(crate) fn of_open_units(head: &Head<'_>) -> Option<ExtendedTable> {
        ExtendedTable::of_names(head, |units, numbers| {
            units == [None; 2] && numbers.may_be_records()
        })
    }

    /// Returns whether no request is whole sectors.
    pub(crate) fn are_all(&self) -> bool {
        self.unaligned == self.requests
    }

    /// Returns a text such as "24 of the first 24 requests".
    pub(crate) fn share(&self) -> String {
        let (unaligned, requests) = (count(self.unaligned as u64), count(self.requests as u64));
        format!("{unaligned} of the first {requests} requests")
    }
}

impl Table {
    /// Returns addresses and lengths of the first rows, if all are digits.
    pub(super) fn numbers(&self) -> Option<Numbers> {
        let digits = |column: &NamedColumn| {
            let is_digits = |cell: &str| cell.bytes().all(|byte| byte.is_ascii_digit());
            self.rows.numbers(column.at).filter(|_| self.rows.column(column.at).all(is_digits))
        };
        Some(Numbers { starts: digits(&self.columns.offset)?, sizes: digits(&self.columns.size)? })
    }
}

/// Returns address and length of a row in these columns, counted from 1; `None` if it has none.
pub(crate) fn range_of(cells: &[String], offset: usize, size: usize) -> Option<(u64, u64)> {
    Some((cells.get(offset - 1)?.parse().ok()?, cells.get(size - 1)?.parse().ok()?))
}

/// Returns the whole sectors, in bytes, that contain a range of bytes.
fn whole_sectors((start, length): (u64, u64)) -> Option<(u64, u64)> {
    let from = start - start % SECTOR_BYTES;
    let end = start.checked_add(length)?.checked_next_multiple_of(SECTOR_BYTES)?;
    Some((from, end - from))
}

/// Returns the cells as a line. A cell that contains the separator is quoted.
fn joined(cells: &[String], separator: u8) -> Vec<u8> {
    let separator = char::from(separator);
    let quoted = cells
        .iter()
        .map(|cell| if cell.contains(separator) { format!("\"{cell}\"") } else { cell.clone() });
    quoted.collect::<Vec<_>>().join(&separator.to_string()).into_bytes()
}

/// Returns what looks like bytes in the table in `head` although the column names say sectors, and whether that is only
/// the address; `None` if nothing does.
pub(crate) fn bytes_named_sectors(head: &Head<'_>) -> Option<(&'static str, bool)> {
    let table = Table::of(head).filter(|table| !table.columns.is_end)?;
    let numbers = table.numbers()?;
    let of_both = "all addresses and lengths are multiples of 512, and the lengths are large, as those in bytes are";
    let of_addresses = "all addresses are multiples of 512, as those in bytes are";
    let longest = match (table.columns.offset.unit, table.columns.size.unit) {
        (Some("512B"), Some("512B")) if numbers.are_too_large_for_sectors() => {
            return Some((of_both, false));
        }
        (Some("512B"), Some("512B")) => SECTOR_BYTES,
        (Some("512B"), Some("B")) => SECTOR_BYTES * SECTOR_BYTES,
        _ => return None,
    };
    numbers.has_addresses_in_bytes(longest).then_some((of_addresses, true))
}
