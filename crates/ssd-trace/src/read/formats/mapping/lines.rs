//! Lines of text according to a mapping: separated cells, with or without quotes, with or without names above.

use super::cells::{TRIED, cell, end_of_cell, name_of};
use super::names::{columns_named, is_name};
use super::ops::Meaning;
use super::{Column, Mapping, Operation, Place, Size, bytes_of, values};
use crate::read::formats::{Event, Flaw, Line, Range, Reject, in_sectors};
use ssd_core::host::request::Op;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range as Span;

/// Maximum number of distinct volume names.
const MOST_NAMES: usize = 65_536;
/// Lowest number for a name in a column that also has numbers, most of which are smaller.
const NAMED: u64 = 1 << 15;
/// Numbers of volumes from here up are treated as names.
const NUMBERED: u64 = 1 << 63;
/// The message for a size with a unit in a column whose unit is not bytes.
const OTHER_UNIT: &str =
    "a plain number: both the value and its column have a unit (leave out that of the columns)";
/// The columns of a mapping, by index from 0, or from -1 backwards at the end.
#[derive(Clone, Copy, Debug)]
struct Columns {
    time: Option<i32>,
    op: Option<i32>,
    offset: i32,
    size: Option<i32>,
    volume: Option<i32>,
    event: Option<i32>,
}

/// Units that the mapping does not state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    /// Nanoseconds per unit of time.
    pub(crate) time_ns: Option<u64>,
    /// Bytes per unit of address or length.
    pub(crate) bytes: u64,
}

/// A reader of the lines of a file.
pub(crate) struct Table {
    mapping: Mapping,
    units: Units,
    /// A column whose cells may contain blanks although blanks separate cells; columns after it are counted from the
    /// end.
    spare: Option<&'static str>,
    /// Whether a row of length 0 is not a request.
    pub(super) empty: bool,
    separator: Option<u8>,
    columns: Option<Columns>,
    cells: Vec<Span<usize>>,
    /// Lines so far, without blank ones.
    lines: usize,
    /// Whether a line of cells, or the names, have been read.
    started: bool,
    /// The line of the column names.
    title: Vec<u8>,
    /// Volume names in order of appearance, and their numbers.
    names: Vec<Vec<u8>>,
    numbers: BTreeMap<Vec<u8>, usize>,
    last_name: usize,
    /// Number of the first name: 0, or above the earlier numbers of volumes.
    first_name: u64,
}

impl Table {
    pub(crate) fn new(mapping: Mapping, units: Units, spare: Option<&'static str>) -> Table {
        let has_names = mapping.places().iter().any(|(_, place)| matches!(place, Place::Named(_)));
        let mut table = Table {
            separator: mapping.separator,
            columns: None,
            mapping,
            units,
            spare,
            empty: false,
            cells: Vec::new(),
            lines: 0,
            started: false,
            title: Vec::new(),
            names: Vec::new(),
            numbers: BTreeMap::new(),
            last_name: 0,
            first_name: 0,
        };
        if !has_names {
            table.columns = table.resolved(&[]);
        }
        table
    }

