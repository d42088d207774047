//! Models of applications meet the statistics that they are made to.

use crate::folder::Folder;
use crate::workloads;
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::host::source::Source;
use ssd_trace::app::{App, Habits, Model, NAMES, SETS, Shape};
use ssd_trace::config::{ArrivalKind, Workload, WorkloadKind};

fn all(mut app: App) -> Vec<TimedRequest> {
    let mut requests = Vec::new();
    app.fill(&mut requests, usize::MAX).unwrap();
    requests
}

/// Shapes as somebody measures them who sees the requests only.
fn measured(requests: &[TimedRequest]) -> [Shape; 3] {
    [Op::Read, Op::Write, Op::Trim].map(|op| {
        let (mut end, mut counts, mut sectors) = (u64::MAX, [0u64; 2], [0u64; 2]);
        for TimedRequest { request, .. } in requests.iter().filter(|one| one.request.op == op) {
            let kind = usize::from(request.sector == end);
            counts[kind] += 1;
            sectors[kind] += u64::from(request.sectors);
            end = request.sector + u64::from(request.sectors);
        }
        let mean = |kind: usize| sectors[kind] as f64 * 512.0 / counts[kind].max(1) as f64;
        let all = (counts[0] + counts[1]) as f64;
        Shape {
            share: all / requests.len() as f64,
            sequential: counts[1] as f64 / all.max(1.0),
            sequential_bytes: mean(1),
            random_bytes: mean(0),
        }
    })
}

fn mean(shape: &Shape) -> f64 {
    shape.sequential * shape.sequential_bytes + (1.0 - shape.sequential) * shape.random_bytes
}

#[test]
fn every_application_has_the_statistics_of_its_set() {
    for set in SETS {
        for name in NAMES {
            let Ok(model) = Model::published(name, set) else {
                assert!(name == "varmail" && set != "adaptive-channel");
                continue;
            };
            for (span, requests) in [(2 << 30, 100_000), (64u64 << 30, 300_000)] {
                let app = App::new(model.clone(), span, 1_000_000, requests, 3).unwrap();
                let made = all(app);
                assert_eq!(made.len() as u64, requests);
                let found = measured(&made);
                for (found, wanted) in found.iter().zip(&model.shapes) {
                    let place = format!("{name} ({set}), {span} B: {found:?}, {wanted:?}");
                    assert!((found.share - wanted.share).abs() < 0.001, "{place}");
                    if wanted.share == 0.0 {
                        continue;
                    }
                    assert!((found.sequential - wanted.sequential).abs() < 0.02, "{place}");
                    assert!((mean(found) / mean(wanted) - 1.0).abs() < 0.02, "{place}");
                    let followers = found.sequential_bytes / wanted.sequential_bytes - 1.0;
                    assert!(wanted.sequential < 0.02 || followers.abs() < 0.02, "{place}");
                }
            }
        }
    }
}

#[test]
fn requests_are_in_order_within_the_span_and_equal_for_equal_seeds() {
    for name in NAMES {
        let model = Model::published(name, "adaptive-channel").unwrap();
        let make = |seed| all(App::new(model.clone(), 1 << 30, 50_000, 30_000, seed).unwrap());
        let made = make(1);
        assert_eq!(made, make(1));
        assert_ne!(made, make(2));
        assert!(made.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let mean = made.last().unwrap().at.0 as f64 / 30_000.0;
        assert!((mean / 50_000.0 - 1.0).abs() < 0.05, "{name}: {mean} ns apart");
        for TimedRequest { request, .. } in &made {
            assert!(request.sectors > 0 && request.sector + u64::from(request.sectors) <= 1 << 21);
        }
    }
}

/// What is in use stays what it was: files are created as fast as they are deleted.
#[test]
fn deletes_take_what_was_written() {
    for name in NAMES {
        let model = Model::published(name, "adaptive-channel").unwrap();
        // Small enough for files to live and die many times.
        let span = if name == "cassandra" { 1 << 30 } else { 96 << 20 };
        let app = App::new(model, span, 1_000_000, 300_000, 1).unwrap();
        let mut blocks = vec![true; span as usize >> 12];
        let (mut deleted, mut wasted) = (0u64, 0u64);
        let made = all(app);
        for (index, TimedRequest { request, .. }) in made.iter().enumerate() {
            let end = request.sector + u64::from(request.sectors);
            for block in (request.sector / 8)..end.div_ceil(8) {
                let in_use = &mut blocks[block as usize];
                if request.op == Op::Trim && index > made.len() / 2 {
                    deleted += 1;
                    wasted += u64::from(!*in_use);
                }
                *in_use = request.op == Op::Write || (*in_use && request.op == Op::Read);
            }
        }
        assert!(wasted * 50 <= deleted, "{name}: {wasted} of {deleted} deleted blocks were free");
    }
}

/// Reads come over the whole of a cycle, all that changes something within a twentieth of it.
#[test]
fn cassandra_changes_its_data_in_spikes() {
    let model = Model::published("cassandra", "adaptive-channel").unwrap();
    let (cycle, interval) = (1024, 1_000_000);
    let length = cycle * interval;
    let made = all(App::new(model, 2 << 30, interval, 50 * cycle, 3).unwrap());
    let span = |cycle: u64, is: &dyn Fn(Op) -> bool| {
        let of_cycle = made.iter().filter(|one| one.at.0 / length == cycle);
        let at: Vec<u64> = of_cycle.filter(|one| is(one.request.op)).map(|one| one.at.0).collect();
        at.iter().max().unwrap() - at.iter().min().unwrap()
    };
    for cycle in 0..50 {
        assert!(span(cycle, &|op| op != Op::Read) < length / 20, "cycle {cycle}");
        assert!(span(cycle, &|op| op == Op::Read) > length / 10 * 9, "cycle {cycle}");
    }
}

/// A recording that writes each of 500 blocks once, in a scattered order, drawn twice.
#[test]
fn requests_like_a_recording_take_fresh_blocks_first_and_then_the_oldest() {
    let folder = Folder::new();
    let path = folder.file("once.txt");
    let line = |i: u64| format!("8,0 0 0 0.{i:06} 0 Q W {} + 8\n", i * 211 % 500 * 8);
    std::fs::write(&path, (0..500).map(line).collect::<String>()).unwrap();
    let mut workload = workloads::workload(WorkloadKind::AppSqlite);
    workload.arrival.kind = ArrivalKind::Model;
    let workload = Workload { like: Some(path.display().to_string()), requests: 1000, ..workload };
    let mut opened = ssd_trace::open(&workload, 4096, 1000, 1).unwrap();
    let made = workloads::drain(opened.source.as_mut());
    let blocks: Vec<u64> = made.iter().map(|one| one.request.sector / 8).collect();
    let (first, second) = blocks.split_at(500);
    let mut sorted = first.to_vec();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..500).collect::<Vec<u64>>());
    assert_ne!(first, sorted);
    assert_eq!(second, first);
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let model = Model::published("mysql", "adaptive-channel").unwrap();
    let refused = |change: fn(&mut Model)| {
        let mut changed = model.clone();
        change(&mut changed);
        App::new(changed, 1 << 30, 1, 1, 1).err().expect("refused").0
    };
    assert!(refused(|m| m.shapes[0].share = 0.5).contains("sum to 1.5"));
    assert!(
        refused(|m| m.shapes[1].sequential = 1.5).contains("sequential share of writes is 1.5")
    );
    assert!(refused(|m| m.shapes[1].random_bytes = -3.0).contains("random writes have -3 bytes"));
    assert!(refused(|m| m.journal = f64::NAN).contains("journal"));
    let small = App::new(model.clone(), 1 << 20, 1, 1, 1).err().unwrap().0;
    assert!(small.contains("it needs about"), "{small}");
    for (name, set, text) in [
        ("oracle", "adaptive-channel", "cassandra, mongodb"),
        ("mysql", "mine", "noc-copyback"),
        ("varmail", "noc-copyback", "some in: adaptive-channel"),
    ] {
        assert!(Model::published(name, set).unwrap_err().0.contains(text));
    }
}

