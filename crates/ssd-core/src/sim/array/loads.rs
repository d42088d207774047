//! The work that waits on each chip, for a redirection of writes that compares chips.

use crate::config::Config;
use crate::id_set::IdSet;
use crate::nand::geometry::Geometry;
use crate::units::{Nanos, PlaneId};

/// Estimates and counts by plane: if writes are redirected, a chip has one plane.
pub(crate) struct ChipLoads {
    /// Estimated end of the operations queued so far.
    completion: Vec<Nanos>,
    /// Programs of group pages in the queue.
    waiting: Vec<u32>,
    /// Chips to which such a program has been added.
    pub(crate) changed: IdSet,
}

impl ChipLoads {
    /// For a device with the geometry `geo`; `None` if nothing is redirected.
    pub(crate) fn new(config: &Config, geo: &Geometry) -> Option<Box<ChipLoads>> {
        if config.raid.redirect.policy == "none" {
            return None;
        }
        assert_eq!(geo.planes, geo.units, "the config layer has checked it");
        let planes = geo.planes as usize;
        Some(Box::new(ChipLoads {
            completion: vec![Nanos::ZERO; planes],
            waiting: vec![0; planes],
            changed: IdSet::new(geo.planes),
        }))
    }

    /// Note that an operation of `ns` is queued on `plane` at `now`; `program`: for a page of a group.
    pub(crate) fn queued(&mut self, plane: PlaneId, (now, ns): (Nanos, u64), program: bool) {
        debug_assert!(plane.at() < self.completion.len(), "there is no {plane:?}");
        self.completion[plane.at()] = Nanos(self.completion(plane).max(now).0 + ns);
        if program {
            self.waiting[plane.at()] += 1;
            self.changed.insert(plane.0);
        }
    }

    /// Note that a program that has waited on `plane` starts.
    pub(crate) fn starts(&mut self, plane: PlaneId) {
        assert!(self.waiting[plane.at()] > 0, "no program waits on {plane:?}");
        self.waiting[plane.at()] -= 1;
    }

    /// Note that a program of `ns` that has waited on `plane` goes to another chip at `now`.
    pub(crate) fn leaves(&mut self, plane: PlaneId, (now, ns): (Nanos, u64)) {
        self.starts(plane);
        self.completion[plane.at()] = Nanos(self.completion(plane).0.saturating_sub(ns)).max(now);
    }

    /// Estimated end of the operations queued on `plane` so far, which may be in the past.
    pub(crate) fn completion(&self, plane: PlaneId) -> Nanos {
        self.completion[plane.at()]
    }

    /// Programs of group pages that wait on `plane`.
    pub(crate) fn waiting(&self, plane: PlaneId) -> u32 {
        self.waiting[plane.at()]
    }
}
