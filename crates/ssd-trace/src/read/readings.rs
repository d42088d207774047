//! The readings of an ambiguous file: what its head is in each reading, as commands to paste.

use crate::read::commands::sorted;
use crate::read::formats::mapping::Size;
use crate::read::formats::{
    self, Cut, Event, Format, Head, Line, Mapping, ReadAs, TraceFormat, Work,
};
use crate::read::unit::{self, Shape};
use ssd_core::host::request::Op;
use ssd_core::metrics::numbers::{bandwidth, count, duration, size};
use ssd_core::units::SECTOR_BYTES;
use std::sync::Arc;

/// Maximum number of readings in a message.
const LISTED: usize = 6;

/// Maximum plausible length of a trace: 208 days, the limit of the statistics of pages.
pub(crate) const LONGEST_NS: u64 = 208 * 86_400_000_000_000;

/// Mean times between requests in most traces, nanoseconds: 500,000 to 5 requests per second.
const USUAL_GAPS: std::ops::Range<u64> = 2_000..200_000_000;
/// Like [`USUAL_GAPS`], for times in seconds, the unit of slow traces.
const USUAL_GAPS_OF_SECONDS: std::ops::Range<u64> = 2_000..10_000_000_000;
/// Nanoseconds from 1970 to a date between 2005 and 2040. A unit that makes such dates of the times is likely, whatever
/// the pace.
const DATES_NS: std::ops::Range<u64> = 1_104_537_600_000_000_000..2_208_988_800_000_000_000;
/// Fewest requests that have a pace.
const FEWEST_WITH_PACE: u64 = 5;
/// Bytes per second above which a rate is possible but unusual.
const UNUSUAL_RATE: f64 = 8e9;

/// Largest share of bad lines that a command offers to skip.
pub(crate) const FEW_BAD: f64 = 0.1;

/// How the lines that do not fit may be skipped.
pub(crate) enum BadLines {
    /// There are few: with these options.
    Few(String),
    /// There are so many that the format or the columns may be wrong; with these options.
    Many(String),
    /// Most lines do not fit: they may not be skipped.
    Most,
}

/// Counts of the head of a file in one reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) discards: u64,
    /// Flushes and events that are not requests.
    pub(crate) others: u64,
    /// Those among `others` with an ignored operation or another event.
    ignored: u64,
    /// Lines that do not fit.
    pub(crate) bad: u64,
    /// A hash of the operations in order. It distinguishes readings that swap reads and writes, even with equal counts.
    order: u64,
    /// Sectors read or written.
    sectors: u64,
    /// First sector and largest end of reads and writes.
    low: Option<u64>,
    high: u64,
    /// First time, and earliest and latest time, nanoseconds.
    pub(crate) first_ns: Option<u64>,
    last_ns: u64,
    latest_ns: u64,
    /// Number of times before the previous time.
    pub(crate) descents: u64,
}

impl Counts {
    fn add(&mut self, line: &Line) {
        match line {
            Line::Event(event) | Line::LongDiscard(event, _) => self.add_event(event),
            Line::Blank | Line::Header | Line::Wait(_) => {}
            Line::Dataless | Line::Other(_) => {
                self.ignored += u64::from(matches!(line, Line::Other(_)));
                self.others += 1;
            }
        }
    }

    pub(crate) fn add_event(&mut self, event: &Event) {
        self.descents += u64::from(event.at_ns < self.latest_ns);
        self.latest_ns = event.at_ns;
        self.first_ns = Some(self.first_ns.map_or(event.at_ns, |first| first.min(event.at_ns)));
        self.last_ns = self.last_ns.max(event.at_ns);
        self.order = self.order.wrapping_mul(31).wrapping_add(event.op as u64 + 1);
        match event.op {
            Op::Read => self.reads += 1,
            Op::Write => self.writes += 1,
            Op::Trim => self.discards += 1,
            Op::Flush | Op::Copy => self.others += 1,
        }
        if matches!(event.op, Op::Read | Op::Write) {
            let (start, length) = (event.sector, u64::from(event.sectors));
            self.sectors = self.sectors.saturating_add(length);
            self.low = Some(self.low.map_or(start, |low| low.min(start)));
            self.high = self.high.max(start.saturating_add(length));
        }
    }

