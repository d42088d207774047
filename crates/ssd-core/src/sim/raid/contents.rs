//! Parity and contents: pages of a group are admitted with their data, and a parity page is the sum of what its group
//! holds.

use super::lost::has_lost_data;
use super::recoveries::Step;
use super::{ChangedPage, Parity, Raid, Stage, Update};
use crate::ftl::map::Entry;
use crate::ftl::raid::verify::mix;
use crate::ftl::raid::{Change, GroupId, Method};
use crate::host::request::Request;
use crate::metrics::counters::RaidCounts;
use crate::nand::flash::Payload;
use crate::sched::order::W_HOST;
use crate::sim::array::op::{GroupPage, Op, Work};
use crate::sim::contents::Contents;
use crate::sim::core::Core;
use crate::sim::front::is_in_part;
use crate::sim::join::Join;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, RecoverySlot, UpdateSlot};

impl Ssd {
    /// As [`Ssd::parity`], with the contents.
    #[inline]
    pub(super) fn parity_and_contents(&mut self) -> (&mut Raid, &mut Core, Option<&mut Contents>) {
        let raid = self.raid.as_deref_mut().expect("a device with parity");
        (raid, &mut self.core, self.contents.as_deref_mut())
    }
}

impl Raid {
    /// Admit the page `lpn` of `request`, at this position and home of its group, which `update` will write with this
    /// stream or class. Returns its slot.
    #[inline]
    pub(super) fn admit_page(
        &mut self,
        core: &mut Core,
        contents: Option<&mut Contents>,
        (update, stream): (UpdateSlot, u8),
        (lpn, position, home): (Lpn, u32, PlaneId),
        (request, data): (&Request, Option<&[u8]>),
    ) -> OpSlot {
        core.front.sequence += 1;
        assert!(lpn.0 < core.ftl.geo.user_pages, "{lpn:?} is not the host's");
        debug_assert_eq!(core.ftl.parity_groups().home(lpn), home, "{lpn:?} is at home elsewhere");
        let work = Work::GroupWrite { update, stream, page: GroupPage::Data };
        let entry = self.get(update);
        let (parts, sequence) = (entry.parts, core.front.sequence);
        let op = Op { sequence, parts, ..Op::new(work, lpn, home, core.array.now) };
        let slot = core.array.ops.insert(op);
        if let Some(contents) = contents {
            contents.admit_write(core, slot, request, data);
        }
        if let Some(page) = core.ftl.admit(lpn, slot) {
            core.wake_readers(page);
        }
        let partial = is_in_part(&core.ftl.geo, request, lpn);
        let change = if partial { Change::Part } else { Change::Whole };
        entry.sequence = sequence;
        entry.changes.add(position, change);
        entry.pages.push(ChangedPage { lpn, slot, change, home, stream });
        slot
    }

    /// Admit the TRIM of the page `lpn` by `update`.
    pub(super) fn admit_trim(
        &mut self,
        core: &mut Core,
        contents: Option<&mut Contents>,
        update: UpdateSlot,
        lpn: Lpn,
    ) {
        let groups = core.ftl.parity_groups();
        let (home, position) = (groups.home(lpn), groups.position(lpn));
        let op = Op::new(Work::GroupTrim { update }, lpn, home, core.array.now);
        let slot = core.array.ops.insert(op);
        if let Some(contents) = contents {
            contents.carry(slot, Payload::default());
        }
        if let Some(page) = core.ftl.admit(lpn, slot) {
            core.wake_readers(page);
        }
        let entry = self.get(update);
        entry.changes.add(position, Change::Trim);
        entry.pages.push(ChangedPage { lpn, slot, change: Change::Trim, home, stream: 0 });
    }

