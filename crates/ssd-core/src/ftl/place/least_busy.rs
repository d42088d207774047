//! Least busy: each admitted page goes to the plane whose busy unit has the fewest operations.
//!
//! Source: dynamic allocation by queue length, as in most multi-channel controllers.
//! Decided: ties are broken in turn, in striping order from the plane after the last choice.

use super::{Layout, PlacementPolicy, Planes};
use crate::plug::{PolicyInfo, PolicySpec};
use crate::units::{Lpn, PlaneId};

/// Registry entry of this placement.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "least-busy",
    summary: "to the plane whose busy unit has the fewest operations waiting or running",
    paper: "conventional",
    params: &[],
};

/// Planes in striping order and where the next search starts.
pub struct Policy {
    order: Vec<PlaneId>,
    next: usize,
}

impl Policy {
    pub(super) fn build(_spec: &PolicySpec, layout: &Layout) -> Policy {
        Policy { order: layout.order(), next: 0 }
    }
}

impl PlacementPolicy for Policy {
    fn place(&mut self, _lpn: Lpn, planes: &dyn Planes) -> PlaneId {
        let n = self.order.len();
        debug_assert!(self.next < n, "the search starts beyond the last plane");
        let best = (0..n)
            .map(|i| (self.next + i) % n)
            .min_by_key(|&i| planes.load(self.order[i]))
            .expect("a device has planes");
        self.next = (best + 1) % n;
        self.order[best]
    }
}
