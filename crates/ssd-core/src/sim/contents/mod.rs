//! A feature: with `run.data` the device knows the contents of its pages, and checks every read.
//!
//! `newest` is kept apart from map and flash: it follows only the order of admission. A read is compared with it at the
//! instant of its translation, when it must see the newest admitted data.
//!
//! The route calls the hooks where pages are admitted, trimmed, programmed and read. The hooks for copies and power
//! cuts are in files of their names. Parity states what its pages hold with [`Contents::carry`].

mod copies;
mod power;

use crate::config::{Config, DataMode};
use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::host::device::DeviceError;
use crate::host::request::{Request, RequestId};
use crate::nand::flash::Payload;
use crate::sim::array::op::{OpKind, Work};
use crate::sim::core::Core;
use crate::sim::front::byte_range;
use crate::units::{Lpn, OpSlot};
use std::collections::BTreeMap;

/// Contents of the pages in flight, and a shadow of all admitted data.
pub(crate) struct Contents {
    mode: DataMode,
    page_bytes: usize,
    /// Digest of the newest admitted data of each page; 0: unmapped.
    newest: Vec<u64>,
    /// Pages, by operation slot.
    pages: Vec<Page>,
    /// Read data, incomplete or ready, by request number.
    reads: BTreeMap<u64, Vec<u8>>,
}

/// What is known of the page of an operation.
#[derive(Clone, Default)]
struct Page {
    /// What it programs.
    payload: Payload,
    /// The digest that its read must find on flash.
    expected: u64,
}

/// FNV-1a over bytes, never 0 (0 means "unmapped").
fn digest_of(bytes: &[u8]) -> u64 {
    let fold = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold) | 1
}

impl Contents {
    /// For a preconditioned device; `None` without a data mode.
    pub(super) fn new(config: &Config, ftl: &Ftl) -> Option<Box<Contents>> {
        let mode = config.run.data;
        if mode == DataMode::None {
            return None;
        }
        let digest = |lpn: u32| match ftl.owners.committed(Lpn(lpn)) {
            Some(page) => ftl.flash.digest(page),
            None if ftl.is_lost(Lpn(lpn)) => ftl.reconstructed(Lpn(lpn)).digest,
            None => 0,
        };
        let newest: Vec<u64> = (0..ftl.geo.user_pages).map(digest).collect();
        let of_parity = || {
            let parity = (ftl.geo.user_pages..ftl.geo.logical_pages).map(Lpn);
            parity.filter(|&lpn| ftl.owners.committed(lpn).is_some()).count() as u64
        };
        let lost_data = || {
            let lost = ftl.lost.iter().flat_map(|lost| lost.pages(Lpn(0)));
            lost.filter(|lpn| lpn.0 < ftl.geo.user_pages).count() as u64
        };
        debug_assert_eq!(
            newest.iter().filter(|&&digest| digest != 0).count() as u64 + of_parity(),
            ftl.owners.mapped() + lost_data(),
            "a valid page has no digest"
        );
        Some(Box::new(Contents {
            mode,
            page_bytes: config.device.page_bytes as usize,
            newest,
            pages: Vec::new(),
            reads: BTreeMap::new(),
        }))
    }

    /// Prepare the write in `slot` of a page of `request`, which may bring `data`, for its admission.
    #[inline(never)]
    pub(super) fn admit_write(
        &mut self,
        core: &Core,
        slot: OpSlot,
        request: &Request,
        data: Option<&[u8]>,
    ) {
        let (lpn, sequence) = (core.array.ops[slot].lpn, core.array.ops[slot].sequence);
        debug_assert_eq!(sequence, core.front.sequence, "{lpn:?} is written by another operation");
        let before = match core.ftl.owners.newest(lpn) {
            Entry::Unmapped if core.ftl.is_lost(lpn) => core.ftl.reconstructed(lpn),
            Entry::Unmapped => Payload::default(),
            Entry::Page(ppn) => core.ftl.flash.payload(ppn),
            Entry::Slot(older) => self.payload(older).clone(),
        };
        let (range, at) = byte_range(&core.ftl.geo, request, lpn);
        let data = data.map(|data| &data[at..at + range.1 - range.0]);
        let payload = self.compose(lpn, sequence, range, &before, data);
        self.page(slot).expected = self.newest(lpn);
        self.carry_newest(slot, lpn, payload);
    }

