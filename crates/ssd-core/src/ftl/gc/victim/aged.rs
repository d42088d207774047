//! The best of the sealed blocks by `(1 - u) / u * age / weight`: shared by the policies that use ages.
//!
//! The value of a block changes with every host page, so no order over blocks lasts, but a bound does: no block of a
//! group is better than a block with the fewest valid pages, the greatest age and the least weight in the group would
//! be. The blocks of a pool are kept in slots, ordered by the clock from which their age counts, and 32 neighbouring
//! slots form a group. So the blocks of a group have nearly the same age, and the bound is tight. Slots are only ever
//! appended and emptied; when they run out, the rest moves up.
//!
//! An invalidation is one `min` (if it resets the age, also a move to the last slot). A choice computes the bound of
//! each group and examines only groups whose bound is not below the best block found so far. Every comparison is exact,
//! in integers.

use super::groups::NONE;
use super::memory;
use crate::ftl::blocks::BlockTable;
use crate::plug::{ParamInfo, ParamKind, PolicySpec};
use crate::units::{BlockId, PoolId};
use std::cmp::Ordering;

/// The parameter that selects the start of an age.
pub(super) const AGE: ParamInfo = ParamInfo {
    name: "age",
    kind: ParamKind::Choice(&["seal", "invalidation"]),
    default: Some("seal"),
    doc: "start of the age, in host pages: the seal of the block, or its last invalidation since \
          then (the seal if there was none)",
};

/// Slots of a group.
const GROUP: usize = 32;
/// An empty slot; the slot of a block that has none.
const EMPTY: u32 = u32::MAX;

/// Value of a block, as an exact fraction `gain / cost`.
#[derive(Clone, Copy)]
struct Value {
    valid: u16,
    /// `(pages - valid) * age`, below 2^64 as ages are below 2^48.
    gain: u64,
    /// `max(valid, 1) * weight`, at most 2^48.
    cost: u64,
}

impl Value {
    fn better(&self, other: &Value) -> Ordering {
        debug_assert!(self.cost > 0 && other.cost > 0, "a block costs nothing");
        (self.valid == 0)
            .cmp(&(other.valid == 0))
            .then_with(|| {
                let product = |gain: u64, cost: u64| u128::from(gain) * u128::from(cost);
                product(self.gain, other.cost).cmp(&product(other.gain, self.cost))
            })
            .then_with(|| other.valid.cmp(&self.valid))
    }
}

/// An upper bound on the blocks of a group. It may be too high after blocks have left.
#[derive(Clone, Copy)]
struct Bound {
    oldest: u64,
    lightest: u64,
    least: u16,
}

const NOBODY: Bound = Bound { oldest: u64::MAX, lightest: u64::MAX, least: NONE };

impl Bound {
    fn with(self, stamp: u64, weight: u64, valid: u16) -> Bound {
        debug_assert!(valid != NONE && weight > 0, "{valid} valid pages of weight {weight}");
        Bound {
            oldest: self.oldest.min(stamp),
            lightest: self.lightest.min(weight),
            least: self.least.min(valid),
        }
    }
}

/// Index over the sealed blocks.
pub(super) struct AgeIndex {
    /// Block in each slot; the slots of a pool are a range of whole groups.
    slots: Vec<u32>,
    /// Slot of each block.
    slot_of: Vec<u32>,
    /// Next slot of each pool.
    end: Vec<usize>,
    bounds: Vec<Bound>,
    /// Clock from which the age of each sealed block counts.
    stamp: Vec<u64>,
    slots_per_pool: usize,
    since_invalidation: bool,
    by_erases: bool,
    pages: u16,
}

impl AgeIndex {
    /// `by_erases`: the weight of a block is its erase count plus one; otherwise it is 1.
    pub(super) fn new(spec: &PolicySpec, table: &BlockTable, by_erases: bool) -> AgeIndex {
        assert!(table.pages_per_block < NONE, "valid counts need one value for \"no block\"");
        let blocks = table.blocks_per_pool() as usize;
        let slots_per_pool = (blocks + blocks / 4 + 1).next_multiple_of(GROUP);
        let slots = slots_per_pool * table.pools() as usize;
        assert!(slots < EMPTY as usize, "slots are numbered in 32 bits");
        AgeIndex {
            slots: vec![EMPTY; slots],
            slot_of: vec![EMPTY; table.len()],
            end: (0..table.pools() as usize).map(|pool| pool * slots_per_pool).collect(),
            bounds: vec![NOBODY; slots / GROUP],
            stamp: vec![0; table.len()],
            slots_per_pool,
            since_invalidation: spec.word("age") == "invalidation",
            by_erases,
            pages: table.pages_per_block,
        }
    }

    /// The table keeps no clocks, so the age of every block counts from now.
    pub(super) fn init(&mut self, table: &BlockTable, clock: u64) {
        self.rebuild(table, |_| clock);
    }

