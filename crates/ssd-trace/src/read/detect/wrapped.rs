//! Configured columns with times out of order: a clock that wraps around, or another notation of times.

use super::File;
use super::refusal::Refusal;
use crate::read::commands::{list, word};
use crate::read::formats::{Head, ReadAs, TraceFormat, Unit};
use crate::read::guess::wraps::{self, UnwrappedTable};
use crate::read::readings::{self, Reading};

/// Maximum number of readings in a message about a table without column names.
const READINGS: usize = 3;

/// A clock that wraps around: a description, and the commands that read its times unwrapped or sorted.
struct WrappedClock {
    message: String,
    choices: [(String, String); 2],
}

impl File<'_> {
    /// Refuses times that a filter puts in order: times of a clock that wraps around, or in another notation.
    pub(super) fn times_are_in_order(&self, read_as: &ReadAs) -> Result<(), Refusal> {
        let reading = Reading::of(String::new(), TraceFormat::Table, read_as, self.head);
        let descends = reading.is_some_and(|reading| reading.counts.descents > 0);
        if !descends || self.takes_any_order() {
            return Ok(());
        }
        let clocks: Vec<WrappedClock> = self.unwrapped(read_as).into_iter().collect();
        let refusal = refusal_of(&clocks).or_else(|| self.refusal_by_notation(read_as));
        refusal.map_or(Ok(()), Err)
    }

    /// Returns whether the workload sorts or skips times that are out of order.
    fn takes_any_order(&self) -> bool {
        self.workload.sort || self.workload.skip_bad
    }

    /// Returns a refusal if the times jump back like a clock that wraps around, in the likeliest of these `readings`.
    pub(super) fn clocks_that_wrap(&self, readings: &[Reading]) -> Option<Refusal> {
        if self.takes_any_order() {
            return None;
        }
        let read_as = |reading: &Reading| ReadAs {
            columns: reading.columns.clone(),
            unit: Unit::Bytes,
            ..ReadAs::default()
        };
        let clocks = readings.iter().filter_map(|reading| self.unwrapped(&read_as(reading)));
        refusal_of(&clocks.take(READINGS).collect::<Vec<WrappedClock>>())
    }

    /// Returns the times unwrapped, and the times sorted.
    fn unwrapped(&self, read_as: &ReadAs) -> Option<WrappedClock> {
        let columns = read_as.columns.as_ref()?;
        let UnwrappedTable { message, filter, lines } = wraps::unwrapped(self.head, columns)?;
        let bytes = lines.join("\n").into_bytes();
        let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let head = Head { bytes: &bytes, lines: &lines };
        let options = format!("--columns {}", word(&columns.text));
        let read_head =
            |head: &Head<'_>| Reading::of(options.clone(), TraceFormat::Table, read_as, head);
        let (mut sorted, mut unwrapped) = (read_head(self.head)?, read_head(&head)?);
        sorted.sort();
        // Some requests may also be slightly out of order.
        if unwrapped.counts.descents > 0 {
            unwrapped.sort();
        }
        let gives = |reading: Reading| readings::all_choices(vec![reading], self.is_whole).pop();
        let (options, unwrapped) = gives(unwrapped)?;
        let unwrapped = (self.through_filter(&filter, &options), unwrapped);
        let (options, sorted) = gives(sorted)?;
        let sorted =
            (self.as_it_is(&options), format!("if the clock does not wrap, sorted: {sorted}"));
        Some(WrappedClock { message, choices: [unwrapped, sorted] })
    }
}

/// Returns the refusal of a file with each of these readings.
fn refusal_of(clocks: &[WrappedClock]) -> Option<Refusal> {
    let message = &clocks.first()?.message;
    let choices: Vec<_> = clocks.iter().flat_map(|wrapped| wrapped.choices.clone()).collect();
    Some(Refusal::Filtered(format!("{message}; {}", list(&choices, str::to_owned))))
}
