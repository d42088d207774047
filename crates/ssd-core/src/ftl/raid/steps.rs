//! The steps of a group update over the tables of a device.

use super::verify::mix;
use super::{Changes, GroupId, GroupState, Plan};
use crate::ftl::Ftl;
use crate::nand::flash::Payload;
use crate::units::{Lpn, Nanos, PlaneId, Ppn};

impl Ftl {
    /// What an update of `group` by `changes` reads and programs; `is_kept`: whether the controller keeps a page, if it
    /// keeps any.
    #[inline]
    #[must_use]
    pub fn plan_group(
        &self,
        group: GroupId,
        changes: Changes,
        is_kept: Option<&dyn Fn(Lpn) -> bool>,
    ) -> Plan {
        let groups = self.parity_groups();
        let data = groups.data_pages();
        let parity = self.owners.committed(groups.parity(group)).is_some();
        let mapped = self.committed_of(groups.page(group, 0), data) | u64::from(parity) << data;
        let mut before = GroupState { mapped, kept: 0 };
        if let Some(is_kept) = is_kept {
            let positions = (0..groups.chips()).filter(|&p| mapped >> p & 1 == 1);
            let positions = positions.filter(|&p| is_kept(groups.page(group, p)));
            before.kept = positions.fold(0, |bits, p| bits | 1 << p);
        }
        if self.lost.is_some() {
            return self.plan_degraded(group, changes, before, is_kept);
        }
        Plan::new(groups.update(), groups.data_pages(), changes, before)
    }

    /// The sum of what `plan` makes the new parity of, beside what is written, as it is on flash.
    #[must_use]
    pub fn sum_of_sources(&self, group: GroupId, plan: &Plan) -> Payload {
        debug_assert!(self.groups.is_some(), "{group:?} of a device without parity");
        let mut sum = Payload::default();
        if !self.flash.keeps_contents() {
            return sum;
        }
        let groups = self.parity_groups();
        for (position, lpn) in (0..).zip(groups.pages(group)) {
            if plan.has_source(position) {
                let page = self.owners.committed(lpn).expect("a source holds data");
                mix(&mut sum, &self.flash.payload(page));
            }
        }
        sum
    }

    /// Program `lpn` at once to a page that is held on `plane`; it is not committed.
    pub fn program_group(&mut self, plane: PlaneId, stream: u32, lpn: Lpn, parity: bool) -> Ppn {
        debug_assert_eq!(parity, lpn.0 >= self.geo.user_pages, "{lpn:?} is parity or not");
        let ppn = self.bind_group(plane, stream, parity);
        self.blocks.now = Nanos(self.clock);
        self.flash.end_program(ppn, lpn);
        self.land(ppn);
        debug_assert!(!self.owners.is_valid(ppn), "{ppn:?} is owned before its update commits");
        ppn
    }
}
