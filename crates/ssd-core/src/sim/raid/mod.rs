//! A feature: parity over chips. This file has the updates of parity groups under way: which group each of them
//! changes, its state, and which updates wait behind it.
//!
//! A group is locked by one update at a time, first come first served. `admit` and `evict` begin updates, for requests
//! and for pages of the write buffer; `update` has their steps. `redirect` moves writes to other chips. `reconstruct`
//! computes a page from the others of its group, and `outcome` continues from there. `fail` removes a chip, and
//! `rebuild` restores its pages. `merge` makes one update of several that wait. `copies` makes updates of copies. The
//! layout of groups, and which pages are lost, is in `ftl/raid`.

mod admit;
mod contents;
mod copies;
mod evict;
mod fail;
mod lines;
mod lost;
mod merge;
mod mount;
mod outcome;
mod power;
mod read_buffer;
mod rebuild;
mod reconstruct;
mod recoveries;
mod redirect;
mod room;
mod shortest_queue;
mod update;

pub(super) use admit::parts_of_write;
pub(super) use contents::audit_lost;
pub(super) use lost::{degradation, has_lost_data};
pub(super) use redirect::is_redirection_due;

use super::join::Join;
use crate::config::Config;
use crate::ftl::Ftl;
use crate::ftl::raid::{Change, Changes, GroupId, MOST_CHIPS, Method, Plan};
use crate::metrics::counters::Parts;
use crate::nand::flash::Payload;
use crate::sim::core::Core;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn, RequestSlot, UpdateSlot};
use copies::GroupCopies;
use fail::Failures;
use lines::Lines;
use merge::Merges;
use read_buffer::ReadBuffer;
use recoveries::Recoveries;
use redirect::Chips;
use std::collections::{BTreeMap, VecDeque};

/// A page that an update changes.
#[derive(Clone, Copy, Debug)]
struct ChangedPage {
    lpn: Lpn,
    /// Its operation, to which the map points while its data are the newest.
    slot: OpSlot,
    change: Change,
    /// Where it is programmed, unless redirected, and its stream or class.
    home: PlaneId,
    stream: u8,
}

/// Where an update stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Its data are on their way, or another update has locked the group.
    Queued,
    /// It has locked the group and reads.
    Reading,
    /// It has read everything, but a pool has no room.
    WaitsForRoom,
    /// Its pages are programmed.
    Programming,
    /// A reconstruction of the group still reads what its pages, all programmed, replace.
    WaitsForReads,
}

/// The parity page that an update programs.
#[derive(Clone, Copy, Debug)]
struct Parity {
    /// The operation that programs it; `None` until there is room.
    slot: OpSlot,
    /// Where it is programmed, unless redirected, and its stream or class.
    home: PlaneId,
    stream: u8,
}

/// For whom an update is.
#[derive(Clone, Copy, Debug)]
struct Cause {
    /// The request of which it is a part; `None` if its pages come from the write buffer.
    request: Option<RequestSlot>,
    /// When that request arrived, or when the pages left the buffer.
    from: Nanos,
}

/// An update of one group for one request, or for pages of the write buffer.
#[derive(Clone, Debug)]
struct Update {
    /// Updates before it.
    age: u64,
    group: GroupId,
    /// Admission number of its last page (for a TRIM and for pages of the write buffer, of the page admitted last
    /// before it began), which its parity carries: of two updates of a group, the later one never has a lower number.
    sequence: u64,
    cause: Cause,
    stage: Stage,
    /// Pages whose data are not there: they have not crossed the link, or their source has not been read.
    pages_in: Join,
    /// Operations of the present step that have not ended.
    steps: Join,
    /// Since when it waits in line or for room.
    since: Nanos,
    /// Where the time of its request has gone so far.
    parts: Parts,
    pages: Vec<ChangedPage>,
    changes: Changes,
    plan: Plan,
    /// The sum that becomes the parity, as far as it is known.
    sum: Payload,
    parity: Parity,
    /// Whether a page that it was to read is lost, so that it reads again.
    reads_again: bool,
    trim: TrimWaits,
}

