//! Builds a device in the steady state of greedy collection under uniform writes at once.
//!
//! Source: the mean-field model of greedy collection (Desnoyers, "Analytic modeling of SSD write performance", SYSTOR
//! 2012; Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state
//! drives", SIGMETRICS 2013). Every valid page is overwritten at the same rate, so in equilibrium the share of blocks
//! with `j` valid pages is proportional to `1 / j` between the victims' level and a full block.
//!
//! Decided here: only sealed blocks are part of the model; each frontier has an open block, half full; the
//! positions of valid pages in a block are random; a block with fewer valid pages is older.

use super::Ftl;
use super::blocks::BlockState;
use super::gc::victim::VictimPolicy;
use super::place::Layout;
use crate::nand::flash::{Payload, fill_digest};
use crate::rng::Stream;
use crate::units::{BlockId, Lpn, PlaneId, PoolId, Ppn};
use std::cmp::Reverse;

/// The addresses of one pool in a scattered order.
struct Addresses {
    /// Striping positions of its planes, ascending.
    columns: Vec<u32>,
    planes: u32,
    count: u32,
    step: u64,
    at: u64,
}

impl Addresses {
    fn new(columns: Vec<u32>, planes: u32, pages: u32) -> Addresses {
        assert!(columns.array_windows().all(|[a, b]| a < b), "a plane has two positions");
        assert!(columns.last().is_some_and(|&last| last < planes), "a position beyond {planes}");
        let count = columns.iter().map(|&c| pages / planes + u32::from(c < pages % planes)).sum();
        let n = u64::from(count).max(1);
        let golden = (n as f64 * 0.618_033_988_749_894_9) as u64;
        let step = (golden.max(1)..).find(|&step| gcd(step, n) == 1).expect("1 is coprime to all");
        Addresses { columns, planes, count, step, at: 0 }
    }

    /// The next address.
    fn address(&self) -> Lpn {
        debug_assert!(self.at < u64::from(self.count).max(1), "{} is beyond the last", self.at);
        let (row, column) =
            (self.at / self.columns.len() as u64, self.at % self.columns.len() as u64);
        Lpn(row as u32 * self.planes + self.columns[column as usize])
    }

    fn advance(&mut self) {
        debug_assert!(self.count > 0, "a pool without addresses");
        self.at = (self.at + self.step) % u64::from(self.count);
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Valid pages of each of `blocks` sealed blocks of `pages` pages, ascending, `valid` in total.
///
/// `None`: they do not fit and leave room for collection.
fn valid_counts(blocks: usize, pages: u32, valid: u64) -> Option<Vec<u16>> {
    let (top, mean) = (f64::from(pages) + 0.5, valid as f64 / blocks as f64);
    if blocks == 0 || mean > f64::from(pages) - 1.0 {
        return None;
    }
    // Whole numbers up to `pages` are the roundings of a density proportional to 1/x on [m, top], whose
    // mean grows with m.
    let mean_from = |m: f64| (top - m) / libm::log(top / m);
    let (mut low, mut high) = (1e-9, top - 1e-9);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if mean_from(middle) < mean { low = middle } else { high = middle }
    }
    let quantile = |i: usize| low * libm::pow(top / low, (i as f64 + 0.5) / blocks as f64);
    let mut counts: Vec<u16> =
        (0..blocks).map(|i| quantile(i).round().min(top - 0.5) as u16).collect();
    // Correct the rounding by one page more or less, spread over the blocks. If the step and the number of blocks have
    // a common factor, the next round visits other blocks.
    let mut sum: u64 = counts.iter().map(|&c| u64::from(c)).sum();
    let (step, mut steps) = (1 + blocks / 7, 0);
    while sum != valid {
        let count = &mut counts[(steps * step + steps / blocks) % blocks];
        if sum < valid && u32::from(*count) < pages {
            (*count, sum) = (*count + 1, sum + 1);
        } else if sum > valid && *count > 0 {
            (*count, sum) = (*count - 1, sum - 1);
        }
        steps += 1;
    }
    counts.sort_unstable();
    assert!(counts.last().is_some_and(|&most| u32::from(most) <= pages), "a block overflows");
    debug_assert_eq!(counts.iter().map(|&c| u64::from(c)).sum::<u64>(), valid, "pages are missing");
    Some(counts)
}

/// State that is carried over from one pool to the next.
struct Fill<'a> {
    addresses: &'a mut Addresses,
    rng: &'a mut Stream,
    /// Valid pages, a random number, and the block, for all sealed blocks.
    sealed: &'a mut Vec<(u16, u64, usize)>,
}

