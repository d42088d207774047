//! Trace formats, text and binary. Each format has a file; the macro call below lists them.
//!
//! The folder also contains what several formats share: `cursor` (reading a line), `ascii` (five columns), `iolog`
//! (both versions of fio's log), `mapping` (tables with named columns). A plug turns one line into one [`Line`]. It
//! reads no file, skips nothing and corrects nothing; a line that it cannot accept is a [`Reject`].

mod ascii;
mod cursor;
mod iolog;
pub(crate) use iolog::Waits;
pub mod mapping;
mod range;
mod reject;
mod ssdtrace;
mod unit;

pub use mapping::Mapping;
pub use reject::{Flaw, Reject};
pub use unit::Unit;

pub(crate) use range::{EMPTY, Range};
use range::{in_bytes, in_sectors};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ssd_core::config::Word;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::units::Nanos;
use std::borrow::Cow;
use std::sync::Arc;

/// Maximum length of a read or write, sectors (1 GiB).
pub const MAX_TRANSFER_SECTORS: u64 = 1 << 21;
/// Maximum length of a discard, sectors: 1 PiB, the largest device.
pub const MAX_DISCARD_SECTORS: u64 = 1 << 41;
/// Sectors of each piece of a discard that is too long for an event (1 TiB).
pub(crate) const DISCARD_PIECE: u32 = 1 << 31;

/// One request of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Time of the event in the file's clock, nanoseconds.
    pub at_ns: u64,
    /// Volume, in the numbering of [`FormatInfo::volume`].
    pub volume: u64,
    /// First sector; 0 for a flush.
    pub sector: u64,
    /// Sectors, at least 1; 0 for a flush.
    pub sectors: u32,
    /// Operation.
    pub op: Op,
    /// Bits of [`ssd_core::host::request::flags`].
    pub flags: u8,
    /// Stream hint; only ssdlab's trace files have one.
    pub stream: u8,
}

impl Event {
    /// Returns a request of a trace file.
    pub(crate) fn of(timed: &TimedRequest) -> Event {
        let Request { sector, sectors, op, volume, stream, flags } = timed.request;
        Event { at_ns: timed.at.0, volume: u64::from(volume), sector, sectors, op, flags, stream }
    }

    /// Returns the request that arrives at `at` nanoseconds, of volume 0.
    #[inline(always)]
    pub(crate) fn request(&self, at: u64) -> TimedRequest {
        let Event { sector, sectors, op, flags, stream, .. } = *self;
        let request = Request { flags, stream, ..Request::new(op, sector, sectors) };
        TimedRequest { at: Nanos(at), request }
    }
}

/// The content of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// Only blanks.
    Blank,
    /// A request.
    Event(Event),
    /// A discard that is too long for an event, with its first sector and this many sectors; it is split.
    LongDiscard(Event, u64),
    /// An event of the chosen action without data that is not a flush (block-event text).
    Dataless,
    /// An event of another action: its letter, the first letter of `UT` (block-event text).
    Other(u8),
    /// A part of the format that is not a request: column names, free text before the first record, the opening of a
    /// file.
    Header,
    /// A pause with this number (I/O log of fio).
    Wait(u64),
}

/// The meaning of time 0 of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Time 0 of the file, which is close to its start.
    File,
    /// The first record of the chosen volume: time 0 of the file is decades earlier.
    FirstRecord,
}

impl Clock {
    /// Returns the text for the reference.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Clock::File => "time 0 of the file",
            Clock::FirstRecord => "first record used",
        }
    }
}

/// Whether the unit of addresses and lengths is certain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitRule {
    /// Always the defined unit.
    Fixed,
    /// Sectors by definition; files in bytes are detected.
    Sectors,
    /// Files may have units other than the defined one (`workload.unit`).
    Varies,
    /// As in `workload.columns`; open units are those of `workload.unit`, or bytes.
    Mapped,
}

/// Whether the unit of times is certain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeRule {
    /// Always the defined unit.
    Fixed,
    /// This many nanoseconds by definition, but files differ (`workload.time_unit`).
    Varies(u64),
    /// As in `workload.columns`; an open unit is that of `workload.time_unit`.
    Mapped,
}

/// Description of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatInfo {
    /// The format.
    pub format: TraceFormat,
    /// Name in the configuration.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Title in messages.
    pub title: &'static str,
    /// Form of a line.
    pub form: &'static str,
    /// Whether the unit of addresses and lengths is certain.
    pub unit: UnitRule,
    /// Whether the unit of times is certain.
    pub time: TimeRule,
    /// Whether the events have actions, one of which is chosen.
    pub actions: bool,
    /// Units of times, addresses and lengths.
    pub units: &'static str,
    /// The meaning of time 0 of a replay.
    pub clock: Clock,
    /// The number of a volume in `workload.volume`.
    pub volume: &'static str,
    /// Required order of the records.
    pub order: &'static str,
    /// Definition of the layout.
    pub source: &'static str,
    /// What is refused or decided, and why.
    pub traps: &'static str,
}

