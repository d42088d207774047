//! Geometry: how the ids of pages, blocks and units relate.
//!
//! A physical page number is `erase unit * pages per unit + page`. The erase units of a pool are
//! contiguous. In a superblock, pages are striped over its planes: page `i` is on plane `i % members`
//! of the pool, at page `i / members` of the flash block there.

use crate::config::{BusyUnit, Config, EraseUnit, PoolScope};
use crate::units::{BlockId, ChannelId, Divisor, PlaneId, PoolId, Ppn, UnitId};

/// Address of a page on the flash, by its coordinates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PageAddress {
    /// Channel.
    pub channel: u32,
    /// Chip on its channel.
    pub chip: u32,
    /// Plane in its chip.
    pub plane: u32,
    /// Flash block in its plane.
    pub block: u32,
    /// Page in its flash block.
    pub page: u32,
}

/// Sizes of the device and the relations between its ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Channels.
    pub channels: u32,
    /// Planes of the device.
    pub planes: u32,
    /// Planes in each chip.
    pub planes_per_chip: u32,
    /// Chips on each channel.
    pub chips_per_channel: u32,
    /// Pages of a flash block.
    pub pages_per_flash_block: u32,
    /// Pages of an erase unit.
    pub pages_per_block: u32,
    /// Flash blocks of an erase unit (1, or the planes of a pool).
    pub members: u32,
    /// Busy units.
    pub units: u32,
    /// Pools.
    pub pools: u32,
    /// Erase units of a pool.
    pub blocks_per_pool: u32,
    /// Physical pages.
    pub pages: u32,
    /// Pages that the host sees.
    pub user_pages: u32,
    /// Pages that the FTL owns: those of the host, then one of parity for each group of chips and stripe.
    pub logical_pages: u32,
    /// Binary logarithm of the sectors of a page.
    pub sector_shift: u32,
    /// Types of pages.
    pub types: u32,
    by_word_line: Divisor,
    /// Divides pages of a word line by those of a type.
    by_type: Divisor,
    by_pages_per_block: Divisor,
    by_members: Divisor,
    by_plane_blocks: Divisor,
    by_unit: Divisor,
    by_pool: Divisor,
    by_channel: Divisor,
    by_chip: Divisor,
}

impl Geometry {
    /// The geometry of a resolved config.
    #[must_use]
    pub fn new(config: &Config) -> Geometry {
        let d = &config.device;
        let planes_per_channel = d.chips_per_channel * d.planes_per_chip;
        let planes = d.channels * planes_per_channel;
        let unit = match config.timing.busy_unit {
            BusyUnit::Plane => 1,
            BusyUnit::Chip => d.planes_per_chip,
            BusyUnit::Channel => planes_per_channel,
        };
        let pool = match config.alloc.pool {
            PoolScope::Plane => 1,
            PoolScope::Chip => d.planes_per_chip,
            PoolScope::Channel => planes_per_channel,
            PoolScope::Device => planes,
        };
        let members = if config.alloc.erase_unit == EraseUnit::Superblock { pool } else { 1 };
        let pages_per_block = d.pages_per_block * members;
        let blocks_per_pool = d.blocks_per_plane * pool / members;
        let pages = planes * d.blocks_per_plane * d.pages_per_block;
        assert!(
            d.page_bytes.is_power_of_two() && d.page_bytes >= 512,
            "page size {}",
            d.page_bytes
        );
        let logical_pages = config.logical_pages() as u32;
        assert!(pages > 0 && logical_pages < pages, "the config layer has checked the capacity");
        Geometry {
            channels: d.channels,
            planes,
            planes_per_chip: d.planes_per_chip,
            chips_per_channel: d.chips_per_channel,
            pages_per_flash_block: d.pages_per_block,
            pages_per_block,
            members,
            units: planes / unit,
            pools: planes / pool,
            blocks_per_pool,
            pages,
            user_pages: d.user_pages,
            logical_pages,
            sector_shift: (d.page_bytes / 512).trailing_zeros(),
            types: d.bits,
            by_word_line: Divisor::new(d.word_line),
            by_type: Divisor::new((d.word_line / d.bits).max(1)),
            by_pages_per_block: Divisor::new(pages_per_block),
            by_members: Divisor::new(members),
            by_plane_blocks: Divisor::new(d.blocks_per_plane),
            by_unit: Divisor::new(unit),
            by_pool: Divisor::new(pool),
            by_channel: Divisor::new(planes_per_channel),
            by_chip: Divisor::new(d.planes_per_chip),
        }
    }

