//! Where the pages of a parity group are: which logical pages belong together, and the home plane of each.
//!
//! Paper: Liang et al., "Boosting Performance of SSD with Chip-level RAID by Deferring Garbage Collection", IEICE
//! Electronics Express 2018, figure 1: a stripe has one page on each chip; chips form groups in order; in stripe `s`
//! the parity of a group is on its chip `g - 1 - (s mod g)`, data fill the other chips from left to right.
//! Where it is silent, decided: chips are numbered in striping order, so a group spans channels; planes of a chip are
//! used in turn, each for `g` stripes, so each plane has its share of parity. Groups are numbered over the device:
//! group `k` of stripe `s` is `s * groups + k`, so its data are `g - 1` consecutive logical pages. Its parity is a
//! logical page, too, behind those of the host.

use crate::config::{Config, ParityUpdate};
use crate::ftl::place::Layout;
use crate::nand::geometry::Geometry;
use crate::units::{Divisor, Lpn, PlaneId};
use std::ops::Range;

/// Most chips of a group: positions in it are bits of a word.
pub const MOST_CHIPS: usize = 64;

/// A parity group, numbered over the device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GroupId(pub u32);

/// The parity groups of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Groups {
    /// Chips of a group.
    chips: u32,
    /// Pages of the host; the logical pages behind them hold parity.
    user_pages: u32,
    /// Groups.
    count: u32,
    by_data: Divisor,
    by_chips: Divisor,
    by_groups_of_stripe: Divisor,
    by_planes: Divisor,
    /// The planes in striping order: chips vary before planes.
    planes: Vec<PlaneId>,
    /// The chip of each plane, in striping order.
    chip_of: Vec<u32>,
    device_chips: u32,
    update: ParityUpdate,
}

impl Groups {
    /// The groups of `config`; `None` without parity.
    #[must_use]
    pub fn new(config: &Config, geo: &Geometry) -> Option<Groups> {
        let chips = config.raid.group;
        if chips == 0 {
            return None;
        }
        let device_chips = geo.channels * geo.chips_per_channel;
        assert!(chips > 1 && device_chips.is_multiple_of(chips), "groups of {chips} chips");
        let stripe = config.data_pages_per_stripe() as u32;
        assert!(chips as usize <= MOST_CHIPS, "a group of {chips} chips has too many positions");
        assert!(stripe > 0, "a stripe without data");
        assert!(geo.user_pages.is_multiple_of(stripe), "{} pages end in a stripe", geo.user_pages);
        let layout = Layout::new(config.device.shape());
        Some(Groups {
            chips,
            user_pages: geo.user_pages,
            count: geo.user_pages / (chips - 1),
            by_data: Divisor::new(chips - 1),
            by_chips: Divisor::new(chips),
            by_groups_of_stripe: Divisor::new(device_chips / chips),
            by_planes: Divisor::new(geo.planes_per_chip),
            planes: (0..geo.planes).map(|i| layout.striped(i)).collect(),
            chip_of: {
                let mut chip_of = vec![0; geo.planes as usize];
                for i in 0..geo.planes {
                    chip_of[layout.striped(i).at()] = i % device_chips;
                }
                chip_of
            },
            device_chips,
            update: config.raid.update,
        })
    }

    /// Chips of a group.
    #[must_use]
    pub fn chips(&self) -> u32 {
        debug_assert!(self.device_chips.is_multiple_of(self.chips), "chips without a group");
        self.chips
    }

    /// What an update of a part of a group reads.
    #[must_use]
    pub fn update(&self) -> ParityUpdate {
        self.update
    }

    /// Pages of data in a group.
    #[must_use]
    pub fn data_pages(&self) -> u32 {
        debug_assert!(self.chips > 1, "a group of one chip has no parity");
        self.chips - 1
    }

    /// Groups of the device.
    #[must_use]
    pub fn count(&self) -> u32 {
        debug_assert_eq!(self.count * self.data_pages(), self.user_pages, "pages without a group");
        self.count
    }

