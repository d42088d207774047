//! An index per class, for separation policies that name the class of a victim.
//!
//! Each class has its own instance of the victim policy, over a table in which only the blocks of the class are sealed.
//! So every policy, external ones included, chooses within a class as it would on a device without other blocks. One
//! more instance sees all blocks. A queue per class keeps the order of sealing. Only devices whose separation policy
//! asks for it pay for this: 27 bytes and the index of the policy for each block and class.

use super::queue::Queue;
use super::{Victim, VictimPolicy};
use crate::ftl::blocks::{BlockState, BlockTable};
use crate::ftl::separation::{ClassBlocks, VictimScope};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// The sealed blocks of one class.
struct Part {
    victim: Victim,
    table: BlockTable,
    sealed: Queue,
    /// By pool: the number of blocks, and their invalid pages.
    count: Vec<u32>,
    invalid: Vec<u64>,
}

/// A victim policy for all blocks and one for each class.
pub(in crate::ftl) struct VictimsByClass {
    whole: Victim,
    parts: Vec<Part>,
}

impl VictimsByClass {
    /// `build` creates a policy for blocks shaped like `table`; `classes` is their number.
    pub(in crate::ftl) fn new(
        classes: u32,
        table: &BlockTable,
        build: impl Fn(&BlockTable) -> Victim,
    ) -> VictimsByClass {
        assert!(classes > 0, "victims have no classes");
        assert_eq!(table.origins.len(), table.len(), "nobody notes the classes of blocks");
        let part = |_| {
            let pools = table.pools();
            let own = BlockTable::new(pools, table.blocks_per_pool(), table.pages_per_block);
            Part {
                victim: build(&own),
                sealed: Queue::new(&own),
                count: vec![0; pools as usize],
                invalid: vec![0; pools as usize],
                table: own,
            }
        };
        VictimsByClass { whole: build(table), parts: (0..classes).map(part).collect() }
    }

    /// The class of `block`; the last one for blocks that wear levelling has filled.
    fn class(&self, block: BlockId, table: &BlockTable) -> usize {
        let class = table.origin(block).class as usize;
        debug_assert!(class <= self.parts.len(), "{block:?} is of no class");
        class.min(self.parts.len() - 1)
    }

    fn part(&mut self, block: BlockId, table: &BlockTable) -> &mut Part {
        let class = self.class(block, table);
        debug_assert!(class < self.parts.len(), "{block:?} is of no class");
        &mut self.parts[class]
    }
}

impl Part {
    /// Copy the state of `block` to the table of the class.
    #[inline(always)]
    fn copy(&mut self, block: BlockId, table: &BlockTable) {
        let at = block.at();
        debug_assert_eq!(self.table.len(), table.len(), "blocks of another table");
        self.table.now = table.now;
        self.table.valid[at] = table.valid[at];
        self.table.state[at] = table.state[at];
    }

    /// `block` is sealed.
    fn adds(&mut self, block: BlockId, table: &BlockTable) {
        let (at, pool) = (block.at(), table.pool_of(block).at());
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        self.copy(block, table);
        self.table.fill[at] = table.fill[at];
        self.table.erases[at] = table.erases[at];
        self.table.seal_order[at] = table.seal_order[at];
        self.sealed.push(block, &self.table);
        debug_assert!(self.sealed.contains(block), "{block:?} is not in its class");
        self.count[pool] += 1;
        self.invalid[pool] += u64::from(table.invalid(block));
    }

    fn blocks(&self, pool: PoolId) -> ClassBlocks {
        let valid = self.sealed.iter(pool).map(|block| u32::from(self.table.valid[block.at()]));
        let (sealed, invalid) = (self.count[pool.at()], self.invalid[pool.at()]);
        debug_assert_eq!(self.sealed.iter(pool).count(), sealed as usize, "blocks, as counted");
        ClassBlocks { sealed, invalid, least_valid: valid.min().unwrap_or(0) }
    }

    /// Start over from the sealed blocks of `table`.
    fn clear(&mut self, table: &BlockTable) {
        assert_eq!(self.table.len(), table.len(), "blocks of another table");
        self.table.state.fill(BlockState::Free);
        self.table.now = table.now;
        self.sealed = Queue::new(&self.table);
        self.count.fill(0);
        self.invalid.fill(0);
    }
}

