//! The columns of a table from its values alone: readings to choose from, none of them certain.

use super::few::{self, ShortTable};
use super::meanings::{has_both, has_known, meaning_of_flag, meanings, meanings_of_two};
use super::names::{OFFSETS, SIZES, is_volume, letters_of, unit_behind, unit_named, unit_of_time};
use super::rows::{Rows, ended_lines};
use super::times::Times;
use super::{LINES, reading, words};
use crate::read::formats::mapping::Place;
use crate::read::formats::{Head, Mapping};
use crate::read::readings::{Reading, of_distinct_times};
use std::collections::BTreeSet;

/// Maximum number of meanings of operations, and of readings in total, that are tried.
const MEANINGS: usize = 4;
const READINGS: usize = 12;
/// Maximum number of column pairs that may be address and length.
const PAIRS: usize = 2;
/// Largest number, of bytes or sectors, that may be a length.
pub(super) const LONGEST: u64 = 1 << 30;
/// Numbers below this are more likely devices or threads than addresses.
const FEW: u64 = 16;

/// Columns of address and length with pairs of their units, the likeliest first.
#[derive(Default)]
struct Range {
    offset: usize,
    size: usize,
    units: Vec<[&'static str; 2]>,
}

/// A reading of a table, field by field.
#[derive(Clone, Copy)]
struct Choice<'a> {
    /// Lower is likelier.
    rank: usize,
    range: &'a Range,
    units: [&'a str; 2],
    /// The part of the mapping for the time; empty without a time.
    time: &'a str,
    /// Column of the operations, or the operation of all requests.
    op: &'a str,
    /// Meanings of the words, unless they are known.
    words: &'a str,
    event: &'a str,
    /// Column of the volumes.
    volume: Option<usize>,
}

impl<'a> Choice<'a> {
    /// Combines each of `choices` with each possible value of a field, which `with` sets; `step` is added to the rank
    /// for each further value.
    fn each<T: 'a>(
        choices: &[Choice<'a>],
        step: usize,
        values: impl Fn(&Choice<'a>) -> &'a [T],
        with: impl Fn(Choice<'a>, &'a T) -> Choice<'a>,
    ) -> Vec<Choice<'a>> {
        let chosen_from = |choice: &Choice<'a>| {
            let ranked = values(choice).iter().enumerate();
            let chosen = ranked.map(|(rank, value)| {
                let choice = with(*choice, value);
                Choice { rank: choice.rank + step * rank, ..choice }
            });
            chosen.collect::<Vec<_>>()
        };
        choices.iter().flat_map(chosen_from).collect()
    }

    /// Returns the columns of address, length and operation.
    fn used(&self) -> Vec<usize> {
        let op = self.op.parse::<usize>().ok().map(|column| column - 1);
        [self.range.offset, self.range.size].into_iter().chain(op).collect()
    }

    /// Returns whether the operation has a separate column.
    fn is_apart(&self) -> bool {
        [self.range.offset, self.range.size].iter().all(|at| (at + 1).to_string() != self.op)
    }

    fn columns(&self, skip: &str) -> String {
        let volume = self.volume.map_or(String::new(), |at| format!(",volume={}", at + 1));
        let Choice { range, units: [of_offset, of_size], time, op, words, event, .. } = self;
        format!(
            "{time}op={op},offset={}:{of_offset},size={}:{of_size}{volume}{words}{event}{skip}",
            range.offset + 1,
            range.size + 1
        )
    }
}

impl Rows {
    /// Returns the possible meanings of the operations in a column.
    fn meanings_at(&self, at: usize) -> Vec<String> {
        let letters = self.names.get(at).map(|name| letters_of(name)).unwrap_or_default();
        let of_flag = meaning_of_flag(&letters, self.column(at));
        of_flag.map_or_else(|| meanings(self.column(at)), |meaning| vec![meaning])
    }

