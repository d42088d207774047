//! A feature: copies of the host (NVMe Copy). A page of the destination shares the flash page of its source or, with
//! `remap.mode = "copy"`, is read and programmed by the device.
//!
//! A copy takes the data that are newest when it is admitted. A source on flash is shared at once, in the mode `copy`
//! too: there the destination keeps the page until its own has been programmed, and a copy of it takes that page. If
//! the newest data of a source are still in the controller, the copy waits: the destination gets a slot, as if it were
//! written, and *inherits* the page of the source once that has been programmed, whatever has become of the source by
//! then.
//!
//! The route admits copies and calls the hooks (`sim/copy.rs`). What copies need of the contents is in
//! `contents/copies.rs`, and what they need of power cuts in `power/copies.rs`.

pub(crate) mod checks;

use crate::config::{Config, RemapMode};
use crate::ftl::map::Entry;
use crate::ftl::owners::Claim;
use crate::metrics::counters::RemapCounts;
use crate::sim::array::op::{OpKind, Part, Work};
use crate::sim::core::Core;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn, RequestSlot};
use std::collections::BTreeMap;

/// The state of a device that answers copies.
pub(crate) struct Copies {
    mode: RemapMode,
    /// By the slot of a write: the slots of the pages that inherit its flash page.
    heirs: BTreeMap<OpSlot, Vec<OpSlot>>,
    counted: CopyCounts,
}

/// If power may be cut, by the slot of a copy that is in the device, or was the last one there: what it has been
/// counted as, and since when that is measured.
#[derive(Default)]
pub(super) struct CopyCounts(BTreeMap<RequestSlot, (Nanos, RemapCounts)>);

/// A page that has waited for the program of a write.
#[derive(Clone, Copy)]
pub(super) struct Heir {
    lpn: Lpn,
    pub(super) slot: OpSlot,
    /// Whether no newer data have replaced it.
    is_newest: bool,
}

impl CopyCounts {
    /// Begin to count the copy in `request`, which is being admitted.
    pub(super) fn begin(&mut self, request: RequestSlot) {
        debug_assert_ne!(request, RequestSlot::NONE, "no request copies");
        self.0.remove(&request);
    }

    /// Count a page of the copy in `request`.
    pub(super) fn add(
        &mut self,
        core: &mut Core,
        request: RequestSlot,
        counter: impl Fn(&mut RemapCounts) -> &mut u64,
    ) {
        let measured = &mut core.ledger.measured;
        *counter(&mut measured.remap) += 1;
        if core.ftl.may_lose_power() {
            let (since, counts) = self.0.entry(request).or_default();
            if *since != measured.since {
                (*since, *counts) = (measured.since, RemapCounts::default());
            }
            *counter(counts) += 1;
            debug_assert!(
                *counter(counts) <= *counter(&mut measured.remap),
                "{request:?} counts too much"
            );
        }
    }

    /// Take back what the copies in the device have been counted as, because power is cut: they count when they are
    /// submitted again.
    pub(super) fn take_back(&mut self, core: &mut Core) {
        debug_assert!(core.ftl.may_lose_power(), "copies leave a device with power");
        let measured = &mut core.ledger.measured;
        for slot in core.front.requests.copies() {
            let Some((since, counts)) = self.0.remove(&slot) else { continue };
            if since == measured.since {
                measured.remap.shared -= counts.shared;
                measured.remap.copied -= counts.copied;
                measured.remap.copied_chip -= counts.copied_chip;
                measured.remap.copied_lost -= counts.copied_lost;
                measured.remap.unmapped -= counts.unmapped;
                measured.remap.waited -= counts.waited;
            }
        }
    }
}

impl Copies {
    /// `None` if copies are refused.
    pub(crate) fn new(config: &Config) -> Option<Box<Copies>> {
        let mode = config.remap.mode;
        (mode != RemapMode::Off).then(|| {
            Box::new(Copies { mode, heirs: BTreeMap::new(), counted: CopyCounts::default() })
        })
    }

    pub(super) fn mode(&self) -> RemapMode {
        debug_assert_ne!(self.mode, RemapMode::Off, "copies are refused");
        self.mode
    }

