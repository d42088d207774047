//! How long pages live, and what follows for a chain of groups: the analytical model of MiDAS.
//!
//! A page enters the first group when it is written and goes to the next one whenever its block is collected. Every
//! group but the last is a queue: its size and the flow into it determine how long pages stay. So the age of a page
//! determines its group, and the share of pages that live to that age gives the share that is copied. The last group is
//! collected greedily, as if its pages were overwritten uniformly.

use super::persistence::keeps;
use crate::units::Lpn;

/// Least number of sampled pages, if the device has as many.
const SAMPLE: u32 = 4096;
/// At least one of this many pages is sampled.
const STRIDE: u32 = 100;
/// Sizes of a group that are tried; larger pools are searched in coarser steps.
const STEPS: u32 = 256;
/// Rounds in which the sizes are searched again, one after the other.
const ROUNDS: u32 = 8;
/// A plan is better if it saves at least this share of the copies.
const BETTER: f64 = 0.999;

/// The lives of sampled pages within a window: from a write to the next one, or to the end of the window.
pub(super) struct Lives {
    stride: u32,
    /// Host writes in a unit of time.
    unit: u64,
    /// For each sampled page: the unit of its last write in this window plus one, and whether that was hot.
    since: Box<[(u32, bool)]>,
    /// Lives that have ended, by their length in units; of hot writes and of others.
    ended: [Vec<u32>; 2],
}

keeps!(Lives: since, ended; given stride, unit);

/// The share of pages that live for a given time, in writes of the host.
pub(super) struct Survival {
    unit: f64,
    /// At the beginning of each unit, and after the last.
    share: Vec<f64>,
    /// The integral up to there.
    lived: Vec<f64>,
}

impl Lives {
    /// Of a device of `pages` pages, in units of `unit` writes.
    pub(super) fn new(pages: u32, unit: u64) -> Lives {
        assert!(pages > 0 && unit > 0, "a device without pages");
        let stride = (pages / SAMPLE).clamp(1, STRIDE);
        let since = vec![(0, false); pages.div_ceil(stride) as usize].into();
        Lives { stride, unit, since, ended: [Vec::new(), Vec::new()] }
    }

    /// Note that `lpn` is written `at` writes after the window began; the life of its previous data ends.
    pub(super) fn write(&mut self, lpn: Lpn, at: u64, hot: bool) {
        if !lpn.0.is_multiple_of(self.stride) {
            return;
        }
        let now = (at / self.unit) as u32 + 1;
        let (since, was_hot) =
            std::mem::replace(&mut self.since[(lpn.0 / self.stride) as usize], (now, hot));
        debug_assert!(since <= now, "{lpn:?} is written before its last write");
        if since > 0 {
            let (length, ended) = ((now - since) as usize, &mut self.ended[usize::from(was_hot)]);
            ended.resize(ended.len().max(length + 1), 0);
            ended[length] += 1;
        }
    }

    /// The survival of hot writes, or of others, in the window of `length` writes.
    pub(super) fn survival(&self, length: u64, hot: bool) -> Survival {
        assert!(self.unit > 0, "time does not pass");
        let end = (length / self.unit) as u32 + 1;
        let mut censored = vec![0u32; end as usize + 1];
        for &(since, was_hot) in self.since.iter() {
            if since > 0 && was_hot == hot {
                censored[end.saturating_sub(since) as usize] += 1;
            }
        }
        let mut ended = self.ended[usize::from(hot)].clone();
        ended.resize(censored.len(), 0);
        debug_assert!(length > 0, "a window without writes");
        Survival::of(&ended, &censored, self.unit)
    }

    /// The next window begins.
    pub(super) fn restart(&mut self) {
        self.since.fill((0, false));
        self.ended.iter_mut().for_each(Vec::clear);
        debug_assert!(self.stride > 0, "no page is sampled");
    }
}

impl Survival {
    /// From the lives of each length that have `ended`, and those that were `censored` for that long and have not
    /// ended: they count for as long as they were seen (Kaplan and Meier, J. Am. Stat. Assoc. 53, 1958).
    fn of(ended: &[u32], censored: &[u32], unit: u64) -> Survival {
        assert_eq!(ended.len(), censored.len(), "lives of other lengths");
        let mut watched: u64 = ended.iter().chain(censored).map(|&n| u64::from(n)).sum();
        let (mut share, mut lived) = (vec![1.0f64], vec![0.0f64]);
        for (&ended, &censored) in ended.iter().zip(censored) {
            let before = share[share.len() - 1];
            let dies = if watched == 0 { 0.0 } else { f64::from(ended) / watched as f64 };
            let after = before * (1.0 - dies);
            lived.push(lived[lived.len() - 1] + (before + after) / 2.0 * unit as f64);
            share.push(after);
            watched -= u64::from(ended) + u64::from(censored);
        }
        assert_eq!(watched, 0, "lives are lost");
        Survival { unit: unit as f64, share, lived }
    }

    /// How long lives were seen.
    fn horizon(&self) -> f64 {
        debug_assert_eq!(self.share.len(), self.lived.len(), "a table is short");
        (self.share.len() - 1) as f64 * self.unit
    }