    /// Returns the sum of `parts`, each of which has a separate address space, so that they have no common span.
    pub(crate) fn together<'a>(parts: impl Iterator<Item = &'a Counts>) -> Counts {
        parts.fold(Counts::default(), |sum, part| Counts {
            reads: sum.reads + part.reads,
            writes: sum.writes + part.writes,
            discards: sum.discards + part.discards,
            sectors: sum.sectors.saturating_add(part.sectors),
            first_ns: sum.first_ns.into_iter().chain(part.first_ns).min(),
            last_ns: sum.last_ns.max(part.last_ns),
            ..sum
        })
    }

    pub(crate) fn requests(&self) -> u64 {
        self.reads + self.writes + self.discards
    }

    /// Returns whether at least half of the lines fit.
    pub(crate) fn fit(&self) -> bool {
        self.requests() + self.others > self.bad
    }

    fn duration_ns(&self) -> u64 {
        self.last_ns - self.first_ns.unwrap_or(self.last_ns)
    }

    /// Returns the mean time between requests, nanoseconds.
    pub(crate) fn gap_ns(&self) -> u64 {
        self.duration_ns() / self.requests().saturating_sub(1).max(1)
    }

    /// Returns whether requests and bytes have a pace that is usual in traces.
    fn is_usual(&self, gaps: &std::ops::Range<u64>) -> bool {
        if self.requests() < FEWEST_WITH_PACE {
            return true;
        }
        let bytes = self.sectors as f64 * SECTOR_BYTES as f64;
        gaps.contains(&self.gap_ns()) && bytes < UNUSUAL_RATE * self.duration_ns() as f64 / 1e9
    }

    /// Returns whether a device may have received the requests: [`Counts::is_plausible`], and times in order.
    pub(crate) fn is_possible(&self) -> bool {
        self.is_plausible() && self.descents == 0
    }

    /// Returns whether all lines fit and [`Counts::is_possible`] holds.
    pub(crate) fn is_sound(&self) -> bool {
        self.bad == 0 && self.is_possible()
    }

    /// Returns whether addresses are below 1 PiB and the rate is not above that of any device.
    pub(crate) fn is_plausible(&self) -> bool {
        self.implausible().is_none()
    }

    /// Returns whether addresses are above 1 PiB.
    pub(crate) fn is_beyond_any_device(&self) -> bool {
        unit::beyond_any_device(self.high).is_some()
    }

    /// Returns why the counts are not plausible.
    pub(crate) fn implausible(&self) -> Option<String> {
        let bytes = self.sectors as f64 * SECTOR_BYTES as f64;
        unit::beyond_any_device(self.high).or_else(|| {
            unit::beyond_any_rate(self.reads + self.writes, bytes, self.duration_ns())
                .map(|rate| format!("{}, more than any device carries", bandwidth(rate)))
        })
    }

    /// Returns the share of lines that do not fit.
    pub(crate) fn bad_share(&self) -> f64 {
        self.bad as f64 / (self.requests() + self.others + self.bad).max(1) as f64
    }

    /// Returns the options that skip the lines that do not fit, if there are few.
    pub(crate) fn skipping(&self) -> String {
        let share = self.bad_share();
        if self.bad == 0 || share > FEW_BAD { String::new() } else { self.skipping_all() }
    }

    /// Returns the options that skip all lines that do not fit.
    pub(crate) fn skipping_all(&self) -> String {
        let share = self.bad_share();
        // The default allows 1 %.
        let most = if share < 0.01 {
            String::new()
        } else {
            format!(" --set workload.max_bad={:.2}", share + 0.01)
        };
        format!(" --set workload.skip_bad=true{most}")
    }

    /// Returns text such as "0 reads, 4 writes, 16 KiB over a span of 3.1 GiB in 265 us (58.9 MiB/s)".
    pub(crate) fn summary(&self) -> String {
        let bytes = self.sectors as f64 * SECTOR_BYTES as f64;
        let span = self.low.map_or(String::new(), |low| {
            format!(" over a span of {}", size((self.high - low) as f64 * SECTOR_BYTES as f64))
        });
        let discards = if self.discards > 0 {
            format!(", {}", of(self.discards, "discard"))
        } else {
            String::new()
        };
        let bad = match self.bad {
            0 => String::new(),
            1 => ", and 1 line does not fit".to_owned(),
            bad => format!(", and {} lines do not fit", count(bad)),
        };
        let rate = match self.duration_ns() {
            0 => String::new(),
            ns => format!(" ({})", bandwidth(bytes / (ns as f64 / 1e9))),
        };
        format!(
            "{}, {}{discards}, {}{span} in {}{rate}{bad}",
            of(self.reads, "read"),
            of(self.writes, "write"),
            size(bytes),
            duration(self.duration_ns() as f64),
        )
    }
}

