//! The columns of a request by their names, and the mappings that the names allow.

use super::comments::StatedUnits;
use super::names::{
    OFFSETS, OPS, SIZES, TIMES, VOLUMES, is_pasted, letters_of, unit_named, unit_of_time,
    volumes_named, without_unit,
};
use super::numbers::Numbers;
use super::rows::Rows;
use super::{meanings, quoted, words};
use crate::read::formats::mapping::time_unit;
use ssd_core::units::SECTOR_BYTES;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

/// Maximum number of columns of a table whose names are examined.
const MOST: usize = 512;
/// Maximum number of alternatives to a column that are tried.
const RIVALS: usize = 4;
/// Names of columns with the ends of requests.
const ENDS: [&str; 14] = [
    "end",
    "endlba",
    "endsector",
    "lastlba",
    "lastsector",
    "endoffset",
    "endaddress",
    "endblock",
    "endbyte",
    "lbaend",
    "sectorend",
    "offsetend",
    "blockend",
    "stop",
];
/// Names of columns with the starts of requests, next to their ends.
const STARTS: [&str; 4] = ["start", "begin", "first", "from"];
/// Names of columns with the size of a sector.
pub(super) const SECTOR_SIZES: [&str; 10] = [
    "sectorsize",
    "lbasize",
    "sectorbytes",
    "sectsize",
    "physsector",
    "logicalblocksize",
    "blocksize",
    "pagesize",
    "pagebytes",
    "pagesizekb",
];

/// A column with a known name, and the unit that the name states or implies.
#[derive(Clone)]
pub(super) struct NamedColumn {
    /// Index in the row.
    pub(super) at: usize,
    /// Notation in a mapping.
    pub(super) place: String,
    /// Letters and digits of the name, in lower case.
    pub(super) letters: String,
    pub(super) unit: Option<&'static str>,
}

/// The columns of a request by their names.
#[derive(Clone)]
pub(super) struct Columns {
    pub(super) time: Option<NamedColumn>,
    pub(super) op: NamedColumn,
    pub(super) offset: NamedColumn,
    pub(super) size: NamedColumn,
    volumes: Vec<NamedColumn>,
    /// Lengths must be calculated from ends.
    pub(super) is_end: bool,
}

impl Columns {
    pub(super) fn of(names: &[String]) -> Option<Columns> {
        if names.len() > MOST {
            return None;
        }
        let first = |field_names: &[&str]| all_named(names, field_names).into_iter().next();
        Some(Columns {
            // `start_sector` is an address, although it also reads as `start` followed by a unit.
            time: all_named(names, &TIMES)
                .into_iter()
                .find(|time| time.unit.is_none_or(|unit| unit.ends_with('s'))),
            op: first(&OPS)?,
            offset: first(&OFFSETS)?,
            size: first(&SIZES)?,
            volumes: volumes_named(names)
                .map(|(at, letters)| NamedColumn {
                    at,
                    place: place_of(names, at),
                    letters: letters.to_owned(),
                    unit: None,
                })
                .collect(),
            is_end: false,
        })
    }

    /// Returns the columns of a table with starts and ends instead of addresses and lengths.
    pub(super) fn with_ends(names: &[String]) -> Option<Columns> {
        if names.len() > MOST {
            return None;
        }
        let first = |field_names: &[&str]| all_named(names, field_names).into_iter().next();
        let size = first(&ENDS)?;
        // A start with a unit of time is a time, not an address.
        let is_address = |start: &NamedColumn| start.unit.is_none_or(|unit| !unit.ends_with('s'));
        let start = first(&STARTS).filter(is_address);
        let offset = match first(&OFFSETS) {
            // A start next to an address is a time.
            Some(offset) if start.as_ref().is_some_and(|start| start.at != offset.at) => {
                return None;
            }
            Some(offset) => offset,
            None => start?,
        };
        let time = first(&TIMES).filter(|time| time.at != offset.at);
        let volumes = Vec::new();
        Some(Columns { time, op: first(&OPS)?, offset, size, volumes, is_end: true })
    }

