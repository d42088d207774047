//! Second chance: a pointer walks the blocks in the order of sealing and takes those with few enough valid pages.
//!
//! Source: the "2R-FIFO" collector of SSD-iq (Haas, Lee, Bonnet and Leis, "SSD-iq: uncovering the hidden side of SSD
//! performance", PVLDB 18(11), 2025; github.com/gabriel-haas/ssdiq, commit 9aae7a3, in words only). A block whose share
//! of valid pages is below the bar is taken, others are passed over. After a part of the list without one the pointer
//! goes back to the first block and the bar rises by a step; it falls back when as many invalid pages as a block has
//! were gained. Until that happens for the first time, the bar is 0.5. Blocks filled with copies stand together: one is
//! put behind the last of them.
//! Where it is silent, decided: the first block with copies becomes the first of the list. Blocks with copies are those
//! of every class but the first where pages are separated (`alloc.separation`), and none elsewhere. The bar ends at 1:
//! a fully valid block is never taken. Shares are compared as whole pages, rounded up. `init` lists all blocks in the
//! order of sealing, those with copies first.
//! Index: a linked queue for each pool; a choice walks over the blocks that it passes over.

use super::VictimPolicy;
use super::queue::Queue;
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

/// The bar of the first turn.
const FIRST_BAR: f64 = 0.5;

/// What is kept of a pool.
#[derive(Clone)]
struct Walk {
    /// The block at which the pointer stands; the end of the list without one.
    at: Option<BlockId>,
    /// The last block with copies.
    copies: Option<BlockId>,
    blocks: u32,
    bar: f64,
    /// Invalid pages gained since the bar fell back.
    gained: u32,
}

/// The list and the pointer.
pub struct Policy {
    list: Queue,
    walks: Vec<Walk>,
    bar: f64,
    step: f64,
    part: f64,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, table: &BlockTable) -> Policy {
        let walk = Walk { at: None, copies: None, blocks: 0, bar: FIRST_BAR, gained: 0 };
        assert!(spec.real("step") > 0.0, "the bar never rises");
        Policy {
            list: Queue::new(table),
            walks: vec![walk; table.pools() as usize],
            bar: spec.real("bar"),
            step: spec.real("step"),
            part: spec.real("part"),
        }
    }

    fn add(&mut self, block: BlockId, table: &BlockTable) {
        let walk = &mut self.walks[table.pool_of(block).at()];
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        if table.origins.is_empty() || table.origin(block).class == 0 {
            self.list.push(block, table);
        } else {
            self.list.insert(block, walk.copies, table);
            walk.copies = Some(block);
        }
        walk.blocks += 1;
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        self.list = Queue::new(table);
        for walk in &mut self.walks {
            *walk = Walk { at: None, copies: None, blocks: 0, bar: FIRST_BAR, gained: 0 };
        }
        let blocks = (0..table.len() as u32).map(BlockId);
        let mut sealed: Vec<BlockId> = blocks.filter(|&b| table.is_candidate(b)).collect();
        sealed.sort_unstable_by_key(|&b| (table.seal_order[b.at()], b));
        for block in sealed {
            self.add(block, table);
        }
        debug_assert_eq!(self.walks.len(), table.pools() as usize, "pools of another table");
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        self.add(block, table);
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        let walk = &mut self.walks[table.pool_of(block).at()];
        if walk.at == Some(block) {
            walk.at = self.list.after(block);
        }
        if walk.copies == Some(block) {
            walk.copies = self.list.before(block);
        }
        self.list.remove(block, table);
        walk.blocks -= 1;
        walk.gained += u32::from(table.invalid(block));
        if walk.gained >= u32::from(table.pages_per_block) {
            (walk.gained, walk.bar) = (0, self.bar);
        }
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        let walk = &mut self.walks[pool.at()];
        let most = (self.part * f64::from(walk.blocks)) as u32;
        loop {
            let bar = walk.bar.min(1.0);
            let below = (bar * f64::from(table.pages_per_block)).ceil() as u16;
            // At the highest bar every block is looked at.
            let mut left = if bar < 1.0 { most } else { 2 * walk.blocks };
            while left > 0 {
                let at = walk.at.or_else(|| self.list.first(pool))?;
                if table.valid[at.at()] < below {
                    walk.at = Some(at);
                    debug_assert!(table.is_candidate(at), "{at:?} is not sealed");
                    return Some(at);
                }
                walk.at = self.list.after(at);
                left -= 1;
            }
            if bar >= 1.0 {
                return None;
            }
            (walk.at, walk.bar) = (None, bar + self.step);
            debug_assert!(walk.bar > bar, "the bar does not rise");
        }
    }
}
