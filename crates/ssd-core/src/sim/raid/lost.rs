//! Lost pages: their report, and the end of the run when a group has lost two.

use crate::host::device::DeviceError;
use crate::metrics::degraded::DegradedStats;
use crate::sim::core::Core;
use crate::units::Lpn;

/// Most LPNs in the text of an error.
const MOST_NAMED: usize = 8;

/// The measurements of failed chips.
pub(in crate::sim) fn degradation(core: &mut Core) -> &mut DegradedStats {
    debug_assert!(core.ftl.lost.is_some(), "no chip may fail");
    core.ledger.measured.degraded.get_or_insert_default()
}

/// Note that the number of lost pages, or the set of missing chips, has changed.
pub(super) fn note_lost_pages(core: &mut Core) {
    let lost = core.ftl.lost.as_deref().expect("chips may fail");
    let (left, misses, now) = (lost.count(), lost.misses_a_chip(), core.array.now);
    debug_assert!(left <= u64::from(core.ftl.geo.logical_pages), "{left} pages are lost");
    let degraded = degradation(core);
    degraded.pages_left = left;
    degraded.set(now, left > 0 || misses);
}

/// Note that `lpn` is on flash or trimmed from now on. Returns whether it was lost.
#[inline]
pub(super) fn restore_page(core: &mut Core, lpn: Lpn) -> bool {
    debug_assert!(lpn.0 < core.ftl.geo.logical_pages, "{lpn:?} is beyond the device");
    let was_lost = core.ftl.forget_loss(lpn);
    if was_lost {
        note_lost_pages(core);
    }
    was_lost
}

/// Whether a group has lost two pages: the run ends, and no new update or reconstruction begins. Those that have begun
/// may end, even after the error (for complete logs).
pub(in crate::sim) fn has_lost_data(core: &Core) -> bool {
    core.ledger.measured.degraded.as_deref().is_some_and(|degraded| !degraded.gone.is_empty())
}

/// End the run, because two pages of a group are lost.
#[cold]
pub(super) fn end_with_loss(core: &mut Core) {
    if has_lost_data(core) {
        return;
    }
    let (groups, lost) = (core.ftl.parity_groups(), core.ftl.lost.as_deref());
    let lost: Vec<Lpn> = lost.expect("chips may fail").pages(Lpn(0)).collect();
    let mut of_group = std::collections::BTreeMap::new();
    for &lpn in &lost {
        *of_group.entry(groups.group_of(lpn)).or_insert(0) += 1;
    }
    let is_gone = |lpn: &Lpn| !groups.is_parity(*lpn) && of_group[&groups.group_of(*lpn)] > 1;
    let gone: Vec<Lpn> = lost.iter().copied().filter(is_gone).collect();
    assert!(!gone.is_empty(), "two pages of a group are lost, and none is the host's");
    let at_ns = core.array.now.0;
    let degraded = degradation(core);
    let chips: Vec<String> = degraded.chips.iter().map(|c| c.chip.to_string()).collect();
    degraded.gone = gone.clone();
    let mut names: Vec<String> =
        gone.iter().take(MOST_NAMED).map(|lpn| lpn.0.to_string()).collect();
    if gone.len() > MOST_NAMED {
        names.push("...".to_string());
    }
    let error = DeviceError::DataLost {
        at_ns,
        chips: chips.join(", "),
        count: gone.len() as u64,
        first_lpns: names.join(", "),
        lpns: gone.iter().map(|lpn| lpn.0).collect(),
    };
    core.fail(error);
}
