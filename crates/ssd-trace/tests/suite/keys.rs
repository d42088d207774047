//! Key streams draw what their formulas say.

use ssd_core::rng::Stream;
use ssd_trace::keys::db_bench::{Bench, DbBench};
use ssd_trace::keys::mixgraph::{Mix, MixGraph};
use ssd_trace::keys::ycsb::{self, Keys, Phase, Ycsb};
use ssd_trace::keys::{KeyOp, KeyRequest, Zipfian};
use std::collections::BTreeMap;

fn share(requests: &[KeyRequest], op: KeyOp) -> f64 {
    requests.iter().filter(|one| one.op == op).count() as f64 / requests.len() as f64
}

#[test]
fn zipfian_numbers_have_the_moments_of_their_formula() {
    let mut random = Stream::new(5, "zipfian test");
    for n in [1, 2, 3, 10, 1000, 100_000] {
        let zipfian = Zipfian::new(n, 0.99);
        let all: f64 = (0..n).map(|k| zipfian.probability(k)).sum();
        assert!((all - 1.0).abs() < 1e-9, "{n}: {all}");
        let mean: f64 = (0..n).map(|k| zipfian.probability(k) * k as f64).sum();
        let square: f64 = (0..n).map(|k| zipfian.probability(k) * (k as f64) * (k as f64)).sum();
        let draws = 400_000;
        let drawn: f64 = (0..draws).map(|_| zipfian.draw(&mut random) as f64).sum::<f64>();
        let off = (drawn / f64::from(draws) - mean)
            / ((square - mean * mean) / f64::from(draws)).sqrt().max(1e-9);
        assert!(off.abs() < 4.5, "{n}: the mean is off by {off} deviations");
    }
    // The first number of ten billion, by YCSB's own constant.
    let first = Zipfian::with_zeta(10_000_000_000, 0.99, 26.469_028_201_783_02).probability(0);
    assert!((first - 0.037_780).abs() < 1e-5, "{first}");
    let mut grown = Zipfian::new(10, 0.99);
    grown.grow(1000);
    assert!((grown.probability(5) - Zipfian::new(1000, 0.99).probability(5)).abs() < 1e-12);
}

#[test]
fn workloads_have_their_mixes_and_read_what_is_there() {
    let mixes = [
        ("load", KeyOp::Insert, 1.0),
        ("a", KeyOp::Update, 0.5),
        ("b", KeyOp::Update, 0.05),
        ("c", KeyOp::Read, 1.0),
        ("d", KeyOp::Insert, 0.05),
        ("e", KeyOp::Scan, 0.95),
        ("f", KeyOp::ReadModifyWrite, 0.5),
    ];
    for (name, op, wanted) in mixes {
        let phase = Phase::named(name).unwrap();
        let made: Vec<KeyRequest> =
            Ycsb::new(phase, None, 20_000, 100_000, 1000, 3).unwrap().collect();
        assert_eq!(made.len(), if name == "load" { 20_000 } else { 100_000 });
        assert!((share(&made, op) - wanted).abs() < 0.008, "{name}: {}", share(&made, op));
        let mut records = if name == "load" { 0 } else { 20_000 };
        for one in &made {
            assert_eq!(one.op == KeyOp::Scan, (1..=100).contains(&one.scan));
            assert_eq!(one.value_bytes == 0, matches!(one.op, KeyOp::Read | KeyOp::Scan));
            assert!(one.key < records + u64::from(one.op == KeyOp::Insert), "{name}: {one:?}");
            records += u64::from(one.op == KeyOp::Insert);
        }
    }
}

