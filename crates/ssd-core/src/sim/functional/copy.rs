//! Copies without time: the pages of the destination share those of the source; with `remap.mode = "copy"` they get
//! their own then.

use super::Functional;
use crate::config::RemapMode;
use crate::host::device::DeviceError;
use crate::host::request::Request;
use crate::metrics::counters::RemapCounts;
use crate::sim::copies::checks;
use crate::sim::front::pages_of;
use crate::units::{Lpn, Ppn};

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