    /// Record what the read in `slot`, which is being translated, must return: the newest data.
    pub(super) fn expect_newest(&mut self, core: &Core, slot: OpSlot) {
        debug_assert_eq!(core.array.ops[slot].kind(), OpKind::HostRead, "{slot:?} serves no read");
        self.page(slot).expected = self.newest(core.array.ops[slot].lpn);
    }

    /// Check that the read in `slot`, which returns from flash, has the expected data, and deliver them to its request.
    #[inline(never)]
    pub(super) fn check_read(&mut self, core: &mut Core, slot: OpSlot) {
        let expected = self.page(slot).expected;
        let op = &core.array.ops[slot];
        debug_assert!(op.kind().is_read(), "{:?} has read nothing", op.kind());
        if op.reads_rest() {
            return;
        }
        let (lpn, ppn, kind) = (op.lpn, op.ppn, op.kind());
        let digest = core.ftl.flash.digest(ppn);
        if digest != expected {
            core.fail(DeviceError::Data(format!(
                "LPN {} read from page {} has digest {digest:016x}, newest admitted is {expected:016x}",
                lpn.0, ppn.0
            )));
        }
        if kind == OpKind::HostRead {
            let payload = core.ftl.flash.payload(ppn);
            self.deliver(core, slot, &payload);
            check_store(core);
        }
    }

    /// Check that the read in `slot`, which the controller serves, returns the newest admitted data.
    pub(super) fn check_served(&mut self, core: &mut Core, slot: OpSlot) {
        debug_assert!(core.array.ops[slot].kind().is_read(), "{slot:?} reads nothing");
        let lpn = core.array.ops[slot].lpn;
        let payload = match core.ftl.owners.newest(lpn) {
            Entry::Slot(newer) => self.payload(newer).clone(),
            _ => Payload::default(),
        };
        if payload.digest != self.newest(lpn) {
            let error =
                format!("LPN {} served by the controller is not the newest admitted", lpn.0);
            core.fail(DeviceError::Data(error));
        }
        self.deliver(core, slot, &payload);
    }

