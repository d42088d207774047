//! Round-robin: each admitted page goes to the next plane.
//!
//! Paper: Tavakkol et al., "MQSim", FAST 2018, section 4.1 (dynamic allocation).
//! Decided: planes are visited in striping order, channels first.

use super::{Layout, PlacementPolicy, Planes};
use crate::plug::{PolicyInfo, PolicySpec};
use crate::units::{Lpn, PlaneId};

/// Registry entry of this placement.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "round-robin",
    summary: "each page to the next plane, channels first",
    paper: "Tavakkol et al., MQSim, FAST 2018, section 4.1",
    params: &[],
};

/// Planes in striping order and the next of them.
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
    #[inline(always)]
    fn place(&mut self, _lpn: Lpn, _planes: &dyn Planes) -> PlaneId {
        let plane = self.order[self.next];
        self.next = if self.next + 1 == self.order.len() { 0 } else { self.next + 1 };
        debug_assert!(self.next < self.order.len(), "no plane is next");
        plane
    }
}
