//! Tables with a column that may belong to the address or to the volume.

use super::File;
use super::refusal::Refusal;
use crate::read::commands::list;
use crate::read::guess::{self, regions};
use crate::read::lines::shown;
use crate::read::readings::{self, Reading};

/// Maximum number of readings with such a column, and without it, in a message.
const EACH: usize = 3;

impl File<'_> {
    /// Returns a refusal if the table has such a column. `readings` are the readings by column names.
    pub(super) fn region_in_doubt(&self, readings: &[Reading]) -> Option<Refusal> {
        let place = regions::of(self.head, readings.first()?.columns.as_ref()?)?;
        let action = self.workload.action as u8;
        let choices = |texts: Vec<String>| {
            let readings = texts.iter().filter_map(|text| guess::reading(text, self.head, action));
            readings::choices(readings.collect(), self.is_whole).into_iter().take(EACH)
        };
        let mappings = || readings.iter().filter_map(|reading| reading.columns.as_ref());
        let apart = choices(mappings().map(|columns| columns.text_with_volume(&place)).collect());
        let name = shown(place.as_bytes());
        let apart = apart.map(|(options, gives)| {
            (self.as_it_is(&options), format!("each {name} is a volume of its own: {gives}"))
        });
        let on_device = choices(mappings().map(|columns| columns.text.clone()).collect());
        let on_device = on_device.map(|(options, gives)| {
            (self.as_it_is(&options), format!("the addresses are those of the device: {gives}"))
        });
        let choices: Vec<(String, String)> = apart.chain(on_device).collect();
        Some(Refusal::Filtered(format!(
            "it is a table whose column {name} has several values, so its addresses may count from the start of each \
             of these; if they are parts of one device, add their starts to the addresses; {}",
            list(&choices, str::to_owned)
        )))
    }
}
