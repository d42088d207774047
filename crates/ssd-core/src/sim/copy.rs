//! Copies on the route: admits them, and unmaps or shares their pages or lets them wait for the program of a write,
//! whose page they then inherit. On a device with parity groups a copy is an update of them (`raid/copies.rs`).

use super::array::op::Part;
use super::copies::{Copies, add_copied_page, checks};
use super::core::Core;
use super::front::Pages;
use super::join::Join;
use super::ssd::Ssd;
use crate::config::RemapMode;
use crate::ftl::map::Entry;
use crate::host::copy;
use crate::host::device::DeviceError;
use crate::host::request::{Op as HostOp, Request};
use crate::sched::order::R_HOST;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn};

impl Ssd {
    /// What a hook of copies gets: their state, and the core.
    pub(super) fn host_copies(&mut self) -> (&mut Copies, &mut Core) {
        (self.copies.as_deref_mut().expect("a device that answers copies"), &mut self.core)
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
        let mode = self.copies.as_ref().map_or(RemapMode::Off, |copies| copies.mode());
        let counts = &mut self.core.ledger.measured.remap;
        let nvram = self.power.as_ref().map(|power| power.nvram.capacity());
        let sources = checks::sources(&self.core.ftl.geo, mode, request, data, counts);
        match sources.and_then(|pages| checks::fit(pages.len() as u64, nvram, counts)) {
            Ok(()) => Ok(()),
            Err(reason) => Err(DeviceError::BadRequest { id: self.core.front.submitted, reason }),
        }
    }

    /// Admit a copy to `pages`; `data`: its source ranges, which have been checked.
    #[cold]
    #[inline(never)]
    pub(super) fn admit_copy(
        &mut self,
        (id, at, request): (u64, Nanos, &Request),
        pages: Pages,
        data: Option<&[u8]>,
    ) {
        let (copies, core) = self.host_copies();
        let counts = &mut core.ledger.measured.remap;
        let sources = checks::sources(&core.ftl.geo, copies.mode(), request, data, counts);
        let sources = sources.expect("it has been accepted");
        assert_eq!(sources.len(), pages.count as usize, "request {id} has other sources");
        let epoch = core.front.epochs.write_arrives();
        let parts = Join::of(1 + core.front.own_parts());
        let slot = core.front.requests.insert((id, at, request), (parts, epoch));
        copies.begin_counting(slot);
        if let Some(log) = &mut self.logs.requests {
            log.note_copy(id, data.and_then(copy::decode).unwrap_or_default());
        }
        if self.raid.is_some() {
            self.copy_to_groups((slot, request), pages, &sources);
        } else {
            for (number, source) in (0..).zip(sources) {
                let part = Part { request: slot, number };
                self.copy_page((part, request.stream), Lpn(pages.first + number), source);
            }
        }
        if let Some(power) = &mut self.power {
            power.write_records(&mut self.core);
            let now = self.core.array.now;
            power.end_when_recorded(&mut self.core, slot, now);
        } else {
            self.core.finish_later(slot);
        }
    }

    /// Give `lpn` the newest data of `source`.
    fn copy_page(&mut self, (part, stream): (Part, u8), lpn: Lpn, source: Lpn) {
        debug_assert_ne!(lpn, source, "a page is copied to itself");
        debug_assert!(lpn.0 < self.core.ftl.geo.user_pages, "{lpn:?} is beyond the device");
        debug_assert!(source.0 < self.core.ftl.geo.user_pages, "{source:?} is beyond the device");
        let newest = match self.core.ftl.owners.newest(source) {
            // Until a copy has a page of its own, its data are on that of its source.
            Entry::Slot(slot) if self.core.array.ops[slot].copies() => Entry::Page(
                self.core.ftl.owners.under(slot).expect("a copy has the page of its source"),
            ),
            newest => newest,
        };
        match newest {
            Entry::Unmapped => {
                let (copies, core) = self.host_copies();
                copies.count(core, part.request, |counts| &mut counts.unmapped);
                core.front.sequence += u64::from(core.ftl.may_lose_power());
                if self.unmap(lpn)
                    && let Some(power) = &self.power
                {
                    power.record_unmapped(&mut self.core, lpn);
                }
            }
            Entry::Page(page) => {
                self.share_page(lpn, source, page);
                let (copies, core) = self.host_copies();
                if copies.has_own_pages() {
                    let slot = add_copied_page(core, (part, stream), lpn, page);
                    if let Some(power) = &mut self.power {
                        power.count_second_number();
                    }
                    if let Some(contents) = &mut self.contents {
                        contents.carry_page(&self.core, slot, page);
                    }
                    self.read_for_copy(slot);
                } else {
                    copies.count(core, part.request, |counts| &mut counts.shared);
                }
            }
            Entry::Slot(slot) => self.wait_for_source((part, stream), lpn, (source, slot)),
        }
    }

