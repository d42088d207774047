//! Readings of tables with at most three columns that assume the missing length of requests, operation or both.

use super::columns::place_of;
use super::meanings::meanings;
use super::names::{OFFSETS, OPS, SIZES, TIMES, unit_named, volumes_named};
use super::reading;
use super::rows::{Rows, ended_lines};
use crate::read::formats::Head;
use crate::read::formats::mapping::{TRIED, separated_by};
use crate::read::readings::{Reading, of_distinct_times};

/// Maximum number of columns of such a table.
const COLUMNS: usize = 3;
/// Minimum number of rows of such a table.
const ROWS: usize = 3;
/// Number of units of times that are tried.
const TIMES_TRIED: usize = 2;
/// The assumed length if no column has it.
pub(crate) const LENGTH: &str = "4KiB";

/// Returns the rows of such a table, all with the same number of cells.
fn rows_of(head: &Head<'_>) -> Option<Rows> {
    let is_comment = |line: &&&[u8]| !line.starts_with(b"#");
    let lines: Vec<&[u8]> = ended_lines(head).iter().filter(is_comment).copied().collect();
    let cut = |separator: u8| -> Vec<Vec<String>> {
        lines.iter().map(|line| separated_by(line, separator)).collect()
    };
    let is_table = |rows: &Vec<Vec<String>>| {
        let width = rows.first().map_or(0, Vec::len);
        (2..=COLUMNS).contains(&width) && rows.iter().all(|row| row.len() == width)
    };
    let single = || lines.iter().map(|line| separated_by(line, b'\n')).collect();
    let mut rows = TRIED.into_iter().map(cut).find(is_table).unwrap_or_else(single);
    let is_number = |cell: &String| cell.starts_with(|first: char| first.is_ascii_digit());
    let has_names = !rows.first()?.iter().any(is_number);
    let names = if has_names { rows.remove(0) } else { Vec::new() };
    (rows.len() >= ROWS).then_some(Rows { above: 0, names, rows })
}

/// Returns the readings of the table in `head` if it is such a table, the likeliest first.
pub(super) fn of(head: &Head<'_>, action: u8) -> ShortTable {
    let Some(rows) = rows_of(head) else { return ShortTable::default() };
    let mappings: Vec<String> =
        rows.requests().into_iter().flat_map(|request| rows.mappings(request)).collect();
    let mappings = mappings.iter().filter_map(|columns| reading(columns, head, action));
    let readings =
        of_distinct_times(mappings.filter(|reading| reading.counts.is_sound()).collect::<Vec<_>>());
    ShortTable { is_named: !rows.names.is_empty() && !readings.is_empty(), readings }
}

/// The readings of such a table.
#[derive(Default)]
pub(super) struct ShortTable {
    pub(super) readings: Vec<Reading>,
    /// Names determine the columns.
    pub(super) is_named: bool,
}

/// The columns of a request, except the operation.
#[derive(Clone, Copy)]
struct Request {
    time: Option<usize>,
    offset: usize,
    size: Option<usize>,
    volume: Option<usize>,
}

impl Request {
    /// Returns a request with only an address.
    fn at(offset: usize) -> Request {
        Request { time: None, offset, size: None, volume: None }
    }
}

impl Rows {
    /// Returns the column of operations: known words, or 0 and 1. Names may assign the column to another field.
    fn operation(&self) -> Option<usize> {
        let is_free = |at: &usize| {
            let is_other = [&OFFSETS[..], &SIZES, &TIMES]
                .iter()
                .any(|field_names| self.is_named(*at, field_names));
            self.is_named(*at, &OPS) || !is_other && self.volume() != Some(*at)
        };
        let is_known = |&at: &usize| match self.numbers(at) {
            Some(numbers) => {
                let is_code = self.column(at).all(|cell| ["0", "1"].contains(&cell));
                is_code && self.distinct(at) == 2 && !numbers.is_sorted()
            }
            None => meanings(self.column(at)).iter().any(String::is_empty),
        };
        (0..self.width()).filter(is_free).find(is_known)
    }

    /// Returns the column with the name of volumes.
    fn volume(&self) -> Option<usize> {
        volumes_named(&self.names).next().map(|(at, _)| at)
    }

