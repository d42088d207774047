//! Traces on a device: none, wrap and compact against a naive page map; time range, loops, scale.

use crate::cases::cases;
use crate::workloads::{drain, workload};
use proptest::prelude::*;
use ssd_core::host::request::{Op, Request, flags};
use ssd_trace::config::{AllVolumes, Fit, VolumeKey, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::{TraceFacts, TraceSource};
use std::collections::{BTreeMap, BTreeSet};

fn trace(fit: Fit) -> Workload {
    Workload { fit, ..workload(WorkloadKind::Trace) }
}

/// Text of requests, 1 us apart.
fn text(requests: &[(Op, u64, u32)]) -> String {
    let letter = |op| match op {
        Op::Read => "R",
        Op::Write => "FWS",
        Op::Trim => "D",
        Op::Flush => "FF",
        Op::Copy => unreachable!("no trace has copies"),
    };
    (0..)
        .zip(requests)
        .map(|(i, &(op, sector, sectors))| {
            format!("8,0 0 0 0.{i:06} 0 Q {} {sector} + {sectors}\n", letter(op))
        })
        .collect()
}

fn replay(
    requests: &[(Op, u64, u32)],
    fit: Fit,
    page_bytes: u32,
    user_pages: u32,
) -> Result<(Vec<Request>, TraceFacts), String> {
    let text = text(requests);
    TraceSource::read("t", text.as_bytes(), &trace(fit), page_bytes, user_pages)
        .map(|(mut source, facts)| {
            (drain(&mut source).iter().map(|timed| timed.request).collect(), facts)
        })
        .map_err(|error| error.0)
}

fn range(op: Op, sector: u64, sectors: u32, flags: u8) -> Request {
    Request { flags, ..Request::new(op, sector, sectors) }
}

#[test]
fn wrap_splits_at_the_end_of_the_device() {
    const FIRST: u8 = flags::PREFLUSH | flags::SYNC;
    // 10 pages of 8 sectors.
    let requests = [
        (Op::Write, 76, 8),
        (Op::Write, 163, 4),
        (Op::Write, 84, 170),
        (Op::Trim, 1000, 80),
        (Op::Trim, 1000, 79),
        (Op::Flush, 0, 0),
        (Op::Read, 72, 8),
    ];
    let (found, facts) = replay(&requests, Fit::Wrap, 4096, 10).unwrap();
    let expected = [
        range(Op::Write, 76, 4, FIRST),
        range(Op::Write, 0, 4, flags::SYNC),
        range(Op::Write, 3, 4, FIRST),
        range(Op::Write, 4, 76, FIRST),
        range(Op::Write, 0, 80, flags::SYNC),
        range(Op::Write, 0, 14, flags::SYNC),
        range(Op::Trim, 0, 80, 0),
        range(Op::Trim, 40, 40, 0),
        range(Op::Trim, 0, 39, 0),
        range(Op::Flush, 0, 0, 0),
        range(Op::Read, 72, 8, 0),
    ];
    assert_eq!(found, expected);
    assert_eq!((facts.split_requests, facts.whole_device_discards), (3, 1));
    assert_eq!((facts.footprint_pages, facts.bytes_written), (10, 182 * 512));
}

#[test]
fn compact_keeps_order_offsets_and_useful_discards() {
    // Touched pages of 8 sectors: 10, 11, 20, 1000000 become 0, 1, 2, 3.
    let requests = [
        (Op::Write, 83, 10),
        (Op::Read, 163, 2),
        (Op::Write, 8_000_000, 8),
        (Op::Trim, 0, 8_000_100),
        (Op::Trim, 84, 80),
        (Op::Trim, 96, 64),
        (Op::Trim, 8_000_003, 1),
        (Op::Trim, 8_000_008, 800),
        (Op::Trim, 168, 8_000_004 - 168),
        (Op::Flush, 0, 0),
    ];
    let (found, facts) = replay(&requests, Fit::Compact, 4096, 4).unwrap();
    const FIRST: u8 = flags::PREFLUSH | flags::SYNC;
    let expected = [
        range(Op::Write, 3, 10, FIRST),
        range(Op::Read, 19, 2, 0),
        range(Op::Write, 24, 8, FIRST),
        range(Op::Trim, 0, 32, 0),
        range(Op::Trim, 4, 16, 0),
        range(Op::Trim, 27, 1, 0),
        range(Op::Trim, 24, 4, 0),
        range(Op::Flush, 0, 0, 0),
    ];
    assert_eq!(found, expected);
    assert_eq!((facts.empty_discards, facts.requests.trim), (2, 4));
    assert_eq!((facts.footprint_pages, facts.unique_pages_written), (4, 3));
    let error = replay(&requests, Fit::Compact, 4096, 3).unwrap_err();
    assert!(
        error.contains("touches 4 pages (16384 bytes), the device has 3 user pages"),
        "{error}"
    );
}

#[test]
fn none_refuses_addresses_beyond_the_device() {
    for op in [Op::Read, Op::Write, Op::Trim] {
        let error = replay(&[(op, 0, 8), (op, 76, 5)], Fit::None, 4096, 10).unwrap_err();
        for part in ["t, line 2:", "last sector is 79", "ends at 80", "\"compact\"", "\"wrap\""] {
            assert!(error.contains(part), "{error}");
        }
    }
    let (found, _) = replay(&[(Op::Write, 76, 4)], Fit::None, 4096, 10).unwrap();
    assert_eq!(found[0].sector, 76);
}

/// Which write each sector holds last, 0 if none: the naive device. TRIMs clear whole pages.
fn contents(requests: &[Request], sectors_per_page: u64, ids: &[u64]) -> BTreeMap<u64, u64> {
    let mut sectors = BTreeMap::new();
    for (request, &id) in requests.iter().zip(ids) {
        let end = request.sector + u64::from(request.sectors);
        match request.op {
            Op::Write => sectors.extend((request.sector..end).map(|sector| (sector, id))),
            Op::Trim => {
                let first = request.sector.next_multiple_of(sectors_per_page);
                let last = end / sectors_per_page * sectors_per_page;
                sectors.retain(|sector, _| *sector < first || *sector >= last);
            }
            Op::Read | Op::Flush | Op::Copy => {}
        }
    }
    sectors
}

fn any_requests() -> impl Strategy<Value = Vec<(Op, u64, u32)>> {
    let op = prop::sample::select(vec![Op::Read, Op::Write, Op::Write, Op::Trim]);
    proptest::collection::vec((op, 0u64..2000, 1u32..120), 1..60)
}

proptest! {
    #![proptest_config(cases(256, 83))]

    #[test]
    fn compact_leaves_the_same_contents(requests in any_requests(), log in 0u32..5) {
        let page = 1u64 << log;
        let original: Vec<Request> =
            requests.iter().map(|&(op, at, sectors)| Request::new(op, at, sectors)).collect();
        let touched: BTreeSet<u64> = original
            .iter()
            .filter(|request| matches!(request.op, Op::Read | Op::Write))
            .flat_map(|r| r.sector / page..=(r.sector + u64::from(r.sectors) - 1) / page)
            .collect();
        prop_assume!(!touched.is_empty());
        let (found, facts) =
            replay(&requests, Fit::Compact, 512 * page as u32, touched.len() as u32).unwrap();
        prop_assert_eq!(facts.footprint_pages, touched.len() as u64);
        // Ids by position in the trace: dropped discards leave gaps, which are found by operation.
        let useful = |r: &Request| r.op != Op::Trim || {
            let last = (r.sector + u64::from(r.sectors) - 1) / page;
            touched.range(r.sector / page..=last).next().is_some()
        };
        let ids: Vec<u64> = (1..).zip(&original).filter(|x| useful(x.1)).map(|x| x.0).collect();
        prop_assert_eq!(facts.empty_discards as usize, original.len() - ids.len());
        prop_assert_eq!(found.len(), ids.len());
        let all: Vec<u64> = (1..=original.len() as u64).collect();
        let numbers: BTreeMap<u64, u64> = touched.iter().copied().zip(0..).collect();
        let expected: BTreeMap<u64, u64> = contents(&original, page, &all)
            .into_iter()
            .map(|(sector, id)| (numbers[&(sector / page)] * page + sector % page, id))
            .collect();
        prop_assert_eq!(contents(&found, page, &ids), expected);
    }

    #[test]
    fn wrap_covers_the_same_sectors(requests in any_requests(), pages in 1u32..40) {
        let (found, facts) = replay(&requests, Fit::Wrap, 4096, pages).unwrap();
        let capacity = u64::from(pages) * 8;
        let cover = |list: &mut dyn Iterator<Item = (Op, u64, u64)>, wanted: Op| -> Vec<u64> {
            let sectors = list.filter(|x| x.0 == wanted).flat_map(|x| x.1..x.1 + x.2);
            sectors.map(|sector| sector % capacity).collect()
        };
        let asked = |op| cover(&mut requests.iter().map(|r| (r.0, r.1, r.2.into())), op);
        let sent = |op| cover(&mut found.iter().map(|r| (r.op, r.sector, r.sectors.into())), op);
        for op in [Op::Read, Op::Write] {
            prop_assert_eq!(asked(op), sent(op));
        }
        let (mut before, mut after) = (asked(Op::Trim), sent(Op::Trim));
        for list in [&mut before, &mut after] {
            list.sort_unstable();
            list.dedup();
        }
        prop_assert_eq!(before, after);
        prop_assert!(found.iter().all(|r| r.sector + u64::from(r.sectors) <= capacity));
        prop_assert!(found.len() >= requests.len() && facts.requests.total() == found.len() as u64);
    }
}

#[test]
fn range_loops_and_scale() {
    let text = "8,0 0 0 1.0 0 Q W 0 + 8\n8,0 0 0 1.5 0 Q W 8 + 8\n8,0 0 0 2.0 0 Q W 16 + 8\n\
                8,0 0 0 3.0 0 Q W 24 + 8\n";
    let times = |workload: &Workload| {
        let (mut source, facts) =
            TraceSource::read("t", text.as_bytes(), workload, 4096, 10).unwrap();
        let arrivals: Vec<u64> = drain(&mut source).iter().map(|timed| timed.at.0).collect();
        (arrivals, facts)
    };
    let part =
        Workload { from_ns: 1_250_000_000, until_ns: Some(3_000_000_000), ..trace(Fit::None) };
    let (arrivals, facts) = times(&part);
    assert_eq!(arrivals, [250_000_000, 750_000_000]);
    assert_eq!((facts.first_ns, facts.duration_ns), (250_000_000, 750_000_000));
    assert_eq!((facts.events_outside_range, facts.events[&'Q']), (2, 4));
    let twice = Workload { loops: 3, time_scale: 0.1, ..part.clone() };
    let (arrivals, looped) = times(&twice);
    assert_eq!(
        arrivals,
        [25_000_000, 75_000_000, 100_000_000, 150_000_000, 175_000_000, 225_000_000]
    );
    assert_eq!(looped.trace_digest, facts.trace_digest);
    assert_eq!((looped.requests, looped.duration_ns), (facts.requests, facts.duration_ns));
    let (_, whole) = times(&trace(Fit::Wrap));
    assert_ne!(whole.trace_digest, facts.trace_digest);
    assert_eq!(whole.duration_ns, 3_000_000_000);
}

#[test]
fn carried_traces_are_what_their_manifest_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces");
    let text = std::fs::read_to_string(format!("{folder}/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let traces = manifest["traces"].as_array().unwrap();
    assert_eq!(traces.len(), 7);
    for entry in traces {
        let (file, recorded) = (&entry["file"], &entry["recording"]["stats_run_phase_Q"]);
        let path = format!("{folder}/{}", file["name"].as_str().unwrap());
        let workload = Workload { trace: Some(path), ..trace(Fit::Compact) };
        let opened = ssd_trace::open(&workload, 4096, 1 << 18, 1).unwrap();
        let facts = opened.facts.unwrap();
        assert_eq!(opened.source.expected(), Some(facts.requests.total()));
        let count = |name: &str| file["requests"][name].as_u64().unwrap_or(0);
        assert_eq!(Some(facts.lines), file["lines"].as_u64());
        assert_eq!(facts.requests.read, count("read"));
        assert_eq!(facts.requests.write, count("write"));
        assert_eq!(facts.requests.flush, count("flush"));
        assert_eq!(facts.requests.trim + facts.empty_discards, count("discard"));
        // The recorder counted its whole run phase, of which some files hold the beginning.
        let bytes = recorded["bytes"]["write"].as_u64().unwrap();
        let unique = recorded["unique_bytes_written"].as_u64().unwrap();
        if entry["cut"]["complete"].as_bool().unwrap() {
            assert_eq!(facts.bytes_written, bytes, "{}", facts.file);
            assert_eq!(facts.unique_pages_written * 4096, unique, "{}", facts.file);
        } else {
            assert!(facts.bytes_written < bytes, "{}", facts.file);
            assert!(facts.unique_pages_written * 4096 < unique, "{}", facts.file);
        }
    }
}

#[test]
fn all_volumes_lie_one_behind_the_other_and_name_streams() {
    let all = Some(VolumeKey::Every(AllVolumes::All));
    let said = Workload { volume: all, format: TraceFormat::Alibaba, ..trace(Fit::Compact) };
    let lines =
        [(419, 'W', 0u64), (7, 'W', 4096), (419, 'R', 409_600), (7, 'R', 4096), (419, 'W', 0)];
    let text: String = (1..)
        .zip(lines)
        .map(|(at, (volume, op, offset))| format!("{volume},{op},{offset},4096,{at}\n"))
        .collect();
    let read = |text: &str, said| TraceSource::read("t", text.as_bytes(), said, 4096, 3);
    let (mut source, facts) = read(&text, &said).unwrap();
    let found: Vec<_> = drain(&mut source)
        .iter()
        .map(|timed| (timed.request.op, timed.request.sector / 8, timed.request.stream))
        .collect();
    // The volume that comes first lies first; streams are in the order of the numbers.
    let expected = [(Op::Write, 0, 1), (Op::Write, 2, 0), (Op::Read, 1, 1), (Op::Read, 2, 0)];
    assert_eq!(found[..4], expected);
    assert_eq!(found[4], expected[0]);
    assert_eq!(facts.write_streams, [0, 1]);
    assert_eq!(facts.device, "7 as stream 0, 419 as stream 1");
    assert_eq!(facts.footprint_pages, 3);
    // Times are those of all volumes: one that goes back is late, whosever it is.
    let late = format!("{text}8,W,0,4096,2\n");
    let Err(error) = read(&late, &said) else { panic!("a late request is accepted") };
    assert!(error.0.contains("workload.sort"), "{error}");
    let many: String = (0..257).map(|volume| format!("{volume},W,0,4096,9\n")).collect();
    let Err(error) = read(&many, &said) else { panic!("257 streams") };
    assert!(error.0.contains("more than 256 volumes"), "{error}");
}
