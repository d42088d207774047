//! A chip fails: a run may continue until its rebuild has ended, and a device reports when its state can be stored.

use ssd_core::config::{Input, load};
use ssd_core::ftl::plugs::Plugs;
use ssd_core::host::request::Op;
use ssd_run::{
    Caller, Ending, FinishedRun, PushDriver, PushError, Setup, Stage, Submission, Unattended, run,
};
use ssd_trace::config::RunConfig;
use std::ops::ControlFlow;

/// Four chips, one of which fails, and few requests.
fn config(sets: &[(&str, &str)]) -> RunConfig {
    let small = [
        ("device.channels", "4"),
        ("device.chips_per_channel", "1"),
        ("device.blocks_per_plane", "32"),
        ("device.pages_per_block", "32"),
        ("alloc.placement", "static"),
        ("alloc.frontiers", "host+gc"),
        ("raid.group", "4"),
        ("raid.fail", "{ chip = 1, at = \"1 ms\" }"),
        ("workload.requests", "100"),
        ("workload.read", "0.5"),
        ("run.data", "digest"),
    ];
    let sets = small.iter().chain(sets);
    let sets = sets.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    load(&Input { sets, ..Input::default() }).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn ran(sets: &[(&str, &str)], caller: &mut dyn Caller) -> FinishedRun {
    run(config(sets), Setup::default(), caller).expect("it is composed").finished
}

#[test]
fn a_run_may_go_on_until_its_rebuild_has_ended() {
    let spare = ("raid.spares", "1");
    let warned = |done: &FinishedRun| {
        let warnings = done.report.warnings.join("; ");
        warnings.contains("the run ended degraded").then_some(warnings)
    };
    let early = ran(&[spare], &mut Unattended);
    assert!(warned(&early).is_some_and(|w| w.contains("raid.until_rebuilt = true")));
    let done = ran(&[spare, ("raid.until_rebuilt", "true")], &mut Unattended);
    assert_eq!((&done.ending, warned(&done)), (&Ending::Completed, None));
    let failure = |done: &FinishedRun| {
        done.report.raid.clone().and_then(|raid| raid.failure).expect("a chip has failed")
    };
    let (before, after) = (failure(&early), failure(&done));
    assert_eq!((before.rebuilt_at, before.after_requests), (None, 0));
    assert!(before.pages_left > 100, "{} pages are left", before.pages_left);
    assert_eq!(after.pages_left, 0);
    // The same requests, and then the rebuild: to the end of the last instant.
    let (first, last) = (early.report.time.simulated, done.report.time.simulated);
    assert_eq!(after.after_requests, last - first);
    assert_eq!(after.rebuilt_at, Some(last));
    assert_eq!(done.report.latency.read, early.report.latency.read);
    let text = ssd_core::metrics::summary::text(&done.report);
    assert!(text.contains(" after the last request"), "{text}");
}

#[test]
fn without_a_failure_or_a_spare_nothing_is_waited_for() {
    let late = [("raid.fail", "{ chip = 1, at = \"1 s\" }"), ("raid.spares", "1")];
    let done = ran(&late, &mut Unattended);
    let until = ran(&[late[0], late[1], ("raid.until_rebuilt", "true")], &mut Unattended);
    assert_eq!(done.report.time.simulated, until.report.time.simulated);
    // A failure that never comes answers nothing, and the run says so.
    let warned = |done: &FinishedRun| {
        done.report
            .warnings
            .iter()
            .any(|w| w.starts_with("1 of 1 failures of chips did not happen"))
    };
    assert!(warned(&done) && warned(&until));
    assert!(!warned(&ran(&[], &mut Unattended)), "it did happen");
    // The second chip has no spare, and its group has no page left that could be rebuilt without one.
    let two = [
        ("raid.fail", "[{ chip = 1, at = \"1 ms\" }, { chip = 1, at = \"200 ms\" }]"),
        ("raid.spares", "1"),
        ("raid.until_rebuilt", "true"),
        ("workload.requests", "3000"),
    ];
    let twice = ran(&two, &mut Unattended);
    assert_eq!(twice.ending, Ending::Completed);
    let failure = twice.report.raid.and_then(|raid| raid.failure).expect("it has failed");
    assert_eq!((failure.chips, failure.after_requests), (vec![1, 1], 0));
    assert!(failure.pages_left > 0, "nothing stands in the place of the spare");
}

/// Ends a run that has completed all its requests.
struct StopAfterRequests;

impl Caller for StopAfterRequests {
    fn progress(&mut self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        if stage == Stage::Workload && total == Some(done) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn the_wait_for_a_rebuild_can_be_interrupted() {
    let sets = [("raid.spares", "1"), ("raid.until_rebuilt", "true"), ("raid.rebuild_window", "1")];
    let large = [("device.blocks_per_plane", "256"), sets[0], sets[1], sets[2]];
    let done = ran(&large, &mut StopAfterRequests);
    assert_eq!(done.ending, Ending::Interrupted);
    let failure = done.report.raid.and_then(|raid| raid.failure).expect("it has failed");
    assert!(failure.pages_rebuilt > 0 && failure.pages_left > 0, "{}", failure.pages_rebuilt);
}

#[test]
fn a_degraded_device_says_what_lets_its_state_be_stored() {
    let device = |sets: &[(&str, &str)]| {
        let mut device = PushDriver::new(config(sets), Plugs::default());
        device.precondition(&mut Unattended).expect("there is room");
        let write = Submission { at_ns: Some(2_000_000), ..Submission::new(Op::Write, 0, 1) };
        device.submit(&[write]).expect("it is valid");
        device
    };
    let refused = |device: &mut PushDriver| match device.snapshot().err() {
        Some(PushError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    let mut spared = device(&[("raid.spares", "1"), ("raid.rebuild_rate", "10 MB/s")]);
    spared.run_until(ssd_core::units::Nanos::micros(5_000), &mut Unattended).expect("it runs");
    let busy = refused(&mut spared);
    assert!(busy.ends_with("under way; flush it and let it run until it is idle"), "{busy}");
    spared.run_until_idle(&mut Unattended).expect("it runs");
    spared.snapshot().expect("it is whole again");
    let mut bare = device(&[]);
    bare.run_until_idle(&mut Unattended).expect("it runs");
    let degraded = refused(&mut bare);
    assert!(degraded.contains("nothing rebuilds them, however long it runs"), "{degraded}");
    assert!(!degraded.contains("until it is idle"), "{degraded}");
}
