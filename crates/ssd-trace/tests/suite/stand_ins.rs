//! Stand-ins for MSR volumes meet the published figures, at their beginning and as a whole.

use ssd_core::host::request::{Op, Request};
use ssd_core::host::source::Source;
use ssd_trace::config::PatternKeys;
use ssd_trace::stand_in::{FIRST_REQUESTS, Phase, StandIn, VOLUMES, Week};

/// What is counted of a part of a trace.
#[derive(Default)]
struct Counts {
    ops: [u64; 2],
    sectors: [u64; 2],
    rewritten_blocks: u64,
    written_blocks: u64,
}

#[test]
fn the_beginning_and_the_whole_have_the_published_figures() {
    for volume in VOLUMES {
        let week = Week::published(volume).unwrap();
        let mut source =
            StandIn::new(&week, &PatternKeys::INDEPENDENT, week.range_bytes, None, 7).unwrap();
        let all = source.expected().unwrap();
        let mut blocks = vec![false; week.range_bytes as usize / 4096 + 1];
        let mut parts = [Counts::default(), Counts::default()];
        let (mut n, mut last, mut first_ends) = (0, 0, 0);
        while let Some(request) = source.next_request().unwrap() {
            let (at, request) = (request.at.0, request.request);
            assert!(
                at >= last
                    && (request.sector + u64::from(request.sectors)) * 512 <= week.range_bytes
            );
            last = at;
            let part = &mut parts[usize::from(n >= FIRST_REQUESTS)];
            let kind = usize::from(request.op == Op::Write);
            part.ops[kind] += 1;
            part.sectors[kind] += u64::from(request.sectors);
            if request.op == Op::Write {
                for block in
                    request.sector / 8..(request.sector + u64::from(request.sectors)).div_ceil(8)
                {
                    part.written_blocks += 1;
                    part.rewritten_blocks +=
                        u64::from(std::mem::replace(&mut blocks[block as usize], true));
                }
            }
            n += 1;
            if n == FIRST_REQUESTS {
                first_ends = at;
            }
        }
        assert_eq!(n, all);
        let close = |found: f64, wanted: f64, within: f64, what: &str| {
            assert!(
                (found / wanted - 1.0).abs() < within,
                "{volume}: {what} {found}, published {wanted}"
            );
        };
        let writes = (parts[0].ops[1] + parts[1].ops[1]) as f64;
        let wanted: f64 = week.phases.iter().map(|phase| phase.write * phase.requests as f64).sum();
        close(writes, wanted, 0.002, "writes");
        let unique = blocks.iter().filter(|&&written| written).count() as f64 * 4096.0;
        close(unique, week.unique_bytes as f64, 0.03, "unique write space");
        close(last as f64, 7.0 * 86_400e9, 0.01, "length");
        if week.phases.len() == 1 {
            continue;
        }
        let (first, found) = (week.phases[0], &parts[0]);
        let mean = |kind: usize| found.sectors[kind] as f64 * 512.0 / found.ops[kind] as f64;
        close(found.ops[1] as f64, first.write * 1e6, 0.002, "writes at first");
        close(mean(1), first.write_bytes, 0.02, "mean write");
        close(mean(0), first.read_bytes, 0.02, "mean read");
        let update = found.rewritten_blocks as f64 / found.written_blocks as f64;
        assert!((update - first.update).abs() < 0.02, "{volume}: update {update}");
        close(first_ends as f64, first.gap_ns * 1e6, 0.01, "gap");
    }
}

#[test]
fn figures_of_the_table() {
    let found: Vec<u64> = VOLUMES
        .iter()
        .map(|volume| Week::published(volume).unwrap().phases.iter().map(|one| one.requests).sum())
        .collect();
    assert_eq!(found, [3_993_316, 2_030_915, 1_557_814, 1_433_655, 1_143_261]);
}

