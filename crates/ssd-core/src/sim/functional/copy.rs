//! Copies without time: the pages of the destination share those of the source; with `remap.mode = "copy"` they get
//! their own then. In parity groups an update decides page by page (ADR 0034).

use super::Functional;
use crate::config::RemapMode;
use crate::ftl::raid::verify::mix;
use crate::ftl::raid::{Change, Changes, GroupId, Method};
use crate::host::device::DeviceError;
use crate::host::request::Request;
use crate::metrics::counters::RemapCounts;
use crate::nand::flash::Payload;
use crate::sim::copies::checks;
use crate::sim::front::pages_of;
use crate::units::{Lpn, PlaneId, Ppn};

/// A page of the destination of a copy in a parity group.
struct CopiedPage {
    lpn: Lpn,
    source: Lpn,
    change: Change,
    class: u8,
    sequence: u64,
}

impl Functional {
    /// Execute the copy `request` with number `id`, which brings its source ranges in `data`.
    ///
    /// # Errors
    /// The device does not accept it, or as [`Functional::write`].
    pub fn copy(
        &mut self,
        id: u64,
        request: &Request,
        data: &[u8],
        counts: &mut RemapCounts,
    ) -> Result<(), DeviceError> {
        let sources = checks::sources(&self.ftl.geo, self.remap, request, Some(data), counts)
            .map_err(|reason| DeviceError::BadRequest { id, reason })?;
        let pages = pages_of(&self.ftl.geo, request);
        debug_assert_eq!(sources.len(), pages.count as usize, "copy {id} has other sources");
        if self.ftl.groups.is_some() {
            let mut left = pages.first..pages.first + pages.count;
            while let Some((group, positions)) = self.next_group(&mut left) {
                let to = self.ftl.parity_groups().page(group, positions.start).0 - pages.first;
                let of_group = &sources[to as usize..to as usize + positions.len()];
                self.copy_group(
                    (group, positions.start),
                    of_group,
                    (request, pages.count),
                    counts,
                )?;
            }
            return Ok(());
        }
        let mut copied = Vec::new();
        for (lpn, source) in (pages.first..).map(Lpn).zip(sources) {
            match self.ftl.owners.committed(source) {
                None => {
                    counts.unmapped += 1;
                    self.leave(lpn);
                }
                Some(page) => {
                    let before = self.ftl.share(lpn, page).before;
                    self.left(before);
                    copied.push(lpn);
                }
            }
        }
        if !self.agenda.is_empty() {
            self.meet_demands();
        }
        if self.remap == RemapMode::Share {
            counts.shared += copied.len() as u64;
            return Ok(());
        }
        counts.copied += copied.len() as u64;
        copied.into_iter().try_for_each(|lpn| self.rewrite(lpn, request.stream))
    }

    /// Copy `sources` to the pages of `group` from position `first` on, for `request` of `of_request` pages.
    fn copy_group(
        &mut self,
        (group, first): (GroupId, u32),
        sources: &[Lpn],
        (request, of_request): (&Request, u32),
        counts: &mut RemapCounts,
    ) -> Result<(), DeviceError> {
        let groups = self.ftl.parity_groups();
        let (mut changes, mut pages) = (Changes::default(), Vec::new());
        for (position, &source) in (first..).zip(sources) {
            let lpn = groups.page(group, position);
            let holds = |lpn| self.ftl.owners.committed(lpn).is_some();
            let change = if holds(source) { Change::Copied } else { Change::Trim };
            counts.unmapped += u64::from(change == Change::Trim);
            if change == Change::Copied || holds(lpn) {
                changes.add(position, change);
                pages.push(CopiedPage { lpn, source, change, class: 0, sequence: 0 });
            }
        }
        if pages.is_empty() {
            return Ok(());
        }
        let copies = |page: &&CopiedPage| page.change == Change::Copied;
        let is_read = |lpn: Lpn| pages.iter().filter(copies).any(|page| page.source == lpn);
        let plan = self.ftl.plan_group(group, changes, Some(&is_read));
        let mut sum = self.ftl.sum_of_sources(group, &plan);
        let mut taken = self.ftl.chips_of_others(group, changes);
        self.groups.count(&plan);
        for page in pages.iter_mut().filter(|page| page.change == Change::Copied) {
            self.sequence += 1;
            page.sequence = self.sequence;
            page.class = self.class_of(page.lpn, request.stream, of_request)?;
            let at = self.ftl.owners.committed(page.source).expect("it holds data");
            if self.ftl.flash.keeps_contents() {
                mix(&mut sum, &self.ftl.flash.payload(at));
            }
            if self.remap == RemapMode::Share && self.ftl.may_share(page.lpn, at, &taken) {
                taken.push(self.ftl.parity_groups().chip_of(self.ftl.geo.plane_of(at)));
                page.change = Change::Shared;
            }
        }
        self.count_copies(&pages, counts);
        let parity = self.ftl.parity_groups().parity(group);
        let class = self.class_of(parity, request.stream, of_request)?;
        let parity = (parity, (plan.method != Method::Drop).then_some(class));
        self.program_copies(&pages, parity, &sum)?;
        self.meet_demands();
        if self.plugs.any() { self.check_policies() } else { Ok(()) }
    }

