//! Times that are more likely in another unit, because requests would be too far apart, or too close.

use super::File;
use super::doubts::FEW;
use super::fiu::FASTEST_NS;
use super::refusal::Refusal;
use crate::read::formats::mapping::cells_of;
use crate::read::formats::{self, ReadAs, TraceFormat};
use crate::read::readings::Reading;
use ssd_core::metrics::numbers::duration;

/// Mean times between requests, nanoseconds, from which seconds are in doubt: for fewer than [`FEW`] requests, and for
/// more.
const SLOWEST_NS: u64 = 10_000_000_000;
const SLOW_NS: u64 = 500_000_000;
/// Maximum decimals of times in milliseconds. Times in seconds mostly have at least six.
const MOST_DECIMALS: usize = 3;
/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

impl File<'_> {
    /// Refuses SPC's columns if no time has decimals, which times in seconds have.
    pub(super) fn seconds_are_certain(&self, read_as: &ReadAs) -> Result<(), Refusal> {
        // More cells may follow.
        let times = self.head.lines.iter().filter_map(|line| cells_of(line).into_iter().nth(4));
        let mut times: Vec<String> = times.collect();
        if times.iter().any(|time| time.contains('.')) {
            return self.pace_is_certain(TraceFormat::Spc, read_as);
        }
        times.dedup();
        if times.len() < 2 {
            return Ok(());
        }
        let in_unit = |unit: &str| self.with_columns(&columns_in(TraceFormat::Spc, unit)?);
        let alternatives = ["us", "ms", "ns"].into_iter().filter_map(in_unit);
        let detected = self.as_format(TraceFormat::Spc, read_as);
        let message = "the columns are those of an SPC trace, whose times are seconds, but its times have no decimals";
        Err(self.doubt(message, detected.into_iter().chain(alternatives).collect()))
    }

    /// Refuses DiskSim's columns if its times are more likely seconds, because milliseconds would be too close.
    pub(super) fn milliseconds_are_certain(&self, read_as: &ReadAs) -> Result<(), Refusal> {
        let Some(detected) = self.as_format(TraceFormat::Disksim, read_as) else { return Ok(()) };
        let gap = detected.counts.gap_ns();
        let in_seconds = self.in_unit(TraceFormat::Disksim, "s");
        let is_usual = gap == 0 || gap >= FASTEST_NS;
        let Some(in_seconds) =
            in_seconds.filter(|_| !is_usual && detected.counts.requests() >= FEW)
        else {
            return Ok(());
        };
        let message = format!(
            "the columns are those of a DiskSim trace, whose times are milliseconds, but then its requests would be {} \
             apart on average",
            duration(gap as f64)
        );
        Err(self.doubt(message, vec![in_seconds, detected]))
    }

    /// Refuses a format with times in seconds if its requests would be so far apart that milliseconds or microseconds
    /// are more likely.
    pub(super) fn pace_is_certain(
        &self,
        format: TraceFormat,
        read_as: &ReadAs,
    ) -> Result<(), Refusal> {
        let [Some(ms), Some(us)] = ["ms", "us"].map(|unit| columns_in(format, unit)) else {
            return Ok(());
        };
        let Some(detected) = self.as_format(format, read_as) else { return Ok(()) };
        // Whole seconds also occur in traces of slow devices.
        let are_whole = format == TraceFormat::Libcachesim;
        let is_small = detected.counts.requests() < FEW;
        let slowest = if is_small || are_whole { SLOWEST_NS } else { SLOW_NS };
        let title = formats::info(format).map_or("", |info| info.title);
        let message = format!("the columns are those of {title}, whose times are seconds");
        self.slow_times(&message, detected, [ms, us], slowest).map_or(Ok(()), Err)
    }

    /// Returns a refusal if the column names say seconds, but the requests would be far apart.
    pub(super) fn pace_in_doubt(&self, readings: &[Reading]) -> Option<Refusal> {
        let [reading] = readings else { return None };
        let columns = reading.columns.as_deref()?;
        let is_in_seconds = columns.time.as_ref()?.unit == Some(SECOND_NS);
        if !is_in_seconds || reading.counts.requests() < FEW {
            return None;
        }
        let alternatives = ["ms", "us"].map(|unit| columns.text_in_time(unit));
        let own = self.with_columns(&columns.text)?;
        self.slow_times(
            "the name of its column of times says seconds",
            own,
            alternatives,
            SLOWEST_NS,
        )
    }

    /// Returns a refusal of times in seconds, as `message` says, that put requests at least `slowest` nanoseconds
    /// apart, if one of the `alternatives` can be read: the same columns with milliseconds, and with microseconds.
    fn slow_times(
        &self,
        message: &str,
        own: Reading,
        alternatives: [String; 2],
        slowest: u64,
    ) -> Option<Refusal> {
        let is_exact = |line: &&[u8]| {
            let decimals = |cell: &String| cell.split_once('.').map_or(0, |(_, part)| part.len());
            cells_of(line).iter().any(|cell| decimals(cell) > MOST_DECIMALS)
        };
        let gap = own.counts.gap_ns();
        // Only times in seconds have more decimals.
        if gap < slowest || self.head.lines.iter().any(is_exact) {
            return None;
        }
        let readings = alternatives.iter().filter_map(|columns| self.with_columns(columns));
        let mut readings: Vec<Reading> = readings.collect();
        if readings.is_empty() {
            return None;
        }
        // Microseconds come first if milliseconds would also be too slow.
        readings.sort_by_key(|reading| reading.counts.gap_ns() >= slowest);
        readings.push(own);
        let message = format!(
            "{message}, but then its requests would be {} apart on average, so the times may be milliseconds or \
             microseconds",
            duration(gap as f64)
        );
        Some(self.doubt(message, readings))
    }
}

/// Returns the columns of a format with times in `unit` instead of seconds, if there are copies with other times.
fn columns_in(format: TraceFormat, unit: &str) -> Option<String> {
    let (time, rest) = match format {
        TraceFormat::Midas => (1, "op=2,offset=3:4KiB,size=4:B,read=0,write=1,discard=3"),
        TraceFormat::Spc => (5, "op=4,offset=2:512B,size=3:B,volume=1"),
        TraceFormat::Systor17 => (1, "op=3,offset=5:B,size=6:B,volume=4"),
        TraceFormat::Libcachesim => (2, "op=3,offset=5:512B,size=4:B,read=28,write=2a"),
        TraceFormat::Wiscsee => (6, "op=3,offset=4:B,size=5:B,event=2:D"),
        TraceFormat::Diskmon => (2, "op=5,offset=6:512B,size=7:512B,volume=4"),
        _ => return None,
    };
    Some(format!("time={time}:{unit},{rest}"))
}
