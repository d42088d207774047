//! Copies (NVMe Copy): a page of the destination shares the flash page of its source or, with `remap.mode = "copy"`,
//! is read and programmed by the device.
//!
//! A copy is of the data that are newest when it is admitted. A source on flash is shared at once, in the mode
//! `copy` too: there the destination keeps the page until its own has been programmed, and a copy of it takes that
//! page. Another source in the controller
//! is waited for: the destination gets a slot, as if it were written, and *inherits* the page of the source when that
//! has been programmed, whatever has become of the source by then.

use super::array::op::{Op, OpKind, Part, Work};
use super::core::Core;
use super::front::{Pages, copies};
use super::join::Join;
use super::ssd::Ssd;
use crate::config::{Config, RemapMode};
use crate::ftl::map::Entry;
use crate::ftl::owners::Claim;
use crate::host::copy;
use crate::host::device::DeviceError;
use crate::host::request::{Op as HostOp, Request};
use crate::metrics::counters::RemapCounts;
use crate::nand::nvram::Record;
use crate::sched::order::R_HOST;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn, RequestSlot};
use std::collections::BTreeMap;

/// What a device that answers copies keeps.
pub(crate) struct Copies {
    mode: RemapMode,
    /// By the slot of a write: the slots of the pages that inherit its flash page.
    heirs: BTreeMap<OpSlot, Vec<OpSlot>>,
    /// Where power may be cut, by the slot of a copy that is in the device, or was the last one there: what it has
    /// been counted as, and since when that is measured.
    counted: BTreeMap<RequestSlot, (Nanos, RemapCounts)>,
}

impl Copies {
    /// `None` if copies are refused.
    pub(crate) fn new(config: &Config) -> Option<Box<Copies>> {
        let mode = config.remap.mode;
        (mode != RemapMode::Off)
            .then(|| Box::new(Copies { mode, heirs: BTreeMap::new(), counted: BTreeMap::new() }))
    }
}

impl Ssd {
    /// Whether pages wait for the program of the write in `slot`.
    #[inline]
    pub(crate) fn has_heirs(&self, slot: OpSlot) -> bool {
        let heirs = self.copies.as_ref().and_then(|copies| copies.heirs.get(&slot));
        debug_assert!(heirs.is_none_or(|heirs| !heirs.is_empty()), "{slot:?} has a list of none");
        heirs.is_some()
    }

    /// Whether the device accepts this copy, with these source ranges.
    ///
    /// # Errors
    /// It does not.
    #[cold]
    #[inline(never)]
    pub fn check_copy(
        &mut self,
        request: &Request,
        data: Option<&[u8]>,
    ) -> Result<(), DeviceError> {
        debug_assert_eq!(request.op, HostOp::Copy, "another request has source ranges");
        let mode = self.copies.as_ref().map_or(RemapMode::Off, |copies| copies.mode);
        let counts = &mut self.core.ledger.measured.remap;
        let nvram = self.power.as_ref().map(|power| power.nvram.capacity());
        let sources = copies::sources(&self.core.ftl.geo, mode, request, data, counts);
        match sources.and_then(|pages| copies::fit(pages.len() as u64, nvram, counts)) {
            Ok(()) => Ok(()),
            Err(reason) => Err(DeviceError::BadRequest { id: self.core.front.submitted, reason }),
        }
    }

