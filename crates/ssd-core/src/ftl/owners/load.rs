//! Loads ownership from a snapshot, and audits it.

use super::Owners;
use crate::ftl::map::Entry;
use crate::units::{Lpn, Ppn};

impl Owners {
    /// On a device without owners, give `valid` pages to the LPNs that they carry, but those in `shared` (`page << 32 |
    /// LPN`, ascending) to the LPNs listed there.
    ///
    /// # Errors
    /// A valid page beyond the device, of an LPN beyond the device, or of an LPN that has another page; a list of
    /// owners that is out of order, of an invalid page, or contains only the LPN that the page carries.
    pub(in crate::ftl) fn load(
        &mut self,
        valid: &[u64],
        lpns: &[u32],
        shared: &[u64],
    ) -> Result<(), String> {
        assert!(self.under.is_empty(), "validity is loaded while writes are in flight");
        assert!(valid.len() == self.validity.words().len() && self.valid_pages == 0);
        let mut lists = shared.chunk_by(|a, b| a >> 32 == b >> 32).peekable();
        for (word, &mask) in valid.iter().enumerate() {
            let mut bits = mask;
            while bits != 0 {
                let page = word as u32 * 64 + bits.trailing_zeros();
                // Clears the lowest bit, that of `page`.
                bits &= bits - 1;
                let Some(&lpn) = lpns.get(page as usize) else {
                    return Err(format!("page {page} is valid and beyond the device"));
                };
                match lists.next_if(|list| list[0] >> 32 == u64::from(page)) {
                    Some(list) => self.load_list(Ppn(page), Lpn(lpn), list)?,
                    None => self.load_owner(Ppn(page), Lpn(lpn))?,
                }
                self.valid_pages += 1;
            }
        }
        if let Some(list) = lists.next() {
            let page = list[0] >> 32;
            return Err(format!("page {page} has owners out of order, or is not valid"));
        }
        self.validity.load(valid);
        Ok(())
    }

    /// `lpn` owns `page`.
    fn load_owner(&mut self, page: Ppn, lpn: Lpn) -> Result<(), String> {
        let (page, Lpn(number)) = (page.0, lpn);
        if number >= self.map.len() {
            return Err(format!("page {page} holds LPN {number}, beyond the device"));
        }
        if let Entry::Page(previous) = self.map.get(lpn) {
            let previous = previous.0;
            return Err(format!("LPN {number} has two valid pages, {previous} and {page}"));
        }
        self.map.set(lpn, Entry::Page(Ppn(page)));
        Ok(())
    }

    /// Make the LPNs in `list` owners of `page`, which carries `carried`.
    fn load_list(&mut self, page: Ppn, carried: Lpn, list: &[u64]) -> Result<(), String> {
        debug_assert!(!list.is_empty(), "{page:?} has no list of owners");
        debug_assert!(list.iter().all(|pair| pair >> 32 == u64::from(page.0)), "of other pages");
        if !list.is_sorted_by(|a, b| a < b) {
            return Err(format!("the owners of page {} are out of order", page.0));
        }
        let further = list.iter().map(|&pair| Lpn(pair as u32)).filter(|&lpn| lpn != carried);
        if further.clone().next().is_none() {
            return Err(format!("page {} has one owner and a list of them", page.0));
        }
        list.iter().try_for_each(|&pair| self.load_owner(page, Lpn(pair as u32)))?;
        let side = self.begin_sharing();
        further.for_each(|lpn| side.table.insert(page, lpn));
        side.further += list.len() as u64 - 1;
        Ok(())
    }

    /// Check that every logical page owns a valid page, and that every valid page has the owners that its out-of-band
    /// area and the side table name; `carried` returns the LPN in the out-of-band area of a page.
    pub(in crate::ftl) fn audit(
        &self,
        carried: impl Fn(Ppn) -> Lpn,
        pages: u32,
    ) -> Result<(), String> {
        assert_eq!(self.validity().len(), pages.div_ceil(64) as usize, "pages of another device");
        let mut owned = vec![false; pages as usize];
        let (mut count, mut further, mut first) = (0u64, 0u64, 0u64);
        let in_table = |page: Ppn, lpn: Lpn| {
            self.side().is_some_and(|side| side.table.lpns(page).any(|owner| owner == lpn))
        };
        for lpn in (0..self.map.len()).map(Lpn) {
            let Some(ppn) = self.committed(lpn) else { continue };
            if !self.is_valid(ppn) {
                return Err(format!("LPN {} maps to invalid page {}", lpn.0, ppn.0));
            }
            let page = ppn.0;
            let was_owned = std::mem::replace(&mut owned[ppn.at()], true);
            if carried(ppn) == lpn {
                first += 1;
                if in_table(ppn, lpn) {
                    return Err(format!("LPN {} counts twice as an owner of page {page}", lpn.0));
                }
            } else if in_table(ppn, lpn) {
                further += 1;
            } else if was_owned {
                return Err(format!("page {page} has two owners, one is LPN {}", lpn.0));
            } else {
                let (lpn, oob_lpn) = (lpn.0, carried(ppn).0);
                return Err(format!("page {page} of LPN {lpn} carries LPN {oob_lpn} out of band"));
            }
            count += 1;
        }
        let side = self.side().map_or((0, 0), |side| (side.table.len(), side.further));
        if further != side.0 {
            return Err(format!("{} pairs in the side table, {further} of owners", side.0));
        }
        let unique = owned.iter().filter(|&&owned| owned).count() as u64;
        if unique != self.valid_pages {
            return Err(format!("{unique} owned, {} valid pages", self.valid_pages));
        }
        if count != self.valid_pages + side.1 {
            let (valid, further) = (self.valid_pages, side.1);
            return Err(format!(
                "{valid} valid pages and {further} further owners of {count} LPNs"
            ));
        }
        debug_assert_eq!(first + further, count, "an LPN is neither");
        let orphan = (0..pages).find(|&page| self.is_valid(Ppn(page)) != owned[page as usize]);
        orphan.map_or(Ok(()), |page| Err(format!("page {page} is valid without an owner")))
    }
}
