//! What an update of a parity group reads and programs.
//!
//! Paper: Liang et al., IEICE Electronics Express 2018, section 3.1: the parity follows from the old data and the old
//! parity (read-modify-write, RMW) or from the pages that stay (reconstruct-write, RCW), whichever takes fewer
//! operations; section 3.3: RMW in a tie, and a whole group is written without a read.
//! Where it is silent, decided: pages never written or trimmed count as zeros and are not read; a page that the
//! controller keeps costs no read; a page that the host writes in part is read for its rest, and that read counts for
//! both; a TRIM is an update, because parity covers the page; a group without data has no parity.

use super::MOST_CHIPS;
use crate::config::ParityUpdate;

/// What the host does with one page of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// All of it is written.
    Whole,
    /// A part of it is written, the rest stays.
    Part,
    /// A copy writes all of it.
    Copied,
    /// A copy lets it share the flash page of its source, so nothing is programmed.
    Shared,
    /// It is trimmed.
    Trim,
}

/// The changes of an update. Here and below, a set of positions in the group is a bit mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    whole: u64,
    part: u64,
    trimmed: u64,
}

impl Changes {
    /// Apply `change` to the page of data at `position`.
    #[inline]
    pub fn add(&mut self, position: u32, change: Change) {
        assert!((position as usize) < MOST_CHIPS - 1, "there is no position {position}");
        let set = match change {
            Change::Whole | Change::Copied | Change::Shared => &mut self.whole,
            Change::Part => &mut self.part,
            Change::Trim => &mut self.trimmed,
        };
        debug_assert_eq!(*set >> position & 1, 0, "position {position} changes twice");
        *set |= 1 << position;
    }

    /// Pages that do not stay.
    #[inline]
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.whole | self.part | self.trimmed
    }

    /// Pages that are written in part.
    #[inline]
    #[must_use]
    pub fn in_part(&self) -> u64 {
        debug_assert_eq!(self.part & (self.whole | self.trimmed), 0, "a page changes twice");
        self.part
    }
}

/// A group before an update, parity last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupState {
    /// Pages that hold data (or parity).
    pub mapped: u64,
    /// The number of these that the controller keeps.
    pub kept: u64,
}

/// How the parity is updated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// No page stays: the new data alone determine the parity.
    Full,
    /// Read-modify-write.
    ReadModify,
    /// Reconstruct-write.
    Reconstruct,
    /// No data are left, so there is no parity.
    Drop,
}

/// The pages that an update reads; parity is the last position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How the parity is updated.
    pub method: Method,
    /// Pages read from flash.
    pub reads: u64,
    /// Pages, read or kept, that the new parity is computed from, besides the new data.
    pub sources: u64,
    /// No parity is programmed: its chip is missing, and nothing is known to compute it from.
    pub without_parity: bool,
}

impl Plan {
    /// Nothing is read.
    pub const DROP: Plan =
        Plan { method: Method::Drop, reads: 0, sources: 0, without_parity: false };

    /// The update of a group of `data_pages` and parity by `changes`, which was as `before`.
    #[must_use]
    pub fn new(
        update: ParityUpdate,
        data_pages: u32,
        changes: Changes,
        before: GroupState,
    ) -> Plan {
        let Changes { whole, part, trimmed } = changes;
        assert!((data_pages as usize) < MOST_CHIPS, "a group of {data_pages} and parity");
        let parity_bit = 1u64 << data_pages;
        let (written, changed, kept) = (whole | part, whole | part | trimmed, before.kept);
        assert!(changed != 0 && changed < parity_bit, "{changes:?} of {data_pages} pages");
        debug_assert_eq!(kept & !before.mapped, 0, "a page without data is kept");
        let mapped = before.mapped & !parity_bit;
        let (stay, old, rest) = (mapped & !changed, mapped & changed, mapped & part);
        debug_assert!(
            (before.mapped != mapped) == (mapped != 0),
            "parity without data, or the reverse"
        );
        if written == 0 && stay == 0 {
            return Plan::DROP;
        }
        if stay == 0 {
            return Plan { method: Method::Full, reads: rest & !kept, ..Plan::DROP };
        }
        let modify = old | parity_bit;
        let (rmw_reads, rcw_reads) = (modify & !kept, (stay | rest) & !kept);
        let modifies = match update {
            ParityUpdate::Fewest => rmw_reads.count_ones() <= rcw_reads.count_ones(),
            ParityUpdate::ReadModify => true,
            ParityUpdate::Reconstruct => false,
        };
        if modifies {
            let method = Method::ReadModify;
            Plan { method, reads: rmw_reads, sources: modify, ..Plan::DROP }
        } else {
            let method = Method::Reconstruct;
            Plan { method, reads: rcw_reads, sources: stay, ..Plan::DROP }
        }
    }

    /// Whether the page at `position` is read.
    #[must_use]
    pub fn reads(&self, position: u32) -> bool {
        debug_assert!(position < 64, "there is no position {position}");
        self.reads >> position & 1 == 1
    }

    /// Whether the page at `position` is one of those that the parity is computed from.
    #[must_use]
    pub fn has_source(&self, position: u32) -> bool {
        debug_assert!(position < 64, "there is no position {position}");
        self.sources >> position & 1 == 1
    }
}

#[cfg(test)]
mod tests;
