//! Where do writes go? One file per placement: the plane an admitted host write is queued for.

use crate::config::DeviceConfig;
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
    /// The layout of a configured device.
    #[must_use]
    pub const fn new(device: &DeviceConfig) -> Layout {
        Layout {
            channels: device.channels,
            chips_per_channel: device.chips_per_channel,
            planes_per_chip: device.planes_per_chip,
        }
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
        let (channel, rest) = (i % self.channels, i / self.channels);
        let (chip, plane) = (rest % self.chips_per_channel, rest / self.chips_per_channel);
        PlaneId((channel * self.chips_per_channel + chip) * self.planes_per_chip + plane)
    }
}

crate::plugs! {
    /// Chooses the plane of an admitted host write.
    pub trait PlacementPolicy, placement_hooks! {
        /// The plane for `lpn`. `load(plane)` is the number of operations waiting or running on the busy
        /// unit of a plane.
        #[inline(always)]
        fn place(&mut self, lpn: Lpn, load: &dyn Fn(PlaneId) -> u32) -> PlaneId;
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
mod tests {
    use super::*;

    #[test]
    fn striping_visits_every_plane_once_and_channels_first() {
        let layout = Layout { channels: 3, chips_per_channel: 2, planes_per_chip: 2 };
        let order: Vec<u32> = (0..12).map(|i| layout.striped(i).0).collect();
        assert_eq!(order, [0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11]);
    }

    #[test]
    fn every_placement_spreads_equal_load_evenly() {
        let layout = Layout { channels: 4, chips_per_channel: 2, planes_per_chip: 2 };
        for info in ALL {
            let mut policy = Placement::build(&PolicySpec::with_defaults(info), &layout);
            let mut seen = [0u32; 16];
            for lpn in 0..160 {
                let now = seen;
                seen[policy.place(Lpn(lpn), &|p: PlaneId| now[p.at()]).at()] += 1;
            }
            assert_eq!(seen, [10; 16], "{}", info.name);
        }
    }
}