#[test]
fn hot_keys_are_as_hot_as_they_should_be() {
    let hottest = |keys: Keys| {
        let made = Ycsb::new(Phase::C, Some(keys), 10_000, 300_000, 1000, 3).unwrap();
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        made.for_each(|one| *counts.entry(one.key).or_default() += 1);
        let (key, count) = counts.into_iter().max_by_key(|one| one.1).unwrap();
        (key, count as f64 / 300_000.0)
    };
    // The hottest of ten billion numbers, and what the hash puts on the same key.
    let (_, zipfian) = hottest(Keys::Zipfian);
    assert!((0.037..0.040).contains(&zipfian), "{zipfian}");
    let (key, latest) = hottest(Keys::Latest);
    assert_eq!(key, 9_999);
    let first = Zipfian::new(10_000, 0.99).probability(0);
    assert!((latest / first - 1.0).abs() < 0.03, "{latest}, {first}");
    assert!(hottest(Keys::Uniform).1 < 0.0003);
}

#[test]
fn keys_are_written_as_the_programs_write_them() {
    // 0 has the hash of eight zero octets.
    assert_eq!(ycsb::name(0), format!("user{}", (0xa8c7_f832_281a_39c5_u64 as i64).unsigned_abs()));
    assert_eq!(ssd_trace::keys::db_bench::name(42), "0000000000000042");
}

#[test]
fn benches_of_leveldb() {
    let run = |name: &str| -> Vec<KeyRequest> {
        DbBench::new(Bench::named(name).unwrap(), 1000, 5000, 100, 1).unwrap().collect()
    };
    let keys = |name: &str| run(name).iter().map(|one| one.key).collect::<Vec<_>>();
    assert!(keys("fillseq").iter().take(1000).copied().eq(0..1000));
    assert!(keys("readhot").iter().all(|&key| key < 10));
    assert!(keys("fillrandom").iter().any(|&key| key > 900));
    assert_eq!(run("readseq").len(), 1);
    assert!(run("deleterandom").iter().all(|one| one.op == KeyOp::Delete && one.value_bytes == 0));
    assert!(Bench::named("fillrnd").unwrap_err().0.contains("fillrandom"));
}

#[test]
fn mixgraph_has_its_mix_its_hot_ranges_and_its_sizes() {
    let made: Vec<KeyRequest> =
        MixGraph::new(Mix::default(), 300_000, 400_000, 9).unwrap().collect();
    assert!((share(&made, KeyOp::Read) - 0.85).abs() < 0.003);
    assert!((share(&made, KeyOp::Update) - 0.14).abs() < 0.003);
    let sizes: Vec<f64> = made
        .iter()
        .filter(|one| one.op == KeyOp::Update)
        .map(|one| f64::from(one.value_bytes))
        .collect();
    // Mean of the generalised Pareto: sigma / (1 - k) = 34.5, half a byte more for whole bytes, and the
    // smallest are 10; its tail beyond 1024 is folded back.
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    assert!((34.5..37.5).contains(&mean), "{mean}");
    let mut ranges = [0u64; 30];
    made.iter().for_each(|one| ranges[(one.key / 10_000) as usize] += 1);
    let hottest = *ranges.iter().max().unwrap() as f64 / made.len() as f64;
    let shares: Vec<f64> = (1..=30)
        .map(|x| {
            14.18 * libm::exp(-2.917 * f64::from(x)) + 0.0164 * libm::exp(-0.08082 * f64::from(x))
        })
        .collect();
    let wanted = shares[0] / shares.iter().sum::<f64>();
    assert!((hottest - wanted).abs() < 0.005, "{hottest}, {wanted}");
    assert!(MixGraph::new(Mix::default(), 3, 1, 1).is_err());
    // What is beyond the largest size is folded back, not cut.
    let sizes = |most_value_bytes| {
        let mix = Mix { most_value_bytes, ..Mix::default() };
        let made = MixGraph::new(mix, 300_000, 20_000, 9).unwrap();
        let updates = made.filter(|one| one.op == KeyOp::Update);
        updates.map(|one| one.value_bytes).collect::<Vec<_>>()
    };
    let (whole, folded) = (sizes(u32::MAX), sizes(50));
    assert!(whole.iter().filter(|&&bytes| bytes > 50).count() > 300);
    let fold = |&bytes: &u32| if bytes > 50 { (bytes % 50).max(10) } else { bytes };
    assert_eq!(folded, whole.iter().map(fold).collect::<Vec<_>>());
}