/// How a file is split into pieces for [`Format::parse`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// Text: lines, without their newlines.
    Lines,
    /// Binary: records; [`Format::length`] determines their length from this many of their first bytes.
    Records(usize),
}

/// The beginning of a file.
pub struct Head<'a> {
    /// Bytes of the head.
    pub bytes: &'a [u8],
    /// Complete lines that are not blank.
    pub lines: &'a [&'a [u8]],
}

/// How a file is read, in formats with open properties.
#[derive(Clone, Debug)]
pub struct ReadAs {
    /// Letter of the chosen action; see [`has_actions`].
    pub action: u8,
    /// Unit of addresses and lengths; see [`unit_varies`].
    pub unit: Unit,
    /// Nanoseconds per unit of time; `None`: as defined by the format or the columns.
    pub time_ns: Option<u64>,
    /// The columns of a table.
    pub columns: Option<Arc<Mapping>>,
}

impl Default for ReadAs {
    fn default() -> ReadAs {
        ReadAs { action: b'Q', unit: Unit::default(), time_ns: None, columns: None }
    }
}

/// A format: reads lines or records one after the other.
pub trait Format: Default {
    /// Its description.
    const INFO: &'static FormatInfo;

    /// How a file is split.
    const CUT: Cut = Cut::Lines;

    /// Creates a parser at the start of a file that is read according to `how`.
    fn new(_how: &ReadAs) -> Self {
        Self::default()
    }

    /// Reads the next line without its newline; the line may be any bytes.
    ///
    /// # Errors
    /// [`Reject`] says what was expected and where.
    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject>;

    /// Returns the bytes of the record that begins with `head`, at least as many as `head` has; `None` if no record
    /// begins there. Only for [`Cut::Records`].
    fn length(&self, _head: &[u8]) -> Option<usize> {
        None
    }

    /// Returns the key that orders records of several files: the time of this record, in any unit.
    fn time(&self, _record: &[u8]) -> u64 {
        0
    }

    /// Returns the name of a volume in messages.
    fn volume_name(&self, volume: u64) -> String {
        volume.to_string()
    }

    /// Returns how well the head of a file matches this format, 0 to 100: the [`share`] of lines that are its records,
    /// or whether it begins with a binary record.
    #[must_use]
    fn detect(head: &Head<'_>) -> u32 {
        let Cut::Records(first) = Self::CUT else { return share(&mut Self::default(), head.lines) };
        let mut parser = Self::default();
        let length = head.bytes.get(..first).and_then(|bytes| parser.length(bytes));
        let record = length.and_then(|length| head.bytes.get(..length));
        if record.is_some_and(|record| parser.parse(record).is_ok()) { 100 } else { 0 }
    }

    /// Returns the bytes of a bad `line` before the first that this format does not accept; 0 for any other line.
    #[must_use]
    fn understood(line: &[u8]) -> usize {
        Self::default().parse(line).err().map_or(0, |reject| reject.column)
    }
}

/// An operation for a format that is known only when a file is read.
pub(crate) trait Work {
    /// Result of the operation.
    type Output;
    /// Runs the operation with the parser `P`.
    fn with<P: Format>(self) -> Self::Output;
}

/// Returns the share of `lines` that are records of a format, per cent. Lines that are not records but may occur in the
/// file do not count.
fn share<P: Format>(parser: &mut P, lines: &[&[u8]]) -> u32 {
    let (mut records, mut events) = (0, 0);
    for line in lines {
        match parser.parse(line) {
            Ok(Line::Event(_) | Line::LongDiscard(..) | Line::Dataless | Line::Other(_)) => {
                records += 1;
            }
            Ok(Line::Blank | Line::Header | Line::Wait(_)) => {}
            Err(_) => events += 1,
        }
    }
    (records * 100u32).checked_div(records + events).unwrap_or(0)
}

macro_rules! formats {
    ($($file:ident $variant:ident),+ $(,)?) => {
        $(pub mod $file;)+

        /// `workload.format`: a trace format; the file of each describes it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[allow(missing_docs, reason = "INFO in the file of a format describes it")]
        pub enum TraceFormat {
            Auto,
            $($variant,)+
            Ssdtrace,
        }

        /// Descriptions of the formats: plugs, sorted by name, and ssdlab's trace file.
        pub const ALL: &[&FormatInfo] = &[$(&$file::INFO,)+ &ssdtrace::SSDTRACE];

        const WORDS: [(&str, &str); 1 + ALL.len()] = sorted([
            ("auto", "Detected from the first lines."),
            $(($file::INFO.name, $file::INFO.summary),)+
            (ssdtrace::SSDTRACE.name, ssdtrace::SSDTRACE.summary),
        ]);

        /// [`Format::detect`] of every format.
        #[must_use]
        pub fn detect(head: &Head<'_>) -> Vec<(TraceFormat, u32)> {
            vec![$((TraceFormat::$variant, $file::Parser::detect(head))),+]
        }

        /// [`Format::understood`] of every format.
        #[must_use]
        pub fn understood(line: &[u8]) -> Vec<(TraceFormat, usize)> {
            vec![$((TraceFormat::$variant, $file::Parser::understood(line))),+]
        }

        /// Runs `work` with the parser of `format`; returns `None` if it has no parser.
        pub(crate) fn with<W: Work>(format: TraceFormat, work: W) -> Option<W::Output> {
            match format {
                $(TraceFormat::$variant => Some(work.with::<$file::Parser>()),)+
                TraceFormat::Ssdtrace | TraceFormat::Auto => None,
            }
        }
    };
}

