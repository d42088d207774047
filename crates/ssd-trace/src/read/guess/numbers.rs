//! What the numbers of a table say of the units that the names of its columns leave open.

use ssd_core::units::SECTOR_BYTES;

/// Sectors of 4 KiB, the block of nearly every file system.
const BLOCK: u64 = 8;
/// Fewer requests do not show multiples of a block.
const FEW: usize = 16;
/// Fewest requests whose multiples of 512 contradict names that say sectors. As sectors, one in 64 blocks is at such a
/// multiple, so a single request may be, but hardly three.
const LEAST: usize = 3;
/// As [`LEAST`], for addresses alone, since files may begin at multiples of 1 MiB, and for numbers of pages.
const LEAST_ADDRESSES: usize = 8;
/// Mean length, as a number, from which requests that start anywhere are more likely records of bytes than sectors.
const LONG: u64 = 64;
/// Mean length, as a number, above which it is more likely one of bytes: requests in sectors are hardly ever longer
/// than 1 MiB on average.
const LONGEST: u64 = 2048;

/// A unit of addresses and one of lengths.
pub(super) type Units = (&'static str, &'static str);

/// Addresses and lengths of the first requests of a file.
pub(crate) struct Numbers {
    pub(crate) starts: Vec<u64>,
    pub(crate) sizes: Vec<u64>,
}

impl Numbers {
    fn are_multiples(values: &[u64], of: u64) -> bool {
        values.iter().all(|value| value.is_multiple_of(of))
    }

    /// How many requests fit the condition.
    fn count(&self, fits: impl Fn(u64) -> bool) -> usize {
        self.sizes.iter().filter(|&&size| fits(size)).count()
    }

    fn mean(&self) -> u64 {
        let sum: u128 = self.sizes.iter().map(|&size| u128::from(size)).sum();
        (sum / (self.sizes.len() as u128).max(1)) as u64
    }

    /// Whether the addresses, as sectors, start anywhere within blocks: no place has half of them.
    fn start_anywhere(&self) -> bool {
        let mut places = [0usize; BLOCK as usize];
        self.starts.iter().for_each(|start| places[(start % BLOCK) as usize] += 1);
        places.iter().all(|&of_place| 2 * of_place < self.starts.len())
    }

    /// Whether all addresses and lengths are multiples of 512, as those in bytes are, and not few.
    fn are_whole_sectors(&self) -> bool {
        self.starts.len() >= LEAST
            && [&self.starts, &self.sizes]
                .iter()
                .all(|all| Numbers::are_multiples(all, SECTOR_BYTES))
            && self.starts.iter().any(|&start| start > 0)
    }

    /// Whether a request begins where the one above it ends.
    fn are_adjacent(&self) -> bool {
        let ends =
            self.starts.iter().zip(&self.sizes).map(|(start, size)| start.wrapping_add(*size));
        self.starts.iter().skip(1).zip(ends).any(|(start, end)| *start == end)
    }

    /// Whether numbers that fit sectors are less likely sectors than bytes of requests that begin and end anywhere.
    pub(super) fn may_be_records(&self) -> bool {
        let odd = self.count(|size| !size.is_multiple_of(BLOCK));
        let is_long = self.mean() >= LONG || 2 * odd > self.sizes.len();
        self.starts.len() > 3
            && (self.mean() > LONGEST || (is_long && !self.are_short() && self.start_anywhere()))
    }

    /// Whether numbers of bytes are too large for sectors.
    pub(crate) fn are_too_large_for_sectors(&self) -> bool {
        self.are_whole_sectors() && self.mean() > LONGEST
    }

    /// Whether addresses are multiples of 512, as those in bytes are. Those in sectors are, too, if all lengths are
    /// multiples of `long`.
    pub(crate) fn has_addresses_in_bytes(&self, long: u64) -> bool {
        self.starts.len() >= LEAST_ADDRESSES
            && Self::are_multiples(&self.starts, SECTOR_BYTES)
            && self.starts.iter().any(|&start| start > 0)
            && !Self::are_multiples(&self.sizes, long)
    }

    /// Whether many lengths are, as sectors, shorter than a block, as numbers of pages are.
    fn are_short(&self) -> bool {
        let halves = self.count(|size| size.is_multiple_of(BLOCK / 2));
        let blocks = self.count(|size| size.is_multiple_of(BLOCK));
        halves < self.sizes.len()
            && 4 * self.count(|size| size < BLOCK) > self.sizes.len()
            && 2 * blocks < self.sizes.len()
    }

    /// Whether the numbers, read as sectors, look like numbers of pages.
    pub(crate) fn are_pages(&self) -> bool {
        self.starts.len() >= LEAST_ADDRESSES && self.are_short() && self.start_anywhere()
    }

    /// Units beside those that the names of the columns allow: pages of 4 KiB, where they say nothing of a length, and
    /// bytes. Those that go before the others are in the first list.
    pub(super) fn units(&self, offset: Option<&str>, size: Option<&str>) -> [Vec<Units>; 2] {
        let mut all = [Vec::new(), Vec::new()];
        let are_placed = self.starts.len() < FEW || !self.start_anywhere();
        match (offset, size) {
            (Some("4KiB"), None) if !Numbers::are_multiples(&self.sizes, SECTOR_BYTES) => {
                all[0].push(("4KiB", "4KiB"));
            }
            (Some("512B"), None) if self.are_whole_sectors() => {
                all[usize::from(!self.are_adjacent())].push(("B", "B"));
            }
            (None, Some("B")) if !are_placed && Numbers::are_multiples(&self.sizes, 4096) => {
                all[1].push(("4KiB", "B"));
            }
            (None, None) if !are_placed => {
                let are_pages = self.are_short() || Numbers::are_multiples(&self.sizes, BLOCK);
                if are_pages && self.mean() < LONG {
                    all[1].push(("4KiB", "4KiB"));
                }
            }
            _ => {}
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn two_requests_at_multiples_of_512_say_nothing_of_units() {
        let all = |rows: usize| Numbers {
            starts: vec![4096, 8192, 16384][..rows].to_vec(),
            sizes: vec![4096; rows],
        };
        let units = |rows| all(rows).units(Some("512B"), None);
        assert_eq!(units(2), [vec![], vec![]]);
        assert_eq!(units(3), [vec![("B", "B")], vec![]]);
        assert!(!all(2).are_too_large_for_sectors());
        assert!(all(3).are_too_large_for_sectors());
    }
}