    /// Returns these columns, and variants with another column for one of the fields. If the name of a column has a
    /// unit, only columns whose names have one are its rivals.
    pub(super) fn with_rivals(self, names: &[String], rows: &Rows) -> Vec<Columns> {
        let rivals = |field: &NamedColumn, field_names: &[&str]| {
            let candidates = all_named(names, field_names)
                .into_iter()
                .filter(|candidate| candidate.at != field.at);
            let is_rival =
                |candidate: &NamedColumn| candidate.unit.is_some() || field.unit.is_none();
            candidates.filter(is_rival).collect::<Vec<NamedColumn>>()
        };
        let is_op =
            |candidate: &NamedColumn| !meanings::meanings(rows.column(candidate.at)).is_empty();
        let ops = rivals(&self.op, &OPS).into_iter().filter(is_op);
        let ops = ops.map(|op| Columns { op, ..self.clone() });
        let offsets =
            rivals(&self.offset, &OFFSETS).into_iter().chain(self.addresses_of_other_spaces(names));
        let offsets = offsets.map(|offset| Columns { offset, ..self.clone() });
        let sizes = rivals(&self.size, &SIZES).into_iter();
        let sizes = sizes.map(|size| Columns { size, ..self.clone() });
        let alternatives = ops.take(RIVALS).chain(offsets.take(RIVALS)).chain(sizes.take(RIVALS));
        let is_apart = |columns: &Columns| {
            let places = [columns.op.at, columns.offset.at, columns.size.at];
            places[0] != places[1] && places[1] != places[2] && places[0] != places[2]
        };
        let alternatives: Vec<Columns> = alternatives.filter(is_apart).collect();
        [vec![self], alternatives].concat()
    }

    /// Returns the columns with addresses in another space than these columns, such as `abs_sector` next to `sector`.
    fn addresses_of_other_spaces(&self, names: &[String]) -> Vec<NamedColumn> {
        // An address without a separate column has no rival.
        if self.offset.at == self.size.at {
            return Vec::new();
        }
        let addresses = names.iter().enumerate().filter_map(|(at, name)| {
            let unit = unit_named(&without_space(name)?, &OFFSETS)?;
            Some(NamedColumn { at, place: place_of(names, at), letters: letters_of(name), unit })
        });
        addresses.filter(|address| address.unit.is_some() || self.offset.unit.is_none()).collect()
    }

    /// Returns these columns with the units from comments where their names state none; `None` if the comments add no
    /// unit.
    pub(super) fn with_units(&self, stated: StatedUnits) -> Option<Columns> {
        let mut columns = self.clone();
        let mut is_changed = false;
        let mut set = |unit: &mut Option<&'static str>, stated: Option<&'static str>| {
            is_changed |= unit.is_none() && stated.is_some();
            *unit = unit.or(stated);
        };
        if let Some(time) = &mut columns.time {
            set(&mut time.unit, stated.time);
        }
        set(&mut columns.offset.unit, stated.offset);
        set(&mut columns.size.unit, stated.size);
        is_changed.then_some(columns)
    }

    /// Returns these columns with the first of several columns of operations whose words are known.
    pub(super) fn with_known_words(self, names: &[String], rows: &Rows) -> Columns {
        let is_known = |op: &NamedColumn| {
            op.letters.starts_with("is")
                || meanings::meanings(rows.column(op.at)).iter().any(String::is_empty)
        };
        let column = all_named(names, &OPS).into_iter().find(is_known);
        if is_known(&self.op) {
            self
        } else {
            Columns { op: column.unwrap_or_else(|| self.op.clone()), ..self }
        }
    }

