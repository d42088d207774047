//! Times of tracepoint events that may be intervals.

use super::File;
use super::refusal::Refusal;
use crate::read::commands::list;
use crate::read::foreign::around::{Intervals, intervals};
use crate::read::formats::TraceFormat;
use ssd_core::metrics::numbers::duration;

impl File<'_> {
    /// Returns a refusal if times of events may be the intervals of perf script --deltatime, or are out of order.
    pub(super) fn intervals_in_doubt(&self) -> Option<Refusal> {
        let Intervals { filter, sum_ns, range_ns, are_likely } = intervals(self.head.bytes)?;
        let read_as = self.read_as(TraceFormat::Tracepoint).ok()?;
        let action = self.only_action(TraceFormat::Tracepoint, &read_as);
        let place = if self.is_whole { "" } else { ", in its first lines" };
        let mut choices = vec![
            (
                self.through_filter(&filter, &action),
                format!("add up the intervals, {} in all{place}", duration(sum_ns)),
            ),
            (
                self.as_it_is(format!("--sort {action}").trim_end()),
                format!("put the events in order of time, {}{place}", duration(range_ns)),
            ),
        ];
        if !are_likely {
            choices.reverse();
        }
        Some(Refusal::Filtered(format!(
            "each time may be the interval since the previous event (--deltatime); {}",
            list(&choices, str::to_owned)
        )))
    }
}
