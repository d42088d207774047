//! SFS: pages of similar hotness share a block.
//!
//! Paper: Min, Kim, Cho, Lee and Eom, "SFS: random write considered harmful in solid state drives", FAST 2012, section
//! 4. The hotness of a page is its number of writes over the host's writes since the last of them. The hotness of
//! groups is that of the centres of a one-dimensional k-means of three rounds; a page goes to the group with the
//! nearest centre. Departs from it: the centres are computed from 1,024 logical pages drawn at random, not from all
//! blocks, whose hotness a controller would have to keep: 16 pages of neighbouring hotness represent a block, with the
//! sum of their writes over the sum of their ages, as in the paper. (With single pages, those just written would form
//! centres of their own.)
//! Where it is silent, decided: centres are recomputed when a 64th of the pages of the device has been copied; they
//! begin where they were, at first at the quantiles of the sample. The first write of a page, and a write without
//! centres, is in the coldest class. Host and copies of a class share its open blocks. History: 4 B a logical page, of
//! which one holds the number of writes, counted with a probability that falls as it grows (Morris, CACM 21(10), 1978,
//! base 1.05).

use super::history::LastWrites;
use super::persistence::knows;
use super::{CLASSES, Classes, Ground, PageCopy, PageWrite, SeparationPolicy};
use crate::plug::{PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::Lpn;

/// Registry entry of SFS.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "sfs",
    summary: "classes by hotness, writes over the time since the last one, around the centres of its clusters",
    paper: "Min, Kim, Cho, Lee and Eom, SFS: random write considered harmful in solid state drives, FAST 2012, \
            section 4",
    params: &[CLASSES],
};

const COUNT_BITS: u32 = 8;
const MOST: u32 = (1 << COUNT_BITS) - 1;
/// Each step of the counter represents this many times the writes of the step before.
const BASE: f64 = 1.05;
const SAMPLE: u32 = 1024;
/// Pages of the sample that represent a block.
const TOGETHER: usize = 16;
const ROUNDS: u32 = 3;
/// Part of the device that is copied between two computations of the centres.
const PART: u64 = 64;