impl VictimPolicy for VictimsByClass {
    fn init(&mut self, table: &BlockTable, clock: u64) {
        self.whole.init(table, clock);
        self.parts.iter_mut().for_each(|part| part.clear(table));
        let blocks = (0..table.len() as u32).map(BlockId);
        let mut sealed: Vec<BlockId> = blocks.filter(|&b| table.is_candidate(b)).collect();
        sealed.sort_unstable_by_key(|&b| (table.seal_order[b.at()], b));
        assert!(sealed.is_empty() || !table.origins.is_empty(), "blocks have no classes");
        for block in sealed {
            self.part(block, table).adds(block, table);
        }
        self.parts.iter_mut().for_each(|part| part.victim.init(&part.table, clock));
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        self.whole.on_seal(block, table, clock);
        let part = self.part(block, table);
        part.adds(block, table);
        part.victim.on_seal(block, &part.table, clock);
    }

    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        self.whole.on_invalidate(block, table, clock);
        let part = self.part(block, table);
        part.copy(block, table);
        part.invalid[table.pool_of(block).at()] += 1;
        part.victim.on_invalidate(block, &part.table, clock);
    }

    fn on_invalidate_open(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        debug_assert!(!table.is_candidate(block), "{block:?} is sealed");
        self.whole.on_invalidate_open(block, table, clock);
        let part = self.part(block, table);
        part.copy(block, table);
        part.victim.on_invalidate_open(block, &part.table, clock);
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        self.whole.on_leave(block, table);
        let part = self.part(block, table);
        part.copy(block, table);
        part.sealed.remove(block, &part.table);
        let pool = table.pool_of(block).at();
        part.count[pool] -= 1;
        part.invalid[pool] -= u64::from(table.invalid(block));
        part.victim.on_leave(block, &part.table);
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        clock: u64,
        rng: &mut Stream,
    ) -> Option<BlockId> {
        debug_assert!(pool.0 < table.pools(), "there is no {pool:?}");
        self.whole.select(pool, table, clock, rng)
    }

    fn select_among(
        &mut self,
        among: VictimScope,
        pool: PoolId,
        table: &BlockTable,
        clock: u64,
        rng: &mut Stream,
    ) -> Option<BlockId> {
        debug_assert!(pool.0 < table.pools(), "there is no {pool:?}");
        match among {
            VictimScope::All => self.whole.select(pool, table, clock, rng),
            VictimScope::Oldest(class) => self.parts[class as usize].sealed.first(pool),
            VictimScope::Class(class) => {
                let part = &mut self.parts[class as usize];
                part.table.now = table.now;
                part.victim.select(pool, &part.table, clock, rng)
            }
        }
    }

    fn by_class(&self, pool: PoolId) -> Vec<ClassBlocks> {
        let classes: Vec<ClassBlocks> = self.parts.iter().map(|part| part.blocks(pool)).collect();
        debug_assert!(!classes.is_empty(), "victims of {pool:?} have no classes");
        classes
    }

    fn candidates(&self, pool: PoolId, table: &BlockTable, clock: u64) -> Vec<BlockId> {
        debug_assert!(pool.0 < table.pools(), "there is no {pool:?}");
        self.whole.candidates(pool, table, clock)
    }

    fn save(&self, table: &BlockTable, bytes: &mut Vec<u8>) {
        self.whole.save(table, bytes);
        self.parts.iter().for_each(|part| part.victim.save(&part.table, bytes));
    }

    fn load(&mut self, bytes: &mut &[u8], table: &BlockTable, clock: u64) -> Result<(), String> {
        self.whole.load(bytes, table, clock)?;
        self.parts.iter_mut().try_for_each(|part| part.victim.load(bytes, &part.table, clock))
    }

    fn orders_pools(&self) -> bool {
        debug_assert!(!self.parts.is_empty(), "victims have no classes");
        self.whole.orders_pools()
    }

    fn first_pool(
        &self,
        pools: &mut dyn Iterator<Item = PoolId>,
        table: &BlockTable,
        clock: u64,
    ) -> Option<PoolId> {
        debug_assert_eq!(table.len(), self.parts[0].table.len(), "blocks of another table");
        self.whole.first_pool(pools, table, clock)
    }

    fn collects_at_once(&self) -> bool {
        debug_assert!(!self.parts.is_empty(), "victims have no classes");
        self.whole.collects_at_once()
    }

    fn at_once(&self, pool: PoolId) -> Option<BlockId> {
        debug_assert!(pool.at() < self.parts[0].count.len(), "there is no {pool:?}");
        self.whole.at_once(pool)
    }
}
