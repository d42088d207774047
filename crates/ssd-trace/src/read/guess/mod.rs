//! The columns of a table below names, from these and the values under them.

pub(crate) mod intervals;
mod rows;
pub(crate) mod unaligned;
pub(crate) mod values;

use crate::read::commands::word;
use crate::read::formats::mapping::cells_of;
use crate::read::formats::{Head, Mapping, ReadAs, TraceFormat, Unit};
use crate::read::readings::{Reading, of_distinct_times};
use rows::Rows;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Longest name of a column that is recognised, bytes.
const LONGEST_NAME: usize = 40;
/// Names of columns, as their letters and digits in lower case.
const TIMES: [&str; 18] = [
    "time",
    "datetime",
    "timestamp",
    "ts",
    "arrival",
    "arrivaltime",
    "elapsed",
    "starttime",
    "strttime",
    "start",
    "issuetime",
    "requesttime",
    "t",
    "clock",
    "reltime",
    "date",
    "inittime",
    "optime",
];
const OPS: [&str; 19] = [
    "op",
    "operation",
    "type",
    "iotype",
    "optype",
    "opcode",
    "cmd",
    "command",
    "rw",
    "rwbs",
    "readwrite",
    "request",
    "iswrite",
    "isread",
    "direction",
    "iodirection",
    "ioop",
    "dir",
    "d",
];
const OFFSETS: [&str; 27] = [
    "offset",
    "byteoffset",
    "address",
    "addr",
    "lba",
    "lbn",
    "sector",
    "startsector",
    "startlba",
    "firstsector",
    "startoffset",
    "blockaddress",
    "startaddress",
    "pos",
    "position",
    "block",
    "blocknumber",
    "blocknum",
    "blockno",
    "blkno",
    "lpn",
    "page",
    "slba",
    "minoffset",
    "iooffset",
    "objectid",
    "objid",
];
const SIZES: [&str; 23] = [
    "size",
    "length",
    "len",
    "bytes",
    "iosize",
    "requestsize",
    "reqsize",
    "nsectors",
    "nrsectors",
    "sectors",
    "count",
    "nblks",
    "blocks",
    "nblocks",
    "numblocks",
    "numblks",
    "nblk",
    "npages",
    "pages",
    "sizebytes",
    "numsectors",
    "objectsize",
    "objsize",
];
const VOLUMES: [&str; 27] = [
    "volume",
    "volumeid",
    "disk",
    "disknumber",
    "device",
    "dev",
    "deviceid",
    "lun",
    "asu",
    "vol",
    "disknum",
    "ns",
    "nsid",
    "lunid",
    "diskid",
    "target",
    "targetid",
    "vm",
    "vmid",
    "server",
    "node",
    "image",
    "file",
    "filename",
    "hostname",
    "partition",
    "minor",
];

/// How words begin in the names of columns with durations, or with the ends of requests.
const LATENCIES: [&str; 10] =
    ["lat", "resp", "serv", "svc", "complet", "end", "finish", "duration", "queue", "qtime"];

/// A column that was recognised: as it is named, and what its name says of the unit.
#[derive(Clone)]
struct Named {
    /// Its place in the row.
    at: usize,
    /// As a mapping calls it.
    place: String,
    letters: String,
    unit: Option<&'static str>,
}

/// Lines among which names are searched.
const HEADER: usize = 8;

/// The readings of a table whose column names are known; a reading that is the only one is all but certain.
pub(crate) fn of(head: &Head<'_>, action: u8) -> Vec<Reading> {
    let mut readings = of_names(head, action);
    // Their order is another matter: no unit changes it.
    readings.retain(|reading| reading.counts.is_plausible());
    let (timed, untimed): (Vec<Reading>, Vec<Reading>) =
        readings.into_iter().partition(Reading::has_times);
    of_distinct_times(timed).into_iter().chain(untimed).collect()
}

/// As [`of`], with the readings that are not plausible.
pub(crate) fn of_names(head: &Head<'_>, action: u8) -> Vec<Reading> {
    let lines = head.lines.iter().take(HEADER).enumerate();
    let mut all = lines.map(|(above, line)| below(&cells_of(line), above, head, action));
    all.find(|readings| !readings.is_empty()).unwrap_or_default()
}

/// The columns of a request by their names.
#[derive(Clone)]
struct Columns {
    time: Option<Named>,
    op: Named,
    offset: Named,
    size: Named,
    volumes: Vec<Named>,
}

impl Columns {
    fn of(names: &[String]) -> Option<Columns> {
        let first = |known: &[&str]| all_named(names, known).into_iter().next();
        Some(Columns {
            time: first(&TIMES),
            op: first(&OPS)?,
            offset: first(&OFFSETS)?,
            size: first(&SIZES)?,
            volumes: all_named(names, &VOLUMES),
        })
    }