/// Blocks filled between two calls of `keep_going`.
const BLOCKS_AT_ONCE: usize = 512;

impl Ftl {
    /// Bring an erased device into the steady state with its first `pages` user pages written and `free` blocks of
    /// every pool erased. `keep_going` is called regularly with the pages written so far; if it returns false, filling
    /// stops and the function returns false.
    ///
    /// # Errors
    /// The pool in which the pages do not fit beside `free` blocks.
    pub fn build_steady_state(
        &mut self,
        layout: &Layout,
        pages: u32,
        free: u32,
        rng: &mut Stream,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, PoolId> {
        assert_eq!(self.space.used(), 0, "the device has been written");
        assert_eq!(self.clock, 0, "the device has been written");
        assert!(pages <= self.geo.user_pages, "{pages} pages are more than the device has");
        let mut columns = vec![Vec::new(); self.geo.pools as usize];
        for i in 0..layout.planes() {
            columns[self.geo.pool_of(layout.striped(i)).at()].push(i);
        }
        let mut sealed = Vec::new();
        for (p, columns) in columns.into_iter().enumerate() {
            let pool = PoolId(p as u32);
            let mut addresses = Addresses::new(columns, layout.planes(), pages);
            let planes: Vec<PlaneId> = self.geo.planes_of_pool(pool).map(PlaneId).collect();
            // With superblocks, the block of a frontier spans the planes.
            let frontiers = self.space.streams() * planes.len() as u32 / self.geo.members;
            let blocks = self.space.good_blocks(pool).saturating_sub(free + frontiers) as usize;
            let open = (u64::from(frontiers) * u64::from(self.geo.pages_per_block) / 2)
                .min(u64::from(addresses.count));
            // Open superblocks are filled in whole rows, so the next page goes to the first plane.
            let members = self.geo.members;
            let row = if members > 1 { self.space.streams() * members } else { 1 };
            let open = open - open % u64::from(row);
            let valid = u64::from(addresses.count) - open;
            let counts = valid_counts(blocks, self.geo.pages_per_block, valid).ok_or(pool)?;
            let fill = Fill { addresses: &mut addresses, rng, sealed: &mut sealed };
            if !self.fill_sealed(pool, counts, fill, keep_going) {
                return Ok(false);
            }
            self.fill_open(&planes, open, &mut addresses);
        }
        sealed.sort_unstable();
        for (order, &(_, _, block)) in sealed.iter().enumerate() {
            self.blocks.seal_order[block] = order as u64;
        }
        self.seals = sealed.len() as u64;
        self.clock = u64::from(pages);
        assert_eq!(self.owners.valid_pages(), u64::from(pages), "every page is somewhere");
        (0..self.geo.pools).for_each(|pool| self.space.check(PoolId(pool)));
        self.victim.init(&self.blocks, self.clock);
        Ok(true)
    }

    /// Fill the sealed blocks of `pool`, spread over its planes, with these counts in random order. False if
    /// `keep_going` stops the filling.
    fn fill_sealed(
        &mut self,
        pool: PoolId,
        mut counts: Vec<u16>,
        fill: Fill<'_>,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> bool {
        let Fill { addresses, rng, sealed } = fill;
        rng.shuffle(&mut counts);
        let blocks = self.spread_over_planes(pool);
        let pages = self.geo.pages_per_block;
        assert!(counts.len() <= blocks.len(), "{pool:?} has too few blocks for its data");
        for (i, (&block, &count)) in blocks.iter().zip(&counts).enumerate() {
            if i % BLOCKS_AT_ONCE == 0 && !keep_going(self.owners.valid_pages()) {
                return false;
            }
            self.space.adopt(block, self.geo.first_plane(block), pages);
            for plane in self.geo.planes_of_block(block) {
                self.flash.program_run(&self.geo, block, plane, self.geo.pages_per_flash_block);
            }
            let first = self.geo.first_page(block);
            let mut left = u64::from(count);
            for page in 0..pages {
                let (ppn, lpn) = (Ppn(first.0 + page), addresses.address());
                // An invalid page carries the address of data that have since been written elsewhere.
                self.flash.set_lpn(ppn, lpn);
                if rng.below(u64::from(pages - page)) < left {
                    left -= 1;
                    self.own(lpn, ppn);
                    addresses.advance();
                }
            }
            let at = block.at();
            assert_eq!(left, 0, "{block:?} lacks valid pages");
            self.blocks.state[at] = BlockState::Sealed;
            self.blocks.fill[at].bound = pages as u16;
            self.blocks.check(block);
            assert_eq!(self.blocks.valid[at], count, "{block:?} has other valid pages");
            sealed.push((count, rng.bits(), at));
        }
        true
    }

    /// The good blocks of `pool`, plane by plane in turn, so that the blocks left over are spread as evenly as bad
    /// blocks allow.
    fn spread_over_planes(&self, pool: PoolId) -> Vec<BlockId> {
        let mut after = vec![0; self.geo.planes as usize];
        let mut blocks = Vec::new();
        for block in self.blocks.of_pool(pool).rev().filter(|&b| !self.blocks.is_bad(b)) {
            assert_eq!(self.blocks.state[block.at()], BlockState::Free, "{block:?} is in use");
            let plane = self.geo.first_plane(block);
            blocks.push((Reverse(after[plane.at()]), plane, block));

            after[plane.at()] += 1;
        }
        blocks.sort_unstable();
        let good = self.space.good_blocks(pool) as usize;
        assert_eq!(blocks.len(), good, "good blocks of {pool:?}, as counted");
        blocks.into_iter().map(|(_, _, block)| block).collect()
    }

    /// Write the rest of the pool's pages to open blocks of all frontiers.
    fn fill_open(&mut self, planes: &[PlaneId], open: u64, addresses: &mut Addresses) {
        let streams = u64::from(self.space.streams());
        assert!(!planes.is_empty(), "a pool without planes");
        for i in 0..open {
            let (turn, stream) = ((i / streams) as usize, (i % streams) as u32);
            // A plane may have lost too many blocks.
            let mut in_turn = planes.iter().cycle().skip(turn % planes.len()).take(planes.len());
            let plane =
                in_turn.find(|&&p| self.space.has_page(p, stream)).expect("blocks are left");
            let ppn = self.bind(*plane, stream);
            self.flash.end_program(ppn, addresses.address());
            self.own(addresses.address(), ppn);
            self.settle(ppn);
            addresses.advance();
        }
    }

    /// Make `ppn` hold the data of `lpn`.
    fn own(&mut self, lpn: Lpn, ppn: Ppn) {
        debug_assert!(lpn.0 < self.geo.user_pages, "{lpn:?} is beyond the device");
        self.adopt(lpn, ppn);
        if self.flash.keeps_contents() {
            let sequence = self.owners.valid_pages();
            let digest = fill_digest(lpn, sequence);
            self.flash.store(ppn, sequence, &Payload { digest, bytes: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_the_mean_and_the_law_of_the_model() {
        let (blocks, pages) = (40_000usize, 128u32);
        let valid = (blocks as f64 * 128.0 / 1.28) as u64;
        let counts = valid_counts(blocks, pages, valid).expect("it fits");
        assert_eq!(counts.iter().map(|&c| u64::from(c)).sum::<u64>(), valid);
        let share = |low: u16, high: u16| {
            counts.iter().filter(|&&c| (low..high).contains(&c)).count() as f64
        };
        // As many blocks between 80 and 90 as ln(90/80) : ln(120/100) of those between 100 and 120.
        let expected = libm::log(90.0 / 80.0) / libm::log(120.0 / 100.0);
        assert!((share(80, 90) / share(100, 120) / expected - 1.0).abs() < 0.03);
        assert_eq!(valid_counts(10, 128, 1280), None);
        assert_eq!(valid_counts(0, 128, 0), None);
    }

    /// Steps with a common factor with the number of blocks used to leave some blocks unvisited.
    #[test]
    fn few_valid_pages_are_spread_over_any_number_of_blocks() {
        for blocks in [1, 7, 8, 14, 56, 584, 585, 586, 587] {
            for valid in [0, 1, 2, blocks / 3, blocks, 3 * blocks] {
                let counts = valid_counts(blocks, 64, valid as u64).expect("it fits");
                assert_eq!(counts.iter().map(|&c| usize::from(c)).sum::<usize>(), valid);
            }
        }
    }
}
