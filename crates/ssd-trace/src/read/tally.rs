//! Counts over a whole trace file.

use crate::read::formats::{Event, TraceFormat, Waits};
use crate::read::order::LateEvents;
use crate::read::readings::Counts;
use crate::read::unit::Shape;
use crate::read::volumes::{Tenants, VolumeSelection, Volumes};
use std::collections::BTreeMap;

/// Minimum number of requests of a file that was probably recorded, so that its last line should end with a newline.
const FEWEST_RECORDED: u64 = 16;

/// Letters of events in a log whose requests are taken at their issue: issues and completions, plugs, which belong to
/// no request, messages, and events of other sources than blktrace.
pub(crate) const LETTERS_AT_ISSUE: [u8; 7] = *b"DCPUmn?";

/// Counts over the whole file.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) lines: u64,
    pub(crate) summary_lines: u64,
    pub(crate) skipped_lines: u64,
    pub(crate) first_skipped: Option<String>,
    pub(crate) dataless: u64,
    /// First and last time of the chosen action, nanoseconds.
    pub(crate) times: Option<(u64, u64)>,
    /// Time of the first record, which is time 0 for [`Clock::FirstRecord`]; nanoseconds.
    pub(crate) base_ns: Option<u64>,
    /// Number and name of the volume used.
    pub(crate) volume: Option<(u64, String)>,
    /// Lines of the format without a request.
    pub(crate) header_lines: u64,
    /// Pauses among these lines.
    pub(crate) waits: Waits,
    /// blkparse's report about skipped events.
    pub(crate) skips: Option<String>,
    /// Records of volumes other than the chosen one.
    pub(crate) other_volumes: u64,
    /// Records that repeat an identical record less than 1 ms later.
    pub(crate) doubled: u64,
    /// With [`VolumeSelection::Each`] and [`VolumeSelection::All`] the name of every volume.
    pub(crate) names: BTreeMap<u64, String>,
    /// Events before an earlier event in time.
    pub(crate) late: LateEvents,
    /// Events that were sorted.
    pub(crate) sorted: u64,
    /// Whether the last line has no newline.
    pub(crate) is_unended: bool,
    /// Line of the first event Q, if another action is chosen.
    pub(super) queued_line: Option<u64>,
    /// Line of the last event.
    pub(crate) event_line: u64,
    /// Line of the first address that no device has.
    pub(crate) far_line: Option<u64>,
    /// Statistics of addresses and lengths.
    pub(crate) shape: Shape,
    /// With [`VolumeSelection::All`], the existing volumes.
    pub(crate) tenants: Tenants,
    pub(super) volumes: Volumes,
    /// Whether a second volume exists although none was chosen.
    pub(super) several: bool,
    /// Counts of each volume, if a message will list them; see [`Tally::count_apart`].
    pub(super) apart: BTreeMap<u64, Counts>,
    pub(super) chosen: u64,
    pub(super) other_events: Vec<u64>,
}

impl Tally {
    /// Returns a note if the last line has no newline: it may have been cut within a number and still be readable.
    pub(super) fn doubt_of_end(&self, format: TraceFormat) -> Option<String> {
        if !self.is_unended || self.event_line != self.lines {
            return None;
        }
        if matches!(format, TraceFormat::FioV2 | TraceFormat::FioV2Clock | TraceFormat::FioV3) {
            let text = "its last line has no newline, but fio ends every line with one: the file may have been cut \
                        there, perhaps within a number";
            return Some(text.to_owned());
        }
        if self.shape.ends_oddly() {
            let text = "its last line has no newline, and only there the length is not a multiple of 4 KiB: the file \
                        may have been cut there";
            return Some(text.to_owned());
        }
        (self.chosen >= FEWEST_RECORDED)
            .then(|| "its last line has no newline: the file may have been cut there".to_owned())
    }

    /// Returns a note if only the last line is early and has no newline.
    pub(super) fn cut(&self) -> &'static str {
        if self.is_unended && self.late.events == 1 {
            "; its last line has no newline: the file may have been cut there"
        } else {
            ""
        }
    }

    /// Counts a pause with `number`.
    pub(super) fn wait(&mut self, number: u64) {
        self.header_lines += 1;
        self.waits.add(number);
    }

    /// Counts an event that is not a request; messages show its letter.
    pub(super) fn add_other(&mut self, letter: u8) {
        let letter = if letter.is_ascii_graphic() { letter } else { b'?' };
        self.other_events[usize::from(letter)] += 1;
        if letter == b'Q' {
            self.queued_line.get_or_insert(self.lines);
        }
    }

    /// Counts an event that is not used because of its volume. Without [`Tally::shape`], the events before the second
    /// volume are unknown.
    #[inline(never)]
    pub(super) fn count_apart(&mut self, event: &Event, chosen: VolumeSelection) {
        match (chosen, &self.volume) {
            (VolumeSelection::One(chosen), _) if self.volumes.holds(chosen) => return,
            (VolumeSelection::Only, Some((first, _))) if self.apart.is_empty() => {
                let counts = Counts::from(&self.shape);
                if counts.requests() == 0 {
                    return;
                }
                self.apart.insert(*first, counts);
            }
            _ => {}
        }
        self.apart.entry(event.volume).or_default().add_event(event);
    }

    /// Returns the number of events by action.
    pub(crate) fn events(&self, action: u8) -> BTreeMap<char, u64> {
        let mut events: BTreeMap<char, u64> = (0u8..)
            .zip(self.other_events.iter().copied())
            .filter(|&(_, count)| count > 0)
            .map(|(letter, count)| (char::from(letter), count))
            .collect();
        if self.chosen > 0 {
            events.insert(char::from(action), self.chosen);
        }
        events
    }
}
