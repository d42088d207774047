//! Second chance by its definition.

use super::World;
use ssd_core::units::{BlockId, PoolId};

/// The walk of second chance: the block where it continues, or the first one; blocks passed since the first; the bar;
/// and what has been gained.
#[derive(Clone, Copy)]
pub(crate) struct Chance {
    pub(crate) at: Option<BlockId>,
    pub(crate) passed: usize,
    pub(crate) bar: f64,
    pub(crate) gained: u16,
}

impl Chance {
    pub(crate) const START: Chance = Chance { at: None, passed: 0, bar: 0.5, gained: 0 };
}

impl World {
    /// The walk to the first block below the bar that is `wanted`.
    pub(crate) fn second_chance(
        &self,
        pool: PoolId,
        wanted: impl Fn(BlockId) -> bool,
    ) -> Option<(BlockId, Chance)> {
        let mut list = self.sealed_of(pool);
        list.sort_by_key(|&b| self.table.seal_order[b.at()]);
        let most = ((self.spec.real("part") * list.len() as f64) as usize).max(1);
        let mut walk = self.chances[pool.at()];
        let mut looks = 0;
        while !list.is_empty() && looks < 2 * list.len() {
            let place = walk.at.and_then(|at| list.iter().position(|&b| b == at));
            walk.passed = if place.is_none() { 0 } else { walk.passed };
            let block = list[place.unwrap_or(0)];
            let share = f64::from(self.table.valid[block.at()]);
            let below = (walk.bar.min(1.0) * f64::from(self.table.pages_per_block)).ceil();
            if share < below && wanted(block) {
                return Some((block, Chance { at: Some(block), ..walk }));
            }
            walk.at = list.get(place.unwrap_or(0) + 1).copied();
            walk.passed += 1;
            if walk.bar >= 1.0 {
                looks += 1;
            } else if walk.passed >= most {
                walk = Chance { at: None, bar: walk.bar + self.spec.real("step"), ..walk };
            }
        }
        None
    }

    pub(crate) fn passes(&mut self, b: BlockId) {
        if self.spec.policy != "second-chance" {
            return;
        }
        let pool = self.table.pool_of(b);
        let mut list = self.sealed_of(pool);
        list.sort_by_key(|&b| self.table.seal_order[b.at()]);
        let after = list.iter().position(|&other| other == b).and_then(|at| list.get(at + 1));
        let mut walk = self.chances[pool.at()];
        if let Some((_, found)) = self.second_chance(pool, |other| other == b) {
            walk = found;
        }
        if walk.at == Some(b) {
            (walk.at, walk.passed) = (after.copied(), walk.passed + 1);
        }
        walk.gained += self.table.invalid(b);
        if walk.gained >= self.table.pages_per_block {
            (walk.gained, walk.bar) = (0, self.spec.real("bar"));
        }
        self.chances[pool.at()] = walk;
    }
}