    /// Returns the columns that may have operations, each with what a mapping needs for the meanings of its words.
    fn operations(&self, time: Option<usize>) -> Vec<(String, String)> {
        let mut codes = Vec::new();
        let counts = |at: usize| {
            let numbers = self.numbers(at).unwrap_or_default();
            numbers.len() > 2 && numbers.is_sorted_by(|a, b| a < b)
        };
        let columns = (0..self.width()).filter(|&at| Some(at) != time && !counts(at));
        let columns: Vec<(usize, Vec<String>)> =
            columns.map(|at| (at, self.meanings_at(at))).collect();
        let known_columns =
            columns.iter().filter(|(_, meanings)| meanings.iter().any(String::is_empty));
        // A column of actions may be D throughout.
        let most = known_columns
            .rev()
            .max_by_key(|(at, _)| self.column(*at).collect::<BTreeSet<_>>().len());
        if let Some((at, _)) = most {
            return vec![((at + 1).to_string(), String::new())];
        }
        let plain = |at: usize| self.has_times(at) || self.has_stated_times(at);
        let is_text = |&at: &usize| !plain(at) && self.numbers(at).is_none();
        let texts: Vec<usize> = (0..self.width()).filter(is_text).collect();
        let by_verb = texts.iter().map(|&at| (at, words::by_verb(self, at, None)));
        let by_verb: Vec<(usize, Vec<String>)> = by_verb.collect();
        let mut certain = by_verb.iter().filter(|(at, meanings)| {
            meanings.first().is_some_and(|words| has_both(words) || has_known(self.column(*at)))
        });
        let only = certain.next().filter(|_| certain.next().is_none());
        for (at, meanings) in only.map_or(&columns[..], std::slice::from_ref) {
            codes.extend(meanings.iter().map(|words| ((at + 1).to_string(), words.clone())));
        }
        if codes.is_empty() && (0..self.width()).all(plain) {
            // No column has operations, as in files with only reads or only writes.
            return ["write", "read"].map(|op| (op.to_owned(), String::new())).into();
        }
        if let ([], [(at, likely)]) = (&codes[..], &by_verb[..]) {
            let of_two = || meanings_of_two(self.column(*at));
            let meanings = if likely.is_empty() { of_two() } else { likely.clone() };
            codes.extend(meanings.into_iter().map(|words| ((at + 1).to_string(), words)));
        }
        codes.truncate(MEANINGS);
        codes
    }

    /// Returns whether the name of a column is not among the `field_names`, but among the `other_fields`, names a
    /// volume, or has a unit of time. `blocks` is a length, although it also reads as `block` with the s of seconds.
    fn is_named_otherwise(&self, at: usize, field_names: &[&str], other_fields: &[&str]) -> bool {
        let is_other = |name: &String| is_volume(name) || unit_of_time(name).is_some();
        let name = self.names.get(at).filter(|_| !self.is_named(at, field_names));
        name.is_some_and(|name| self.is_named(at, other_fields) || is_other(name))
    }

