//! MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Source: Narayanan, Donnelly, Rowstron, "Write Off-Loading", FAST 2008; SNIA IOTTA trace 388. Timestamp is a Windows
//! FILETIME (100 ns since 1601), Offset and Size are in bytes. Decided: a timestamp before 1970 is not a FILETIME but
//! in another unit, and is refused. A file has one host; a second host is refused, because disk numbers count per host.
//! ResponseTime is ignored.

use super::cursor::Cursor;
use super::{
    Clock, Flaw, Format, FormatInfo, Line, Reject, TimeRule, TraceFormat, UnitRule, in_bytes,
    is_header,
};
use crate::read::readings::Counts;
use ssd_core::host::request::Op;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Msr,
    name: "msr",
    summary: "MSR Cambridge CSV.",
    title: "an MSR Cambridge trace",
    form: "`Timestamp,Hostname,DiskNumber,Read|Write,Offset,Size,ResponseTime`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in 100 ns since 1601 (FILETIME), offset and size in bytes",
    clock: Clock::FirstRecord,
    volume: "DiskNumber",
    order: "ascending",
    source: "Narayanan, Donnelly, Rowstron, \"Write Off-Loading\", FAST 2008; SNIA IOTTA trace 388",
    traps: "copies in seconds, milliseconds or sectors: refused, because their times are before \
            1970 or their offsets are not multiples of 512; several hosts in one file: refused, with the commands \
            that read one of them, or all with each disk as a volume",
};

/// Its columns, in the notation of `--columns`.
pub(crate) const COLUMNS: &str = "time=1:100ns,op=4,offset=5:B,size=6:B,volume=3";

/// The filter that makes a table of the records of several hosts, the options that read it, and the result.
pub(crate) const EACH_DISK: [&str; 3] = [
    r#"awk -F, -v OFS=, '{ $2 = $2 "-" $3 } 1' FILE"#,
    "--columns time=1:100ns,op=4,offset=5:B,size=6:B,volume=2 --set workload.volume=all",
    "all hosts, each disk a volume of its own",
];

/// Returns the filter that selects the records of `host`; `None` if its name cannot be pasted.
pub(crate) fn of_host(host: &str) -> Option<String> {
    if host.contains(|letter: char| letter.is_control() || letter == '\u{fffd}') {
        return None;
    }
    let host = host.replace('\\', r"\\").replace('"', "\\\"").replace('\'', r"'\''");
    Some(format!(r#"awk -F, '$2 == "{host}"' FILE"#))
}

/// Returns the text about a host with this many disks. Each disk has its own addresses, so several have no common span.
pub(crate) fn of_disks(disks: usize, counts: Counts) -> String {
    if disks < 2 {
        return counts.summary();
    }
    format!("{}, on {disks} disks", Counts::together([&counts].into_iter()).summary())
}

/// Nanoseconds per unit of the timestamp.
const TICK_NS: u64 = 100;
/// 1970-01-01 in nanoseconds since 1601-01-01.
const YEAR_1970_NS: u64 = 116_444_736_000_000_000 * TICK_NS;
/// Maximum length of a host name, bytes.
const MAX_HOST: usize = 255;

/// The parser.
#[derive(Default)]
pub struct Parser {
    /// The host of the first record; empty before it.
    host: Vec<u8>,
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        if is_header(line, "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime") {
            return Ok(Line::Header);
        }
        let time_at = cursor.at;
        let at_ns = cursor.time(TICK_NS, "the timestamp, 100 ns since 1601")?;
        if at_ns < YEAR_1970_NS {
            let expected = "a time after 1970 in units of 100 ns since 1601 (a Windows FILETIME; is it another unit?)";
            return Err(Reject::new(expected, time_at));
        }
        cursor.comma("`,` after the timestamp, a whole number")?;
        let host_at = cursor.at;
        let host = cursor.until(b',', "the host name and `,`")?;
        let disk = cursor.value("the disk number")?;
        cursor.comma("`,` after the disk number")?;
        let op = match cursor.line.get(cursor.at..) {
            Some([b'R', b'e', b'a', b'd', b',', ..]) => Op::Read,
            Some([b'W', b'r', b'i', b't', b'e', b',', ..]) => Op::Write,
            _ => return Err(Reject::new("the type, `Read` or `Write`, and `,`", cursor.at)),
        };
        cursor.at += if op == Op::Read { 5 } else { 6 };
        let range = cursor.range(
            "the offset, bytes",
            Cursor::comma,
            "`,` after the offset",
            "the size, bytes",
        )?;
        cursor.comma("`,` after the size")?;
        cursor.digits("the response time")?;
        cursor.end("the end of the line after the response time")?;
        let record = in_bytes(at_ns, disk, op, range)?;
        if self.host != host {
            self.first_host(host, host_at)?;
        }
        Ok(record)
    }

    fn volume_name(&self, volume: u64) -> String {
        format!("{} disk {volume}", String::from_utf8_lossy(&self.host).escape_debug())
    }
}

impl Parser {
    /// Stores the host of the first record; no other host may follow.
    #[cold]
    fn first_host(&mut self, host: &[u8], column: usize) -> Result<(), Reject> {
        if host.len() > MAX_HOST {
            return Err(Reject::new("a host name of at most 255 bytes", column));
        }
        if !self.host.is_empty() {
            let first = String::from_utf8_lossy(&self.host).escape_debug().to_string();
            let expected = format!("the host of the first record, {first} (cut the file by host)");
            let hosts = [&self.host[..], host].map(|host| String::from_utf8_lossy(host).into());
            return Err(Reject { flaw: Flaw::Host(hosts), ..Reject::new(expected, column) });
        }
        self.host = host.to_vec();
        Ok(())
    }
}
