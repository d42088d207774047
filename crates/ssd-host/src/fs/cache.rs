//! Which clean pages of files are in memory; the least recently used ones are evicted.

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Slot {
    file: u32,
    page: u32,
    newer: u32,
    older: u32,
    /// The read that brings the page; 0 if it has always been there.
    arriving: u64,
}

/// A list of clean pages, by last use.
pub(crate) struct Cache {
    slots: Vec<Slot>,
    unused: Vec<u32>,
    newest: u32,
    oldest: u32,
    /// How many there are.
    count: usize,
    /// For each file, the slot of each page.
    places: Vec<Vec<u32>>,
}

impl Cache {
    pub(crate) fn new() -> Cache {
        let (slots, unused, places) = (Vec::new(), Vec::new(), Vec::new());
        Cache { slots, unused, newest: NONE, oldest: NONE, count: 0, places }
    }

    /// Pages held.
    pub(crate) fn page_count(&self) -> usize {
        self.count
    }

    fn place(&self, file: u32, page: u32) -> u32 {
        let places = self.places.get(file as usize);
        places.and_then(|p| p.get(page as usize)).copied().unwrap_or(NONE)
    }

    fn unlink(&mut self, at: u32) {
        let Slot { newer, older, .. } = self.slots[at as usize];
        match newer {
            NONE => self.newest = older,
            slot => self.slots[slot as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            slot => self.slots[slot as usize].newer = newer,
        }
    }

    fn link(&mut self, at: u32) {
        (self.slots[at as usize].newer, self.slots[at as usize].older) = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = at,
            slot => self.slots[slot as usize].newer = at,
        }
        self.newest = at;
    }

    /// Note that the page is used. Returns the number of the read that brings it, if it is held.
    pub(crate) fn used(&mut self, file: u32, page: u32) -> Option<u64> {
        let at = self.place(file, page);
        if at == NONE {
            return None;
        }
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
        debug_assert_eq!(
            (self.slots[at as usize].file, self.slots[at as usize].page),
            (file, page)
        );
        Some(self.slots[at as usize].arriving)
    }

    /// Whether it is held.
    pub(crate) fn holds(&self, file: u32, page: u32) -> bool {
        self.place(file, page) != NONE
    }

    /// Hold the page, brought by read `arriving` (0: by none).
    pub(crate) fn insert(&mut self, file: u32, page: u32, arriving: u64) {
        if self.used(file, page).is_some() {
            return;
        }
        let slot = Slot { file, page, newer: NONE, older: NONE, arriving };
        let at = self.unused.pop().unwrap_or(self.slots.len() as u32);
        if at as usize == self.slots.len() {
            self.slots.push(slot);
        } else {
            self.slots[at as usize] = slot;
        }
        self.link(at);
        let file = file as usize;
        if self.places.len() <= file {
            self.places.resize(file + 1, Vec::new());
        }
        if self.places[file].len() <= page as usize {
            self.places[file].resize(page as usize + 1, NONE);
        }
        self.places[file][page as usize] = at;
        self.count += 1;
    }

    /// Drop the page.
    pub(crate) fn remove(&mut self, file: u32, page: u32) {
        let at = self.place(file, page);
        if at != NONE {
            self.unlink(at);
            self.unused.push(at);
            self.places[file as usize][page as usize] = NONE;
            self.count -= 1;
        }
    }

    /// Keep at most `most` pages.
    pub(crate) fn shrink(&mut self, most: usize) {
        while self.count > most {
            let Slot { file, page, .. } = self.slots[self.oldest as usize];
            self.remove(file, page);
        }
    }

    /// Drop all pages of the file.
    pub(crate) fn forget(&mut self, file: u32) {
        let pages = self.places.get(file as usize).map_or(0, Vec::len);
        (0..pages as u32).for_each(|page| self.remove(file, page));
        if let Some(places) = self.places.get_mut(file as usize) {
            *places = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd_core::rng::Stream;

    #[test]
    fn it_agrees_with_a_list_that_is_searched() {
        let (mut cache, mut random) = (Cache::new(), Stream::new(5, "cache"));
        let mut list: Vec<(u32, u32)> = Vec::new();
        for _ in 0..50_000 {
            let (file, page) = (random.below(4) as u32, random.below(40) as u32);
            let at = list.iter().position(|&entry| entry == (file, page));
            match random.below(20) {
                0 => {
                    cache.forget(file);
                    list.retain(|entry| entry.0 != file);
                }
                1 => {
                    cache.remove(file, page);
                    list.retain(|&entry| entry != (file, page));
                }
                2..10 => {
                    assert_eq!(cache.used(file, page).is_some(), at.is_some());
                    if let Some(at) = at {
                        let entry = list.remove(at);
                        list.push(entry);
                    }
                }
                _ => {
                    cache.insert(file, page, 0);
                    list.retain(|&entry| entry != (file, page));
                    list.push((file, page));
                    cache.shrink(50);
                    let extra = list.len().saturating_sub(50);
                    list.drain(..extra);
                }
            }
            assert_eq!(cache.page_count(), list.len());
            assert!(list.iter().all(|&(file, page)| cache.holds(file, page)));
        }
    }
}
