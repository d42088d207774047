//! Host and copies: two regions by where pages come from, of which one gives the victims.
//!
//! Source: the "2R" collectors of SSD-iq (Haas, Lee, Bonnet and Leis, "SSD-iq: uncovering the hidden side of SSD
//! performance", PVLDB 18(11), 2025; github.com/gabriel-haas/ssdiq, commits 9aae7a3 and 9934924, in words only). The
//! region whose best block has fewer valid pages is cleaned, until as many invalid pages as a block has were gained;
//! but not one with fewer invalid pages than that. The survivors of these victims fill blocks of the region of copies.
//! Those that do not fill one are the rest: the host fills its block when that which it fills is full, and it is of the
//! host's region (`rest = "host"`). `victims = "any"` leaves victims to the victim policy alone, as the "2R-FIFO"
//! collector does (victim policy `second-chance`).
//! Departs from it: there survivors are compacted within the victims, so that nothing has to be kept erased. Here
//! they are copied, and which of them will not fill a block must be known when the first of these is: further
//! victims are expected to have as many valid pages as the present one.
//! Where it is silent, decided: victims of all pools count together. No history.

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
            doc: "copies that fill no block of their own when a block has been gained: in one that the host fills, or \
                  with other copies",
        },
    ],
};

const HOST: u32 = 0;
const COPIES: u32 = 1;
/// Copies that fill no block, and pages of the host.
const REST: u32 = 2;

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
    /// Pages in the open blocks of the host and of the rest.
    of_host: u64,
    of_rest: u64,
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
            of_host: 0,
            of_rest: 0,
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
        debug_assert!(self.pages_per_block > 0, "blocks without pages");
        Classes { host: 1, all: 3 }
    }

    fn of_write(&mut self, page: &Written) -> u32 {
        debug_assert!(
            page.replaces.is_none_or(|old| old.class <= Some(REST)),
            "{page:?} was in no region"
        );
        let rest = self.of_rest > 0 && self.of_host == 0 && self.wanted == 0;
        let filled = if rest { &mut self.of_rest } else { &mut self.of_host };
        *filled = (*filled + 1) % self.pages_per_block;
        if rest { REST } else { HOST }
    }

    fn of_copy(&mut self, page: &Copied) -> u32 {
        debug_assert!(page.class.is_none_or(|class| class <= REST), "{page:?} is in no region");
        if self.copied.is_multiple_of(self.pages_per_block) {
            self.class = if self.rest && !self.fills() { REST } else { COPIES };
        }
        self.copied += 1;
        if self.class == REST {
            self.of_rest = (self.of_rest + 1) % self.pages_per_block;
        }
        self.class
    }

    fn on_collect(&mut self, block: &Collected) {
        debug_assert!(block.class <= REST, "{block:?} is in no region");
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
        let [host, copies, rest] = [HOST, COPIES, REST].map(|class| classes[class as usize]);
        let least = |of: ClassBlocks| if of.sealed == 0 { u32::MAX } else { of.least_valid };
        let of_host = if least(rest) < least(host) { REST } else { HOST };
        let few = |invalid| invalid < self.pages_per_block;
        let few = [few(host.invalid + rest.invalid), few(copies.invalid)];
        if self.wanted == 0 || few[self.region as usize] {
            self.region = match few {
                [false, false] if least(copies) <= least(host).min(least(rest)) => COPIES,
                [true, false] => COPIES,
                _ => HOST,
            };
        }
        let class = if self.region == COPIES { COPIES } else { of_host };
        debug_assert!(self.region <= COPIES, "there is no such region");
        if classes[class as usize].sealed == 0 { Among::All } else { Among::Class(class) }
    }
}
