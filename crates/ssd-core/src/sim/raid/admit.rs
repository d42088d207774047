//! A write or TRIM arrives and becomes updates of the groups that it touches.
//!
//! Its pages are admitted at once, as without parity: from then on reads see the new data, in the controller. The
//! committed page of each stays valid under its slot until the update commits, because the parity covers it.

use super::lost::restore_page;
use super::{Cause, Raid};
use crate::ftl::map::Entry;
use crate::ftl::raid::{GroupId, Homes};
use crate::host::link::Destination;
use crate::host::request::Request;
use crate::metrics::counters::Parts;
use crate::sim::array::event::Timer;
use crate::sim::array::op::OpKind;
use crate::sim::core::Core;
use crate::sim::front::{Pages, byte_range};
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, OpSlot, RequestSlot, UpdateSlot};

impl Ssd {
    /// Admit the write `request` of `pages`, in request slot `slot`.
    #[inline(never)]
    pub(in crate::sim) fn admit_to_groups(
        &mut self,
        slot: RequestSlot,
        pages: Pages,
        request: &Request,
        data: Option<&[u8]>,
    ) {
        assert!(!self.core.front.requests.at(slot).parts.is_done(), "the request has ended");
        let mut left = pages.first..pages.first + pages.count;
        while let Some((group, lpns)) = self.core.ftl.parity_groups().take_part(&mut left) {
            let (raid, core, mut contents) = self.parity_and_contents();
            let groups = core.ftl.parity_groups();
            let (homes, first) = (groups.homes(group), groups.position(Lpn(lpns.start)));
            let update = raid.new_update(core, (group, homes), Some(slot));
            for (position, lpn) in (first..).zip(lpns.map(Lpn)) {
                let home = core.ftl.parity_groups().home_at(homes, position);
                let class = core.ftl.class_of_write(lpn, request.stream, pages.count);
                let (contents, at) = (contents.as_deref_mut(), (lpn, position, home));
                let page = raid.admit_page(core, contents, (update, class), at, (request, data));
                if core.front.link.is_some() {
                    send_over_link(core, page, lpn.0 == pages.first, request);
                    raid.get(update).pages_in.add(1);
                }
            }
            raid.name_parity(core, update, group, (request.stream, pages.count));
            self.begin_if_first(update);
        }
    }

    /// Admit the TRIM of `pages`, in request slot `slot`. Groups without data left are dropped at once, unless an
    /// update is under way; the others are parts of the request, because their parity has to be programmed. Returns how
    /// many pages had data.
    #[inline(never)]
    pub(in crate::sim) fn trim_groups(&mut self, slot: RequestSlot, pages: Pages) -> u64 {
        assert!(!self.core.front.requests.at(slot).parts.is_done(), "the request has ended");
        let mut left = pages.first..pages.first + pages.count;
        let mut count = 0;
        while let Some((group, lpns)) = self.core.ftl.parity_groups().take_part(&mut left) {
            if self.power.is_some() {
                self.join_trims(slot, lpns.clone());
            }
            let trimmed: Vec<Lpn> =
                lpns.map(Lpn).filter(|&lpn| has_data(&self.core, lpn)).collect();
            if trimmed.is_empty() {
                continue;
            }
            count += trimmed.len() as u64;
            if let Some(contents) = &mut self.contents {
                trimmed.iter().for_each(|&lpn| contents.trim(lpn));
            }
            let trimmed = self.trim_buffered(group, trimmed);
            if trimmed.is_empty() {
                continue;
            }
            let (raid, core) = self.parity();
            if raid.is_left_empty(core, group, &trimmed) {
                self.drop_group(group, &trimmed);
                continue;
            }
            let (raid, core, mut contents) = self.parity_and_contents();
            let homes = core.ftl.parity_groups().homes(group);
            let update = raid.new_update(core, (group, homes), Some(slot));
            core.front.requests.get(slot).parts.add(1);
            if core.ftl.may_lose_power() && core.front.buffer.is_some() {
                raid.get(update).trim.epoch = Some(core.front.epochs.write_arrives());
            }
            let mut before = Vec::new();
            for lpn in trimmed {
                before.push(core.ftl.owners.newest(lpn));
                raid.admit_trim(core, contents.as_deref_mut(), update, lpn);
            }
            raid.name_parity(core, update, group, (0, pages.count));
            self.trim_all_buffered(&before);
            self.begin_if_first(update);
        }
        count
    }

    /// Admit the TRIM of `pages` in request slot `slot` where power may be cut: it completes when all of its groups
    /// have been updated and its records survive a cut. `repeated`: it has been submitted before.
    #[inline(never)]
    pub(in crate::sim) fn trim_groups_with_records(
        &mut self,
        slot: RequestSlot,
        pages: Pages,
        repeated: bool,
    ) {
        debug_assert!(!self.is_off(), "a TRIM arrives without power");
        let trimmed = self.trim_groups(slot, pages);
        if !repeated {
            self.core.ledger.measured.host.pages_trimmed += trimmed;
        }
        let (power, core) = self.power_cuts();
        power.end_when_recorded(core, slot, core.array.now);
    }

