//! Writes and TRIMs of parity groups without time: all pages of an update are programmed, then all are committed.
//!
//! Equal to the timed machine at queue depth 1: room in all pools first, then the programs, then the commits, then
//! the demands of the pools.

use super::Functional;
use crate::ftl::raid::verify::mix;
use crate::ftl::raid::{Change, Changes, GroupId, MOST_CHIPS, Method, Plan};
use crate::host::device::DeviceError;
use crate::host::request::{Op, Request};
use crate::nand::flash::{Payload, fill_digest};
use crate::sim::front::{Pages, is_in_part, pages_of};
use crate::units::{Lpn, PlaneId, Ppn};
use std::ops::Range;

/// What the updates of parity groups have cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupTally {
    /// Pages of parity programmed.
    pub parity_pages: u64,
    /// Pages read for it.
    pub reads: u64,
    /// Updates of whole groups.
    pub full: u64,
    /// Updates by read-modify-write.
    pub modified: u64,
    /// Updates by reconstruct-write.
    pub reconstructed: u64,
    /// Groups that a TRIM left without data.
    pub dropped: u64,
}

impl GroupTally {
    pub(super) fn count(&mut self, plan: &Plan) {
        debug_assert!(plan.method != Method::Drop || plan.reads == 0, "{plan:?} reads for nothing");
        self.reads += u64::from(plan.reads.count_ones());
        self.parity_pages += u64::from(plan.method != Method::Drop);
        *match plan.method {
            Method::Full => &mut self.full,
            Method::ReadModify => &mut self.modified,
            Method::Reconstruct => &mut self.reconstructed,
            Method::Drop => &mut self.dropped,
        } += 1;
    }
}

impl Functional {
    /// Write `count` pages from `first` on, group by group if the device has parity.
    ///
    /// # Errors
    /// As [`Functional::write`].
    pub fn write_run(&mut self, first: Lpn, count: u32, stream: u8) -> Result<(), DeviceError> {
        if self.ftl.groups.is_none() {
            let mut lpns = first.0..first.0 + count;
            return lpns.try_for_each(|lpn| self.write_page(Lpn(lpn), stream, 1));
        }
        let shift = self.ftl.geo.sector_shift;
        let request = Request::new(Op::Write, u64::from(first.0) << shift, count << shift);
        self.write_groups(&Request { stream, ..request })
    }

    /// Execute the write `r` group by group.
    pub(super) fn write_groups(&mut self, r: &Request) -> Result<(), DeviceError> {
        let Pages { first, count } = pages_of(&self.ftl.geo, r);
        assert!(first + count <= self.ftl.geo.user_pages, "{first} + {count} is too far");
        let mut left = first..first + count;
        while let Some((group, positions)) = self.next_group(&mut left) {
            self.sequence += positions.len() as u64;
            self.tally.host_pages += positions.len() as u64;
            self.write_group(group, positions, r, count)?;
        }
        Ok(())
    }

    /// Take the pages of the first group out of `left`. Returns the group, and their positions in it.
    pub(super) fn next_group(&self, left: &mut Range<u32>) -> Option<(GroupId, Range<u32>)> {
        let groups = self.ftl.parity_groups();
        let (group, pages) = groups.take_part(left)?;
        debug_assert!(pages.end == left.start, "{pages:?} are not taken out of {left:?}");
        let from = groups.position(Lpn(pages.start));
        Some((group, from..from + pages.len() as u32))
    }

