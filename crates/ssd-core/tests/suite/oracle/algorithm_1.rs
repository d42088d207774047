//! Algorithm 1 of the invalidation-rate paper (Electronics 2023, 12, 2142), to the letter: a block status table, a
//! victim block list, and a sort of the whole list for every choice.

use ssd_core::ftl::blocks::BlockTable;
use ssd_core::plug::PolicySpec;
use ssd_core::units::BlockId;
use std::cmp::Ordering;

/// Times of the first and the newest invalid page of a block.
type Status = Option<(u64, u64)>;

pub(crate) struct Algorithm1 {
    spec: PolicySpec,
    status: Vec<Status>,
    list: Vec<BlockId>,
}

impl Algorithm1 {
    pub(crate) fn new(spec: &PolicySpec, blocks: usize) -> Algorithm1 {
        Algorithm1 { spec: spec.clone(), status: vec![None; blocks], list: vec![] }
    }

    fn now(&self, table: &BlockTable, clock: u64) -> u64 {
        if self.spec.word("time") == "pages" { clock } else { table.now.0 }
    }

    /// Nothing is known of the past: pages already invalid count as invalidated now.
    pub(crate) fn restart(&mut self, table: &BlockTable, clock: u64) {
        *self = Algorithm1::new(&self.spec, self.status.len());
        for block in (0..table.len() as u32).map(BlockId).filter(|&b| table.is_candidate(b)) {
            self.sealed(block, table, clock);
        }
    }

    /// Steps 2 and 3: an invalid page is created inside the block.
    pub(crate) fn invalid_page(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        let now = self.now(table, clock);
        let first = self.status[block.at()].map_or(now, |(first, _)| first);
        self.status[block.at()] = Some((first, now));
        self.look_at(block, table);
    }

    pub(crate) fn sealed(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        if table.invalid(block) > 0 && self.status[block.at()].is_none() {
            let now = self.now(table, clock);
            self.status[block.at()] = Some((now, now));
        }
        self.look_at(block, table);
    }

    fn look_at(&mut self, block: BlockId, table: &BlockTable) {
        let (invalid, pages) =
            (u128::from(table.invalid(block)), u128::from(table.pages_per_block));
        let ratio = (self.spec.real("ratio") * 1e9).round() as u128;
        let enters =
            table.is_candidate(block) && invalid > 0 && invalid * 1_000_000_000 >= ratio * pages;
        if enters && !self.list.contains(&block) {
            self.list.push(block);
        }
    }

    pub(crate) fn leaves(&mut self, block: BlockId) {
        self.status[block.at()] = None;
        self.list.retain(|&other| other != block);
    }

    /// Equation 1 without the number of pages, which is common to all blocks, as a fraction; `None` is infinite.
    fn rate(&self, block: BlockId, table: &BlockTable, clock: u64) -> Option<(u128, u128)> {
        let (first, newest) = self.status[block.at()].expect("a listed block has invalid pages");
        let until = if self.spec.word("clock") == "now" { self.now(table, clock) } else { newest };
        match (table.invalid(block) - 1, until - first) {
            (0, _) => Some((0, 1)),
            (_, 0) => None,
            (more, span) => Some((u128::from(more), u128::from(span))),
        }
    }

    /// `PRIORITIZE_VICTIM_BLOCK`: sort by ascending rate, then move fully invalid blocks to the head.
    pub(crate) fn prioritized(&self, table: &BlockTable, clock: u64) -> Vec<BlockId> {
        let mut list = self.list.clone();
        list.sort();
        list.sort_by(|&a, &b| match (self.rate(a, table, clock), self.rate(b, table, clock)) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some((a, s)), Some((b, t))) => (a * t).cmp(&(b * s)),
        });
        if self.spec.word("fully_invalid") != "by-rate" {
            list.sort_by_key(|&b| table.valid[b.at()] > 0);
        }
        list
    }
}