    /// Returns these columns with the time in the finest unit, if several columns have it in different units.
    pub(super) fn with_finest_time(self, names: &[String], rows: &Rows) -> Columns {
        let ns = |column: &NamedColumn| column.unit.and_then(time_unit).map(|ns| ns as f64);
        let stem = |column: &NamedColumn| letters_of(without_unit(&names[column.at]));
        let Some((time, own)) = self.time.as_ref().and_then(|time| Some((time, ns(time)?))) else {
            return self;
        };
        let times = rows.values(time.at);
        let is_same = |candidate: &NamedColumn| {
            let unit = ns(candidate).filter(|&unit| unit < own && stem(candidate) == stem(time));
            let values = rows.values(candidate.at);
            let is_near = |unit: f64| {
                let mut pairs = times.iter().zip(&values);
                pairs.all(|(time, value)| (value * unit - time * own).abs() < own)
            };
            unit.is_some_and(is_near) && !rows.has_decimals(time.at)
        };
        let finer = all_named(names, &TIMES).into_iter().filter(is_same);
        match finer.min_by(|a, b| ns(a).partial_cmp(&ns(b)).unwrap_or(Ordering::Equal)) {
            Some(finest) => Columns { time: Some(finest), ..self },
            None => self,
        }
    }

    /// Returns the columns that may have the volumes.
    fn free_volumes(&self) -> impl Iterator<Item = &NamedColumn> {
        let used = [self.op.at, self.offset.at, self.size.at];
        self.volumes.iter().filter(move |column| !used.contains(&column.at))
    }

    /// Returns the column of the volumes, which has the most distinct values.
    pub(super) fn volume(&self, rows: &Rows) -> Option<&NamedColumn> {
        self.free_volumes().max_by_key(|column| {
            let rank = VOLUMES.iter().position(|name| *name == column.letters);
            (rows.distinct(column.at), Reverse(rank))
        })
    }

    /// Returns the column of the volumes, followed by all columns whose values neither determine its values nor are
    /// determined by them. Empty if there is no such other column.
    pub(super) fn parts_of_volume(&self, rows: &Rows) -> Vec<&NamedColumn> {
        let Some(volume) = self.volume(rows) else { return Vec::new() };
        let is_part = |part: &&NamedColumn| {
            let pairs = rows.distinct_pairs(volume.at, part.at);
            pairs > rows.distinct(volume.at).max(rows.distinct(part.at))
        };
        let parts: Vec<&NamedColumn> = self.free_volumes().filter(is_part).collect();
        if parts.is_empty() { parts } else { [vec![volume], parts].concat() }
    }

    /// Returns the parts `time=...` of a mapping, one for each possible column and unit. If no column has the name of a
    /// time, any column of ascending numbers may be the time, or the table may have no time.
    fn times(&self, rows: &Rows) -> Vec<String> {
        let with = |place: &str, unit: &str| {
            let colon = if unit.is_empty() { "" } else { ":" };
            format!("time={place}{colon}{unit},")
        };
        let of_values = |at: usize| {
            let place = place_of(&rows.names, at);
            rows.units_of(at).iter().map(|unit| with(&place, unit)).collect::<Vec<String>>()
        };
        match &self.time {
            Some(NamedColumn { at, place, unit, .. }) => {
                let mut steps = rows.other_steps(*at, *unit);
                steps.push(*at);
                steps.sort_unstable();
                let of_step = |&step: &usize| match unit {
                    Some(unit) if step == *at => vec![with(place, unit)],
                    _ => of_values(step),
                };
                let ranked = steps.iter().flat_map(|step| of_step(step).into_iter().enumerate());
                let mut ranked_units: Vec<(usize, String)> = ranked.collect();
                // Traces of objects come from caches, which mostly record seconds.
                let is_of_objects = unit.is_none() && self.offset.letters.contains("obj");
                ranked_units
                    .sort_by_key(|(rank, time)| (is_of_objects && !time.ends_with(":s,"), *rank));
                ranked_units.into_iter().map(|(_, time)| time).collect()
            }
            None => {
                let used = [self.op.at, self.offset.at, self.size.at];
                let free_times = rows.other_times().into_iter().filter(|at| !used.contains(at));
                let free_times: Vec<usize> = free_times.collect();
                let has_unit = |at: &usize| unit_of_time(&rows.names[*at]).is_some();
                let certain: Vec<usize> = free_times.iter().copied().filter(has_unit).collect();
                // Ends of requests are not arrivals.
                if !certain.is_empty() && !certain.iter().any(|&at| rows.is_end(at)) {
                    return certain.into_iter().flat_map(of_values).collect();
                }
                let unordered = rows.unordered_times().into_iter().filter(|at| !used.contains(at));
                let candidates = free_times.into_iter().chain(unordered);
                candidates.flat_map(of_values).chain([String::new()]).collect()
            }
        }
    }

