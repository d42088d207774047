//! Invalidation rate: among the blocks with many invalid pages, the one with the lowest rate of invalidation,
//! since waiting for it saves the fewest copies.
//!
//! Paper: the invalidation-rate garbage collection paper, Electronics 2023, 12, 2142, equation 1 and algorithm 1: `rate
//! = ((N_invalid - 1) / N_total) / (T_c - T_f)`, where T_f and T_c are the times of the first and of the newest
//! invalidation in the block since its last erase. Blocks enter the list at a ratio of invalid pages; the list is
//! sorted by ascending rate; blocks without valid pages come first, in the order of their rates.
//! Where it is silent, decided: a block enters when it is sealed; one invalid page: rate 0; several at one time (one
//! TRIM): rate infinite; ties by lowest block id. Pages that were already invalid when the policy started (on a
//! preconditioned device) count as invalidated at its start. In functional mode the clock is the number of host pages
//! written.
//! Index: the list of each pool as a tree. Among blocks with equally many invalid pages the order does not change until
//! one of them loses a page, so an update takes O(log n), and a choice compares the first block of each count. All
//! comparisons are exact, by cross multiplication of integers.

use super::{VictimPolicy, memory};
use crate::ftl::blocks::BlockTable;
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Registry entry of the policy.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "invalidation-rate",
    summary: "the listed block with the lowest invalidation rate",
    paper: "Invalidation-rate garbage collection, Electronics 12:2142, 2023, equation 1, algorithm 1",
    params: &[
        ParamInfo {
            name: "ratio",
            kind: ParamKind::Ratio(0.0, 1.0),
            default: Some("0.7"),
            doc: "share of invalid pages at which a block enters the list (at least one page)",
        },
        ParamInfo {
            name: "clock",
            kind: ParamKind::Choice(&["last-invalidation", "now"]),
            default: Some("last-invalidation"),
            doc: "T_c of the rate: the newest invalidation in the block, so that a block without \
                  further invalidations keeps its rate, or the time of the choice",
        },
        ParamInfo {
            name: "fully_invalid",
            kind: ParamKind::Choice(&["head", "by-rate", "immediate"]),
            default: Some("head"),
            doc: "blocks without valid pages: at the head of the list, ordered by their rate, or \
                  collected at once, whatever the triggers say (section 4.2)",
        },
        ParamInfo {
            name: "time",
            kind: ParamKind::Choice(&["ns", "pages"]),
            default: Some("ns"),
            doc: "unit of T_c and T_f: simulated time (host pages in functional mode), or always \
                  host pages written so far",
        },
    ],
};

/// Whether the policy of `spec` measures rates over time rather than host pages.
pub(super) fn counts_time(spec: &PolicySpec) -> bool {
    spec.word("time") == "ns"
}

/// "No page has become invalid."
const NEVER: u64 = u64::MAX;

/// A listed block: its invalid pages, its rank among blocks with as many, its id.
type Entry = (u16, u64, BlockId);

/// A rate as the exact fraction `gain / span` (in units common to all blocks), with the criteria that precede and
/// follow it in the order of the list. The span of an infinite rate is 0.
#[derive(Clone, Copy)]
struct Rank {
    /// At the head of the list regardless of its rate.
    head: bool,
    gain: u64,
    span: u64,
    block: BlockId,
}

impl Rank {
    /// Whether `self` is collected before `other`.
    fn order(&self, other: &Rank) -> Ordering {
        debug_assert!(self.gain > 0 || self.span > 0, "{:?} has the rate 0 / 0", self.block);
        let product = |gain: u64, span: u64| u128::from(gain) * u128::from(span);
        other
            .head
            .cmp(&self.head)
            .then_with(|| product(self.gain, other.span).cmp(&product(other.gain, self.span)))
            .then_with(|| self.block.cmp(&other.block))
    }
}

