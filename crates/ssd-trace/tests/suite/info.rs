//! Statistics of `ssdlab trace info` that depend on the order of requests, counted anew: repeated records, and sizes in
//! trains.

use serde_json::{Value, to_value};
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::rng::Stream;
use ssd_core::units::Nanos;
use ssd_trace::info::{Collector, Options};

const MS: u64 = 1_000_000;
/// Requests among which a repetition is looked for.
const LOOK_BACK: usize = 64;

/// Requests of three volumes to few places, often with the place and the size of the one before.
fn requests(seed: u64) -> Vec<TimedRequest> {
    let (mut random, mut at) = (Stream::new(seed, "requests"), 0);
    (0..4000)
        .map(|_| {
            at += if random.below(20) == 0 { random.below(3 * MS) } else { random.below(MS / 20) };
            let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][random.below(4) as usize];
            let (sector, sectors) = (8 * random.below(6), 8 * (1 + random.below(2)) as u32);
            let place = if op == Op::Flush { (0, 0) } else { (sector, sectors) };
            let volume = random.below(3) as u16;
            let request = Request { volume, ..Request::new(op, place.0, place.1) };
            TimedRequest { at: Nanos(at), request }
        })
        .collect()
}

fn info_of(requests: &[TimedRequest]) -> Value {
    let options = Options { journal: Vec::new(), memory: 1 << 30 };
    let mut collector = Collector::new(options).expect("a collector");
    requests.iter().for_each(|request| collector.push(request).expect("a request"));
    to_value(collector.finish().expect("statistics")).expect("JSON")
}

#[test]
fn a_repetition_is_of_the_same_volume() {
    for seed in 0..4 {
        let all = requests(seed);
        let addressed: Vec<_> = all.iter().filter(|timed| timed.request.op != Op::Flush).collect();
        let is_repetition = |(at, new): &(usize, &&TimedRequest)| {
            let earlier = &addressed[at.saturating_sub(LOOK_BACK)..*at];
            let is_close = |before: &TimedRequest| new.at.0 - before.at.0 < MS;
            earlier.iter().any(|before| before.request == new.request && is_close(before))
        };
        let expected = addressed.iter().enumerate().filter(is_repetition).count();
        assert!(expected > 100 && expected < addressed.len() - 100, "{expected}");
        assert_eq!(info_of(&all)["doubled"], expected, "seed {seed}");
    }
}

#[test]
fn sizes_are_compared_within_a_train() {
    for seed in 0..4 {
        let all = requests(seed);
        let (mut followers, mut same) = (0u64, 0);
        for (at, new) in all.iter().enumerate().filter(|(_, new)| new.request.op != Op::Flush) {
            // Back to the start of the train.
            for i in (0..at).rev().take_while(|&i| (all[i + 1].at - all[i].at).0 < MS) {
                if all[i].request.op == new.request.op {
                    followers += 1;
                    same += u64::from(all[i].request.sectors == new.request.sectors);
                    break;
                }
            }
        }
        let found = info_of(&all)["trains"]["same_size_share"].as_f64().expect("a share");
        assert_eq!(found.to_bits(), (same as f64 / followers as f64).to_bits(), "seed {seed}");
    }
}
