//! Which pages of the drive are free.

use super::note::Extent;
use std::collections::BTreeMap;

/// Free pages as ranges.
#[derive(Clone, Default, Debug)]
pub(crate) struct FreeSpace {
    /// First page and number of pages; no two ranges touch.
    ranges: BTreeMap<u32, u32>,
    pages: u64,
}

impl FreeSpace {
    /// How many.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    /// Take up to `most` consecutive pages, at `goal` or after it if possible, otherwise the first ones. `None` if none
    /// are free.
    pub(crate) fn take(&mut self, goal: u32, most: u32) -> Option<Extent> {
        assert!(most > 0, "nothing is asked for");
        // The range that contains `goal`, otherwise the next one.
        let inside = self.ranges.range(..=goal).next_back();
        let inside = inside.filter(|&(&start, &pages)| goal < start + pages).map(|(&s, &n)| (s, n));
        let next = || self.ranges.range(goal..).next().map(|(&s, &n)| (s, n));
        let (start, pages) =
            inside.or_else(next).or_else(|| self.ranges.iter().next().map(|(&s, &n)| (s, n)))?;
        let first = if (start..start + pages).contains(&goal) { goal } else { start };
        let length = most.min(start + pages - first);
        self.ranges.remove(&start);
        if first > start {
            self.ranges.insert(start, first - start);
        }
        let rest = start + pages - first - length;
        if rest > 0 {
            self.ranges.insert(first + length, rest);
        }
        self.pages -= u64::from(length);
        Some(Extent { start: first, pages: length })
    }

    /// These pages are free.
    pub(crate) fn give(&mut self, extent: Extent) {
        let Extent { mut start, mut pages } = extent;
        assert!(pages > 0, "an empty range");
        self.pages += u64::from(pages);
        if let Some((&before, &n)) = self.ranges.range(..start).next_back() {
            assert!(before + n <= start, "pages are freed twice");
            if before + n == start {
                self.ranges.remove(&before);
                (start, pages) = (before, n + pages);
            }
        }
        if let Some((&after, &n)) = self.ranges.range(start..).next() {
            assert!(start + pages <= after, "pages are freed twice");
            if start + pages == after {
                self.ranges.remove(&after);
                pages += n;
            }
        }
        self.ranges.insert(start, pages);
    }

    /// Take exactly these pages. False if they are not all free.
    pub(crate) fn claim(&mut self, extent: Extent) -> bool {
        let Some((&start, &pages)) = self.ranges.range(..=extent.start).next_back() else {
            return false;
        };
        if extent.pages == 0 || extent.start + extent.pages > start + pages {
            return false;
        }
        self.take(extent.start, extent.pages).is_some_and(|range| range == extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd_core::rng::Stream;

    #[test]
    fn ranges_agree_with_a_set_of_pages() {
        let (mut free, mut random) = (FreeSpace::default(), Stream::new(3, "alloc"));
        free.give(Extent { start: 0, pages: 500 });
        let (mut held, mut used) = (Vec::new(), vec![false; 500]);
        for _ in 0..20_000 {
            if random.below(2) == 0 {
                let (goal, most) = (random.below(500) as u32, 1 + random.below(40) as u32);
                let Some(extent) = free.take(goal, most) else {
                    assert!(used.iter().all(|&u| u), "pages are free");
                    continue;
                };
                assert!(extent.pages <= most);
                if !used[goal as usize] {
                    assert_eq!(extent.start, goal, "the goal was free");
                }
                for page in extent.start..extent.start + extent.pages {
                    assert!(!std::mem::replace(&mut used[page as usize], true), "taken twice");
                }
                held.push(extent);
            } else if !held.is_empty() {
                let extent: Extent = held.swap_remove(random.below(held.len() as u64) as usize);
                used[extent.start as usize..(extent.start + extent.pages) as usize].fill(false);
                free.give(extent);
                assert!(free.claim(extent) && !free.claim(extent), "free once");
                free.give(extent);
            }
            assert_eq!(free.pages(), used.iter().filter(|&&u| !u).count() as u64);
        }
    }
}
