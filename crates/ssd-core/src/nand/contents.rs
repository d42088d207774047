//! The bytes of programmed pages (bytes mode).
//!
//! A page's bytes are in a slot of a store; a copy of the page shares the slot, so garbage collection moves no bytes.
//! The store decides where slots are: here in memory, or in a file of the caller.

use super::page_store::PageStore;
use crate::units::Ppn;
use std::sync::OnceLock;

const NONE: u32 = u32::MAX;

/// The bytes of every page.
pub(super) struct Contents {
    /// Slot by page; `NONE` if it holds no bytes.
    slot_of: Vec<u32>,
    /// Pages in each slot.
    pages_in: Vec<u32>,
    free: Vec<u32>,
    page_bytes: usize,
    store: Box<dyn PageStore>,
    /// The store's first error; after it contents are wrong.
    failure: OnceLock<String>,
}

impl Contents {
    /// For `pages` pages of `page_bytes` bytes, all erased.
    pub(super) fn new(pages: u32, page_bytes: usize, store: Box<dyn PageStore>) -> Contents {
        assert!(pages > 0 && page_bytes > 0, "a device without bytes");
        Contents {
            slot_of: vec![NONE; pages as usize],
            pages_in: Vec::new(),
            free: Vec::new(),
            page_bytes,
            store,
            failure: OnceLock::new(),
        }
    }

    /// The bytes of `page`; `None` if the store fails.
    pub(super) fn get(&self, page: Ppn) -> Option<Box<[u8]>> {
        let slot = self.slot_of[page.at()];
        if slot == NONE {
            return None;
        }
        let mut bytes = vec![0; self.page_bytes].into_boxed_slice();
        match self.store.read(slot, &mut bytes) {
            Ok(()) => Some(bytes),
            Err(error) => {
                self.failure.get_or_init(|| error);
                None
            }
        }
    }

    /// Store these bytes, or none, for `page`.
    pub(super) fn put(&mut self, page: Ppn, bytes: Option<&[u8]>) {
        self.clear(page);
        let Some(bytes) = bytes else { return };
        assert_eq!(bytes.len(), self.page_bytes, "{page:?} is not filled");
        let slot = self.free.pop().unwrap_or_else(|| {
            self.pages_in.push(0);
            self.pages_in.len() as u32 - 1
        });
        if let Err(error) = self.store.write(slot, bytes) {
            self.failure.get_or_init(|| error);
        }
        self.pages_in[slot as usize] = 1;
        self.slot_of[page.at()] = slot;
    }

    /// Let `to` hold what `from` holds.
    pub(super) fn share(&mut self, from: Ppn, to: Ppn) {
        self.clear(to);
        let slot = self.slot_of[from.at()];
        if slot != NONE {
            self.pages_in[slot as usize] += 1;
            self.slot_of[to.at()] = slot;
        }
    }

    /// Drop the bytes of `page`.
    pub(super) fn clear(&mut self, page: Ppn) {
        let slot = std::mem::replace(&mut self.slot_of[page.at()], NONE);
        if slot == NONE {
            return;
        }
        let pages = &mut self.pages_in[slot as usize];
        assert!(*pages > 0, "slot {slot} of {page:?} is free");
        *pages -= 1;
        if *pages == 0 {
            self.free.push(slot);
        }
    }

    /// The pages that hold bytes, ascending.
    pub(super) fn pages(&self) -> impl Iterator<Item = Ppn> + '_ {
        let slots = self.slot_of.iter().enumerate();
        slots.filter(|&(_, &slot)| slot != NONE).map(|(page, _)| Ppn(page as u32))
    }

    /// Bytes held to find the slots, without those of the store.
    pub(super) fn bytes_held(&self) -> usize {
        (self.slot_of.len() + self.pages_in.len() + self.free.len()) * 4
    }

    /// Why the store has failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Check that every slot counts the pages that refer to it.
    pub(super) fn audit(&self) -> Result<(), String> {
        let mut references = vec![0u32; self.pages_in.len()];
        for &slot in self.slot_of.iter().filter(|&&slot| slot != NONE) {
            references[slot as usize] += 1;
        }
        if references != self.pages_in {
            return Err("the slots of the page store count other pages than name them".to_string());
        }
        let unused = references.iter().filter(|&&pages| pages == 0).count();
        if unused != self.free.len() {
            return Err(format!(
                "{unused} slots of the page store are unused, {} free",
                self.free.len()
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::page_store::Slabs;
    use crate::rng::Stream;
    use std::collections::BTreeMap;

    #[test]
    fn contents_are_those_of_a_map_of_pages() {
        let (pages, size) = (200u32, 8);
        let mut contents = Contents::new(pages, size, Box::new(Slabs::default()));
        let mut naive: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        let mut rng = Stream::new(1, "contents");
        for step in 0..5000u64 {
            let page = Ppn(rng.below(u64::from(pages)) as u32);
            match rng.below(4) {
                0 => {
                    let bytes = step.to_le_bytes();
                    contents.put(page, Some(&bytes));
                    naive.insert(page.0, bytes.to_vec());
                }
                1 => {
                    let from = Ppn(rng.below(u64::from(pages)) as u32);
                    if from != page {
                        contents.share(from, page);
                        match naive.get(&from.0).cloned() {
                            Some(bytes) => naive.insert(page.0, bytes),
                            None => naive.remove(&page.0),
                        };
                    }
                }
                2 => {
                    contents.clear(page);
                    naive.remove(&page.0);
                }
                _ => assert_eq!(contents.get(page).as_deref(), naive.get(&page.0).map(|b| &b[..])),
            }
        }
        contents.audit().expect("slots are counted");
        assert!(contents.pages().map(|p| p.0).eq(naive.keys().copied()));
        // A page and its copies need one slot, so there are never more slots than pages with bytes.
        assert!(contents.pages_in.len() <= pages as usize, "{} slots", contents.pages_in.len());
        assert_eq!(contents.failure(), None);
    }
}
