//! What the out-of-band area of a page of a parity group says about its group: the admission numbers of all data that
//! the group held after the update that programmed the page, and the number of that update.

use crate::units::Ppn;

/// The lists of all pages.
pub struct GroupLists {
    /// Pages of data in a group, and one for the number of the update.
    width: usize,
    words: Vec<u64>,
}

impl GroupLists {
    /// Empty lists of `pages` pages on a device with groups of `chips` chips.
    #[must_use]
    pub fn new(pages: usize, chips: u32) -> GroupLists {
        assert!(chips > 1, "a group of {chips} chips");
        GroupLists { width: chips as usize, words: vec![0; pages * chips as usize] }
    }

    /// The list of `page`: by position the numbers of the data, 0 where there are none, then the number of the update.
    /// All are 0 if the page was not programmed by an update in a device whose power may be cut.
    #[must_use]
    pub fn get(&self, page: Ppn) -> &[u64] {
        &self.words[page.at() * self.width..][..self.width]
    }

    /// Write the list of a page just programmed.
    pub fn set(&mut self, page: Ppn, list: &[u64]) {
        assert_eq!(list.len(), self.width, "the list of another group");
        self.words[page.at() * self.width..][..self.width].copy_from_slice(list);
    }

    /// Copy the list of one page to another.
    pub fn copy(&mut self, from: Ppn, to: Ppn) {
        let first = from.at() * self.width;
        debug_assert_ne!(from, to, "{from:?} is copied to itself");
        self.words.copy_within(first..first + self.width, to.at() * self.width);
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.words.len() * 8
    }
}