    /// Whether `lpn` is a page of parity.
    #[inline]
    #[must_use]
    pub fn is_parity(&self, lpn: Lpn) -> bool {
        debug_assert!(lpn.0 < self.user_pages + self.count, "{lpn:?} is beyond the device");
        lpn.0 >= self.user_pages
    }

    /// The group of `lpn`.
    #[inline]
    #[must_use]
    pub fn group_of(&self, lpn: Lpn) -> GroupId {
        if self.is_parity(lpn) {
            return GroupId(lpn.0 - self.user_pages);
        }
        debug_assert!(self.by_data.div(lpn.0) < self.count, "{lpn:?} is in no group");
        GroupId(self.by_data.div(lpn.0))
    }

    /// Remove the pages of the first group from `pages`, which are the host's. Returns the group and those pages.
    #[inline]
    pub fn take_part(&self, pages: &mut Range<u32>) -> Option<(GroupId, Range<u32>)> {
        assert!(pages.end <= self.user_pages, "pages {pages:?}");
        if pages.start >= pages.end {
            return None;
        }
        let (group, position) = self.by_data.div_rem(pages.start);
        let first = pages.start;
        pages.start = pages.end.min(first + self.data_pages() - position);
        Some((GroupId(group), first..pages.start))
    }

    /// The position of `lpn` in its group: data from 0 on, then parity.
    #[inline]
    #[must_use]
    pub fn position(&self, lpn: Lpn) -> u32 {
        if self.is_parity(lpn) {
            return self.data_pages();
        }
        self.by_data.div_rem(lpn.0).1
    }

    /// The page at `position` of `group`.
    #[inline]
    #[must_use]
    pub fn page(&self, group: GroupId, position: u32) -> Lpn {
        debug_assert!(position < self.chips, "{group:?} has no position {position}");
        if position == self.data_pages() {
            return self.parity(group);
        }
        Lpn(group.0 * self.data_pages() + position)
    }

    /// The page with the parity of `group`.
    #[inline]
    #[must_use]
    pub fn parity(&self, group: GroupId) -> Lpn {
        debug_assert!(group.0 < self.count, "there is no {group:?}");
        Lpn(self.user_pages + group.0)
    }

    /// The pages of `group`, parity last.
    pub fn pages(&self, group: GroupId) -> impl Iterator<Item = Lpn> + use<'_> {
        debug_assert!(group.0 < self.count, "there is no {group:?}");
        let first = group.0 * self.data_pages();
        let data = (first..first + self.data_pages()).map(Lpn);
        data.chain(std::iter::once(self.parity(group)))
    }

    /// The home planes of the pages of `group`.
    #[inline]
    #[must_use]
    pub fn homes(&self, group: GroupId) -> Homes {
        let (stripe, k) = self.by_groups_of_stripe.div_rem(group.0);
        debug_assert!(k * self.chips < self.device_chips, "{group:?} is on group {k} of the chips");
        let (turn, at) = self.by_chips.div_rem(stripe);
        debug_assert!(group.0 < self.count && at < self.chips, "there is no {group:?}");
        let first = self.by_planes.div_rem(turn).1 * self.device_chips + k * self.chips;
        debug_assert!((first + self.chips) as usize <= self.planes.len(), "{group:?} is beyond");
        Homes { first, parity: self.chips - 1 - at }
    }

    /// The home plane, among `homes`, of the page at `position`, data or parity: data fill the chips other than that of
    /// the parity.
    #[inline]
    #[must_use]
    pub fn home_at(&self, homes: Homes, position: u32) -> PlaneId {
        debug_assert!(position < self.chips, "no chip has position {position}");
        let member = match position {
            parity if parity == self.data_pages() => homes.parity,
            data => data + u32::from(data >= homes.parity),
        };
        self.planes[(homes.first + member) as usize]
    }

    /// The chip of `plane`, in striping order.
    #[must_use]
    pub fn chip_of(&self, plane: PlaneId) -> u32 {
        debug_assert!(plane.at() < self.chip_of.len(), "there is no {plane:?}");
        self.chip_of[plane.at()]
    }

    /// Whether two chips, in striping order, hold pages of the same groups.
    #[must_use]
    pub fn are_together(&self, chip: u32, other: u32) -> bool {
        debug_assert!(chip.max(other) < self.device_chips, "there is no chip {chip} or {other}");
        chip / self.chips == other / self.chips
    }

    /// The home plane of `lpn`.
    #[inline]
    #[must_use]
    pub fn home(&self, lpn: Lpn) -> PlaneId {
        let homes = self.homes(self.group_of(lpn));
        debug_assert!(lpn.0 < self.user_pages + self.count, "{lpn:?} is beyond the device");
        self.home_at(homes, self.position(lpn))
    }
}

