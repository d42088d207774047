//! Host and copies: two regions by the origin of pages; one of them supplies the victims.
//!
//! Source: the "2R" collectors of SSD-iq (Haas, Lee, Bonnet and Leis, "SSD-iq: uncovering the hidden side of SSD
//! performance", PVLDB 18(11), 2025; github.com/gabriel-haas/ssdiq, commits 9aae7a3 and 9934924, in words only). The
//! region whose best block has fewer valid pages is cleaned until a block's worth of invalid pages has been gained,
//! unless the region has fewer invalid pages than that. Survivors fill blocks of the region of copies. `victims =
//! "any"` leaves victims to the victim policy alone, as the "2R-FIFO" collector does (victim policy `second-chance`).
//! Departs from it: there survivors are compacted within the victims, nothing is kept erased, and a victim that
//! survivors do not fill goes to the host, which fills it up: so some of its blocks mix both regions. Flash cannot be
//! written again before it is erased: here survivors are copied, and a block that they do not fill waits for the next
//! ones. A literal model of both is in tests/suite/two_regions.rs, and meets the collectors' results.
//! Where it is silent, decided: victims of all pools count together; with `gc.amount = "all-candidates"` they are of
//! any region. No history.

use super::persistence::knows;
use super::{
    ClassBlocks, Classes, CollectedBlock, Ground, PageCopy, PageWrite, SeparationPolicy,
    VictimScope,
};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::units::PoolId;

/// Registry entry of host and copies.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "host-and-copies",
    summary: "pages of the host, and copies, of which one region is cleaned after the other",
    paper: "Haas, Lee, Bonnet and Leis, SSD-iq: uncovering the hidden side of SSD performance, PVLDB 18(11), 2025 \
            (there 2R)",
    params: &[ParamInfo {
        name: "victims",
        kind: ParamKind::Choice(&["by-region", "any"]),
        default: Some("by-region"),
        doc: "victims of one region, until a block is gained; or of any",
    }],
};

const HOST: u32 = 0;
const COPIES: u32 = 1;

/// The region that is cleaned, and what is left to gain from it.
pub struct Policy {
    by_region: bool,
    pages_per_block: u64,
    region: u32,
    /// Invalid pages that are left to gain; 0 once a block has been gained.
    remaining: u64,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        assert!(ground.pages_per_block > 0, "blocks without pages");
        Policy {
            by_region: spec.word("victims") == "by-region",
            pages_per_block: u64::from(ground.pages_per_block),
            region: HOST,
            remaining: 0,
        }
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        debug_assert!(self.pages_per_block > 0, "blocks without pages");
        Classes { host: 1, all: 2 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        debug_assert!(
            page.replaces.is_none_or(|old| old.class <= Some(COPIES)),
            "{page:?} was in no region"
        );
        HOST
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        debug_assert!(page.class.is_none_or(|class| class <= COPIES), "{page:?} is in no region");
        COPIES
    }

    fn on_collect(&mut self, block: &CollectedBlock) {
        debug_assert!(block.class <= COPIES, "{block:?} is in no region");
        if self.remaining == 0 {
            self.remaining = self.pages_per_block;
        }
        self.remaining =
            self.remaining.saturating_sub(self.pages_per_block - u64::from(block.valid));
    }

    fn names_victims(&self) -> bool {
        self.by_region
    }

    fn victim_among(&mut self, _pool: PoolId, classes: &[ClassBlocks]) -> VictimScope {
        let [host, copies] = [HOST, COPIES].map(|class| classes[class as usize]);
        let least =
            |class: ClassBlocks| if class.sealed == 0 { u32::MAX } else { class.least_valid };
        let few = [host, copies].map(|class| class.invalid < self.pages_per_block);
        if self.remaining == 0 || few[self.region as usize] {
            self.region = match few {
                [false, false] if least(copies) <= least(host) => COPIES,
                [true, false] => COPIES,
                _ => HOST,
            };
        }
        debug_assert!(self.region <= COPIES, "there is no such region");
        if classes[self.region as usize].sealed == 0 {
            VictimScope::All
        } else {
            VictimScope::Class(self.region)
        }
    }

    knows! { Policy: region, remaining; given by_region, pages_per_block; if |policy| {
        policy.region <= COPIES && policy.remaining <= policy.pages_per_block
    } }
}