    /// A copy to `pages` arrives; `data`: its source ranges, which have been checked.
    #[cold]
    #[inline(never)]
    pub(super) fn admit_copy(
        &mut self,
        (id, at, request): (u64, Nanos, &Request),
        pages: Pages,
        data: Option<&[u8]>,
    ) {
        let mode = self.copies.as_ref().expect("it has been accepted").mode;
        let counts = &mut self.core.ledger.measured.remap;
        let sources = copies::sources(&self.core.ftl.geo, mode, request, data, counts);
        let sources = sources.expect("it has been accepted");
        assert_eq!(sources.len(), pages.count as usize, "request {id} has other sources");
        if let Some(log) = &mut self.logs.requests {
            log.note_copy(id, data.and_then(copy::decode).unwrap_or_default());
        }
        let epoch = self.core.front.epochs.write_arrives();
        let parts = Join::of(1 + self.core.front.own_parts());
        let slot = self.core.front.requests.insert((id, at, request), (parts, epoch));
        self.copies.as_mut().expect("it has been accepted").counted.remove(&slot);
        for (number, source) in (0..).zip(sources) {
            let (part, lpn) = (Part { request: slot, number }, Lpn(pages.first + number));
            self.copy_page(part, lpn, source, request.stream);
        }
        if let Some(power) = &mut self.power {
            power.write_records(&mut self.core);
            let now = self.core.array.now;
            power.end_when_recorded(&mut self.core, slot, now);
        } else {
            self.core.finish_later(slot);
        }
    }

    /// A page of the copy in `request` is counted.
    fn count_copy(&mut self, request: RequestSlot, of: fn(&mut RemapCounts) -> &mut u64) {
        let measured = &mut self.core.ledger.measured;
        *of(&mut measured.remap) += 1;
        if self.core.ftl.may_lose_power() {
            let counted = &mut self.copies.as_mut().expect("the device copies").counted;
            let (since, counts) = counted.entry(request).or_default();
            if *since != measured.since {
                (*since, *counts) = (measured.since, RemapCounts::default());
            }
            *of(counts) += 1;
            debug_assert!(*of(counts) <= *of(&mut measured.remap), "{request:?} counts too much");
        }
    }

    /// Power is cut, and the copy in `request` is in the device no longer: what it has been counted as is taken back,
    /// as it counts when it is submitted again.
    pub(super) fn forget_copy(&mut self, request: RequestSlot) {
        debug_assert!(
            self.core.ftl.may_lose_power(),
            "{request:?} is taken from a device with power"
        );
        let copies = self.copies.as_mut().expect("the device copies");
        let Some((since, counts)) = copies.counted.remove(&request) else { return };
        let measured = &mut self.core.ledger.measured;
        if since == measured.since {
            measured.remap.shared -= counts.shared;
            measured.remap.copied -= counts.copied;
            measured.remap.unmapped -= counts.unmapped;
            measured.remap.waited -= counts.waited;
        }
    }

    /// `lpn` is the copy of a page without data.
    fn unmap_with_record(&mut self, lpn: Lpn) {
        debug_assert!(self.copies.is_some(), "{lpn:?} is the destination of no copy");
        self.core.front.sequence += u64::from(self.core.ftl.may_lose_power());
        if self.unmap(lpn) && self.core.ftl.may_lose_power() {
            let sequence = self.core.front.sequence;
            self.core.ftl.add_record(Record::Trim { first: lpn, pages: 1, sequence });
        }
    }

    fn copy_page(&mut self, part: Part, lpn: Lpn, source: Lpn, stream: u8) {
        debug_assert_ne!(lpn, source, "a page is copied to itself");
        debug_assert!(lpn.0 < self.core.ftl.geo.user_pages, "{lpn:?} is beyond the device");
        debug_assert!(source.0 < self.core.ftl.geo.user_pages, "{source:?} is beyond the device");
        let mode = self.copies.as_ref().expect("the device copies").mode;
        let newest = match self.core.ftl.owners.newest(source) {
            // Until a copy has a page of its own, its data are on that of its source.
            Entry::Slot(slot) if self.core.array.ops[slot].copies() => Entry::Page(
                self.core.ftl.owners.under(slot).expect("a copy has the page of its source"),
            ),
            newest => newest,
        };
        match newest {
            Entry::Unmapped => {
                self.count_copy(part.request, |counts| &mut counts.unmapped);
                self.unmap_with_record(lpn);
            }
            Entry::Page(page) => {
                self.share_page(lpn, page);
                if let Some(contents) = &mut self.contents {
                    contents.copy(lpn, source);
                }
                match mode {
                    RemapMode::Copy => self.copy_later(part, lpn, stream),
                    _ => self.count_copy(part.request, |counts| &mut counts.shared),
                }
            }
            Entry::Slot(slot) => self.inherit_later(part, lpn, (source, slot), stream),
        }
    }