    /// Whether every page of a copy gets a flash page of its own.
    pub(super) fn has_own_pages(&self) -> bool {
        self.mode() == RemapMode::Copy
    }

    /// Whether pages wait for the program of the write in `slot`.
    #[inline]
    pub(crate) fn has_heirs(&self, slot: OpSlot) -> bool {
        let heirs = self.heirs.get(&slot);
        debug_assert!(heirs.is_none_or(|heirs| !heirs.is_empty()), "{slot:?} has a list of none");
        heirs.is_some()
    }

    /// Begin to count the copy in `request`, which is being admitted.
    pub(super) fn begin_counting(&mut self, request: RequestSlot) {
        self.counted.begin(request);
    }

    /// Count a page of the copy in `request`.
    pub(super) fn count(
        &mut self,
        core: &mut Core,
        request: RequestSlot,
        counter: impl Fn(&mut RemapCounts) -> &mut u64,
    ) {
        self.counted.add(core, request, counter);
    }

    /// Note that the copy in `slot` has been read and is programmed next.
    #[inline(never)]
    pub(super) fn count_read(&mut self, core: &mut Core, slot: OpSlot) {
        debug_assert!(core.array.ops[slot].copies(), "{slot:?} is no copy");
        let request = core.array.ops[slot].part().request;
        self.count(core, request, |counts| &mut counts.copied);
    }

    /// Take back what the copies in the device have been counted as, because power is cut.
    pub(super) fn take_back_counts(&mut self, core: &mut Core) {
        self.counted.take_back(core);
    }

    /// Let `lpn` inherit the page of a source whose newest data are in `source`. Returns its slot and that of the write
    /// whose program it waits for.
    pub(super) fn add_heir(
        &mut self,
        core: &mut Core,
        (part, stream): (Part, u8),
        lpn: Lpn,
        source: OpSlot,
    ) -> (OpSlot, OpSlot) {
        let root = match core.array.ops[source].work {
            Work::HostCopy { root, .. } => root,
            _ => source,
        };
        let stream = core.ftl.class_of_write(lpn, stream, 1);
        debug_assert_ne!(core.array.ops[root].kind(), OpKind::HostCopy, "{root:?} waits, too");
        self.count(core, part.request, |counts| &mut counts.waited);
        let older = core.ftl.owners.newest(lpn);
        let mut op = core.host_op(Work::HostCopy { part, root, stream }, lpn, PlaneId(0));
        let (programs, recorded) = (self.has_own_pages(), core.ftl.may_lose_power());
        core.front.sequence += u64::from(programs || recorded);
        // The number of its record, if it gets one.
        let shares = core.front.sequence;
        core.front.sequence += u64::from(programs && recorded);
        if programs || recorded {
            op.sequence = core.front.sequence;
        }
        let heir = core.array.ops.insert(op);
        self.heirs.entry(root).or_default().push(heir);
        if let Some(buffer) = &mut core.front.buffer {
            buffer.expect_heirs(root);
        }
        core.front.requests.get(part.request).parts.add(1);
        if let Some(page) = core.ftl.admit(lpn, heir) {
            core.wake_readers(page);
        }
        core.ftl.note_floor(heir, older, shares);
        debug_assert!(core.ftl.owners.is_newest(lpn, heir), "{lpn:?} is not admitted");
        debug_assert_ne!(root, heir, "{lpn:?} waits for itself");
        (heir, root)
    }

