//! Second chance: a pointer walks the blocks in the order of sealing and takes those with few enough valid pages.
//!
//! Source: the "2R-FIFO" collector of SSD-iq (Haas, Lee, Bonnet and Leis, "SSD-iq: uncovering the hidden side of SSD
//! performance", PVLDB 18(11), 2025; github.com/gabriel-haas/ssdiq, commits 9aae7a3 and 9934924, in words only). A
//! block whose share of valid pages is below the bar is taken; others are passed over. When the pointer has passed a
//! part of the blocks, it goes back to the first one and the bar rises by a step; the bar falls back once a block's
//! worth of invalid pages has been gained. Until that first happens, the bar is 0.5.
//! Where it is silent, decided: the bar ends at 1, where all blocks are considered, but a fully valid one is never
//! taken. Shares are compared as whole pages, rounded up. Index: a linked queue for each pool; a choice walks over the
//! blocks that it skips.

use super::queue::Queue;
use super::{VictimPolicy, memory};
use crate::ftl::blocks::BlockTable;
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// Registry entry of second chance.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "second-chance",
    summary: "the next block in the order of sealing with few enough valid pages",
    paper: "Haas, Lee, Bonnet and Leis, SSD-iq: uncovering the hidden side of SSD performance, PVLDB 18(11), 2025 \
            (there 2R-FIFO)",
    params: &[
        ParamInfo {
            name: "bar",
            kind: ParamKind::Ratio(0.0, 1.0),
            default: Some("0.7"),
            doc: "share of valid pages below which a block is taken",
        },
        ParamInfo {
            name: "step",
            kind: ParamKind::Ratio(0.001, 1.0),
            default: Some("0.05"),
            doc: "by how much the bar rises when too few blocks are below it",
        },
        ParamInfo {
            name: "part",
            kind: ParamKind::Ratio(0.0, 1.0),
            default: Some("0.7"),
            doc: "part of the blocks that the pointer passes over before the bar rises",
        },
    ],
};

/// The largest number of passed blocks that a snapshot may contain.
const MOST_PASSED: u64 = 1 << 31;

/// The bar of the first turn.
const FIRST_BAR: f64 = 0.5;

/// The state of a pool.
#[derive(Clone, Copy)]
struct Walk {
    /// The block at which the pointer stands; the first one after the end.
    at: Option<BlockId>,
    blocks: u32,
    /// Blocks that it has passed since it last stood at the first one.
    passed: u32,
    bar: f64,
    /// Invalid pages gained since the bar fell back.
    gained: u32,
}

const START: Walk = Walk { at: None, blocks: 0, passed: 0, bar: FIRST_BAR, gained: 0 };

