//! The write buffer at work: pages of writes come in, merge, are evicted, and leave when they are on flash.
//!
//! A write is admitted when it arrives, as without a buffer: its page gets a slot, and the map points to it. A buffered
//! page of the same LPN is then superseded and leaves; if it has not entered by then, it never will. So the newest data
//! of an LPN are in one slot, whatever became of older ones. On a device with parity pages leave by groups
//! (`raid/evict`), and a TRIM makes void what has not left before, so that no update after that of the TRIM writes it.
//! What makes room lets other pages in (`finish`).

use super::array::op::{OpKind, Work};
use super::core::Core;
use super::join::Join;
use super::ssd::Ssd;
use crate::ftl::map::Entry;
use crate::host::request::{Request, flags};
use crate::host::write_buffer::{BufferedPage, WaitingPage};
use crate::sched::order::{R_HOST, W_HOST};
use crate::units::{Lpn, Nanos, OpSlot, Ppn, RequestSlot};

/// The sectors of bytes `range` of a page, one bit each.
fn sectors((from, to): (usize, usize)) -> u128 {
    let (from, count) = (from / 512, (to - from) / 512);
    assert!(count > 0 && from + count <= 128, "{count} sectors from {from} on");
    (u128::MAX >> (128 - count)) << from
}

impl Core {
    /// All sectors of a page.
    pub(crate) fn whole_page(&self) -> u128 {
        sectors((0, 512 << self.ftl.geo.sector_shift))
    }

    pub(super) fn buffered_page(&self, slot: OpSlot) -> BufferedPage {
        *self.front.buffer.as_ref().expect("there is a buffer").page(slot)
    }

    /// Whether the data in `slot`, which the buffer holds, have to reach flash because something waits for them.
    pub(crate) fn must_be_on_flash(&self, slot: OpSlot) -> bool {
        let page = self.buffered_page(slot);
        debug_assert_ne!(page.owner, RequestSlot::NONE, "{slot:?} is not held");
        page.fua || self.front.epochs.ended(page.epoch)
    }

    fn buffer_keeps(&self, slot: OpSlot) -> bool {
        let sequence = self.array.ops[slot].sequence;
        self.front.buffer.as_ref().is_some_and(|buffer| buffer.keeps(sequence))
    }

    /// Whether the page in `slot`, which waits for room, has to wait for what its write flushes first: no page of a
    /// write with preflush may be on flash before that.
    fn waits_for_flush(&self, slot: OpSlot) -> bool {
        let request = self.front.requests.at(self.array.ops[slot].part().request);
        debug_assert!(!request.parts.is_done(), "{slot:?} waits for a request that has completed");
        let pages = super::front::pages_of(&self.ftl.geo, &request.request).count;
        // No page ends before the flush has; then only pages are left.
        let left = request.parts.left() - self.front.own_parts();
        request.request.flags & flags::PREFLUSH != 0 && left > pages
    }

    fn count_room_wait(&mut self, page: WaitingPage, gc_wait_ns: u64) {
        assert!(page.since <= self.array.now, "{page:?} waits from the future");
        let waited = (self.array.now - page.since).0;
        let for_gc = gc_wait_ns.min(waited);
        let parts = &mut self.array.ops[page.slot].parts;
        parts.gc_wait_ns += for_gc;
        parts.queue_ns += waited - for_gc;
        self.ledger.measured.buffer.waited += u64::from(waited > 0);
    }

    /// The flash page that request `owner` needs in order to read `lpn`, of which `slot` holds a part.
    #[inline(never)]
    pub(crate) fn rest_on_flash(&self, slot: OpSlot, owner: RequestSlot, lpn: Lpn) -> Option<Ppn> {
        debug_assert!(self.ftl.owners.is_newest(lpn, slot), "{slot:?} holds old data of {lpn:?}");
        let op = &self.array.ops[slot];
        if op.copies() && op.kind() == OpKind::RmwRead {
            return self.ftl.owners.under(slot);
        }
        let buffer = self.front.buffer.as_ref()?;
        if self.array.ops[slot].kind() != OpKind::RmwRead {
            return None;
        }
        let request = &self.front.requests.at(owner).request;
        let (range, _) = super::front::byte_range(&self.ftl.geo, request, lpn);
        let missing = sectors(range) & !buffer.page(slot).sectors;
        let page = self.ftl.owners.under(slot);
        assert!(page.is_some() || self.ftl.is_lost(lpn), "the rest of {lpn:?} is nowhere");
        page.filter(|_| missing != 0)
    }

