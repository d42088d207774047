//! Traces of hfplayer (TraceRAR): CSV below a line of names.
//!
//! Source: umn-cris/hfplayer, bin/sampleTrace.csv and IOLogDumpSchema.h: names with a type after a dot, LBA and NBLKS
//! in blocks of 512 bytes, ELAPSED_USECS from the start. Decided: rows of completions (`RD_OUT`, `WR_OUT`) are not
//! requests.

use super::mapping::known::{KnownFormat, Mapped};
use super::{Clock, FormatInfo, TimeRule, TraceFormat, UnitRule};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Hfplayer,
    name: "hfplayer",
    summary: "CSV of hfplayer (TraceRAR).",
    title: "a trace of hfplayer",
    form: "names, among them `ELAPSED_USECS`, `CMD`, `LBA` and `NBLKS`, then rows; \
           `--columns time=ELAPSED_USECS:us,op=CMD,offset=LBA:512B,size=NBLKS:512B,volume=LUN_SSID`",
    unit: UnitRule::Sectors,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in us, address and length in 512 B sectors",
    clock: Clock::FirstRecord,
    volume: "LUN_SSID",
    order: "ascending",
    source: "umn-cris/hfplayer, bin/sampleTrace.csv",
    traps: "RD_IN and WR_IN are requests, RD_OUT and WR_OUT their completions, which are counted and not used",
};

/// Properties of the format.
pub struct Hfplayer;

impl KnownFormat for Hfplayer {
    const INFO: &'static FormatInfo = &INFO;
    const COLUMNS: &'static str = "time=ELAPSED_USECS:us,op=CMD,offset=LBA:512B,size=NBLKS:512B,volume=LUN_SSID,\
        separator=comma,read=RD|RD_IN,write=WR|WR_IN,ignore=RD_OUT|WR_OUT";
    const PREAMBLE: Option<&'static str> = Some("version,");
}

/// The parser.
pub type Parser = Mapped<Hfplayer>;