/// What waits for the update of a TRIM where power may be cut.
#[derive(Clone, Debug, Default)]
struct TrimWaits {
    /// Later TRIMs and copies of pages that it trims.
    requests: Vec<RequestSlot>,
    /// Its epoch, if there is a write buffer: flushes of this and later epochs wait for it.
    epoch: Option<u64>,
}

/// All updates under way.
pub(crate) struct Raid {
    updates: Vec<Update>,
    free: Vec<UpdateSlot>,
    lines: Lines,
    /// Updates that wait for room, first come first served in each pool.
    waiting: VecDeque<UpdateSlot>,
    /// Pages for which those lack room, by plane and frontier of the host.
    wanted: Vec<u32>,
    /// Pools for which an update before the examined one waits.
    pool_waits: Vec<bool>,
    read_buffer: ReadBuffer,
    /// For pages of writes with FUA that updates write, where the time of their requests went until they left the
    /// buffer.
    before_update: BTreeMap<OpSlot, Parts>,
    /// Updates so far.
    count: u64,
    /// The state of the redirection, if there is one.
    chips: Option<Chips>,
    pub(super) recoveries: Recoveries,
    /// If waiting updates merge.
    merges: Option<Merges>,
    /// If the device answers copies.
    copies: Option<Box<GroupCopies>>,
    /// If chips may fail.
    failures: Option<Box<Failures>>,
}

impl Ssd {
    /// What a hook of parity gets: its state, and the core.
    #[inline]
    pub(super) fn parity(&mut self) -> (&mut Raid, &mut Core) {
        debug_assert!(self.core.ftl.groups.is_some(), "groups without a layout");
        (self.raid.as_deref_mut().expect("a device with parity"), &mut self.core)
    }
}

impl Raid {
    /// For a device with parity groups.
    pub(crate) fn new(config: &Config, ftl: &Ftl) -> Option<Box<Raid>> {
        debug_assert_eq!(
            config.raid.group > 0,
            ftl.groups.is_some(),
            "the groups of another device"
        );
        ftl.groups.as_ref()?;
        Some(Box::new(Raid {
            updates: Vec::new(),
            free: Vec::new(),
            lines: Lines::new(),
            waiting: VecDeque::new(),
            wanted: vec![0; (ftl.geo.planes * ftl.space.host_frontiers()) as usize],
            pool_waits: vec![false; ftl.geo.pools as usize],
            read_buffer: ReadBuffer::new(config.raid.read_buffer_pages as usize),
            before_update: BTreeMap::new(),
            count: 0,
            chips: Chips::new(config, ftl),
            recoveries: Recoveries::new(config.raid.reads),
            merges: config.raid.merge.then(Merges::new),
            copies: GroupCopies::new(config),
            failures: Failures::new(config, &ftl.geo),
        }))
    }

    /// A new update of `group`, last in its line.
    fn insert(
        &mut self,
        (group, parity_home): (GroupId, PlaneId),
        (cause, sequence): (Cause, u64),
        (now, parts): (Nanos, Parts),
    ) -> UpdateSlot {
        self.count += 1;
        debug_assert!(self.free.len() <= self.updates.len(), "more updates are over than were");
        let slot = self.free.pop().unwrap_or_else(|| {
            self.updates.push(Update::new(group, cause));
            UpdateSlot((self.updates.len() - 1) as u32)
        });
        // In place, so that the list of its pages keeps its memory; fields that are set when it begins stay as they
        // are.
        let entry = &mut self.updates[slot.at()];
        (entry.age, entry.group, entry.sequence, entry.cause) =
            (self.count, group, sequence, cause);
        (entry.stage, entry.pages_in, entry.since, entry.parts) =
            (Stage::Queued, Join::default(), now, parts);
        entry.pages.clear();
        entry.changes = Changes::default();
        entry.parity = Parity { slot: OpSlot::NONE, home: parity_home, stream: 0 };
        entry.reads_again = false;
        if let Some(chips) = &mut self.chips {
            chips.add_update(self.count, slot);
        }
        self.lines.enter(slot, group);
        slot
    }

