//! A mapping of columns: the column of each field of a request, and its unit.
//!
//! It is written as `time=2:us,op=3,offset=5:512B,size=4` (`workload.columns`), and parsed here. `lines` applies it to
//! lines of text, `binary` to fixed records. The user gives the mapping of the formats `table` and `records`; known
//! tables have theirs in their file.

pub(super) mod binary;
mod cells;
pub(super) mod known;
pub(super) mod lines;
mod names;
mod ops;
mod places;
mod values;

pub(crate) use cells::{TRIED, cells_of, separated, separated_by};
pub(crate) use ops::{Meaning, Words, is_word};
pub(crate) use places::{Column, Operation, Place, Size};
pub use values::Number;
pub(crate) use values::{date, is_rounded, stated_time, time, whole};

use crate::read::lines::shown;
use ssd_core::config::text::error::did_you_mean;
use ssd_core::config::text::quantity::{SIZE, by_letter};
use ssd_core::host::request::Op;
use ssd_core::units::SECTOR_BYTES;

/// The example in messages.
const EXAMPLE: &str = "time=1:us,op=2,offset=3:512B,size=4";
/// The keys before `=`.
const KEYS: [&str; 14] = [
    "time",
    "op",
    "offset",
    "size",
    "volume",
    "event",
    "read",
    "write",
    "discard",
    "flush",
    "ignore",
    "separator",
    "skip",
    "record",
];
/// Longest record, bytes.
const LONGEST_RECORD: usize = 4096;
/// Maximum number of skipped lines.
const MOST_SKIPPED: usize = 1 << 20;
/// Units of times, nanoseconds.
pub(crate) const TIME_UNITS: [(&str, u64); 5] =
    [("ns", 1), ("100ns", 100), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
/// The columns of the fields of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Text of the mapping.
    pub(crate) text: String,
    /// Bytes of a binary record; `None` for lines of text.
    pub(crate) record: Option<usize>,
    /// Lines to skip at the start.
    pub(crate) skip: usize,
    pub(crate) separator: Option<u8>,
    /// `None`: all requests arrive at time 0, in the order of the file.
    pub(crate) time: Option<Column>,
    pub(crate) op: Operation,
    pub(crate) offset: Column,
    pub(crate) size: Size,
    pub(crate) volume: Option<Place>,
    /// Only lines with this word in this column are requests.
    pub(crate) event: Option<(Place, String)>,
    pub(crate) words: Words,
}

/// The parts of a mapping during parsing.
#[derive(Default)]
struct Parts<'a> {
    entries: Vec<(&'a str, &'a str)>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Parts<'a>, String> {
        let mut parts = Parts::default();
        for part in split(text) {
            let part = part.trim();
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("{part:?}: expected FIELD=COLUMN, as in {EXAMPLE}"));
            };
            let (key, value) = (key.trim(), value.trim());
            if !KEYS.contains(&key) {
                let near = did_you_mean(key, KEYS);
                return Err(format!(
                    "{key:?} is not a field; expected one of {}{near}",
                    KEYS.join(", ")
                ));
            }
            if parts.entries.iter().any(|&(name, _)| name == key) {
                return Err(format!("{key} is given twice; keep one of them"));
            }
            if value.is_empty() && key == "separator" {
                // A comma, or nothing, followed the key.
                cells::separator(value)?;
            }
            if value.is_empty() {
                return Err(format!("{key} needs a column, as in {EXAMPLE}"));
            }
            parts.entries.push((key, value));
        }
        Ok(parts)
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.entries.iter().find(|&&(name, _)| name == key).map(|&(_, value)| value)
    }

    fn number(&self, key: &str, most: usize) -> Result<Option<usize>, String> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.map(Some).ok_or_else(|| format!("{key}={text}: expected a number from 1 to {most}"))
    }

    fn column(&self, key: &str, units: fn(&str) -> Option<u64>) -> Result<Option<Column>, String> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let (place, unit) = match text.rsplit_once(':') {
            Some((place, unit)) if !text.ends_with('"') => {
                let worth = units(unit.trim()).ok_or_else(|| wrong_unit(key, unit))?;
                (place, Some(worth))
            }
            _ => (text, None),
        };
        Ok(Some(Column { place: place_of(key, place)?, unit }))
    }

    fn place(&self, key: &str) -> Result<Option<Place>, String> {
        self.get(key).map(|text| place_of(key, text)).transpose()
    }
}

