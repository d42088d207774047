//! Lost pages in the report: how many are left, and since when a page or a chip is missing.

use crate::metrics::degraded::Degraded;
use crate::sim::core::Core;
use crate::units::Lpn;

/// What is measured of failed chips.
pub(super) fn degradation(core: &mut Core) -> &mut Degraded {
    debug_assert!(core.ftl.lost.is_some(), "no chip may fail");
    core.ledger.measured.degraded.get_or_insert_default()
}

/// How many pages are lost, or which chips are missing, has changed.
pub(super) fn note_lost_pages(core: &mut Core) {
    let lost = core.ftl.lost.as_deref().expect("chips may fail");
    let (left, misses, now) = (lost.count(), lost.misses_a_chip(), core.array.now);
    debug_assert!(left <= u64::from(core.ftl.geo.logical_pages), "{left} pages are lost");
    let degraded = degradation(core);
    degraded.pages_left = left;
    degraded.set(now, left > 0 || misses);
}

/// `lpn` is on flash or trimmed from now on. Returns whether it was lost.
#[inline]
pub(super) fn restore_page(core: &mut Core, lpn: Lpn) -> bool {
    debug_assert!(lpn.0 < core.ftl.geo.logical_pages, "{lpn:?} is beyond the device");
    let was_lost = core.ftl.found(lpn);
    if was_lost {
        note_lost_pages(core);
    }
    was_lost
}
