//! Stand-ins have the pattern that their keys state, as `ssdlab trace info` measures it, and everything else
//! as published.

use serde_json::Value;
use ssd_core::config::{Input, load};
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::host::source::Source;
use ssd_trace::config::{ArrivalKind, PatternKeys, RunConfig, Workload, WorkloadKind};
use ssd_trace::info::{Collector, Info, Options};
use ssd_trace::stand_in::{StandIn, VOLUMES, Week};

const INDEPENDENT: PatternKeys = PatternKeys::INDEPENDENT;
const SAMPLE: PatternKeys = PatternKeys::MSR_SAMPLE;

fn source(volume: &str, keys: &PatternKeys, requests: u64, seed: u64) -> StandIn {
    let week = Week::published(volume).unwrap();
    StandIn::new(&week, keys, week.range_bytes, Some(requests), seed).unwrap()
}

fn all(mut source: impl Source) -> Vec<TimedRequest> {
    std::iter::from_fn(|| source.next_request().unwrap()).collect()
}

fn info_of(requests: &[TimedRequest]) -> Info {
    let mut collector = Collector::new(Options { journal: Vec::new(), memory: 1 << 30 }).unwrap();
    for request in requests {
        collector.push(request).unwrap();
    }
    collector.finish().unwrap()
}

/// Statistics by their path, such as "trains.gap_cv".
struct Facts(Value);

impl Facts {
    fn of(requests: &[TimedRequest]) -> Facts {
        Facts(serde_json::to_value(info_of(requests)).unwrap())
    }

    fn get(&self, path: &str) -> f64 {
        let value = path.split('.').fold(&self.0, |value, part| &value[part]);
        value.as_f64().unwrap_or_else(|| panic!("{path}: {value}"))
    }

    /// Within this distance, relative to `expected`.
    #[track_caller]
    fn near(&self, path: &str, expected: f64, within: f64) {
        let found = self.get(path);
        assert!((found / expected - 1.0).abs() <= within, "{path}: {found}, stated {expected}");
    }

    /// Within this distance.
    #[track_caller]
    fn is(&self, path: &str, expected: f64, within: f64) {
        let found = self.get(path);
        assert!((found - expected).abs() <= within, "{path}: {found}, stated {expected}");
    }

    /// All that `keys` state.
    #[track_caller]
    fn have(&self, keys: &PatternKeys, cv_within: f64) {
        self.near("trains.gap_cv", keys.gap_cv, cv_within);
        self.is("trains.short_gap_share", keys.short_gaps, 0.005);
        self.near("trains.short_gap_mean_ns", keys.train_gap_ns as f64, 0.03);
        self.near("trains.requests.mean", 1.0 / (1.0 - keys.short_gaps), 0.02);
        self.near("trains.requests_cv", keys.train_cv, 0.03);
        self.is("trains.same_size_share", keys.same_size, 0.005);
        self.is("ops.write.sequential_share", keys.sequential_writes, 0.005);
        self.is("footprint.read_recent_share", keys.read_recent, 0.005);
    }
}

#[test]
fn the_pattern_of_the_sample_and_the_published_figures_hold_together() {
    for volume in VOLUMES {
        let week = Week::published(volume).unwrap();
        let phase = week.phases[0];
        let facts = Facts::of(&all(source(volume, &SAMPLE, 400_000, 5)));
        facts.have(&SAMPLE, 0.03);
        facts.near("gaps.mean", phase.gap_ns, 0.02);
        facts.is("write_share", phase.write, 0.003);
        facts.near("ops.write.size.mean", phase.write_bytes, 0.01);
        facts.near("ops.read.size.mean", phase.read_bytes, 0.02);
        let unique = facts.get("footprint.distinct_bytes_written");
        let update = 1.0 - unique / facts.get("ops.write.bytes");
        assert!((update - phase.update).abs() < 0.005, "{volume}: update {update}");
    }
}

#[test]
fn independent_requests_are_a_poisson_process() {
    let facts = Facts::of(&all(source("hm_0", &INDEPENDENT, 200_000, 5)));
    facts.near("trains.gap_cv", 1.0, 0.02);
    // 1 - exp(-1 ms / 195.2 ms).
    facts.is("trains.short_gap_share", 0.005_11, 0.001);
}

