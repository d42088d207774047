//! Windowed greedy: greedy among the blocks that were sealed first.
//!
//! Paper: Hu, Eleftheriou, Haas, Iliadis and Pletka, "Write amplification analysis in flash-based
//! solid state drives", SYSTOR 2009.
//! Where it is silent, decided: the window holds `ceil(window * blocks of the pool)` blocks, fewer
//! while fewer are sealed; `window` has nine decimals; ties go to the lowest id.
//! Index: a linked queue in the order of sealing, and greedy's minima over the blocks of the
//! window. An invalidation is one `min`; a leave moves one block into the window.

use super::VictimPolicy;
use super::groups::GroupMinima;
use super::queue::Queue;
use crate::ftl::blocks::BlockTable;
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};
use std::collections::BTreeSet;

/// Registry entry of windowed greedy.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "windowed-greedy",
    summary: "the block with the fewest valid pages among those that were sealed first",
    paper: "Hu, Eleftheriou, Haas, Iliadis and Pletka, Write amplification analysis in \
            flash-based solid state drives, SYSTOR 2009",
    params: &[ParamInfo {
        name: "window",
        kind: ParamKind::Ratio(1e-9, 1.0),
        default: Some("0.1"),
        doc: "length of the window, as a share of the pool's blocks",
    }],
};

/// Index of the windowed greedy policy.
pub struct Policy {
    /// Every sealed block; the first ones form the window.
    sealed: Queue,
    inside: Vec<bool>,
    least: GroupMinima,
    /// For each pool, the number of blocks in the window and the last of them.
    count: Vec<u32>,
    last: Vec<Option<BlockId>>,
    /// Blocks that a window holds.
    size: u32,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, table: &BlockTable) -> Policy {
        let ppb = (spec.real("window") * 1e9 + 0.5) as u64;
        let size = (ppb * u64::from(table.blocks_per_pool())).div_ceil(1_000_000_000);
        assert!(size <= u64::from(table.blocks_per_pool()), "a window of {size} blocks");
        Policy {
            sealed: Queue::new(table),
            inside: vec![false; table.len()],
            least: GroupMinima::new(table),
            count: vec![0; table.pools() as usize],
            last: vec![None; table.pools() as usize],
            size: size.max(1) as u32,
        }
    }

    fn enter(&mut self, block: BlockId, table: &BlockTable) {
        let pool = table.pool_of(block).at();
        debug_assert!(self.sealed.contains(block), "{block:?} enters the window and is not sealed");
        assert!(!self.inside[block.at()], "{block:?} enters the window twice");
        assert!(self.count[pool] < self.size, "{block:?} enters a window that is full");
        self.inside[block.at()] = true;
        self.last[pool] = Some(block);
        self.count[pool] += 1;
        self.least.lower(block, table);
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        self.sealed.rebuild(table, |_| true);
        self.inside.fill(false);
        self.last.fill(None);
        for pool in 0..table.pools() {
            self.count[pool as usize] = 0;
            for block in self.sealed.iter(PoolId(pool)).take(self.size as usize) {
                self.inside[block.at()] = true;
                self.last[pool as usize] = Some(block);
                self.count[pool as usize] += 1;
            }
        }
        self.least.init(table, &self.inside, true);
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        self.sealed.push(block, table);
        if self.count[table.pool_of(block).at()] < self.size {
            self.enter(block, table);
        }
    }

    #[inline(always)]
    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        if self.inside[block.at()] {
            self.least.lower(block, table);
        }
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        if !self.inside[block.at()] {
            self.sealed.remove(block, table);
            return;
        }
        let pool = table.pool_of(block).at();
        let last = self.last[pool].expect("a window with a block has a last one");
        assert!(self.count[pool] > 0, "{block:?} leaves an empty window");
        debug_assert!(self.inside[last.at()], "the window ends with {last:?}, which is outside");
        let entering = self.sealed.after(last);
        debug_assert!(entering.is_none_or(|b| !self.inside[b.at()]), "the window ends later");

        if last == block {
            self.last[pool] = self.sealed.before(block);
        }
        self.sealed.remove(block, table);
        self.inside[block.at()] = false;
        self.count[pool] -= 1;
        self.least.leave(block, table, &self.inside, true);
        if let Some(entering) = entering {
            self.enter(entering, table);
        }
        debug_assert_ne!(self.last[pool], Some(block), "the window ends with a block that left");
        debug_assert!(
            self.count[pool] == 0 || self.last[pool].is_some(),
            "a window without an end"
        );
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        let chosen = self.least.select(pool, table, &self.inside, true);
        debug_assert!(chosen.is_none_or(|b| table.is_candidate(b)), "{chosen:?} is not sealed");
        chosen
    }

    /// The blocks with an invalid page in the order in which they would be chosen while the window
    /// moves on.
    fn candidates(&self, pool: PoolId, table: &BlockTable, _clock: u64) -> Vec<BlockId> {
        let mut queue = self.sealed.iter(pool).map(|b| (table.valid[b.at()], b));
        let mut window: BTreeSet<_> = queue.by_ref().take(self.size as usize).collect();
        let mut chosen = Vec::new();
        while let Some((valid, block)) = window.pop_first() {
            if valid < table.pages_per_block {
                chosen.push(block);
            }
            window.extend(queue.next());
        }
        debug_assert!(queue.next().is_none(), "a sealed block never enters the window");
        chosen
    }
}