/// What is known of the pages, and the centres, the coldest first.
pub struct Policy {
    classes: usize,
    device_pages: u32,
    pages: LastWrites,
    /// [`BASE`] to the power of each count.
    powers: Vec<f64>,
    centres: Vec<f64>,
    copied: u64,
    rng: Stream,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, ground: &Ground) -> Policy {
        let classes = spec.int("classes") as usize;
        assert!(classes > 1, "one class separates nothing");
        let powers = std::iter::successors(Some(1.0), |power| Some(power * BASE));
        Policy {
            classes,
            device_pages: ground.pages,
            pages: LastWrites::with_notes(ground.pages, COUNT_BITS),
            powers: powers.take(1 << COUNT_BITS).collect(),
            centres: Vec::new(),
            copied: 0,
            rng: Stream::new(ground.seed, INFO.name),
        }
    }

    /// Writes of `lpn`, about.
    fn writes(&self, lpn: Lpn) -> f64 {
        let count = self.pages.note(lpn);
        debug_assert!(count <= MOST, "{lpn:?} has a count of {count}");
        (self.powers[count as usize] - 1.0) / (BASE - 1.0)
    }

    fn hotness(&self, lpn: Lpn, age: u64) -> f64 {
        let hotness = self.writes(lpn) / age.max(1) as f64;
        debug_assert!(hotness.is_finite(), "{lpn:?} is {hotness} hot");
        hotness
    }

    /// The class with the nearest centre; of two, the colder one.
    fn class(&self, hotness: f64) -> u32 {
        let far = |centre: &f64| (centre - hotness).abs();
        let mut best = 0;
        for (class, centre) in self.centres.iter().enumerate().skip(1) {
            if far(centre) < far(&self.centres[best]) {
                best = class;
            }
        }
        debug_assert!(best < self.classes, "there is no class {best}");
        best as u32
    }

    /// The hotness of pages drawn at random, in sets of [`TOGETHER`], ascending.
    fn sample(&mut self, clock: u64) -> Vec<f64> {
        let mut pages = Vec::with_capacity(SAMPLE as usize);
        for _ in 0..SAMPLE {
            let lpn = Lpn(self.rng.below(u64::from(self.device_pages)) as u32);
            let age = self.pages.age(lpn, clock).map(|age| age.max(1) as f64);
            pages.extend(age.map(|age| (self.writes(lpn), age)));
        }
        pages.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let add = |a: (f64, f64), b: &(f64, f64)| (a.0 + b.0, a.1 + b.1);
        let sums = pages.chunks(TOGETHER).map(|chunk| chunk.iter().fold((0.0, 0.0), add));
        let mut sample: Vec<f64> = sums.map(|(writes, age)| writes / age).collect();
        assert!(sample.iter().all(|hotness| hotness.is_finite()), "{sample:?}");
        sample.sort_by(f64::total_cmp);
        sample
    }

    /// Recompute the centres.
    fn quantize(&mut self, clock: u64) {
        let sample = self.sample(clock);
        if sample.is_empty() {
            return;
        }
        if self.centres.is_empty() {
            let at = |class| sample[(2 * class + 1) * sample.len() / (2 * self.classes)];
            self.centres = (0..self.classes).map(at).collect();
        }
        for _ in 0..ROUNDS {
            let mut sums = vec![(0.0, 0u32); self.classes];
            for &hotness in &sample {
                let (sum, number) = &mut sums[self.class(hotness) as usize];
                (*sum, *number) = (*sum + hotness, *number + 1);
            }
            for (centre, (sum, number)) in self.centres.iter_mut().zip(sums) {
                if number > 0 {
                    *centre = sum / f64::from(number);
                }
            }
        }
        self.centres.sort_by(f64::total_cmp);
        assert_eq!(self.centres.len(), self.classes, "a centre is lost");
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        Classes { host: 0, all: self.classes as u32 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        let age = self.pages.write(page.lpn, page.clock);
        let count = self.pages.note(page.lpn);
        if count < MOST && self.rng.chance(1.0 / self.powers[count as usize]) {
            self.pages.set_note(page.lpn, count + 1);
        }
        debug_assert!(self.pages.note(page.lpn) > 0, "{page:?} has not been counted");
        age.map_or(0, |age| self.class(self.hotness(page.lpn, age)))
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        self.copied += 1;
        debug_assert!(page.lpn.0 < self.device_pages, "{page:?} is beyond the device");
        if self.copied * PART >= u64::from(self.device_pages) {
            self.copied = 0;
            self.quantize(page.clock);
        }
        let age = self.pages.age(page.lpn, page.clock);
        age.map_or(0, |age| self.class(self.hotness(page.lpn, age)))
    }

    knows! { Policy: pages, centres, copied, rng; given classes, device_pages, powers; if |policy| {
        policy.centres.is_empty() || policy.centres.len() == policy.classes
    } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page reaches the last count as seldom as any other, and then stops counting.
    #[test]
    fn the_last_count_is_reached_and_never_left() {
        let ground = Ground {
            pages: 4,
            host_pages: 4,
            data_pages: 0,
            pages_per_block: 4,
            most_classes: 2,
            pools: 1,
            blocks_per_pool: 4,
            seed: 3,
        };
        let mut policy = Policy::build(&PolicySpec::with_defaults(&INFO), &ground);
        let mut page = PageWrite { lpn: Lpn(1), stream: 0, pages: 1, replaces: None, clock: 0 };
        policy.of_write(&page);
        policy.pages.set_note(page.lpn, 253);
        let (mut random, mut count) = (policy.rng.clone(), 253);
        let mut writes = [0u32; 3];
        while writes[2] < 1000 {
            page.clock += 1;
            policy.of_write(&page);
            // Counted with a probability that falls by the base with every count, unless it is the last one.
            count += u32::from(count < 255 && random.chance(1.0 / 1.05f64.powi(count as i32)));
            assert_eq!(policy.pages.note(page.lpn), count, "after {writes:?} writes");
            writes[count as usize - 253] += 1;
        }
        assert!(writes[1] > 10_000, "{writes:?}: the count before the last one is a rare one");
        assert_eq!(policy.rng.below(u64::MAX), random.below(u64::MAX), "nothing more is drawn");
    }
}