    /// `lpn` shares `page` from now on.
    fn share_page(&mut self, lpn: Lpn, page: Ppn) {
        debug_assert!(self.core.ftl.owners.is_valid(page), "{lpn:?} is to share old data");
        let shared = self.core.ftl.share(lpn, page);
        if self.core.ftl.may_lose_power() {
            // In the mode `copy` the page of its own gets a higher one, so that a mount prefers it.
            self.core.front.sequence += 1;
            let sequence = self.core.front.sequence;
            self.core.ftl.record_owner(lpn, page, sequence);
            let moved_from = self.power.as_ref().and_then(|power| power.moved_from(page));
            if let Some(source) = moved_from {
                self.core.ftl.record_owner_too(lpn, source, sequence);
            }
        }
        debug_assert_eq!(
            self.core.ftl.owners.newest(lpn),
            Entry::Page(page),
            "{lpn:?} is elsewhere"
        );
        if let Some(before) = shared.before {
            self.core.page_left(before);
        }
        if let Entry::Slot(older) = shared.newest {
            self.trim_held(older);
        }
    }

    /// `lpn`, which shares the page of its source, gets one of its own.
    fn copy_later(&mut self, part: Part, lpn: Lpn, stream: u8) {
        let page = self.core.ftl.owners.committed(lpn).expect("it shares a page");
        let stream = self.core.ftl.class_of_write(lpn, stream, 1);
        let work = Work::RmwRead { part, stream, copies: true };
        let mut op = self.core.host_op(work, lpn, self.core.ftl.geo.plane_of(page));
        self.core.front.sequence += 1;
        if let Some(power) = &mut self.power {
            power.count_second_number();
        }
        op.sequence = self.core.front.sequence;
        let slot = self.core.array.ops.insert(op);
        if let Some(contents) = &mut self.contents {
            contents.carry(slot, self.core.ftl.flash.payload(page));
        }
        let under = self.core.ftl.admit(lpn, slot);
        self.core.ftl.note_floor(slot, Entry::Page(page), self.core.front.sequence);
        debug_assert_eq!(under, Some(page), "{lpn:?} does not keep the page of its source");
        debug_assert!(self.core.ftl.owners.is_newest(lpn, slot), "{lpn:?} is not admitted");
        self.core.front.requests.get(part.request).parts.add(1);
        self.read_for_copy(slot);
    }

