//! Counts derived from a config: planes, pools, busy units, erase units.

use super::{Alloc, BusyUnit, Config, DeviceConfig, EraseUnit, Frontiers, PoolScope};
use crate::ftl::separation::Classes;
use crate::rng::Stream;

impl DeviceConfig {
    /// Channels, chips on each of them, and planes in each chip.
    #[must_use]
    pub const fn shape(&self) -> [u32; 3] {
        [self.channels, self.chips_per_channel, self.planes_per_chip]
    }

    /// Planes of the device.
    #[must_use]
    pub fn planes(&self) -> u64 {
        u64::from(self.channels)
            * u64::from(self.chips_per_channel)
            * u64::from(self.planes_per_chip)
    }

    /// Flash pages of the device; `None` beyond 128 bits.
    #[must_use]
    pub fn physical_pages(&self) -> Option<u128> {
        u128::from(self.planes())
            .checked_mul(u128::from(self.blocks_per_plane))?
            .checked_mul(u128::from(self.pages_per_block))
    }
}

impl Config {
    /// Planes that share free blocks.
    #[must_use]
    pub fn planes_per_pool(&self) -> u64 {
        let device = &self.device;
        let planes = u64::from(device.planes_per_chip);
        match self.alloc.pool {
            PoolScope::Plane => 1,
            PoolScope::Chip => planes,
            PoolScope::Channel => planes * u64::from(device.chips_per_channel),
            PoolScope::Device => device.planes(),
        }
    }

    /// Space pools of the device.
    #[must_use]
    pub fn pools(&self) -> u64 {
        self.device.planes() / self.planes_per_pool()
    }

    /// Units that one operation occupies.
    #[must_use]
    pub fn busy_units(&self) -> u64 {
        let device = &self.device;
        match self.timing.busy_unit {
            BusyUnit::Plane => device.planes(),
            BusyUnit::Chip => u64::from(device.channels) * u64::from(device.chips_per_channel),
            BusyUnit::Channel => u64::from(device.channels),
        }
    }

    /// Erase units (blocks or superblocks) of one pool.
    #[must_use]
    pub fn units_per_pool(&self) -> u64 {
        let blocks = u64::from(self.device.blocks_per_plane);
        match self.alloc.erase_unit {
            EraseUnit::Block => blocks * self.planes_per_pool(),
            EraseUnit::Superblock => blocks,
        }
    }

    /// Pages of one erase unit.
    #[must_use]
    pub fn pages_per_unit(&self) -> u64 {
        u64::from(self.device.pages_per_block) * self.flash_blocks_per_unit()
    }

    /// Chips of the device.
    #[must_use]
    pub fn chips(&self) -> u64 {
        u64::from(self.device.channels) * u64::from(self.device.chips_per_channel)
    }

    /// Pages of the host in each stripe, which has one page on each chip; 1 without parity.
    #[must_use]
    pub fn data_pages_per_stripe(&self) -> u64 {
        match u64::from(self.raid.group) {
            0 => 1,
            group => (self.chips() / group).max(1) * (group - 1).max(1),
        }
    }

    /// Pages of parity: one for each group of chips in each stripe that holds pages of the host.
    #[must_use]
    pub fn parity_pages(&self) -> u64 {
        match u64::from(self.raid.group) {
            0 | 1 => 0,
            group => u64::from(self.device.user_pages) / (group - 1),
        }
    }

    /// Pages that the FTL owns: those of the host and those of parity.
    #[must_use]
    pub fn logical_pages(&self) -> u64 {
        u64::from(self.device.user_pages) + self.parity_pages()
    }

    /// Erase units of a pool beyond those that its share of the logical pages fills.
    #[must_use]
    pub fn spare_units_per_pool(&self) -> u64 {
        let user = self.logical_pages().div_ceil(self.pools().max(1));
        let filled = user.div_ceil(self.pages_per_unit().max(1));
        self.units_per_pool().saturating_sub(filled + self.units_kept_per_pool())
    }

    /// Erase units of a pool that are kept for the recovery from power cuts.
    #[must_use]
    pub fn units_kept_per_pool(&self) -> u64 {
        u64::from(!self.power.is_off())
    }

    /// Flash blocks of an erase unit.
    fn flash_blocks_per_unit(&self) -> u64 {
        match self.alloc.erase_unit {
            EraseUnit::Block => 1,
            EraseUnit::Superblock => self.planes_per_pool(),
        }
    }

    /// Flash blocks that are bad from the factory.
    pub(crate) fn factory_bad_flash_blocks(&self) -> u64 {
        let flash_blocks = self.pools() * self.units_per_pool() * self.flash_blocks_per_unit();
        (flash_blocks as f64 * self.wear.factory_bad_blocks).round() as u64
    }

    /// The erase units that are bad from the factory, ascending; those of a pool follow each other. A
    /// superblock is bad as soon as one of its flash blocks is.
    #[must_use]
    pub fn factory_bad_units(&self) -> Vec<u32> {
        if self.wear.factory_bad_blocks <= 0.0 {
            return Vec::new();
        }
        let members = self.flash_blocks_per_unit();
        let flash_blocks = self.pools() * self.units_per_pool() * members;
        let mut units: Vec<u32> = (0..flash_blocks).map(|b| (b / members) as u32).collect();
        Stream::new(self.run.seed, "factory bad blocks").shuffle(&mut units);
        units.truncate(self.factory_bad_flash_blocks() as usize);
        units.sort_unstable();
        units.dedup();
        units
    }
}

impl Config {
    /// Erase units of each pool that are bad from the factory.
    #[must_use]
    pub fn bad_units_by_pool(&self) -> Vec<u64> {
        let mut bad = vec![0u64; self.pools() as usize];
        for unit in self.factory_bad_units() {
            bad[(u64::from(unit) / self.units_per_pool()) as usize] += 1;
        }
        bad
    }

    /// Open erase units of a pool for each frontier.
    #[must_use]
    pub fn open_units_per_frontier(&self) -> u64 {
        match self.alloc.erase_unit {
            EraseUnit::Block => self.planes_per_pool(),
            EraseUnit::Superblock => 1,
        }
    }
}

impl Config {
    /// Classes that the spare can hold open: with an erase unit of each open on every plane, and `gc.reserve` erased, a
    /// sealed one still has a page to gain.
    #[must_use]
    pub fn most_classes(&self) -> u32 {
        let reserved = u64::from(self.gc.reserve) + 1;
        let open = self.spare_units_per_pool().saturating_sub(reserved);
        u32::try_from(open / self.open_units_per_frontier().max(1)).unwrap_or(u32::MAX).min(255)
    }
}

impl Alloc {
    /// The open blocks on one plane, wear levelling apart.
    #[must_use]
    pub fn classes(&self) -> Classes {
        let all = self.frontiers.count();
        let host = if self.frontiers == Frontiers::Single { 0 } else { all - 1 };
        Classes::of_policy(&self.separation).unwrap_or(Classes { host, all })
    }
}

impl Frontiers {
    /// Open blocks that the host and GC have on one plane.
    #[must_use]
    pub fn count(self) -> u32 {
        match self {
            Frontiers::Single => 1,
            Frontiers::HostGc => 2,
            Frontiers::Streams(n) => u32::from(n) + 1,
        }
    }
}
