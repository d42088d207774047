//! Synthetic workloads: determinism, shares, alignment, arrivals, errors.

use crate::cases::cases;
use crate::workloads::{drain, workload};
use proptest::prelude::*;
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::host::source::SourceError;
use ssd_trace::config::{Arrival, ArrivalKind, SizeShare, Workload, WorkloadKind};

const KINDS: [WorkloadKind; 4] =
    [WorkloadKind::Uniform, WorkloadKind::Zipf, WorkloadKind::HotCold, WorkloadKind::Sequential];

fn run(workload: &Workload, pages: u32, seed: u64) -> Vec<TimedRequest> {
    let mut opened = ssd_trace::open(workload, 4096, pages, seed).expect("it opens");
    assert!(opened.facts.is_none());
    drain(opened.source.as_mut())
}

fn mixed(kind: WorkloadKind) -> Workload {
    let sizes = [(512, 1.0), (1536, 0.5), (4096, 2.0), (6144, 1.0), (65_536, 0.25)];
    Workload {
        read: 0.3,
        trim: 0.1,
        sizes: sizes.map(|(bytes, weight)| SizeShare { bytes, weight }).to_vec(),
        arrival: Arrival {
            kind: ArrivalKind::Bursty,
            interval_ns: 100,
            burst: 5,
            pause_ns: 1_000_000,
        },
        ..workload(kind)
    }
}

#[test]
fn the_seed_decides_and_streams_are_apart() {
    for kind in KINDS {
        let first = run(&mixed(kind), 5000, 1);
        assert_eq!(first, run(&mixed(kind), 5000, 1));
        assert_ne!(first, run(&mixed(kind), 5000, 2));
        let reads = run(&Workload { read: 0.9, ..mixed(kind) }, 5000, 1);
        let pairs = first.iter().zip(&reads);
        assert!(pairs.clone().all(|(a, b)| (a.at, a.request.sector) == (b.at, b.request.sector)));
        assert!(pairs.clone().any(|(a, b)| a.request.op != b.request.op));
    }
}

/// The requests of `workload` in batches of `most`, and the error that ended them.
fn batches(workload: &Workload, most: usize) -> (Vec<TimedRequest>, Option<SourceError>) {
    let mut source = ssd_trace::open(workload, 4096, 5000, 1).expect("it opens").source;
    let mut all = Vec::new();
    loop {
        let before = all.len();
        match source.fill(&mut all, most) {
            Ok(()) if all.len() - before < most => return (all, None),
            Ok(()) => {}
            Err(error) => return (all, Some(error)),
        }
    }
}

