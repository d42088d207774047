//! Contents in digest and bytes mode: what was written last, and the check of every read.
//!
//! `newest` is kept apart from map and flash: it knows only the order of admission. A read is compared
//! with it at the instant of its translation, which is when it must see the newest admitted data.

use crate::config::{Config, DataMode};
use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::host::request::RequestId;
use crate::nand::flash::{Flash, Payload};
use crate::units::{Lpn, OpSlot};
use std::collections::BTreeMap;

/// Contents of the pages in flight, and a shadow of all admitted data.
pub(crate) struct Content {
    mode: DataMode,
    page_bytes: usize,
    /// Digest of the newest admitted data of each page; 0: unmapped.
    newest: Vec<u64>,
    /// Payloads by operation slot.
    payloads: Vec<Payload>,
    /// Read data, incomplete or ready, by request number.
    reads: BTreeMap<u64, Vec<u8>>,
}

/// FNV-1a over bytes, never 0 (0 means "unmapped").
fn digest_of(bytes: &[u8]) -> u64 {
    let fold = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold) | 1
}

impl Content {
    /// For a preconditioned device; `None` without a data mode.
    pub(crate) fn new(config: &Config, ftl: &Ftl) -> Option<Content> {
        let mode = config.run.data;
        if mode == DataMode::None {
            return None;
        }
        let digest = |lpn: u32| ftl.owners.committed(Lpn(lpn)).map_or(0, |p| ftl.flash.digest(p));
        let newest: Vec<u64> = (0..ftl.geo.user_pages).map(digest).collect();
        let of_parity = || {
            let parity = (ftl.geo.user_pages..ftl.geo.logical_pages).map(Lpn);
            parity.filter(|&lpn| ftl.owners.committed(lpn).is_some()).count() as u64
        };
        debug_assert_eq!(
            newest.iter().filter(|&&digest| digest != 0).count() as u64 + of_parity(),
            ftl.owners.mapped(),
            "a valid page has no digest"
        );
        Some(Content {
            mode,
            page_bytes: config.device.page_bytes as usize,
            newest,
            payloads: Vec::new(),
            reads: BTreeMap::new(),
        })
    }

    /// The newest admitted contents of a page that is at `entry`.
    pub(crate) fn before(&self, entry: Entry, flash: &Flash) -> Payload {
        match entry {
            Entry::Unmapped => Payload::default(),
            Entry::Page(ppn) => flash.payload(ppn),
            Entry::Slot(slot) => self.of_slot(slot).clone(),
        }
    }

    /// The payload of a page write: `data` over bytes `range` of a page that held `old`.
    pub(crate) fn compose(
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
        let whole = range == (0, self.page_bytes);
        if self.mode == DataMode::Digest {
            let mixed = old.digest ^ stamp ^ (range.0 as u64) << 32 ^ range.1 as u64;
            let digest = if whole { stamp } else { mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 };
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

    /// The payload in operation slot `slot`.
    pub(crate) fn of_slot(&self, slot: OpSlot) -> &Payload {
        &self.payloads[slot.at()]
    }

    /// Operation `slot` carries the newest data of `lpn` from now on.
    pub(crate) fn admit(&mut self, slot: OpSlot, lpn: Lpn, payload: Payload) {
        assert_ne!(payload.digest, 0, "{lpn:?} is written and counts as unmapped");
        assert_eq!(self.mode.keeps_bytes(), payload.bytes.is_some(), "{lpn:?} in another mode");
        self.newest[lpn.at()] = payload.digest;
        self.carry(slot, payload);
    }

    /// Operation `slot` carries `payload`, which is no newest data of the host: a parity, or nothing.
    pub(crate) fn carry(&mut self, slot: OpSlot, payload: Payload) {
        debug_assert_ne!(slot, OpSlot::NONE, "nothing carries a payload");
        if self.payloads.len() <= slot.at() {
            self.payloads.resize(slot.at() + 1, Payload::default());
        }
        self.payloads[slot.at()] = payload;
    }

    /// `lpn` is unmapped from now on.
    pub(crate) fn trim(&mut self, lpn: Lpn) {
        debug_assert_ne!(self.newest[lpn.at()], 0, "{lpn:?} has no data to trim");
        self.newest[lpn.at()] = 0;
    }

    /// `lpn` has the newest data of `source` from now on.
    pub(crate) fn copied(&mut self, lpn: Lpn, source: Lpn) {
        debug_assert_ne!(lpn, source, "a page is copied to itself");
        debug_assert_ne!(self.newest[source.at()], 0, "{source:?} has no data to copy");
        self.newest[lpn.at()] = self.newest[source.at()];
    }

    /// Digest that a read translated now must return.
    pub(crate) fn expected(&self, lpn: Lpn) -> u64 {
        self.newest[lpn.at()]
    }

    /// Bytes `range` of the page read go to bytes `at..` of the data of request `id`, of `size` bytes.
    pub(crate) fn deliver(
        &mut self,
        id: u64,
        size: usize,
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
    pub(crate) fn take(&mut self, id: RequestId) -> Option<Vec<u8>> {
        self.reads.remove(&id.0)
    }
}