/// The list and the pointer.
#[derive(Clone)]
pub struct Policy {
    list: Queue,
    walks: Vec<Walk>,
    bar: f64,
    step: f64,
    part: f64,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, table: &BlockTable) -> Policy {
        assert!(spec.real("step") > 0.0, "the bar never rises");
        Policy {
            list: Queue::new(table),
            walks: vec![START; table.pools() as usize],
            bar: spec.real("bar"),
            step: spec.real("step"),
            part: spec.real("part"),
        }
    }

    /// The first block of `pool` on the walk that is below the bar and `accepts` takes, with the state of the walk
    /// there.
    fn find(
        &self,
        pool: PoolId,
        table: &BlockTable,
        accepts: impl Fn(BlockId) -> bool,
    ) -> Option<(BlockId, Walk)> {
        let mut walk = self.walks[pool.at()];
        debug_assert_eq!(self.list.iter(pool).count(), walk.blocks as usize, "blocks, as counted");
        let most = ((self.part * f64::from(walk.blocks)) as u32).max(1);
        let pages = f64::from(table.pages_per_block);
        // Twice over all blocks at the highest bar, because the pointer goes back once.
        let mut left = 2 * walk.blocks;
        while left > 0 {
            let (bar, at) = (walk.bar.min(1.0), walk.at.or_else(|| self.list.first(pool))?);
            if walk.at.is_none() {
                walk.passed = 0;
            }
            if table.valid[at.at()] < (bar * pages).ceil() as u16 && accepts(at) {
                return Some((at, Walk { at: Some(at), ..walk }));
            }
            (walk.at, walk.passed) = (self.list.after(at), walk.passed + 1);
            if bar >= 1.0 {
                left -= 1;
            } else if walk.passed >= most {
                (walk.at, walk.bar) = (None, bar + self.step);
            }
        }
        None
    }

    /// Take `block`: the pointer moves up to it, whether or not this policy chose it.
    fn take(&mut self, block: BlockId, table: &BlockTable) {
        let pool = table.pool_of(block);
        let new_walk = self.find(pool, table, |candidate| candidate == block).map(|(_, walk)| walk);
        let after = self.list.after(block);
        let walk = &mut self.walks[pool.at()];
        *walk = new_walk.unwrap_or(*walk);
        if walk.at == Some(block) {
            (walk.at, walk.passed) = (after, walk.passed + 1);
        }
        walk.blocks -= 1;
        walk.gained += u32::from(table.invalid(block));
        if walk.gained >= u32::from(table.pages_per_block) {
            (walk.gained, walk.bar) = (0, self.bar);
        }
        self.list.remove(block, table);
        debug_assert!(!self.list.contains(block), "{block:?} is still listed");
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        self.list.rebuild(table, |_| true);
        self.walks.fill(START);
        for pool in (0..table.pools()).map(PoolId) {
            self.walks[pool.at()].blocks = self.list.iter(pool).count() as u32;
        }
        debug_assert_eq!(self.walks.len(), table.pools() as usize, "pools of another table");
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        self.list.push(block, table);
        self.walks[table.pool_of(block).at()].blocks += 1;
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        self.take(block, table);
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        let victim = self.find(pool, table, |_| true).map(|(block, _)| block);
        debug_assert!(victim.is_none_or(|b| table.is_candidate(b)), "{victim:?} is not sealed");
        victim
    }

    fn save(&self, _table: &BlockTable, bytes: &mut Vec<u8>) {
        for walk in &self.walks {
            let at = walk.at.map_or(u64::MAX, |block| u64::from(block.0));
            let counts = [walk.passed, walk.gained].map(u64::from);
            memory::put(bytes, [at, walk.bar.to_bits(), counts[0], counts[1]]);
        }
    }

    fn load(&mut self, bytes: &mut &[u8], table: &BlockTable, _clock: u64) -> Result<(), String> {
        for (pool, walk) in (0..).map(PoolId).zip(&mut self.walks) {
            let words = memory::take(bytes, 4)?;
            let sealed = |b: &BlockId| table.is_candidate(*b) && table.pool_of(*b) == pool;
            let at = table.of_pool(pool).filter(sealed).find(|b| u64::from(b.0) == words[0]);
            let (bar, passed, gained) = (f64::from_bits(words[1]), words[2], words[3]);
            // The last step raises the bar to 1 or beyond.
            let sound = (at.is_some() || words[0] == u64::MAX)
                && (0.0..=2.0).contains(&bar)
                && passed <= MOST_PASSED
                && gained < u64::from(table.pages_per_block);
            if !sound {
                return Err(format!("its victim policy cannot walk over pool {}", pool.0));
            }
            *walk = Walk { at, bar, passed: passed as u32, gained: gained as u32, ..*walk };
        }
        Ok(())
    }

    fn candidates(&self, pool: PoolId, table: &BlockTable, _clock: u64) -> Vec<BlockId> {
        let (mut rest, mut candidates) = (self.clone(), Vec::new());
        while let Some((block, _)) = rest.find(pool, table, |_| true) {
            rest.take(block, table);
            candidates.push(block);
        }
        debug_assert!(
            candidates.iter().all(|&b| table.invalid(b) > 0),
            "{candidates:?} gain nothing"
        );
        candidates
    }
}
