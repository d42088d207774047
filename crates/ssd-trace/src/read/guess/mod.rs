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

/// Parts of the names of columns with durations, or with the ends of requests.
const LATENCIES: [&str; 9] =
    ["lat", "resp", "serv", "svc", "complet", "end", "finish", "duration", "queue"];
/// A column that was recognised: as it is named, and what its name says of the unit.
struct Named {
    cell: String,
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
struct Columns {
    time: Option<Named>,
    op: Named,
    offset: Named,
    size: Named,
    volume: Option<Named>,
}

impl Columns {
    fn of(names: &[String]) -> Option<Columns> {
        // `sectors` is a length, although it is `sector` with the s of seconds, too.
        let find = |known: &[&str]| {
            let exact = names.iter().filter(|cell| known.contains(&letters_of(cell).as_str()));
            exact.chain(names).find_map(|cell| named(cell, known))
        };
        Some(Columns {
            time: find(&TIMES),
            op: find(&OPS)?,
            offset: find(&OFFSETS)?,
            size: find(&SIZES)?,
            volume: find(&VOLUMES),
        })
    }

    /// The parts `time=...` of a mapping, one for each column and unit that the time may have. If no column has the
    /// name of a time, any column of ascending numbers may hold it, or the table may have no time.
    fn times(&self, rows: &Rows) -> Vec<String> {
        let with = |name: &str, unit: &str| {
            let colon = if unit.is_empty() { "" } else { ":" };
            format!("time={}{colon}{unit},", quoted(name))
        };
        let of_values = |at: usize| {
            let name = &rows.names[at];
            let units = unit_of_time(name).map_or(rows.units_of(at).to_vec(), |unit| vec![unit]);
            units.into_iter().map(|unit| with(name, unit)).collect::<Vec<String>>()
        };
        match &self.time {
            Some(Named { cell, unit: Some(unit) }) => vec![with(cell, unit)],
            Some(Named { cell, unit: None }) => of_values(rows.place_of(cell)),
            None => {
                let used = [&self.op, &self.offset, &self.size].map(|column| column.cell.as_str());
                let is_free = |at: &usize| !used.contains(&rows.names[*at].as_str());
                let others: Vec<usize> = rows.other_times().into_iter().filter(is_free).collect();
                let is_certain = |&at: &usize| unit_of_time(&rows.names[at]).is_some();
                if let Some(at) = others.iter().copied().find(is_certain) {
                    return of_values(at);
                }
                others.into_iter().flat_map(of_values).chain([String::new()]).collect()
            }
        }
    }

    /// What to add to a mapping for the operations, once for each possible meaning of their words.
    fn meanings(&self, rows: &Rows) -> Vec<String> {
        let cells = || rows.column(rows.place_of(&self.op.cell));
        if let Some(meaning) = meaning_of_flag(&self.op.cell, cells()) {
            return vec![meaning];
        }
        let known = [values::meanings(cells()), values::meanings_of_two(cells())];
        // Most words may be known.
        known.into_iter().find(|all| !all.is_empty()).unwrap_or_else(|| vec![String::new()])
    }

    /// Units of address and length that their names leave open.
    fn units(&self) -> Vec<(&'static str, &'static str)> {
        let is_block = |column: &Named| {
            let letters = letters_of(&column.cell);
            letters.contains("block") || letters.contains("blk")
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
    let place = |at: usize| quoted(&rows.names[at]);
    let events = rows.events(Some(rows.place_of(&columns.op.cell)), place);
    let volume = columns.volume.as_ref().map(|column| format!(",volume={}", quoted(&column.cell)));
    let volume = volume.unwrap_or_default();
    let [op, offset, size] =
        [&columns.op, &columns.offset, &columns.size].map(|column| quoted(&column.cell));
    let (meanings, units) = (columns.meanings(&rows), columns.units());
    let mut different: Vec<Reading> = Vec::new();
    for time in columns.times(&rows) {
        for (words, event) in
            meanings.iter().flat_map(|words| events.iter().map(move |event| (words, event)))
        {
            for &(of_offset, of_size) in &units {
                let text = format!(
                    "{time}op={op},offset={offset}:{of_offset},size={size}:{of_size}{volume}{words}{event}{skip}"
                );
                // Bytes that are no whole sectors are refused, and remain a rival of sectors.
                let open = of_offset == "B"
                    && columns.offset.unit.is_none()
                    && columns.size.unit.is_none();
                let reading = reading(&text, head, action);
                let reading = reading.filter(|reading| open || reading.counts.fit());
                let is_new = |reading: &Reading| {
                    !different.iter().any(|other| other.counts == reading.counts)
                };
                different.extend(reading.filter(is_new));
            }
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

/// The unit of time that is the last word of a name.
fn unit_of_time(name: &str) -> Option<&'static str> {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    match words.filter(|word| !word.is_empty()).next_back()?.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "seconds" => Some("s"),
        "ms" | "msec" | "msecs" => Some("ms"),
        "us" | "usec" | "usecs" => Some("us"),
        "ns" | "nsec" | "nsecs" => Some("ns"),
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
