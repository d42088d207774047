//! A device that a client drives: completions come in order, and a call that fails says what is left.

use ssd_core::config::{Input, load};
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_core::units::Nanos;
use ssd_run::{
    Caller, Ending, FinishedRun, PushDriver, PushError, RunError, Setup, Stage, Submission,
    Unattended, open_workload, run,
};
use ssd_trace::config::RunConfig;
use std::ops::ControlFlow;
use std::path::Path;

fn config(sets: &[(&str, &str)]) -> RunConfig {
    let small = [
        ("device.channels", "2"),
        ("device.chips_per_channel", "1"),
        ("device.blocks_per_plane", "64"),
        ("device.pages_per_block", "32"),
    ];
    let sets = small.iter().chain(sets);
    let sets = sets.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    load(&Input { sets, ..Input::default() }).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn device() -> PushDriver {
    PushDriver::new(config(&[]), ssd_core::ftl::plugs::Plugs::default())
}

fn write(lpn: i64, at_ns: Option<i64>) -> Submission {
    Submission { at_ns, ..Submission::new(Op::Write, lpn, 1) }
}

/// Ends every call.
struct StoppingCaller(Vec<Stage>);

impl Caller for StoppingCaller {
    fn progress(&mut self, stage: Stage, _done: u64, _total: Option<u64>) -> ControlFlow<()> {
        self.0.push(stage);
        ControlFlow::Break(())
    }
}

fn in_order(records: &[RequestRecord]) -> bool {
    records.windows(2).all(|pair| pair[0].completion <= pair[1].completion)
}

#[test]
fn completions_come_in_order_and_once() {
    let mut device = device();
    let first: Vec<_> = (0..200).map(|i| write(i * 7 % 50, Some(i / 3 * 1000))).collect();
    assert_eq!(device.submit(&first), Ok(0));
    let half = device.run_until(Nanos::micros(5000), &mut Unattended).expect("it runs");
    assert!(in_order(&half) && half.iter().all(|r| r.completion <= Nanos::micros(5000)));
    assert!(!half.is_empty() && half.len() < 200, "{}", half.len());
    assert_eq!(device.report(None).ending, Ending::Interrupted);
    // The client is at 5 ms now, and what it submits arrives then.
    assert_eq!(device.ssd().now(), Nanos::micros(5000));
    assert_eq!(device.submit(&[write(0, None)]), Ok(200));
    let early = device.submit(&[write(0, Some(4_999_999))]);
    let text = "request 0: it arrives at 4999999 ns; expected 5000000 or later";
    assert_eq!(early, Err(PushError::Refused(text.into())));
    let rest = device.run_until_idle(&mut Unattended).expect("it runs");
    assert!(in_order(&rest));
    let last = rest.iter().find(|r| r.id == 200).expect("the last one");
    assert_eq!(last.arrival, Nanos::micros(5000));
    let mut ids: Vec<_> = half.iter().chain(&rest).map(|r| r.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..201).collect::<Vec<_>>(), "each request once");
    let done = device.report(None);
    assert_eq!((done.ending, done.report.requests.completed), (Ending::Completed, 201));
}

#[test]
fn bad_requests_are_refused_together() {
    let mut device = device();
    let user = device.ssd().core.ftl.geo.user_pages;
    let beyond = device.submit(&[write(0, None), write(i64::from(user), None)]);
    let Err(PushError::Refused(why)) = beyond else { panic!("{beyond:?}") };
    assert!(why.starts_with(&format!("request 1: 1 pages from LPN {user} on")), "{why}");
    let none = device.submit(&[Submission { pages: 0, ..write(0, None) }]);
    assert!(matches!(none, Err(PushError::Refused(why)) if why.contains("0 pages; expected 1")));
    assert_eq!(device.ssd().submitted(), 0);
}

#[test]
fn an_interrupted_call_is_continued_by_the_next() {
    let mut device = device();
    let writes: Vec<_> = (0..10_000).map(|i| write(i % 64, None)).collect();
    device.submit(&writes).expect("they are valid");
    let mut stop = StoppingCaller(Vec::new());
    assert_eq!(device.run_until_idle(&mut stop).err(), Some(PushError::Interrupted));
    assert_eq!(stop.0, [Stage::Workload]);
    let all = device.run_until_idle(&mut Unattended).expect("it can continue");
    assert!(all.len() == 10_000 && in_order(&all), "{}", all.len());
}

