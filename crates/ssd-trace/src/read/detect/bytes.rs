//! Tables whose numbers are bytes rather than sectors.

use super::File;
use super::refusal::Refusal;
use crate::read::commands::list;
use crate::read::formats::Head;
use crate::read::guess;
use crate::read::guess::extended::{Extended, are_bytes_named_sectors};
use crate::read::readings::{self, Reading};
use ssd_core::metrics::numbers::count;

/// Readings in bytes, and in sectors, that a message lists.
const EACH: usize = 3;

impl File<'_> {
    /// The refusal of a table whose column names say bytes, but whose requests are not whole sectors.
    pub(super) fn named_bytes_unaligned(&self) -> Option<Refusal> {
        let extended = Extended::of(self.head).filter(|extended| extended.is_named)?;
        Some(Refusal::Filtered(format!(
            "the names of its columns say bytes, but in {} of {} lines the address or the length is not a multiple of \
             512; to extend these requests to whole sectors: {}",
            count(extended.unaligned as u64),
            count(self.head.lines.len() as u64),
            self.behind(&extended.filter, ""),
        )))
    }

    /// The refusal of a table that fits in sectors only because its bytes are not whole sectors. `readings` are those
    /// by the names of its columns.
    pub(super) fn bytes_in_doubt(&self, readings: &[Reading]) -> Option<Refusal> {
        let in_bytes = |text: &str| text.replace(":512B", ":B");
        let text = |reading: &Reading| reading.columns.as_ref().map(|columns| columns.text.clone());
        let texts: Vec<String> = readings.iter().filter_map(text).collect();
        if texts.is_empty() || !texts.iter().all(|text| in_bytes(text) != *text) {
            return None;
        }
        let extended = Extended::of(self.head).filter(|extended| extended.is_open)?;
        let lines: Vec<&[u8]> = extended.lines.iter().map(Vec::as_slice).collect();
        let aligned = Head { lines: &lines, ..*self.head };
        let action = self.workload.action as u8;
        let choices = |texts: &[String], head: &Head<'_>| {
            let all = texts.iter().filter_map(|text| guess::reading(text, head, action));
            readings::choices(all.collect(), self.whole).into_iter().take(EACH)
        };
        let bytes: Vec<String> = texts.iter().map(|text| in_bytes(text)).collect();
        let of_bytes = choices(&bytes, &aligned).map(|(options, gives)| {
            (
                self.behind(&extended.filter, &options),
                format!("in bytes, extended to sectors: {gives}"),
            )
        });
        let of_sectors = choices(&texts, self.head)
            .map(|(options, gives)| (self.as_it_is(&options), format!("in sectors: {gives}")));
        let choices: Vec<(String, String)> = of_bytes.chain(of_sectors).collect();
        Some(Refusal::Filtered(format!(
            "it is a table whose column names do not say the units: its numbers may be sectors, or bytes, although in \
             {} of {} lines the address or the length is not a multiple of 512; {}",
            count(extended.unaligned as u64),
            count(self.head.lines.len() as u64),
            list(&choices, str::to_owned)
        )))
    }

    /// The refusal of a table whose column names say sectors, but whose numbers look like bytes.
    pub(super) fn sectors_in_doubt(&self, readings: &[Reading]) -> Option<Refusal> {
        let text = |reading: &Reading| reading.columns.as_ref().map(|columns| columns.text.clone());
        let texts: Vec<String> = readings.iter().filter_map(text).collect();
        if texts.is_empty() || !are_bytes_named_sectors(self.head) {
            return None;
        }
        let bytes: Vec<String> = texts.iter().map(|text| text.replace(":512B", ":B")).collect();
        let all = bytes.iter().chain(&texts).filter_map(|text| self.with_columns(text));
        let what = "the names of its columns say sectors, but all addresses and lengths are multiples of 512, and the \
                    lengths are large, as those in bytes are";
        Some(self.doubt(what, all.collect()))
    }
}
