//! A configuration while its layers are applied.

use crate::config::text::error::SourcePos;
mod derived;

pub(crate) use derived::{BUS_RATE, Capacity, OVER_PROVISIONING, Transfer};

use std::collections::{BTreeMap, BTreeSet};

/// The configuration so far, and what is known of its input.
pub struct Draft<'d, C> {
    /// The configuration.
    pub config: &'d mut C,
    /// What else is known.
    pub pending: &'d mut Pending,
}

/// What was set, and values that wait for other keys.
#[derive(Default)]
pub struct Pending {
    /// The user capacity as it was set.
    pub(crate) capacity: Capacity,
    /// The time of a page on the bus as it was set.
    pub(crate) transfer: Transfer,
    /// Pages of a word line as they were set.
    pub(crate) word_line: Option<u32>,
    /// Where each key was last set, and in which step: 0 is the preset, 1 the file, then each `--set`.
    places: BTreeMap<String, (SourcePos, u32)>,
    step: u32,
    /// Parts of keys that were set, if it matters.
    parts: BTreeSet<&'static str>,
}

impl Pending {
    /// The first of `keys` that the user has set, otherwise the first that the preset has, and where; a table stands
    /// for its keys.
    pub fn first_set<'a>(&'a self, keys: &[&'a str]) -> Option<(&'a str, SourcePos)> {
        let first = |from: u32| {
            keys.iter().find_map(|key| {
                let inside = |path: &str| {
                    path.strip_prefix(key)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                let keys_set = self.places.iter().filter(|(set_path, _)| inside(set_path));
                keys_set
                    .filter(|&(_, &(_, step))| step >= from)
                    .max_by_key(|&(_, &(place, step))| (step, place))
                    .map(|(key, (place, _))| (key.as_str(), *place))
            })
        };
        first(1).or_else(|| first(0))
    }

    /// Where `key` was set by the user although none of the keys `switches` was set after it.
    pub fn set_in_vain(&self, key: &str, switches: &[&str]) -> Option<SourcePos> {
        let &(place, step) = self.places.get(key)?;
        let later =
            switches.iter().filter_map(|key| self.places.get(*key)).any(|place| place.1 > step);
        (step > 0 && !later).then_some(place)
    }

    /// Whether both keys were set, the first in a later step.
    pub(crate) fn is_later(&self, key: &str, other: &str) -> bool {
        let step = |key: &str| self.places.get(key).map(|place| place.1);
        step(other).is_some_and(|other| step(key).is_some_and(|step| step > other))
    }

    /// Where `key` was set, if it was in the same step as `other`.
    pub(crate) fn set_beside(&self, key: &str, other: &str) -> Option<SourcePos> {
        let (place, other) = (self.places.get(key)?, self.places.get(other)?);
        (place.1 == other.1).then_some(place.0)
    }

    /// Whether `key` was set.
    pub fn has_said(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Note that `key` was set at `place` in `step`.
    pub fn note(&mut self, key: &str, place: SourcePos, step: u32) {
        self.places.insert(key.to_string(), (place, step));
    }

    /// Note that the part `part` of a key was set ("workload.arrival.kind").
    pub fn note_part(&mut self, part: &'static str) {
        self.parts.insert(part);
    }

    /// Whether that part was set.
    pub fn has_said_part(&self, part: &str) -> bool {
        self.parts.contains(part)
    }

    /// The first of the next `n` steps.
    pub fn take_steps(&mut self, n: u32) -> u32 {
        self.step += n;
        self.step - n
    }

    /// Whether the layer is that of the preset.
    pub fn in_preset(&self) -> bool {
        self.step <= 1
    }

    /// The preset is over: the steps of the user begin.
    pub fn begin_user(&mut self) {
        self.step = 1;
    }
}