#[test]
fn a_saved_state_starts_a_device_and_a_run() {
    let path = std::env::temp_dir().join(format!("ssd-run-push-{}.snap", std::process::id()));
    // Left over from an aborted run of another process with this number.
    let _ = std::fs::remove_file(&path);
    let mut used = device();
    used.submit(&[write(1, None), write(2, None)]).expect("they are valid");
    let busy = used.snapshot().err();
    assert!(matches!(busy, Some(PushError::Refused(why)) if why.ends_with("until it is idle")));
    used.run_until_idle(&mut Unattended).expect("it runs");
    let stopped = used.save(Path::new("/"), false, &mut Unattended).err();
    assert!(matches!(stopped, Some(PushError::File(_))), "{stopped:?}");
    let digest = used.save(&path, false, &mut Unattended).expect("it is at rest");
    let again = used.precondition(&mut Unattended).err();
    assert!(matches!(again, Some(PushError::Refused(why)) if why.contains("used already")));

    let mut other = device();
    other.load(&path, &mut Unattended).expect("the same device");
    assert!(other.snapshot().expect("at rest") == used.snapshot().expect("at rest"));
    let provenance = other.report(None).report.provenance;
    assert_eq!(provenance.snapshot_digest.as_deref(), Some(&*digest));

    let sets = [("workload.requests", "100")];
    let mut setup = || Setup { device: other.snapshot().ok(), ..Setup::default() };
    let config = config(&sets);
    let mut from_file = config.clone();
    from_file.precondition.snapshot = Some(path.display().to_string());
    let one = run(config.clone(), setup(), &mut Unattended).expect("it fits").finished;
    let two = run(from_file, Setup::default(), &mut Unattended).expect("it fits").finished;
    assert_eq!(one.event_digest, two.event_digest);
    assert_eq!(one.report.provenance.snapshot_digest.as_deref(), Some(&*digest));
    let mut larger = config;
    larger.device.channels = 4;
    let refused = run(larger, setup(), &mut Unattended).err();
    assert!(matches!(refused, Some(RunError::Config(why)) if why.starts_with("device: ")));
    std::fs::remove_file(path).expect("the file goes");
}

#[test]
fn a_write_without_a_handle_is_refused_with_its_place() {
    let spec = ("alloc.separation", "{ policy = \"fdp\", handles = 2 }");
    let mut device = PushDriver::new(config(&[spec]), ssd_core::ftl::plugs::Plugs::default());
    let of = |stream| Submission { stream, ..write(0, None) };
    let refused = device.submit(&[of(1), of(2)]).unwrap_err();
    let PushError::Refused(why) = refused else { panic!("{refused:?}") };
    assert!(why.starts_with("request 1: a write of stream 2, and alloc.separation"), "{why}");
    assert_eq!(device.submit(&[of(1), of(0)]), Ok(0), "nothing of it was submitted");
}

#[test]
fn bytes_moved_are_those_that_are_copied_out_of_units() {
    let sets = [
        ("alloc.separation", "{ policy = \"fdp\", handles = 2 }"),
        ("device.over_provisioning", "0.25"),
    ];
    let mut device = PushDriver::new(config(&sets), ssd_core::ftl::plugs::Plugs::default());
    let mut rng = Stream::new(3, "handles");
    let mut random = |most| rng.below(most);
    let writes: Vec<_> = (0..16_000)
        .map(|_| Submission { stream: random(2) as u8, ..write(random(3276) as i64, None) })
        .collect();
    device.submit(&writes).expect("they are valid");
    device.run_until_idle(&mut Unattended).expect("it runs");
    let report = device.report(None).report;
    let fdp = report.separation.and_then(|of| of.fdp).expect("the host names handles");
    let moved: Vec<u64> = fdp.handles.iter().map(|row| row.moved_bytes).collect();
    assert!(moved.iter().all(|&bytes| bytes > 0), "{moved:?} are moved");
    // Copies of all handles share units.
    assert!(fdp.handles.iter().all(|row| row.copied_bytes == 0), "{:?}", fdp.handles);
    let page = report.device.page_bytes;
    let all = moved.iter().sum::<u64>() + fdp.shared.moved_bytes;
    assert_eq!((all, fdp.shared.copied_bytes), (report.gc.pages_moved * page, all));
}

