//! Why a victim is collected.

use crate::ftl::{Choice, Ftl};
use crate::metrics::counters::Cause;

/// Why the victim of `choice`, which is sealed, is collected.
pub(super) fn victim_cause(ftl: &Ftl, choice: Choice) -> Cause {
    debug_assert!(ftl.blocks.is_candidate(choice.block), "{choice:?} is not sealed");
    match (choice.levels, ftl.blocks.is_slc(choice.block)) {
        (true, _) => Cause::Wear,
        (false, true) => Cause::Fold,
        (false, false) => Cause::Gc,
    }
}