    /// Returns what a mapping needs for the operations: a text for each possible meaning of their words.
    fn meanings(&self, rows: &Rows) -> Vec<String> {
        let cells = || rows.column(self.op.at);
        if let Some(meaning) = meanings::meaning_of_flag(&self.op.letters, cells()) {
            return vec![meaning];
        }
        let likely = words::by_verb(rows, self.op.at, Some([self.offset.at, self.size.at]));
        let alternatives =
            [meanings::meanings(cells()), likely, meanings::meanings_of_two(cells())];
        // Otherwise nothing is added, because most words may be known.
        let mut readings = alternatives
            .into_iter()
            .find(|list| !list.is_empty())
            .unwrap_or_else(|| vec![String::new()]);
        // Opcodes are most likely NVMe's: 1 is a write, 2 a read.
        if self.op.letters.ends_with("opcode") || self.op.letters.ends_with("opc") {
            readings.sort_by_key(|words| !words.starts_with(",read=2,write=1"));
        }
        readings
    }

    /// Returns the sector size that a column of the table states, unless it is 512 B.
    fn stated_sector(&self, rows: &Rows) -> Option<&'static str> {
        let is_size = |name: &String| SECTOR_SIZES.contains(&letters_of(name).as_str());
        let at = rows.names.iter().position(is_size)?;
        let sizes: BTreeSet<&str> = rows.column(at).collect();
        let [size] = sizes.into_iter().collect::<Vec<&str>>()[..] else { return None };
        match size {
            "2048" | "2" => Some("2KiB"),
            "4096" | "4" => Some("4KiB"),
            "8192" | "8" => Some("8KiB"),
            "16384" | "16" => Some("16KiB"),
            _ => None,
        }
    }

    /// Returns the possible pairs of units of address and length by the names, the likeliest first.
    fn units(&self, rows: &Rows) -> Vec<(&'static str, &'static str)> {
        let is_block = |column: &NamedColumn| {
            ["block", "blk", "lba", "obj"].iter().any(|part| column.letters.contains(part))
        };
        let blocks = is_block(&self.offset) || is_block(&self.size);
        let numbers = |column: &NamedColumn| rows.numbers(column.at).unwrap_or_default();
        let sizes = numbers(&self.size);
        let are_multiples = |factor: u64| sizes.iter().all(|size| size.is_multiple_of(factor));
        let mut units = match (self.offset.unit, self.size.unit) {
            (Some(offset), Some(size)) => vec![(offset, size)],
            (Some(offset), None) => vec![(offset, "B"), (offset, "512B")],
            (None, Some(size)) => vec![("B", size), ("512B", size)],
            (None, None) => vec![("B", "B"), ("512B", "512B"), ("512B", "B")],
        };
        // Addresses that are multiples of 512, with lengths that are not, may be in bytes while lengths are in sectors.
        let starts = numbers(&self.offset);
        let are_bytes = starts.iter().all(|start| start.is_multiple_of(SECTOR_BYTES))
            && starts.iter().any(|&start| start > 0);
        if (self.offset.unit, self.size.unit) == (None, None)
            && are_bytes
            && !are_multiples(SECTOR_BYTES)
        {
            units.insert(0, ("B", "512B"));
        }
        if (self.offset.unit, self.size.unit) == (Some("B"), None) && !are_multiples(SECTOR_BYTES) {
            units.push(("B", "1KiB"));
        }
        // If lengths are whole blocks of 4 KiB but addresses are not, addresses may count such blocks.
        let residues: BTreeSet<u64> = starts.iter().map(|start| start % 8).collect();
        if (self.offset.unit, self.size.unit) == (Some("512B"), Some("B"))
            && are_multiples(4096)
            && residues.len() > 2
        {
            units.push(("4KiB", "B"));
        }
        if self.offset.letters.contains("obj") && self.size.unit.is_none() {
            units.push(("4KiB", "B"));
        }
        if blocks && self.size.unit.is_none() {
            // Blocks belong to a device or to a file system.
            units.push((if self.offset.unit == Some("B") { "B" } else { "4KiB" }, "4KiB"));
        }
        let [before, after] = Numbers { starts, sizes }.units(self.offset.unit, self.size.unit);
        units = [before, units, after].concat();
        if let Some(sector) = self.stated_sector(rows) {
            let scaled =
                |unit: &'static str| if matches!(unit, "512B" | "4KiB") { sector } else { unit };
            let stated = units.iter().map(|&(offset, size)| (scaled(offset), scaled(size)));
            units = stated.chain(units.clone()).collect();
        }
        units
    }

    /// Returns the mappings of these columns, in all open units and with all open meanings, the likeliest first.
    pub(super) fn mappings(&self, rows: &Rows) -> Vec<String> {
        let place = |at: usize| place_of(&rows.names, at);
        let request = [self.op.at, self.offset.at, self.size.at];
        let events = rows.events(Some(self.op.at), Some(request), place);
        let volume_place = self.volume(rows).map(|column| column.place.clone());
        let volume = volume_place.or_else(|| rows.devices(&request).map(place));
        let volume = volume.map_or(String::new(), |place| format!(",volume={place}"));
        let Columns { op, offset, size, .. } = self;
        let (op, offset, size) = (&op.place, &offset.place, &size.place);
        let mut mappings = Vec::new();
        for time in self.times(rows) {
            for words in self.meanings(rows) {
                for event in &events {
                    mappings.extend(self.units(rows).into_iter().map(|(of_offset, of_size)| {
                        format!(
                            "{time}op={op},offset={offset}:{of_offset},size={size}:{of_size}{volume}{words}{event}"
                        )
                    }));
                }
            }
        }
        mappings
    }
}

