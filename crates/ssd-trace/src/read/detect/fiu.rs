//! Files with the columns of FIU traces, but other units.

use super::File;
use super::refusal::Refusal;
use crate::read::formats::mapping::cells_of;
use crate::read::formats::{ReadAs, TraceFormat};
use crate::read::guess::numbers::Numbers;
use ssd_core::metrics::numbers::duration;
use std::collections::BTreeSet;

/// Mean difference of times, nanoseconds, below which a larger unit is more likely. The recorder computed a digest of
/// each page, so the requests of a burst have the same time or are tens of microseconds apart.
pub(super) const FASTEST_NS: u64 = 5_000;
/// Minimum number of times for a mean difference.
const FEW: usize = 16;

impl File<'_> {
    /// Refuses FIU's columns if the numbers are more likely microseconds, bytes or pages.
    pub(super) fn fiu_units_are_certain(&self, read_as: &ReadAs) -> Result<(), Refusal> {
        let Some(detected) = self.as_format(TraceFormat::Fiu, read_as) else { return Ok(()) };
        let in_units = |time: &str, unit: &str| {
            // The names of processes may contain blanks, so columns are counted from the end.
            let places = format!("op=-4,offset=-6:{unit},size=-5:{unit},volume=-2");
            self.with_columns(&format!("separator=blanks,time=1:{time},{places}"))
        };
        let numbers = self.fiu_numbers();
        let (message, alternatives) = if let Some(gap) = self.gap().filter(|&gap| gap < FASTEST_NS)
        {
            let message = format!(
                "whose times are nanoseconds, but then its different times would be {} apart on average",
                duration(gap as f64)
            );
            (message, vec![in_units("us", "512B"), in_units("ms", "512B")])
        } else if numbers.are_too_large_for_sectors() {
            let message = "whose addresses and lengths are sectors, but all of these are multiples of 512, and the \
                        lengths are large, as those in bytes are";
            (message.to_owned(), vec![in_units("ns", "B")])
        } else if numbers.are_pages() {
            let message = "whose addresses and lengths are sectors, but few lengths are whole blocks of 4 KiB, so they \
                        may be pages";
            (message.to_owned(), vec![in_units("ns", "4KiB")])
        } else {
            return Ok(());
        };
        let message = format!("the columns are those of an FIU trace, {message}");
        Err(self.doubt(message, alternatives.into_iter().flatten().chain([detected]).collect()))
    }

    /// Returns the mean difference between distinct times, or `None` if there are few.
    fn gap(&self) -> Option<u64> {
        let times = self.head.lines.iter().filter_map(|line| cells_of(line).first()?.parse().ok());
        let times: BTreeSet<u64> = times.collect();
        let range = times.last()? - times.first()?;
        (times.len() >= FEW).then(|| range / (times.len() as u64 - 1))
    }

    /// Returns the addresses and lengths.
    fn fiu_numbers(&self) -> Numbers {
        let range = |line: &&[u8]| -> Option<(u64, u64)> {
            let cells = cells_of(line);
            let from_end = |place: usize| cells.get(cells.len().checked_sub(place)?)?.parse().ok();
            Some((from_end(6)?, from_end(5)?))
        };
        let (starts, sizes) = self.head.lines.iter().filter_map(range).unzip();
        Numbers { starts, sizes }
    }
}
