//! MultiLog: a chain of logs; a copied page goes to the next, colder one, and one that is overwritten earlier than its
//! log expects goes back.
//!
//! Paper: Stoica and Ailamaki, "Improving flash write performance by using update frequency", PVLDB 6(9), 2013, section
//! 5.
//! Where it is silent, decided: new pages begin in log 0. An overwrite after d writes of a page in a log that expects E
//! moves it to the hotter neighbour with probability (E - d) / E; E is half of the pages of that log that are still
//! valid when it is collected: its pages times the share of valid pages in its collected blocks, a mean that fades over
//! 16 of them. A new log begins when the last one holds a block of pages; there are never more than `classes`. Host and
//! copies of a log share its open blocks. History: last write and log, 4 B a logical page. Pages that are trimmed count
//! until they are written again.

use super::history::LastWrites;
use super::persistence::{keeps, knows};
use super::{CLASSES, Classes, CollectedBlock, Ground, PageCopy, PageWrite, SeparationPolicy};
use crate::plug::{PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::Lpn;

/// Registry entry of MultiLog.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "multilog",
    summary: "a chain of logs: copies go to the next one, pages overwritten early go back",
    paper: "Stoica and Ailamaki, Improving flash write performance by using update frequency, Proceedings of the VLDB \
            Endowment 6(9), 2013, section 5",
    params: &[CLASSES],
};

const LOG_BITS: u32 = 4;

/// Collected blocks over which the share of valid pages fades.
const FADING: f64 = 16.0;

/// One log.
#[derive(Clone, Copy, Default)]
struct Log {
    pages: u64,
    /// Valid pages in its blocks when they are collected, a share.
    valid: f64,
}

keeps!(Log: pages, valid);

/// The logs, and the log of each page.
pub struct Policy {
    classes: usize,
    pages_per_block: u64,
    pages: LastWrites,
    logs: Vec<Log>,
    rng: Stream,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        let classes = spec.int("classes") as usize;
        assert!(classes > 1 && classes <= 1 << LOG_BITS, "{classes} logs");
        Policy {
            classes,
            pages_per_block: u64::from(ground.pages_per_block),
            pages: LastWrites::with_notes(ground.pages, LOG_BITS),
            logs: vec![Log { pages: 0, valid: 1.0 }; 2],
            rng: Stream::new(ground.seed, INFO.name),
        }
    }

    /// Move `lpn` from log `from`, if it is in one, to log `to`.
    fn moves(&mut self, lpn: Lpn, from: Option<usize>, to: usize) -> u32 {
        if let Some(from) = from {
            assert!(self.logs[from].pages > 0, "{lpn:?} is not in log {from}");
            self.logs[from].pages -= 1;
        }
        debug_assert!(to < self.logs.len(), "{lpn:?} goes to log {to}");
        self.logs[to].pages += 1;
        self.pages.set_note(lpn, to as u32);
        to as u32
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        Classes { host: 0, all: self.classes as u32 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        debug_assert!(self.logs.len() <= self.classes, "{page:?}: too many logs");
        let Some(distance) = self.pages.write(page.lpn, page.clock) else {
            return self.moves(page.lpn, None, 0);
        };
        let log = self.pages.note(page.lpn) as usize;
        let expected = self.logs[log].pages as f64 * self.logs[log].valid / 2.0;
        let early = (expected - distance as f64) / expected;
        let hotter = log > 0 && early > 0.0 && self.rng.chance(early);
        self.moves(page.lpn, Some(log), log - usize::from(hotter))
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        debug_assert!(self.logs.len() > 1, "{page:?} has no colder log");
        let has_age = self.pages.age(page.lpn, page.clock).is_some();
        let log = if has_age { self.pages.note(page.lpn) as usize } else { 0 };
        let last = self.logs.len() - 1;
        let full = self.logs[last].pages >= self.pages_per_block;
        if log == last && full && self.logs.len() < self.classes {
            self.logs.push(Log { pages: 0, valid: 1.0 });
        }
        let next = (log + 1).min(self.logs.len() - 1);
        // A page older than the policy is in no log.
        if has_age { self.moves(page.lpn, Some(log), next) } else { next as u32 }
    }

    fn on_collect(&mut self, block: &CollectedBlock) {
        let share = f64::from(block.valid) / self.pages_per_block as f64;
        debug_assert!(share <= 1.0, "{block:?} has more valid pages than pages");
        if let Some(log) = self.logs.get_mut(block.class as usize) {
            log.valid += (share - log.valid) / FADING;
        }
    }

    knows! { Policy: pages, logs, rng; given classes, pages_per_block; if |policy| {
        (2..=policy.classes).contains(&policy.logs.len())
    } }
}