    /// Returns the columns of a request by their names. Other columns, such as durations, are ignored. Returns `None`
    /// if the address has no known name, if the words of the operations are unknown, or if nothing is missing.
    fn named_request(&self) -> Option<Request> {
        let column =
            |field_names: &[&str]| (0..self.width()).find(|&at| self.is_named(at, field_names));
        let is_time = |&at: &usize| self.is_named(at, &TIMES) && !self.is_named(at, &OFFSETS);
        let time = (0..self.width()).find(is_time);
        let size = (0..self.width()).find(|&at| self.is_named_length(at));
        let (op, volume) = (self.operation(), self.volume());
        let is_address = |&at: &usize| self.numbers(at).is_some() && self.distinct(at) > 1;
        let offset = column(&OFFSETS).filter(is_address)?;
        let is_unknown = op.is_none() && column(&OPS).is_some();
        let is_whole = size.is_some() && (op.is_some() || time.is_some() || volume.is_some());
        (!is_unknown && !is_whole).then_some(Request { time, offset, size, volume })
    }

    /// Returns the columns that may be time, address and length; one of them is missing.
    fn requests(&self) -> Vec<Request> {
        if !self.names.is_empty() {
            return self.named_request().into_iter().collect();
        }
        let op = self.operation();
        let candidates: Vec<usize> = (0..self.width()).filter(|&at| Some(at) != op).collect();
        let may_be_address = |at: usize| self.numbers(at).is_some() && self.distinct(at) > 1;
        let may_be_length = |at: usize| {
            let is_length = |numbers: Vec<u64>| !numbers.contains(&0);
            op.is_none() && self.numbers(at).is_some_and(is_length)
        };
        match candidates[..] {
            [offset] if may_be_address(offset) => vec![Request::at(offset)],
            [first, second] => {
                let timed = [[first, second], [second, first]]
                    .into_iter()
                    .find(|&[time, offset]| self.ascends(time) && may_be_address(offset));
                let timed =
                    timed.map(|[time, offset]| Request { time: Some(time), ..Request::at(offset) });
                // The address comes first.
                let sized = (may_be_address(first) && may_be_length(second))
                    .then_some(Request { size: Some(second), ..Request::at(first) });
                timed.into_iter().chain(sized).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether the column has the name of a length.
    fn is_named_length(&self, at: usize) -> bool {
        self.is_named(at, &SIZES) && !self.is_named(at, &OFFSETS)
    }

    /// Returns the mappings for these columns in all units.
    fn mappings(&self, Request { time, offset, size, volume: volume_at }: Request) -> Vec<String> {
        let volume = volume_at.map_or(String::new(), |at| format!(",volume={}", at + 1));
        let times = time.map_or(vec![String::new()], |at| {
            let part = |unit: &&str| {
                let colon = if unit.is_empty() { "" } else { ":" };
                format!("time={}{colon}{unit},", at + 1)
            };
            self.units_of(at).iter().map(part).collect()
        });
        let of_column = |at: usize| {
            let with_words = meanings(self.column(at)).into_iter();
            with_words.map(|words| ((at + 1).to_string(), words)).collect::<Vec<_>>()
        };
        let all_alike = || ["write", "read"].map(|op| (op.to_owned(), String::new())).into();
        let operations: Vec<(String, String)> = self.operation().map_or_else(all_alike, of_column);
        let are_whole = |at: usize| {
            self.numbers(at).unwrap_or_default().iter().all(|number| number.is_multiple_of(512))
        };
        let stated = |at: usize, field_names: &[&str]| {
            unit_named(self.names.get(at)?, field_names).flatten()
        };
        let mut pairs = match size {
            Some(size) if are_whole(offset) && are_whole(size) => vec![("B", "B"), ("512B", "B")],
            Some(size) if are_whole(size) => vec![("512B", "B")],
            Some(_) => vec![("512B", "512B"), ("4KiB", "4KiB")],
            None if are_whole(offset) => vec![("512B", ""), ("4KiB", ""), ("B", "")],
            None => vec![("512B", ""), ("4KiB", "")],
        };
        for (of_offset, of_size) in &mut pairs {
            *of_offset = stated(offset, &OFFSETS).unwrap_or(of_offset);
            *of_size = size.and_then(|size| stated(size, &SIZES)).unwrap_or(of_size);
        }
        // If a single column is used, its name determines the separator.
        let is_alone = time.or(size).or(volume_at).or(self.operation()).is_none();
        let is_named = is_alone && !self.names.is_empty();
        let offset =
            if is_named { place_of(&self.names, offset) } else { (offset + 1).to_string() };
        let mut mappings = Vec::new();
        for time in times.iter().take(TIMES_TRIED) {
            for (of_offset, of_size) in &pairs {
                for (op, words) in &operations {
                    let size = size.map_or(LENGTH.to_owned(), |at| format!("{}:{of_size}", at + 1));
                    mappings.push(format!(
                        "{time}op={op},offset={offset}:{of_offset},size={size}{volume}{words}"
                    ));
                }
            }
        }
        mappings
    }
}