    /// Note that the read in `slot` is about to read its page from flash, perhaps only the rest of a page of which the
    /// buffer holds a part. Returns whether flash holds only the rest of the page: then its data are complete only
    /// together with what the buffer holds now.
    pub(crate) fn note_rest_read(&mut self, slot: OpSlot) -> bool {
        debug_assert_eq!(self.array.ops[slot].kind(), OpKind::HostRead, "{slot:?} serves no read");
        let (lpn, ppn) = (self.array.ops[slot].lpn, self.array.ops[slot].ppn);
        debug_assert!(self.ftl.owners.is_valid(ppn), "{lpn:?} is read from {ppn:?}, overwritten");
        let is_rest = self.ftl.owners.newest(lpn) != Entry::Page(ppn);
        if is_rest && let Work::HostRead { rest, .. } = &mut self.array.ops[slot].work {
            *rest = ppn;
        }
        is_rest
    }

    /// Whether a TRIM is the newest operation of `lpn`.
    fn is_trimmed(&self, lpn: Lpn) -> bool {
        match self.ftl.owners.newest(lpn) {
            Entry::Unmapped => true,
            Entry::Slot(newest) => self.is_trim(newest),
            Entry::Page(_) => false,
        }
    }

    /// Acknowledge the page in `slot` to its request when it has crossed the SRAM.
    fn acknowledge(&mut self, slot: OpSlot) {
        debug_assert!(
            self.array.ops[slot].sequence > 0,
            "{slot:?} is acknowledged but is not a write"
        );
        debug_assert!(
            !self.buffered_page(slot).fua || self.buffered_page(slot).is_void(),
            "the data have to be on flash first"
        );
        let op = &mut self.array.ops[slot];
        let (request, mut parts) = (op.part().request, std::mem::take(&mut op.parts));
        parts.transfer_ns += self.array.times.controller_ns;
        let at = Nanos(self.array.now.0 + self.array.times.controller_ns);
        self.part_ends_at(at, request, parts);
    }

    /// Hold the write in `slot`, of bytes `range`, which has been admitted over `old`.
    fn hold_page(&mut self, slot: OpSlot, old: Entry, range: (usize, usize)) {
        let epoch = self.front.epochs.write_arrives();
        let all_sectors = sectors((0, 512 << self.ftl.geo.sector_shift));
        let op = &self.array.ops[slot];
        assert!(self.ftl.owners.is_newest(op.lpn, slot), "{slot:?} has not been admitted");
        let request = self.front.requests.at(op.part().request);
        let (number, fua) = (request.id, request.request.flags & flags::FUA != 0);
        let (owner, lpn) = (op.part().request, op.lpn);
        let mut mask = sectors(range);
        if let Entry::Slot(older) = old {
            let lacks_rest = self.array.ops[older].kind() == OpKind::RmwRead;
            mask |= match lacks_rest {
                true if self.array.ops[older].passes_buffer() => self.buffered_page(older).sectors,
                true => 0,
                false => all_sectors,
            };
        }
        let on_flash = self.ftl.owners.under(slot).is_some() || self.ftl.is_lost(lpn);
        let needs_rest = mask != all_sectors && on_flash;
        if needs_rest {
            self.array.ops[slot].becomes_rmw_read();
        }
        assert!(mask & !all_sectors == 0, "sectors beyond the page: {mask:x}");
        let inside = matches!(
            old,
            Entry::Slot(older) if self.array.ops[older].passes_buffer() && self.buffered_page(older).inside
        );
        let request = number;
        let (has_heirs, trimmed_at) = (false, 0);
        let page = BufferedPage {
            sectors: mask,
            epoch,
            request,
            fua,
            inside,
            owner,
            has_heirs,
            trimmed_at,
        };
        self.front.buffer.as_mut().expect("there is a buffer").admit(slot, page);
        if let Entry::Slot(older) = old {
            let was_kept = self.drop_buffered(older);
            self.ledger.measured.buffer.coalesced += u64::from(was_kept);
        }
    }

