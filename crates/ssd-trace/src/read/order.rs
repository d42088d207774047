//! Order of the events: their times, doubled records, and the time of the first event.

use crate::read::doubles::Doubles;
use crate::read::formats::{Clock, Event};
use crate::read::volumes::VolumeSelection;
use ssd_core::metrics::numbers::{count, duration};
use std::collections::BTreeMap;

/// Maximum number of lines read after the first late event, so that the message can count the others.
pub(crate) const COUNTED: u64 = 4_000_000;
/// Up to this many steps back, with at least this many late events after each, may be seams: a clock that wrapped
/// around, or joined recordings.
const FEW_STEPS: u64 = 4;
const AFTER_A_SEAM: u64 = 16;

/// Events with times before those of earlier events of the same volume.
#[derive(Clone, Debug, Default)]
pub(crate) struct LateEvents {
    /// Number of such events, which a pass without sorting loses.
    pub(crate) events: u64,
    /// Largest difference, nanoseconds.
    pub(crate) most_ns: u64,
    /// Events with a time before that of the previous event.
    pub(crate) steps: u64,
    /// Line of the first late event.
    pub(crate) first: u64,
    /// Number of examined events, and the span of their times.
    pub(crate) of: u64,
    earliest: Option<u64>,
    latest: u64,
}

impl LateEvents {
    /// Returns text such as "4 of 10 events are earlier than one above them, by up to 2 s".
    pub(crate) fn describe(&self) -> String {
        format!(
            "{} of {} requests {} earlier than one above {}, by up to {}",
            count(self.events),
            count(self.of),
            if self.events == 1 { "is" } else { "are" },
            if self.events == 1 { "it" } else { "them" },
            duration(self.most_ns as f64)
        )
    }

    /// Returns text such as "these 4".
    pub(crate) fn these(&self) -> String {
        match self.events {
            1 => "this one".to_owned(),
            events => format!("these {}", count(events)),
        }
    }

    /// Returns a warning for a few steps back over most of the time: sorting may interleave consecutive recordings.
    pub(crate) fn seams(&self) -> Option<String> {
        let span = self.latest - self.earliest.unwrap_or(self.latest);
        let few = (1..=FEW_STEPS).contains(&self.steps);
        if !few || self.events < AFTER_A_SEAM * self.steps || self.most_ns < span / 2 {
            return None;
        }
        Some(format!(
            "the times step back in {} place{} only, first at line {}: if a clock wrapped or recordings \
             were joined there, cut the file there instead, because sorting interleaves its parts",
            self.steps,
            if self.steps == 1 { "" } else { "s" },
            count(self.first)
        ))
    }
}

/// State of a pass for the events of one volume.
pub(crate) struct Track {
    doubles: Doubles,
    /// Latest time so far, and the time of the previous event, nanoseconds.
    latest: Option<u64>,
    above: u64,
    /// Time of the first record, which is time 0 for [`Clock::FirstRecord`]; nanoseconds.
    base_ns: Option<u64>,
}

impl Track {
    fn new(dedup: bool) -> Track {
        Track { doubles: Doubles::new(dedup), latest: None, above: 0, base_ns: None }
    }

    /// Returns the latest earlier time if `event`, in line `line`, is before it, and counts the event as late.
    #[inline(always)]
    pub(crate) fn missed(
        &mut self,
        event: &Event,
        line: u64,
        late: &mut LateEvents,
    ) -> Option<u64> {
        let at = event.at_ns;
        late.of += 1;
        (late.latest, late.earliest) =
            (late.latest.max(at), Some(late.earliest.map_or(at, |earliest| earliest.min(at))));
        let latest = self.latest.filter(|&latest| at < latest);
        if let Some(latest) = latest {
            if late.events == 0 {
                late.first = line;
            }
            late.events += 1;
            late.most_ns = late.most_ns.max(latest - at);
            late.steps += u64::from(at < self.above);
        }
        self.above = at;
        latest
    }

    /// Records that `event` is used, so that later events must not be earlier.
    #[inline(always)]
    pub(crate) fn passed(&mut self, at_ns: u64) {
        self.latest = Some(self.latest.map_or(at_ns, |latest| latest.max(at_ns)));
    }

    /// Returns whether `event`, the next one in order of time, repeats an earlier one; converts it to the replay's
    /// clock.
    #[inline(always)]
    pub(crate) fn next(&mut self, event: &mut Event, clock: Clock) -> bool {
        let double = self.doubles.repeats(event);
        if clock == Clock::FirstRecord {
            let at_ns = event.at_ns;
            event.at_ns -= *self.base_ns.get_or_insert(at_ns);
        }
        double
    }

    pub(crate) fn base_ns(&self) -> Option<u64> {
        self.base_ns
    }
}

/// State of the pass for the volumes used.
pub(crate) struct Tracks {
    dedup: bool,
    only: Track,
    /// With [`VolumeSelection::Each`], the track of every volume.
    by_volume: BTreeMap<u64, Track>,
}

impl Tracks {
    pub(crate) fn new(dedup: bool) -> Tracks {
        Tracks { dedup, only: Track::new(dedup), by_volume: BTreeMap::new() }
    }

    #[inline(always)]
    pub(crate) fn track_of(&mut self, chosen: VolumeSelection, volume: u64) -> &mut Track {
        match chosen {
            VolumeSelection::Each => {
                let dedup = self.dedup;
                self.by_volume.entry(volume).or_insert_with(|| Track::new(dedup))
            }
            VolumeSelection::Only | VolumeSelection::One(_) | VolumeSelection::All => {
                &mut self.only
            }
        }
    }
}
