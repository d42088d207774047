//! The columns of a table, from its column names and values.

pub(crate) mod apart;
mod columns;
mod comments;
mod dates;
pub(crate) mod derived;
mod discards;
pub(crate) mod extended;
pub(crate) mod few;
mod meanings;
pub(crate) mod names;
pub(crate) mod numbers;
pub(crate) mod regions;
mod rows;
mod table;
pub(crate) mod times;
pub(crate) mod unknown;
pub(crate) mod values;
pub(crate) mod words;
pub(crate) mod wraps;

use crate::read::commands::word;
use crate::read::formats::mapping::cells_of;
use crate::read::formats::{Head, Mapping, ReadAs, TraceFormat, Unit};
use crate::read::readings::{Reading, of_distinct_times};
use columns::Columns;
use rows::Rows;
use std::sync::Arc;

/// Values of a flag for no and yes, in lower case, numbers first. Opposite values have the same index.
const NO: [&str; 5] = ["0", "false", "f", "no", "n"];
const YES: [&str; 5] = ["1", "true", "t", "yes", "y"];

/// Lines of the head from which a format, or the columns of a table, are recognised.
pub(crate) const LINES: usize = 64;
/// First lines of the head that may have the column names.
const HEADER: usize = 8;

/// Returns the readings of a table with known column names; a single reading is almost certain.
pub(crate) fn of(head: &Head<'_>, action: u8) -> Vec<Reading> {
    let mut readings = of_names(head, action);
    // Times out of order do not matter here, because no unit puts them in order.
    readings.retain(|reading| reading.counts.is_plausible());
    let (timed, untimed): (Vec<Reading>, Vec<Reading>) =
        readings.into_iter().partition(Reading::has_times);
    of_distinct_times(timed).into_iter().chain(untimed).collect()
}

/// Like [`of`], including implausible readings and readings in which all times are equal.
pub(crate) fn of_names(head: &Head<'_>, action: u8) -> Vec<Reading> {
    let lines = head.lines.iter().take(HEADER).enumerate();
    let mut readings_by_line =
        lines.map(|(above, line)| readings_below(&cells_of(line), above, head, action));
    readings_by_line.find(|readings| !readings.is_empty()).unwrap_or_default()
}

/// Returns the column names in `head` that a mapping does not use.
pub(crate) fn unused(head: &Head<'_>, mapping: &Mapping) -> Vec<String> {
    let names = head.lines.iter().take(HEADER).map(|line| cells_of(line));
    let Some(names) = names.into_iter().find(|names| Columns::of(names).is_some()) else {
        return Vec::new();
    };
    let used: Vec<&str> = mapping.places().iter().filter_map(|(_, place)| place.name()).collect();
    names.into_iter().filter(|name| !name.is_empty() && !used.contains(&name.as_str())).collect()
}

/// Returns the column with times of day, in the notation of a mapping, that `mapping` does not use, if the table has
/// known column names.
pub(crate) fn clock_times(head: &Head<'_>, mapping: &Mapping) -> Option<String> {
    let table = table::Table::of(head)?;
    let places = mapping.places();
    let used: Vec<&str> = places.iter().filter_map(|(_, place)| place.name()).collect();
    let mut clocks = table.rows.clock_times().into_iter();
    let at = clocks.find(|&at| !used.contains(&table.names[at].as_str()))?;
    Some(columns::place_of(&table.names, at))
}

/// Returns the mappings that the column names in `head` allow, regardless of the numbers.
pub(crate) fn mappings(head: &Head<'_>) -> Vec<Mapping> {
    let table = table::Table::of(head).filter(|table| !table.columns.is_end);
    let Some(table::Table { names, columns, rows, line, .. }) = table else { return Vec::new() };
    let skip = if line > 1 { format!(",skip={}", line - 1) } else { String::new() };
    let mappings = columns.with_known_words(&names, &rows).mappings(&rows).into_iter();
    mappings.filter_map(|columns| Mapping::parse(&(columns + &skip)).ok()).collect()
}

/// Returns whether `line` has the column names of requests.
pub(crate) fn is_names(line: &[u8]) -> bool {
    Columns::of(&cells_of(line)).is_some()
}