    /// Drop the page in `slot` if the buffer keeps it. Returns whether it did, so the page is not programmed.
    fn drop_buffered(&mut self, slot: OpSlot) -> bool {
        let sequence = self.array.ops[slot].sequence;
        if self.ftl.groups.is_some()
            && self.front.buffer.as_ref().is_some_and(|buffer| buffer.keeps(sequence))
            && self.must_be_on_flash(slot)
            && !self.buffered_page(slot).is_void()
        {
            let left = self.front.buffer.as_mut().is_some_and(|buffer| buffer.put_out(sequence));
            assert!(left, "{slot:?} is kept and does not leave");
            self.evict_later(slot);
            return false;
        }
        let was_kept = self.front.buffer.as_mut().is_some_and(|buffer| buffer.forget(sequence));
        if was_kept {
            debug_assert_ne!(sequence, 0, "{slot:?} is kept and was never admitted");
            self.drop_held(slot);
        }
        was_kept
    }

    /// Drop the page in `slot`, which newer data or a TRIM have replaced and which will not be programmed.
    fn drop_held(&mut self, slot: OpSlot) {
        let page = self.buffered_page(slot);
        let (epoch, lpn) = (page.epoch, self.array.ops[slot].lpn);
        if !page.is_void() {
            assert!(!self.front.epochs.ended(epoch), "a flush waits for a page that is dropped");
        }
        assert!(!self.ftl.owners.is_newest(lpn, slot), "the newest data of {lpn:?} are dropped");
        if self.waits_for_trim(slot) {
            self.void_page_leaves(slot);
        } else {
            self.front.epochs.write_completes(epoch);
        }
        self.array.ops.remove(slot);
    }

    /// Drop the page in `slot`, which was the newest of its LPN and has been trimmed.
    pub(super) fn drop_trimmed(&mut self, slot: OpSlot) {
        let op = &self.array.ops[slot];
        let waits = self.ftl.groups.is_some() && op.passes_buffer() && self.buffered_page(slot).fua;
        if waits && self.buffer_keeps(slot) && !self.waits_for_trim(slot) {
            self.note_time_in_buffer(slot);
            self.acknowledge(slot);
        }
        let was_kept = self.drop_buffered(slot);
        self.ledger.measured.buffer.trimmed += u64::from(was_kept);
    }

    /// Let pages enter in the order of their arrival as long as there is room, which a page that had waited
    /// `gc_wait_ns` for collection has made; then evict pages.
    pub(super) fn admit_waiting(&mut self, gc_wait_ns: u64) {
        while let Some(next) = self.front.buffer.as_ref().and_then(|buffer| buffer.first_waiting())
        {
            if self.waits_for_flush(next.slot) {
                break;
            }
            let page = self.buffered_page(next.slot);
            let lpn = self.array.ops[next.slot].lpn;
            let newest = self.ftl.owners.newest(lpn);
            let drop = self.needs_no_room(next.slot);
            let is_trimmed = drop && (page.is_void() || self.is_trimmed(lpn));
            let is_waited_for = self.is_waited_for(next.slot);
            // Only the newest data of a page are kept.
            let goes = is_waited_for
                && (newest != Entry::Slot(next.slot) || !self.has_next_page_in_group(next.slot));
            let buffer = self.front.buffer.as_mut().expect("seen");
            if !drop && !buffer.has_room() {
                break;
            }
            buffer.stop_waiting();
            self.count_room_wait(next, gc_wait_ns);
            if !page.fua || (drop && !self.waits_for_trim(next.slot)) {
                self.acknowledge(next.slot);
            }
            let buffer = self.front.buffer.as_mut().expect("seen");
            if drop {
                if let Entry::Slot(newer) = newest
                    && self.array.ops[newer].passes_buffer()
                {
                    // It was acknowledged, and the newer one contains its data.
                    buffer.enter(newer);
                }
                let counts = &mut self.ledger.measured.buffer;
                *(if is_trimmed { &mut counts.trimmed } else { &mut counts.coalesced }) += 1;
                self.drop_held(next.slot);
                if is_waited_for {
                    self.evict_rest_of_group(lpn);
                }
            } else if goes {
                buffer.enter(next.slot);
                buffer.pass_through();
                self.evict(next.slot);
            } else {
                buffer.enter(next.slot);
                buffer.keep(self.array.ops[next.slot].sequence, next.slot);
            }
        }
        if self.ftl.groups.is_some() {
            // They leave with their groups, at the end of the instant.
            if self.front.buffer.as_ref().is_some_and(|buffer| buffer.has_surplus()) {
                self.note_room();
            }
            return;
        }
        while let Some(slot) = self.front.buffer.as_mut().and_then(|buffer| buffer.evict_surplus())
        {
            self.evict(slot);
        }
    }

