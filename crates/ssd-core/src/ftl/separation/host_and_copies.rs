//! Host and copies: two regions by where pages come from, of which one gives the victims.
//!
//! Source: the "2R" collectors of SSD-iq (Haas, Lee, Bonnet and Leis, "SSD-iq: uncovering the hidden side of SSD
//! performance", PVLDB 18(11), 2025; github.com/gabriel-haas/ssdiq, commit 9aae7a3, in words only). The region whose
//! best block has fewer valid pages is cleaned, until as many invalid pages as a block has were gained; but not one with
//! fewer invalid pages than that. The survivors of these victims fill blocks of the region of copies; those that do not
//! fill one share a block with new pages of the host (`rest = "host"`). `victims = "any"` leaves victims to the victim
//! policy alone, as the "2R-FIFO" collector does (victim policy `second-chance`).
//! Departs from it: there survivors are compacted within the victims, so that nothing has to be kept erased. Here they
//! are copied, and which of them will not fill a block must be known when the first of these is: further victims are
//! expected to have as many valid pages as the present one.
//! Where it is silent, decided: the region of the host is cleaned where both are equal; victims of all pools count
//! together. No history.

use super::{Among, ClassBlocks, Classes, Collected, Copied, Ground, SeparationPolicy, Written};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::units::PoolId;

/// Registry entry of host and copies.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "host-and-copies",
    summary: "pages of the host, and copies, of which one region is cleaned after the other",
    paper: "Haas, Lee, Bonnet and Leis, SSD-iq: uncovering the hidden side of SSD performance, PVLDB 18(11), 2025 \
            (there 2R)",
    params: &[
        ParamInfo {
            name: "victims",
            kind: ParamKind::Choice(&["by-region", "any"]),
            default: Some("by-region"),
            doc: "victims of one region, until a block is gained; or of any",
        },
        ParamInfo {
            name: "rest",
            kind: ParamKind::Choice(&["host", "copies"]),
            default: Some("host"),
            doc: "open block of the copies that fill no block of their own when a block has been gained",
        },
    ],
};

const HOST: u32 = 0;
const COPIES: u32 = 1;

/// The region that is cleaned, and the victims by which a block is gained.
pub struct Policy {
    by_region: bool,
    rest: bool,
    pages_per_block: u64,
    region: u32,
    /// Invalid pages that are left to gain; none if a block has been gained.
    wanted: u64,
    /// Valid pages of these victims, and of the last of them.
    survivors: u64,
    newest: u64,
    /// How many of them have been copied, and where those of the present block go.
    copied: u64,
    class: u32,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        assert!(ground.pages_per_block > 0, "blocks without pages");
        Policy {
            by_region: spec.word("victims") == "by-region",
            rest: spec.word("rest") == "host",
            pages_per_block: u64::from(ground.pages_per_block),
            region: HOST,
            wanted: 0,
            survivors: 0,
            newest: 0,
            copied: 0,
            class: COPIES,
        }
    }

    /// Whether the next block of survivors will be full.
    fn fills(&self) -> bool {
        debug_assert!(self.newest <= self.pages_per_block, "{} valid pages", self.newest);
        let gain = (self.pages_per_block - self.newest).max(1);
        let total = self.survivors + self.wanted.div_ceil(gain) * self.newest;
        total >= self.copied + self.pages_per_block
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        Classes { host: u32::from(!self.rest), all: 2 }
    }

    fn of_write(&mut self, page: &Written) -> u32 {
        debug_assert!(
            page.replaces.is_none_or(|old| old.class <= Some(COPIES)),
            "{page:?} was in no region"
        );
        HOST
    }

    fn of_copy(&mut self, page: &Copied) -> u32 {
        debug_assert!(page.class.is_none_or(|class| class <= COPIES), "{page:?} is in no region");
        if self.copied.is_multiple_of(self.pages_per_block) {
            self.class = if self.rest && !self.fills() { HOST } else { COPIES };
        }
        self.copied += 1;
        self.class
    }

    fn on_collect(&mut self, block: &Collected) {
        debug_assert!(block.class <= COPIES, "{block:?} is in no region");
        if self.wanted == 0 {
            (self.wanted, self.survivors, self.copied) = (self.pages_per_block, 0, 0);
        }
        self.newest = u64::from(block.valid);
        self.survivors += self.newest;
        self.wanted = self.wanted.saturating_sub(self.pages_per_block - self.newest);
    }

    fn names_victims(&self) -> bool {
        self.by_region
    }

    fn victim_among(&mut self, _pool: PoolId, classes: &[ClassBlocks]) -> Among {
        let [host, copies] = [&classes[HOST as usize], &classes[COPIES as usize]];
        let few = |of: &ClassBlocks| of.invalid < self.pages_per_block;
        if self.wanted == 0 || few(&classes[self.region as usize]) {
            self.region = match (few(host), few(copies)) {
                (false, false) if copies.least_valid < host.least_valid => COPIES,
                (true, false) => COPIES,
                _ => HOST,
            };
        }
        debug_assert!(self.region <= COPIES, "there is no such region");
        if classes[self.region as usize].sealed == 0 {
            Among::All
        } else {
            Among::Class(self.region)
        }
    }
}
