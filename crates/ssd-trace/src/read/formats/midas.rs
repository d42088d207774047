//! Traces of MiDAS: `TIME_S TYPE LBA BYTES [STREAM]`.
//!
//! Source: dgist-datalab/MiDAS, README.md: time in seconds, type 0 read, 1 write, 3 trim, LBA in units of 4 KiB, size
//! in bytes. Decided: DiskSim has the same number of columns (milliseconds, device, sector, sectors, flags), so a file
//! is read as MiDAS's only if all sizes are whole blocks of 4 KiB.

use super::mapping::known::{KnownFormat, Mapped};
use super::{Clock, FormatInfo, Reject, TimeRule, TraceFormat, UnitRule};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Midas,
    name: "midas",
    summary: "Traces of MiDAS.",
    title: "a trace of MiDAS",
    form: "`TIME_S 0|1|3 LBA BYTES [STREAM]`; \
           `--columns time=1:s,op=2,offset=3:4KiB,size=4,read=0,write=1,discard=3`",
    unit: UnitRule::Fixed,
    time: TimeRule::Varies(1_000_000_000),
    actions: false,
    units: "time in s, address in pages of 4 KiB, length in bytes",
    clock: Clock::File,
    volume: "0, the only one",
    order: "ascending",
    source: "dgist-datalab/MiDAS, README.md",
    traps: "0 is a read, 1 a write and 3 a TRIM; five columns look like DiskSim's, so set workload.format; \
            sizes that are not multiples of 4 KiB: refused",
};

/// Properties of the format.
pub struct Midas;

impl KnownFormat for Midas {
    const INFO: &'static FormatInfo = &INFO;
    const COLUMNS: &'static str =
        "time=1:s,op=2,offset=3:4KiB,size=4,read=0,write=1,discard=3,separator=blanks";

    fn check(line: &[u8]) -> Result<(), Reject> {
        let mut cells = line.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty());
        // Words such as `R` and `W` come from another tool, whose addresses are rarely pages.
        if cells.nth(1).is_some_and(|op| !matches!(op, b"0" | b"1" | b"3")) {
            return Err(Reject::new("the type, 0 (read), 1 (write) or 3 (trim)", 0));
        }
        let size =
            cells.nth(1).and_then(|cell| std::str::from_utf8(cell).ok()?.parse::<u64>().ok());
        if size.is_some_and(|size| !size.is_multiple_of(4096)) {
            return Err(Reject::new("a size in bytes, a multiple of 4096 (is it in sectors?)", 0));
        }
        let stream = cells.next().is_none_or(|cell| cell.iter().all(u8::is_ascii_digit));
        if !stream || cells.next().is_some() {
            return Err(Reject::new("the end of the line after the stream, a number", line.len()));
        }
        Ok(())
    }
}

/// The parser.
pub type Parser = Mapped<Midas>;