    /// These columns, and those with another column for one of the fields. One whose name has a unit needs a rival
    /// that has one, too.
    fn with_rivals(self, names: &[String], rows: &Rows) -> Vec<Columns> {
        let rivals = |own: &Named, known: &[&str]| {
            let all = all_named(names, known).into_iter().filter(|other| other.at != own.at);
            let is_rival = |other: &Named| other.unit.is_some() || own.unit.is_none();
            all.filter(is_rival).collect::<Vec<Named>>()
        };
        let is_op = |other: &Named| !values::meanings(rows.column(other.at)).is_empty();
        let ops = rivals(&self.op, &OPS).into_iter().filter(is_op);
        let ops = ops.map(|op| Columns { op, ..self.clone() });
        let offsets = rivals(&self.offset, &OFFSETS).into_iter();
        let offsets = offsets.map(|offset| Columns { offset, ..self.clone() });
        let sizes = rivals(&self.size, &SIZES).into_iter();
        let sizes = sizes.map(|size| Columns { size, ..self.clone() });
        let others: Vec<Columns> = ops.chain(offsets).chain(sizes).collect();
        let is_apart = |all: &Columns| {
            let places = [all.op.at, all.offset.at, all.size.at];
            places[0] != places[1] && places[1] != places[2] && places[0] != places[2]
        };
        [self].into_iter().chain(others.into_iter().filter(is_apart)).collect()
    }

    /// The column of the volumes: the one that has most of them.
    fn volume(&self, rows: &Rows) -> String {
        let used = [self.op.at, self.offset.at, self.size.at];
        let free = self.volumes.iter().filter(|column| !used.contains(&column.at));
        let most = free.max_by_key(|column| {
            let volumes = rows.column(column.at).collect::<BTreeSet<&str>>().len();
            let rank = VOLUMES.iter().position(|name| *name == column.letters);
            (volumes, Reverse(rank))
        });
        most.map_or(String::new(), |column| format!(",volume={}", column.place))
    }

    /// The parts `time=...` of a mapping, one for each column and unit that the time may have. If no column has the
    /// name of a time, any column of ascending numbers may hold it, or the table may have no time.
    fn times(&self, rows: &Rows) -> Vec<String> {
        let with = |place: &str, unit: &str| {
            let colon = if unit.is_empty() { "" } else { ":" };
            format!("time={place}{colon}{unit},")
        };
        let of_values = |at: usize| {
            let (name, place) = (&rows.names[at], place_of(&rows.names, at));
            let units = unit_of_time(name).map_or(rows.units_of(at).to_vec(), |unit| vec![unit]);
            units.into_iter().map(|unit| with(&place, unit)).collect::<Vec<String>>()
        };
        match &self.time {
            Some(Named { place, unit: Some(unit), .. }) => vec![with(place, unit)],
            Some(Named { at, unit: None, .. }) => of_values(*at),
            None => {
                let used = [self.op.at, self.offset.at, self.size.at];
                let others = rows.other_times().into_iter().filter(|at| !used.contains(at));
                let others: Vec<usize> = others.collect();
                let has_unit = |at: &usize| unit_of_time(&rows.names[*at]).is_some();
                let certain: Vec<usize> = others.iter().copied().filter(has_unit).collect();
                if !certain.is_empty() {
                    return certain.into_iter().flat_map(of_values).collect();
                }
                others.into_iter().flat_map(of_values).chain([String::new()]).collect()
            }
        }
    }

    /// What to add to a mapping for the operations, once for each possible meaning of their words.
    fn meanings(&self, rows: &Rows) -> Vec<String> {
        let cells = || rows.column(self.op.at);
        if let Some(meaning) = meaning_of_flag(&self.op.letters, cells()) {
            return vec![meaning];
        }
        let known = [values::meanings(cells()), values::meanings_of_two(cells())];
        // Most words may be known.
        known.into_iter().find(|all| !all.is_empty()).unwrap_or_else(|| vec![String::new()])
    }

    /// Units of address and length that their names leave open.
    fn units(&self) -> Vec<(&'static str, &'static str)> {
        let is_block = |column: &Named| {
            ["block", "blk", "lba"].iter().any(|part| column.letters.contains(part))
        };
        let blocks = is_block(&self.offset) || is_block(&self.size);
        let mut all = match (self.offset.unit, self.size.unit) {
            (Some(offset), Some(size)) => vec![(offset, size)],
            (Some(offset), None) => vec![(offset, "B"), (offset, "512B")],
            (None, Some(size)) => vec![("B", size), ("512B", size)],
            (None, None) => vec![("B", "B"), ("512B", "512B"), ("512B", "B")],
        };
        if blocks && self.size.unit.is_none() {
            // Blocks are those of a device, or of a file system.
            all.push(("4KiB", "4KiB"));
        }
        all
    }

