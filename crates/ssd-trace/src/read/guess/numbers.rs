//! Evidence in the numbers of a table for units that the column names leave open.

use ssd_core::units::SECTOR_BYTES;

/// Sectors of 4 KiB, the block of nearly every file system.
const BLOCK: u64 = 8;
/// Minimum number of requests that can show multiples of a block.
const FEW: usize = 16;
/// Minimum number of requests whose multiples of 512 contradict names that say sectors. Of addresses in sectors, one in
/// 64 blocks is such a multiple: one request may match by chance, but three rarely do.
const LEAST: usize = 3;
/// Like [`LEAST`], for addresses alone, because files may begin at multiples of 1 MiB, and for numbers of pages.
const LEAST_ADDRESSES: usize = 8;
/// Mean length, as a number, from which requests with arbitrary starts are more likely records of bytes than sectors.
const LONG: u64 = 64;
/// Mean length, as a number, above which bytes are more likely: requests in sectors rarely exceed 1 MiB on average.
const LONGEST: u64 = 2048;

/// A unit of addresses and a unit of lengths.
pub(super) type Units = (&'static str, &'static str);

/// Addresses and lengths of the first requests of a file.
pub(crate) struct Numbers {
    pub(crate) starts: Vec<u64>,
    pub(crate) sizes: Vec<u64>,
}

impl Numbers {
    fn are_multiples(values: &[u64], factor: u64) -> bool {
        values.iter().all(|value| value.is_multiple_of(factor))
    }

    /// Returns the number of lengths that fit the condition.
    fn count(&self, fits: impl Fn(u64) -> bool) -> usize {
        self.sizes.iter().filter(|&&size| fits(size)).count()
    }

    fn mean(&self) -> u64 {
        let sum: u128 = self.sizes.iter().map(|&size| u128::from(size)).sum();
        (sum / (self.sizes.len() as u128).max(1)) as u64
    }

    /// Returns whether the addresses, as sectors, are spread over blocks: no offset in a block has half of them.
    fn start_anywhere(&self) -> bool {
        let mut places = [0usize; BLOCK as usize];
        self.starts.iter().for_each(|start| places[(start % BLOCK) as usize] += 1);
        places.iter().all(|&of_place| 2 * of_place < self.starts.len())
    }

    /// Returns whether there are several addresses and lengths, all multiples of 512, as bytes are.
    fn are_whole_sectors(&self) -> bool {
        self.starts.len() >= LEAST
            && [&self.starts, &self.sizes]
                .iter()
                .all(|all| Numbers::are_multiples(all, SECTOR_BYTES))
            && self.starts.iter().any(|&start| start > 0)
    }

    /// Returns whether a request begins at the end of the previous one.
    fn are_adjacent(&self) -> bool {
        let ends =
            self.starts.iter().zip(&self.sizes).map(|(start, size)| start.wrapping_add(*size));
        self.starts.iter().skip(1).zip(ends).any(|(start, end)| *start == end)
    }

    /// Returns whether numbers that fit sectors are more likely bytes of requests with arbitrary starts and ends.
    pub(super) fn may_be_records(&self) -> bool {
        let odd = self.count(|size| !size.is_multiple_of(BLOCK));
        let is_long = self.mean() >= LONG || 2 * odd > self.sizes.len();
        self.starts.len() > 3
            && (self.mean() > LONGEST || (is_long && !self.are_short() && self.start_anywhere()))
    }

    /// Returns whether numbers in bytes are too large for sectors.
    pub(crate) fn are_too_large_for_sectors(&self) -> bool {
        self.are_whole_sectors() && self.mean() > LONGEST
    }

    /// Returns whether addresses are multiples of 512, as bytes are. Addresses in sectors also are if all lengths are
    /// multiples of `long`.
    pub(crate) fn has_addresses_in_bytes(&self, long: u64) -> bool {
        self.starts.len() >= LEAST_ADDRESSES
            && Self::are_multiples(&self.starts, SECTOR_BYTES)
            && self.starts.iter().any(|&start| start > 0)
            && !Self::are_multiples(&self.sizes, long)
    }

    /// Returns whether many lengths, as sectors, are shorter than a block, like numbers of pages.
    fn are_short(&self) -> bool {
        let halves = self.count(|size| size.is_multiple_of(BLOCK / 2));
        let blocks = self.count(|size| size.is_multiple_of(BLOCK));
        halves < self.sizes.len()
            && 4 * self.count(|size| size < BLOCK) > self.sizes.len()
            && 2 * blocks < self.sizes.len()
    }

    /// Returns whether the numbers, read as sectors, look like numbers of pages.
    pub(crate) fn are_pages(&self) -> bool {
        self.starts.len() >= LEAST_ADDRESSES && self.are_short() && self.start_anywhere()
    }

    /// Returns units in addition to those that the column names allow: pages of 4 KiB if the names state no length, and
    /// bytes. The first list has the units that take precedence.
    pub(super) fn units(&self, offset: Option<&str>, size: Option<&str>) -> [Vec<Units>; 2] {
        let mut units = [Vec::new(), Vec::new()];
        let are_placed = self.starts.len() < FEW || !self.start_anywhere();
        match (offset, size) {
            (Some("4KiB"), None) if !Numbers::are_multiples(&self.sizes, SECTOR_BYTES) => {
                units[0].push(("4KiB", "4KiB"));
            }
            (Some("512B"), None) if self.are_whole_sectors() => {
                units[usize::from(!self.are_adjacent())].push(("B", "B"));
            }
            (None, Some("B")) if !are_placed && Numbers::are_multiples(&self.sizes, 4096) => {
                units[1].push(("4KiB", "B"));
            }
            (None, None) if !are_placed => {
                let are_pages = self.are_short() || Numbers::are_multiples(&self.sizes, BLOCK);
                if are_pages && self.mean() < LONG {
                    units[1].push(("4KiB", "4KiB"));
                }
            }
            _ => {}
        }
        units
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
