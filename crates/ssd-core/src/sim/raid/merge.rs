//! Waiting updates of a group become one (`raid.merge`): when the lock of the group is free, the first update takes
//! over the pages of those behind it, so that they are read for and programmed once, with one parity.
//!
//! Paper: Liang et al., IEICE Electronics Express 2018, section 4.2: the write module buffers writes, and divides them
//! into parity groups. Where it is silent, decided:
//! - updates merge when the first of them begins, not earlier and not later: what arrives meanwhile waits;
//! - the order of arrival stays: the first one that cannot join ends the merging, because its data are not there, it
//!   changes a page that is changed already or that a copy still needs, or it is a TRIM or a copy;
//! - each request completes with the merged update, and its time until then counts as its own.

use super::{Cause, Raid, Update};
use crate::ftl::raid::{Change, MOST_CHIPS};
use crate::metrics::counters::Parts;
use crate::sim::array::op::{GroupPage, Work};
use crate::sim::core::Core;
use crate::units::{OpSlot, RequestSlot, UpdateSlot};
use std::collections::BTreeMap;
use std::ops::Range;

/// An update that has joined another.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) cause: Cause,
    /// Where its time went until it joined.
    before: Parts,
    /// Its pages among those of the merged update.
    pub(super) pages: Range<usize>,
}

/// The updates that have joined one.
#[derive(Clone, Debug)]
pub(super) struct Merge {
    /// Where the time of the first one went until the others joined.
    before: Parts,
    /// Pages of the first one.
    pub(super) own: usize,
    pub(super) members: Vec<Member>,
}

impl Merge {
    /// The updates that have joined, with where their time has gone if that of the first one went to `parts`.
    pub(super) fn shares(&self, parts: &Parts) -> impl Iterator<Item = (&Member, Parts)> {
        debug_assert!(parts.total() >= self.before.total(), "time has gone backwards");
        let together = parts.since(&self.before);
        self.members.iter().map(move |member| (member, member.before.then(&together)))
    }
}

/// The merged updates under way, by the slots of the first ones.
pub(super) type Merges = BTreeMap<UpdateSlot, Merge>;

impl Raid {
    /// Let the updates behind `first`, which is about to begin, join it, in order of arrival.
    pub(super) fn merge_waiting(&mut self, core: &mut Core, first: UpdateSlot) {
        debug_assert!(self.lines.is_first(first), "{first:?} has not locked its group");
        if self.merges.is_none() || !self.at(first).only_writes() {
            return;
        }
        let now = core.array.now;
        let entry = self.at(first);
        let own = entry.pages.len();
        let mut merge = Merge { before: entry.waited_until(now), own, members: Vec::new() };
        while let Some(next) = self.lines.second(first)
            && self.may_join(first, next)
        {
            self.lines.leave_second(first);
            self.free.push(next);
            let joins = &mut self.updates[next.at()];
            let (cause, before, sequence) = (joins.cause, joins.waited_until(now), joins.sequence);
            let (age, mut pages) = (joins.age, std::mem::take(&mut joins.pages));
            if let Some(chips) = &mut self.chips {
                chips.remove_update(age);
            }
            let entry = &mut self.updates[first.at()];
            let from = entry.pages.len();
            for page in &pages {
                let position = core.ftl.parity_groups().position(page.lpn);
                entry.changes.add(position, page.change);
                let (stream, kind) = (page.stream, GroupPage::Data);
                let work = Work::GroupWrite { update: first, stream, page: kind };
                core.array.ops[page.slot].work = work;
            }
            entry.pages.append(&mut pages);
            entry.sequence = sequence;
            merge.members.push(Member { cause, before, pages: from..entry.pages.len() });
            self.updates[next.at()].pages = pages;
        }
        debug_assert!(self.at(first).pages.len() < MOST_CHIPS, "more pages than a group has");
        if !merge.members.is_empty() {
            core.ledger.measured.raid.merged += merge.members.len() as u64;
            let before = self.merges.as_mut().and_then(|merges| merges.insert(first, merge));
            assert!(before.is_none(), "{first:?} begins twice");
        }
    }

    /// Whether `next` may become a part of `first`, the update before it.
    fn may_join(&self, first: UpdateSlot, next: UpdateSlot) -> bool {
        let (entry, joins) = (self.at(first), self.at(next));
        debug_assert_eq!(entry.group, joins.group, "{next:?} is in another line");
        let apart = entry.changes.changed() & joins.changes.changed() == 0;
        joins.pages_in.is_done() && joins.only_writes() && apart && !self.is_pinned(next)
    }

    /// What has joined `update`, which ends.
    pub(super) fn end_merge(&mut self, update: UpdateSlot) -> Option<Merge> {
        debug_assert!(self.lines.is_first(update), "{update:?} has not locked its group");
        self.merges.as_mut()?.remove(&update)
    }

    /// The request that has brought the page in `slot` to `update`, if that is not the one of the update.
    pub(super) fn joined_request(&self, update: UpdateSlot, slot: OpSlot) -> Option<RequestSlot> {
        let merge = self.merges.as_ref()?.get(&update)?;
        let at = self.at(update).pages.iter().position(|page| page.slot == slot)?;
        debug_assert!(!merge.members.is_empty(), "nothing has joined {update:?}");
        let member = merge.members.iter().find(|member| member.pages.contains(&at))?;
        member.cause.request
    }

    /// Check that what is merged has locked its group, and that its pages are those of its members.
    pub(super) fn audit_merges(&self) -> Result<(), String> {
        for (&first, merge) in self.merges.iter().flatten() {
            let last = merge.members.last().map_or(merge.own, |member| member.pages.end);
            if !self.lines.is_first(first) || last != self.at(first).pages.len() {
                return Err(format!("{first:?} is merged, and does not write {last} pages"));
            }
        }
        Ok(())
    }
}

impl Update {
    /// Whether it writes data of the host to all pages that it changes.
    fn only_writes(&self) -> bool {
        debug_assert!(!self.pages.is_empty(), "{:?} does not change", self.group);
        self.pages.iter().all(|page| matches!(page.change, Change::Whole | Change::Part))
    }

    /// Where its time has gone if it has waited for its group until `now`.
    fn waited_until(&self, now: crate::units::Nanos) -> Parts {
        assert!(self.since <= now, "{:?} waits since the future", self.group);
        let waited = Parts { queue_ns: (now - self.since).0, ..Parts::default() };
        self.parts.then(&waited)
    }
}
