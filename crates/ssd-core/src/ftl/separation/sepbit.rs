//! SepBIT: pages are separated by when they are expected to be invalid, inferred from how long the data they replace
//! have lived.
//!
//! Paper: Wang, Jin, Lee, Zhang, Liu and Zhang, "Separating data via block invalidation time inference for write
//! amplification reduction in log-structured storage", FAST 2022, section 3.3, algorithm 1. Class 0: writes that
//! replace data younger than l; class 1: other writes; class 2: copies from class 0; classes 3, 4, 5: copies of data
//! younger than 4 l, than 16 l, and older. l is the mean lifespan, from the opening of a block to its collection, of
//! the last 16 collected blocks of class 0, and infinite before.
//! Where it is silent, decided: l is renewed once for every 16 such blocks, not after each; ages are counted in pages
//! written by the host. As in the paper's memory-saving form, what was written before the last `queue` writes counts as
//! old, and the length of that queue follows min(l, pages of the device), a write at a time: here only the length is
//! kept, and ages come from the last writes, 4 B a logical page. Data that the policy has not seen written are old.

use super::history::LastWrites;
use super::persistence::knows;
use super::{Classes, CollectedBlock, Ground, PageCopy, PageWrite, SeparationPolicy};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of SepBIT.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "sepbit",
    summary: "short-lived and other writes apart, copies by their age",
    paper: "Wang et al., Separating data via block invalidation time inference for write amplification reduction in \
            log-structured storage, FAST 2022",
    params: &[],
};

/// Collected blocks of class 0 over whose lifespans the mean is taken.
const BATCH: u64 = 16;

/// What SepBIT knows.
pub struct Policy {
    last: LastWrites,
    pages: u64,
    /// The mean lifespan of short-lived blocks.
    lifespan: Option<u64>,
    /// Lifespans since it was last renewed: their number and sum.
    batch: (u64, u64),
    /// Length of the queue of recent writes.
    queue: u64,
}

impl Policy {
    pub(super) fn build(_spec: &PolicySpec, ground: &Ground) -> Policy {
        let last = LastWrites::new(ground.pages);
        assert!(ground.pages_per_block > 0, "blocks without pages");
        Policy { last, pages: u64::from(ground.pages), lifespan: None, batch: (0, 0), queue: 0 }
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        Classes { host: 2, all: 6 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        let age = self.last.write(page.lpn, page.clock);
        debug_assert!(self.batch.0 < BATCH, "a batch of {:?} lifespans is not used", self.batch);
        let short = age.is_some_and(|age| {
            age < self.queue && self.lifespan.is_none_or(|lifespan| age < lifespan)
        });
        // This write enters the queue, and up to two leave it.
        let most = self.lifespan.unwrap_or(u64::MAX).min(self.pages);
        self.queue += 1;
        self.queue -= self.queue.saturating_sub(most).min(2);
        debug_assert!(self.queue <= page.clock + 1, "{page:?}: a queue of {}", self.queue);
        u32::from(!short)
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        if page.class == Some(0) {
            return 2;
        }
        let age = self.last.age(page.lpn, page.clock).unwrap_or(u64::MAX);
        let lifespan = self.lifespan.unwrap_or(u64::MAX);
        debug_assert!(page.class.is_none_or(|class| class < 6), "{page:?} is in no class");
        match age {
            _ if age < lifespan.saturating_mul(4) => 3,
            _ if age < lifespan.saturating_mul(16) => 4,
            _ => 5,
        }
    }

    fn on_collect(&mut self, block: &CollectedBlock) {
        if block.class != 0 {
            return;
        }
        assert!(block.opened <= block.clock, "{block:?} was opened later");
        let (number, sum) = (self.batch.0 + 1, self.batch.1 + (block.clock - block.opened));
        self.batch = (number, sum);
        if number == BATCH {
            self.lifespan = Some(sum / BATCH);
            self.batch = (0, 0);
        }
    }

    knows! { Policy: last, lifespan, batch, queue; given pages; if |policy| policy.batch.0 < BATCH }
}
