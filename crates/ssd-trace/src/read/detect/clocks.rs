//! Tables with times in a notation that is not read.

use super::refusal::Refusal;
use super::{File, lines_of};
use crate::read::foreign::{Rewrite, Rewriting, notations};
use crate::read::formats::{Head, Mapping, ReadAs};
use crate::read::guess::times::is_latency;
use crate::read::guess::{self, names};
use crate::read::lines::shown;
use crate::read::readings::Reading;
use std::sync::Arc;

impl File<'_> {
    /// Returns a refusal if none of the `readings` has times, but a filter makes times readable.
    pub(super) fn times_in_other_notation(&self, readings: &[Reading]) -> Option<Refusal> {
        if readings.is_empty() || readings.iter().any(Reading::has_times) {
            return None;
        }
        let is_arrival = |reading: &Reading| {
            let time = reading.columns.as_ref().and_then(|columns| columns.time.as_ref());
            let name = time.map(|time| time.place.name().unwrap_or_default());
            let is_plausible = reading.counts.is_plausible();
            name.is_some_and(|name| is_plausible && !is_latency(name) && !names::is_volume(name))
        };
        let has_times = |rewrite: &Rewrite| {
            rewrite(self.head.bytes).is_some_and(|Rewriting { bytes, .. }| {
                let lines = lines_of(&bytes, !self.is_whole);
                let head = Head { bytes: &bytes, lines: &lines };
                guess::of(&head, self.workload.action as u8).iter().any(is_arrival)
            })
        };
        let rewrites: Vec<Rewrite> = notations::TIMES.into_iter().filter(has_times).collect();
        self.rewritten(&rewrites)
    }

    /// Returns a refusal if a column of unknown name has dates or times of day in an unsupported notation. `reading`
    /// has no times.
    pub(super) fn unread_times(&self, reading: &Reading) -> Option<Refusal> {
        let mapping = reading.columns.as_ref()?;
        let place = guess::clock_times(self.head, mapping)?;
        let text = &mapping.text;
        let columns = Mapping::parse(&format!("time={place},{text}")).ok()?;
        let read_as = ReadAs { columns: Some(Arc::new(columns)), ..ReadAs::default() };
        Some(self.refusal_by_notation(&read_as).unwrap_or_else(|| {
            self.refused(&format!(
                "its column {} seems to hold times in a notation that ssdlab does not read; write them as 2016-02-22 \
                 17:03:00.123; if all requests arrive at once: {}",
                shown(place.as_bytes()),
                self.as_it_is(&reading.options)
            ))
        }))
    }
}
