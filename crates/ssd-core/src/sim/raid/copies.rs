//! Copies (`remap`) on a device with parity groups: an update in which pages share the flash page of their source, or
//! are programmed with what the device has read there (ADR 0034).
//!
//! A page of the destination takes a slot of the map, as a written page does. Its source is read before the update
//! begins, as data of the host cross the link before it does: so no update that has locked its group waits for another
//! group. From when the data of the source are committed until the copy commits, the source is *pinned*: no update that
//! changes it begins. An update therefore waits for updates before it only.
//!
//! When the update begins, it is decided which pages share ([`crate::ftl::raid::share`]); the others are programmed at
//! home. All become owners, or valid, in the instant of the commit.

use super::admit::has_data;
use super::{ChangedPage, Raid, Stage, Update};
use crate::config::{Config, RemapMode};
use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::ftl::raid::{Change, GroupId};
use crate::host::device::DeviceError;
use crate::host::request::Request;
use crate::metrics::counters::Parts;
use crate::nand::flash::Payload;
use crate::sim::array::op::{GroupPage, Op, OpKind, Work};
use crate::sim::contents::Contents;
use crate::sim::copies::CopyCounts;
use crate::sim::core::Core;
use crate::sim::front::Pages;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, RequestSlot, UpdateSlot};
use std::collections::BTreeMap;

/// The copies under way.
pub(super) struct GroupCopies {
    /// Whether every page of a copy gets a flash page of its own.
    has_own_pages: bool,
    /// Pages of destinations, by slot.
    pages: BTreeMap<OpSlot, CopiedPage>,
    /// By the slot of the last change of a source: the pages that wait until it is committed.
    heirs: BTreeMap<OpSlot, Vec<OpSlot>>,
    /// Committed sources, with the number of pages that need them.
    pinned: BTreeMap<Lpn, u32>,
    counted: CopyCounts,
}

/// A page of a destination.
struct CopiedPage {
    source: Lpn,
    step: CopyStep,
    answer: Answer,
    /// Reads of the host that wait for the data, each with the time since which it does.
    readers: Vec<(OpSlot, Nanos)>,
}

/// How far a page of a copy is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CopyStep {
    /// The last change of its source has not been committed.
    Waits,
    /// The source is read.
    Reads,
    /// The data are in the controller.
    HasData,
}

/// How a page of a copy gets its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// By a page of its own: not decided yet, or as configured.
    OwnPage,
    /// By the page of its source, which is on this plane.
    Shares { plane: PlaneId },
    /// By a page of its own, because its group may not use the chip of its source.
    ChipTaken,
    /// By a page of its own, because its source is lost.
    SourceLost,
}

/// What follows from the commit of an update.
pub(super) struct AfterCommit {
    /// Pages of copies whose sources are committed now.
    pub(super) sources: Vec<OpSlot>,
    /// Groups in which pages are not pinned any more.
    pub(super) groups: Vec<GroupId>,
}