    /// Returns the columns that may be address and length, the likeliest first.
    fn ranges(&self, time: Option<usize>) -> Vec<Range> {
        let mut ranges = Vec::new();
        let numbers: Vec<Option<Vec<u64>>> = (0..self.width()).map(|at| self.numbers(at)).collect();
        let usable = |at: usize| numbers[at].as_deref().filter(|_| Some(at) != time);
        for (offset, size) in (0..self.width()).flat_map(|a| (0..self.width()).map(move |b| (a, b)))
        {
            let (Some(starts), Some(lengths)) = (usable(offset), usable(size)) else { continue };
            let most = |values: &[u64]| values.iter().copied().max().unwrap_or(0);
            let (last, longest) = (most(starts), most(lengths));
            // Numbers that include 0 are zero-based, or not lengths. Numbers that all exceed the addresses, and are as
            // distinct, are ends.
            let is_end = starts.iter().zip(lengths).all(|(start, length)| length > start)
                && self.distinct(size) * 2 > self.distinct(offset);
            // Days and times of day may have leading zeros; lengths have them if addresses do.
            let is_padded = |cell: &str| {
                cell.starts_with('0')
                    && cell.bytes().all(|byte| byte.is_ascii_digit())
                    && matches!(cell.len(), 2 | 6)
            };
            let are_padded = self.column(size).any(is_padded)
                && !self.column(offset).any(|cell| cell.len() > 1 && cell.starts_with('0'));
            let is_length = !lengths.contains(&0) && longest <= LONGEST && !is_end && !are_padded;
            let is_named_otherwise = self.is_named_otherwise(offset, &OFFSETS, &SIZES)
                || self.is_named_otherwise(size, &SIZES, &OFFSETS);
            if offset == size || !is_length || is_named_otherwise {
                continue;
            }
            let are_sectors = |values: &[u64]| values.iter().all(|value| value.is_multiple_of(512));
            let place = match size as i64 - offset as i64 {
                1 => 4,
                -1 => 3,
                2 | -2 => 1,
                _ => 0,
            };
            let score = place
                + i64::from(starts.iter().collect::<BTreeSet<_>>().len() > 1) * 2
                + i64::from(are_sectors(lengths)) * 2
                + i64::from(last / 4 >= longest) * 2
                + i64::from(self.is_named(offset, &OFFSETS)) * 4
                + i64::from(self.is_named(size, &SIZES)) * 4
                - i64::from(last < FEW) * 8
                - i64::from(longest < 2) * 4;
            let units = match (are_sectors(starts), are_sectors(lengths)) {
                (true, true) => vec![["B", "B"], ["512B", "B"], ["512B", "512B"]],
                (false, true) => vec![["512B", "B"], ["512B", "512B"]],
                _ => vec![["512B", "512B"], ["4KiB", "4KiB"]],
            };
            let stated = |at: usize, field_names: &[&str]| {
                let name = self.names.get(at)?;
                unit_named(name, field_names).flatten().or_else(|| unit_behind(name))
            };
            let (offset_unit, size_unit) = (stated(offset, &OFFSETS), stated(size, &SIZES));
            let units = units.into_iter().map(|[of_offset, of_size]| {
                [offset_unit.unwrap_or(of_offset), size_unit.unwrap_or(of_size)]
            });
            let mut units: Vec<[&str; 2]> = units.collect();
            if offset_unit == Some("B") && size_unit.is_none() && !are_sectors(lengths) {
                units.insert(0, ["B", "1KiB"]);
            }
            units.dedup();
            ranges.push((score, Range { offset, size, units }));
        }
        ranges.sort_by_key(|&(score, _)| -score);
        ranges.into_iter().take(PAIRS).map(|(_, range)| range).collect()
    }
}

/// Returns sentences about columns that no reading uses: times in another notation, and volumes.
pub(crate) fn unread(head: &Head<'_>) -> Vec<String> {
    let Some(rows) = Rows::of(head) else { return Vec::new() };
    let time = rows.time(false).map(|times| times.at);
    let of_times = rows.unread_times().map(|at| {
        format!(
            "column {} seems to hold times in a notation that ssdlab does not read: write them as \
             2016-02-22 17:03:00.123 to keep them",
            at + 1
        )
    });
    let op = rows.operations(time).first().and_then(|(op, _)| op.parse::<usize>().ok());
    let range = rows.ranges(time).into_iter().next();
    let mut used: Vec<usize> = time.into_iter().chain(op.map(|column| column - 1)).collect();
    used.extend(range.iter().flat_map(|range| [range.offset, range.size]));
    let of_volumes = match rows.devices(&used) {
        Some(at) => Some(rows.read_volumes(at, &used)),
        None => rows.unused_volumes(&used),
    };
    of_times.into_iter().chain(of_volumes).collect()
}

/// Returns a text about a column that may have volumes and that a mapping does not use.
pub(crate) fn unused_volumes(head: &Head<'_>, mapping: &Mapping) -> Option<String> {
    let rows = Rows::of(head)?;
    let at = |place: &Place| match place {
        Place::Numbered(column) if *column < 0 => rows.width().checked_add_signed(*column as isize),
        Place::Numbered(column) => (*column as usize).checked_sub(1),
        Place::Named(name) => rows.names.iter().position(|candidate| candidate == name),
        Place::Bytes(..) => None,
    };
    let used: Vec<usize> = mapping.places().iter().filter_map(|(_, place)| at(place)).collect();
    rows.unused_volumes(&used)
}

