//! Tables whose requests, in bytes, are not whole sectors.

use super::columns::Named;
use super::derived::Table;
use super::numbers::Numbers;
use crate::read::formats::Head;
use crate::read::formats::mapping::cells_of;
use ssd_core::units::SECTOR_BYTES;

/// A table with its requests extended to whole sectors.
pub(crate) struct Extended {
    /// Its lines.
    pub(crate) lines: Vec<Vec<u8>>,
    /// Requests that are not whole sectors.
    pub(crate) unaligned: usize,
    /// The filter that extends them.
    pub(crate) filter: String,
    /// The names of its columns say that addresses and lengths are in bytes.
    pub(crate) is_named: bool,
    /// They say nothing of units, and the numbers are less likely sectors than bytes.
    pub(crate) is_open: bool,
}

impl Extended {
    /// The table in `head`; `None` if it has none whose columns have the names of those of requests, or if all of its
    /// requests are whole sectors.
    pub(crate) fn of(head: &Head<'_>) -> Option<Extended> {
        let table = Table::of(head).filter(|table| !table.columns.is_end)?;
        let (offset, size) = (&table.columns.offset, &table.columns.size);
        let numbers = table.numbers()?;
        let mut unaligned = 0;
        let (separator, width) = (char::from(table.separator).to_string(), table.names.len());
        let lines = head.lines.iter().map(|line| {
            let cells = (line != &head.lines[table.line - 1]).then(|| cells_of(line));
            let extended = cells
                .filter(|cells| cells.len() == width)
                .and_then(|cells| extended(cells, offset.at, size.at));
            unaligned += usize::from(extended.is_some());
            extended.map_or_else(|| line.to_vec(), |cells| cells.join(&separator).into_bytes())
        });
        let lines: Vec<Vec<u8>> = lines.collect();
        let is_unit = |unit: Option<&str>| [offset, size].iter().all(|column| column.unit == unit);
        let filter = table.extending(head, offset, size)?;
        (unaligned > 0).then(|| Extended {
            lines,
            unaligned,
            filter,
            is_named: is_unit(Some("B")),
            is_open: is_unit(None) && numbers.may_be_records(),
        })
    }
}

impl Table {
    /// Addresses and lengths of its first rows, if all are digits.
    pub(super) fn numbers(&self) -> Option<Numbers> {
        let of = |column: &Named| {
            let is_digits = |cell: &str| cell.bytes().all(|byte| byte.is_ascii_digit());
            self.rows.numbers(column.at).filter(|_| self.rows.column(column.at).all(is_digits))
        };
        Some(Numbers { starts: of(&self.columns.offset)?, sizes: of(&self.columns.size)? })
    }

    /// The filter that extends requests in bytes to whole sectors.
    fn extending(&self, head: &Head<'_>, offset: &Named, size: &Named) -> Option<String> {
        let (start, size) = (offset.at + 1, size.at + 1);
        self.rewriting(
            head,
            &format!(
                "e = ${start} + ${size}; ${start} -= ${start} % 512; ${size} = int((e - ${start} + 511) / 512) * 512"
            ),
        )
    }
}

/// The cells of a row with its request extended to whole sectors; `None` if it has no request, or one of whole sectors.
pub(crate) fn extended(mut cells: Vec<String>, offset: usize, size: usize) -> Option<Vec<String>> {
    let (start, length): (u64, u64) =
        (cells.get(offset)?.parse().ok()?, cells.get(size)?.parse().ok()?);
    let from = start - start % SECTOR_BYTES;
    let end = start.checked_add(length)?.checked_next_multiple_of(SECTOR_BYTES)?;
    if (from, end) == (start, start + length) {
        return None;
    }
    (cells[offset], cells[size]) = (from.to_string(), (end - from).to_string());
    Some(cells)
}

/// Whether the table in `head` has numbers of bytes although the names of its columns say sectors.
pub(crate) fn are_bytes_named_sectors(head: &Head<'_>) -> bool {
    let named = |table: &Table| {
        let columns = [&table.columns.offset, &table.columns.size];
        columns.iter().all(|column| column.unit == Some("512B")) && !table.columns.is_end
    };
    let numbers = Table::of(head).filter(named).and_then(|table| table.numbers());
    numbers.is_some_and(|numbers| numbers.are_too_large_for_sectors())
}