    /// User capacity in sectors.
    #[inline(always)]
    #[must_use]
    pub fn user_sectors(&self) -> u64 {
        u64::from(self.user_pages) << self.sector_shift
    }

    /// Erase unit and page within it.
    #[inline(always)]
    #[must_use]
    pub fn split(&self, ppn: Ppn) -> (BlockId, u32) {
        let (block, page) = self.by_pages_per_block.div_rem(ppn.0);
        (BlockId(block), page)
    }

    /// Erase unit of a page.
    #[inline(always)]
    #[must_use]
    pub fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(self.by_pages_per_block.div(ppn.0))
    }

    /// First page of an erase unit.
    #[inline(always)]
    #[must_use]
    pub fn first_page(&self, block: BlockId) -> Ppn {
        Ppn(block.0 * self.pages_per_block)
    }

    /// Page `page` of the member of `block` on `plane`.
    #[inline(always)]
    #[must_use]
    pub fn page_on(&self, block: BlockId, plane: PlaneId, page: u32) -> Ppn {
        if self.members == 1 {
            return Ppn(block.0 * self.pages_per_block + page);
        }
        let member = plane.0 % self.members;
        Ppn(block.0 * self.pages_per_block + page * self.members + member)
    }

    /// Type of a page, counted from 0.
    #[inline(always)]
    #[must_use]
    pub fn type_of(&self, ppn: Ppn) -> usize {
        let page = self.split(ppn).1;
        self.type_in_block(if self.members == 1 { page } else { self.by_members.div(page) })
    }

    /// Type of page `page` of a flash block.
    #[inline(always)]
    #[must_use]
    pub fn type_in_block(&self, page: u32) -> usize {
        let kind = self.by_type.div(self.by_word_line.div_rem(page).1);
        debug_assert!(kind < self.types, "page {page} is of type {kind}");
        kind as usize
    }

    /// Plane of a page.
    #[inline(always)]
    #[must_use]
    pub fn plane_of(&self, ppn: Ppn) -> PlaneId {
        let (block, page) = self.split(ppn);
        if self.members == 1 {
            return PlaneId(self.by_plane_blocks.div(block.0));
        }
        let pool = block.0 / self.blocks_per_pool;
        PlaneId(pool * self.members + self.by_members.div_rem(page).1)
    }

    /// First plane of an erase unit (its only one without superblocks).
    #[inline(always)]
    #[must_use]
    pub fn first_plane(&self, block: BlockId) -> PlaneId {
        if self.members == 1 {
            return PlaneId(self.by_plane_blocks.div(block.0));
        }
        PlaneId(block.0 / self.blocks_per_pool * self.members)
    }

    /// Planes of an erase unit.
    pub fn planes_of_block(&self, block: BlockId) -> impl Iterator<Item = PlaneId> + use<> {
        let first = self.first_plane(block).0;
        (first..first + self.members).map(PlaneId)
    }

    /// Busy unit of a plane.
    #[inline(always)]
    #[must_use]
    pub fn unit_of(&self, plane: PlaneId) -> UnitId {
        UnitId(self.by_unit.div(plane.0))
    }

    /// Planes of a busy unit.
    #[must_use]
    pub fn planes_of_unit(&self, unit: UnitId) -> std::ops::Range<u32> {
        unit.0 * self.by_unit.get()..(unit.0 + 1) * self.by_unit.get()
    }

    /// Planes in one busy unit.
    #[inline(always)]
    #[must_use]
    pub fn planes_per_unit(&self) -> u32 {
        self.by_unit.get()
    }

    /// Pool of a plane.
    #[inline(always)]
    #[must_use]
    pub fn pool_of(&self, plane: PlaneId) -> PoolId {
        PoolId(self.by_pool.div(plane.0))
    }

    /// Planes of a pool.
    #[must_use]
    pub fn planes_of_pool(&self, pool: PoolId) -> std::ops::Range<u32> {
        pool.0 * self.by_pool.get()..(pool.0 + 1) * self.by_pool.get()
    }

    /// Planes in one pool.
    #[inline(always)]
    #[must_use]
    pub fn planes_per_pool(&self) -> u32 {
        self.by_pool.get()
    }

    /// Busy units that hold a plane of `pool`, ascending.
    #[must_use]
    pub fn units_of_pool(&self, pool: PoolId) -> std::ops::RangeInclusive<u32> {
        let planes = self.planes_of_pool(pool);
        self.unit_of(PlaneId(planes.start)).0..=self.unit_of(PlaneId(planes.end - 1)).0
    }

    /// Pools that hold a plane of `unit`, ascending.
    #[must_use]
    pub fn pools_of_unit(&self, unit: UnitId) -> std::ops::RangeInclusive<u32> {
        let planes = self.planes_of_unit(unit);
        self.pool_of(PlaneId(planes.start)).0..=self.pool_of(PlaneId(planes.end - 1)).0
    }

    /// Chip of a plane, counted over the device.
    #[inline(always)]
    #[must_use]
    pub fn chip_of(&self, plane: PlaneId) -> u32 {
        self.by_chip.div(plane.0)
    }

    /// The planes of `chip`.
    #[must_use]
    pub fn planes_of_chip(&self, chip: u32) -> Vec<PlaneId> {
        debug_assert!(chip < self.planes / self.planes_per_chip, "no chip {chip}");
        (0..self.planes).map(PlaneId).filter(|&plane| self.chip_of(plane) == chip).collect()
    }

    /// Channel of a plane.
    #[inline(always)]
    #[must_use]
    pub fn channel_of(&self, plane: PlaneId) -> ChannelId {
        ChannelId(self.by_channel.div(plane.0))
    }

    /// Full coordinates of a page.
    #[must_use]
    pub fn place(&self, ppn: Ppn) -> PageAddress {
        let (block, page) = self.split(ppn);
        let within = if self.members == 1 {
            (block.0 % self.by_plane_blocks.get(), page)
        } else {
            (block.0 % self.blocks_per_pool, page / self.members)
        };
        self.place_on(self.plane_of(ppn), within)
    }

    /// Full coordinates of a page of a flash block on `plane`, which may be outside the pools.
    #[must_use]
    pub fn place_on(&self, plane: PlaneId, (block, page): (u32, u32)) -> PageAddress {
        debug_assert!(plane.0 < self.planes, "{plane:?} is beyond the device");
        debug_assert!(page < self.pages_per_flash_block, "page {page} of a flash block");
        let chip = plane.0 / self.planes_per_chip;
        PageAddress {
            channel: chip / self.chips_per_channel,
            chip: chip % self.chips_per_channel,
            plane: plane.0 % self.planes_per_chip,
            block,
            page,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_one_place_and_comes_back() {
        for (pool, erase) in [
            (PoolScope::Plane, EraseUnit::Block),
            (PoolScope::Channel, EraseUnit::Block),
            (PoolScope::Chip, EraseUnit::Superblock),
            (PoolScope::Device, EraseUnit::Superblock),
        ] {
            let mut config = Config::default();
            let d = &mut config.device;
            (d.channels, d.chips_per_channel, d.planes_per_chip) = (2, 3, 2);
            (d.blocks_per_plane, d.pages_per_block, d.user_pages) = (5, 7, 100);
            (config.alloc.pool, config.alloc.erase_unit) = (pool, erase);
            let geo = Geometry::new(&config);
            let mut places: Vec<PageAddress> = (0..geo.pages).map(|p| geo.place(Ppn(p))).collect();
            for (p, place) in places.iter().enumerate() {
                let plane = geo.plane_of(Ppn(p as u32));
                let block = geo.block_of(Ppn(p as u32));
                assert_eq!(geo.page_on(block, plane, place.page), Ppn(p as u32));
                assert!(geo.planes_of_block(block).any(|x| x == plane));
                assert_eq!(geo.pool_of(plane).0, block.0 / geo.blocks_per_pool);
            }
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), geo.pages as usize);
        }
    }
}
