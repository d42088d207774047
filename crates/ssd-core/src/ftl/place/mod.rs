//! Where do writes go? One file per placement, which chooses the plane for which an admitted host write is queued.

use super::gc::Demand;
use crate::plug::PolicySpec;
use crate::units::{Lpn, PlaneId};

/// The device as a placement sees it.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Channels.
    pub channels: u32,
    /// Chips on each channel.
    pub chips_per_channel: u32,
    /// Planes in each chip.
    pub planes_per_chip: u32,
}

impl Layout {
    /// From the numbers of channels, chips on each and planes in each chip.
    #[must_use]
    pub const fn new([channels, chips_per_channel, planes_per_chip]: [u32; 3]) -> Layout {
        assert!(
            channels > 0 && chips_per_channel > 0 && planes_per_chip > 0,
            "a device without planes"
        );
        Layout { channels, chips_per_channel, planes_per_chip }
    }

    /// Planes of the device.
    #[must_use]
    pub const fn planes(&self) -> u32 {
        self.channels * self.chips_per_channel * self.planes_per_chip
    }

    /// The `i`-th plane in striping order: channels vary fastest, then chips, then planes (CWDP).
    #[inline]
    #[must_use]
    pub const fn striped(&self, i: u32) -> PlaneId {
        debug_assert!(i < self.planes(), "a position beyond the last plane");
        let (channel, rest) = (i % self.channels, i / self.channels);
        let (chip, plane) = (rest % self.chips_per_channel, rest / self.chips_per_channel);
        let at = (channel * self.chips_per_channel + chip) * self.planes_per_chip + plane;
        debug_assert!(at < self.planes(), "a plane beyond the last one");
        PlaneId(at)
    }

    /// All planes in striping order.
    pub(super) fn order(&self) -> Vec<PlaneId> {
        let order: Vec<PlaneId> = (0..self.planes()).map(|i| self.striped(i)).collect();
        let mut has_position = vec![false; order.len()];
        for plane in &order {
            let twice = std::mem::replace(&mut has_position[plane.at()], true);
            assert!(!twice, "{plane:?} has two positions in {self:?}");
        }
        assert!(!order.is_empty(), "a device without planes: {self:?}");
        order
    }
}

/// The present state of the planes, for choosing one.
pub trait Planes {
    /// Operations waiting or running on the busy unit of `plane`.
    fn load(&self, plane: PlaneId) -> u32;

    /// How much the pool of `plane` wants collection.
    fn demand(&self, plane: PlaneId) -> Demand;

    /// Whether a block of the pool of `plane` is being collected.
    fn collects(&self, plane: PlaneId) -> bool;
}

/// Without time nothing waits, and collection has ended before the next page is placed.
pub struct IdlePlanes;

impl Planes for IdlePlanes {
    fn load(&self, _plane: PlaneId) -> u32 {
        0
    }

    fn demand(&self, _plane: PlaneId) -> Demand {
        Demand::None
    }

    fn collects(&self, _plane: PlaneId) -> bool {
        false
    }
}

crate::plugs! {
    /// Chooses the plane of an admitted host write.
    pub trait PlacementPolicy, placement_hooks! {
        /// The plane for `lpn`.
        #[inline(always)]
        fn place(&mut self, lpn: Lpn, planes: &dyn Planes) -> PlaneId;
    }

    /// Every placement, dispatched by `match`.
    // One line a policy, sorted by file name.
    pub enum Placement = "placement", build(spec: &PolicySpec, layout: &Layout) (spec, layout) {
        least_busy LeastBusy,
        round_robin RoundRobin,
        striped Striped,
    }
}

#[cfg(test)]
mod tests;
