//! Deferred GC: writes that would make their chip collect go to a chip of another parity group.
//!
//! Paper: Liang et al., "Boosting Performance of SSD with Chip-level RAID by Deferring Garbage Collection", IEICE
//! Electronics Express 2018, section 4.3: a chip whose free pages are fewer than its pending writes (C_r < C_w) warns;
//! warned writes are redirected until C_r = C_w. A target is in another parity group, and its estimated completion
//! time plus one write is not after the estimated arrival of the next request for it (CT + write <= AT).
//! Where it is silent, decided:
//! - C_r counts the programs that may start before the trigger of the chip holds, C_w those that wait in its queue
//!   (with `planned` also those of updates that read or wait for room), including parity; the oldest writes are
//!   redirected first, each at most once;
//! - a target has room for one more (C_r > C_w itself), is not being collected, and holds no page of the write's own
//!   group, redirected ones included: otherwise one lost chip could take two pages of a group, which the paper
//!   overlooks;
//! - at most `foreign` of the pages of a chip hold data whose home is elsewhere, because collection never moves them
//!   back;
//! - among several targets the one with the earliest completion time, then the lowest number, takes the write; without
//!   a target it stays, and its chip collects.

use super::{Chip, RedirectPolicy, Write};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};

/// Registry entry of this redirection.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "deferred-gc",
    summary: "writes that would make their chip collect go to an idle chip of another parity group",
    paper: "Liang et al., IEICE Electronics Express 2018, section 4.3",
    params: &[
        ParamInfo {
            name: "foreign",
            kind: ParamKind::Ratio(0.0, 1.0),
            default: Some("0.05"),
            doc: "largest share of the pages of a chip that hold redirected data",
        },
        ParamInfo {
            name: "planned",
            kind: ParamKind::Bool,
            default: Some("false"),
            doc: "programs of updates that read or wait for room count as waiting, too",
        },
    ],
};

/// The cap on redirected data, and what counts as waiting.
pub struct Policy {
    foreign: f64,
    planned: bool,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec) -> Policy {
        let foreign = spec.real("foreign");
        assert!((0.0..=1.0).contains(&foreign), "the config layer has checked the share");
        Policy { foreign, planned: spec.flag("planned") }
    }

    fn takes(&self, chip: &Chip, write: &Write) -> bool {
        self.is_open(chip, write.group, write.takes_ns) && !write.members.contains(&chip.number)
    }
}

impl RedirectPolicy for Policy {
    fn warns(&self, home: &Chip) -> bool {
        debug_assert!(home.waiting <= u64::from(u32::MAX), "a queue without end: {home:?}");
        home.left < home.waiting
    }

    fn is_open(&self, chip: &Chip, group: u32, takes_ns: u64) -> bool {
        debug_assert!(chip.foreign <= chip.pages, "more data from elsewhere than pages: {chip:?}");
        debug_assert!(takes_ns < 1 << 62, "a program without end");
        let most = (self.foreign * chip.pages as f64) as u64;
        chip.group != group
            && !chip.collects
            && chip.left > chip.waiting
            && chip.foreign < most
            && chip.completion_ns + takes_ns <= chip.next_arrival_ns
    }

    fn counts_planned(&self) -> bool {
        self.planned
    }

    fn target(&self, write: &Write, chips: &[Chip]) -> Option<usize> {
        debug_assert!(!write.members.is_empty(), "a group without pages");
        let fit = chips.iter().enumerate().filter(|(_, chip)| self.takes(chip, write));
        fit.min_by_key(|(_, chip)| (chip.completion_ns, chip.number)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Chip = Chip {
        number: 4,
        group: 1,
        left: 10,
        waiting: 2,
        collects: false,
        completion_ns: 100,
        next_arrival_ns: u64::MAX,
        foreign: 0,
        pages: 100,
    };

    fn target(chips: &[Chip]) -> Option<usize> {
        let write = Write { group: 0, members: &[0, 1, 2, 7], takes_ns: 200 };
        Policy { foreign: 0.05, planned: false }.target(&write, chips)
    }

    #[test]
    fn a_target_meets_every_condition() {
        assert_eq!(target(&[FREE]), Some(0));
        let refused = [
            Chip { group: 0, ..FREE },
            Chip { number: 7, ..FREE },
            Chip { collects: true, ..FREE },
            Chip { left: 2, ..FREE },
            Chip { foreign: 5, ..FREE },
            Chip { next_arrival_ns: 299, ..FREE },
        ];
        for chip in refused {
            assert_eq!(target(&[chip]), None, "{chip:?}");
        }
        assert_eq!(target(&[Chip { next_arrival_ns: 300, ..FREE }]), Some(0));
    }

    #[test]
    fn the_earliest_completion_goes_first_then_the_lowest_number() {
        let at = |number, completion_ns| Chip { number, completion_ns, ..FREE };
        assert_eq!(target(&[at(6, 50), at(5, 40), at(4, 40)]), Some(2));
        assert_eq!(target(&[]), None);
    }

    #[test]
    fn a_chip_warns_when_more_writes_wait_than_may_start() {
        let policy = Policy { foreign: 0.05, planned: false };
        let warns = |left, waiting| policy.warns(&Chip { left, waiting, ..FREE });
        assert_eq!([warns(2, 2), warns(2, 3), warns(0, 0)], [false, true, false]);
    }
}