fn with_habits(name: &str, habits: Habits) -> Vec<TimedRequest> {
    let model = Model { habits, ..Model::published(name, "noc-copyback").unwrap() };
    all(App::new(model, 1 << 30, 50_000, 60_000, 1).unwrap())
}

#[test]
fn a_longer_cycle_has_longer_surges() {
    let surges = |cycle: u64| {
        let made = with_habits("mysql", Habits { cycle, ..Habits::USUAL });
        for (at, requests) in made.chunks(cycle as usize).enumerate() {
            let (start, length) = (at as u64 * cycle * 50_000, cycle * 50_000);
            let inside = |one: &TimedRequest| one.at.0 >= start && one.at.0 < start + length;
            assert!(requests.iter().all(inside), "cycle {at} of {cycle} requests");
        }
        // Longest time between two requests: outside the surges.
        made.windows(2).map(|pair| pair[1].at.0 - pair[0].at.0).max().unwrap()
    };
    let (short, long) = (surges(1024), surges(8192));
    assert!(short < 2 * 1024 * 50_000 && long > 4 * short, "{short} and {long} ns");
    let none = Model { habits: Habits { cycle: 0, ..Habits::USUAL }, ..model_of("mysql") };
    let told = App::new(none, 1 << 30, 1, 1, 1).err().expect("refused").0;
    assert!(told.contains("has no requests"), "{told}");
}

fn model_of(name: &str) -> Model {
    Model::published(name, "noc-copyback").unwrap()
}

#[test]
fn journal_and_data_come_in_stretches() {
    let journal = |run: u64| {
        let made = with_habits("rocksdb", Habits { journal_run: run, ..Habits::USUAL });
        let end = (1u64 << 30) / 64 / 512;
        let writes = made.iter().filter(|one| one.request.op == Op::Write);
        let which: Vec<bool> = writes.map(|one| one.request.sector < end).collect();
        let share = which.iter().filter(|&&one| one).count() as f64 / which.len() as f64;
        (share, which.chunk_by(|a, b| a == b).map(<[bool]>::len).max().unwrap())
    };
    let ((usual, alternating), (share, stretch)) = (journal(0), journal(2000));
    assert!((usual - 0.7284).abs() < 0.01 && (share - 0.7284).abs() < 0.1, "{usual} {share}");
    assert!(alternating < 100 && stretch > 2000, "{alternating} and {stretch} writes");
}

#[test]
fn tables_are_overwritten_as_their_skew_says() {
    let distinct = |table_skew: f64| {
        let made = with_habits("mysql", Habits { table_skew, ..Habits::USUAL });
        let mut sectors: Vec<u64> = made.iter().map(|one| one.request.sector).collect();
        sectors.sort_unstable();
        sectors.dedup();
        sectors.len()
    };
    assert!(distinct(0.5) > distinct(0.99) * 5 / 4, "{} {}", distinct(0.5), distinct(0.99));
}
