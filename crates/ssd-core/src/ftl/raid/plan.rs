//! What an update of a parity group reads and programs.
//!
//! Paper: Liang et al., IEICE Electronics Express 2018, section 3.1: the parity follows from the old data and the old
//! parity (read-modify-write, RMW) or from the pages that stay (reconstruct-write, RCW), whichever takes fewer
//! operations; section 3.3: RMW if both take as many, and a whole group is written without a read.
//! Where it is silent, decided: pages never written or trimmed count as zeros and are not read; a page that the
//! controller keeps costs no read; a page of which the host writes a part is read for its rest, and that read counts
//! for both; a TRIM is an update, as parity covers the page; a group without data has no parity.

use super::MOST_CHIPS;
use crate::config::ParityUpdate;

/// What the host does with one page of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Change {
    /// It stays.
    #[default]
    None,
    /// All of it is written.
    Whole,
    /// A part of it is written, the rest stays.
    Part,
    /// It is trimmed.
    Trim,
}

/// One page of a group before an update.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Before {
    /// It holds data (or parity).
    pub mapped: bool,
    /// The controller keeps it.
    pub kept: bool,
}

/// How the parity is updated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// No page stays: parity follows from what is written.
    Full,
    /// Read-modify-write.
    ReadModify,
    /// Reconstruct-write.
    Reconstruct,
    /// No data are left: nor is parity.
    Drop,
}

/// The pages that an update reads. Sets of positions in the group are bits, parity is the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How the parity is updated.
    pub method: Method,
    /// Pages read from flash.
    pub reads: u64,
    /// Pages, read or kept, whose contents the new parity is made of, beside what is written.
    pub sources: u64,
}

impl Plan {
    /// The update of a group by `changes` of its data, which were `data` before and had `parity`.
    #[must_use]
    pub fn new(update: ParityUpdate, changes: &[Change], data: &[Before], parity: Before) -> Plan {
        assert!(
            changes.len() == data.len() && data.len() < MOST_CHIPS,
            "a group of {}",
            data.len()
        );
        assert!(changes.iter().any(|&c| c != Change::None), "an update changes something");
        let parity_bit = 1u64 << data.len();
        debug_assert!(data.iter().all(|b| b.mapped || !b.kept), "a page without data is kept");
        let (mut written, mut stay, mut old, mut rest, mut kept) = (0u64, 0u64, 0u64, 0u64, 0u64);
        for (position, (before, &change)) in data.iter().zip(changes).enumerate() {
            let bit = |is: bool| u64::from(is) << position;
            written |= bit(matches!(change, Change::Whole | Change::Part));
            stay |= bit(before.mapped && change == Change::None);
            old |= bit(before.mapped && change != Change::None);
            rest |= bit(before.mapped && change == Change::Part);
            kept |= bit(before.kept);
        }
        if parity.kept {
            kept |= parity_bit;
        }
        debug_assert!(parity.mapped == (stay | old != 0), "parity without data, or the reverse");
        if written == 0 && stay == 0 {
            return Plan { method: Method::Drop, reads: 0, sources: 0 };
        }
        if stay == 0 {
            return Plan { method: Method::Full, reads: rest & !kept, sources: 0 };
        }
        let modify = old | parity_bit;
        let (rmw_reads, rcw_reads) = (modify & !kept, (stay | rest) & !kept);
        debug_assert_eq!(stay & old, 0, "a page both stays and changes");
        debug_assert_eq!(rest & !old, 0, "a page without data has a rest");
        let modifies = match update {
            ParityUpdate::Fewest => rmw_reads.count_ones() <= rcw_reads.count_ones(),
            ParityUpdate::ReadModify => true,
            ParityUpdate::Reconstruct => false,
        };
        if modifies {
            Plan { method: Method::ReadModify, reads: rmw_reads, sources: modify }
        } else {
            Plan { method: Method::Reconstruct, reads: rcw_reads, sources: stay }
        }
    }

    /// Whether the page at `position` is read.
    #[must_use]
    pub fn reads(&self, position: u32) -> bool {
        debug_assert!(position < 64, "there is no position {position}");
        self.reads >> position & 1 == 1
    }

