//! When blocks will be worn out if wear continues as measured.

use crate::ftl::Ftl;
use crate::ftl::blocks::BlockState;
use crate::units::{BlockId, PoolId};

/// How often the measured workload can be repeated from now on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EndsOfLife {
    /// Until the first block is worn out.
    pub first_block: f64,
    /// Until a pool has lost its spare, so that collection has no room.
    pub spare: f64,
}

impl Ftl {
    /// When blocks wear out, given the erases of every erase unit in a measurement. A pool ends when it has lost
    /// `spare` good blocks and one more is worn out. `None` if blocks do not wear out, if nothing was erased, or if the
    /// device has SLC blocks, whose erases wear less.
    ///
    /// From now on every block of a pool is assumed to be erased at the mean rate of the pool: the numbers of erases in
    /// a short measurement differ by chance, which wear levelling evens out.
    #[must_use]
    pub fn ends_of_life(&self, measured: &[u32], spare: u64) -> Option<EndsOfLife> {
        assert_eq!(measured.len(), self.blocks.len(), "a number for each erase unit");
        if self.space.slc.is_some() {
            return None;
        }
        let pools = (0..self.blocks.pools()).map(PoolId);
        let ends = pools.filter_map(|pool| self.end_of_pool(pool, measured, spare));
        let end = ends.reduce(|a, b| EndsOfLife {
            first_block: a.first_block.min(b.first_block),
            spare: a.spare.min(b.spare),
        });
        assert!(
            end.is_none_or(|end| end.first_block <= end.spare),
            "{end:?}: the first comes first"
        );
        end
    }

    fn end_of_pool(&self, pool: PoolId, measured: &[u32], spare: u64) -> Option<EndsOfLife> {
        let lived = |b: &BlockId| {
            self.blocks.state[b.at()] != BlockState::Bad || self.blocks.erases[b.at()] > 0
        };
        let blocks: Vec<BlockId> = self.blocks.of_pool(pool).filter(lived).collect();
        let mut left: Vec<u32> = blocks
            .iter()
            .map(|&b| Some(self.wear.limit(b)?.saturating_sub(self.blocks.erases[b.at()])))
            .collect::<Option<_>>()?;
        let erases: u64 = blocks.iter().map(|b| u64::from(measured[b.at()])).sum();
        if erases == 0 {
            return None;
        }
        left.sort_unstable();
        let rate = erases as f64 / blocks.len() as f64;
        let never = self.geo.blocks_per_pool as usize - blocks.len();
        let last = (spare as usize).saturating_sub(never).min(left.len() - 1);
        assert!(left[0] <= left[last], "blocks are in the order of their ends");
        Some(EndsOfLife {
            first_block: f64::from(left[0]) / rate,
            spare: f64::from(left[last]) / rate,
        })
    }
}