    /// Whether the page in `slot`, which waits, need not enter: newer data or a TRIM have replaced it.
    fn needs_no_room(&self, slot: OpSlot) -> bool {
        let is_newest = self.ftl.owners.is_newest(self.array.ops[slot].lpn, slot);
        !is_newest && (self.buffered_page(slot).is_void() || !self.is_waited_for(slot))
    }

    /// Whether the page in `slot`, which waits for room, has to reach flash: something waits for that, or a copy whose
    /// source is not on flash has replaced it.
    fn is_waited_for(&self, slot: OpSlot) -> bool {
        self.must_be_on_flash(slot)
            || self.buffered_page(slot).has_heirs
            || self.is_lost_by_a_cut(slot)
    }

    /// Whether a cut would lose the page in `slot`, which waits for room, together with the copy that has replaced it.
    fn is_lost_by_a_cut(&self, slot: OpSlot) -> bool {
        let op = &self.array.ops[slot];
        let copied_over = matches!(
            self.ftl.owners.newest(op.lpn),
            Entry::Slot(newer) if !self.array.ops[newer].passes_buffer()
        );
        // Once its source is on flash the copy has that page, even if it is to get its own.
        let copied_over = copied_over && self.ftl.groups.is_none();
        copied_over && self.ftl.may_lose_power() && self.ftl.is_missed(op.lpn, op.sequence)
    }

    /// Evict pages of the group of `lpn` that must be on flash, because a page that others waited for does not come.
    fn evict_rest_of_group(&mut self, lpn: Lpn) {
        debug_assert!(self.front.buffer.is_some(), "{lpn:?} came to no buffer");
        let Some(groups) = self.ftl.groups.as_deref() else { return };
        for buffered in self.buffered_pages_of(groups.group_of(lpn)) {
            if self.must_be_on_flash(buffered) {
                let sequence = self.array.ops[buffered].sequence;
                let left =
                    self.front.buffer.as_mut().is_some_and(|buffer| buffer.put_out(sequence));
                assert!(left, "{buffered:?} is not kept");
                self.evict_later(buffered);
            }
        }
    }

    /// Send the page in `slot` to flash.
    fn evict(&mut self, slot: OpSlot) {
        debug_assert!(self.front.buffer.is_some(), "{slot:?} is evicted from no buffer");
        let kind = self.array.ops[slot].kind();
        assert!(matches!(kind, OpKind::HostWrite | OpKind::RmwRead), "{kind:?} was buffered");
        if self.ftl.groups.is_some() {
            return self.evict_later(slot);
        }
        self.ledger.measured.buffer.evicted += 1;
        let lpn = self.array.ops[slot].lpn;
        if kind == OpKind::RmwRead {
            self.ledger.measured.host.rmw += 1;
            let page = self.ftl.owners.under(slot).expect("the rest of its page is there");
            self.array.ops[slot].plane = self.ftl.geo.plane_of(page);
            self.enqueue(slot, R_HOST);
        } else {
            self.array.ops[slot].plane = self.place::<true>(lpn, self.array.ops[slot].stream());
            self.enqueue(slot, W_HOST);
        }
    }

    /// Send the page in `slot` to flash now, if the buffer keeps it.
    pub(super) fn put_out(&mut self, slot: OpSlot) {
        let sequence = self.array.ops[slot].sequence;
        let Some(buffer) = &mut self.front.buffer else { return };
        debug_assert_ne!(sequence, 0, "{slot:?} has not been admitted");
        if buffer.put_out(sequence) {
            self.evict(slot);
        }
    }
}