    fn count_copies(&mut self, pages: &[CopiedPage], counts: &mut RemapCounts) {
        let number = |change| pages.iter().filter(|page| page.change == change).count() as u64;
        let (shared, copied) = (number(Change::Shared), number(Change::Copied));
        debug_assert!(shared + copied <= pages.len() as u64, "a page is both");
        counts.shared += shared;
        counts.copied += copied;
        counts.copied_chip += if self.remap == RemapMode::Share { copied } else { 0 };
        self.tally.remap_pages += copied;
        self.tally.remap_reads += shared + copied;
    }

    /// Program those of `pages`, of one group, that do not share, and the `parity` with this `sum` and its class, if
    /// the group keeps data; then commit all.
    fn program_copies(
        &mut self,
        pages: &[CopiedPage],
        (parity, class): (Lpn, Option<u8>),
        sum: &Payload,
    ) -> Result<(), DeviceError> {
        let own = pages.iter().filter(|page| page.change == Change::Copied);
        let written = own.clone().map(|page| (page.lpn, page.class));
        let mut places = Vec::new();
        for (lpn, class) in written.chain(class.map(|class| (parity, class))) {
            let home = self.ftl.parity_groups().home(lpn);
            let frontier = self.ftl.space.host_stream(class);
            self.hold(home, frontier)?;
            places.push((lpn, home, frontier));
        }
        let mut own = own;
        let mut programmed = Vec::new();
        for (lpn, plane, frontier) in places {
            let page = own.next();
            let ppn = self.ftl.program_group(plane, frontier, lpn, page.is_none());
            if self.ftl.flash.keeps_contents() {
                // Collection for the room of these pages may have moved the source.
                let source = page.and_then(|page| self.ftl.owners.committed(page.source));
                let payload = source.map_or_else(|| sum.clone(), |at| self.ftl.flash.payload(at));
                let sequence = page.map_or(self.sequence, |page| page.sequence);
                self.ftl.flash.store(ppn, sequence, &payload);
            }
            programmed.push((lpn, plane, ppn));
        }
        let (mut next, mut replaced) = (programmed.into_iter(), Vec::new());
        for page in pages {
            match page.change {
                Change::Trim => self.leave(page.lpn),
                Change::Shared => {
                    let at = self.ftl.owners.committed(page.source).expect("it holds data");
                    let before = self.ftl.share(page.lpn, at).before;
                    self.left(before.filter(|&before| before != at));
                }
                _ => replaced.extend(next.next().map(|page| self.replace_copied(page))),
            }
        }
        if class.is_none() {
            self.leave(parity);
        }
        replaced.extend(next.map(|page| self.replace_copied(page)));
        for (plane, before) in replaced {
            self.note_written(plane, before);
        }
        Ok(())
    }

    /// Commit a page that has been programmed. Returns its plane, and the page before it.
    fn replace_copied(&mut self, (lpn, plane, ppn): (Lpn, PlaneId, Ppn)) -> (PlaneId, Option<Ppn>) {
        let before = self.ftl.replace_in_group(lpn, ppn);
        debug_assert_ne!(before, Some(ppn), "{lpn:?} replaces a page with itself");
        self.ftl.settle_landed(ppn);
        (plane, before)
    }

    /// Unmap `lpn`.
    fn leave(&mut self, lpn: Lpn) {
        let (_, before) = self.ftl.trim(lpn);
        self.left(before);
        debug_assert!(self.ftl.owners.committed(lpn).is_none(), "{lpn:?} keeps data");
    }

    /// Note that an owner has left `page`, if there is one.
    fn left(&mut self, page: Option<Ppn>) {
        debug_assert!(page.is_none_or(|page| !self.ftl.flash.is_torn(page)), "{page:?} is torn");
        if self.agenda.watches_releases() {
            self.page_released(page.filter(|&page| !self.ftl.owners.is_valid(page)));
        }
    }

    /// Give `lpn` a page of its own.
    fn rewrite(&mut self, lpn: Lpn, stream: u8) -> Result<(), DeviceError> {
        self.sequence += 1;
        self.tally.remap_pages += 1;
        self.tally.remap_reads += 1;
        let class = self.class_of(lpn, stream, 1)?;
        let stream = self.ftl.space.host_stream(class);
        let planned = self.plan(lpn, stream);
        let plane = self.plane_for(planned, stream)?;
        let shared = self.ftl.owners.committed(lpn).expect("it shares a page");
        let (page, old) = self.ftl.write_now(plane, stream, lpn);
        debug_assert_ne!(page, shared, "{lpn:?} is copied to where it is");
        debug_assert_eq!(self.ftl.owners.committed(lpn), Some(page), "{lpn:?} is elsewhere");
        if self.ftl.flash.keeps_contents() {
            let payload = self.ftl.flash.payload(shared);
            self.ftl.flash.store(page, self.sequence, &payload);
        }
        self.page_written(plane, old);
        if self.plugs.any() { self.check_policies() } else { Ok(()) }
    }
}