/// Returns the columns with one of the names `field_names`, exact names first: `sectors` is a length, although it also
/// reads as `sector` with the s of seconds.
fn all_named(names: &[String], field_names: &[&str]) -> Vec<NamedColumn> {
    let recognised = |(at, cell): (usize, &String)| {
        let unit = unit_named(cell, field_names)?;
        Some(NamedColumn { at, place: place_of(names, at), letters: letters_of(cell), unit })
    };
    let mut columns: Vec<NamedColumn> = names.iter().enumerate().filter_map(recognised).collect();
    columns.sort_by_key(|column| !field_names.contains(&column.letters.as_str()));
    // `off` next to another address may be a flag.
    if columns.iter().any(|column| column.letters != "off") {
        columns.retain(|column| column.letters != "off");
    }
    columns
}

/// Words in the names of addresses that name their address space.
const SPACES: [&str; 11] = [
    "abs", "absolute", "rel", "relative", "phys", "physical", "logical", "orig", "original", "raw",
    "mapped",
];

/// Returns a name without its first or last word if that names an address space, as in `abs_sector`; otherwise `None`.
fn without_space(name: &str) -> Option<String> {
    let words = words::parts_of(name);
    let is_space = |word: &String| SPACES.contains(&word.as_str());
    match &words[..] {
        [space, rest @ ..] if is_space(space) && !rest.is_empty() => Some(rest.join("_")),
        [rest @ .., space] if is_space(space) && !rest.is_empty() => Some(rest.join("_")),
        _ => None,
    }
}

/// Returns a column in the notation of a mapping: its name, or its number if the name is not unique or cannot be
/// pasted.
pub(super) fn place_of(names: &[String], at: usize) -> String {
    let is_alone = names.iter().filter(|name| **name == names[at]).count() == 1;
    if is_alone && is_pasted(&names[at]) { quoted(&names[at]) } else { (at + 1).to_string() }
}
