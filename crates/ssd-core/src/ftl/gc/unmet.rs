//! Demands that collection cannot meet: the triggers of a pool would still hold if every invalid page of its
//! sealed blocks had been reclaimed.
//!
//! Such a pool is collected without a pause. While the host writes faster than that, invalid pages pile up and the
//! victim policy has a choice. If collection keeps up, the pool runs out of invalid pages: no block has more than one
//! or two, every choice gains equally little, and runs under different policies differ only by chance. Only these
//! victims count. The usual cause is a watermark above the spare space of the device, or a threshold on used space
//! below the share of live data.

use super::Demands;
use super::trigger::SpaceView;
use crate::ftl::Ftl;
use crate::units::PoolId;

/// Examinations of a pool per as many victims as it has blocks: an examination may scan all of them, and its result
/// changes slowly.
const LOOKS_PER_TURN: u32 = 16;

/// If no block has more invalid pages than this, there is nothing to choose from.
const NO_CHOICE: u16 = 2;

/// The latest finding for each pool.
pub struct UnmetDemand {
    every: u32,
    /// Victims until the next examination.
    left: Vec<u32>,
    is_unmet: Vec<bool>,
}

impl UnmetDemand {
    /// Nothing found yet in pools of `blocks_per_pool` blocks.
    #[must_use]
    pub fn new(pools: u32, blocks_per_pool: u32) -> UnmetDemand {
        assert!(pools > 0 && blocks_per_pool > 0, "an empty device");
        let every = (blocks_per_pool / LOOKS_PER_TURN).max(1);
        UnmetDemand { every, left: vec![0; pools as usize], is_unmet: vec![false; pools as usize] }
    }

    /// Whether the next victim of `pool` is taken for a demand that cannot be met while no block has more than two
    /// invalid pages. False for policies that leave blocks with invalid pages alone: they decide themselves when to
    /// stop.
    #[inline]
    pub fn at(&mut self, ftl: &Ftl, demands: &Demands, pool: PoolId) -> bool {
        debug_assert_eq!(self.left.len(), ftl.geo.pools as usize, "pools of another device");
        let left = &mut self.left[pool.at()];
        debug_assert!(*left <= self.every, "{pool:?} is examined too rarely");
        if *left == 0 {
            *left = self.every;
            // On most devices one of the first blocks settles it.
            let mut candidates = ftl.blocks.of_pool(pool).filter(|&b| ftl.blocks.is_candidate(b));
            let choice = candidates.any(|b| ftl.blocks.invalid(b) > NO_CHOICE);
            self.is_unmet[pool.at()] = !choice && demands.outlast(&best_view(ftl, pool));
        }
        self.left[pool.at()] -= 1;
        self.is_unmet[pool.at()] && !ftl.policy_declines()
    }
}

/// What triggers would see of `pool` without the invalid pages of sealed blocks, with their valid pages packed behind
/// those of the open blocks.
fn best_view(ftl: &Ftl, pool: PoolId) -> SpaceView {
    assert_eq!(ftl.space.promised(pool), 0, "room of {pool:?} is promised to wear levelling");
    let view = ftl.space_view(pool);
    let (mut sealed, mut live, mut invalid) = (0u32, 0u64, 0u64);
    for block in ftl.blocks.of_pool(pool).filter(|&b| ftl.blocks.is_candidate(b)) {
        sealed += 1;
        live += u64::from(ftl.blocks.valid[block.at()]);
        invalid += u64::from(ftl.blocks.invalid(block));
    }
    let gc_open = u64::from(ftl.space.gc_open(pool));
    let packed = live.saturating_sub(gc_open).div_ceil(u64::from(ftl.geo.pages_per_block));
    assert!(packed <= u64::from(sealed), "valid pages take more blocks when they are packed");
    assert!(invalid <= view.pool_used_pages, "more pages of {pool:?} are invalid than used");
    SpaceView {
        free_blocks: (view.free_blocks + sealed).saturating_sub(packed as u32),
        pool_used_pages: view.pool_used_pages - invalid,
        used_pages: ftl.owners.valid_pages(),
        ..view
    }
}
