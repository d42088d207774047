//! The columns of a table below names, from these and the values under them.

pub(crate) mod unaligned;
pub(crate) mod values;

use crate::read::commands::word;
use crate::read::formats::mapping::{TIME_UNITS, cells_of};
use crate::read::formats::{Head, Mapping, ReadAs, TraceFormat, Unit};
use crate::read::readings::{Reading, of_distinct_times};
use std::sync::Arc;

/// Longest name of a column that is recognised, bytes.
const LONGEST_NAME: usize = 40;
/// Names of columns, as their letters and digits in lower case.
const TIMES: [&str; 17] = [
    "time",
    "datetime",
    "timestamp",
    "ts",
    "arrival",
    "arrivaltime",
    "elapsed",
    "starttime",
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
const OFFSETS: [&str; 23] = [
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
    "lpn",
    "page",
    "slba",
    "minoffset",
    "iooffset",
    "objectid",
    "objid",
];
const SIZES: [&str; 20] = [
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
    "npages",
    "pages",
    "sizebytes",
    "numsectors",
    "objectsize",
    "objsize",
];
const VOLUMES: [&str; 12] = [
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
];

/// A column that was recognised: as it is named, and what its name says of the unit.
struct Named {
    cell: String,
    unit: Option<&'static str>,
}

/// Lines among which names are searched.
const HEADER: usize = 8;

/// The readings of a table whose names are known; the first is as good as certain if it is the only one.
pub(crate) fn of(head: &Head<'_>, action: u8) -> Vec<Reading> {
    let mut readings = of_names(head, action);
    // Their order is another matter: no unit changes it.
    readings.retain(|reading| reading.counts.is_plausible());
    of_distinct_times(readings)
}

/// As [`of`], with the readings that are not plausible.
pub(crate) fn of_names(head: &Head<'_>, action: u8) -> Vec<Reading> {
    let lines = head.lines.iter().take(HEADER).enumerate();
    let mut all = lines.map(|(above, line)| below(&cells_of(line), above, head, action));
    all.find(|readings| !readings.is_empty()).unwrap_or_default()
}

/// The readings of the table below `names`, which stand below so many lines.
fn below(names: &[String], above: usize, head: &Head<'_>, action: u8) -> Vec<Reading> {
    // `sectors` is a length, although it is `sector` with the s of seconds, too.
    let find = |known: &[&str]| {
        let exact = names.iter().filter(|cell| known.contains(&letters_of(cell).as_str()));
        exact.chain(names).find_map(|cell| named(cell, known))
    };
    let (Some(op), Some(offset), Some(size)) = (find(&OPS), find(&OFFSETS), find(&SIZES)) else {
        return Vec::new();
    };
    let column = names.iter().position(|name| *name == op.cell).unwrap_or(0);
    let rows = head.lines[above + 1..].iter().take(values::LINES).map(|line| cells_of(line));
    let rows: Vec<Vec<String>> = rows.filter(|cells| cells.len() == names.len()).collect();
    let cells = || rows.iter().map(|cells| cells[column].as_str());
    let mut meanings = match meaning_of_flag(&op.cell, cells()) {
        Some(meaning) => vec![meaning],
        None => values::meanings(cells()),
    };
    if meanings.is_empty() {
        meanings = values::meanings_of_two(cells());
    }
    if meanings.is_empty() {
        // Most words may be known.
        meanings.push(String::new());
    }
    let skip = if above > 0 { format!(",skip={above}") } else { String::new() };
    let time = find(&TIMES);
    let volume =
        find(&VOLUMES).map_or(String::new(), |column| format!(",volume={}", quoted(&column.cell)));
    let mut readings = Vec::new();
    let times: Vec<Option<&str>> = match &time {
        None => vec![None],
        Some(Named { unit: Some(unit), .. }) => vec![Some(unit)],
        // Without a unit it is a date.
        Some(_) => {
            let units = TIME_UNITS.iter().rev().map(|(name, _)| Some(*name));
            units.chain([Some("")]).collect()
        }
    };
    for unit in times {
        for words in &meanings {
            for (of_offset, of_size) in units(offset.unit, size.unit) {
                let time = match (&time, unit) {
                    (Some(column), Some("")) => format!("time={},", quoted(&column.cell)),
                    (Some(column), Some(unit)) => format!("time={}:{unit},", quoted(&column.cell)),
                    _ => String::new(),
                };
                let columns = format!(
                    "{time}op={},offset={}:{of_offset},size={}:{of_size}{volume}{words}{skip}",
                    quoted(&op.cell),
                    quoted(&offset.cell),
                    quoted(&size.cell)
                );
                // Bytes that are no whole sectors are refused, and remain a rival of sectors.
                let open = of_offset == "B" && offset.unit.is_none() && size.unit.is_none();
                let reading = reading(&columns, head, action);
                readings.extend(reading.filter(|reading| open || reading.counts.fit()));
            }
        }
    }
    let mut different: Vec<Reading> = Vec::new();
    for reading in readings {
        if !different.iter().any(|other| other.counts == reading.counts) {
            different.push(reading);
        }
    }
    different
}

/// What to add for a column that is named for what its 1, or true, means.
fn meaning_of_flag<'a>(name: &str, mut cells: impl Iterator<Item = &'a str>) -> Option<String> {
    let (no, yes) = match letters_of(name).as_str() {
        "iswrite" => ("read", "write"),
        "isread" => ("write", "read"),
        _ => return None,
    };
    let known = ["0", "1", "false", "true"];
    let is_flag = |cell: &str| known.iter().any(|flag| flag.eq_ignore_ascii_case(cell));
    cells.all(is_flag).then(|| format!(",{no}=0|false,{yes}=1|true"))
}

