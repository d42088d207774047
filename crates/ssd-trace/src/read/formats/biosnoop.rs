//! Output of biosnoop, of bcc and libbpf-tools.
//!
//! Source: iovisor/bcc, tools/biosnoop.py and libbpf-tools/biosnoop.c: names `TIME(s) COMM PID DISK T SECTOR BYTES`,
//! then `QUE(ms)` with -Q, `P` with -P, and `LAT(ms)`. SECTOR is in 512 bytes. T is R or W, or the letters of RWBS in
//! libbpf-tools. Decided: COMM may contain blanks, so the columns after it are counted from the end; a row of 0 bytes,
//! such as a flush, has no data.

use super::mapping::known::{KnownFormat, Mapped};
use super::{Clock, FormatInfo, TimeRule, TraceFormat, UnitRule};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Biosnoop,
    name: "biosnoop",
    summary: "Output of biosnoop (bcc, libbpf-tools).",
    title: "output of biosnoop",
    form: "names `TIME(s) COMM PID DISK T SECTOR BYTES ... LAT(ms)`, then rows; \
           `--columns time=TIME(s):s,op=T,offset=SECTOR:512B,size=BYTES,volume=DISK`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in s, address in 512 B sectors, length in bytes",
    clock: Clock::FirstRecord,
    volume: "number of the disk, from 0, in the order of the file",
    order: "ascending (workload.sort makes it so)",
    source: "iovisor/bcc, tools/biosnoop.py; libbpf-tools/biosnoop.c",
    traps: "the time is that of completion; discards and flushes are R or W in bcc's older versions; \
            bpftrace's biosnoop.bt prints neither sector nor size and cannot be read; \
            addresses that look like bytes: refused",
};

/// Properties of the format.
pub struct Biosnoop;

impl KnownFormat for Biosnoop {
    const INFO: &'static FormatInfo = &INFO;
    const COLUMNS: &'static str =
        "time=TIME(s):s,op=T,offset=SECTOR:512B,size=BYTES,volume=DISK,separator=blanks";
    const EMPTY: bool = true;
    const SPARE: Option<&'static str> = Some("COMM");
}

/// The parser.
pub type Parser = Mapped<Biosnoop>;
