//! The write buffer: the pages that it keeps, those on their way to flash, and those that wait for room. It identifies
//! pages by their slots; the machine decides on their contents and when they move.

use crate::units::{Lpn, Nanos, OpSlot, RequestSlot};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A buffered page, by its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferedPage {
    /// The sectors in the buffer, one bit each; the rest may be on flash.
    pub(crate) sectors: u128,
    /// Epoch of its write: flushes of this and later epochs wait for it.
    pub(crate) epoch: u64,
    /// Number of its request.
    pub(crate) request: u64,
    /// Whether its write completes only when it is on flash.
    pub(crate) fua: bool,
    /// Whether it has entered, or has replaced a page that had: capacitors save it.
    pub(crate) inside: bool,
    /// Whether pages of copies wait until it is on flash.
    pub(crate) has_heirs: bool,
    /// On a device with parity, how many pages had been admitted when the first TRIM came after it; 0: none has.
    pub(crate) trimmed_at: u64,
    /// Its request, until that has completed.
    pub(crate) owner: RequestSlot,
}

impl Default for BufferedPage {
    fn default() -> BufferedPage {
        BufferedPage {
            sectors: 0,
            epoch: 0,
            request: 0,
            fua: false,
            inside: false,
            has_heirs: false,
            trimmed_at: 0,
            owner: RequestSlot::NONE,
        }
    }
}

impl BufferedPage {
    /// Whether it is not programmed, whatever comes now, because it has been trimmed on a device with parity.
    pub(crate) fn is_void(&self) -> bool {
        self.trimmed_at > 0
    }
}

/// A void page that has left the buffer of a device whose power may be cut. What waits for its data ends when the TRIM
/// survives a cut.
#[derive(Debug)]
pub(crate) struct VoidPage {
    /// Its LPN.
    pub(crate) lpn: Lpn,
    /// How many pages had been admitted when the TRIM came.
    pub(crate) trimmed_at: u64,
    /// Epoch of its write.
    pub(crate) epoch: u64,
    /// The request of a write with FUA.
    pub(crate) request: Option<RequestSlot>,
}

/// A page that has crossed the link and waits for room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WaitingPage {
    /// Its slot.
    pub(crate) slot: OpSlot,
    /// When it began to wait.
    pub(crate) since: Nanos,
}

/// A write-back buffer.
pub(crate) struct WriteBuffer {
    pages: usize,
    /// Largest number of pages that it keeps.
    threshold: usize,
    /// Slots of the pages kept, by admission number: the least recently written first.
    by_age: BTreeMap<u64, OpSlot>,
    evicting: usize,
    /// On a device with parity, pages that go to flash at the end of the instant together with others of their groups.
    leaving: Vec<OpSlot>,
    waiting: VecDeque<WaitingPage>,
    buffered: Vec<BufferedPage>,
    /// On a device with parity whose power may be cut, TRIMs whose updates have not committed: each page, and how many
    /// had been admitted.
    trims: BTreeSet<(Lpn, u64)>,
    void: Vec<VoidPage>,
}

impl WriteBuffer {
    /// An empty buffer of `pages`, at least 1, that keeps a share of `threshold` of them, 0 to 1.
    pub(crate) fn new(pages: u32, threshold: f64) -> WriteBuffer {
        assert!(pages > 0 && (0.0..=1.0).contains(&threshold), "the config layer has checked them");
        WriteBuffer {
            pages: pages as usize,
            threshold: (f64::from(pages) * threshold) as usize,
            by_age: BTreeMap::new(),
            evicting: 0,
            leaving: Vec::new(),
            waiting: VecDeque::new(),
            buffered: Vec::new(),
            trims: BTreeSet::new(),
            void: Vec::new(),
        }
    }

    /// The page in `slot`, of a write that has been admitted and is not on flash.
    pub(crate) fn page(&self, slot: OpSlot) -> &BufferedPage {
        &self.buffered[slot.at()]
    }

    /// Record `page` for the page in `slot`, which is not in the buffer yet.
    pub(crate) fn admit(&mut self, slot: OpSlot, page: BufferedPage) {
        if self.buffered.len() <= slot.at() {
            self.buffered.resize(slot.at() + 1, BufferedPage::default());
        }
        self.buffered[slot.at()] = page;
    }

    /// Let pages of copies wait for the page in `slot`.
    pub(crate) fn expect_heirs(&mut self, slot: OpSlot) {
        self.buffered[slot.at()].has_heirs = true;
    }

    /// Note that the page in `slot` has been trimmed after the admission of `sequence` pages.
    pub(crate) fn make_void(&mut self, slot: OpSlot, sequence: u64) {
        debug_assert_ne!(sequence, 0, "{slot:?} is trimmed before anything has been admitted");
        let page = &mut self.buffered[slot.at()];
        if !page.is_void() {
            page.trimmed_at = sequence;
        }
    }

    /// Let void pages of `lpns` wait for the update of their TRIM, which came after the admission of `sequence` pages.
    pub(crate) fn trim_begins(&mut self, lpns: &[Lpn], sequence: u64) {
        self.trims.extend(lpns.iter().map(|&lpn| (lpn, sequence)));
    }

    /// End what [`WriteBuffer::trim_begins`] began.
    pub(crate) fn trim_ends(&mut self, lpns: &[Lpn], sequence: u64) {
        for &lpn in lpns {
            self.trims.remove(&(lpn, sequence));
        }
    }

    /// Note that a void page has left.
    pub(crate) fn void_page_leaves(&mut self, page: VoidPage) {
        self.void.push(page);
    }

    /// Take the void pages whose TRIMs have committed.
    pub(crate) fn take_void(&mut self) -> Vec<VoidPage> {
        let trims = &self.trims;
        self.void.extract_if(.., |page| !trims.contains(&(page.lpn, page.trimmed_at))).collect()
    }