/// One key at a time at both ends of its range, the others as in the sample.
#[test]
fn the_ends_of_every_range() {
    let with = |change: &dyn Fn(&mut PatternKeys)| {
        let mut keys = SAMPLE;
        change(&mut keys);
        let facts = Facts::of(&all(source("stg_0", &keys, 300_000, 11)));
        facts.is("write_share", 0.769, 0.003);
        facts
    };
    let facts = with(&|keys| (keys.short_gaps, keys.gap_cv) = (0.0, 0.0));
    facts.near("gaps.max", facts.get("gaps.min"), 0.0);
    facts.near("gaps.mean", 336e6, 1e-6);
    assert_eq!(facts.get("trains.requests.max").to_bits(), 1f64.to_bits());

    let facts = with(&|keys| (keys.short_gaps, keys.gap_cv) = (0.99, 20.0));
    facts.is("trains.short_gap_share", 0.99, 0.001);
    facts.near("trains.requests.mean", 100.0, 0.05);
    facts.near("trains.gap_cv", 20.0, 0.1);
    // The least variation: all long gaps are equal.
    let facts = with(&|keys| (keys.short_gaps, keys.gap_cv) = (0.99, 9.95));
    facts.near("trains.gap_cv", 9.95, 0.03);
    let facts = with(&|keys| (keys.short_gaps, keys.gap_cv) = (0.0, 20.0));
    facts.near("trains.gap_cv", 20.0, 0.1);
    assert!(facts.get("gaps.min") >= 1e6);

    let facts = with(&|keys| keys.train_gap_ns = 0);
    facts.is("trains.short_gap_share", SAMPLE.short_gaps, 0.005);
    assert_eq!(facts.get("trains.short_gap_mean_ns").to_bits(), 0);
    let facts = with(&|keys| keys.train_gap_ns = 999_999);
    facts.is("trains.short_gap_share", SAMPLE.short_gaps, 0.005);
    facts.near("trains.short_gap_mean_ns", 999_999.0, 1e-4);

    let facts = with(&|keys| keys.train_cv = 0.5);
    facts.near("trains.requests_cv", 0.5, 0.03);
    facts.is("trains.short_gap_share", SAMPLE.short_gaps, 0.005);
    let facts = with(&|keys| keys.train_cv = 10.0);
    facts.near("trains.requests_cv", 10.0, 0.15);

    // Sizes are equal by chance, too.
    let facts = with(&|keys| keys.same_size = 0.0);
    assert!((0.05..0.4).contains(&facts.get("trains.same_size_share")));
    let facts = with(&|keys| keys.same_size = 1.0);
    assert_eq!(facts.get("trains.same_size_share").to_bits(), 1f64.to_bits());
    facts.near("ops.write.size.mean", 25.4 * 512.0, 0.03);

    let facts = with(&|keys| keys.sequential_writes = 0.0);
    assert!(facts.get("ops.write.sequential_share") < 0.02);
    let facts = with(&|keys| keys.sequential_writes = 0.95);
    facts.is("ops.write.sequential_share", 0.95, 0.01);
    let unique = facts.get("footprint.distinct_bytes_written");
    let update = 1.0 - unique / facts.get("ops.write.bytes");
    assert!((update - 0.97).abs() < 0.02, "update {update}");

    let facts = with(&|keys| keys.read_recent = 0.0);
    assert!(facts.get("footprint.read_recent_share") < 0.05);
    let facts = with(&|keys| keys.read_recent = 1.0);
    assert!(facts.get("footprint.read_recent_share") > 0.999);
}

#[test]
fn the_same_seed_gives_the_same_requests() {
    let made = |seed| all(source("rsrch_0", &SAMPLE, 20_000, seed));
    assert_eq!(made(3), made(3));
    assert_ne!(made(3), made(4));
}

/// Gaps do not change the addresses and sizes of the requests.
#[test]
fn arrivals_alone_change_with_the_keys_of_gaps() {
    let requests = |keys: &PatternKeys| {
        let made = all(source("src2_0", keys, 20_000, 3));
        made.into_iter().map(|timed| timed.request).collect::<Vec<_>>()
    };
    let gaps = PatternKeys { same_size: 0.0, sequential_writes: 0.0, read_recent: 0.0, ..SAMPLE };
    let longer = PatternKeys { train_cv: 3.0, gap_cv: 6.0, ..gaps };
    assert_eq!(requests(&gaps), requests(&longer));
}

/// A pattern sets the keys that are not set, in whatever order they come; the resolved text says them all.
#[test]
fn a_pattern_sets_what_is_not_set() {
    let keys = |more: &[(&str, &str)]| {
        let kind = [("workload.kind", "\"msr:hm_0\""), ("workload.pattern", "\"msr-sample\"")];
        let sets = kind.iter().chain(more).map(|(key, value)| ((*key).into(), (*value).into()));
        let input = Input { sets: sets.collect(), ..Input::default() };
        let config = load::<RunConfig>(&input).unwrap();
        let printed = ssd_core::config::to_toml(&config);
        let file = Some(("ssd.toml".into(), printed));
        let again = load::<RunConfig>(&Input { file, ..Input::default() }).unwrap();
        assert_eq!(again, config);
        PatternKeys::of(&config.workload)
    };
    assert_eq!(keys(&[]), SAMPLE);
    let changed = keys(&[("workload.short_gaps", "0.75"), ("workload.gap_cv", "2")]);
    assert_eq!(changed, PatternKeys { short_gaps: 0.75, gap_cv: 2.0, ..SAMPLE });
    // The root of 0.9 / (1 - 0.9) is rounded up to more than 3, which is allowed.
    let least = keys(&[("workload.short_gaps", "0.9"), ("workload.gap_cv", "3")]);
    assert_eq!(least.gap_cv.to_bits(), 3f64.to_bits());
    source("hm_0", &least, 10, 1);
    // What has no effect is as if it were not set.
    let poisson = keys(&[("workload.arrival", "\"poisson\"")]);
    assert_eq!(
        poisson,
        PatternKeys {
            sequential_writes: SAMPLE.sequential_writes,
            read_recent: SAMPLE.read_recent,
            ..INDEPENDENT
        }
    );
}

