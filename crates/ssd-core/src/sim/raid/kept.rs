//! The pages that were read last for the update of a parity.
//!
//! Paper: Liang et al., IEICE Electronics Express 2018, section 4.2: the buffer of the read module limits the reads
//! induced by duplicates. Where it is silent, decided: it keeps a number of pages, those read last, until they are
//! overwritten; pages written do not enter it.

use crate::nand::flash::Payload;
use crate::units::Lpn;
use std::collections::BTreeMap;

/// A number of pages with their contents.
#[derive(Default)]
pub(super) struct KeptPages {
    most: usize,
    /// Each page with the number of its read.
    pages: BTreeMap<Lpn, (u64, Payload)>,
    by_read: BTreeMap<u64, Lpn>,
    reads: u64,
}

impl KeptPages {
    pub(super) fn new(most: usize) -> KeptPages {
        KeptPages { most, ..KeptPages::default() }
    }

    /// Whether it keeps any.
    #[inline]
    pub(super) fn keeps(&self) -> bool {
        debug_assert!(self.most > 0 || self.pages.is_empty(), "pages without room");
        self.most > 0
    }

    /// `lpn` has been read and holds `payload`.
    #[inline]
    pub(super) fn keep(&mut self, lpn: Lpn, payload: &Payload) {
        debug_assert_ne!(lpn, Lpn::NONE, "no page is kept");
        if self.keeps() {
            self.put(lpn, payload);
        }
    }

    #[inline(never)]
    fn put(&mut self, lpn: Lpn, payload: &Payload) {
        self.take_out(lpn);
        self.reads += 1;
        if self.pages.len() == self.most {
            let (_, oldest) = self.by_read.pop_first().expect("it is full");
            self.pages.remove(&oldest);
        }
        self.pages.insert(lpn, (self.reads, payload.clone()));
        self.by_read.insert(self.reads, lpn);
        assert!(self.pages.len() <= self.most, "more pages are kept than fit");
    }

    /// `lpn` has been overwritten or trimmed.
    #[inline]
    pub(super) fn forget(&mut self, lpn: Lpn) {
        if self.keeps() {
            self.take_out(lpn);
        }
    }

    fn take_out(&mut self, lpn: Lpn) {
        if let Some((read, _)) = self.pages.remove(&lpn) {
            let was = self.by_read.remove(&read);
            assert_eq!(was, Some(lpn), "read {read} was of another page");
        }
    }

    #[inline]
    pub(super) fn has(&self, lpn: Lpn) -> bool {
        debug_assert!(self.pages.len() <= self.most, "more pages are kept than fit");
        self.keeps() && self.pages.contains_key(&lpn)
    }

    /// The contents of a page that is kept.
    pub(super) fn payload(&self, lpn: Lpn) -> Option<&Payload> {
        debug_assert_eq!(self.pages.len(), self.by_read.len(), "pages without a read");
        self.pages.get(&lpn).map(|(_, payload)| payload)
    }

    pub(super) fn audit(&self) -> Result<(), String> {
        let listed = self
            .by_read
            .iter()
            .all(|(read, lpn)| self.pages.get(lpn).is_some_and(|(of_page, _)| of_page == read));
        if !listed || self.pages.len() != self.by_read.len() {
            return Err("the pages kept are not those that were read last".to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_read_last_are_kept_until_they_are_overwritten() {
        let page = |digest| Payload { digest, bytes: None };
        let mut kept = KeptPages::new(2);
        for (lpn, digest) in [(1, 10), (2, 20), (1, 11), (3, 30)] {
            kept.keep(Lpn(lpn), &page(digest));
        }
        assert_eq!([1, 2, 3].map(|lpn| kept.has(Lpn(lpn))), [true, false, true]);
        assert_eq!(kept.payload(Lpn(1)), Some(&page(11)));
        kept.forget(Lpn(1));
        assert!(!kept.has(Lpn(1)));
        kept.audit().unwrap();
        let mut none = KeptPages::new(0);
        none.keep(Lpn(1), &page(1));
        assert!(!none.has(Lpn(1)));
    }
}