    fn get(&mut self, slot: UpdateSlot) -> &mut Update {
        debug_assert!(!self.free.contains(&slot), "{slot:?} is over");
        &mut self.updates[slot.at()]
    }

    fn at(&self, slot: UpdateSlot) -> &Update {
        debug_assert!(!self.free.contains(&slot), "{slot:?} is over");
        &self.updates[slot.at()]
    }

    /// Whether an update of `group` is under way.
    fn is_locked(&self, group: GroupId) -> bool {
        debug_assert!(self.count > 0 || self.updates.is_empty(), "updates that never came");
        self.lines.first(group).is_some()
    }

    /// Remove the update in `slot`, which has locked its group. Returns the new first one.
    fn remove(&mut self, slot: UpdateSlot) -> Option<UpdateSlot> {
        assert_ne!(self.at(slot).stage, Stage::Queued, "{slot:?} has not locked its group");
        debug_assert!(!self.waiting.contains(&slot), "{slot:?} ends and waits for room");
        self.free.push(slot);
        self.lines.leave(slot)
    }

    /// The request for which the operation in `slot` of `update` is, or a buffered page that the update writes. What is
    /// for all requests of a merged update counts for the first.
    pub(crate) fn origin(&self, update: UpdateSlot, slot: OpSlot) -> Result<RequestSlot, OpSlot> {
        debug_assert!(update != UpdateSlot::NONE, "no update has a request");
        let entry = self.at(update);
        if let Some(request) = self.joined_request(update, slot) {
            return Ok(request);
        }
        entry.cause.request.ok_or_else(|| entry.pages.first().expect("it writes a page").slot)
    }

    /// Pages of data that updates under way write.
    pub(crate) fn pages_under_way(&self) -> usize {
        let updates = self.lines.firsts().flat_map(|first| self.lines.line(first));
        updates.map(|update| self.at(update).data().count()).sum()
    }

    /// Note that the update in `slot`, of which it is known what it programs, begins to read.
    #[inline]
    fn plans(&mut self, slot: UpdateSlot) {
        let update = &self.updates[slot.at()];
        debug_assert_eq!(update.stage, Stage::Reading, "{slot:?} does not read");
        if let Some(chips) = &mut self.chips {
            chips.plan(update.homes());
        }
    }

    /// Note that the update in `slot`, which reads, is to begin again.
    fn plans_again(&mut self, slot: UpdateSlot) {
        let update = &self.updates[slot.at()];
        debug_assert_eq!(update.stage, Stage::Reading, "{slot:?} does not read");
        if let Some(chips) = &mut self.chips {
            chips.end_plan(update.homes());
        }
    }

    /// Note that the update in `slot` no longer waits.
    fn programs(&mut self, slot: UpdateSlot) {
        let update = &self.updates[slot.at()];
        debug_assert_eq!(update.stage, Stage::Programming, "{slot:?} waits");
        debug_assert!(!update.pages.is_empty(), "{slot:?} changes nothing");
        if let Some(chips) = &mut self.chips {
            chips.end_plan(update.homes());
            chips.remove_update(update.age);
        }
    }

    /// Note that `lpn` has left `before`.
    fn note_replaced(&mut self, ftl: &Ftl, lpn: Lpn, before: Ppn) {
        debug_assert_ne!(ftl.owners.committed(lpn), Some(before), "{lpn:?} has not left");
        if let Some(chips) = &mut self.chips {
            chips.released(ftl, lpn, before);
        }
    }

