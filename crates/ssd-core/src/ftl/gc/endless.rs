//! Detects endless collection before a run begins: the data left by preconditioning are enough to make the triggers
//! hold, so collection stops only when no invalid page is left.
//!
//! The amount of live data after the fill is known exactly: `fill` of the logical pages, whatever is overwritten later.
//! In the best possible state these pages occupy as few blocks as possible, and nothing else is used. If the triggers
//! hold there (`Demands::outlast`), they always hold. A policy that takes the block with the most invalid pages then
//! moves nearly a whole block for each page the host writes. A policy that takes blocks without invalid pages before
//! others, such as FIFO, moves half of the pool or more: that is refused above [`MOST_COPIES`]. Where the reserve
//! chooses, it takes the block that greedy would take, and the cost is one block.

use super::Demands;
use super::trigger::SpaceView;
use super::victim::{Victim, VictimPolicy};
use crate::config::{Amount, Config};
use crate::ftl::blocks::{BlockState, BlockTable};
use crate::ftl::plugs::Plugs;
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// A device whose preconditioning alone makes its triggers hold.
pub(crate) struct EndlessCollection {
    live_share: f64,
    /// Erased blocks of a pool in the best state, and all blocks that are not bad.
    free: u64,
    blocks: u64,
    /// Page copies for each page that the host writes, where the policy names every victim.
    copies: u64,
    pages: u64,
}

/// The endless collection that `config` leads to; `None` if collection can satisfy its triggers, or if that is unknown.
pub(crate) fn of(config: &Config) -> Option<EndlessCollection> {
    let live = (config.logical_pages() as f64 * config.precondition.fill).floor() as u64;
    if config.precondition.snapshot.is_some() || live == 0 {
        return None;
    }
    let pages = config.pages_per_unit();
    let bad = config.bad_units_by_pool();
    let worst = bad.iter().copied().max().unwrap_or(0);
    let blocks = config.units_per_pool().checked_sub(worst)?;
    let good = (config.units_per_pool() * config.pools()).checked_sub(bad.iter().sum())?;
    let pool_live = live / config.pools();
    let free = blocks.checked_sub(pool_live.div_ceil(pages))?;
    assert!(free <= blocks && blocks > 0, "{free} of {blocks} blocks are erased");
    assert!(
        blocks * config.pools() <= good,
        "the pool with the most bad blocks is not the smallest"
    );
    let best = SpaceView {
        pool: PoolId(0),
        clock: 0,
        free_blocks: u32::try_from(free).ok()?,
        blocks: u32::try_from(blocks).ok()?,
        pool_used_pages: pool_live,
        pool_pages: blocks * pages,
        used_pages: live,
        pages: good * pages,
        idle_for: None,
        read_waits: true,
        write_waits: true,
    };
    if !Demands::new(&config.gc, &Plugs::default()).outlast(&best) {
        return None;
    }
    // At rest every frontier has an open block. A choice at the reserve that frees nothing does not count.
    let open = u64::from(config.alloc.classes().all) * config.open_units_per_frontier();
    let at_reserve = free.saturating_sub(open) <= u64::from(config.gc.reserve);
    let takes = expected_victims(config, blocks)?;
    let until_met = config.gc.amount == Amount::UntilSatisfied;
    Some(EndlessCollection {
        live_share: live as f64 / best.pages as f64,
        free,
        blocks,
        copies: if until_met && !at_reserve { takes * pages } else { pages },
        pages,
    })
}

/// Page copies per host page beyond which a configuration is refused: it cannot be intended, and preconditioning even a
/// small device takes minutes to hours.
const MOST_COPIES: u64 = 1000;
/// Largest number of blocks in the pool on which a policy is tried.
const TRIED: u64 = 512;
/// Number of trials: some policies draw at random.
const TRIALS: u64 = 8;

/// How many of `blocks` sealed blocks the policy takes until it reaches the only one with an invalid page, which is in
/// the middle. `None` if it takes none: such a policy decides itself when to stop.
fn expected_victims(config: &Config, blocks: u64) -> Option<u64> {
    let mut rng = Stream::new(config.run.seed, "trial");
    let tried = blocks.min(TRIED) as u32;
    let victims =
        (0..TRIALS).try_fold(0, |sum, _| Some(sum + one_trial(config, tried, &mut rng)?))?;
    assert!(victims <= TRIALS * u64::from(tried), "a trial took more blocks than there are");
    Some((victims * blocks / u64::from(tried) / TRIALS).max(1))
}

fn one_trial(config: &Config, tried: u32, rng: &mut Stream) -> Option<u64> {
    let mut table = BlockTable::new(1, tried, config.pages_per_unit() as u16);
    let pages = table.pages_per_block;
    for block in 0..tried as usize {
        (table.valid[block], table.fill[block].bound) = (pages, pages);
        (table.state[block], table.seal_order[block]) = (BlockState::Sealed, block as u64);
    }
    let target = BlockId(tried / 2);
    table.valid[target.at()] -= 1;
    let mut policy = Victim::build(&config.gc.victim, &table);
    policy.init(&table, 0);
    for (victims, order) in (1..=u64::from(tried)).zip(u64::from(tried)..) {
        let block = policy.select(PoolId(0), &table, 0, rng)?;
        assert!(table.is_candidate(block), "{block:?} is not sealed");
        if block == target {
            return Some(victims);
        }
        // Its pages are now in the block that was sealed last.
        table.state[block.at()] = BlockState::Collecting;
        policy.on_leave(block, &table);
        (table.state[block.at()], table.seal_order[block.at()]) = (BlockState::Sealed, order);
        policy.on_seal(block, &table, 0);
    }
    Some(u64::from(tried))
}

impl EndlessCollection {
    /// Whether it costs more than any device would.
    pub(crate) fn is_refused(&self) -> bool {
        debug_assert!(self.copies >= self.pages, "a victim is less than a block: {}", self.copies);
        self.copies > MOST_COPIES.max(self.pages)
    }

    /// Why the triggers hold.
    fn cause(&self) -> String {
        debug_assert!(
            self.free <= self.blocks,
            "{} of {} blocks are erased",
            self.free,
            self.blocks
        );
        format!(
            "the data of precondition.fill are {:.1} % of the pages and leave at most {} of {} blocks of a \
             pool erased, so that the triggers hold even when nothing is left to collect",
            100.0 * self.live_share,
            self.free,
            self.blocks
        )
    }

    /// Why it is refused.
    pub(crate) fn refusal(&self, victim: &str) -> String {
        debug_assert!(
            self.is_refused(),
            "{} copies per page are not a reason to refuse",
            self.copies
        );
        format!(
            "collection would never end: {}, and gc.victim = {victim:?} takes blocks without invalid pages, \
             about {} page copies for each page the host writes; use a trigger that can be met, another \
             victim policy, gc.amount = \"one\", or more device.over_provisioning",
            self.cause(),
            self.copies
        )
    }

    /// The warning before a run that is not refused.
    pub(crate) fn warning(&self) -> String {
        format!(
            "the triggers of gc.trigger will never be met: {}; the victim policy hardly matters then, and every \
             page the host writes costs up to {} page copies",
            self.cause(),
            self.copies
        )
    }
}
