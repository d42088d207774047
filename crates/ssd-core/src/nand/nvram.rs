//! The NVRAM: a small memory that survives a power cut, with records of what the flash alone does not reveal.

use crate::units::{Lpn, Nanos, Ppn};
use std::collections::VecDeque;

/// Bytes of the record of a TRIM.
pub const TRIM_BYTES: u64 = 16;
/// Bytes of the record of an owner: LPNs and page in 4, numbers in 5 or 6 each.
pub const SHARE_BYTES: u64 = 32;
/// Bytes that are written at once.
const LINE_BYTES: u64 = 64;

/// What the out-of-band data of pages do not reveal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// Data of these logical pages with an admission number of at most `sequence` are trimmed.
    Trim {
        /// The first page.
        first: Lpn,
        /// How many.
        pages: u32,
        /// Admission number of the last page admitted before.
        sequence: u64,
    },
    /// The data of this logical page are on a page that was programmed for another one, or for older data of the same
    /// one.
    Share {
        /// The logical page.
        lpn: Lpn,
        /// Where its data are.
        page: Ppn,
        /// Admission number of the copy that made it an owner.
        sequence: u64,
        /// What the out-of-band area of the page held: with another LPN or number, the record is stale.
        carried: (Lpn, u64),
        /// With parity groups, the number of an update from which on its group has these data there; otherwise 0.
        update: u64,
    },
}

impl Record {
    /// Whether it trims data of `lpn` with admission number `sequence`.
    #[must_use]
    pub fn ends(&self, lpn: Lpn, sequence: u64) -> bool {
        match *self {
            Record::Trim { first, pages, sequence: last } => {
                (first.0..first.0 + pages).contains(&lpn.0) && sequence <= last
            }
            Record::Share { .. } => false,
        }
    }

    /// Its size.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        match self {
            Record::Trim { .. } => TRIM_BYTES,
            Record::Share { .. } => SHARE_BYTES,
        }
    }

    /// Its admission number.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        match *self {
            Record::Trim { sequence, .. } | Record::Share { sequence, .. } => sequence,
        }
    }
}

/// The NVRAM. Records are written one command after the other.
#[derive(Clone, Debug)]
pub struct Nvram {
    bytes: u64,
    line_ns: u64,
    /// In the order in which they are written, each with the time from which it survives a cut.
    records: VecDeque<(Nanos, Record)>,
    /// Bytes used.
    used: u64,
    /// Most bytes used so far.
    peak: u64,
}

impl Nvram {
    /// Empty memory of `bytes`, of which 64 take `line_ns` to write.
    #[must_use]
    pub fn new(bytes: u64, line_ns: u64) -> Nvram {
        assert!(bytes >= SHARE_BYTES, "the config layer has checked that a record fits");
        Nvram { bytes, line_ns, records: VecDeque::new(), used: 0, peak: 0 }
    }

    /// Bytes used.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Most bytes used so far.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Bytes of all records that fit.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.bytes
    }

    /// Whether a record of `bytes` fits.
    #[must_use]
    pub fn has_room(&self, bytes: u64) -> bool {
        self.used + bytes <= self.bytes
    }

    /// Whether three quarters are used.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        (self.used + TRIM_BYTES) * 4 > self.bytes * 3
    }

    /// The time from which all records so far survive a cut.
    #[must_use]
    pub fn safe_at(&self) -> Nanos {
        self.records.back().map_or(Nanos::ZERO, |&(at, _)| at)
    }

    /// Write `record` from `now` on. Returns the time from which it survives a cut.
    pub fn write(&mut self, now: Nanos, record: Record) -> Nanos {
        assert!(self.has_room(record.bytes()), "the NVRAM is full");
        let at = Nanos(now.max(self.safe_at()).0 + self.line_ns);
        self.records.push_back((at, record));
        self.used += record.bytes();
        self.peak = self.peak.max(self.used);
        at
    }

    /// Cut power at `now`: what has not been written completely is lost.
    pub(crate) fn cut(&mut self, now: Nanos) {
        self.records.retain(|&(at, _)| at <= now);
        self.count_bytes();
    }

    /// Time to read all records.
    #[must_use]
    pub fn read_ns(&self) -> u64 {
        self.used().div_ceil(LINE_BYTES) * self.line_ns
    }

    /// The records, oldest first.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        self.records.iter().map(|&(_, record)| record)
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Drop the oldest `count` records, which a checkpoint has made unnecessary.
    pub(crate) fn clean(&mut self, count: usize) {
        debug_assert!(count <= self.records.len(), "{count} of {} records", self.records.len());
        self.records.drain(..count);
        self.count_bytes();
    }

    fn count_bytes(&mut self) {
        self.used = self.records.iter().map(|(_, record)| record.bytes()).sum();
        debug_assert!(self.used <= self.bytes, "{} bytes of {}", self.used, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trim(first: u32, sequence: u64) -> Record {
        Record::Trim { first: Lpn(first), pages: 2, sequence }
    }

    #[test]
    fn a_record_survives_once_it_is_written_to_the_end() {
        let mut nvram = Nvram::new(64, 500);
        assert_eq!(nvram.write(Nanos(100), trim(0, 1)), Nanos(600));
        assert_eq!(nvram.write(Nanos(200), trim(4, 2)), Nanos(1100), "one after the other");
        nvram.cut(Nanos(600));
        assert_eq!(nvram.records().collect::<Vec<_>>(), [trim(0, 1)]);
        assert_eq!((nvram.used(), nvram.peak(), nvram.read_ns()), (16, 32, 500));
    }

    #[test]
    fn a_record_ends_older_data_of_its_pages() {
        let record = trim(4, 7);
        assert!(record.ends(Lpn(4), 7) && record.ends(Lpn(5), 1));
        assert!(!record.ends(Lpn(4), 8) && !record.ends(Lpn(6), 1) && !record.ends(Lpn(3), 1));
    }

    #[test]
    fn cleaning_leaves_what_came_later() {
        let mut nvram = Nvram::new(64, 500);
        for at in 0..4 {
            nvram.write(Nanos(at), trim(at as u32, at));
        }
        assert!(!nvram.has_room(TRIM_BYTES) && nvram.is_crowded());
        nvram.clean(3);
        assert_eq!((nvram.records().collect::<Vec<_>>(), nvram.used()), (vec![trim(3, 3)], 16));
    }
}