/// The home planes of a group, for [`Groups::home_at`].
#[derive(Clone, Copy, Debug)]
pub struct Homes {
    /// Its first chip in striping order.
    first: u32,
    /// The chip with the parity, counted from the first.
    parity: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(shape: [u32; 3], chips: u32, stripes: u32) -> (Geometry, Groups) {
        let mut config = Config::default();
        [config.device.channels, config.device.chips_per_channel, config.device.planes_per_chip] =
            shape;
        config.raid.group = chips;
        config.device.user_pages = stripes * config.data_pages_per_stripe() as u32;
        let geo = Geometry::new(&config);
        let groups = Groups::new(&config, &geo).expect("there is parity");
        (geo, groups)
    }

    #[test]
    fn figure_1_of_the_paper() {
        // Chips in striping order: 8 channels of one chip.
        let (_, groups) = groups([8, 1, 1], 4, 4);
        let figure = [
            "0 1 2 P0 3 4 5 P1",
            "6 7 P2 8 9 10 P3 11",
            "12 P4 13 14 15 P5 16 17",
            "P6 18 19 20 P7 21 22 23",
        ];
        for (stripe, row) in figure.iter().enumerate() {
            for (chip, text) in row.split(' ').enumerate() {
                let lpn = match text.strip_prefix('P') {
                    Some(q) => groups.parity(GroupId(q.parse().expect("a number"))),
                    None => Lpn(text.parse().expect("a number")),
                };
                assert_eq!(groups.home(lpn), PlaneId(chip as u32), "{text}");
                assert_eq!(groups.group_of(lpn).0 / 2, stripe as u32, "{text}");
            }
        }
    }

    #[test]
    fn groups_have_one_page_on_each_of_their_chips_and_planes_have_equal_shares() {
        for (shape, chips) in [([4, 2, 1], 8), ([4, 2, 2], 4), ([2, 3, 3], 2), ([3, 2, 1], 3)] {
            let planes = shape[2];
            let (geo, groups) = groups(shape, chips, chips * planes * 3);
            let (mut data, mut parity) =
                (vec![0; geo.planes as usize], vec![0; geo.planes as usize]);
            for group in (0..groups.count()).map(GroupId) {
                let homes: Vec<u32> =
                    groups.pages(group).map(|lpn| geo.chip_of(groups.home(lpn))).collect();
                let mut distinct = homes.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), chips as usize, "{group:?} on {homes:?}");
                for (position, lpn) in groups.pages(group).enumerate() {
                    assert_eq!(groups.group_of(lpn), group);
                    assert_eq!(groups.position(lpn), position as u32);
                    let count = if groups.is_parity(lpn) { &mut parity } else { &mut data };
                    count[groups.home(lpn).at()] += 1;
                }
            }
            assert!(data.iter().all(|&n| n == data[0]), "{shape:?}: {data:?}");
            assert!(parity.iter().all(|&n| n == parity[0]), "{shape:?}: {parity:?}");
            assert_eq!(parity[0] * (chips - 1), data[0], "one page of {chips} is parity");
        }
    }

    #[test]
    fn a_group_spans_the_channels() {
        let (geo, groups) = groups([8, 8, 1], 8, 8);
        for group in (0..groups.count()).map(GroupId) {
            let channels = groups.pages(group).map(|lpn| geo.channel_of(groups.home(lpn)).0);
            let mut channels: Vec<u32> = channels.collect();
            channels.sort_unstable();
            assert_eq!(channels, (0..8).collect::<Vec<_>>(), "{group:?}");
        }
    }
}