impl Ssd {
    /// Admit the copy of `sources`, one for each of `pages`, in request slot `slot`.
    #[inline(never)]
    pub(in crate::sim) fn copy_to_groups(
        &mut self,
        (slot, request): (RequestSlot, &Request),
        pages: Pages,
        sources: &[Lpn],
    ) {
        assert_eq!(sources.len(), pages.count as usize, "a page has no source, or two");
        self.parity().0.copies_mut().counted.begin(slot);
        let mut left = pages.first..pages.first + pages.count;
        while let Some((group, lpns)) = self.core.ftl.parity_groups().take_part(&mut left) {
            if self.power.is_some() {
                self.join_trims(slot, lpns.clone());
            }
            let (raid, core, mut contents) = self.parity_and_contents();
            let source_of = |lpn: u32| sources[(lpn - pages.first) as usize];
            let changes: Vec<(Lpn, Option<Lpn>)> = lpns
                .map(|lpn| (Lpn(lpn), Some(source_of(lpn)).filter(|&s| has_data(core, s))))
                .collect();
            for _ in changes.iter().filter(|(_, source)| source.is_none()) {
                raid.copies_mut().counted.add(core, slot, |counts| &mut counts.unmapped);
            }
            let changes_it =
                |&(lpn, source): &(Lpn, Option<Lpn>)| source.is_some() || has_data(core, lpn);
            let changes: Vec<_> = changes.into_iter().filter(changes_it).collect();
            if changes.is_empty() {
                continue;
            }
            let homes = core.ftl.parity_groups().homes(group);
            let update = raid.new_update(core, (group, homes), Some(slot));
            core.front.requests.get(slot).parts.add(1);
            let mut on_flash = Vec::new();
            for (lpn, source) in changes {
                let Some(source) = source else {
                    if let Some(contents) = &mut contents {
                        contents.trim(lpn);
                    }
                    raid.admit_trim(core, contents.as_deref_mut(), update, lpn);
                    continue;
                };
                let class = core.ftl.class_of_write(lpn, request.stream, pages.count);
                let (contents, at) = (contents.as_deref_mut(), (update, class));
                on_flash.extend(raid.admit_copied(core, contents, at, (lpn, source)));
            }
            raid.name_parity(core, update, group, (request.stream, pages.count));
            let begins = on_flash.is_empty();
            for page in on_flash {
                let (raid, core) = self.parity();
                let read = raid.new_source_read(core, page);
                self.read_again(read, self.core.array.now);
            }
            if begins {
                self.begin_if_first(update);
            }
        }
    }

    /// Note that the source read by `slot` has been read from flash; its time went to `parts` so far.
    pub(in crate::sim) fn source_read_ends(&mut self, slot: OpSlot, parts: &Parts) {
        let page = self.core.ftl.flash.payload(self.core.array.ops[slot].ppn);
        self.check_source(slot, &page);
        if self.core.array.times.host_ecc_ns > 0 {
            self.core.decode(slot, parts);
        } else {
            self.receive_copied(slot, parts);
        }
    }

    /// Check that `page` is what the copy for which `slot` has read its source was admitted with.
    pub(super) fn check_source(&mut self, slot: OpSlot, page: &Payload) {
        let Work::SourceRead { page: copied, .. } = self.core.array.ops[slot].work else {
            unreachable!("{slot:?} has read no source")
        };
        let Some(contents) = &self.contents else { return };
        let (is, expected) = (page.digest, contents.payload(copied).digest);
        if is != expected {
            let lpn = self.core.array.ops[slot].lpn.0;
            let error = format!(
                "source LPN {lpn} of a copy has digest {is:016x}, at admission it had {expected:016x}"
            );
            self.core.fail(DeviceError::Data(error));
        }
    }

    /// Take in the data of a copy that `slot` has read: reads of them are answered, and their update may begin.
    pub(in crate::sim) fn receive_copied(&mut self, slot: OpSlot, parts: &Parts) {
        let (raid, core) = self.parity();
        let Work::SourceRead { update, page } = core.array.ops[slot].work else {
            unreachable!("{slot:?} has read no source")
        };
        let now = core.array.now;
        core.array.ops.remove(slot);
        let readers = raid.copies_mut().receives(page);
        let entry = raid.get(update);
        assert_eq!(entry.stage, Stage::Queued, "{update:?} has begun without its data");
        (entry.parts, entry.since) = (*parts, now);
        let has_all = entry.pages_in.part_ends();
        for (reader, since) in readers {
            self.read_again(reader, since);
        }
        if has_all {
            self.begin_if_first(update);
        }
    }
}

impl GroupCopies {
    /// For a device with parity that answers copies; `None` if it refuses them.
    pub(super) fn new(config: &Config) -> Option<Box<GroupCopies>> {
        debug_assert!(config.raid.group > 0, "a device without parity");
        let has_own_pages = config.remap.mode == RemapMode::Copy;
        let (pages, heirs, pinned) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let counted = CopyCounts::default();
        let copies = GroupCopies { has_own_pages, pages, heirs, pinned, counted };
        (!config.remap.is_off()).then(|| Box::new(copies))
    }

    /// Note that the source of the page in `slot` is committed, and needed.
    fn pin(&mut self, slot: OpSlot) -> Lpn {
        let page = self.pages.get_mut(&slot).expect("it is copied");
        assert_eq!(page.step, CopyStep::Waits, "{slot:?} is read twice");
        page.step = CopyStep::Reads;
        *self.pinned.entry(page.source).or_default() += 1;
        page.source
    }