    /// Append the clock from which the age of each block counts; 0 for blocks that are not candidates.
    pub(super) fn save(&self, table: &BlockTable, bytes: &mut Vec<u8>) {
        let blocks = (0..table.len()).map(|b| (BlockId(b as u32), self.stamp[b]));
        memory::put(bytes, blocks.map(|(b, stamp)| if table.is_candidate(b) { stamp } else { 0 }));
    }

    /// Restore the clocks that [`AgeIndex::save`] has appended.
    pub(super) fn load(
        &mut self,
        bytes: &mut &[u8],
        table: &BlockTable,
        clock: u64,
    ) -> Result<(), String> {
        let stamps = memory::take(bytes, table.len())?;
        if let Some(block) = stamps.iter().position(|&stamp| stamp > clock) {
            let stamp = stamps[block];
            return Err(format!("the age of block {block} counts from {stamp}, after {clock}"));
        }
        self.rebuild(table, |block| stamps[block.at()]);
        Ok(())
    }

    /// Rebuild the index; the age of each block counts from its `stamp`.
    fn rebuild(&mut self, table: &BlockTable, stamp: impl Fn(BlockId) -> u64) {
        assert_eq!(self.slot_of.len(), table.len(), "blocks of another table");
        assert_eq!(self.pages, table.pages_per_block, "blocks of another size");
        self.slots.fill(EMPTY);
        self.slot_of.fill(EMPTY);
        self.bounds.fill(NOBODY);
        let mut sealed: Vec<BlockId> =
            (0..table.len() as u32).map(BlockId).filter(|&b| table.is_candidate(b)).collect();
        sealed.sort_unstable_by_key(|&b| (stamp(b), table.seal_order[b.at()], b));
        for pool in 0..self.end.len() {
            self.end[pool] = pool * self.slots_per_pool;
        }
        let in_order = |&[a, b]: &[BlockId; 2]| stamp(a) <= stamp(b);
        debug_assert!(sealed.array_windows().all(in_order), "slots are out of order");
        for block in sealed {
            self.seal(block, table, stamp(block));
        }
    }