#[test]
fn the_path_of_pages_is_reported_where_it_has_a_feature() {
    for feature in [
        None,
        Some(("controller.page_error_probability", "0.1")),
        Some(("gc.path", "selective")),
        Some(("interconnect.model", "formula")),
    ] {
        let mut sets = vec![("timing.model", "serial")];
        sets.extend(feature);
        let mut device = PushDriver::new(config(&sets), ssd_core::ftl::plugs::Plugs::default());
        device.submit(&[write(0, None)]).expect("it is valid");
        device.run_until_idle(&mut Unattended).expect("it runs");
        let report = device.report(None).report;
        assert_eq!(report.controller.is_some(), feature.is_some(), "{feature:?}");
    }
}

#[test]
fn pages_in_flight_are_reported_by_cause() {
    let sets = [
        ("device.over_provisioning", "0.1"),
        ("precondition.fill", "1.0"),
        ("precondition.overwrite", "1.0"),
    ];
    let mut device = PushDriver::new(config(&sets), ssd_core::ftl::plugs::Plugs::default());
    device.precondition(&mut Unattended).expect("it can be filled");
    let writes: Vec<_> = (0..600).map(|i| write(i * 1009 % 3700, None)).collect();
    device.submit(&writes).expect("they are valid");
    let mut moving = 0;
    while device.ssd().outstanding() > 0 {
        let to = Nanos(device.ssd().now().0 + 1_000_000);
        device.run_until(to, &mut Unattended).expect("it runs");
        let collected = device.ssd().pages_in_flight(Cause::Gc);
        if collected > 0 {
            let report = device.report(None).report;
            // Nothing is levelled.
            assert_eq!((report.gc.pages_in_flight, report.wear.pages_in_flight), (collected, 0));
            moving += 1;
        }
    }
    assert!(moving > 0, "nothing is collected");
}

#[test]
fn a_client_that_waits_for_its_requests_is_the_closed_loop() {
    let sets = |depth, victim, think_time| {
        [
            ("device.page_size", "4 KiB"),
            ("workload.size", "4 KiB"),
            ("workload.requests", "3000"),
            ("workload.read", "0.3"),
            ("workload.trim", "0.05"),
            ("precondition.overwrite", "1"),
            ("gc.victim", victim),
            ("host.mode", "closed"),
            ("host.queue_depth", depth),
            ("host.think_time", think_time),
        ]
    };
    let loops = [("1", "greedy", "0 us"), ("3", "random", "7 us"), ("16", "fifo", "0 us")];
    for (depth, victim, think_time) in loops {
        let config = config(&sets(depth, victim, think_time));
        let think_ns = config.host.think_time_ns;
        let driven = run(config.clone(), Setup::default(), &mut Unattended).expect("it runs");
        let opened = open_workload(&mut config.clone(), &mut Unattended);
        let mut source = opened.expect("a synthetic one").source;
        let mut device = PushDriver::new(config, ssd_core::ftl::plugs::Plugs::default());
        device.precondition(&mut Unattended).expect("there is room");
        let mut submit = |device: &mut PushDriver, think: u64| {
            let Some(next) = source.next_request().expect("it reads no file") else { return };
            let Request { op, sector, .. } = next.request;
            let at_ns = Some((device.ssd().now().0 + think).cast_signed());
            let lpn = (sector / 8).cast_signed();
            let submitted = device.submit(&[Submission { at_ns, ..Submission::new(op, lpn, 1) }]);
            submitted.expect("it is valid");
        };
        for _ in 0..depth.parse::<u32>().expect("a number") {
            submit(&mut device, 0);
        }
        let mut completed = 0;
        loop {
            let done = device.run_until_completion(None, &mut Unattended).expect("it runs");
            device.ssd().audit().expect("sound in the middle of an instant");
            let now = device.ssd().now();
            assert!(done.iter().all(|record| record.completion == now), "{depth}");
            completed += done.len();
            if done.is_empty() {
                break;
            }
            for _ in done {
                submit(&mut device, think_ns);
            }
        }
        assert_eq!(completed, 3000);
        let report = device.report(None);
        assert_eq!(report.event_digest, driven.finished.event_digest, "{depth}");
        let latencies = |done: &FinishedRun| done.report.latency.clone();
        assert_eq!(latencies(&report), latencies(&driven.finished));
    }
}