    /// Claim `page`, programmed by the write in `slot`, for itself and the pages that wait for it. Returns those.
    pub(super) fn claim_with_heirs(
        &mut self,
        core: &mut Core,
        slot: OpSlot,
        page: Ppn,
    ) -> Vec<Heir> {
        let (lpn, under) = (core.array.ops[slot].lpn, self.has_own_pages());
        let heirs = self.heirs.remove(&slot).expect("the caller has checked");
        let heir = |slot: OpSlot| {
            let lpn = core.array.ops[slot].lpn;
            Heir { lpn, slot, is_newest: core.ftl.owners.is_newest(lpn, slot) }
        };
        let heirs: Vec<Heir> = heirs.into_iter().map(heir).collect();
        debug_assert!(!heirs.is_empty(), "a list of no heirs");
        debug_assert!(!core.ftl.flash.is_torn(page), "{page:?} is being programmed");
        let (claim, left) = if core.ftl.may_lose_power() {
            // Its own page, if it gets one, has the next number.
            let number = |slot: OpSlot| core.array.ops[slot].sequence - u64::from(under);
            let heirs: Vec<_> = heirs.iter().map(|h| (h.lpn, h.slot, number(h.slot))).collect();
            core.ftl.claim_with_under_cuts((lpn, slot, page), &heirs, under)
        } else {
            let heirs: Vec<_> = heirs.iter().map(|heir| (heir.lpn, heir.slot)).collect();
            core.ftl.claim_with((lpn, slot, page), &heirs, under)
        };
        core.ftl.settle(page);
        debug_assert!(
            core.ftl.owners.is_valid(page) || !heirs.iter().any(|heir| heir.is_newest),
            "{page:?} has heirs and is not valid"
        );
        if let Claim::Committed(Some(before)) = claim {
            core.page_left(before);
        }
        left.into_iter().for_each(|before| core.page_left(before));
        if core.gc.agenda.watches_releases() {
            core.released(None, page);
        }
        heirs
    }

    /// Give `page` to `heir`, unless newer data have replaced it. Returns whether it reads `page` to get a page of its
    /// own.
    pub(super) fn inherit(&mut self, core: &mut Core, heir: Heir, page: Ppn) -> bool {
        let slot = heir.slot;
        let part = core.array.ops[slot].part();
        if !heir.is_newest {
            return false;
        }
        if !self.has_own_pages() {
            self.count(core, part.request, |counts| &mut counts.shared);
            return false;
        }
        debug_assert_eq!(core.ftl.owners.under(slot), Some(page), "{slot:?} has another page");
        let (now, plane) = (core.array.now, core.ftl.geo.plane_of(page));
        let op = &mut core.array.ops[slot];
        debug_assert_eq!(op.kind(), OpKind::HostCopy, "{slot:?} inherits nothing");
        op.work = Work::RmwRead { part, stream: op.stream(), copies: true };
        op.parts.queue_ns += (now - op.queued).0;
        op.plane = plane;
        true
    }

    /// Check that every page that waits does so for a write under way.
    pub(super) fn audit(&self, core: &Core) -> Result<(), String> {
        assert_ne!(self.mode, RemapMode::Off, "copies are refused");
        for (&root, heirs) in &self.heirs {
            let kind = core.array.ops[root].kind();
            if !matches!(kind, OpKind::HostWrite | OpKind::RmwRead) {
                return Err(format!("{heirs:?} wait for the {kind:?} in {root:?}"));
            }
            let buffer = core.front.buffer.as_ref();
            if core.array.ops[root].passes_buffer()
                && buffer.is_some_and(|buffer| !buffer.page(root).has_heirs)
            {
                return Err(format!("the buffer does not know that {heirs:?} wait for {root:?}"));
            }
            for &heir in heirs {
                match core.array.ops[heir].work {
                    Work::HostCopy { root: own, .. } if own == root => {}
                    other => return Err(format!("{heir:?} waits for {root:?} and is {other:?}")),
                }
            }
        }
        Ok(())
    }
}

/// Add a page of its own for `lpn`, which shares `page` with its source. Returns its slot.
pub(super) fn add_copied_page(
    core: &mut Core,
    (part, stream): (Part, u8),
    lpn: Lpn,
    page: Ppn,
) -> OpSlot {
    let stream = core.ftl.class_of_write(lpn, stream, 1);
    let work = Work::RmwRead { part, stream, copies: true };
    let mut op = core.host_op(work, lpn, core.ftl.geo.plane_of(page));
    core.front.sequence += 1;
    op.sequence = core.front.sequence;
    let slot = core.array.ops.insert(op);
    core.front.requests.get(part.request).parts.add(1);
    let under = core.ftl.admit(lpn, slot);
    core.ftl.note_floor(slot, Entry::Page(page), core.front.sequence);
    debug_assert_eq!(under, Some(page), "{lpn:?} does not keep the page of its source");
    debug_assert!(core.ftl.owners.is_newest(lpn, slot), "{lpn:?} is not admitted");
    slot
}