    pub(super) fn seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        let pool = table.pool_of(block).at();
        if self.end[pool] == (pool + 1) * self.slots_per_pool {
            self.move_up(pool, table);
        }
        self.append(block, pool, table, clock);
    }

    #[inline(always)]
    pub(super) fn invalidate(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        let slot = self.slot_of[block.at()] as usize;
        debug_assert_eq!(self.slots.get(slot), Some(&block.0), "{block:?} is not in its slot");
        if self.since_invalidation {
            // The bound of the group that it leaves stays until the group is next examined.
            self.slots[slot] = EMPTY;
            self.seal(block, table, clock);
        } else {
            let bound = &mut self.bounds[slot / GROUP];
            bound.least = bound.least.min(table.valid[block.at()]);
        }
    }

    pub(super) fn leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        let slot = std::mem::replace(&mut self.slot_of[block.at()], EMPTY) as usize;
        assert_eq!(self.slots.get(slot), Some(&block.0), "{block:?} is not in its slot");
        self.slots[slot] = EMPTY;
        let blocks = self.blocks(slot / GROUP);
        let before = self.bounds[slot / GROUP].least;
        self.bounds[slot / GROUP] = blocks.fold(NOBODY, |bound, b| self.raised(bound, b, table));
        debug_assert!(
            self.bounds[slot / GROUP].least >= before,
            "the bound was too low: {block:?}"
        );
    }

    pub(super) fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        clock: u64,
    ) -> Option<BlockId> {
        assert!(clock < 1 << 48, "ages are counted in 48 bits");
        let first = pool.at() * self.slots_per_pool / GROUP;
        let groups = first..self.end[pool.at()].div_ceil(GROUP);
        let start = groups
            .clone()
            .filter_map(|g| Some((g, self.bound(g, clock)?)))
            .reduce(|a, b| if b.1.better(&a.1).is_gt() { b } else { a })?
            .0;
        let mut best = self.best_of(start, table, clock, None);
        for group in groups.filter(|&g| g != start) {
            let Some(bound) = self.bound(group, clock) else { continue };
            if best.is_none_or(|(_, value)| bound.better(&value).is_ge()) {
                best = self.best_of(group, table, clock, best);
            }
        }
        let best = best.map(|(block, _)| BlockId(block as u32))?;
        assert_eq!(table.pool_of(best), pool, "{best:?} is in a slot of {pool:?}");
        debug_assert!(table.is_candidate(best), "{best:?} is not sealed");
        Some(best)
    }

    /// The sealed blocks of `pool` with an invalid page, best first.
    pub(super) fn sorted(&self, pool: PoolId, table: &BlockTable, clock: u64) -> Vec<BlockId> {
        let mut candidates: Vec<BlockId> = table
            .of_pool(pool)
            .filter(|&b| table.is_candidate(b) && table.invalid(b) > 0)
            .collect();
        let valued = |b: BlockId| (b.at(), self.value(b.at(), table, clock));
        candidates.sort_by(|&a, &b| before(valued(a), valued(b), table));
        candidates
    }

    fn append(&mut self, block: BlockId, pool: usize, table: &BlockTable, clock: u64) {
        let slot = self.end[pool];
        debug_assert!(slot < (pool + 1) * self.slots_per_pool, "pool {pool} has no slot left");
        debug_assert_eq!(self.slots[slot], EMPTY, "a slot for two blocks");
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        self.end[pool] += 1;
        self.slots[slot] = block.0;
        self.slot_of[block.at()] = slot as u32;
        self.stamp[block.at()] = clock;
        self.bounds[slot / GROUP] = self.raised(self.bounds[slot / GROUP], block.at(), table);
    }

    /// Close the gaps between the blocks of `pool`.
    fn move_up(&mut self, pool: usize, table: &BlockTable) {
        let slots = pool * self.slots_per_pool..(pool + 1) * self.slots_per_pool;
        assert_eq!(self.end[pool], slots.end, "pool {pool} has slots left");
        self.bounds[slots.start / GROUP..slots.end / GROUP].fill(NOBODY);
        self.end[pool] = slots.start;
        for slot in slots {
            let block = std::mem::replace(&mut self.slots[slot], EMPTY);
            if block != EMPTY {
                let clock = self.stamp[block as usize];
                self.append(BlockId(block), pool, table, clock);
            }
        }
        let used = self.end[pool] - pool * self.slots_per_pool;
        assert!(used <= table.blocks_per_pool() as usize, "a block has two slots");
    }

    /// The blocks of `group`, oldest first.
    fn blocks(&self, group: usize) -> impl Iterator<Item = usize> + use<> {
        let slots: [u32; GROUP] = self.slots[group * GROUP..][..GROUP].try_into().expect("a group");
        slots.into_iter().filter(|&b| b != EMPTY).map(|b| b as usize)
    }

    /// The better of `best` and the best block of `group`; tightens the group's bound again.
    fn best_of(
        &mut self,
        group: usize,
        table: &BlockTable,
        clock: u64,
        mut best: Option<(usize, Value)>,
    ) -> Option<(usize, Value)> {
        let mut bound = NOBODY;
        for b in self.blocks(group) {
            bound = self.raised(bound, b, table);
            let candidate = (b, self.value(b, table, clock));
            if best.is_none_or(|best| before(candidate, best, table).is_lt()) {
                best = Some(candidate);
            }
        }
        let former = self.bounds[group];
        debug_assert!(
            former.oldest <= bound.oldest && former.lightest <= bound.lightest,
            "the bound of group {group} was too low"
        );
        debug_assert!(former.least <= bound.least, "the bound of group {group} was too low");
        self.bounds[group] = bound;
        best
    }

    /// The `bound` of a group to which `block` is added.
    #[inline(always)]
    fn raised(&self, bound: Bound, block: usize, table: &BlockTable) -> Bound {
        bound.with(self.stamp[block], self.weight(block, table), table.valid[block])
    }

    #[inline(always)]
    fn weight(&self, block: usize, table: &BlockTable) -> u64 {
        if self.by_erases { u64::from(table.erases[block]) + 1 } else { 1 }
    }

    fn value(&self, block: usize, table: &BlockTable, clock: u64) -> Value {
        debug_assert!(clock >= self.stamp[block], "block {block} is from the future");
        debug_assert!(table.is_candidate(BlockId(block as u32)), "block {block} is not sealed");
        let age = clock - self.stamp[block];
        self.value_of(table.valid[block], age, self.weight(block, table))
    }

    fn bound(&self, group: usize, clock: u64) -> Option<Value> {
        let Bound { oldest, lightest, least } = self.bounds[group];
        debug_assert!(least == NONE || clock >= oldest, "group {group} is from the future");

        (least != NONE).then(|| self.value_of(least, clock - oldest, lightest))
    }

    #[inline(always)]
    fn value_of(&self, valid: u16, age: u64, weight: u64) -> Value {
        debug_assert!(valid <= self.pages, "{valid} valid pages in a block of {}", self.pages);
        debug_assert!(weight > 0, "a block without weight is better than any other");
        Value {
            valid,
            gain: u64::from(self.pages - valid) * age,
            cost: u64::from(valid.max(1)) * weight,
        }
    }
}

/// Whether `a` is chosen before `b`: better, otherwise sealed earlier, otherwise with the lower id.
fn before(a: (usize, Value), b: (usize, Value), table: &BlockTable) -> Ordering {
    b.1.better(&a.1)
        .then_with(|| table.seal_order[a.0].cmp(&table.seal_order[b.0]))
        .then_with(|| a.0.cmp(&b.0))
}