    /// Unmap all data of `group`, and with them its parity.
    fn drop_group(&mut self, group: GroupId, trimmed: &[Lpn]) {
        let parity = self.core.ftl.parity_groups().parity(group);
        assert!(!trimmed.is_empty(), "{group:?} has no data to lose");
        self.core.ledger.measured.raid.dropped += 1;
        let mut newest = Vec::new();
        for &lpn in trimmed.iter().chain([&parity]) {
            let (before, committed) = self.core.ftl.trim(lpn);
            newest.push(before);
            let has_page = restore_page(&mut self.core, lpn);
            assert_ne!(committed.is_some(), has_page, "a group at rest holds its data");
            let (raid, core) = self.parity();
            raid.release_page(core, lpn, committed);
        }
        self.record_trim(trimmed, self.core.front.sequence);
        self.core.trim_ends(trimmed, self.core.front.sequence);
        self.trim_all_buffered(&newest);
    }
}

impl Core {
    /// Whether a TRIM is the newest operation of an LPN, which is in `slot`.
    pub(in crate::sim) fn is_trim(&self, slot: OpSlot) -> bool {
        debug_assert_ne!(slot, OpSlot::NONE, "nothing is no TRIM");
        self.array.ops[slot].kind() == OpKind::GroupTrim
    }
}

/// Parts of a write of `pages` on a device with parity: the groups that it touches.
pub(in crate::sim) fn parts_of_write(core: &Core, pages: Pages) -> u32 {
    let groups = core.ftl.parity_groups();
    assert!(pages.count > 0, "a write of nothing");
    let last = Lpn(pages.first + pages.count - 1);
    groups.group_of(last).0 - groups.group_of(Lpn(pages.first)).0 + 1
}

/// Send the page in `slot` over the link; `first`: the first of its request.
fn send_over_link(core: &mut Core, slot: OpSlot, first: bool, request: &Request) {
    debug_assert!(core.array.ops[slot].update().is_some(), "{slot:?} is in no group");
    let (range, _) = byte_range(&core.ftl.geo, request, core.array.ops[slot].lpn);
    let link = core.front.link.as_mut().expect("the caller has checked");
    let (begin, end) = link.carry(core.array.now, Destination::Device, (range.1 - range.0) as u64);
    if first {
        link.write_from = begin;
    }
    assert!(end >= link.write_from, "a page has crossed before its write began to");
    let op = &mut core.array.ops[slot];
    op.parts.queue_ns += (link.write_from - core.array.now).0;
    op.parts.transfer_ns += (end - link.write_from).0;
    core.array.set_timer(end, Timer::TransferredIn(slot));
}

/// Whether the newest admitted state of `lpn` is data.
pub(super) fn has_data(core: &Core, lpn: Lpn) -> bool {
    debug_assert!(lpn.0 < core.ftl.geo.user_pages, "{lpn:?} is not the host's");
    match core.ftl.owners.newest(lpn) {
        Entry::Unmapped => core.ftl.is_lost(lpn),
        Entry::Page(_) => true,
        Entry::Slot(slot) => !core.is_trim(slot),
    }
}

impl Raid {
    /// A new update of `group`, for `request` or for pages that leave the write buffer now.
    pub(super) fn new_update(
        &mut self,
        core: &mut Core,
        (group, homes): (GroupId, Homes),
        request: Option<RequestSlot>,
    ) -> UpdateSlot {
        let now = core.array.now;
        let groups = core.ftl.parity_groups();
        let parity_home = groups.home_at(homes, groups.data_pages());
        let from = request.map_or(now, |slot| core.front.requests.at(slot).arrival);
        let parts = Parts { queue_ns: (now - from).0, ..Parts::default() };
        let cause = Cause { request, from };
        self.insert((group, parity_home), (cause, core.front.sequence), (now, parts))
    }

    /// Give the parity of `group` its stream or class, after the pages that `update` changes.
    pub(super) fn name_parity(
        &mut self,
        core: &mut Core,
        update: UpdateSlot,
        group: GroupId,
        (stream, pages): (u8, u32),
    ) {
        let parity = core.ftl.parity_groups().parity(group);
        debug_assert!(parity.0 >= core.ftl.geo.user_pages, "{parity:?} is the host's");
        let class = core.ftl.class_of_write(parity, stream, pages);
        self.get(update).parity.stream = class;
    }

    /// Whether `group`, of which no update is under way and no copy needs a page, has no data besides `trimmed`.
    fn is_left_empty(&self, core: &Core, group: GroupId, trimmed: &[Lpn]) -> bool {
        let groups = core.ftl.parity_groups();
        let stays = |lpn: Lpn| {
            let data = !groups.is_parity(lpn) && !trimmed.contains(&lpn);
            data && core.ftl.holds(lpn)
        };
        debug_assert!(trimmed.iter().all(|&lpn| groups.group_of(lpn) == group), "of another group");
        let locked = self.is_locked(group) || self.recoveries.active(group).is_some();
        let locked = locked || trimmed.iter().any(|&lpn| self.is_page_pinned(lpn));
        !locked && !groups.pages(group).any(stays)
    }
}