// One line per format, sorted by file name.
formats! {
    alibaba Alibaba,
    biosnoop Biosnoop,
    biotracer Biotracer,
    blkreplay Blkreplay,
    blktrace Blktrace,
    block_event BlockEvent,
    diskmon Diskmon,
    disksim Disksim,
    etw Etw,
    fio_v2 FioV2,
    fio_v2_clock FioV2Clock,
    fio_v3 FioV3,
    fiu Fiu,
    hfplayer Hfplayer,
    libcachesim Libcachesim,
    midas Midas,
    mqsim Mqsim,
    msr Msr,
    records Records,
    spc Spc,
    ssdsim Ssdsim,
    systor17 Systor17,
    table Table,
    tencent Tencent,
    tracepoint Tracepoint,
    vscsi Vscsi,
    wiscsee Wiscsee,
}

impl Word for TraceFormat {
    const WORDS: &'static [(&'static str, &'static str)] = &WORDS;

    fn from_word(word: &str) -> Option<TraceFormat> {
        let format = ALL.iter().find(|info| info.name == word).map(|info| info.format);
        format.or_else(|| (word == "auto").then_some(TraceFormat::Auto))
    }

    fn word(self) -> &'static str {
        info(self).map_or("auto", |info| info.name)
    }
}

impl Serialize for TraceFormat {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for TraceFormat {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<TraceFormat, D::Error> {
        let word = Cow::<str>::deserialize(from)?;
        TraceFormat::from_word(&word)
            .ok_or_else(|| D::Error::custom(format!("there is no trace format {word:?}")))
    }
}

/// Sorts `words` after the first by name.
const fn sorted<const N: usize>(
    mut words: [(&'static str, &'static str); N],
) -> [(&'static str, &'static str); N] {
    let mut end = 2;
    while end < N {
        let mut at = end;
        while at > 1 && before(words[at].0.as_bytes(), words[at - 1].0.as_bytes()) {
            (words[at], words[at - 1]) = (words[at - 1], words[at]);
            at -= 1;
        }
        end += 1;
    }
    words
}

/// Returns whether `a` sorts before `b`.
const fn before(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] != b[at] {
            return a[at] < b[at];
        }
        at += 1;
    }
    a.len() < b.len()
}

/// Returns the description of `format`; `None` for `auto`.
#[must_use]
pub fn info(format: TraceFormat) -> Option<&'static FormatInfo> {
    ALL.iter().copied().find(|info| info.format == format)
}

/// Returns whether the events of `format` have actions, one of which is chosen.
pub(crate) fn has_actions(format: TraceFormat) -> bool {
    info(format).is_some_and(|info| info.actions)
}

/// Returns whether files of `format` may have addresses and lengths in units other than the defined one.
pub(crate) fn unit_varies(format: TraceFormat) -> bool {
    info(format).is_some_and(|info| info.unit == UnitRule::Varies)
}

/// Returns whether a user may set the unit of addresses and lengths of `format`.
pub(crate) fn unit_may_be_set(format: TraceFormat) -> bool {
    info(format).is_some_and(|info| matches!(info.unit, UnitRule::Varies | UnitRule::Mapped))
}

/// Returns whether `workload.columns` defines the columns of `format`.
pub(crate) fn is_mapped(format: TraceFormat) -> bool {
    matches!(format, TraceFormat::Table | TraceFormat::Records)
}

/// Returns whether addresses and lengths of `format` are in sectors by definition.
pub(crate) fn counts_sectors(format: TraceFormat) -> bool {
    info(format).is_some_and(|info| info.unit == UnitRule::Sectors)
}

/// Returns a Linux device as one number.
#[inline(always)]
fn major_minor(major: u32, minor: u32) -> u64 {
    u64::from(major) << 32 | u64::from(minor)
}

/// Returns `MAJ,MIN` of such a number.
fn major_minor_name(volume: u64) -> String {
    format!("{},{}", volume >> 32, volume & 0xffff_ffff)
}

/// Returns the number in at most eight `bytes`, lowest first.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Returns the number in at most eight `bytes`, highest first.
fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Returns whether `line` consists of the column names.
#[inline(always)]
fn is_header(line: &[u8], names: &str) -> bool {
    line.first().is_some_and(|byte| !byte.is_ascii_digit())
        && line.trim_ascii().eq_ignore_ascii_case(names.as_bytes())
}
