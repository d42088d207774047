//! Reads that avoid the longest queue of their group (`raid.reads = "shortest-queue"`).
//!
//! A read is answered by a reconstruction if its wait for its own chip is longer than the longest wait of the reads
//! that the reconstruction takes, by more than the time of the reads that it takes in addition: all but one, or none if
//! the page is being computed already. So a reconstruction saves the host more time than it costs the chips, and where
//! a chip is idle, nobody avoids it.

use crate::ftl::raid::MOST_CHIPS;
use crate::sim::core::Core;
use crate::sim::waits::Waits;
use crate::units::{Lpn, OpSlot, Ppn};

/// Whether a read of `page`, which holds `lpn`, is better answered by a reconstruction. It waits in `slot`, or arrives
/// now (`NONE`). `joins`: the page is being computed.
pub(super) fn is_wait_avoided(
    waits: Waits<'_>,
    (lpn, page): (Lpn, Ppn),
    slot: OpSlot,
    joins: bool,
) -> bool {
    let Core { ftl, .. } = waits.core;
    let wait = waits.of_read(page, slot);
    if wait == 0 {
        return false;
    }
    let groups = ftl.parity_groups();
    let mut others = Vec::with_capacity(MOST_CHIPS);
    for other in groups.pages(groups.group_of(lpn)).filter(|&other| other != lpn) {
        match ftl.owners.committed(other) {
            Some(page) => others.push(page),
            None if ftl.is_lost(other) => return false,
            None => {}
        }
    }
    let added = if joins { 0 } else { others.len().saturating_sub(1) as u64 };
    let least = added * waits.read_ns();
    wait > least && others.iter().all(|&other| wait - least > waits.of_read(other, OpSlot::NONE))
}
