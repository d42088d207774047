//! Room held for the pages of a parity group before the first of them is programmed.
//!
//! A group update programs pages in several pools and commits them together: if it took pages one by one, two updates
//! could wait for each other's pool. So it holds a page in each of its pools at once, or none. A held page is in the
//! open block of its frontier or, if that is not enough, in an erased block that is *kept* for the frontier. Kept
//! blocks are not part of the room ([`Space::gc_room`]), so opening one changes no side of the room rule. A page of a
//! class that also takes copies is held in the room itself, wherever it is: it is bound like a copy, in an open block
//! of its class, in one that is opened for it, or in one of another class ([`Space::frontier_of_held`]). The config
//! layer refuses the single frontier of a device without classes, and superblocks, which have no open block of one
//! plane.

use super::Space;
use crate::units::{PlaneId, PoolId};

impl Space {
    /// Pages held for frontier `stream` of `plane` and not bound yet.
    #[inline]
    #[must_use]
    pub fn held_pages(&self, plane: PlaneId, stream: u32) -> u32 {
        debug_assert!(
            self.held.is_empty() || self.held.len() == self.open.len(),
            "other frontiers"
        );
        self.held.get(self.frontier_at(plane, stream)).copied().unwrap_or(0)
    }

    /// Erased blocks that `held` pages need besides the open block of a frontier.
    fn blocks_for(&self, at: usize, held: u32) -> u32 {
        debug_assert!(self.open[at].left <= self.pages_on_plane, "a block of too many pages");
        held.saturating_sub(self.open[at].left).div_ceil(self.pages_per_block)
    }

    /// The fewest pages left in the open block of a frontier of the host on `plane`.
    #[must_use]
    pub fn least_open(&self, plane: PlaneId) -> u32 {
        let frontiers = 0..self.for_host;
        debug_assert!(self.for_host > 0, "{plane:?} has no frontier of the host");
        let least = frontiers.map(|stream| self.open[self.frontier_at(plane, stream)].left).min();
        least.expect("the host has a frontier of its own")
    }

    /// Frontiers of a plane that the host may fill.
    #[must_use]
    pub const fn host_frontiers(&self) -> u32 {
        self.for_host
    }

    /// Whether one more page can be held for frontier `stream` of `plane`.
    #[inline]
    #[must_use]
    pub fn can_hold(&self, plane: PlaneId, stream: u32) -> bool {
        debug_assert!(self.may_hold(), "the config layer has checked it");
        if self.takes_copies(stream) {
            let pool = self.pool(plane);
            return !self.lacks_spare(pool)
                && self.gc_room(pool) > self.gc_need(pool)
                && self.pools[pool.at()].held < u16::MAX;
        }
        let (at, held) = (self.frontier_at(plane, stream), self.held_pages(plane, stream));
        // Most often the open block has one, and no other is needed.
        held < self.open[at].left || self.can_hold_in_another(plane, (at, held))
    }

    /// Whether another page can be held if the open block of the frontier `at` has no page besides those `held`.
    #[inline(never)]
    fn can_hold_in_another(&self, plane: PlaneId, (at, held): (usize, u32)) -> bool {
        debug_assert!(held >= self.open[at].left, "its open block has a page");
        debug_assert!(at / self.frontiers as usize == plane.at(), "a frontier of another plane");
        if self.blocks_for(at, held + 1) == self.blocks_for(at, held) {
            return true;
        }
        let pool = self.pool(plane);
        !self.lacks_spare(pool)
            && self.unpromised(pool) > 0
            && self.gc_room(pool) >= self.gc_need(pool) + u64::from(self.pages_per_block)
    }

    /// Hold one more page for frontier `stream` of `plane`; [`Space::can_hold`] must allow it.
    #[inline]
    pub fn hold(&mut self, plane: PlaneId, stream: u32) {
        debug_assert!(self.is_for_host(stream), "frontier {stream} is not the host's");
        let at = self.frontier_at(plane, stream);
        if self.held.is_empty() {
            self.held = vec![0; self.open.len()];
        }
        if self.takes_copies(stream) {
            assert!(self.can_hold(plane, stream), "{plane:?} has no room for frontier {stream}");
            self.held[at] += 1;
            return self.change_room(self.pool(plane), 1);
        }
        if self.held[at] < self.open[at].left {
            self.held[at] += 1;
            return;
        }
        self.hold_in_another(plane, (at, stream));
    }

    #[inline(never)]
    fn hold_in_another(&mut self, plane: PlaneId, (at, stream): (usize, u32)) {
        debug_assert_eq!(at, self.frontier_at(plane, stream), "another frontier");
        assert!(self.can_hold(plane, stream), "{plane:?} has no room for frontier {stream}");
        self.change_held(plane, at, 1);
    }

