//! When the host last wrote each logical page, and a note of the policy about it: 4 B per page.

use super::persistence::keeps;
use crate::units::Lpn;

/// The clock of the last write of each page, and a note of some bits.
///
/// Without a note, clocks have 32 bits and count single writes. A note takes bits from them: a clock then counts in
/// units of 2^`shift` writes, the smallest unit with which [`RANGE`] writes of every page have different clocks. Clocks
/// wrap: a page that has not been written for a whole range seems to have been written later.
pub(super) struct LastWrites {
    pages: Box<[u32]>,
    note_bits: u32,
    shift: u32,
}

keeps!(LastWrites: pages; given note_bits, shift);

const NEVER: u32 = 0;

/// Times that every page can be written before a clock with a note wraps.
const RANGE: u64 = 256;

impl LastWrites {
    pub(super) fn new(pages: u32) -> LastWrites {
        assert!(pages > 0, "a device without pages");
        LastWrites { pages: vec![NEVER; pages as usize].into(), note_bits: 0, shift: 0 }
    }

    /// With a note of `note_bits` bits for each page, 0 at first.
    pub(super) fn with_notes(pages: u32, note_bits: u32) -> LastWrites {
        assert!((1..=16).contains(&note_bits), "a note of {note_bits} bits");
        let bits = (u64::from(pages) * RANGE).next_power_of_two().ilog2();
        let shift = bits.saturating_sub(32 - note_bits);
        LastWrites { note_bits, shift, ..LastWrites::new(pages) }
    }

    /// Host writes since that of `lpn`; `None` if it has not been written.
    #[inline]
    pub(super) fn age(&self, lpn: Lpn, clock: u64) -> Option<u64> {
        let last = self.pages[lpn.at()] >> self.note_bits;
        debug_assert!(lpn.at() < self.pages.len(), "{lpn:?} is beyond the device");
        let units = self.stamp(clock).wrapping_sub(last) & (u32::MAX >> self.note_bits);
        (last != NEVER).then(|| u64::from(units) << self.shift)
    }

    /// The note of `lpn`.
    pub(super) fn note(&self, lpn: Lpn) -> u32 {
        let note = self.pages[lpn.at()] & self.mask();
        debug_assert!(self.note_bits > 0, "{lpn:?} has no note");
        note
    }

    /// Set the note of `lpn`.
    pub(super) fn set_note(&mut self, lpn: Lpn, note: u32) {
        let mask = self.mask();
        assert!(note <= mask, "{lpn:?}: {note} is not a note of {} bits", self.note_bits);
        let page = &mut self.pages[lpn.at()];
        *page = *page & !mask | note;
    }

    /// Note that `lpn` is written now. Returns the number of writes since its previous one.
    #[inline]
    pub(super) fn write(&mut self, lpn: Lpn, clock: u64) -> Option<u64> {
        let age = self.age(lpn, clock);
        let (mask, stamp) = (self.mask(), self.stamp(clock));
        let page = &mut self.pages[lpn.at()];
        *page = stamp << self.note_bits | *page & mask;
        debug_assert!(self.age(lpn, clock) == Some(0), "{lpn:?} has not been written");
        age
    }

    /// `clock` in the bits that are kept of it; never 0.
    fn stamp(&self, clock: u64) -> u32 {
        let mask = u32::MAX >> self.note_bits;
        let stamp = ((clock >> self.shift) as u32).wrapping_add(1) & mask;
        if stamp == NEVER { 1 } else { stamp }
    }

    fn mask(&self) -> u32 {
        !u32::MAX.checked_shl(self.note_bits).unwrap_or(0)
    }
}