#[test]
fn time_passes_to_the_instant_that_is_asked_for_and_not_back() {
    let mut device = device();
    device.submit(&[write(0, Some(1000)), write(1, Some(2_000_000))]).expect("they are valid");
    assert_eq!(device.next_event(), Ok(Some(Nanos(1000))));
    let none = device.run_until(Nanos(999), &mut Unattended).expect("it runs");
    assert!(none.is_empty() && device.ssd().now() == Nanos(999));
    let first = device.run_until_completion(None, &mut Unattended).expect("it runs");
    let end = first[0].completion;
    assert_eq!((first.len(), first[0].id, device.ssd().now()), (1, 0, end));
    assert_eq!(device.next_event(), Ok(Some(end)), "the instant is not over");
    let limited = device.run_until_completion(Some(Nanos(1_999_999)), &mut Unattended);
    assert_eq!((limited.map(|done| done.len()), device.ssd().now()), (Ok(0), Nanos(1_999_999)));
    for (refused, text) in [
        (device.run_until(end, &mut Unattended), "a run until"),
        (device.run_until_completion(Some(end), &mut Unattended), "a limit at"),
    ] {
        let why = "is in the past: the device is at 1999999 ns; give that time or a later one";
        assert_eq!(refused.err(), Some(PushError::Refused(format!("{text} {} ns {why}", end.0))));
    }
    let beyond = Nanos(device.ssd().last_time().0 + 1);
    let refused = device.run_until(beyond, &mut Unattended).unwrap_err();
    assert!(refused.to_string().contains("is out of range: simulated time ends at"), "{refused}");
    assert_eq!((device.ssd().now(), device.ssd().outstanding()), (Nanos(1_999_999), 1));
    let last = device.run_until_idle(&mut Unattended).expect("it runs");
    assert_eq!((last.len(), device.next_event()), (1, Ok(None)));
    let now = device.ssd().now();
    let nothing = device.run_until_completion(None, &mut Unattended).expect("nothing to do");
    assert!(nothing.is_empty() && device.ssd().now() == now, "no time has passed");
    let later = Nanos(now.0 + 5);
    let nothing = device.run_until_completion(Some(later), &mut Unattended).expect("it waits");
    assert!(nothing.is_empty() && device.ssd().now() == later);
}

#[test]
fn completions_that_a_cut_off_call_has_left_come_first() {
    let mut device = device();
    let writes: Vec<_> = (0..10_000).map(|i| write(i % 64, None)).collect();
    device.submit(&writes).expect("they are valid");
    let stopped = device.run_until(Nanos(1 << 40), &mut StoppingCaller(Vec::new()));
    assert_eq!(stopped.err(), Some(PushError::Interrupted));
    let now = device.ssd().now();
    let limit = Some(Nanos(1 << 40));
    let first = device.run_until_completion(limit, &mut Unattended).expect("they are there");
    assert!(first.len() > 1 && device.ssd().now() == now, "{}", first.len());
    let rest = device.run_until_idle(&mut Unattended).expect("it can continue");
    assert_eq!(first.len() + rest.len(), 10_000);
}