    /// Deliver the bytes and the digest of `page` to the request of the read in `slot`.
    pub(super) fn deliver(&mut self, core: &mut Core, slot: OpSlot, page: &Payload) {
        debug_assert!(core.array.ops[slot].kind().is_read(), "{slot:?} reads nothing");
        let (lpn, part) = (core.array.ops[slot].lpn, core.array.ops[slot].part());
        let request = core.front.requests.get(part.request);
        assert!(!request.parts.is_done(), "data of request {} come after its end", request.id);
        let mixed = (page.digest ^ u64::from(part.number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        request.digest = request.digest.wrapping_add(mixed);
        let (range, at) = byte_range(&core.ftl.geo, &request.request, lpn);
        let size = request.request.sectors as usize * 512;
        self.copy_bytes((request.id, size), at, range, page);
    }

    /// The payload of a page write: `data` over bytes `range` of a page that held `old`.
    fn compose(
        &self,
        lpn: Lpn,
        sequence: u64,
        range: (usize, usize),
        old: &Payload,
        data: Option<&[u8]>,
    ) -> Payload {
        let stamp = crate::nand::flash::fill_digest(lpn, sequence);
        assert!(range.0 < range.1 && range.1 <= self.page_bytes, "bytes {range:?} of a page");
        debug_assert!(
            data.is_none_or(|d| d.len() == range.1 - range.0),
            "data for bytes {range:?}"
        );
        let is_whole = range == (0, self.page_bytes);
        if self.mode == DataMode::Digest {
            let mixed = old.digest ^ stamp ^ (range.0 as u64) << 32 ^ range.1 as u64;
            let digest =
                if is_whole { stamp } else { mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 };
            return Payload { digest, bytes: None };
        }
        let mut page = match &old.bytes {
            Some(bytes) => bytes.clone(),
            None => vec![0; self.page_bytes].into_boxed_slice(),
        };
        let target = &mut page[range.0..range.1];
        match data {
            Some(data) => target.copy_from_slice(data),
            None => {
                target.iter_mut().zip(stamp.to_le_bytes().iter().cycle()).for_each(|(t, s)| *t = *s)
            }
        }
        Payload { digest: digest_of(&page), bytes: Some(page) }
    }

    /// What is known of the page of the operation in `slot`.
    fn page(&mut self, slot: OpSlot) -> &mut Page {
        debug_assert_ne!(slot, OpSlot::NONE, "no operation has a page");
        if self.pages.len() <= slot.at() {
            self.pages.resize(slot.at() + 1, Page::default());
        }
        &mut self.pages[slot.at()]
    }

    /// What the operation in `slot` programs.
    pub(super) fn payload(&self, slot: OpSlot) -> &Payload {
        &self.pages[slot.at()].payload
    }

    /// Let the write in `slot` read the rest of its page from where the one in `older` was to read it.
    pub(super) fn expect_same(&mut self, slot: OpSlot, older: OpSlot) {
        debug_assert_ne!(slot, older, "{slot:?} is older than itself");
        self.page(slot).expected = self.page(older).expected;
    }

    /// Let operation `slot` carry the newest data of `lpn`.
    fn carry_newest(&mut self, slot: OpSlot, lpn: Lpn, payload: Payload) {
        assert_ne!(payload.digest, 0, "{lpn:?} is written and counts as unmapped");
        assert_eq!(self.mode.keeps_bytes(), payload.bytes.is_some(), "{lpn:?} in another mode");
        self.newest[lpn.at()] = payload.digest;
        self.carry(slot, payload);
    }

    /// Let operation `slot` carry `payload`, which is not the newest data of a page: a parity, or nothing.
    pub(super) fn carry(&mut self, slot: OpSlot, payload: Payload) {
        debug_assert_ne!(slot, OpSlot::NONE, "nothing carries a payload");
        self.page(slot).payload = payload;
    }

    /// Forget the data of `lpn`, which is being unmapped.
    pub(super) fn trim(&mut self, lpn: Lpn) {
        debug_assert_ne!(self.newest[lpn.at()], 0, "{lpn:?} has no data to trim");
        self.newest[lpn.at()] = 0;
    }

    /// The digest of the newest admitted data of `lpn`, which a read translated now must return; 0: unmapped.
    pub(super) fn newest(&self, lpn: Lpn) -> u64 {
        self.newest[lpn.at()]
    }

    /// Copy bytes `range` of the page read to bytes `at..` of the data of request `id`, of `size` bytes.
    fn copy_bytes(
        &mut self,
        (id, size): (u64, usize),
        at: usize,
        range: (usize, usize),
        page: &Payload,
    ) {
        if !self.mode.keeps_bytes() {
            return;
        }
        assert!(range.0 < range.1 && range.1 <= self.page_bytes, "bytes {range:?} of a page");
        let data = self.reads.entry(id).or_insert_with(|| vec![0; size]);
        assert_eq!(data.len(), size, "request {id} has another size");
        assert!(at + range.1 - range.0 <= size, "bytes {range:?} of request {id} at {at}");
        if let Some(bytes) = &page.bytes {
            data[at..at + range.1 - range.0].copy_from_slice(&bytes[range.0..range.1]);
        }
    }

    /// The data of a completed read, once.
    pub(super) fn take(&mut self, id: RequestId) -> Option<Vec<u8>> {
        self.reads.remove(&id.0)
    }
}

/// Store the contents of the page that the operation in `slot` has programmed. Without a data mode only the admission
/// number of its data is stored.
#[inline(never)]
pub(super) fn store(contents: Option<&Contents>, core: &mut Core, slot: OpSlot) {
    debug_assert!(core.ftl.flash.keeps_contents(), "contents are not kept");
    let op = &core.array.ops[slot];
    match (op.work, contents) {
        (Work::GcWrite(moved) | Work::GcCopyback(moved), _) => {
            core.ftl.flash.copy(moved.source, op.ppn);
            if core.ftl.may_lose_power() {
                core.ftl.flash.set_sequence(op.ppn, op.sequence);
                core.ftl.write_list_of_copy(moved.source, op.ppn);
            }
        }
        (_, Some(contents)) => {
            core.ftl.flash.store(op.ppn, op.sequence, contents.payload(slot));
        }
        (_, None) => core.ftl.flash.store(op.ppn, op.sequence, &Payload::default()),
    }
    check_store(core);
}

/// End the run if the store of page contents has failed.
fn check_store(core: &mut Core) {
    if let Some(failure) = core.ftl.flash.failure() {
        let error = DeviceError::Contents(failure.to_string());
        core.fail(error);
    }
}