impl From<&Shape> for Counts {
    fn from(shape: &Shape) -> Counts {
        let (low, high) = shape.span.unzip();
        let (first_ns, last_ns) = shape.times.unzip();
        Counts {
            reads: shape.reads,
            writes: shape.requests - shape.reads,
            discards: shape.discards,
            sectors: shape.length,
            low,
            high: high.unwrap_or(0),
            first_ns,
            last_ns: last_ns.unwrap_or(0),
            ..Counts::default()
        }
    }
}

/// Returns text such as "1 read", "2 reads".
pub(crate) fn of(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A way to read the file.
pub(crate) struct Reading {
    /// The options that select it on the command line.
    pub(crate) options: String,
    /// The columns in these options.
    pub(crate) columns: Option<Arc<Mapping>>,
    pub(crate) counts: Counts,
    /// Whether the options include `--sort`.
    is_sorted: bool,
}

impl Reading {
    /// Reads `head` in `format`; returns `None` if most of it does not fit.
    pub(crate) fn of(
        options: String,
        format: TraceFormat,
        read_as: &ReadAs,
        head: &Head<'_>,
    ) -> Option<Reading> {
        Reading::of_some(options, format, read_as, head).filter(|reading| reading.counts.fit())
    }

    /// Like [`Reading::of`], if any line fits.
    pub(crate) fn of_some(
        options: String,
        format: TraceFormat,
        read_as: &ReadAs,
        head: &Head<'_>,
    ) -> Option<Reading> {
        let counts = Reading::counts_of(format, read_as, head)?;
        let columns = read_as.columns.clone();
        (counts.requests() > 0).then_some(Reading { options, columns, counts, is_sorted: false })
    }

    /// Returns the counts of `head` in this format.
    pub(crate) fn counts_of(
        format: TraceFormat,
        read_as: &ReadAs,
        head: &Head<'_>,
    ) -> Option<Counts> {
        formats::with(format, HeadCounter { read_as, head })
    }

    /// Returns whether one of its columns has times.
    pub(crate) fn has_times(&self) -> bool {
        self.columns.as_ref().is_some_and(|columns| columns.time.is_some())
    }

    /// Returns whether its times are not all equal.
    pub(crate) fn has_duration(&self) -> bool {
        self.counts.duration_ns() > 0
    }

    /// Returns the sort key of readings, the likeliest first. Requests that no device receives come last. Before them
    /// come, from last to first: traces that are too long, traces with more than one bad line (one may be incomplete),
    /// assumed lengths, and an unusual pace.
    fn rank(&self) -> [bool; 5] {
        let counts = &self.counts;
        let is_likely = self.is_sorted || counts.is_possible();
        let time = self.columns.as_ref().and_then(|columns| columns.time.as_ref());
        let is_in_seconds = time.is_some_and(|time| time.unit == Some(1_000_000_000));
        let gaps = if is_in_seconds { USUAL_GAPS_OF_SECONDS } else { USUAL_GAPS };
        let is_usual = counts.is_usual(&gaps)
            || counts.first_ns.is_some_and(|first| DATES_NS.contains(&first));
        let is_long = counts.duration_ns() > LONGEST_NS;
        let assumes = !self.assuming().is_empty();
        [!is_likely, is_long, counts.bad > 1, assumes, !is_usual]
    }

    /// Returns what its columns assume of all requests, as in ", each of 4 KiB".
    fn assuming(&self) -> String {
        let columns = self.columns.as_ref();
        match columns.map(|columns| &columns.size) {
            Some(&Size::Constant(bytes)) => format!(", each of {}", size(bytes as f64)),
            _ => String::new(),
        }
    }

    /// Returns the words that its columns ignore, as in ", ignores 4 lines: VERIFY, COMPARE".
    fn ignoring(&self) -> String {
        let Some(columns) = &self.columns else { return String::new() };
        let words = columns.words_of(&["ignore"]);
        if words.is_empty() {
            return String::new();
        }
        // Other events have no separate count.
        let lines = if columns.event.is_none() {
            of(self.counts.ignored, "line")
        } else {
            "lines".to_owned()
        };
        format!(", ignores {lines}: {}", words.join(", "))
    }

    /// Changes the reading to order of time.
    pub(crate) fn sort(&mut self) {
        self.options = sorted(&self.options);
        self.is_sorted = true;
    }
}

/// Counts a head in the format of a parser.
struct HeadCounter<'a> {
    read_as: &'a ReadAs,
    head: &'a Head<'a>,
}