    /// Let `lpn` share `page`, which holds the data of `source`.
    fn share_page(&mut self, lpn: Lpn, source: Lpn, page: Ppn) {
        debug_assert!(self.core.ftl.owners.is_valid(page), "{lpn:?} is to share old data");
        let shared = self.core.ftl.share(lpn, page);
        if let Some(power) = &self.power {
            power.record_shared(&mut self.core, lpn, page);
        }
        if let Some(before) = shared.before {
            self.core.page_left(before);
        }
        if let Some(contents) = &mut self.contents {
            contents.copy(lpn, source);
        }
        if let Entry::Slot(older) = shared.newest {
            self.trim_held(older);
        }
        debug_assert_eq!(
            self.core.ftl.owners.newest(lpn),
            Entry::Page(page),
            "{lpn:?} is elsewhere"
        );
    }

    /// Let `lpn` inherit the page of `source`, whose newest data are in `slot`.
    fn wait_for_source(&mut self, part: (Part, u8), lpn: Lpn, (source, slot): (Lpn, OpSlot)) {
        debug_assert!(self.core.ftl.owners.is_newest(source, slot), "{source:?} has newer data");
        let older = self.core.ftl.owners.newest(lpn);
        let (copies, core) = self.host_copies();
        let (heir, root) = copies.add_heir(core, part, lpn, slot);
        if copies.has_own_pages()
            && let Some(power) = &mut self.power
        {
            power.count_second_number();
        }
        if let Some(contents) = &mut self.contents {
            contents.carry_same(heir, slot);
            contents.copy(lpn, source);
        }
        self.core.put_out(root);
        match older {
            // It may have been acknowledged when the copy has not: a cut must not lose both.
            Entry::Slot(older) if self.core.ftl.may_lose_power() => self.core.put_out(older),
            Entry::Slot(older) => self.trim_held(older),
            Entry::Page(_) | Entry::Unmapped => {}
        }
    }

    /// Give `page`, programmed by the write in `slot`, to the pages that wait for it as well.
    #[inline(never)]
    pub(super) fn commit_with_heirs(&mut self, slot: OpSlot, page: Ppn, plane: PlaneId) {
        let (copies, core) = self.host_copies();
        let heirs = copies.claim_with_heirs(core, slot, page);
        if let Some(power) = &mut self.power {
            power.write_records(&mut self.core);
        }
        let pool = self.core.ftl.geo.pool_of(plane);
        let opened = self.core.ftl.space.take_opened(pool);
        self.core.gc.agenda.page_written(pool, opened);
        for heir in heirs {
            let (copies, core) = self.host_copies();
            if copies.inherit(core, heir, page) {
                self.read_for_copy(heir.slot);
            } else {
                self.end_unprogrammed(heir.slot);
            }
        }
    }

    /// Let the copy in `slot`, whose page is that of its source, read it.
    fn read_for_copy(&mut self, slot: OpSlot) {
        debug_assert!(self.core.array.ops[slot].copies(), "{slot:?} is no copy");
        debug_assert!(self.core.array.ops[slot].sequence > 0, "{slot:?} has not been admitted");
        if let Some(contents) = &mut self.contents {
            contents.expect_own(slot);
        }
        self.core.enqueue(slot, R_HOST);
    }
}