/// Returns the readings of the table below `names`, which have `above` lines above them.
fn readings_below(names: &[String], above: usize, head: &Head<'_>, action: u8) -> Vec<Reading> {
    let Some(columns) = Columns::of(names) else { return Vec::new() };
    let rows = Rows::below(names, &head.lines[above + 1..]);
    let columns = columns.with_known_words(names, &rows).with_finest_time(names, &rows);
    let skip = if above > 0 { format!(",skip={above}") } else { String::new() };
    let mut different: Vec<Reading> = Vec::new();
    let stated = columns.with_units(comments::stated_units(&head.lines[..above]));
    let stated = stated.map(|columns| (0, columns));
    let candidates = columns.with_rivals(names, &rows).into_iter().enumerate();
    for (rival, columns) in stated.into_iter().chain(candidates) {
        for text in columns.mappings(&rows) {
            let Some(reading) = reading(&(text.clone() + &skip), head, action) else { continue };
            // A reading in bytes remains a rival of one in sectors even if it fits few lines, because bytes that are
            // not whole sectors are refused.
            let is_in_bytes =
                reading.columns.as_ref().is_some_and(|columns| columns.offset.unit == Some(1));
            let is_open =
                is_in_bytes && columns.offset.unit.is_none() && columns.size.unit.is_none();
            let fits =
                if rival > 0 { reading.counts.is_sound() } else { is_open || reading.counts.fit() };
            if fits && !different.iter().any(|candidate| candidate.counts == reading.counts) {
                different.push(reading);
            }
        }
    }
    different
}

/// Returns whether the first line of `head` is a request of `format`, or has the names that the format defines.
pub(crate) fn is_own_line(format: TraceFormat, read_as: &ReadAs, head: &Head<'_>) -> bool {
    let first = Head { lines: &head.lines[..head.lines.len().min(1)], ..*head };
    Reading::counts_of(format, read_as, &first).is_some_and(|counts| counts.bad == 0)
}

/// Returns the reading of `head` with these columns; `None` if no line fits.
pub(crate) fn reading(columns: &str, head: &Head<'_>, action: u8) -> Option<Reading> {
    let mapping = Mapping::parse(columns).ok()?;
    let read_as =
        ReadAs { action, unit: Unit::Bytes, time_ns: None, columns: Some(Arc::new(mapping)) };
    Reading::of_some(format!("--columns {}", word(columns)), TraceFormat::Table, &read_as, head)
}

fn quoted(name: &str) -> String {
    if name.contains([',', ':', '=']) { format!("\"{name}\"") } else { name.to_owned() }
}

/// Bytes of a record of libCacheSim's oracleGeneral.
const ORACLE: usize = 24;

/// Returns whether `bytes` are records of oracleGeneral: time, object, size, and the number of the next record of the
/// same object. Source: 1a1a11a/libCacheSim, FAQ.md and oracleGeneralBin.h.
pub(crate) fn is_oracle_general(bytes: &[u8]) -> bool {
    let mut earlier = 0;
    let mut records = 0;
    for record in bytes.chunks_exact(ORACLE) {
        let number = |from: usize, to: usize| {
            record[from..to].iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b))
        };
        let (time, size, next) = (number(0, 4), number(12, 16), number(16, 24));
        let later =
            next == u64::MAX || next == i64::MAX as u64 || (records < next && next < 1 << 48);
        if time < earlier || !(1..=1 << 30).contains(&size) || !later {
            return false;
        }
        earlier = time;
        records += 1;
    }
    records > 1
}

/// Returns the readings of such records: the object number counts sectors, blocks of 4 KiB or bytes, and the requests
/// are all writes or all reads.
pub(crate) fn of_oracle_general(head: &Head<'_>) -> Vec<Reading> {
    let mut readings = Vec::new();
    for op in ["write", "read"] {
        for unit in ["512B", "4KiB", "B"] {
            let columns = format!("record=24,time=u32@0:s,op={op},offset=u64@4:{unit},size=u32@12");
            let Ok(mapping) = Mapping::parse(&columns) else { continue };
            let read_as =
                ReadAs { columns: Some(Arc::new(mapping)), unit: Unit::Bytes, ..ReadAs::default() };
            let options = format!("--columns {columns}");
            readings.extend(Reading::of(options, TraceFormat::Records, &read_as, head));
        }
    }
    readings
}