    /// Check that every line has one update that has locked the group, and that pages programmed or being programmed
    /// hold room.
    pub(crate) fn audit(&self, core: &Core) -> Result<(), String> {
        let Core { ftl, array, .. } = core;
        self.audit_chips(core)?;
        self.lines.audit()?;
        self.audit_merges()?;
        let mut count = 0;
        for first in self.lines.firsts() {
            for at in self.lines.line(first) {
                let update = self.at(at);
                count += 1;
                if update.group != self.at(first).group {
                    return Err(format!("{at:?} of {:?} is in another line", update.group));
                }
                if at != first && update.stage != Stage::Queued {
                    return Err(format!(
                        "{at:?} is {:?} and has not locked {:?}",
                        update.stage, update.group
                    ));
                }
            }
        }
        let alive = self.updates.len() - self.free.len();
        if count != alive {
            return Err(format!("{count} updates are in line, {alive} are under way"));
        }
        let waits = |slot: &UpdateSlot| self.at(*slot).stage == Stage::WaitsForRoom;
        if !self.waiting.iter().all(waits) {
            return Err("an update waits for room, and is elsewhere".to_string());
        }
        self.audit_wanted(ftl)?;
        self.copies.as_ref().map_or(Ok(()), |copies| copies.audit(self, core))?;
        let lacks = self.failures.as_ref().and_then(|failures| failures.rebuild.lacks);
        if let (Some(pool), Some(lost), 0) = (lacks, &ftl.lost, array.ops.len())
            && lost.count() == 0
        {
            return Err(format!("the rebuild waits for room in {pool:?}, and no page is lost"));
        }
        self.recoveries.audit(self, ftl)?;
        self.read_buffer.audit()
    }
}

impl Update {
    /// An update of `group`, still without pages.
    #[cold]
    fn new(group: GroupId, cause: Cause) -> Update {
        Update {
            age: 0,
            group,
            sequence: 0,
            cause,
            stage: Stage::Queued,
            pages_in: Join::default(),
            steps: Join::default(),
            since: cause.from,
            parts: Parts::default(),
            pages: Vec::new(),
            changes: Changes::default(),
            plan: Plan::DROP,
            sum: Payload::default(),
            parity: Parity { slot: OpSlot::NONE, home: PlaneId::NONE, stream: 0 },
            reads_again: false,
            trim: TrimWaits::default(),
        }
    }

    /// The pages of data that it programs.
    fn data(&self) -> impl Iterator<Item = &ChangedPage> {
        debug_assert!(self.pages.len() < MOST_CHIPS, "{:?} has too many pages", self.group);
        self.pages.iter().filter(|page| page.is_written())
    }

    /// The pages that hold data after it.
    fn holding(&self) -> impl Iterator<Item = &ChangedPage> {
        debug_assert!(self.pages.len() < MOST_CHIPS, "{:?} has too many pages", self.group);
        self.pages.iter().filter(|page| page.change != Change::Trim)
    }

    /// The planes on which it programs, if nothing is redirected.
    fn homes(&self) -> impl Iterator<Item = PlaneId> + '_ {
        debug_assert!(self.stage != Stage::Queued, "it is not known what is programmed");
        self.places().map(|(plane, _)| plane)
    }

    /// Where it programs if nothing is redirected: the planes, with the streams or classes of the pages.
    fn places(&self) -> impl Iterator<Item = (PlaneId, u8)> + '_ {
        debug_assert!(self.stage != Stage::Queued, "it is not known what is programmed");
        // One loop over data and parity, so that its body is compiled once; `chain` would compile it twice.
        (0..=self.pages.len()).filter_map(|at| match self.pages.get(at) {
            Some(page) => page.is_written().then_some((page.home, page.stream)),
            None => self.programs_parity().then_some((self.parity.home, self.parity.stream)),
        })
    }

    fn programs_parity(&self) -> bool {
        debug_assert!(self.stage != Stage::Queued, "it is not known what is programmed");
        self.plan.method != Method::Drop && !self.plan.without_parity
    }
}

impl ChangedPage {
    fn is_written(&self) -> bool {
        matches!(self.change, Change::Whole | Change::Part | Change::Copied)
    }
}

#[cfg(test)]
mod tests;