/// What `head` is with these columns, if any line of it fits.
fn reading(columns: &str, head: &Head<'_>, action: u8) -> Option<Reading> {
    let mapping = Mapping::parse(columns).ok()?;
    let how = ReadAs { action, unit: Unit::Bytes, time_ns: None, columns: Some(Arc::new(mapping)) };
    Reading::of_some(format!("--columns {}", word(columns)), TraceFormat::Table, &how, head)
}

/// Units of address and length that their names leave open: bytes, or sectors.
fn units(
    offset: Option<&'static str>,
    size: Option<&'static str>,
) -> Vec<(&'static str, &'static str)> {
    match (offset, size) {
        (Some(offset), Some(size)) => vec![(offset, size)],
        (Some(offset), None) => vec![(offset, "B"), (offset, "512B")],
        (None, Some(size)) => vec![("B", size), ("512B", size)],
        (None, None) => vec![("B", "B"), ("512B", "512B"), ("512B", "B")],
    }
}

fn quoted(name: &str) -> String {
    if name.contains([',', ':', '=']) { format!("\"{name}\"") } else { name.to_owned() }
}

/// The letters and digits of a name, in lower case.
fn letters_of(cell: &str) -> String {
    let letters: String = cell.chars().filter(char::is_ascii_alphanumeric).collect();
    letters.to_ascii_lowercase()
}

/// `cell`, if it is one of the `known` names, perhaps with a unit behind it.
fn named(cell: &str, known: &[&str]) -> Option<Named> {
    // A name that stands in a command has to be one that people can paste.
    if cell.len() > LONGEST_NAME || cell.chars().any(char::is_control) {
        return None;
    }
    let letters = letters_of(cell);
    let is = |name: &str| known.contains(&name);
    if is(&letters) {
        return Some(Named { cell: cell.to_owned(), unit: unit_of_name(&letters) });
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
        ("blocks", "512B"),
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
            return Some(Named { cell: cell.to_owned(), unit: Some(unit) });
        }
    }
    None
}

/// Whether a column of this name may be a field of a request.
pub(crate) fn is_field(name: &str) -> bool {
    let all: [&[&str]; 5] = [&TIMES, &OPS, &OFFSETS, &SIZES, &VOLUMES];
    all.iter().any(|known| named(name, known).is_some())
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