    /// Note that `source` is needed by one page less. Returns whether none needs it.
    fn unpin(&mut self, source: Lpn) -> bool {
        let count = self.pinned.get_mut(&source).expect("it is pinned");
        *count -= 1;
        let is_free = *count == 0;
        if is_free {
            self.pinned.remove(&source);
        }
        is_free
    }

    /// Note that the data of the page in `slot` are in the controller. Returns the reads that have waited for them.
    fn receives(&mut self, slot: OpSlot) -> Vec<(OpSlot, Nanos)> {
        let page = self.pages.get_mut(&slot).expect("it is copied");
        assert_eq!(page.step, CopyStep::Reads, "{slot:?} has not been read");
        page.step = CopyStep::HasData;
        std::mem::take(&mut page.readers)
    }

    /// Check that pages wait for changes under way, and that sources are pinned as often as pages need them.
    pub(super) fn audit(&self, raid: &Raid, core: &Core) -> Result<(), String> {
        let mut pinned = BTreeMap::new();
        for (slot, page) in &self.pages {
            let update = core.array.ops[*slot].update().map(|update| raid.at(update));
            if !update.is_some_and(|update| update.pages.iter().any(|page| page.slot == *slot)) {
                return Err(format!("{slot:?} is copied in no update"));
            }
            if page.step != CopyStep::Waits {
                *pinned.entry(page.source).or_default() += 1;
            } else if !self.heirs.values().any(|heirs| heirs.contains(slot)) {
                return Err(format!("{slot:?} waits for no change of {:?}", page.source));
            }
        }
        if pinned != self.pinned {
            return Err(format!("{:?} are pinned, and {pinned:?} needed", self.pinned));
        }
        for (change, heirs) in &self.heirs {
            let op = &core.array.ops[*change];
            if op.kind() != OpKind::GroupWrite
                || op.cause() == crate::metrics::counters::Cause::Parity
            {
                return Err(format!("{heirs:?} wait for the {:?} in {change:?}", op.kind()));
            }
        }
        Ok(())
    }
}

impl Raid {
    fn copies_mut(&mut self) -> &mut GroupCopies {
        self.copies.as_deref_mut().expect("the device answers copies")
    }

    /// Admit the page `lpn`, a copy of `source`, which `update` will write or share. Returns its slot if the source can
    /// be read.
    fn admit_copied(
        &mut self,
        core: &mut Core,
        contents: Option<&mut Contents>,
        (update, stream): (UpdateSlot, u8),
        (lpn, source): (Lpn, Lpn),
    ) -> Option<OpSlot> {
        assert_ne!(lpn, source, "a page is copied to itself");
        core.front.sequence += 1;
        let groups = core.ftl.parity_groups();
        let (home, position) = (groups.home(lpn), groups.position(lpn));
        let work = Work::GroupWrite { update, stream, page: GroupPage::Copied };
        let entry = self.get(update);
        let (parts, sequence) = (entry.parts, core.front.sequence);
        let request = entry.cause.request.expect("the host has asked for it");
        let op = Op { sequence, parts, ..Op::new(work, lpn, home, core.array.now) };
        let slot = core.array.ops.insert(op);
        if let Some(contents) = contents {
            contents.carry_source(core, slot, (lpn, source));
        }
        if let Some(page) = core.ftl.admit(lpn, slot) {
            core.wake_readers(page);
        }
        entry.sequence = sequence;
        entry.changes.add(position, Change::Copied);
        entry.pages.push(ChangedPage { lpn, slot, change: Change::Copied, home, stream });
        entry.pages_in.add(1);
        let (step, answer) = (CopyStep::Waits, Answer::OwnPage);
        let copies = self.copies_mut();
        copies.pages.insert(slot, CopiedPage { source, step, answer, readers: Vec::new() });
        match core.ftl.owners.newest(source) {
            Entry::Slot(change) => {
                copies.counted.add(core, request, |counts| &mut counts.waited);
                copies.heirs.entry(change).or_default().push(slot);
                None
            }
            Entry::Page(_) | Entry::Unmapped => {
                copies.pin(slot);
                Some(slot)
            }
        }
    }

