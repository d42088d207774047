//! What the functional executor counts.

use crate::metrics::counters::SlcCounts;

/// What the functional executor counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Host pages written.
    pub host_pages: u64,
    /// Pages copied by collection.
    pub gc_pages: u64,
    /// Blocks collected.
    pub victims: u64,
    /// Of these, at the reserve or at a trigger's hard watermark.
    pub foreground: u64,
    /// Of these, chosen by the reserve's greedy rule.
    pub by_reserve: u64,
    /// Victims for a demand that collection cannot meet.
    pub unmet: u64,
    /// Victims that the policy chose for a demand that can be met.
    pub decided: u64,
    /// Valid pages of all victims.
    pub victim_valid: u64,
    /// Blocks collected by static wear levelling.
    pub levelled: u64,
    /// Pages copied by it.
    pub wear_pages: u64,
    /// SLC blocks.
    pub slc: SlcCounts,
    /// Pages copied by folding them.
    pub fold_pages: u64,
    /// Pages programmed for copies.
    pub remap_pages: u64,
    /// Pages read for them.
    pub remap_reads: u64,
    /// Pages that were read because the host wrote only a part of them.
    pub rests_read: u64,
}

impl Tally {
    /// Pages programmed for any reason.
    #[must_use]
    pub const fn programs(&self) -> u64 {
        self.host_pages + self.gc_pages + self.wear_pages + self.fold_pages + self.remap_pages
    }
}