/// Returns the readings of a table, the likeliest first.
pub(crate) fn of(head: &Head<'_>, action: u8) -> Vec<Reading> {
    let ShortTable { readings: few, is_named } = few::of(head, action);
    let Some(rows) = Rows::of(head).filter(|_| !is_named) else { return few };
    let of_times = |sort: bool| {
        let times = rows.time(sort)?;
        Some((of_rows(&rows, Some(&times), head, action), times))
            .filter(|(readings, _)| !readings.is_empty())
    };
    // Addresses look like times if they are in order or all distinct.
    let is_address = |times: &Times| {
        let numbers = rows.numbers(times.at).unwrap_or_default();
        let is_other = times.sort || rows.is_count(times.at);
        !numbers.is_empty() && (is_other || numbers.iter().all(|at| at.is_multiple_of(512)))
    };
    let (mut timed, times) = of_times(false).or_else(|| of_times(true)).unzip();
    if times.as_ref().is_none_or(is_address) {
        let without = of_rows(&rows, None, head, action);
        let timed = timed.get_or_insert_default();
        timed.truncate(READINGS / 4);
        timed.extend(without);
    }
    let mut timed = timed.unwrap_or_default();
    // Readings with assumed lengths come last, but some of them must be listed.
    timed.truncate(if few.is_empty() { READINGS } else { READINGS / 3 });
    timed.into_iter().chain(few).collect()
}

/// Returns the readings of rows with the column `times`.
fn of_rows(rows: &Rows, times: Option<&Times>, head: &Head<'_>, action: u8) -> Vec<Reading> {
    let (at, sort) = (times.map(|times| times.at), times.is_some_and(|times| times.sort));
    let times: Vec<String> = match times {
        None => vec![String::new()],
        Some(Times { at, units, .. }) => {
            let text = |unit: &&str| {
                let colon = if unit.is_empty() { "" } else { ":" };
                format!("time={}{colon}{unit},", at + 1)
            };
            units.iter().map(text).collect()
        }
    };
    let skip = if rows.above > 0 { format!(",skip={}", rows.above) } else { String::new() };
    let (ranges, operations, events) =
        (rows.ranges(at), rows.operations(at), rows.events(None, None, |at| (at + 1).to_string()));
    let none = Range::default();
    let (units, time, op, words, event, volume) = ([""; 2], "", "", "", "", None);
    let open = Choice { rank: 0, range: &none, units, time, op, words, event, volume };
    let choices = Choice::each(&[open], 2, |_| &ranges, |choice, range| Choice { range, ..choice });
    let mut choices = Choice::each(
        &choices,
        1,
        |_| &operations,
        |choice, (op, words)| Choice { op, words, ..choice },
    );
    choices.retain(Choice::is_apart);
    for choice in &mut choices {
        let used: Vec<usize> = choice.used().into_iter().chain(at).collect();
        choice.volume = rows.devices(&used);
    }
    let choices = Choice::each(&choices, 1, |_| &times, |choice, time| Choice { time, ..choice });
    let choices = Choice::each(
        &choices,
        1,
        |choice| &choice.range.units,
        |choice, &units| Choice { units, ..choice },
    );
    let choices =
        Choice::each(&choices, 1, |_| &events, |choice, event| Choice { event, ..choice });
    let few = Head { lines: &head.lines[..head.lines.len().min(LINES)], ..*head };
    let is_possible = |reading: &Reading| {
        let counts = &reading.counts;
        counts.fit() && if sort { counts.is_plausible() } else { counts.is_possible() }
    };
    let ranked = choices.iter().map(|choice| (choice.rank, choice.columns(&skip)));
    let mut ranked_columns: Vec<(usize, String)> = ranked
        .filter(|(_, columns)| reading(columns, &few, action).as_ref().is_some_and(is_possible))
        .collect();
    ranked_columns.sort_by_key(|&(rank, _)| rank);
    let ranked_columns = ranked_columns.into_iter().take(READINGS);
    let readings = ranked_columns.filter_map(|(_, columns)| reading(&columns, head, action));
    let mut readings: Vec<Reading> = of_distinct_times(readings.filter(is_possible).collect());
    // A command that fails at a line is not offered if another reads all lines, unless that line is incomplete.
    if readings.iter().any(|reading| reading.counts.bad == 0) {
        let ended = Head { lines: ended_lines(head), ..*head };
        let fails = |reading: &Reading| {
            let text = reading.columns.as_ref().map_or("", |columns| &columns.text);
            let ended = (reading.counts.bad > 0).then(|| self::reading(text, &ended, action));
            ended.is_some_and(|ended| ended.is_none_or(|ended| ended.counts.bad > 0))
        };
        readings.retain(|reading| !fails(reading));
    }
    if sort {
        readings.iter_mut().for_each(Reading::sort);
    }
    readings
}