/// Block status table and victim list.
pub struct Policy {
    /// Fewest invalid pages of a listed block.
    least_invalid: u16,
    pages: u16,
    /// Whether T_c is the time of the choice.
    until_now: bool,
    in_pages: bool,
    by_rate: bool,
    immediate: bool,
    /// T_f and T_c of each block; `NEVER` if it has no invalid page.
    first: Vec<u64>,
    newest: Vec<u64>,
    /// Invalid pages under which each block is listed; 0 if it is not listed.
    listed: Vec<u16>,
    list: Vec<BTreeSet<Entry>>,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, table: &BlockTable) -> Policy {
        let ppb = (spec.real("ratio") * 1e9 + 0.5) as u64;
        let invalid = (ppb * u64::from(table.pages_per_block)).div_ceil(1_000_000_000);
        let most = u64::from(table.pages_per_block);
        assert!(invalid <= most, "no block reaches {invalid} invalid pages of {most}");
        let fully_invalid = spec.word("fully_invalid");
        Policy {
            least_invalid: invalid.max(1) as u16,
            pages: table.pages_per_block,
            until_now: spec.word("clock") == "now",
            in_pages: !counts_time(spec),
            by_rate: fully_invalid == "by-rate",
            immediate: fully_invalid == "immediate",
            first: vec![NEVER; table.len()],
            newest: vec![NEVER; table.len()],
            listed: vec![0; table.len()],
            list: vec![BTreeSet::new(); table.pools() as usize],
        }
    }

    fn now(&self, table: &BlockTable, clock: u64) -> u64 {
        if self.in_pages { clock } else { table.now.0 }
    }

    /// Note that a page of `block` becomes invalid at `now`.
    #[inline(always)]
    fn note(&mut self, block: BlockId, now: u64) {
        debug_assert_ne!(now, NEVER, "{block:?} loses a page at no time");
        let first = &mut self.first[block.at()];
        debug_assert!(*first == NEVER || *first <= now, "{block:?} is from the future");
        let newest = self.newest[block.at()];
        debug_assert!(*first == NEVER || newest <= now, "{block:?} is from the future");
        *first = now.min(*first);
        self.newest[block.at()] = now;
    }

    /// The rank of `block` among those with `invalid` invalid pages: the lower the rate, the lower the rank.
    fn entry(&self, block: BlockId, invalid: u16) -> Entry {
        debug_assert!(
            invalid > 0 && invalid <= self.pages,
            "{block:?} has {invalid} invalid pages"
        );
        let (first, newest) = (self.first[block.at()], self.newest[block.at()]);
        debug_assert!(invalid <= 1 || first <= newest, "{block:?}: {first} to {newest}");
        let place = match invalid {
            // One invalid page means rate 0, whatever the times.
            1 => 0,
            _ if self.until_now => first,
            _ => u64::MAX - (newest - first),
        };
        (invalid, place, block)
    }

    fn enlist(&mut self, block: BlockId, table: &BlockTable) {
        let invalid = table.invalid(block);
        if invalid >= self.least_invalid {
            debug_assert_eq!(self.listed[block.at()], 0, "{block:?} is listed already");
            debug_assert_ne!(self.first[block.at()], NEVER, "{block:?} has lost no page");
            self.listed[block.at()] = invalid;
            let entry = self.entry(block, invalid);
            let is_new = self.list[table.pool_of(block).at()].insert(entry);
            assert!(is_new, "{block:?} is listed under {invalid} invalid pages already");
        }
    }

    fn strike(&mut self, block: BlockId, table: &BlockTable) {
        let invalid = std::mem::take(&mut self.listed[block.at()]);
        if invalid > 0 {
            let entry = self.entry(block, invalid);
            let was_there = self.list[table.pool_of(block).at()].remove(&entry);
            assert!(was_there, "{block:?} is listed under {invalid} invalid pages");
        }
    }

    fn rank(&self, (invalid, _, block): Entry, now: u64) -> Rank {
        debug_assert_eq!(self.listed[block.at()], invalid, "{block:?} is listed elsewhere");
        let until = if self.until_now { now } else { self.newest[block.at()] };
        let gain = u64::from(invalid) - 1;
        debug_assert!(gain == 0 || until >= self.first[block.at()], "{block:?} is from the future");
        // 0 / 0 is rate 0.
        let span = if gain == 0 { 1 } else { until - self.first[block.at()] };
        Rank { head: invalid == self.pages && !self.by_rate, gain, span, block }
    }

    /// The first block of the list of `pool`.
    fn best(&self, pool: PoolId, now: u64) -> Option<Rank> {
        let list = &self.list[pool.at()];
        let mut from = 0;
        let firsts = std::iter::from_fn(|| {
            let entry = *list.range((from, 0, BlockId(0))..).next()?;
            debug_assert!(entry.0 <= self.pages, "{entry:?} has more invalid pages than pages");
            from = entry.0 + 1;
            Some(self.rank(entry, now))
        });
        firsts.min_by(Rank::order)
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, clock: u64) {
        assert_eq!(self.listed.len(), table.len(), "blocks of another table");
        self.first.fill(NEVER);
        self.newest.fill(NEVER);
        self.listed.fill(0);
        self.list.iter_mut().for_each(BTreeSet::clear);
        for block in (0..table.len() as u32).map(BlockId).filter(|&b| table.is_candidate(b)) {
            self.on_seal(block, table, clock);
        }
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        if self.first[block.at()] == NEVER && table.invalid(block) > 0 {
            self.note(block, self.now(table, clock));
        }
        self.enlist(block, table);
    }

    #[inline(always)]
    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        debug_assert!(table.invalid(block) > 0, "{block:?} has lost no page");
        let now = self.now(table, clock);
        if table.invalid(block) < self.least_invalid {
            self.note(block, now);
            return;
        }
        self.strike(block, table);
        self.note(block, now);
        self.enlist(block, table);
    }

    fn on_invalidate_open(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        debug_assert!(!table.is_candidate(block), "{block:?} is sealed");
        self.note(block, self.now(table, clock));
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        let belongs = table.invalid(block) >= self.least_invalid;
        debug_assert_eq!(self.listed[block.at()] > 0, belongs, "{block:?} and the ratio disagree");
        self.strike(block, table);
        self.first[block.at()] = NEVER;
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        let best = self.best(pool, self.now(table, clock)).map(|rank| rank.block);
        debug_assert!(best.is_none_or(|b| table.is_candidate(b)), "{best:?} is not sealed");
        best
    }

    /// The list, sorted.
    fn candidates(&self, pool: PoolId, table: &BlockTable, clock: u64) -> Vec<BlockId> {
        let now = self.now(table, clock);
        let mut ranks: Vec<Rank> =
            self.list[pool.at()].iter().map(|&entry| self.rank(entry, now)).collect();
        ranks.sort_by(Rank::order);
        let sealed = |rank: &Rank| table.is_candidate(rank.block);
        debug_assert!(ranks.iter().all(sealed), "a block of the list of {pool:?} is not sealed");
        ranks.iter().map(|rank| rank.block).collect()
    }

    fn save(&self, table: &BlockTable, bytes: &mut Vec<u8>) {
        if !self.in_pages {
            return;
        }
        let times = self.first.iter().zip(&self.newest);
        let stamps = times
            .map(|(&first, &newest)| if first == NEVER { [NEVER; 2] } else { [first, newest] });
        memory::put(bytes, stamps.flatten());
        debug_assert_eq!(self.first.len(), table.len(), "blocks of another table");
    }

    fn load(&mut self, bytes: &mut &[u8], table: &BlockTable, clock: u64) -> Result<(), String> {
        let times = memory::take(bytes, 2 * table.len())?;
        for (block, times) in (0..).map(BlockId).zip(times.chunks_exact(2)) {
            let (first, newest) = (times[0], times[1]);
            let has_lost = !table.is_candidate(block) || table.invalid(block) > 0;
            let in_order = first <= newest && newest <= clock;
            let never = times == [NEVER; 2] && !(table.is_candidate(block) && has_lost);
            if !(in_order && has_lost || never) {
                return Err(format!("block {} lost pages from {first} to {newest}", block.0));
            }
            (self.first[block.at()], self.newest[block.at()]) = (first, newest);
        }
        self.listed.fill(0);
        self.list.iter_mut().for_each(BTreeSet::clear);
        let blocks = (0..table.len() as u32).map(BlockId);
        blocks.filter(|&b| table.is_candidate(b)).for_each(|block| self.enlist(block, table));
        Ok(())
    }

    fn orders_pools(&self) -> bool {
        true
    }

    /// The pool of the first block in the list of the whole device.
    fn first_pool(
        &self,
        pools: &mut dyn Iterator<Item = PoolId>,
        table: &BlockTable,
        clock: u64,
    ) -> Option<PoolId> {
        let now = self.now(table, clock);
        let best = pools.filter_map(|pool| self.best(pool, now)).min_by(Rank::order);
        best.map(|rank| table.pool_of(rank.block))
    }

    fn collects_at_once(&self) -> bool {
        self.immediate
    }

    fn at_once(&self, pool: PoolId) -> Option<BlockId> {
        let fully_invalid = (self.pages, 0, BlockId(0))..;
        let front = self.list[pool.at()].range(fully_invalid).next();
        debug_assert!(front.is_none_or(|entry| entry.0 == self.pages), "{front:?} has valid pages");
        front.filter(|_| self.immediate).map(|&(_, _, block)| block)
    }
}
