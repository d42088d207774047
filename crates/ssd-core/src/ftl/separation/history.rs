//! When each logical page was last written by the host: 4 B a page.

use crate::units::Lpn;

/// The clock of the last write of each page. Clocks are kept in 32 bits, so that a page that has not been written for
/// 2^32 others seems to have been written later.
pub(super) struct LastWrites(Vec<u32>);

const NEVER: u32 = 0;

impl LastWrites {
    pub(super) fn new(pages: u32) -> LastWrites {
        assert!(pages > 0, "a device without pages");
        LastWrites(vec![NEVER; pages as usize])
    }

    /// Writes of the host since that of `lpn`; `None` if it has not been written.
    #[inline]
    pub(super) fn age(&self, lpn: Lpn, clock: u64) -> Option<u64> {
        let last = self.0[lpn.at()];
        debug_assert!(lpn.at() < self.0.len(), "{lpn:?} is beyond the device");
        (last != NEVER).then(|| u64::from(stamp(clock).wrapping_sub(last)))
    }

    /// `lpn` is written now. Returns the writes since that before.
    #[inline]
    pub(super) fn write(&mut self, lpn: Lpn, clock: u64) -> Option<u64> {
        let age = self.age(lpn, clock);
        self.0[lpn.at()] = stamp(clock);
        debug_assert!(self.age(lpn, clock) == Some(0), "{lpn:?} has not been written");
        age
    }
}

/// `clock` in 32 bits, without 0.
fn stamp(clock: u64) -> u32 {
    let stamp = (clock as u32).wrapping_add(1);
    if stamp == NEVER { 1 } else { stamp }
}
