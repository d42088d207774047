//! The columns of a table below names, from these and the values under them.

pub(crate) mod apart;
mod columns;
mod comments;
mod dates;
pub(crate) mod derived;
pub(crate) mod extended;
pub(crate) mod numbers;
pub(crate) mod regions;
mod rows;
pub(crate) mod unknown;
pub(crate) mod values;
pub(crate) mod words;

use crate::read::commands::word;
use crate::read::formats::mapping::cells_of;
use crate::read::formats::{Head, Mapping, ReadAs, TraceFormat, Unit};
use crate::read::readings::{Reading, of_distinct_times};
use columns::Columns;
use rows::Rows;
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
const OPS: [&str; 21] = [
    "kind",
    "op",
    "operation",
    "reqop",
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
const OFFSETS: [&str; 29] = [
    "offset",
    "off",
    "byteoffset",
    "address",
    "addr",
    "lba",
    "lbn",
    "sector",
    "startsector",
    "startlba",
    "firstsector",
    "firstlba",
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
const SIZES: [&str; 40] = [
    "size",
    "length",
    "len",
    "bytes",
    "iosize",
    "requestsize",
    "reqsize",
    "nsectors",
    "nsect",
    "nrsector",
    "nbytes",
    "nrbytes",
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
    "kbytes",
    "kilobytes",
    "requested",
    "transferred",
    "objectsize",
    "objsize",
    "sz",
    "sectorcnt",
    "sectorcount",
    "byteslen",
    "bytelen",
    "bytelength",
    "bytecount",
    "kb",
    "kib",
];
const VOLUMES: [&str; 42] = [
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
    "drive",
    "driveid",
    "host",
    "hostid",
    "member",
    "raiddisk",
    "ssd",
    "ssdid",
    "namespace",
    "namespaceid",
    "tenant",
    "tenantid",
    "bdev",
    "major",
    "maj",
];

/// Beginnings of words in the names of columns that hold durations or the ends of requests.
const LATENCIES: [&str; 10] =
    ["lat", "resp", "serv", "svc", "complet", "end", "finish", "duration", "queue", "qtime"];

/// Values of a flag that mean no and yes, in lower case, numbers first. A value and its opposite have the same index.
const NO: [&str; 5] = ["0", "false", "f", "no", "n"];
const YES: [&str; 5] = ["1", "true", "t", "yes", "y"];

/// Lines of the head from which a format, or the columns of a table, are recognised.
pub(crate) const LINES: usize = 64;
/// First lines of the head in which the names of columns are looked for.
const HEADER: usize = 8;

/// The readings of a table whose column names are known; a reading that is the only one is all but certain.
pub(crate) fn of(head: &Head<'_>, action: u8) -> Vec<Reading> {
    let mut readings = of_names(head, action);
    // Times that are not in order do not matter here: no unit puts them in order.
    readings.retain(|reading| reading.counts.is_plausible());
    let (timed, untimed): (Vec<Reading>, Vec<Reading>) =
        readings.into_iter().partition(Reading::has_times);
    of_distinct_times(timed).into_iter().chain(untimed).collect()
}

/// As [`of`], but with the readings that are not plausible, or in which all times are equal.
pub(crate) fn of_names(head: &Head<'_>, action: u8) -> Vec<Reading> {
    let lines = head.lines.iter().take(HEADER).enumerate();
    let mut all = lines.map(|(above, line)| readings_below(&cells_of(line), above, head, action));
    all.find(|readings| !readings.is_empty()).unwrap_or_default()
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

/// The column with times of day or dates, as a mapping calls it, of a table whose columns have known names.
pub(crate) fn written_times(head: &Head<'_>) -> Option<String> {
    let table = derived::Table::of(head)?;
    table.rows.written_times().map(|at| columns::place_of(&table.names, at))
}

/// Whether `line` has the names of the columns of requests.
pub(crate) fn is_names(line: &[u8]) -> bool {
    Columns::of(&cells_of(line)).is_some()
}

/// The readings of the table below `names`, which have `above` lines above them.
fn readings_below(names: &[String], above: usize, head: &Head<'_>, action: u8) -> Vec<Reading> {
    let Some(columns) = Columns::of(names) else { return Vec::new() };
    let rows = Rows::below(names, &head.lines[above + 1..]);
    let columns = columns.with_known_words(names, &rows);
    let skip = if above > 0 { format!(",skip={above}") } else { String::new() };
    let mut different: Vec<Reading> = Vec::new();
    let stated = columns.with_units(comments::stated_units(&head.lines[..above]));
    let stated = stated.map(|columns| (0, columns));
    let all = columns.with_rivals(names, &rows).into_iter().enumerate();
    for (rival, columns) in stated.into_iter().chain(all) {
        for text in columns.mappings(&rows) {
            let Some(reading) = reading(&(text.clone() + &skip), head, action) else { continue };
            // A reading in bytes remains a rival of one in sectors even if it fits few lines: bytes that are not whole
            // sectors are refused.
            let is_in_bytes =
                reading.columns.as_ref().is_some_and(|columns| columns.offset.unit == Some(1));
            let is_open =
                is_in_bytes && columns.offset.unit.is_none() && columns.size.unit.is_none();
            let fits =
                if rival > 0 { reading.counts.is_sound() } else { is_open || reading.counts.fit() };
            if fits && !different.iter().any(|other| other.counts == reading.counts) {
                different.push(reading);
            }
        }
    }
    different
}

/// Whether the first line of `head` is a request of `format`, or the names that it defines.
pub(crate) fn is_own_line(format: TraceFormat, how: &ReadAs, head: &Head<'_>) -> bool {
    let first = Head { lines: &head.lines[..head.lines.len().min(1)], ..*head };
    Reading::counts_of(format, how, &first).is_some_and(|counts| counts.bad == 0)
}

/// The reading of `head` with these columns; `None` if no line fits.
pub(crate) fn reading(columns: &str, head: &Head<'_>, action: u8) -> Option<Reading> {
    let mapping = Mapping::parse(columns).ok()?;
    let how = ReadAs { action, unit: Unit::Bytes, time_ns: None, columns: Some(Arc::new(mapping)) };
    Reading::of_some(format!("--columns {}", word(columns)), TraceFormat::Table, &how, head)
}

fn quoted(name: &str) -> String {
    if name.contains([',', ':', '=']) { format!("\"{name}\"") } else { name.to_owned() }
}

/// A name with u for the micro sign, of which there are two.
fn with_letter_u(name: &str) -> String {
    name.replace(['\u{b5}', '\u{3bc}'], "u")
}

/// The letters and digits of a name, in lower case.
pub(crate) fn letters_of(cell: &str) -> String {
    let letters: String = with_letter_u(cell).chars().filter(char::is_ascii_alphanumeric).collect();
    letters.to_ascii_lowercase()
}

/// Whether people can paste a command that contains this name.
fn is_pasted(cell: &str) -> bool {
    cell.len() <= LONGEST_NAME && !cell.chars().any(char::is_control)
}

/// The unit that a name states or implies, `Some(None)` if it has none; `None` if it is none of the `known` names,
/// alone or with a unit behind it.
fn unit_named(cell: &str, known: &[&str]) -> Option<Option<&'static str>> {
    if !is_pasted(cell) {
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
        ("kilobytes", "1KiB"),
        ("kbytes", "1KiB"),
        ("bytes", "B"),
        ("byte", "B"),
        ("4kblocks", "4KiB"),
        ("4kib", "4KiB"),
        ("4kb", "4KiB"),
        ("4k", "4KiB"),
        ("pages", "4KiB"),
        ("kib", "1KiB"),
        ("kb", "1KiB"),
        ("mib", "1MiB"),
        ("mb", "1MiB"),
        ("gib", "1GiB"),
        ("gb", "1GiB"),
        ("512b", "512B"),
        ("512", "512B"),
        ("k", "1KiB"),
        ("100ns", "100ns"),
        ("us", "us"),
        ("ms", "ms"),
        ("ns", "ns"),
        ("s", "s"),
        ("b", "B"),
    ] {
        let stem = letters.strip_suffix(ending);
        let stem = stem.map(|stem| stem.strip_suffix("in").unwrap_or(stem));
        if let Some(stem) = stem.filter(|stem| is(stem)) {
            let is_plural = ending == "s" && TIMES.contains(&stem) && !is_apart(cell);
            return Some((!is_plural).then_some(unit));
        }
    }
    None
}

/// Whether the last letter of a name is a word of its own, behind a mark or a change of case: the s of seconds in
/// `time_s`, but not in `times`.
fn is_apart(name: &str) -> bool {
    let name = name.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let mut letters = name.chars().rev();
    let (last, before) = (letters.next(), letters.next());
    let is_same =
        |letter: char| last.is_some_and(|last| last.is_uppercase() == letter.is_uppercase());
    before.is_some_and(|letter| !letter.is_ascii_alphabetic() || !is_same(letter))
}

/// Whether a column of this name may be a field of a request.
pub(crate) fn is_field(name: &str) -> bool {
    is_needed_field(name) || is_volume(name)
}

/// Whether a column of this name may hold the volumes, or parts of their names.
pub(crate) fn is_volume(name: &str) -> bool {
    unit_named(name, &VOLUMES).is_some()
}

/// Whether the name of an address, a length or a time states its unit.
pub(crate) fn has_unit(name: &str) -> bool {
    let all: [&[&str]; 3] = [&OFFSETS, &SIZES, &TIMES];
    all.iter().any(|known| unit_named(name, known).is_some_and(|unit| unit.is_some()))
}

/// Whether a column of this name may be the time, the operation, the address or the length of a request.
pub(crate) fn is_needed_field(name: &str) -> bool {
    let others: [&[&str]; 2] = [&TIMES, &OPS];
    is_length(name)
        || is_address(name)
        || others.iter().any(|known| unit_named(name, known).is_some())
}

/// Whether a column of this name may hold times.
pub(crate) fn is_time(name: &str) -> bool {
    unit_named(name, &TIMES).is_some()
}

/// Whether a column of this name may hold the addresses of requests.
pub(crate) fn is_address(name: &str) -> bool {
    unit_named(name, &OFFSETS).is_some()
}

/// Whether a column of this name may hold the lengths of requests.
pub(crate) fn is_length(name: &str) -> bool {
    unit_named(name, &SIZES).is_some()
}

/// Whether a column of this name may hold operations.
pub(crate) fn is_operation(name: &str) -> bool {
    unit_named(name, &OPS).is_some()
}

/// Whether a column of this name holds requests per second.
pub(crate) fn is_rate(name: &str) -> bool {
    let letters = letters_of(name);
    letters.starts_with("iops") || letters.ends_with("iops")
}

/// The unit that the name of an address or a length implies.
fn unit_of_name(letters: &str) -> Option<&'static str> {
    match letters {
        "lba" | "lbn" | "sector" | "startsector" | "startlba" | "firstsector" | "firstlba"
        | "nsectors" | "nsect" | "nrsector" | "nrsectors" | "sectors" | "numsectors"
        | "sectorcnt" | "sectorcount" => Some("512B"),
        "bytes" | "byteoffset" | "sizebytes" | "nbytes" | "nrbytes" | "byteslen" | "bytelen"
        | "bytelength" | "bytecount" => Some("B"),
        "kbytes" | "kilobytes" | "kb" | "kib" => Some("1KiB"),
        "lpn" | "page" | "pages" | "npages" => Some("4KiB"),
        _ => None,
    }
}

/// The unit of time that is the last word of a name.
fn unit_of_time(name: &str) -> Option<&'static str> {
    let name = with_letter_u(name);
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    Some(match words.rfind(|word| !word.is_empty())?.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => "ms",
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" => "us",
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => "ns",
        "100ns" | "filetime" => "100ns",
        _ => return None,
    })
}

/// The unit of addresses or lengths that stands in brackets behind a name in any language.
fn unit_in_brackets(name: &str) -> Option<&'static str> {
    let name = name.trim_end();
    let inner = name.strip_suffix([']', ')'])?;
    let unit = &inner[inner.rfind(['[', '('])? + 1..];
    Some(match unit.trim().to_lowercase().as_str() {
        "b" | "byte" | "bytes" | "octet" | "octets" => "B",
        "sector" | "sectors" | "sektor" | "sektoren" | "secteurs" | "512b" => "512B",
        "kb" | "kib" => "1KiB",
        "mb" | "mib" => "1MiB",
        "gb" | "gib" => "1GiB",
        "4k" | "4kb" | "4kib" => "4KiB",
        _ => return None,
    })
}

/// Bytes of a record of libCacheSim's oracleGeneral.
const ORACLE: usize = 24;

/// Whether `bytes` are records of oracleGeneral: time, object, size, and the number of the next record of the same
/// object. Source: 1a1a11a/libCacheSim, FAQ.md and oracleGeneralBin.h.
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

/// The readings of such records: the number of an object counts sectors, blocks of 4 KiB or bytes, and all requests are
/// writes, or all are reads.
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