    /// Write the first `pages` pages in order, a group at a time. False if `keep_going` ended it.
    pub(super) fn fill_groups(
        &mut self,
        pages: u64,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, DeviceError> {
        let groups = self.ftl.parity_groups();
        let step = u64::from(groups.data_pages());
        let mut at = 0;
        while at < pages {
            if self.is_time_to_look() && !keep_going(at) {
                return Ok(false);
            }
            self.write_run(Lpn(at as u32), step.min(pages - at) as u32, 0)?;
            at += step;
        }
        Ok(true)
    }

    /// Write the pages at `positions` of `group`, which have been admitted, for request `r` of `of_request` pages.
    fn write_group(
        &mut self,
        group: GroupId,
        positions: Range<u32>,
        r: &Request,
        of_request: u32,
    ) -> Result<(), DeviceError> {
        let groups = self.ftl.parity_groups();
        assert!(!positions.is_empty() && positions.end <= groups.data_pages(), "{positions:?}");
        let mut changes = Changes::default();
        for position in positions.clone() {
            let in_part = is_in_part(&self.ftl.geo, r, groups.page(group, position));
            changes.add(position, if in_part { Change::Part } else { Change::Whole });
        }
        let plan = self.ftl.plan_group(group, changes, None);
        let mut parity = self.ftl.sum_of_sources(group, &plan);
        let mut pages = [(Lpn::NONE, PlaneId::NONE, 0, Ppn::NONE); MOST_CHIPS];
        let lpns = positions.chain([groups.data_pages()]).map(|p| groups.page(group, p));
        let mut count = 0;
        for lpn in lpns {
            pages[count] = (lpn, groups.home(lpn), 0, Ppn::NONE);
            count += 1;
        }
        for (lpn, _, frontier, _) in &mut pages[..count] {
            let class = self.class_of(*lpn, r.stream, of_request)?;
            *frontier = self.ftl.space.host_stream(class);
        }
        let (pages, data) = (&mut pages[..count], count as u64 - 1);
        self.groups.count(&plan);
        self.tally.rests_read += u64::from((changes.in_part() & plan.reads).count_ones());
        for &(_, plane, frontier, _) in &*pages {
            self.hold(plane, frontier)?;
        }
        for (i, (lpn, plane, frontier, ppn)) in pages.iter_mut().enumerate() {
            let sequence = (self.sequence - data) + (i as u64 + 1).min(data);
            let is_parity = i as u64 == data;
            *ppn = self.ftl.program_group(*plane, *frontier, *lpn, is_parity);
            if self.ftl.flash.keeps_contents() {
                let new = Payload { digest: fill_digest(*lpn, sequence), bytes: None };
                if !is_parity {
                    mix(&mut parity, &new);
                }
                let payload = if is_parity { &parity } else { &new };
                self.ftl.flash.store(*ppn, sequence, payload);
            }
        }
        self.commit_pages(pages);
        if self.plugs.any() { self.check_policies() } else { Ok(()) }
    }

    /// Unmap the pages at `positions` of `group`. Returns how many were mapped.
    pub(super) fn trim_group(
        &mut self,
        group: GroupId,
        positions: Range<u32>,
        of_request: u32,
    ) -> Result<u64, DeviceError> {
        assert!(!positions.is_empty(), "nothing of {group:?} is trimmed");
        let groups = self.ftl.parity_groups();
        let mut changes = Changes::default();
        let mapped: Vec<Lpn> = positions
            .map(|p| (p, groups.page(group, p)))
            .filter(|&(_, lpn)| self.ftl.owners.committed(lpn).is_some())
            .map(|(p, lpn)| {
                changes.add(p, Change::Trim);
                lpn
            })
            .collect();
        if mapped.is_empty() {
            return Ok(0);
        }
        let plan = self.ftl.plan_group(group, changes, None);
        let (lpn, home) = (groups.parity(group), groups.home(groups.parity(group)));
        let parity = self.ftl.sum_of_sources(group, &plan);
        self.groups.count(&plan);
        let mut written = None;
        if plan.method == Method::Drop {
            self.released_by_trim(lpn);
        } else {
            let class = self.ftl.class_of_write(lpn, 0, of_request);
            let frontier = self.ftl.space.host_stream(class);
            self.hold(home, frontier)?;
            let ppn = self.ftl.program_group(home, frontier, lpn, true);
            if self.ftl.flash.keeps_contents() {
                self.ftl.flash.store(ppn, self.sequence, &parity);
            }
            written = Some((lpn, home, frontier, ppn));
        }
        mapped.iter().for_each(|&lpn| self.released_by_trim(lpn));
        self.commit_pages(written.as_slice());
        self.meet_demands();
        Ok(mapped.len() as u64)
    }

    /// `lpn` is unmapped.
    fn released_by_trim(&mut self, lpn: Lpn) {
        debug_assert!(self.ftl.owners.committed(lpn).is_some(), "{lpn:?} has no page");
        let (_, old) = self.ftl.trim(lpn);
        if self.agenda.watches_releases() {
            self.page_released(old);
        }
    }

    /// Hold a page of frontier `stream` on `plane`, collecting until there is one.
    pub(super) fn hold(&mut self, plane: PlaneId, stream: u32) -> Result<(), DeviceError> {
        let pool = self.ftl.geo.pool_of(plane);
        debug_assert!(plane.0 < self.ftl.geo.planes, "there is no {plane:?}");
        while !self.ftl.space.can_hold(plane, stream) {
            if !self.collect_next(pool) {
                let waiting = (1, 0);
                return Err(crate::sim::no_room::no_space(
                    &self.ftl,
                    pool,
                    &self.plugs,
                    waiting,
                    "",
                ));
            }
        }
        self.ftl.space.hold(plane, stream);
        Ok(())
    }

    /// Commit the pages of an update, which are all programmed; then meet the demands of the pools that any of them
    /// changes.
    fn commit_pages(&mut self, pages: &[(Lpn, PlaneId, u32, Ppn)]) {
        assert!(pages.len() <= MOST_CHIPS, "{} pages of a group", pages.len());
        let mut replaced = [None; MOST_CHIPS];
        for (&(lpn, _, _, ppn), replaced) in pages.iter().zip(&mut replaced) {
            *replaced = self.ftl.replace_in_group(lpn, ppn);
            self.ftl.settle_landed(ppn);
        }
        for (&(_, plane, _, _), replaced) in pages.iter().zip(replaced) {
            self.note_written(plane, replaced);
        }
        if !self.agenda.is_empty() {
            self.meet_demands();
        }
    }
}