/// Computed from the two papers' tables, outside of this crate.
#[test]
fn phases_of_a_week() {
    let close = |found: &Phase, expected: &Phase| {
        let of = |one: &Phase| {
            [one.write, one.write_bytes, one.read_bytes, one.update, one.gap_ns]
                .map(|figure| (figure, one.requests))
        };
        for ((found, requests), (expected, all)) in of(found).into_iter().zip(of(expected)) {
            assert_eq!(requests, all);
            assert!((found / expected - 1.0).abs() < 1e-9, "{found}, expected {expected}");
        }
    };
    let week = Week::published("hm_0").unwrap();
    let first = Phase {
        requests: 1_000_000,
        write: 0.750_838_249_161_750_8,
        write_bytes: 11_468.8,
        read_bytes: 11_878.4,
        update: 0.9,
        gap_ns: 195_200_000.0,
    };
    let rest = Phase {
        requests: 2_993_316,
        write: 0.609_775_213_321_363_1,
        update: 0.821_391_939_651_008_2,
        gap_ns: 136_838_208.862_679_4,
        ..first
    };
    assert_eq!((week.range_bytes, week.unique_bytes), (14_000_000_000, 4_600_000_000));
    assert_eq!(week.phases.len(), 2);
    close(&week.phases[0], &first);
    close(&week.phases[1], &rest);
    let week = Week::published("wdev_0").unwrap();
    let only = Phase {
        requests: 1_143_261,
        write: 0.7993,
        write_bytes: 12_185.6,
        read_bytes: 18_816.0,
        update: 0.928_156_436_210_313_2,
        gap_ns: 529_013_060.009_919,
    };
    assert_eq!((week.range_bytes, week.unique_bytes), (16_900_000_000, 800_000_000));
    assert_eq!(week.phases.len(), 1);
    close(&week.phases[0], &only);
}

#[test]
fn what_does_not_fit_is_refused() {
    let week = Week::published("hm_0").unwrap();
    let text = StandIn::new(&week, &PatternKeys::INDEPENDENT, 1 << 30, None, 1).err().unwrap().0;
    assert!(text.contains("up to 14.0 GB"), "{text}");
    let text = StandIn::new(&week, &PatternKeys::INDEPENDENT, 1 << 40, Some(4_000_000), 1)
        .err()
        .unwrap()
        .0;
    assert!(text.contains("3993316 requests"), "{text}");
    assert!(Week::published("prn_9").unwrap_err().0.contains("wdev_0"));
}

/// A quarter of a volume has a quarter of its requests, addresses and written space, and its statistics.
#[test]
fn a_shrunk_volume() {
    for volume in VOLUMES {
        let whole = Week::published(volume).unwrap();
        let week = whole.clone().shrunk(4);
        assert_eq!(whole.clone().shrunk(1), whole);
        assert_eq!(week.range_bytes, whole.range_bytes / 4);
        let keys = PatternKeys::INDEPENDENT;
        let mut source = StandIn::new(&week, &keys, week.range_bytes, None, 7).unwrap();
        let all: u64 = whole.phases.iter().map(|phase| phase.requests / 4).sum();
        assert_eq!(source.expected(), Some(all));
        let mut blocks = vec![false; week.range_bytes as usize / 4096 + 1];
        let (mut requests, mut writes, mut last_ns) = (0u64, 0u64, 0);
        while let Some(timed) = source.next_request().unwrap() {
            requests += 1;
            last_ns = timed.at.0;
            let Request { sector, sectors, op, .. } = timed.request;
            let end = sector + u64::from(sectors);
            assert!(end * 512 <= week.range_bytes, "{volume}: beyond its addresses");
            if op == Op::Write {
                writes += 1;
                blocks[sector as usize / 8..end.div_ceil(8) as usize].fill(true);
            }
        }
        assert_eq!(requests, all);
        let unique = blocks.iter().filter(|&&written| written).count() as f64 * 4096.0;
        let ratio = unique / week.unique_bytes as f64;
        assert!((ratio - 1.0).abs() < 0.02, "{volume}: {ratio} of the written space");
        let write = |week: &Week| {
            let of = |one: &Phase| one.write * one.requests as f64;
            week.phases.iter().map(of).sum::<f64>()
        };
        assert!((writes as f64 / write(&week) - 1.0).abs() < 0.01, "{volume}: {writes} writes");
        assert!((write(&whole) / write(&week) - 4.0).abs() < 1e-4);
        let quarter_ns = 7.0 * 86_400e9 / 4.0;
        assert!((last_ns as f64 / quarter_ns - 1.0).abs() < 0.02, "{volume}: {last_ns} ns");
    }
}