#[test]
fn gaps_that_cannot_be_are_refused() {
    let week = Week::published("hm_0").unwrap();
    let keys = PatternKeys { short_gaps: 0.8, gap_cv: 1.9, ..SAMPLE };
    let text = StandIn::new(&week, &keys, 1 << 40, None, 1).err().unwrap().0;
    assert!(text.contains("workload.short_gaps = 0.8, workload.gap_cv = 1.9"), "{text}");
    assert!(text.contains("mean of 195.200 ms"), "{text}");
}

/// `like` draws pieces of the recording, so that what happens within trains remains.
#[test]
fn like_keeps_the_pattern() {
    let recorded = all(source("hm_0", &SAMPLE, 60_000, 9));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("pattern.csv");
    let first = 128_166_372_003_061_629u64;
    let lines: Vec<String> = recorded
        .iter()
        .map(|timed| {
            let (at, request) = (first + timed.at.0 / 100, timed.request);
            let op = if request.op == Op::Write { "Write" } else { "Read" };
            let (start, bytes) = (request.sector * 512, request.sectors * 512);
            format!("{at},hm,0,{op},{start},{bytes},0\n")
        })
        .collect();
    std::fs::write(&path, lines.concat()).unwrap();
    let mut workload = Workload {
        kind: WorkloadKind::AppMysql,
        like: Some(path.to_string_lossy().into_owned()),
        requests: 60_000,
        ..Workload::default()
    };
    workload.arrival.kind = ArrivalKind::Model;
    workload.arrival.interval_ns = 0;
    let opened = ssd_trace::open(&workload, 4096, 20 << 18, 4).unwrap();
    let mut like = opened.source;
    let made: Vec<_> = std::iter::from_fn(|| like.next_request().unwrap()).collect();
    let (one, two) = (Facts::of(&recorded), Facts::of(&made));
    for path in ["trains.gap_cv", "trains.short_gap_mean_ns", "trains.requests_cv"] {
        two.near(path, one.get(path), 0.03);
    }
    for path in [
        "trains.short_gap_share",
        "trains.same_size_share",
        "ops.write.sequential_share",
        "footprint.read_recent_share",
    ] {
        two.is(path, one.get(path), 0.02);
    }
}

/// Without a number of requests a volume has all of its week, as its divisor leaves of it; one that is set counts.
#[test]
fn a_volume_has_all_requests_of_its_week() {
    let requests = |volume: &str, more: &[(&str, &str)]| {
        let kind = format!("\"msr:{volume}\"");
        let sets = [("workload.kind", kind.as_str())].into_iter().chain(more.iter().copied());
        let sets = sets.map(|(key, value)| (key.into(), value.into())).collect();
        load::<RunConfig>(&Input { sets, ..Input::default() }).unwrap().workload.requests
    };
    let published = [3_993_316, 2_030_915, 1_557_814, 1_433_655, 1_143_261];
    for (volume, all) in VOLUMES.into_iter().zip(published) {
        assert_eq!(requests(volume, &[]), all);
        for divisor in [2, 7, 64] {
            let asked = requests(volume, &[("workload.shrink", &divisor.to_string())]);
            let week = Week::published(volume).unwrap().shrunk(divisor);
            let mut made =
                StandIn::new(&week, &INDEPENDENT, week.range_bytes, Some(asked), 1).unwrap();
            assert_eq!(made.expected(), Some(asked));
            assert!(
                StandIn::new(&week, &INDEPENDENT, week.range_bytes, Some(asked + 1), 1).is_err()
            );
            if divisor == 64 {
                let count = std::iter::from_fn(|| made.next_request().unwrap()).count();
                assert_eq!(count as u64, asked);
            }
        }
        assert_eq!(requests(volume, &[("workload.requests", "500")]), 500);
    }
    // What a preset says is for its own workload.
    let preset = |sets: &[(&str, &str)]| {
        let sets = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let input = Input { preset: Some("greedy-8ch".into()), sets, ..Input::default() };
        load::<RunConfig>(&input).unwrap().workload.requests
    };
    let kind = ("workload.kind", "\"msr:wdev_0\"");
    assert_eq!((preset(&[]), preset(&[kind])), (1_000_000, 1_143_261));
    assert_eq!(preset(&[("workload.requests", "500"), kind]), 500);
}