impl Work for HeadCounter<'_> {
    type Output = Counts;

    fn with<P: Format>(self) -> Counts {
        let mut parser = P::new(self.read_as);
        let mut counts = Counts::default();
        let add = |counts: &mut Counts, parsed: Result<Line, _>| match parsed {
            Ok(line) => counts.add(&line),
            Err(_) => counts.bad += 1,
        };
        if P::CUT == Cut::Lines {
            for line in self.head.lines {
                let parsed = parser.parse(line);
                add(&mut counts, parsed);
            }
            return counts;
        }
        let mut rest = self.head.bytes;
        while let Some(length) =
            parser.length(rest).filter(|length| (1..=rest.len()).contains(length))
        {
            let parsed = parser.parse(&rest[..length]);
            add(&mut counts, parsed);
            rest = &rest[length..];
        }
        counts
    }
}

/// Removes the readings in which all times are equal from readings in several units of time, unless they are in all.
pub(crate) fn of_distinct_times(mut readings: Vec<Reading>) -> Vec<Reading> {
    if readings.iter().any(Reading::has_duration) {
        readings.retain(|reading| reading.counts.requests() < 2 || reading.has_duration());
    }
    readings
}

/// Returns a choice per distinct reading with the numbers of the head, the likeliest first.
pub(crate) fn choices(mut readings: Vec<Reading>, is_whole: bool) -> Vec<(String, String)> {
    let mut different: Vec<Reading> = Vec::new();
    readings.sort_by_key(Reading::rank);
    for reading in readings {
        if !different.iter().any(|candidate| candidate.counts == reading.counts) {
            different.push(reading);
        }
    }
    different.truncate(LISTED);
    all_choices(different, is_whole)
}

/// Like [`choices`], for all readings, even if some are equal.
pub(crate) fn all_choices(mut readings: Vec<Reading>, is_whole: bool) -> Vec<(String, String)> {
    readings.sort_by_key(Reading::rank);
    let place = if is_whole { "" } else { ", in its first lines" };
    let choice = |reading: Reading| {
        let ignoring = reading.assuming() + &reading.ignoring();
        let Reading { counts, options, .. } = reading;
        (options + &counts.skipping(), format!("{}{place}{ignoring}", counts.summary()))
    };
    readings.into_iter().map(choice).collect()
}