    /// The operation that reads the source, which is pinned, of the page in `slot`; it is not queued.
    pub(super) fn new_source_read(&mut self, core: &mut Core, slot: OpSlot) -> OpSlot {
        let source = self.copies_mut().pages[&slot].source;
        let update = core.array.ops[slot].update().expect("it belongs to one");
        let (now, home) = (core.array.now, core.ftl.parity_groups().home(source));
        let since = self.at(update).cause.from;
        debug_assert!(since <= now, "{source:?} is read before its copy arrives");
        let parts = Parts { queue_ns: (now - since).0, ..Parts::default() };
        let work = Work::SourceRead { update, page: slot };
        core.array.ops.insert(Op { parts, ..Op::new(work, source, home, now) })
    }

    /// Whether an update before `update` copies what it changes.
    #[inline]
    pub(super) fn is_pinned(&self, update: UpdateSlot) -> bool {
        let Some(copies) = &self.copies else { return false };
        self.at(update).pages.iter().any(|page| copies.pinned.contains_key(&page.lpn))
    }

    /// Whether a copy under way needs `lpn`.
    pub(super) fn is_page_pinned(&self, lpn: Lpn) -> bool {
        debug_assert_ne!(lpn, Lpn::NONE, "no page is copied");
        self.copies.as_ref().is_some_and(|copies| copies.pinned.contains_key(&lpn))
    }

    /// Let the read in `reader` of the page in `slot`, its newest data, wait if this is a copy whose data are not in
    /// the controller. Returns whether it waits.
    pub(super) fn waits_for_copy(&mut self, slot: OpSlot, reader: OpSlot, now: Nanos) -> bool {
        let page = self.copies.as_mut().and_then(|copies| copies.pages.get_mut(&slot));
        let page = page.filter(|page| page.step != CopyStep::HasData);
        page.map(|page| page.readers.push((reader, now))).is_some()
    }

    /// Decide which pages of `update`, which is about to begin, share the page of their source.
    pub(super) fn choose_shared(&mut self, ftl: &Ftl, update: UpdateSlot) {
        let Raid { updates, copies, .. } = self;
        let (entry, Some(copies)) = (&mut updates[update.at()], copies) else { return };
        let mut taken = None;
        for page in &mut entry.pages {
            let Some(copied) = copies.pages.get_mut(&page.slot) else { continue };
            assert_eq!(copied.step, CopyStep::HasData, "{update:?} begins without {page:?}");
            let chips =
                taken.get_or_insert_with(|| ftl.chips_of_others(entry.group, entry.changes));
            copied.answer = match ftl.owners.committed(copied.source) {
                _ if copies.has_own_pages => Answer::OwnPage,
                None => Answer::SourceLost,
                Some(at) if ftl.may_share(page.lpn, at, chips) => {
                    let plane = ftl.geo.plane_of(at);
                    chips.push(ftl.parity_groups().chip_of(plane));
                    Answer::Shares { plane }
                }
                Some(_) => Answer::ChipTaken,
            };
            let shares = matches!(copied.answer, Answer::Shares { .. });
            page.change = if shares { Change::Shared } else { Change::Copied };
        }
    }

    /// The page of `update`, which has begun, that copies `lpn`: then `lpn` is in the controller.
    pub(super) fn copy_of(&self, update: UpdateSlot, lpn: Lpn) -> Option<OpSlot> {
        let copies = self.copies.as_ref()?;
        let slots = self.at(update).pages.iter().map(|page| page.slot);
        slots.into_iter().find(|slot| copies.pages.get(slot).is_some_and(|c| c.source == lpn))
    }