    /// Release a page held for frontier `stream` of `plane` that will not be bound there.
    pub fn let_go(&mut self, plane: PlaneId, stream: u32) {
        let at = self.frontier_at(plane, stream);
        assert!(self.held[at] > 0, "{plane:?} holds no page for frontier {stream}");
        if self.takes_copies(stream) {
            self.held[at] -= 1;
            return self.change_room(self.pool(plane), -1);
        }
        self.change_held(plane, at, -1);
    }

    /// Note that a held page of frontier `stream` of `plane` is about to be bound.
    #[inline]
    pub(in crate::ftl) fn take_held(&mut self, plane: PlaneId, stream: u32) {
        let at = self.frontier_at(plane, stream);
        assert!(
            self.held[at] > 0,
            "{plane:?} binds a page for frontier {stream} that it does not hold"
        );
        self.held[at] -= 1;
        if self.takes_copies(stream) {
            return self.change_room(self.pool(plane), -1);
        }
        if self.open[at].left == 0 {
            // The block that is opened for it has been kept.
            let kept = &mut self.pools[self.planes_per_pool.div(plane.0) as usize].kept;
            assert!(*kept > 0, "no block is kept for frontier {stream} of {plane:?}");
            *kept -= 1;
        }
    }

    /// Whether pages may be held: frontiers of the host have their own pages, or are classes.
    fn may_hold(&self) -> bool {
        debug_assert!(self.for_host > 0, "the host has no frontier");
        !self.superblock && (self.of_host > 0 || self.separates())
    }

    /// Count this many more pages of `pool` as held for classes that take copies.
    fn change_room(&mut self, pool: PoolId, change: i16) {
        debug_assert!(self.may_hold() && self.separates(), "the config layer has checked it");
        let held = &mut self.pools[pool.at()].held;
        *held = held.checked_add_signed(change).expect("as many as are held, and can be");
        self.check(pool);
    }

    /// The frontier of a page that was held for frontier `stream` of `plane`, which is about to be bound.
    #[must_use]
    pub fn frontier_of_held(&self, plane: PlaneId, stream: u32) -> u32 {
        debug_assert!(self.is_for_host(stream), "frontier {stream} is not the host's");
        let copies = self.separates() && self.takes_copies(stream);
        if copies { self.class_with_page(plane, stream) } else { stream }
    }

    fn change_held(&mut self, plane: PlaneId, at: usize, change: i32) {
        assert!(self.may_hold(), "the config layer has checked it");
        let before = self.blocks_for(at, self.held[at]);
        self.held[at] = self.held[at].checked_add_signed(change).expect("fewer than none is held");
        let after = self.blocks_for(at, self.held[at]);
        debug_assert!(before.abs_diff(after) <= 1, "one page takes {before} or {after} blocks");
        let pool = self.pool(plane);
        let kept = &mut self.pools[pool.at()].kept;
        *kept = (u32::from(*kept) + after - before) as u16;
        self.check(pool);
    }

    /// Check that the erased blocks that are kept are those that the held pages of their frontiers need.
    pub(in crate::ftl) fn audit_held(&self) -> Result<(), String> {
        let (mut kept, mut held_room) = (vec![0u32; self.pools.len()], vec![0; self.pools.len()]);
        assert!(
            self.held.len() <= self.open.len(),
            "pages are held for frontiers that are not there"
        );
        for (at, &held) in self.held.iter().enumerate() {
            let plane = PlaneId(at as u32 / self.frontiers);
            if self.takes_copies(at as u32 % self.frontiers) {
                held_room[self.pool(plane).at()] += held;
            } else {
                kept[self.pool(plane).at()] += self.blocks_for(at, held);
            }
        }
        let counted = self.pools.iter().map(|pool| u32::from(pool.held));
        if let Some(pool) = counted.zip(&held_room).position(|(counted, &held)| counted != held) {
            let (counted, held) = (self.pools[pool].held, held_room[pool]);
            return Err(format!("pool {pool} holds {held} pages of its room, {counted} counted"));
        }
        let counted = self.pools.iter().map(|pool| u32::from(pool.kept - pool.spare));
        match counted.zip(&kept).position(|(counted, &kept)| counted != kept) {
            Some(pool) => Err(format!(
                "pool {pool} keeps {} erased blocks, and {} are needed for what is held",
                self.pools[pool].kept - self.pools[pool].spare,
                kept[pool]
            )),
            None => Ok(()),
        }
    }
}