    /// The place of `time` in a table: its index, and the fraction of the way to the next.
    fn place(&self, time: f64) -> (usize, f64) {
        debug_assert!(time >= 0.0, "a life of {time}");
        let units = (time / self.unit).min((self.share.len() - 1) as f64);
        let index = (units as usize).min(self.share.len() - 2);
        (index, units - index as f64)
    }

    /// The share that lives longer than `time`; nothing is known to end beyond the window.
    pub(super) fn share(&self, time: f64) -> f64 {
        let (at, part) = self.place(time);
        let (current, next) = (self.share[at], self.share[at + 1]);
        debug_assert!(next <= current, "pages come back to life");
        current + (next - current) * part
    }

    /// The mean life of pages, counted up to `time`.
    pub(super) fn lived(&self, time: f64) -> f64 {
        let (at, part) = self.place(time);
        let beyond = (time - self.horizon()).max(0.0) * self.share[self.share.len() - 1];
        debug_assert!(self.lived[at] <= self.lived[at + 1], "the integral falls");
        self.lived[at] + (self.lived[at + 1] - self.lived[at]) * part + beyond
    }
}

/// The device as the model sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Valid pages of the host.
    pub(super) pages: f64,
    /// Blocks of a pool that hold data.
    pub(super) blocks: f64,
    /// Pages of a block.
    pub(super) pages_per_block: f64,
    /// Pools.
    pub(super) pools: f64,
}

/// Sizes of groups, and what the model expects of them.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Plan {
    /// Blocks of each group of a pool, from the hot one on; without the last group.
    pub(super) sizes: Vec<u32>,
    /// The share of valid pages in victims of each group, the last one included.
    pub(super) valid: Vec<f64>,
    /// Pages that enter each group for each page that the host writes.
    pub(super) enters: Vec<f64>,
    /// Copies for each page that the host writes.
    pub(super) copies: f64,
}

keeps!(Plan: sizes, valid, enters, copies);

/// The share of valid pages in greedy victims under uniform writes, with `spare` pages for each valid one.
///
/// Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012: with b pages in a block, it is that of first
/// in, first out with 1 + 1 / 2b times the pages, x = exp(-spare (1 - x)), but for the rest of the block.
fn greedy_valid(spare: f64, pages_per_block: f64) -> f64 {
    let more = 1.0 + 0.5 / pages_per_block;
    let spare = spare * more;
    debug_assert!(spare > 1.0, "{spare} pages for each valid one");
    // x - exp(..) is concave: from 0, Newton's steps rise to the smaller of its two zeros.
    let mut x = 0.0f64;
    for _ in 0..64 {
        let power = libm::exp(-spare * (1.0 - x));
        let step = (power - x) / (1.0 - spare * power);
        if step.is_nan() || step <= 1e-12 {
            break;
        }
        x = (x + step).min(1.0);
    }
    (1.0 - more * (1.0 - x)).max(0.0)
}

/// The model.
pub(super) struct Chain<'a> {
    pub(super) room: Room,
    /// The share of the writes that are hot.
    pub(super) hot: f64,
    /// Of hot writes and of others.
    pub(super) survival: [&'a Survival; 2],
}