#[test]
fn cuts_of_the_configuration_come_while_a_client_waits() {
    let sets = [("power.cut", "{ every = \"1 ms\" }")];
    let mut device = PushDriver::new(config(&sets), ssd_core::ftl::plugs::Plugs::default());
    device.submit(&[write(0, None)]).expect("it is valid");
    device.run_until_idle(&mut Unattended).expect("it runs");
    let recoveries = |device: &mut PushDriver| {
        device.report(None).report.power.map(|power| power.recoveries).unwrap_or_default()
    };
    assert!(recoveries(&mut device).is_empty());
    let end = Nanos::micros(50_000);
    device.run_until(end, &mut Unattended).expect("it runs");
    let come = recoveries(&mut device);
    let mut next = 1_000_000;
    for recovery in &come {
        assert_eq!(recovery.cut_at, next, "a millisecond after the mount before");
        next = recovery.cut_at + recovery.time + 1_000_000;
    }
    assert!(come.len() > 5 && next > end.0, "{} cuts", come.len());
    assert_eq!(device.ssd().now(), end.max(Nanos(next - 1_000_000)));
    // One by hand, and a mount that lasts beyond the next cut of the configuration.
    device.power_cut(None, &mut Unattended).expect("power is on");
    device.mount().expect("power is off");
    device.submit(&[write(1, None)]).expect("it is valid");
    assert_eq!(device.run_until_idle(&mut Unattended).map(|done| done.len()), Ok(1));
    let plain = &mut self::device();
    plain.submit(&[write(0, None)]).expect("it is valid");
    let refused = plain.power_cut(Some(Nanos::micros(5)), &mut Unattended).unwrap_err();
    assert!(refused.to_string().contains("power.cut = \"on-request\""), "{refused}");
    assert_eq!(plain.ssd().now(), Nanos(0), "nothing has changed");
}

#[test]
fn after_a_cut_a_client_is_at_the_time_of_the_mount() {
    let sets = [("power.cut", "on-request")];
    let mut device = PushDriver::new(config(&sets), ssd_core::ftl::plugs::Plugs::default());
    device.submit(&[write(0, Some(50_000_000))]).expect("it is valid");
    let lost = device.power_cut(Some(Nanos(1000)), &mut Unattended).expect("power is on");
    assert_eq!(lost, [0], "it was to arrive later, and is lost, too");
    device.mount().expect("power is off");
    let now = device.ssd().now();
    assert!(now < Nanos(50_000_000), "{now:?}");
    let at_ns = Some(now.0.cast_signed() + 5);
    assert_eq!(device.submit(&[write(1, at_ns)]), Ok(1), "before the one that is lost");
    let done = device.run_until_idle(&mut Unattended).expect("it runs");
    assert_eq!(done.iter().map(|r| (r.id, r.arrival)).collect::<Vec<_>>(), [(1, now + Nanos(5))]);
}

#[test]
fn a_life_ends_when_a_pool_has_lost_its_spare_but_the_reserve() {
    // 4,096 pages for 3,276 of the host: 52 of the 64 blocks of a pool hold them, and three are the reserve.
    let sets = [
        ("device.over_provisioning", "0.25"),
        ("gc.reserve", "3"),
        ("gc.trigger", "{ policy = \"free-blocks\", soft = 4 }"),
        ("wear.endurance", "3000"),
        ("wear.endurance_spread", "0.4"),
    ];
    let mut device = PushDriver::new(config(&sets), ssd_core::ftl::plugs::Plugs::default());
    device.precondition(&mut Unattended).expect("there is room");
    let writes: Vec<_> = (0..6000).map(|i| write(i * 7919 % 3276, None)).collect();
    device.submit(&writes).expect("they are valid");
    device.run_until_idle(&mut Unattended).expect("it runs");
    let report = device.report(None).report;
    let life = report.lifetime.expect("blocks wear out");
    let ssd = device.ssd();
    let end = ssd.core.ftl.ends_of_life(&ssd.erases(), 64 - 52 - 3).expect("blocks were erased");
    let page = report.device.page_bytes as f64;
    let bytes = |times: f64| ssd.core.ftl.host_bytes_written() as f64 + times * 6000.0 * page;
    let near = |value: Option<f64>, expected: f64| {
        assert!(value.is_some_and(|v| (v / expected - 1.0).abs() < 1e-12), "{value:?}: {expected}");
    };
    near(life.first_block_bytes, bytes(end.first_block));
    near(life.bytes_written, bytes(end.spare));
    assert!(end.spare > end.first_block, "{end:?}");
}
