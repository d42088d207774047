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
mod tests;