    /// The mappings of these columns, in all units and with all meanings that are open, the likeliest first.
    fn mappings(&self, rows: &Rows) -> Vec<String> {
        let place = |at: usize| place_of(&rows.names, at);
        let events = rows.events(Some(self.op.at), place);
        let volume = self.volume(rows);
        let Columns { op, offset, size, .. } = self;
        let (op, offset, size) = (&op.place, &offset.place, &size.place);
        let mut all = Vec::new();
        for time in self.times(rows) {
            for words in self.meanings(rows) {
                for event in &events {
                    all.extend(self.units().into_iter().map(|(of_offset, of_size)| {
                        format!(
                            "{time}op={op},offset={offset}:{of_offset},size={size}:{of_size}{volume}{words}{event}"
                        )
                    }));
                }
            }
        }
        all
    }
}

/// The names of columns in `head` that a mapping does not use.
pub(crate) fn unused(head: &Head<'_>, mapping: &Mapping) -> Vec<String> {
    let names = head.lines.iter().take(HEADER).map(|line| cells_of(line));
    let Some(names) = names.into_iter().find(|names| Columns::of(names).is_some()) else {
        return Vec::new();
    };
    let used: Vec<&str> = mapping.places().iter().filter_map(|(_, place)| place.name()).collect();
    names.into_iter().filter(|name| !name.is_empty() && !used.contains(&name.as_str())).collect()
}

/// Whether `line` has the names of the columns of requests.
pub(crate) fn is_names(line: &[u8]) -> bool {
    Columns::of(&cells_of(line)).is_some()
}

/// The readings of the table below `names`, which stand below so many lines.
fn below(names: &[String], above: usize, head: &Head<'_>, action: u8) -> Vec<Reading> {
    let Some(columns) = Columns::of(names) else { return Vec::new() };
    let rows = Rows::below(names, &head.lines[above + 1..]);
    let skip = if above > 0 { format!(",skip={above}") } else { String::new() };
    let mut different: Vec<Reading> = Vec::new();
    for (rival, columns) in columns.with_rivals(names, &rows).into_iter().enumerate() {
        for text in columns.mappings(&rows) {
            let Some(reading) = reading(&(text.clone() + &skip), head, action) else { continue };
            // Bytes that are no whole sectors are refused, and remain a rival of sectors.
            let is_open = text.contains(&format!("offset={}:B,", columns.offset.place))
                && columns.offset.unit.is_none()
                && columns.size.unit.is_none();
            let fits = if rival > 0 {
                reading.counts.bad == 0 && reading.counts.is_possible()
            } else {
                is_open || reading.counts.fit()
            };
            if fits && !different.iter().any(|other| other.counts == reading.counts) {
                different.push(reading);
            }
        }
    }
    different
}

/// What to add for a column that is named for what its 1, or true, means.
fn meaning_of_flag<'a>(letters: &str, mut cells: impl Iterator<Item = &'a str>) -> Option<String> {
    let (no, yes) = match letters {
        "iswrite" => ("read", "write"),
        "isread" => ("write", "read"),
        _ => return None,
    };
    let known = ["0", "1", "false", "true"];
    let is_flag = |cell: &str| known.iter().any(|flag| flag.eq_ignore_ascii_case(cell));
    cells.all(is_flag).then(|| format!(",{no}=0|false,{yes}=1|true"))
}

/// Whether the first line of `head` is a request of `format`, or the names that it defines.
pub(crate) fn is_own_line(format: TraceFormat, how: &ReadAs, head: &Head<'_>) -> bool {
    let first = Head { lines: &head.lines[..head.lines.len().min(1)], ..*head };
    Reading::counts_of(format, how, &first).is_some_and(|counts| counts.bad == 0)
}

/// What `head` is with these columns, if any line of it fits.
pub(crate) fn reading(columns: &str, head: &Head<'_>, action: u8) -> Option<Reading> {
    let mapping = Mapping::parse(columns).ok()?;
    let how = ReadAs { action, unit: Unit::Bytes, time_ns: None, columns: Some(Arc::new(mapping)) };
    Reading::of_some(format!("--columns {}", word(columns)), TraceFormat::Table, &how, head)
}

fn quoted(name: &str) -> String {
    if name.contains([',', ':', '=']) { format!("\"{name}\"") } else { name.to_owned() }
}