fn wrong_unit(key: &str, unit: &str) -> String {
    if key == "time" {
        let near = did_you_mean(unit, TIME_UNITS.map(|(name, _)| name));
        return format!("{key}: {unit:?} is not a unit; expected ns, 100ns, us, ms or s{near}");
    }
    let single = format!("1{}", unit.trim());
    let near = match size_unit(&single) {
        Some(_) => format!("; did you mean {single:?}?"),
        None => did_you_mean(unit, ["bytes", "sectors"]),
    };
    format!(
        "{key}: {unit:?} is not a unit; expected B, sectors, or a size that is a multiple of 512 bytes, \
         such as 512B or 4KiB{near}"
    )
}

/// Returns the nanoseconds of a unit of time.
pub(crate) fn time_unit(text: &str) -> Option<u64> {
    TIME_UNITS.iter().find(|&&(name, _)| name == text).map(|&(_, worth)| worth)
}

/// Returns the bytes of a unit of addresses.
fn size_unit(text: &str) -> Option<u64> {
    match text {
        "B" | "bytes" => Some(1),
        "sectors" => Some(512),
        _ => size_of(text).filter(|size| *size <= 1 << 30),
    }
}

/// Returns a size that is a multiple of a sector.
fn size_of(text: &str) -> Option<u64> {
    bytes_of(text).filter(|bytes| *bytes > 0 && bytes.is_multiple_of(512))
}

/// Returns the bytes of a size with its unit; "4k" is read as "4KiB", like a request size.
pub(crate) fn bytes_of(text: &str) -> Option<u64> {
    let binary = by_letter(text).map(|[_, binary]| binary);
    let (bytes, exact) = SIZE.read(binary.as_deref().unwrap_or(text)).ok()?;
    u64::try_from(bytes).ok().filter(|_| exact)
}

/// Returns the parts between commas outside of quotes.
fn split(text: &str) -> Vec<&str> {
    let mut quoted = false;
    text.split(|letter: char| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    })
    .collect()
}

fn place_of(key: &str, text: &str) -> Result<Place, String> {
    let text = text.trim();
    if let Some((kind, at)) = text.split_once('@') {
        let kind = Number::named(kind);
        let at = at.parse::<usize>().ok().filter(|at| *at < LONGEST_RECORD);
        return kind.zip(at).map(|(kind, at)| Place::Bytes(kind, at)).ok_or_else(|| {
            format!(
                "{key}={text}: expected TYPE@BYTE, such as u64@8: a type of {}",
                Number::names()
            )
        });
    }
    if let Ok(number) = text.parse::<i32>() {
        return if number == 0 || number.unsigned_abs() > 1000 {
            Err(format!("{key}={text}: columns are numbered from 1, or backwards from -1"))
        } else {
            Ok(Place::Numbered(number))
        };
    }
    let name =
        text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text).trim();
    if name.is_empty() {
        return Err(format!("{key} needs a column, as in {EXAMPLE}"));
    }
    Ok(Place::Named(name.to_owned()))
}

impl Mapping {
    /// Parses a mapping.
    ///
    /// # Errors
    /// Describes the error, without the key of the mapping.
    pub fn parse(text: &str) -> Result<Mapping, String> {
        let parts = Parts::of(text)?;
        let missing = |key: &str| format!("{key} is missing; give it, as in {EXAMPLE}");
        let op = match parts.get("op").ok_or_else(|| missing("op"))? {
            "read" => Operation::Constant(Op::Read),
            "write" => Operation::Constant(Op::Write),
            "discard" => Operation::Constant(Op::Trim),
            column => Operation::Column(place_of("op", column)?),
        };
        let constant = parts.get("size").filter(|text| text.parse::<i64>().is_err());
        let size = match constant.and_then(size_of) {
            Some(bytes) => Size::Constant(bytes),
            None => Size::Column(parts.column("size", size_unit)?.ok_or_else(|| missing("size"))?),
        };
        let event = match parts.get("event").map(|text| text.rsplit_once(':').ok_or(text)) {
            None => None,
            Some(Ok((column, word))) => Some((place_of("event", column)?, word.trim().to_owned())),
            Some(Err(text)) => {
                return Err(format!("event={text}: expected COLUMN:WORD, such as event=2:D"));
            }
        };
        let separator = match parts.get("separator") {
            None => None,
            Some(word) => Some(cells::separator(word)?),
        };
        let mapping = Mapping {
            text: text.to_owned(),
            record: parts.number("record", LONGEST_RECORD)?,
            skip: parts.number("skip", MOST_SKIPPED)?.unwrap_or(0),
            separator,
            time: parts.column("time", time_unit)?,
            op,
            offset: parts.column("offset", size_unit)?.ok_or_else(|| missing("offset"))?,
            size,
            volume: parts.place("volume")?,
            event,
            words: Words::of(|key| parts.get(key))?,
        };
        mapping.check()?;
        Ok(mapping)
    }

