//! Tables with numbers in bytes instead of sectors.

use super::File;
use super::refusal::Refusal;
use crate::read::commands::list;
use crate::read::formats::{Head, Mapping};
use crate::read::guess;
use crate::read::guess::extended::{ExtendedTable, bytes_named_sectors};
use crate::read::readings::{self, Reading};

/// Maximum number of readings in bytes, and in sectors, in a message.
const EACH: usize = 3;

/// Returns the columns of these readings and their texts `in_bytes`, or `None` if one has no such text.
fn with_bytes(
    readings: &[Reading],
    in_bytes: impl Fn(&Mapping) -> Option<String>,
) -> Option<[Vec<String>; 2]> {
    let columns = || readings.iter().filter_map(|reading| reading.columns.as_deref());
    let bytes: Option<Vec<String>> = columns().map(in_bytes).collect();
    let texts: Vec<String> = columns().map(|columns| columns.text.clone()).collect();
    Some([texts, bytes?]).filter(|[texts, _]| !texts.is_empty())
}

impl File<'_> {
    /// Returns a refusal if the column names say bytes, but requests are not whole sectors. With `workload.skip_bad`,
    /// such requests are bad lines like any others, unless they are the majority.
    pub(super) fn named_bytes_unaligned(&self) -> Option<Refusal> {
        let extended = ExtendedTable::of_named_bytes(self.head)?;
        let readings = guess::of(self.head, self.workload.action as u8);
        let most = readings.iter().find(|reading| reading.counts.fit());
        if self.workload.skip_bad && most.is_some() {
            return None;
        }
        let skipping = most.map(|reading| reading.counts.skipping()).unwrap_or_default();
        let remainder = match skipping.trim_start() {
            "" => String::new(),
            options => format!("; to leave these requests out: {}", self.as_it_is(options)),
        };
        Some(Refusal::Filtered(format!(
            "the names of its columns say bytes, but in {} the address or the length is not a multiple of 512; extend \
             these requests to whole sectors{}{remainder}",
            extended.share(),
            self.remedy(extended.filter.as_deref(), ""),
        )))
    }

    /// Returns a refusal if the table fits in sectors only because its bytes are not whole sectors. `readings` are the
    /// readings by column names.
    pub(super) fn bytes_in_doubt(&self, readings: &[Reading]) -> Option<Refusal> {
        let [texts, bytes] = with_bytes(readings, Mapping::with_bytes_for_sectors)?;
        let extended = ExtendedTable::of_open_units(self.head)?;
        let lines: Vec<&[u8]> = extended.lines.iter().map(Vec::as_slice).collect();
        let aligned = Head { lines: &lines, ..*self.head };
        let action = self.workload.action as u8;
        let choices = |texts: &[String], head: &Head<'_>| {
            let readings = texts.iter().filter_map(|text| guess::reading(text, head, action));
            readings::choices(readings.collect(), self.is_whole).into_iter().take(EACH)
        };
        let filter = extended.filter.as_deref();
        let of_bytes = choices(&bytes, &aligned).filter_map(|(options, gives)| {
            let command = self.through_filter(filter?, &options);
            Some((command, format!("in bytes, extended to sectors: {gives}")))
        });
        let of_sectors = choices(&texts, self.head)
            .map(|(options, gives)| (self.as_it_is(&options), format!("in sectors: {gives}")));
        let choices: Vec<(String, String)> = of_bytes.chain(of_sectors).collect();
        let remedy = match filter {
            Some(_) => String::new(),
            None => format!(
                "if they are bytes, extend the requests to whole sectors{}; ",
                self.remedy(None, "")
            ),
        };
        Some(Refusal::Filtered(format!(
            "it is a table whose column names do not say the units: its numbers may be sectors, or bytes, although in \
             {} the address or the length is not a multiple of 512; {remedy}{}",
            extended.share(),
            list(&choices, str::to_owned)
        )))
    }

    /// Returns a refusal if the column names say sectors, but the numbers look like bytes.
    pub(super) fn sectors_in_doubt(&self, readings: &[Reading]) -> Option<Refusal> {
        let (reason, is_address) = bytes_named_sectors(self.head)?;
        let [texts, bytes] = with_bytes(readings, |columns| {
            if is_address {
                Some(columns.with_address_in_bytes())
            } else {
                columns.with_bytes_for_sectors()
            }
        })?;
        let readings_of_both =
            bytes.iter().chain(&texts).filter_map(|text| self.with_columns(text));
        let message = format!("the names of its columns say sectors, but {reason}");
        Some(self.doubt(message, readings_of_both.collect()))
    }
}