    /// Program the pages and the parity of `update`, which has room. Returns whether it has nothing to program because
    /// its chips are missing: then the caller commits it.
    #[must_use]
    pub(super) fn program_update(
        &mut self,
        core: &mut Core,
        contents: Option<&mut Contents>,
        update: UpdateSlot,
    ) -> bool {
        let now = core.array.now;
        let entry = &mut self.updates[update.at()];
        assert_eq!(entry.stage, Stage::WaitsForRoom, "{update:?} is programmed out of turn");
        let waited = now - entry.since;
        entry.parts.gc_wait_ns += waited.0;
        let measured = &mut core.ledger.measured;
        measured.raid.waited_for_room += u64::from(waited > Nanos::ZERO);
        entry.stage = Stage::Programming;
        let Update { group, sequence, parts, plan, .. } = *entry;
        let rests = entry.changes.in_part() & plan.reads;
        measured.host.rmw += u64::from(rests.count_ones());
        let saved = plan.sources & !plan.reads;
        measured.raid.kept += u64::from(saved.count_ones());
        *updates_by(plan.method, &mut measured.raid) += 1;
        let mut sum = std::mem::take(&mut entry.sum);
        assert!(plan.method != Method::Drop, "{update:?} has nothing to program");
        entry.steps = Join::of(entry.data().count() as u32 + 1);
        let lpn = core.ftl.parity_groups().parity(group);
        let Parity { home, stream, .. } = entry.parity;
        let work = Work::GroupWrite { update, stream, page: GroupPage::Parity };
        let op = Op { sequence, parts, ..Op::new(work, lpn, home, now) };
        let parity = core.array.ops.insert(op);
        entry.parity.slot = parity;
        if let Some(contents) = contents {
            entry.holding().for_each(|page| mix(&mut sum, contents.payload(page.slot)));
            contents.carry(parity, sum);
        }
        self.count_copies(core, update);
        self.programs(update);
        let pages = std::mem::take(&mut self.get(update).pages);
        if core.ftl.lost.is_some() {
            return self.program_remaining(core, update, parity, pages);
        }
        for page in pages.iter().filter(|page| page.is_written()) {
            core.array.ops[page.slot].parts = parts;
            core.enqueue(page.slot, W_HOST);
        }
        self.get(update).pages = pages;
        core.enqueue(parity, W_HOST);
        false
    }

    /// Program the page of the rebuild in `slot`, which is known. False if its chip is missing.
    pub(super) fn program_rebuilt(
        &mut self,
        core: &mut Core,
        contents: Option<&mut Contents>,
        slot: RecoverySlot,
    ) -> bool {
        let recovery = self.recoveries.get(slot);
        assert!(recovery.target.is_some(), "{slot:?} is no rebuild");
        if !recovery.holds {
            self.give_up_rebuild(core, slot);
            return false;
        }
        recovery.step = Step::Programming;
        let (lpn, page, stream) = (recovery.lpn, recovery.sum.clone(), recovery.class);
        let plane = recovery.target.expect("it is rebuilt");
        let sequence = core.ftl.lost.as_deref().expect("chips may fail").sequence(lpn);
        let work = Work::RebuildWrite { recovery: slot, stream };
        let op = Op { sequence, ..Op::new(work, lpn, plane, core.array.now) };
        let op = core.array.ops.insert(op);
        if let Some(contents) = contents {
            contents.carry(op, page);
        }
        core.enqueue(op, W_HOST);
        true
    }
}

/// The count of updates by `method`.
fn updates_by(method: Method, counts: &mut RaidCounts) -> &mut u64 {
    match method {
        Method::Full => &mut counts.full,
        Method::ReadModify => &mut counts.rmw,
        Method::Reconstruct => &mut counts.rcw,
        Method::Drop => &mut counts.dropped,
    }
}

/// Check that every lost page can be computed and is what the host has written, and that no group has lost two.
pub(in crate::sim) fn audit_lost(core: &Core, contents: Option<&Contents>) -> Result<(), String> {
    debug_assert!(!has_lost_data(core), "the run has ended");
    let Some(lost) = core.ftl.lost.as_deref() else { return Ok(()) };
    let groups = core.ftl.parity_groups();
    let mut last = None;
    let mut pages: Vec<(GroupId, Lpn)> =
        lost.pages(Lpn(0)).map(|lpn| (groups.group_of(lpn), lpn)).collect();
    pages.sort_unstable();
    for (group, lpn) in pages {
        if last == Some(group) {
            return Err(format!("{group:?} has lost two pages, but the run continues"));
        }
        last = Some(group);
        let Some(contents) = contents else { continue };
        let newest = core.ftl.owners.newest(lpn);
        if newest != Entry::Unmapped || groups.is_parity(lpn) {
            continue;
        }
        let (is, expected) = (core.ftl.reconstructed(lpn).digest, contents.newest(lpn));
        if is != expected {
            return Err(format!(
                "{lpn:?} is lost, and its group holds {is:016x} instead of {expected:016x}"
            ));
        }
    }
    Ok(())
}