    /// Returns which of address and length are in sectors.
    fn in_sectors(&self) -> Vec<&'static str> {
        let units = [("offset", self.offset.unit), ("size", self.size.unit())];
        let in_sectors = units.into_iter().filter(|(_, unit)| *unit == Some(SECTOR_BYTES));
        in_sectors.map(|(field, _)| field).collect()
    }

    /// Returns whether addresses and lengths are in sectors.
    pub(crate) fn is_in_sectors(&self) -> bool {
        self.in_sectors().len() == 2
    }

    /// Returns its text with bytes instead of sectors; `None` if it has no sectors.
    pub(crate) fn with_bytes_for_sectors(&self) -> Option<String> {
        let units: Vec<_> = self.in_sectors().into_iter().map(|field| (field, "B")).collect();
        (!units.is_empty()).then(|| self.text_with(&units))
    }

    /// Returns its text with the address in bytes.
    pub(crate) fn with_address_in_bytes(&self) -> String {
        self.text_with(&[("offset", "B")])
    }

    /// Returns its text with `word` among the operations of `key`, such as the ignored ones; `None` if no mapping can
    /// contain that word.
    pub(crate) fn text_meaning(&self, key: &str, word: &str) -> Option<String> {
        let parts = Parts::of(&self.text).ok()?;
        let words = parts.get(key).map_or(String::new(), |words| format!("|{words}"));
        is_word(word).then(|| format!("{},{key}={word}{words}", self.text_without(&[key])))
    }

    /// Returns its text with the time in the previous column, without a unit; `None` if its column has no number.
    pub(crate) fn with_time_before(&self) -> Option<String> {
        let Some(Column { place: Place::Numbered(column @ 2..), .. }) = &self.time else {
            return None;
        };
        Some(format!("time={},{}", column - 1, self.text_without(&["time"])))
    }

    /// Returns its text without these keys.
    pub(crate) fn text_without(&self, keys: &[&str]) -> String {
        let is_other =
            |part: &&str| !part.split_once('=').is_some_and(|(key, _)| keys.contains(&key.trim()));
        split(&self.text).into_iter().filter(is_other).collect::<Vec<_>>().join(",")
    }

    /// Returns its text with this column of volumes, which replaces any other.
    pub(crate) fn text_with_volume(&self, place: &str) -> String {
        let part = |part: &str| match part.split_once('=') {
            Some((key, _)) if key.trim() == "volume" => format!("{key}={place}"),
            _ => part.to_owned(),
        };
        let mut parts: Vec<String> = split(&self.text).into_iter().map(part).collect();
        if self.volume.is_none() {
            parts.push(format!("volume={place}"));
        }
        parts.join(",")
    }

    /// Returns the words for operations under these keys, unchanged.
    pub(crate) fn words_of(&self, keys: &[&str]) -> Vec<&str> {
        let parts = split(&self.text).into_iter().filter_map(|part| part.split_once('='));
        let words = parts.filter(|(key, _)| keys.contains(&key.trim())).map(|(_, words)| words);
        words.flat_map(|words| words.split('|')).collect()
    }

    /// Returns the columns that are read, with the names of their fields.
    pub(crate) fn places(&self) -> Vec<(&'static str, &Place)> {
        let mut places = Vec::new();
        places.extend(self.time.as_ref().map(|column| ("time", &column.place)));
        if let Operation::Column(place) = &self.op {
            places.push(("op", place));
        }
        places.push(("offset", &self.offset.place));
        if let Size::Column(column) = &self.size {
            places.push(("size", &column.place));
        }
        places.extend(self.volume.as_ref().map(|place| ("volume", place)));
        places.extend(self.event.as_ref().map(|(place, _)| ("event", place)));
        places
    }

    /// Returns its text with other units: of addresses and lengths, then of times.
    pub(crate) fn in_other_units(&self) -> Vec<String> {
        let pairs = [["B", "B"], ["512B", "B"], ["512B", "512B"], ["4KiB", "4KiB"]];
        let ranges =
            pairs.map(|[offset, size]| self.text_with(&[("offset", offset), ("size", size)]));
        let times = TIME_UNITS.iter().map(|&(unit, _)| self.text_in_time(unit));
        ranges.into_iter().chain(times).collect()
    }

    /// Returns its text with another unit of the time.
    pub(crate) fn text_in_time(&self, unit: &str) -> String {
        self.text_with(&[("time", unit)])
    }

    /// Returns its text with these units of times, and of addresses and lengths.
    pub(crate) fn text_in(&self, time: Option<&str>, range: Option<&str>) -> String {
        let of_range = range.into_iter().flat_map(|unit| [("offset", unit), ("size", unit)]);
        let units: Vec<_> = time.map(|unit| ("time", unit)).into_iter().chain(of_range).collect();
        self.text_with(&units)
    }

    /// Returns its text without a unit of the time, as for dates.
    pub(crate) fn without_time_unit(&self) -> String {
        self.text_in_time("")
    }

    /// Returns its text with these units of the columns of these fields; an empty text removes the unit.
    fn text_with(&self, units: &[(&str, &str)]) -> String {
        let part = |part: &str| {
            let (key, column) = part.split_once('=').unwrap_or((part, ""));
            let unit = units.iter().find(|(field, _)| *field == key.trim());
            match unit {
                Some((field, unit)) if *field != "size" || matches!(self.size, Size::Column(_)) => {
                    let place = match column.rsplit_once(':') {
                        Some((place, _)) if !column.ends_with('"') => place,
                        _ => column,
                    };
                    let colon = if unit.is_empty() { "" } else { ":" };
                    format!("{key}={place}{colon}{unit}")
                }
                _ => part.to_owned(),
            }
        };
        split(&self.text).into_iter().map(part).collect::<Vec<_>>().join(",")
    }

    /// Returns the error in the names above a table: several columns have the same name, or some names are missing
    /// while others exist.
    pub(crate) fn wrong_names(&self, lines: &[&[u8]]) -> Option<String> {
        let places = self.places();
        let required: Vec<&str> = places.iter().filter_map(|(_, place)| place.name()).collect();
        let has = |names: &[String], target: &str| {
            names.iter().any(|name| names::is_name(name.as_bytes(), target))
        };
        let match_count =
            |names: &Vec<String>| required.iter().filter(|name| has(names, name)).count();
        let names = lines.iter().rev().map(|line| cells_of(line)).max_by_key(match_count)?;
        for name in &required {
            if let [first, second, ..] = names::columns_named(&names, name)[..] {
                let (first, second) = (first + 1, second + 1);
                return Some(format!(
                    "several columns are named {name:?}; give the number of one instead, such as {first} or {second}"
                ));
            }
        }
        if !(1..required.len()).contains(&match_count(&names)) {
            return None;
        }
        let missing = required.iter().filter(|name| !has(&names, name)).map(|name| {
            format!("{name:?}{}", did_you_mean(name, names.iter().map(String::as_str)))
        });
        Some(format!(
            "no column is named {}; the names are {}",
            missing.collect::<Vec<_>>().join(", or "),
            shown(names.join(", ").as_bytes())
        ))
    }

    fn check(&self) -> Result<(), String> {
        let places = self.places();
        for (number, (key, place)) in places.iter().enumerate() {
            if let Some((earlier_key, _)) =
                places[..number].iter().find(|(_, earlier_place)| earlier_place == place)
            {
                return Err(format!(
                    "{earlier_key} and {key} name the same column; each needs its own"
                ));
            }
            match (place, self.record) {
                (Place::Bytes(kind, at), Some(record)) if at + kind.bytes() > record => {
                    return Err(format!("{key} ends beyond the record of {record} bytes"));
                }
                (Place::Bytes(..), None) => {
                    return Err(format!(
                        "{key} is a field of a binary record; set the length of the record, such as record=24"
                    ));
                }
                (Place::Numbered(_) | Place::Named(_), Some(_)) => {
                    return Err(format!("{key} needs a type and an offset, such as {key}=u64@8"));
                }
                _ => {}
            }
        }
        if let Operation::Constant(_) = self.op
            && self.words != Words::default()
        {
            return Err(
                "op is the same for all requests, so words for operations have no effect; give the number of the \
                 column of operations, or leave out the words"
                    .to_owned(),
            );
        }
        if self.record.is_some()
            && (self.separator.is_some() || self.event.is_some() || self.skip > 0)
        {
            return Err(
                "separator, event and skip are for lines of text, record for binary records"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