impl Ssd {
    /// Prepare for the admission of a write in request slot `slot`: with preflush, buffered pages go to flash first.
    #[inline(never)]
    pub(crate) fn flush_before(&mut self, slot: RequestSlot, request: &Request) {
        if self.core.front.buffer.is_some() && request.flags & flags::PREFLUSH != 0 {
            // One part for the flush, and one so that the request does not end with it.
            let own = self.core.front.own_parts();
            let parts = &mut self.core.front.requests.get(slot).parts;
            assert_eq!(*parts, Join::of(own), "its pages have been admitted");
            parts.add(2);
            self.flush(slot);
            // The pages of the write are parts, too, and have not been admitted.
            let _ = self.core.front.requests.get(slot).parts.part_ends();
        }
    }

    /// Complete one part of the request in `slot` when every write admitted so far is on flash.
    #[inline(never)]
    pub(crate) fn flush(&mut self, slot: RequestSlot) {
        debug_assert!(
            !self.core.front.requests.at(slot).parts.is_done(),
            "a flush that nobody waits for"
        );
        self.core.front.epochs.flush_arrives(slot);
        self.evict_all();
        self.complete_flushes();
    }

    /// Hold the write in `slot`, of bytes `range`, which has been admitted over `old`.
    pub(crate) fn hold(&mut self, slot: OpSlot, old: Entry, range: (usize, usize)) {
        if let (Entry::Slot(older), Some(contents)) = (old, &mut self.contents)
            && self.core.array.ops[older].kind() == OpKind::RmwRead
        {
            contents.expect_same(slot, older);
        }
        self.core.hold_page(slot, old, range);
        if matches!(old, Entry::Slot(_)) {
            // There is room now, or it has waited for room and needs none.
            self.let_in(0);
        }
    }

    /// Let the page in `slot` request room in the buffer.
    pub(crate) fn page_waits(&mut self, slot: OpSlot) {
        let since = self.core.array.now;
        debug_assert!(self.core.array.ops[slot].sequence > 0, "{slot:?} waits but is not a write");
        self.core
            .front
            .buffer
            .as_mut()
            .expect("there is a buffer")
            .wait(WaitingPage { slot, since });
        self.let_in(0);
    }

    /// Every page goes to flash.
    #[inline(never)]
    pub(crate) fn evict_all(&mut self) {
        self.evict_leaving();
        while let Some(slot) = self.core.front.buffer.as_mut().and_then(|buffer| buffer.evict()) {
            if self.raid.is_some() {
                self.evict_with_group(slot);
            } else {
                self.core.evict(slot);
            }
        }
    }

    /// Check that every page kept is the newest of its LPN, and that none waits although there is room or it needs
    /// none.
    pub(crate) fn audit_buffer(&self) -> Result<(), String> {
        let Some(buffer) = &self.core.front.buffer else { return Ok(()) };
        let first = buffer.first_waiting().filter(|page| !self.core.waits_for_flush(page.slot));
        if let Some(page) = first
            && (buffer.has_room() || self.core.needs_no_room(page.slot))
        {
            return Err(format!("{page:?} waits for room that it has, or does not need"));
        }
        for slot in buffer.kept_slots() {
            let lpn = self.core.array.ops[slot].lpn;
            if !self.core.ftl.owners.is_newest(lpn, slot) {
                return Err(format!("the write buffer keeps old data of {lpn:?} in {slot:?}"));
            }
        }
        let Some(raid) = &self.raid else { return Ok(()) };
        let (left, under_way) = (buffer.on_their_way(), raid.pages_under_way());
        if left != under_way || buffer.has_leaving() || buffer.has_surplus() {
            return Err(format!(
                "{left} pages have left the buffer, but updates write {under_way}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_bits() {
        assert_eq!(sectors((0, 65_536)), u128::MAX);
        assert_eq!(sectors((512, 2048)), 0b1110);
        assert_eq!(sectors((65_024, 65_536)), 1 << 127);
    }
}