impl Chain<'_> {
    /// What to expect of groups of these sizes, the hot one first; `None` if the last group is left without room, or if
    /// it is not known how long pages live there.
    pub(super) fn expect(&self, sizes: &[u32]) -> Option<Plan> {
        let Chain { room, hot, survival: [of_hot, of_rest] } = self;
        let block_pages = room.pages_per_block * room.pools;
        assert!(!sizes.is_empty() && *hot <= 1.0, "{hot} of the writes are hot");
        let mut valid = Vec::with_capacity(sizes.len() + 1);
        let stay = if *hot > 0.0 { f64::from(sizes[0]) * block_pages / hot } else { 0.0 };
        valid.push(of_hot.share(stay));
        let mut entering = vec![*hot];
        // Pages of an age in the chain behind the hot group, for each page that the host writes; and of lower ages.
        let flow = |time| hot * of_hot.share(stay + time) + (1.0 - hot) * of_rest.share(time);
        let alive = |time| hot * of_hot.lived(stay + time) + (1.0 - hot) * of_rest.lived(time);
        let (mut time, mut copies, mut blocks) = (0.0, hot * valid[0], f64::from(sizes[0]));
        for &size in &sizes[1..] {
            let enters = flow(time);
            if enters <= 0.0 {
                return None;
            }
            time += f64::from(size) * block_pages / enters;
            valid.push(flow(time) / enters);
            entering.push(enters);
            copies += flow(time);
            blocks += f64::from(size);
        }
        let (left, last) = (room.pages - alive(time), (room.blocks - blocks) * block_pages);
        if stay + time > of_hot.horizon().min(of_rest.horizon())
            || left <= 0.0
            || last < left + block_pages
        {
            return None;
        }
        let share = greedy_valid(last / left, room.pages_per_block);
        if share >= 1.0 {
            return None;
        }
        valid.push(share);
        entering.push(flow(time) / (1.0 - share));
        copies += flow(time) * share / (1.0 - share);
        debug_assert!(copies.is_finite(), "{copies} copies with groups of {sizes:?}");
        Some(Plan { sizes: sizes.to_vec(), valid, enters: entering, copies })
    }

    /// The best plan with at most `most` groups besides the hot one and the last.
    ///
    /// A group is added as long as it saves copies; then all sizes are searched again, one after the other.
    pub(super) fn search(&self, most: u32) -> Option<Plan> {
        let mut best = self.refined(vec![0]);
        debug_assert!(self.room.blocks >= 1.0, "a pool without blocks");
        while best.as_ref().is_none_or(|plan| plan.sizes.len() <= most as usize) {
            let mut sizes = best.as_ref().map_or(vec![0], |plan| plan.sizes.clone());
            sizes.push(1);
            let Some(next) = self.refined(sizes) else { break };
            if best.as_ref().is_some_and(|best| next.copies > best.copies * BETTER) {
                break;
            }
            best = Some(next);
        }
        best
    }

    /// The best plan that changing one size after the other leads to.
    fn refined(&self, mut sizes: Vec<u32>) -> Option<Plan> {
        let step = (self.room.blocks as u32 / STEPS).max(1);
        let tried =
            |step| (1..).map(move |n| n * step).take_while(|&n| f64::from(n) < self.room.blocks);
        let mut best = self.expect(&sizes);
        for _ in 0..ROUNDS {
            let before = best.as_ref().map(|plan| plan.copies);
            // The last one first, because it has just been added.
            for group in (0..sizes.len()).rev() {
                for size in tried(step) {
                    sizes[group] = size;
                    let Some(plan) = self.expect(&sizes) else { continue };
                    if best.as_ref().is_none_or(|best| plan.copies < best.copies) {
                        best = Some(plan);
                    }
                }
                sizes.clone_from(&best.as_ref()?.sizes);
            }
            let saved = best.as_ref().map(|plan| plan.copies);
            if before.is_some_and(|before| saved.is_some_and(|now| now > before * BETTER)) {
                break;
            }
        }
        debug_assert!(best.as_ref().is_none_or(|plan| plan.sizes == sizes), "a size is lost");
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_victims_have_the_share_of_the_closed_form() {
        for spare in [1.05f64, 1.14, 1.28, 2.0] {
            let share = greedy_valid(spare, 1e9);
            assert!((share - libm::exp(-spare * (1.0 - share))).abs() < 1e-8, "{spare}: {share}");
            assert!(share < 1.0 / spare, "{spare}: {share}");
            assert!(greedy_valid(spare, 16.0) < share, "smaller blocks differ more");
        }
    }

    #[test]
    fn survival_counts_lives_that_were_not_seen_to_end() {
        let mut lives = Lives::new(4, 1);
        // Page 0 lives for 2, then 5 and, hot, 2 are seen of it; page 1 was seen for 8.
        for (lpn, at, hot) in [(0, 0, false), (1, 1, false), (0, 2, false), (0, 7, true)] {
            lives.write(Lpn(lpn), at, hot);
        }
        let survival = lives.survival(9, false);
        let expected = [1.0, 1.0, 1.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0];
        for (time, share) in expected.iter().enumerate() {
            assert!((survival.share(time as f64) - share).abs() < 1e-12, "at {time}");
        }
        assert!((survival.share(2.5) - 5.0 / 6.0).abs() < 1e-12);
        assert!((survival.lived(3.0) - (2.0 + 5.0 / 6.0)).abs() < 1e-12);
        assert!((survival.share(1000.0) - 1.0 / 3.0).abs() < 1e-12, "nothing is known of it");
        assert!((lives.survival(9, true).share(5.0) - 1.0).abs() < 1e-12, "it has not ended");
        lives.restart();
        assert!((lives.survival(9, false).share(9.0) - 1.0).abs() < 1e-12, "nothing is known");
    }

    #[test]
    fn uniform_writes_need_no_groups() {
        // Pages live as long on average as there are pages.
        let (pages, unit) = (100_000.0f64, 64.0);
        let at = |i: i32| libm::exp(-f64::from(i) * unit / pages);
        let (mut share, mut lived) = (Vec::new(), vec![0.0]);
        for i in 0..8000 {
            share.push(at(i));
            lived.push(lived[i as usize] + (at(i) + at(i + 1)) / 2.0 * unit);
        }
        lived.pop();
        let survival = Survival { unit, share, lived };
        let room = Room { pages, blocks: 1.14 * pages / 256.0, pages_per_block: 256.0, pools: 1.0 };
        let chain = Chain { room, hot: 0.0, survival: [&survival; 2] };
        let alone = chain.expect(&[0]).unwrap();
        let best = chain.search(8).unwrap();
        assert!(best.copies > alone.copies * 0.97, "{best:?} instead of {alone:?}");
        assert!(chain.expect(&[0, 1000]).is_none(), "no room is left");
    }
}