    /// What the controller keeps of `lpn`, a source of the parity that `update` does not read.
    pub(super) fn kept_page<'a>(
        &'a self,
        contents: Option<&'a Contents>,
        update: UpdateSlot,
        lpn: Lpn,
    ) -> &'a Payload {
        const NOTHING: &Payload = &Payload { digest: 0, bytes: None };
        match (self.copy_of(update, lpn), contents) {
            (Some(slot), Some(contents)) => contents.payload(slot),
            (Some(_), None) => NOTHING,
            (None, _) => self.read_buffer.payload(lpn).expect("a source is read, or kept"),
        }
    }

    /// The planes on which pages of `update` will share those of their sources.
    pub(super) fn shared_planes(&self, update: UpdateSlot) -> impl Iterator<Item = PlaneId> + '_ {
        let slots = self.at(update).pages.iter().map(|page| page.slot);
        slots.filter_map(|slot| self.shared_plane(slot))
    }

    /// The plane on which the page in `slot` will share that of its source, if it is a copy that does.
    pub(super) fn shared_plane(&self, slot: OpSlot) -> Option<PlaneId> {
        match self.copies.as_ref()?.pages.get(&slot)?.answer {
            Answer::Shares { plane } => Some(plane),
            _ => None,
        }
    }

    /// Count the pages of copies in `update`, which has been decided and programs.
    pub(super) fn count_copies(&mut self, core: &mut Core, update: UpdateSlot) {
        let Some(copies) = &mut self.copies else { return };
        let Update { pages, cause, .. } = &self.updates[update.at()];
        let Some(request) = cause.request else { return };
        for page in pages {
            let Some(copied) = copies.pages.get(&page.slot) else { continue };
            let answer = copied.answer;
            copies.counted.add(core, request, |counts| match answer {
                Answer::Shares { .. } => &mut counts.shared,
                _ => &mut counts.copied,
            });
            match answer {
                Answer::ChipTaken => copies.counted.add(core, request, |c| &mut c.copied_chip),
                Answer::SourceLost => copies.counted.add(core, request, |c| &mut c.copied_lost),
                Answer::OwnPage | Answer::Shares { .. } => {}
            }
        }
    }

    /// Take back what the copies in the device have been counted as, because power is cut.
    pub(in crate::sim) fn take_back_copies(&mut self, core: &mut Core) {
        if let Some(copies) = &mut self.copies {
            copies.counted.take_back(core);
        }
    }

    /// Commit the page `lpn` in `slot`, which shares that of its source, with its update. Returns it with its admission
    /// number; `None` if the chip of the source has failed meanwhile, and `lpn` is lost with it.
    #[inline(never)]
    pub(super) fn commit_shared(
        &mut self,
        core: &mut Core,
        lpn: Lpn,
        slot: OpSlot,
    ) -> Option<(Lpn, u64)> {
        let copied = &self.copies_mut().pages[&slot];
        let Answer::Shares { plane } = copied.answer else { unreachable!("{lpn:?} has its own") };
        let chip_of = |plane| core.ftl.parity_groups().chip_of(plane);
        let on_chip = |page: &_| chip_of(core.ftl.geo.plane_of(*page)) == chip_of(plane);
        let Some(page) = core.ftl.owners.committed(copied.source).filter(on_chip) else {
            self.commit_page(core, lpn, slot);
            return None;
        };
        let sequence = core.array.ops[slot].sequence;
        super::lost::restore_page(core, lpn);
        let before = core.ftl.share_in_group(lpn, slot, page);
        if before != Some(page) {
            self.count_foreign_page(&core.ftl, lpn, page);
            self.release_page(core, lpn, before);
        }
        core.array.ops.remove(slot);
        Some((lpn, sequence))
    }

    /// Note that the update of `pages` has committed. `None` if the device refuses copies.
    pub(super) fn end_copies(&mut self, core: &Core, pages: &[ChangedPage]) -> Option<AfterCommit> {
        let copies = self.copies.as_deref_mut()?;
        let mut after = AfterCommit { sources: Vec::new(), groups: Vec::new() };
        for page in pages {
            if let Some(copied) = copies.pages.remove(&page.slot) {
                assert!(copied.readers.is_empty(), "{page:?} has data, and reads wait for them");
                if copies.unpin(copied.source) {
                    after.groups.push(core.ftl.parity_groups().group_of(copied.source));
                }
            }
            for heir in copies.heirs.remove(&page.slot).unwrap_or_default() {
                copies.pin(heir);
                after.sources.push(heir);
            }
        }
        Some(after)
    }
}