    /// Whether the parity is made of the page at `position`, among others.
    #[must_use]
    pub fn has_source(&self, position: u32) -> bool {
        debug_assert!(position < 64, "there is no position {position}");
        self.sources >> position & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPPED: Before = Before { mapped: true, kept: false };

    fn of(changes: &[Change]) -> Plan {
        Plan::new(ParityUpdate::Fewest, changes, &vec![MAPPED; changes.len()], MAPPED)
    }

    /// `m` of `n` pages are written.
    fn first(m: usize, n: usize) -> Vec<Change> {
        (0..n).map(|i| if i < m { Change::Whole } else { Change::None }).collect()
    }

    #[test]
    fn rmw_reads_one_page_more_than_it_writes_and_rcw_those_that_stay() {
        for n in 1..16 {
            for m in 1..=n {
                let reads = of(&first(m, n)).reads.count_ones() as usize;
                assert_eq!(reads, if m == n { 0 } else { (m + 1).min(n - m) }, "{m} of {n}");
                let with = |update| Plan::new(update, &first(m, n), &vec![MAPPED; n], MAPPED);
                let rmw = with(ParityUpdate::ReadModify);
                let rcw = with(ParityUpdate::Reconstruct);
                if m < n {
                    assert_eq!(rmw.reads.count_ones() as usize, m + 1);
                    assert_eq!(rcw.reads.count_ones() as usize, n - m);
                } else {
                    assert_eq!([rmw, rcw].map(|plan| plan.method), [Method::Full; 2]);
                }
            }
        }
    }

    #[test]
    fn figure_3_of_the_paper() {
        // Groups of 4. W0 and W2 come to chips 0-3, W1 to chips 6 and 7.
        let (w0, w1, w2) = (of(&first(3, 3)), of(&first(1, 3)), of(&first(2, 3)));
        assert_eq!((w0.method, w0.reads.count_ones()), (Method::Full, 0));
        assert_eq!((w1.method, w1.reads.count_ones()), (Method::ReadModify, 2));
        assert_eq!((w2.method, w2.reads.count_ones()), (Method::Reconstruct, 1));
    }

    #[test]
    fn a_group_of_two_is_a_mirror() {
        let plan = of(&[Change::Whole]);
        assert_eq!(plan, Plan { method: Method::Full, reads: 0, sources: 0 });
    }

    #[test]
    fn what_was_never_written_or_is_kept_is_not_read() {
        let (none, kept) = (Before::default(), Before { mapped: true, kept: true });
        let changes = first(1, 4);
        let fewest = |data: &[Before], parity| {
            let plan = Plan::new(ParityUpdate::Fewest, &changes, data, parity);
            (plan.method, plan.reads, plan.sources)
        };
        assert_eq!(fewest(&[none; 4], none), (Method::Full, 0, 0));
        // A page that was not written joins two that were: the parity alone is read.
        let some = [none, MAPPED, MAPPED, none];
        assert_eq!(fewest(&some, MAPPED), (Method::ReadModify, 0b10000, 0b10000));
        // The old page and the parity are kept; then the three others.
        let both = [kept, MAPPED, MAPPED, MAPPED];
        assert_eq!(fewest(&both, kept), (Method::ReadModify, 0, 0b10001));
        let others = [MAPPED, kept, kept, kept];
        assert_eq!(fewest(&others, MAPPED), (Method::Reconstruct, 0, 0b01110));
    }

    #[test]
    fn the_rest_of_a_page_written_in_part_is_read_whatever_the_method() {
        let changes = [Change::Part, Change::Whole, Change::Whole, Change::None];
        let plan = of(&changes);
        assert_eq!((plan.method, plan.reads, plan.sources), (Method::Reconstruct, 0b1001, 0b1000));
        let full = of(&[Change::Part, Change::Whole]);
        assert_eq!((full.method, full.reads, full.sources), (Method::Full, 1, 0));
        let none = [Before::default(), MAPPED];
        let new = Plan::new(ParityUpdate::Fewest, &[Change::Part, Change::Whole], &none, MAPPED);
        assert_eq!(new.reads, 0, "there is no rest");
    }

    #[test]
    fn a_trim_is_an_update_unless_no_data_are_left() {
        let one = of(&[Change::Trim, Change::None, Change::None]);
        assert_eq!((one.method, one.reads), (Method::ReadModify, 0b1001));
        let all = of(&[Change::Trim; 3]);
        assert_eq!(all, Plan { method: Method::Drop, reads: 0, sources: 0 });
        let rest = of(&[Change::Trim, Change::Whole, Change::Trim]);
        assert_eq!((rest.method, rest.reads), (Method::Full, 0));
    }
}