/// The letters and digits of a name, in lower case.
fn letters_of(cell: &str) -> String {
    let letters: String = cell.chars().filter(char::is_ascii_alphanumeric).collect();
    letters.to_ascii_lowercase()
}

/// The columns with one of the `known` names, those with exactly such a name first: `sectors` is a length, although it
/// is `sector` with the s of seconds, too.
fn all_named(names: &[String], known: &[&str]) -> Vec<Named> {
    let of = |(at, cell): (usize, &String)| {
        let unit = unit_named(cell, known)?;
        Some(Named { at, place: place_of(names, at), letters: letters_of(cell), unit })
    };
    let mut all: Vec<Named> = names.iter().enumerate().filter_map(of).collect();
    all.sort_by_key(|column| !known.contains(&column.letters.as_str()));
    all
}

/// A column as a mapping calls it: by its name, or by its number if another column has the same name.
fn place_of(names: &[String], at: usize) -> String {
    let is_alone = names.iter().filter(|name| **name == names[at]).count() == 1;
    if is_alone { quoted(&names[at]) } else { (at + 1).to_string() }
}

/// The unit that a name has, if it is one of the `known` names, perhaps with a unit behind it.
fn unit_named(cell: &str, known: &[&str]) -> Option<Option<&'static str>> {
    // A name that stands in a command has to be one that people can paste.
    if cell.len() > LONGEST_NAME || cell.chars().any(char::is_control) {
        return None;
    }
    let letters = letters_of(cell);
    let is = |name: &str| known.contains(&name);
    if is(&letters) {
        return Some(unit_of_name(&letters));
    }
    for (ending, unit) in [
        ("seconds", "s"),
        ("usecs", "us"),
        ("usec", "us"),
        ("msecs", "ms"),
        ("msec", "ms"),
        ("nsec", "ns"),
        ("secs", "s"),
        ("sec", "s"),
        ("sectors", "512B"),
        ("sector", "512B"),
        ("bytes", "B"),
        ("byte", "B"),
        ("4kib", "4KiB"),
        ("4kb", "4KiB"),
        ("4k", "4KiB"),
        ("kib", "1KiB"),
        ("kb", "1KiB"),
        ("mib", "1MiB"),
        ("mb", "1MiB"),
        ("us", "us"),
        ("ms", "ms"),
        ("ns", "ns"),
        ("s", "s"),
        ("b", "B"),
    ] {
        if letters.strip_suffix(ending).is_some_and(is) {
            return Some(Some(unit));
        }
    }
    None
}

/// Whether a column of this name may be a field of a request.
pub(crate) fn is_field(name: &str) -> bool {
    let all: [&[&str]; 5] = [&TIMES, &OPS, &OFFSETS, &SIZES, &VOLUMES];
    all.iter().any(|known| unit_named(name, known).is_some())
}

/// What the bare name of an address or a length says.
fn unit_of_name(letters: &str) -> Option<&'static str> {
    match letters {
        "lba" | "lbn" | "sector" | "startsector" | "startlba" | "firstsector" | "nsectors"
        | "nrsectors" | "sectors" | "numsectors" => Some("512B"),
        "bytes" | "byteoffset" | "sizebytes" => Some("B"),
        "lpn" | "page" | "pages" | "npages" => Some("4KiB"),
        _ => None,
    }
}

/// The unit of time that is the last word of a name.
fn unit_of_time(name: &str) -> Option<&'static str> {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    match words.filter(|word| !word.is_empty()).next_back()?.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => Some("s"),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Some("ms"),
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" => Some("us"),
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => Some("ns"),
        _ => None,
    }
}

/// Bytes of a record of libCacheSim's oracleGeneral.
const ORACLE: usize = 24;

/// Whether `bytes` are such records: time, object, size, and the number of the record that next asks for
/// the object. Source: 1a1a11a/libCacheSim, FAQ.md and oracleGeneralBin.h.
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

/// The readings of such records: objects are sectors, blocks of 4 KiB or bytes, and all are writes, or reads.
pub(crate) fn of_oracle_general(head: &Head<'_>) -> Vec<Reading> {
    let mut readings = Vec::new();
    for op in ["write", "read"] {
        for unit in ["512B", "4KiB", "B"] {
            let columns = format!("record=24,time=u32@0:s,op={op},offset=u64@4:{unit},size=u32@12");
            let Ok(mapping) = Mapping::parse(&columns) else { continue };
            let how =
                ReadAs { columns: Some(Arc::new(mapping)), unit: Unit::Bytes, ..ReadAs::default() };
            let options = format!("--columns {columns}");
            readings.extend(Reading::of(options, TraceFormat::Records, &how, head));
        }
    }
    readings
}