    pub(crate) fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Ok(Line::Blank);
        }
        self.lines += 1;
        if self.lines <= self.mapping.skip {
            return Ok(Line::Header);
        }
        let comment = line.trim_ascii_start().starts_with(b"#");
        let Some(columns) = self.columns else {
            let is_header = self.header(line);
            return if is_header || comment { Ok(Line::Header) } else { Err(self.no_names()) };
        };
        if comment {
            return Ok(Line::Header);
        }
        if self.separator.is_none() {
            self.separator = Some(self.separator_of(line, &columns));
        }
        self.cut(line);
        let parsed = self.record(line, columns);
        if parsed.is_err() && !self.started && self.is_names(line, columns) {
            self.started = true;
            return Ok(Line::Header);
        }
        // Joined files repeat the names, perhaps after a UTF-8 byte order mark.
        let unmarked = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if parsed.is_err() && !self.title.is_empty() && self.title == unmarked {
            return Ok(Line::Header);
        }
        self.started |= parsed.is_ok();
        parsed
    }

    pub(crate) fn volume_name(&self, volume: u64) -> String {
        let at = volume.checked_sub(self.first_name).and_then(|at| usize::try_from(at).ok());
        let name = at.and_then(|at| self.names.get(at));
        name.map_or_else(
            || volume.to_string(),
            |name| String::from_utf8_lossy(name).escape_debug().to_string(),
        )
    }

    fn no_names(&self) -> Reject {
        let places = self.mapping.places();
        let names = places.iter().filter_map(|(_, place)| match place {
            Place::Named(name) => Some(format!("{name:?}")),
            _ => None,
        });
        let names: Vec<String> = names.collect();
        Reject::new(format!("a line with the names of columns {}", names.join(", ")), 0)
    }

    /// Returns whether `line` has the names of the mapping; if so, it sets the columns.
    fn header(&mut self, line: &[u8]) -> bool {
        let start = line.iter().position(|byte| !matches!(byte, b'#' | b' ' | b'\t')).unwrap_or(0);
        let tried: Vec<u8> = self.mapping.separator.map_or(TRIED.to_vec(), |byte| vec![byte]);
        for separator in tried {
            self.separator = Some(separator);
            self.cut(&line[start..]);
            let cells: Vec<Vec<u8>> =
                self.cells.iter().map(|span| cell(&line[start..], span).to_vec()).collect();
            self.columns = self.resolved(&cells);
            if self.columns.is_some() {
                self.started = true;
                line.clone_into(&mut self.title);
                return true;
            }
        }
        self.separator = self.mapping.separator;
        false
    }

    /// Returns the columns in a table with these names; `None` unless each name belongs to exactly one column.
    fn resolved(&self, names: &[Vec<u8>]) -> Option<Columns> {
        let spare = self.spare.and_then(|spare| names.iter().position(|name| is_name(name, spare)));
        let number = |place: &Place| match place {
            Place::Numbered(number) if *number > 0 => Some(number - 1),
            Place::Numbered(number) => Some(*number),
            Place::Named(name) => {
                let [at] = columns_named(names, name)[..] else { return None };
                let is_after_spare =
                    self.separator == Some(b' ') && spare.is_some_and(|spare| at > spare);
                let number =
                    if is_after_spare { at as i64 - names.len() as i64 } else { at as i64 };
                i32::try_from(number).ok()
            }
            Place::Bytes(..) => None,
        };
        let optional = |place: Option<&Place>| match place {
            None => Some(None),
            Some(place) => number(place).map(Some),
        };
        let Mapping { time, op, offset, size, volume, event, .. } = &self.mapping;
        Some(Columns {
            time: optional(time.as_ref().map(|column| &column.place))?,
            op: optional(match op {
                Operation::Column(place) => Some(place),
                Operation::Constant(_) => None,
            })?,
            offset: number(&offset.place)?,
            size: optional(match size {
                Size::Column(column) => Some(&column.place),
                Size::Constant(_) => None,
            })?,
            volume: optional(volume.as_ref())?,
            event: optional(event.as_ref().map(|(place, _)| place))?,
        })
    }

    /// Returns the first separator that splits `line` into as many cells as the mapping needs.
    fn separator_of(&mut self, line: &[u8], columns: &Columns) -> u8 {
        let columns_read = [
            columns.time,
            columns.op,
            Some(columns.offset),
            columns.size,
            columns.volume,
            columns.event,
        ];
        let needed =
            columns_read.iter().flatten().map(|&at| if at < 0 { -at } else { at + 1 }).max();
        let needed = usize::try_from(needed.unwrap_or(1)).unwrap_or(1);
        let mut most = (0, b' ');
        for separator in TRIED {
            self.separator = Some(separator);
            self.cut(line);
            if self.cells.len() >= needed {
                return separator;
            }
            most = if self.cells.len() > most.0 { (self.cells.len(), separator) } else { most };
        }
        // A column is missing. The message counts the existing columns.
        most.1
    }

    /// Splits `line` into cells.
    fn cut(&mut self, line: &[u8]) {
        self.cells.clear();
        let separator = self.separator.unwrap_or(b' ');
        let mut at = 0;
        loop {
            while separator == b' ' && line.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t'))
            {
                at += 1;
            }
            if separator == b' ' && at == line.len() {
                return;
            }
            let end = end_of_cell(line, at, separator);
            self.cells.push(at..end);
            if end >= line.len() {
                return;
            }
            at = end + 1;
        }
    }

    /// Returns the cell of a column without surrounding blanks and quotes, and its position.
    fn cell<'l>(
        &self,
        line: &'l [u8],
        column: i32,
        field: &'static str,
    ) -> Result<(&'l [u8], usize), Reject> {
        let count = self.cells.len();
        let at = if column < 0 {
            count.checked_sub(column.unsigned_abs() as usize)
        } else {
            Some(column as usize)
        };
        let span = at.and_then(|at| self.cells.get(at));
        let span = span.ok_or_else(|| {
            let number = if column < 0 { column } else { column + 1 };
            let separator = self.separator.unwrap_or(b' ');
            let name = name_of(separator);
            let plural = if count == 1 { "" } else { "s" };
            Reject::new(
                format!("{field} in column {number} (separator={name}, {count} column{plural})"),
                line.len(),
            )
        })?;
        Ok((cell(line, span), span.start))
    }

    fn record(&mut self, line: &[u8], columns: Columns) -> Result<Line, Reject> {
        if let (Some(at), Some((_, word))) = (columns.event, &self.mapping.event) {
            let (event, _) = self.cell(line, at, "the kind of event")?;
            if !event.eq_ignore_ascii_case(word.as_bytes()) {
                return Ok(ignored(event));
            }
        }
        let (op, flags) = match (columns.op, &self.mapping.op) {
            (Some(at), _) => {
                let (word, start) = self.cell(line, at, "the operation")?;
                match self.mapping.words.meaning(word) {
                    Some(Meaning::Request(op, flags)) => (op, flags),
                    Some(Meaning::Ignored) => return Ok(ignored(word)),
                    None => return Err(unknown_op(word, start)),
                }
            }
            (None, Operation::Constant(op)) => (*op, 0),
            (None, Operation::Column(_)) => unreachable!("its column is resolved"),
        };
        let at_ns = self.time(line, columns.time)?;
        let volume = columns.volume.map_or(Ok(0), |at| self.volume(line, at))?;
        if op == Op::Flush {
            return Ok(flush(at_ns, volume, flags));
        }
        let range = self.range(line, &columns)?;
        if self.empty && range.length == 0 {
            return Ok(Line::Dataless);
        }
        request(&self.mapping, self.units, (at_ns, volume, op, flags), range)
    }

    /// Returns the time, nanoseconds.
    fn time(&self, line: &[u8], column: Option<i32>) -> Result<u64, Reject> {
        let (Some(at), Some(Column { unit, .. })) = (column, &self.mapping.time) else {
            return Ok(0);
        };
        let (text, start) = self.cell(line, at, "the time")?;
        let Some(unit) = unit.or(self.units.time_ns) else {
            let expected = "a unit for the time, such as time=1:us or --time-unit us, or a time that states it, such \
                            as 1.46s or 2016-02-22 17:03:00.123";
            return values::stated_time(text).ok_or_else(|| Reject::new(expected, start));
        };
        values::time(text, unit).map_err(|expected| Reject::new(expected, start))
    }

    /// Returns address and length, in their units.
    fn range(&self, line: &[u8], columns: &Columns) -> Result<Range, Reject> {
        let integer = |at: i32, unit: Option<u64>, field: &'static str, expected: &'static str| {
            let (text, start) = self.cell(line, at, field)?;
            let value = values::whole(text, expected).or_else(|expected| {
                let bytes = std::str::from_utf8(text).ok().and_then(bytes_of).ok_or(expected)?;
                let is_open = unit.unwrap_or(self.units.bytes) == 1;
                is_open.then_some(bytes).ok_or(Cow::Borrowed(OTHER_UNIT))
            });
            value.map(|value| (value, start)).map_err(|expected| Reject::new(expected, start))
        };
        let (start, start_at) = integer(
            columns.offset,
            self.mapping.offset.unit,
            "the offset",
            "the offset, a whole number",
        )?;
        let (length, length_at) = match (columns.size, &self.mapping.size) {
            (Some(at), Size::Column(Column { unit, .. })) => {
                integer(at, *unit, "the size", "the size, a whole number")?
            }
            (_, Size::Constant(bytes)) => (*bytes, start_at),
            (None, Size::Column(_)) => unreachable!("its column is resolved"),
        };
        Ok(Range { start, length, start_at, length_at })
    }

    /// Returns the number in the cell, or the number of the name in it.
    fn volume(&mut self, line: &[u8], column: i32) -> Result<u64, Reject> {
        let (text, start) = self.cell(line, column, "the volume")?;
        let end = if self.names.is_empty() { NUMBERED } else { self.first_name };
        if end > 0
            && let Ok(number) = values::whole(text, "")
            && number < end
        {
            if self.names.is_empty() {
                self.first_name = self.first_name.max(NAMED).max(number + 1);
            }
            return Ok(number);
        }
        let is_last = self.names.get(self.last_name).is_some_and(|name| name == text);
        if let Some(&place) = self.numbers.get(text).filter(|_| !is_last) {
            self.last_name = place;
        } else if !is_last && self.names.len() == MOST_NAMES {
            return Err(Reject::new("at most 65536 names of volumes", start));
        } else if !is_last {
            self.last_name = self.names.len();
            self.names.push(text.to_vec());
            self.numbers.insert(text.to_vec(), self.last_name);
        }
        Ok(self.first_name + self.last_name as u64)
    }

    /// Returns whether no cell that must be a number begins like a number, as in column names above a table.
    fn is_names(&self, line: &[u8], columns: Columns) -> bool {
        let numbers = [columns.time, Some(columns.offset), columns.size];
        numbers.into_iter().flatten().all(|at| {
            let cell = self.cell(line, at, "");
            cell.is_ok_and(|(text, _)| {
                text.first().is_some_and(|byte| !b"0123456789+-.".contains(byte))
            })
        })
    }
}