    /// `lpn` inherits the page of `source`, whose newest data are in `slot`.
    fn inherit_later(&mut self, part: Part, lpn: Lpn, (source, slot): (Lpn, OpSlot), stream: u8) {
        let root = match self.core.array.ops[slot].work {
            Work::HostCopy { root, .. } => root,
            _ => slot,
        };
        let stream = self.core.ftl.class_of_write(lpn, stream, 1);
        debug_assert!(self.core.ftl.owners.is_newest(source, slot), "{source:?} has newer data");
        debug_assert_ne!(self.core.array.ops[root].kind(), OpKind::HostCopy, "{root:?} waits, too");
        self.count_copy(part.request, |counts| &mut counts.waited);
        let older = self.core.ftl.owners.newest(lpn);
        let mut op = self.core.host_op(Work::HostCopy { part, root, stream }, lpn, PlaneId(0));
        let copies = self.copies.as_mut().expect("the device copies");
        let copy = copies.mode == RemapMode::Copy;
        if copy || self.core.ftl.may_lose_power() {
            self.core.front.sequence += 1;
        }
        // That of its record, if it gets one.
        let shares = self.core.front.sequence;
        if let Some(power) = self.power.as_mut().filter(|_| copy) {
            self.core.front.sequence += 1;
            power.count_second_number();
        }
        if copy || self.core.ftl.may_lose_power() {
            op.sequence = self.core.front.sequence;
        }
        let heir = self.core.array.ops.insert(op);
        copies.heirs.entry(root).or_default().push(heir);
        self.put_out(root);
        if let Some(contents) = &mut self.contents {
            contents.carry(heir, contents.payload(slot).clone());
            contents.copy(lpn, source);
        }
        self.core.front.requests.get(part.request).parts.add(1);
        if let Some(page) = self.core.ftl.admit(lpn, heir) {
            self.core.wake_readers(page);
        }
        if self.core.ftl.may_lose_power() {
            self.core.ftl.note_floor(heir, older, shares);
        }
        debug_assert!(self.core.ftl.owners.is_newest(lpn, heir), "{lpn:?} is not admitted");
        debug_assert_ne!(root, heir, "{lpn:?} waits for itself");
        match older {
            // It may have been acknowledged, and the copy has not: a cut must not lose both.
            Entry::Slot(older) if self.core.ftl.may_lose_power() => self.put_out(older),
            Entry::Slot(older) => self.trim_held(older),
            Entry::Page(_) | Entry::Unmapped => {}
        }
    }

    /// The write in `slot`, for whose page others wait, has been programmed to `page`.
    #[inline(never)]
    pub(super) fn commit_with_heirs(
        &mut self,
        slot: OpSlot,
        (lpn, page, plane): (Lpn, Ppn, PlaneId),
    ) {
        let copies = self.copies.as_mut().expect("the device copies");
        let under = copies.mode == RemapMode::Copy;
        let heirs = copies.heirs.remove(&slot).expect("the caller has checked");
        let heirs: Vec<(Lpn, OpSlot)> =
            heirs.into_iter().map(|heir| (self.core.array.ops[heir].lpn, heir)).collect();
        let live = |&(lpn, heir): &(Lpn, OpSlot)| self.core.ftl.owners.is_newest(lpn, heir);
        let live: Vec<bool> = heirs.iter().map(live).collect();
        debug_assert!(!live.is_empty(), "a list of no heirs");
        debug_assert!(!self.core.ftl.flash.is_torn(page), "{page:?} is being programmed");
        let (claim, left) = if self.core.ftl.may_lose_power() {
            let number = |&(lpn, heir): &(Lpn, OpSlot)| {
                // The page of its own, if it gets one, has the next one.
                (lpn, heir, self.core.array.ops[heir].sequence - u64::from(under))
            };
            let heirs: Vec<(Lpn, OpSlot, u64)> = heirs.iter().map(number).collect();
            self.core.ftl.claim_with_under_cuts((lpn, slot, page), &heirs, under)
        } else {
            self.core.ftl.claim_with((lpn, slot, page), &heirs, under)
        };
        self.core.ftl.settle(page);
        debug_assert!(
            self.core.ftl.owners.is_valid(page) || !live.contains(&true),
            "{page:?} has heirs and is not valid"
        );
        if let Claim::Committed(Some(before)) = claim {
            self.core.page_left(before);
        }
        left.into_iter().for_each(|before| self.core.page_left(before));
        if self.core.gc.agenda.watches_releases() {
            self.core.released(None, page);
        }
        if let Some(power) = &mut self.power {
            power.write_records(&mut self.core);
        }
        let pool = self.core.ftl.geo.pool_of(plane);
        let opened = self.core.ftl.space.take_opened(pool);
        self.core.gc.agenda.page_written(pool, opened);
        for ((_, heir), live) in heirs.into_iter().zip(live) {
            if live && under {
                self.core.inherit_for_copy(heir, page);
                self.read_for_copy(heir);
            } else {
                if live {
                    self.count_copy(self.core.array.ops[heir].part().request, |counts| {
                        &mut counts.shared
                    });
                }
                self.end_unprogrammed(heir);
            }
        }
    }

