//! The parity groups of the pages in the write buffer, which leave it group by group (`raid/evict.rs`).

use super::core::Core;
use super::front::pages_of;
use crate::ftl::map::Entry;
use crate::ftl::raid::GroupId;
use crate::host::write_buffer::{BufferedPage, VoidPage};
use crate::units::{Lpn, OpSlot};

impl Core {
    /// The group of the page in `slot`, which the buffer holds.
    pub(super) fn group_of_buffered(&self, slot: OpSlot) -> GroupId {
        let op = &self.array.ops[slot];
        debug_assert!(op.passes_buffer(), "{slot:?} is in no buffer");
        self.ftl.parity_groups().group_of(op.lpn)
    }

    /// Whether the page after that in `slot`, which enters, belongs to the same group and request.
    pub(super) fn has_next_page_in_group(&self, slot: OpSlot) -> bool {
        let Some(groups) = self.ftl.groups.as_deref() else { return false };
        let op = &self.array.ops[slot];
        let request = &self.front.requests.at(op.part().request).request;
        let pages = pages_of(&self.ftl.geo, request);
        let (next, end) = (Lpn(op.lpn.0 + 1), pages.first + pages.count);
        debug_assert!(next.0 <= end, "{:?} is not a page of its request", op.lpn);
        next.0 < end && groups.group_of(next) == groups.group_of(op.lpn)
    }

    /// Pages of `group` that the buffer keeps, in order.
    pub(super) fn buffered_pages_of(&self, group: GroupId) -> Vec<OpSlot> {
        let groups = self.ftl.parity_groups();
        let buffer = self.front.buffer.as_ref().expect("pages leave a buffer");
        let data = (0..groups.data_pages()).map(|position| groups.page(group, position));
        let slots = data.filter_map(|lpn| match self.ftl.owners.newest(lpn) {
            Entry::Slot(slot) => Some(slot),
            _ => None,
        });
        slots
            .filter(|&slot| {
                let op = &self.array.ops[slot];
                op.passes_buffer() && buffer.keeps(op.sequence)
            })
            .collect()
    }

    /// Make void what comes into the buffer, or is in it, of `trimmed`. If power may be cut, it waits for
    /// [`Core::trim_ends`].
    pub(super) fn make_void(&mut self, trimmed: &[Lpn]) {
        let Core { front, array, ftl, .. } = self;
        let Some(buffer) = &mut front.buffer else { return };
        debug_assert!(!buffer.has_leaving(), "what leaves is written before the TRIM");
        for slot in array.ops.live_slots() {
            let op = &array.ops[slot];
            if op.passes_buffer() && trimmed.contains(&op.lpn) {
                buffer.make_void(slot, front.sequence);
            }
        }
        if ftl.may_lose_power() {
            buffer.trim_begins(trimmed, front.sequence);
        }
    }

    /// Note that a TRIM of `trimmed`, which came after the admission of `sequence` pages, has taken effect.
    pub(super) fn trim_ends(&mut self, trimmed: &[Lpn], sequence: u64) {
        debug_assert!(sequence <= self.front.sequence, "a TRIM to come");
        if let Some(buffer) = &mut self.front.buffer {
            buffer.trim_ends(trimmed, sequence);
        }
    }

    /// Whether what waits for the buffered page in `slot`, which is void, also waits for the TRIM.
    pub(super) fn waits_for_trim(&self, slot: OpSlot) -> bool {
        debug_assert!(self.array.ops[slot].passes_buffer(), "{slot:?} is in no buffer");
        let buffer = self.front.buffer.as_ref();
        buffer.is_some_and(|buffer| buffer.page(slot).is_void()) && self.ftl.may_lose_power()
    }

    /// Let what waits for the void page in `slot`, which leaves the buffer, wait for the TRIM.
    pub(super) fn void_page_leaves(&mut self, slot: OpSlot) {
        let buffer = self.front.buffer.as_mut().expect("it was held");
        let &BufferedPage { trimmed_at, epoch, fua, .. } = buffer.page(slot);
        let op = &self.array.ops[slot];
        debug_assert!(op.sequence <= trimmed_at, "{slot:?} came after the TRIM");
        let request = fua.then(|| op.part().request);
        let page = VoidPage { lpn: op.lpn, trimmed_at, epoch, request };
        buffer.void_page_leaves(page);
    }

    /// Record where the time of a write with FUA has gone so far, while the page in `slot` is in the buffer.
    pub(super) fn note_time_in_buffer(&mut self, slot: OpSlot) {
        if !self.has_fua(slot) {
            return;
        }
        let request = self.array.ops[slot].part().request;
        let since = self.array.now - self.front.requests.at(request).arrival;
        let parts = &mut self.array.ops[slot].parts;
        assert!(parts.total() <= since.0, "{slot:?} has waited for longer than it is there");
        parts.queue_ns += since.0 - parts.total();
    }

    /// Whether the write of the page in `slot`, which the buffer holds, has FUA.
    pub(super) fn has_fua(&self, slot: OpSlot) -> bool {
        debug_assert!(self.array.ops[slot].passes_buffer(), "{slot:?} is in no buffer");
        self.front.buffer.as_ref().is_some_and(|buffer| buffer.page(slot).fua)
    }

    /// Send the evicted page in `slot` to flash at the end of the instant.
    pub(super) fn evict_later(&mut self, slot: OpSlot) {
        self.front.buffer.as_mut().expect("it was held").leaves_later(slot);
        self.note_room();
    }
}