    /// Pages in the buffer.
    pub(crate) fn len(&self) -> usize {
        self.by_age.len() + self.evicting
    }

    /// Whether a page may enter.
    pub(crate) fn has_room(&self) -> bool {
        self.len() < self.pages
    }

    /// The page in `slot` enters.
    pub(crate) fn enter(&mut self, slot: OpSlot) {
        self.buffered[slot.at()].inside = true;
    }

    /// A page queues for room.
    pub(crate) fn wait(&mut self, waiting: WaitingPage) {
        self.waiting.push_back(waiting);
    }

    /// The first page in the queue.
    pub(crate) fn first_waiting(&self) -> Option<WaitingPage> {
        self.waiting.front().copied()
    }

    /// Remove the first page from the queue.
    pub(crate) fn stop_waiting(&mut self) {
        assert!(self.waiting.pop_front().is_some(), "nothing waits");
    }

    /// Let a page enter and keep it.
    pub(crate) fn keep(&mut self, sequence: u64, slot: OpSlot) {
        assert!(self.has_room(), "the write buffer is full");
        assert!(self.by_age.insert(sequence, slot).is_none(), "write {sequence} enters twice");
    }

    /// Keep a page that capacitors have saved. There may be more of them than fit: a page that waits for room is saved,
    /// too, if it has replaced a page that was kept.
    pub(crate) fn keep_saved(&mut self, sequence: u64, slot: OpSlot) {
        assert!(self.by_age.insert(sequence, slot).is_none(), "write {sequence} enters twice");
    }

    /// Let a page enter on its way to flash.
    pub(crate) fn pass_through(&mut self) {
        assert!(self.has_room(), "the write buffer is full");
        self.evicting += 1;
    }

    /// Remove page `sequence` if it is kept. Returns whether it was.
    pub(crate) fn forget(&mut self, sequence: u64) -> bool {
        self.by_age.remove(&sequence).is_some()
    }

    /// Send page `sequence` to flash if it is kept. Returns whether it was.
    pub(crate) fn put_out(&mut self, sequence: u64) -> bool {
        let was_kept = self.forget(sequence);
        self.evicting += usize::from(was_kept);
        was_kept
    }

    /// Whether page `sequence` is kept.
    pub(crate) fn keeps(&self, sequence: u64) -> bool {
        self.by_age.contains_key(&sequence)
    }

    /// Send the page in `slot`, which is evicted or passes through, to flash at the end of the instant.
    pub(crate) fn leaves_later(&mut self, slot: OpSlot) {
        debug_assert!(!self.leaving.contains(&slot), "{slot:?} leaves twice");
        assert!(self.leaving.len() < self.evicting, "{slot:?} leaves, and has not been put out");
        self.leaving.push(slot);
    }

    /// The pages that go to flash at the end of the instant, in the order of eviction.
    pub(crate) fn take_leaving(&mut self) -> Vec<OpSlot> {
        std::mem::take(&mut self.leaving)
    }

    /// Pages on their way to flash.
    pub(crate) fn on_their_way(&self) -> usize {
        debug_assert!(self.leaving.len() <= self.evicting, "pages leave that were not put out");
        self.evicting
    }

    /// Whether pages go to flash at the end of the instant.
    pub(crate) fn has_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Whether more pages are kept than the threshold and the queued writes allow.
    pub(crate) fn has_surplus(&self) -> bool {
        let most = self.threshold.min(self.pages.saturating_sub(self.waiting.len()));
        self.by_age.len() > most
    }

    /// Send the least recently written page to flash if more pages are kept than the threshold and the queued writes
    /// allow.
    pub(crate) fn evict_surplus(&mut self) -> Option<OpSlot> {
        if self.has_surplus() { self.evict() } else { None }
    }

    /// Send the least recently written page to flash.
    pub(crate) fn evict(&mut self) -> Option<OpSlot> {
        let (_, slot) = self.by_age.pop_first()?;
        self.evicting += 1;
        Some(slot)
    }

    /// Note that the eviction of a page has completed.
    pub(crate) fn leave(&mut self) {
        assert!(self.evicting > 0, "no page is on its way to flash");
        self.evicting -= 1;
    }

    /// Slots of the pages kept.
    pub(crate) fn kept_slots(&self) -> impl Iterator<Item = OpSlot> + '_ {
        self.by_age.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_written_page_beyond_the_threshold_is_evicted() {
        let mut buffer = WriteBuffer::new(4, 0.5);
        for sequence in 1..=4 {
            buffer.keep(sequence, OpSlot(sequence as u32 + 10));
        }
        assert!(buffer.forget(2) && !buffer.forget(2));
        assert_eq!((buffer.evict_surplus(), buffer.evict_surplus()), (Some(OpSlot(11)), None));
        assert_eq!((buffer.len(), buffer.has_room()), (3, true));
        buffer.leave();
        for slot in 0..3 {
            buffer.wait(WaitingPage { slot: OpSlot(slot), since: Nanos::ZERO });
        }
        // Three are queued for four pages: one may stay.
        assert_eq!((buffer.evict_surplus(), buffer.evict_surplus()), (Some(OpSlot(13)), None));
    }

    #[test]
    fn a_full_buffer_with_a_write_in_line_always_evicts() {
        for threshold in [0.0, 0.5, 1.0] {
            let mut buffer = WriteBuffer::new(1, threshold);
            buffer.keep(1, OpSlot(7));
            buffer.wait(WaitingPage { slot: OpSlot(8), since: Nanos::ZERO });
            assert_eq!(buffer.evict_surplus(), Some(OpSlot(7)));
        }
    }
}
