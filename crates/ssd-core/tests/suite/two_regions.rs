//! Two regions as in SSD-iq: a literal model reproduces its results, and, if survivors are copied instead of compacted
//! within their victims, those of the device. So this is the difference between the two.
//!
//! SSD-iq keeps no block erased or open for copies, and its host fills the last free block before one is collected: the
//! device gets three blocks for that.

use crate::oracle::in_place::{Collector, InPlace, Survivors};
use crate::rig::{device, free_blocks, named, victim};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::separation::ALL;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::units::Lpn;

#[derive(Clone, Copy, Debug)]
enum Load {
    /// By rank, over shuffled pages.
    Zipf(f64),
    /// Share of the pages; all other writes go to these.
    Hot(f64),
}

/// Random writes.
struct Writes {
    rng: Stream,
    pages: Vec<u32>,
    /// For Zipf: the cumulative shares of the ranks.
    shares: Vec<f64>,
    load: Load,
}

impl Writes {
    fn new(load: Load, user_pages: usize) -> Writes {
        let mut rng = Stream::new(1, "writes");
        let mut shares = Vec::new();
        if let Load::Zipf(theta) = load {
            let mut sum = 0.0;
            for rank in 1..=user_pages {
                sum += libm::pow(rank as f64, -theta);
                shares.push(sum);
            }
            shares.iter_mut().for_each(|share| *share /= sum);
        }
        let pages = rng.permutation(user_pages as u32);
        Writes { rng, pages, shares, load }
    }

    fn next(&mut self) -> u32 {
        let all = self.pages.len() as u64;
        let at = match self.load {
            Load::Zipf(_) => {
                let drawn = self.rng.unit();
                self.shares.partition_point(|&share| share < drawn).min(self.pages.len() - 1)
            }
            Load::Hot(share) => {
                let hot = (share * all as f64) as u64;
                let drawn = if self.rng.chance(share) {
                    hot + self.rng.below(all - hot)
                } else {
                    self.rng.below(hot)
                };
                drawn as usize
            }
        };
        self.pages[at]
    }
}

/// Blocks, pages of each, and those of the host.
type Space = [usize; 3];

fn space(blocks: usize, pages_per_block: usize, fill: f64) -> Space {
    [blocks, pages_per_block, (blocks as f64 * pages_per_block as f64 * fill) as usize]
}

/// Write amplification over `measured` times the user pages, after `before` times.
fn literal(
    collector: Collector,
    survivors: Survivors,
    load: Load,
    [blocks, pages, user]: Space,
    [before, measured]: [usize; 2],
) -> f64 {
    let mut model = InPlace::new(collector, survivors, blocks, pages, user);
    let mut writes = Writes::new(load, user);
    (0..user).for_each(|page| model.write(page));
    (0..before * user).for_each(|_| model.write(writes.next() as usize));
    let first = (model.host_pages, model.copies);
    (0..measured * user).for_each(|_| model.write(writes.next() as usize));
    let [host, copies] = [model.host_pages - first.0, model.copies - first.1];
    (host + copies) as f64 / host as f64
}

/// Simulate the same on the device.
fn simulated(
    collector: Collector,
    load: Load,
    [blocks, pages, user]: Space,
    [before, measured]: [usize; 2],
) -> f64 {
    let mut c = device([1, 1, 1], blocks as u32 + 3, pages as u32, user as u32);
    let victims = if collector == Collector::Greedy { "by-region" } else { "any" };
    c.alloc.separation =
        named(ALL, "host-and-copies").with("victims", Value::Word(victims.to_string()));
    c.gc.victim = match collector {
        Collector::Greedy => victim("greedy").with("ties", Value::Word("oldest".to_string())),
        Collector::Fifo => victim("second-chance"),
    };
    c.gc.trigger = vec![free_blocks(1)];
    let mut device = Functional::new(&c, Ftl::new(&c));
    let mut writes = Writes::new(load, user);
    (0..user as u32).for_each(|page| device.write(Lpn(page), 0).unwrap());
    (0..before * user).for_each(|_| device.write(Lpn(writes.next()), 0).unwrap());
    let first = device.tally.gc_pages;
    (0..measured * user).for_each(|_| device.write(Lpn(writes.next()), 0).unwrap());
    device.ftl.audit().unwrap();
    1.0 + (device.tally.gc_pages - first) as f64 / (measured * user) as f64
}

fn near(found: f64, expected: f64, within: f64, of: &str) {
    let off = found / expected - 1.0;
    assert!(off.abs() < within, "{of}: {found:.4} where {expected:.4} is expected");
}

/// 14 % spare, as in the runs of its public code (commit 9aae7a3).
#[test]
fn the_model_is_the_public_simulator() {
    for (collector, load, waf) in [
        (Collector::Greedy, Load::Zipf(0.99), 4.537),
        (Collector::Greedy, Load::Hot(0.1), 4.487),
        (Collector::Fifo, Load::Zipf(0.99), 3.391),
    ] {
        let of = space(1024, 256, 1.0 / 1.14);
        let found = literal(collector, Survivors::InPlace, load, of, [4, 3]);
        near(found, waf, 0.01, &format!("{collector:?}, {load:?}"));
    }
}

/// As published: "greedy" and "FIFO" with two regions, 90/10.
#[test]
#[ignore = "slow: four million pages"]
fn the_model_has_the_published_results() {
    for (collector, waf) in [(Collector::Greedy, 4.440), (Collector::Fifo, 2.505)] {
        let of = space(2048, 2048, 0.875);
        let found = literal(collector, Survivors::InPlace, Load::Hot(0.1), of, [2, 3]);
        near(found, waf, 0.03, &format!("{collector:?}"));
    }
}

#[test]
fn the_model_that_copies_is_the_device() {
    for collector in [Collector::Greedy, Collector::Fifo] {
        for load in [Load::Zipf(0.99), Load::Hot(0.1)] {
            let of = space(1024, 256, 1.0 / 1.14);
            let expected = literal(collector, Survivors::Apart, load, of, [4, 3]);
            let found = simulated(collector, load, of, [4, 3]);
            near(found, expected, 0.015, &format!("{collector:?}, {load:?}"));
        }
    }
}
