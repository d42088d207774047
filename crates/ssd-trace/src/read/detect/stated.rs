//! Units that the workload states for a table with known column names.

use super::File;
use super::refusal::Refusal;
use crate::config::{TimeUnit, TraceUnit, Workload};
use crate::read::formats::mapping::Place;
use crate::read::formats::{Mapping, ReadAs, TraceFormat, Unit};
use crate::read::guess;
use crate::read::readings::Reading;
use ssd_core::config::Word;

/// Returns the columns of a reading by names.
fn columns_of(reading: &Reading) -> &Mapping {
    reading.columns.as_deref().expect("it is by columns")
}

/// Returns the start of a message about where the unit of a column comes from.
fn giving(place: &Place) -> &'static str {
    let is_named = place.name().is_some_and(guess::names::has_unit);
    if is_named { "its header gives" } else { "the size of its values gives" }
}

impl File<'_> {
    /// Returns those of `readings` with the units stated by the workload.
    ///
    /// # Errors
    /// No reading has these units.
    pub(super) fn with_stated_units(
        &self,
        read_as: &ReadAs,
        mut readings: Vec<Reading>,
    ) -> Result<Vec<Reading>, Refusal> {
        let Some(first) = readings.first() else { return Ok(readings) };
        let first = columns_of(first).clone();
        if let Some(ns) = read_as.time_ns {
            readings.retain(|reading| {
                let time = columns_of(reading).time.as_ref();
                time.is_some_and(|time| time.unit == Some(ns))
            });
            if readings.is_empty() {
                return Err(self.not_in_time_unit(&first));
            }
        }
        if self.workload.unit == TraceUnit::Auto {
            return Ok(readings);
        }
        let stated = Some(read_as.unit.bytes_of_table());
        let have_it = |reading: &Reading| {
            let columns = columns_of(reading);
            [columns.offset.unit == stated, columns.size.unit() == stated]
        };
        // The name of one of the two columns may state another unit.
        if readings.iter().any(|reading| have_it(reading) == [true; 2]) {
            readings.retain(|reading| have_it(reading) == [true; 2]);
        } else {
            readings.retain(|reading| have_it(reading).contains(&true));
        }
        if readings.is_empty() {
            let field = ("unit", "--unit", "address and length");
            return Err(self.unit_given_twice(giving(&first.offset.place), field, &first));
        }
        Ok(readings)
    }

    /// Returns `readings` by values in the units stated by the workload, or all of them if none can be in these units.
    /// One of address and length may have another unit than the stated one.
    pub(super) fn in_stated_units(&self, readings: Vec<Reading>) -> Vec<Reading> {
        let Workload { unit, time_unit, .. } = *self.workload;
        let time = (time_unit != TimeUnit::Auto).then(|| time_unit.word());
        let range = Unit::of(self.name, TraceFormat::Table, self.workload).ok();
        let range = range.filter(|_| unit != TraceUnit::Auto);
        if time.is_none() && range.is_none() {
            return readings;
        }
        let has_unit = |columns: &Mapping| {
            let bytes = range.map(Unit::bytes_of_table);
            bytes.is_none_or(|bytes| {
                columns.offset.unit == Some(bytes) || columns.size.unit() == Some(bytes)
            })
        };
        let word = range.map(Unit::word_of_table);
        let of_both =
            readings.iter().map(|reading| columns_of(reading).text_in(time, word.as_deref()));
        let mappings = readings.iter().map(columns_of);
        let of_one =
            mappings.filter(|columns| has_unit(columns)).map(|columns| columns.text_in(time, None));
        let mut stated: Vec<Reading> = Vec::new();
        for text in of_both.chain(of_one) {
            let is_new = |reading: &Reading| {
                !stated.iter().any(|candidate| candidate.options == reading.options)
            };
            let reading = self.with_columns(&text).filter(|reading| reading.counts.is_sound());
            let reading = reading.filter(is_new);
            stated.extend(reading);
        }
        if stated.iter().any(Reading::has_times) {
            stated.retain(|reading| time.is_none() || reading.has_times());
        }
        if stated.is_empty() { readings } else { stated }
    }

    /// Returns the refusal of a table whose times are not in the unit stated by the workload.
    fn not_in_time_unit(&self, columns: &Mapping) -> Refusal {
        match &columns.time {
            None => self.refused(
                "no column is known to be a time, but workload.time_unit is set; leave out --time-unit, or name the \
                 columns (--columns)",
            ),
            Some(time) if time.unit.is_none() => self.refused(
                "its times are dates, which have no unit, but workload.time_unit is set; leave out --time-unit",
            ),
            Some(time) => {
                let field = ("time_unit", "--time-unit", "the time");
                self.unit_given_twice(giving(&time.place), field, columns)
            }
        }
    }
}
