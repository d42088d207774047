//! A plane whose blocks are all erased at once, because its chip has been replaced.

use super::{NONE, OpenBlock, PoolSpace, Space};
use crate::ftl::blocks::BlockTable;
use crate::units::PlaneId;

impl Space {
    /// Erase all good blocks of `plane`, which is a pool of its own with nothing held.
    pub(in crate::ftl) fn renew(&mut self, plane: PlaneId, blocks: &BlockTable) {
        let (pool, home) = (self.pool(plane), self.home(plane));
        assert!(!self.superblock && self.planes_per_pool.get() == 1, "a pool of several planes");
        let frontiers =
            self.frontier_at(plane, 0)..self.frontier_at(plane, 0) + self.frontiers as usize;
        assert!(
            self.held.is_empty() || self.held[frontiers.clone()].iter().all(|&held| held == 0),
            "pages of {plane:?} are held"
        );
        self.open[frontiers].fill(OpenBlock { block: NONE, left: 0 });
        let listed: Vec<u32> = self.free[home].iter().map(|&(_, block)| block).collect();
        let used = blocks.of_pool(pool).filter(|&b| !blocks.is_bad(b) && !listed.contains(&b.0));
        for block in used {
            // No erase has released it: if it has never been erased it counts as new, otherwise it comes after those
            // released.
            let erases = blocks.erases[block.at()];
            debug_assert!(
                erases == 0 || self.releases > 0,
                "{block:?} was erased and never released"
            );
            let key = if self.dynamic_wear || erases == 0 { erases } else { self.releases };
            assert!(self.free[home].insert((key, block.0)), "{block:?} is erased twice");
        }
        let PoolSpace { free, good, used, .. } = self.pools[pool.at()];
        let spare = u16::from(self.recovers);
        self.free_total += u64::from(good - free);
        self.used -= u64::from(used);
        self.pools[pool.at()] = PoolSpace {
            free: good,
            good,
            used: 0,
            gc_open: 0,
            wear_open: 0,
            gc_need: self.pages_per_block,
            promised: 0,
            kept: spare,
            spare,
            held: 0,
            opened: false,
        };
        self.check(pool);
    }
}
