//! Pages in the order of their last use: a stack with lookup by depth and by page.

/// Marks a page without a slot.
const NONE: u32 = u32::MAX;

/// A stack of distinct pages. The page pushed last has depth 0.
///
/// Pages are in slots in the order of use, a bit per slot says whether it is still valid, and a Fenwick tree (Fenwick,
/// "A New Data Structure for Cumulative Frequency Tables", Software 1994) counts the bits.
pub(super) struct Recency {
    /// Slot of each page, or `NONE`.
    slots: Vec<u32>,
    pages: Vec<u32>,
    bits: Vec<u64>,
    /// Fenwick tree of the bits per word, at index + 1.
    tree: Vec<u32>,
    /// The next slot.
    head: usize,
    len: u32,
}

impl Recency {
    /// Creates an empty stack for pages below `pages`, which is at most 2^30.
    pub(super) fn new(pages: u32) -> Recency {
        assert!(pages <= 1 << 30, "{pages} pages are too many");
        let words = (pages as usize * 2).div_ceil(64).next_power_of_two().max(64);
        Recency {
            slots: vec![NONE; pages as usize],
            pages: vec![0; words * 64],
            bits: vec![0; words],
            tree: vec![0; words + 1],
            head: 0,
            len: 0,
        }
    }

    pub(super) fn contains(&self, page: u32) -> bool {
        self.slots[page as usize] != NONE
    }

    /// Moves `page` to the top, or adds it.
    #[inline]
    pub(super) fn push(&mut self, page: u32) {
        self.remove(page);
        if self.head == self.pages.len() {
            self.close_up();
        }
        let slot = self.head;
        self.head += 1;
        // The cast is safe: there are at most 2^31 slots.
        self.slots[page as usize] = slot as u32;
        self.pages[slot] = page;
        self.bits[slot / 64] |= 1 << (slot % 64);
        self.len += 1;
        self.count(slot / 64, true);
    }

    /// Removes `page` if it is in the stack.
    #[inline]
    pub(super) fn remove(&mut self, page: u32) {
        let slot = std::mem::replace(&mut self.slots[page as usize], NONE);
        if slot == NONE {
            return;
        }
        let slot = slot as usize;
        self.bits[slot / 64] &= !(1 << (slot % 64));
        self.len -= 1;
        self.count(slot / 64, false);
    }

    /// Returns the number of pages used after `page`, which is in the stack.
    pub(super) fn depth(&self, page: u32) -> u32 {
        let slot = self.slots[page as usize] as usize;
        let mut before = (self.bits[slot / 64] & !(u64::MAX << (slot % 64))).count_ones();
        let mut at = slot / 64;
        while at > 0 {
            before += self.tree[at];
            at &= at - 1;
        }
        self.len - 1 - before
    }

    /// Returns the page at `depth`, or the lowest one; `None` if the stack is empty.
    pub(super) fn at(&self, depth: u32) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let mut before = self.len - 1 - depth.min(self.len - 1);
        let (mut word, mut step) = (0, self.bits.len());
        while step > 0 {
            let next = word + step;
            if next < self.tree.len() && self.tree[next] <= before {
                (word, before) = (next, before - self.tree[next]);
            }
            step /= 2;
        }
        let mut bits = self.bits[word];
        for _ in 0..before {
            bits &= bits - 1;
        }
        Some(self.pages[word * 64 + bits.trailing_zeros() as usize])
    }

    /// Adds a bit to the count of a word, or removes one.
    #[inline]
    fn count(&mut self, word: usize, more: bool) {
        let mut at = word + 1;
        while at < self.tree.len() {
            let sum = &mut self.tree[at];
            *sum = if more { *sum + 1 } else { *sum - 1 };
            at += at & at.wrapping_neg();
        }
    }

    /// Drops invalid slots, which are at least half of them.
    #[cold]
    fn close_up(&mut self) {
        let valid = |&slot: &usize| self.bits[slot / 64] >> (slot % 64) & 1 != 0;
        let pages: Vec<u32> = (0..self.head).filter(valid).map(|slot| self.pages[slot]).collect();
        self.bits.fill(0);
        self.tree.fill(0);
        (self.head, self.len) = (0, 0);
        for &page in &pages {
            self.slots[page as usize] = NONE;
        }
        pages.into_iter().for_each(|page| self.push(page));
    }
}

#[cfg(test)]
mod tests;
