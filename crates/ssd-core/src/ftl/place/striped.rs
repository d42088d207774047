//! Static striping: the plane follows from the logical page number.
//!
//! Paper: Tavakkol et al., "MQSim", FAST 2018, section 4.1 (static allocation CWDP: channel, way, die,
//! plane).
//! Decided: the config calls it "static", as the field does.

use super::{Layout, PlacementPolicy, Planes};
use crate::plug::{PolicyInfo, PolicySpec};
use crate::units::{Divisor, Lpn, PlaneId};

/// Registry entry of this placement.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "static",
    summary: "by logical page number: channels first, then chips, then planes",
    paper: "Tavakkol et al., MQSim, FAST 2018, section 4.1",
    params: &[],
};

/// Planes in striping order.
pub struct Policy {
    order: Vec<PlaneId>,
    planes: Divisor,
}

impl Policy {
    pub(super) fn build(_spec: &PolicySpec, layout: &Layout) -> Policy {
        Policy { order: layout.order(), planes: Divisor::new(layout.planes()) }
    }
}

impl PlacementPolicy for Policy {
    #[inline(always)]
    fn place(&mut self, lpn: Lpn, _planes: &dyn Planes) -> PlaneId {
        debug_assert!(lpn != Lpn::NONE, "a page without an address has no plane");
        self.order[self.planes.div_rem(lpn.0).1 as usize]
    }
}
