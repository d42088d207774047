//! The write buffer of a device with parity: pages leave it group by group.
//!
//! A page that leaves takes along all pages of its group that the buffer keeps, each with its own frontier: they form
//! one update, and a group whose pages are all in the buffer is written without a read. What leaves is decided at the
//! end of an instant, so that the pages of a request that enter at the same time are together. A page has left when its
//! update commits, so whatever waits for it (a write with FUA, a flush) waits for its parity.
//!
//! Decided, where a real drive may differ:
//! - the least recently written page leaves first, with its group; whole groups have no precedence;
//! - pages of one write with FUA in one group leave when the last of them has entered;
//! - a page that is trimmed before it has left is not programmed, even if something waits for it or newer data have
//!   come since: the update of the TRIM comes before what leaves later, and a mount could not tell which of them is
//!   the last. If power may be cut, what waits for the page then waits until the TRIM survives a cut.

use super::{ChangedPage, Raid};
use crate::ftl::map::Entry;
use crate::ftl::raid::{Change, GroupId};
use crate::metrics::counters::Parts;
use crate::sim::array::op::{GroupPage, OpKind, Work};
use crate::sim::core::Core;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, OpSlot, UpdateSlot};

impl Ssd {
    /// At the end of the instant, write out the evicted pages and those beyond the threshold.
    pub(in crate::sim) fn evict_groups(&mut self) {
        if self.core.front.buffer.is_none() {
            return;
        }
        self.evict_leaving();
        while let Some(slot) =
            self.core.front.buffer.as_mut().and_then(|buffer| buffer.evict_surplus())
        {
            self.evict_with_group(slot);
        }
        debug_assert!(
            self.core.front.buffer.as_ref().is_some_and(|buffer| !buffer.has_leaving()),
            "a page that was put out stays"
        );
    }

    /// What was put out leaves.
    pub(in crate::sim) fn evict_leaving(&mut self) {
        let Some(buffer) = &mut self.core.front.buffer else { return };
        let mut leaving = buffer.take_leaving();
        while let Some(&first) = leaving.first() {
            let group = self.core.group_of_buffered(first);
            let pages;
            (pages, leaving) =
                leaving.into_iter().partition(|&slot| self.core.group_of_buffered(slot) == group);
            self.write_group(group, pages);
        }
    }

    /// Write out the evicted page in `slot` now.
    pub(in crate::sim) fn evict_with_group(&mut self, slot: OpSlot) {
        self.write_group(self.core.group_of_buffered(slot), vec![slot]);
    }

    /// Write `pages`, which have been evicted, and all that the buffer keeps of their group in one update; two versions
    /// of a page take two updates, the older one first.
    fn write_group(&mut self, group: GroupId, mut pages: Vec<OpSlot>) {
        assert!(!pages.is_empty(), "nothing of {group:?} leaves");
        for slot in self.core.buffered_pages_of(group) {
            let sequence = self.core.array.ops[slot].sequence;
            if self.core.front.buffer.as_mut().is_some_and(|buffer| buffer.put_out(sequence)) {
                pages.push(slot);
            }
        }
        pages.sort_unstable_by_key(|&slot| self.core.array.ops[slot].sequence);
        let homes = self.core.ftl.parity_groups().homes(group);
        let mut update = UpdateSlot::NONE;
        for slot in pages {
            let (raid, core) = self.parity();
            let position = core.ftl.parity_groups().position(core.array.ops[slot].lpn);
            let is_new = update == UpdateSlot::NONE;
            if is_new || raid.at(update).changes.changed() >> position & 1 == 1 {
                if !is_new {
                    self.leave_together(update, group);
                }
                let (raid, core) = self.parity();
                update = raid.new_update(core, (group, homes), None);
            }
            let (raid, core) = self.parity();
            raid.evict_page(core, update, slot);
        }
        self.leave_together(update, group);
    }

    /// Note that all pages that `update` writes from the buffer are known; the parity has the stream of the first.
    fn leave_together(&mut self, update: UpdateSlot, group: GroupId) {
        let (raid, core) = self.parity();
        let pages = &raid.at(update).pages;
        let (first, count) = (pages.first().expect("nothing leaves").stream, pages.len() as u32);
        // With separation the class of a page is known, but not the stream in which it came; with handles they are the
        // same.
        let unknown = core.ftl.separates() && core.ftl.handles().is_none();
        let stream = if unknown { 0 } else { first };
        raid.name_parity(core, update, group, (stream, count));
        self.begin_if_first(update);
    }

    /// Those of `trimmed`, pages of `group`, of which there is something on flash or on its way there. The others are
    /// only in the buffer, and are dropped.
    pub(super) fn trim_buffered(&mut self, group: GroupId, trimmed: Vec<Lpn>) -> Vec<Lpn> {
        if self.core.front.buffer.is_none() {
            return trimmed;
        }
        // Evicted pages are written first, or they would come back.
        self.evict_leaving();
        self.core.make_void(&trimmed);
        if self.parity().0.is_locked(group) {
            return trimmed;
        }
        let (on_flash, buffered): (Vec<Lpn>, Vec<Lpn>) =
            trimmed.into_iter().partition(|&lpn| self.core.ftl.holds(lpn));
        self.core.trim_ends(&buffered, self.core.front.sequence);
        let newest: Vec<Entry> = buffered
            .into_iter()
            .map(|lpn| {
                let (newest, committed) = self.core.ftl.trim(lpn);
                assert_eq!(committed, None, "{lpn:?} is on flash");
                newest
            })
            .collect();
        self.trim_all_buffered(&newest);
        on_flash
    }

    /// Let pages enter the buffer after the pages of a group, whose newest data were at `newest`, have been trimmed.
    /// All of them must be trimmed before, because what enters next may be one of them.
    pub(super) fn trim_all_buffered(&mut self, newest: &[Entry]) {
        debug_assert!(self.raid.is_some(), "pages of no group");
        for &entry in newest {
            if let Entry::Slot(slot) = entry {
                self.trim_held(slot);
            }
        }
    }
}

impl Raid {
    /// Let `update` write the page in `slot`.
    fn evict_page(&mut self, core: &mut Core, update: UpdateSlot, slot: OpSlot) {
        core.ledger.measured.buffer.evicted += 1;
        core.note_time_in_buffer(slot);
        if core.has_fua(slot) {
            let parts = core.array.ops[slot].parts;
            self.before_update.insert(slot, parts);
        }
        let op = &mut core.array.ops[slot];
        debug_assert!(op.passes_buffer(), "{slot:?} is in no buffer");
        let (lpn, stream) = (op.lpn, op.stream());
        let change = match op.kind() {
            OpKind::RmwRead => Change::Part,
            _ => Change::Whole,
        };
        let home = core.ftl.parity_groups().home(lpn);
        op.work = Work::GroupWrite { update, stream, page: GroupPage::Data };
        (op.plane, op.parts) = (home, Parts::default());
        let position = core.ftl.parity_groups().position(lpn);
        let entry = self.get(update);
        entry.changes.add(position, change);
        entry.pages.push(ChangedPage { lpn, slot, change, home, stream });
    }
}