#[test]
fn a_batch_holds_the_requests_that_come_one_by_one() {
    let one_size =
        |bytes, kind| Workload { sizes: vec![SizeShare { bytes, weight: 1.0 }], ..workload(kind) };
    for kind in KINDS {
        for w in [mixed(kind), workload(kind), one_size(512, kind), one_size(8192, kind)] {
            let at = |arrival, interval_ns| Workload {
                arrival: Arrival { kind: arrival, interval_ns, ..w.arrival },
                ..w.clone()
            };
            // The last one leaves time for some requests only.
            let fixed = [0, 100, 1 << 53].map(|interval| at(ArrivalKind::Fixed, interval));
            for w in fixed.into_iter().chain([at(ArrivalKind::Poisson, 100), w.clone()]) {
                let mut source = ssd_trace::open(&w, 4096, 5000, 1).expect("it opens").source;
                let (mut single, mut error) = (Vec::new(), None);
                loop {
                    match source.next_request() {
                        Ok(Some(request)) => single.push(request),
                        Ok(None) => break,
                        Err(end) => {
                            error = Some(end);
                            break;
                        }
                    }
                }
                assert_eq!(error.is_some(), w.arrival.interval_ns == 1 << 53, "{w:?}");
                for most in [1, 16, 1000, usize::MAX] {
                    assert!(
                        batches(&w, most) == (single.clone(), error.clone()),
                        "{most} of {w:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn requests_are_aligned_and_inside_the_span() {
    for kind in KINDS {
        for pages in [16, 17, 1000] {
            let span = Workload { span: 0.99, ..mixed(kind) };
            let workload = if pages == 1000 { span } else { mixed(kind) };
            let limit = if pages == 1000 { 990 } else { u64::from(pages) } * 8;
            // Few start pages leave hot-cold without a hot one.
            let workload = Workload { hot_space: 0.5, hot_access: 1.0, ..workload };
            for TimedRequest { request, .. } in run(&workload, pages, 3) {
                let sectors = u64::from(request.sectors);
                assert!(request.sector + sectors <= limit, "{kind:?} {request:?}");
                let within = request.sector % 8;
                let aligned = if sectors >= 8 { within == 0 } else { within % sectors == 0 };
                assert!(aligned && (sectors >= 8 || within + sectors <= 8), "{request:?}");
            }
        }
    }
}

#[test]
fn shares_are_kept() {
    let requests = run(&Workload { requests: 100_000, ..mixed(WorkloadKind::HotCold) }, 10_015, 9);
    let share = |wanted: &dyn Fn(&TimedRequest) -> bool| {
        requests.iter().filter(|timed| wanted(timed)).count() as f64 / 100_000.0
    };
    let near = |found: f64, expected: f64| (found - expected).abs() < 0.008;
    assert!(near(share(&|timed| timed.request.op == Op::Read), 0.3));
    assert!(near(share(&|timed| timed.request.op == Op::Trim), 0.1));
    for (sectors, weight) in [(1, 1.0), (3, 0.5), (8, 2.0), (12, 1.0), (128, 0.25)] {
        assert!(near(share(&|timed| timed.request.sectors == sectors), weight / 4.75), "{sectors}");
    }
    // 16 pages for the largest size leave 10,000 start pages, 1,000 of them hot.
    assert!(near(share(&|timed| timed.request.sector < 8000), 0.9));
}

#[test]
fn addresses_follow_their_kind() {
    let uniform = run(&Workload { requests: 64_000, ..workload(WorkloadKind::Uniform) }, 64, 4);
    let mut counts = [0u32; 64];
    for timed in &uniform {
        counts[timed.request.sector as usize / 8] += 1;
    }
    let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
    assert!(chi < 63.0 + 5.0 * 126f64.sqrt(), "{chi}");

    let zipf = run(&Workload { requests: 64_000, ..workload(WorkloadKind::Zipf) }, 64, 4);
    let mut counts = [0u32; 64];
    for timed in &zipf {
        counts[timed.request.sector as usize / 8] += 1;
    }
    let hottest = ssd_trace::synthetic::Scatter::new(64).place(0) as usize;
    assert_eq!(
        counts.iter().max(),
        Some(&counts[hottest]),
        "the hot page is the same for all seeds"
    );
    assert!(counts[hottest] > 12_000, "{counts:?}");

    let sequential = run(&Workload { requests: 10, ..workload(WorkloadKind::Sequential) }, 4, 4);
    let sectors: Vec<u64> = sequential.iter().map(|timed| timed.request.sector).collect();
    assert_eq!(sectors, [0, 8, 16, 24, 0, 8, 16, 24, 0, 8]);
    let halves = vec![SizeShare { bytes: 1536, weight: 1.0 }];
    let small = Workload { requests: 6, sizes: halves, ..workload(WorkloadKind::Sequential) };
    let sectors: Vec<u64> = run(&small, 2, 4).iter().map(|timed| timed.request.sector).collect();
    assert_eq!(sectors, [0, 3, 8, 11, 0, 3]);
}

#[test]
fn arrivals_follow_their_kind() {
    let times = |kind, interval_ns, pause_ns| -> Vec<u64> {
        let arrival = Arrival { kind, interval_ns, burst: 4, pause_ns };
        let workload = Workload { arrival, ..workload(WorkloadKind::Uniform) };
        run(&workload, 100, 5).iter().map(|timed| timed.at.0).collect()
    };
    let fixed = times(ArrivalKind::Fixed, 10, 0);
    assert_eq!(fixed[..3], [0, 10, 20]);
    let poisson = times(ArrivalKind::Poisson, 100_000, 0);
    let mean = poisson[9_999] as f64 / 9_999.0;
    assert!((mean / 100_000.0 - 1.0).abs() < 0.05, "{mean}");
    let gaps: Vec<u64> = poisson.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let long = gaps.iter().filter(|&&gap| gap > 100_000).count() as f64 / 9_999.0;
    assert!((long - 0.3679).abs() < 0.02, "P(gap > mean) is 1/e, not {long}");
    let bursty = times(ArrivalKind::Bursty, 1, 1_000_000);
    assert_eq!(bursty[0], 0);
    for (index, pair) in bursty.windows(2).enumerate() {
        let pause = pair[1] - pair[0] == 1_000_000;
        assert_eq!(pause, index % 4 == 3, "gap {index} of {pair:?}");
    }
}

#[test]
fn values_out_of_range_are_named() {
    let base = workload(WorkloadKind::Uniform);
    let sizes = |bytes, weight| vec![SizeShare { bytes, weight }];
    let with = |kind| Workload { kind, ..base.clone() };
    for (workload, part) in [
        (Workload { read: 1.5, ..base.clone() }, "workload.read is 1.5"),
        (Workload { read: 0.7, trim: 0.7, ..base.clone() }, "workload.read + workload.trim"),
        (Workload { trim: f64::NAN, ..base.clone() }, "workload.trim"),
        (Workload { span: 0.0, ..base.clone() }, "workload.span"),
        (Workload { span: 0.001, ..base.clone() }, "is no page"),
        (Workload { sizes: vec![], ..base.clone() }, "workload.sizes"),
        (Workload { sizes: sizes(1000, 1.0), ..base.clone() }, "multiple of 512"),
        (Workload { sizes: sizes(4096, 0.0), ..base.clone() }, "weight of 4096"),
        (Workload { sizes: sizes(1 << 20, 1.0), ..base.clone() }, "takes 256 pages"),
        (Workload { theta: -1.0, ..with(WorkloadKind::Zipf) }, "workload.theta"),
        (Workload { hot_space: 0.0, ..with(WorkloadKind::HotCold) }, "workload.hot_space"),
        (Workload { hot_space: 1.0, ..with(WorkloadKind::HotCold) }, "0 cold pages"),
        (Workload { hot_access: 2.0, ..with(WorkloadKind::HotCold) }, "workload.hot_access is 2"),
    ] {
        let error = ssd_trace::open(&workload, 4096, 100, 1).err().expect("it is refused").0;
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
    let bursts = Arrival { kind: ArrivalKind::Bursty, interval_ns: 1, burst: 0, pause_ns: 1 };
    assert!(ssd_trace::open(&Workload { arrival: bursts, ..base.clone() }, 4096, 100, 1).is_err());
    let slow = Arrival { kind: ArrivalKind::Fixed, interval_ns: 1 << 61, burst: 1, pause_ns: 1 };
    let mut source =
        ssd_trace::open(&Workload { arrival: slow, ..base }, 4096, 100, 1).unwrap().source;
    assert!(source.next_request().is_ok() && source.next_request().is_ok());
    assert!(source.next_request().unwrap_err().0.contains("146 years"));
}

proptest! {
    #![proptest_config(cases(256, 85))]

    #[test]
    fn any_configuration_runs_or_is_refused(
        kind in prop::sample::select(KINDS.to_vec()),
        pages in 1u32..300,
        (theta, space, access, span) in (0.0f64..4.0, 0.0f64..1.0, 0.0f64..1.0, 0.0f64..1.0),
        bytes in prop::sample::select(vec![512u32, 1024, 2560, 4096, 8192, 20_480]),
        page_bytes in prop::sample::select(vec![512u32, 2048, 4096, 16_384]),
    ) {
        let workload = Workload {
            theta, hot_space: space, hot_access: access, span, requests: 200,
            sizes: vec![SizeShare { bytes, weight: 1.0 }], ..workload(kind)
        };
        if let Ok(mut opened) = ssd_trace::open(&workload, page_bytes, pages, 1) {
            let limit = u64::from(pages) * u64::from(page_bytes) / 512;
            for TimedRequest { request, .. } in drain(opened.source.as_mut()) {
                prop_assert!(request.sector + u64::from(request.sectors) <= limit);
            }
        }
    }
}
