//! Room for the pages of updates. Which room those lack that wait for some is counted, since there may be thousands.

use super::{Raid, Stage};
use crate::ftl::Ftl;
use crate::ftl::raid::MOST_CHIPS;
use crate::ftl::raid::lost::LostPages;
use crate::sim::core::Core;
use crate::units::{PlaneId, PoolId, UpdateSlot};

impl Raid {
    /// Hold room for every page of `update`, or none.
    #[inline]
    pub(super) fn hold_room(&self, core: &mut Core, update: UpdateSlot) -> bool {
        let entry = self.at(update);
        assert_eq!(entry.stage, Stage::WaitsForRoom, "{update:?} holds room out of turn");
        let lost = core.ftl.lost.as_deref();
        let mut fits = true;
        for (plane, stream) in entry.places().filter(|&(plane, _)| !LostPages::misses(lost, plane))
        {
            if !core.ftl.space.can_hold(plane, core.ftl.space.host_stream(stream)) {
                core.gc.agenda.consider(core.ftl.geo.pool_of(plane));
                fits = false;
            }
        }
        debug_assert!(entry.homes().count() <= MOST_CHIPS, "{update:?} programs too many pages");
        if fits {
            for (plane, stream) in
                entry.places().filter(|&(plane, _)| !LostPages::misses(lost, plane))
            {
                core.ftl.space.hold(plane, core.ftl.space.host_stream(stream));
            }
        }
        fits
    }

    /// Note that `update` has begun to wait for room.
    pub(super) fn wait_for_room(&mut self, ftl: &Ftl, update: UpdateSlot) {
        let Raid { updates, wanted, .. } = self;
        for (plane, stream) in updates[update.at()].places() {
            wanted[place(ftl, plane, ftl.space.host_stream(stream))] += 1;
        }
        debug_assert!(!self.waiting.contains(&update), "{update:?} waits already");
        self.waiting.push_back(update);
    }

    /// Note that `update`, which has waited, has got its room.
    pub(super) fn got_room(&mut self, ftl: &Ftl, update: UpdateSlot) {
        debug_assert!(!self.waiting.contains(&update), "{update:?} waits");
        let Raid { updates, wanted, .. } = self;
        for (plane, stream) in updates[update.at()].places() {
            let wanted = &mut wanted[place(ftl, plane, ftl.space.host_stream(stream))];
            assert!(*wanted > 0, "no update waits for a page on {plane:?}");
            *wanted -= 1;
        }
    }

    /// Whether an update waits for room in `pool`.
    pub(crate) fn waits_for(&self, ftl: &Ftl, pool: PoolId) -> bool {
        debug_assert!(pool.0 < ftl.geo.pools, "there is no {pool:?}");
        debug_assert_eq!(ftl.geo.pools, ftl.geo.planes, "the config layer has checked it");
        let plane = PlaneId(pool.0);
        let lacks = |stream: u32| {
            self.wanted[place(ftl, plane, stream)] > 0 && !ftl.space.can_hold(plane, stream)
        };
        self.failures.as_ref().is_some_and(|f| f.rebuild.lacks == Some(pool))
            || (!self.waiting.is_empty() && (0..ftl.space.host_frontiers()).any(lacks))
    }

    /// Check the counts against the updates that wait.
    pub(super) fn audit_wanted(&self, ftl: &Ftl) -> Result<(), String> {
        let mut wanted = vec![0; self.wanted.len()];
        for &update in &self.waiting {
            for (plane, stream) in self.at(update).places() {
                wanted[place(ftl, plane, ftl.space.host_stream(stream))] += 1;
            }
        }
        if wanted != self.wanted {
            return Err("updates wait for other room than is counted".to_string());
        }
        Ok(())
    }
}

/// Where the pages of frontier `stream` of `plane` are counted.
fn place(ftl: &Ftl, plane: PlaneId, stream: u32) -> usize {
    debug_assert!(stream < ftl.space.host_frontiers(), "frontier {stream} is not the host's");
    (plane.0 * ftl.space.host_frontiers() + stream) as usize
}
