//! The volumes of a trace: which are used, and how many records each has.

/// Which volumes of a trace are used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The only one: a second one is an error.
    Only,
    /// The one of this number.
    One(u64),
    /// Each separately.
    Each,
}

/// Numbers below this are counted in a list, which is faster.
const SMALL: u64 = 1 << 16;
/// Most volumes of larger numbers.
const MOST: usize = 1 << 16;

/// Records by volume.
#[derive(Default)]
pub(crate) struct Volumes {
    small: Vec<u64>,
    /// Larger numbers with their records, ascending.
    large: Vec<(u64, u64)>,
    /// Position of the larger number counted last: most traces have one.
    last: usize,
}

impl Volumes {
    /// Counts one record; false if there are too many volumes to be counted.
    #[inline(always)]
    pub(crate) fn add(&mut self, volume: u64) -> bool {
        if volume >= SMALL {
            if let Some((number, count)) = self.large.get_mut(self.last)
                && *number == volume
            {
                *count += 1;
                return true;
            }
            return self.add_large(volume);
        }
        // It fits: below 2^16.
        let at = volume as usize;
        if at >= self.small.len() {
            self.small.resize(at + 1, 0);
        }
        self.small[at] += 1;
        true
    }

    fn add_large(&mut self, volume: u64) -> bool {
        let found = self.large.binary_search_by_key(&volume, |&(number, _)| number);
        if let Err(at) = found {
            if self.large.len() == MOST {
                return false;
            }
            self.large.insert(at, (volume, 0));
        }
        self.last = found.unwrap_or_else(|at| at);
        self.large[self.last].1 += 1;
        true
    }

    /// How many volumes there are.
    pub(crate) fn count(&self) -> usize {
        self.small.iter().filter(|&&count| count > 0).count() + self.large.len()
    }

    /// Whether `volume` has a record.
    pub(crate) fn holds(&self, volume: u64) -> bool {
        let small = usize::try_from(volume).ok().and_then(|at| self.small.get(at));
        small.is_some_and(|&count| count > 0) || self.large.iter().any(|one| one.0 == volume)
    }

    /// Every volume with its records, ascending.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, u64)> {
        let small = (0u64..).zip(self.small.iter().copied()).filter(|&(_, count)| count > 0);
        small.chain(self.large.iter().copied())
    }
}