fn unknown_op(word: &[u8], at: usize) -> Reject {
    let number = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let hint = if number {
        "numbers need their meaning, such as read=0,write=1"
    } else {
        "other words need their meaning, such as read=RD,write=WR,ignore=X"
    };
    let flaw = Flaw::Operation(String::from_utf8_lossy(word).into());
    Reject { flaw, ..Reject::new(format!("an operation, such as R, W or read ({hint})"), at) }
}

/// Returns an event that is not a request.
fn ignored(word: &[u8]) -> Line {
    Line::Other(word.first().copied().unwrap_or(b'?') & 127)
}

pub(super) fn flush(at_ns: u64, volume: u64, flags: u8) -> Line {
    Line::Event(Event { at_ns, volume, sector: 0, sectors: 0, op: Op::Flush, flags, stream: 0 })
}

/// Returns the request for a range in the units of a mapping.
pub(super) fn request(
    mapping: &Mapping,
    units: Units,
    (at_ns, volume, op, flags): (u64, u64, Op, u8),
    range: Range,
) -> Result<Line, Reject> {
    let unit_of_size = match &mapping.size {
        Size::Column(column) => column.unit.unwrap_or(units.bytes),
        Size::Constant(_) => 1,
    };
    let unit_of_offset = mapping.offset.unit.unwrap_or(units.bytes);
    let start = sectors(range.start, unit_of_offset, range.start_at, "an offset")?;
    let length = sectors(range.length, unit_of_size, range.length_at, "a length")?;
    in_sectors(at_ns, volume, op, flags, Range { start, length, ..range })
}

/// Converts `value` units of `unit` bytes to sectors.
fn sectors(value: u64, unit: u64, at: usize, field: &str) -> Result<u64, Reject> {
    if unit == 1 {
        if value.is_multiple_of(512) {
            return Ok(value / 512);
        }
        return Err(Reject::new(
            format!("{field} in bytes, a multiple of 512 (is it in another unit?)"),
            at,
        ));
    }
    value
        .checked_mul(unit / 512)
        .ok_or_else(|| Reject::new(format!("{field} below sector 2^64"), at))
}