    /// The copy in `slot`, whose page is that of its source, reads it.
    fn read_for_copy(&mut self, slot: OpSlot) {
        debug_assert!(self.core.array.ops[slot].copies(), "{slot:?} is no copy");
        debug_assert!(self.core.array.ops[slot].sequence > 0, "{slot:?} has not been admitted");
        if let Some(contents) = &mut self.contents {
            contents.expect_own(slot);
        }
        self.core.enqueue(slot, R_HOST);
    }

    /// The page of the copy in `slot` has its data, or has newer ones.
    fn end_unprogrammed(&mut self, slot: OpSlot) {
        let op = &self.core.array.ops[slot];
        debug_assert!(op.copies() || op.kind() == OpKind::HostCopy, "{slot:?} is no copy");
        let request = op.part().request;
        self.core.array.ops.remove(slot);
        self.end_after_others(request);
    }

    /// The copy in `slot` finds its page gone when it is to read it: newer data, or a TRIM, have replaced it.
    #[inline(never)]
    pub(super) fn drop_replaced_copy(&mut self, slot: OpSlot) {
        debug_assert!(!self.has_heirs(slot), "pages wait for the copy in {slot:?}");
        debug_assert!(
            !self.core.ftl.owners.is_newest(self.core.array.ops[slot].lpn, slot),
            "the copy in {slot:?} has not been read"
        );
        self.end_unprogrammed(slot);
    }

    /// The copy in `slot` has been read, and is programmed next.
    #[inline(never)]
    pub(super) fn count_read_copy(&mut self, slot: OpSlot) {
        debug_assert!(self.core.array.ops[slot].copies(), "{slot:?} is no copy");
        self.count_copy(self.core.array.ops[slot].part().request, |counts| &mut counts.copied);
    }

    /// Every page that waits does so for a write under way.
    pub(super) fn audit_copies(&self) -> Result<(), String> {
        let Some(copies) = &self.copies else { return Ok(()) };
        assert_ne!(copies.mode, RemapMode::Off, "copies are refused");
        for (&root, heirs) in &copies.heirs {
            let kind = self.core.array.ops[root].kind();
            if !matches!(kind, OpKind::HostWrite | OpKind::RmwRead) {
                return Err(format!("{heirs:?} wait for the {kind:?} in {root:?}"));
            }
            for &heir in heirs {
                match self.core.array.ops[heir].work {
                    Work::HostCopy { root: own, .. } if own == root => {}
                    other => return Err(format!("{heir:?} waits for {root:?} and is {other:?}")),
                }
            }
        }
        Ok(())
    }
}

impl Core {
    /// An owner has left `page`, which may have others.
    pub(crate) fn page_left(&mut self, page: Ppn) {
        debug_assert!(!self.ftl.flash.is_torn(page), "{page:?} had an owner and is torn");
        if !self.ftl.owners.is_valid(page) {
            self.page_disowned(page);
        }
        self.wake_readers(page);
    }

    /// The copy in `heir` has the page of its source under its slot: it may be read.
    fn inherit_for_copy(&mut self, heir: OpSlot, page: Ppn) {
        let (now, plane) = (self.array.now, self.ftl.geo.plane_of(page));
        debug_assert_eq!(self.ftl.owners.under(heir), Some(page), "{heir:?} has another page");
        let op: &mut Op = &mut self.array.ops[heir];
        debug_assert_eq!(op.kind(), OpKind::HostCopy, "{heir:?} inherits nothing");
        op.work = Work::RmwRead { part: op.part(), stream: op.stream(), copies: true };
        op.parts.queue_ns += (now - op.queued).0;
        op.plane = plane;
    }
}
