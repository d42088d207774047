//! What a request waited for, from the log or the recording.

use crate::rig::{Temporary, finish, open, with_state};
use ssd_core::host::device::Device as _;
use ssd_run::Unattended;
use ssd_serve::state::StateError;
use ssd_serve::view::SlowRequest;
use ssd_serve::why::{Explanation, ServedFolder, why};
use ssd_trace::config::RunConfig;
use std::path::Path;

/// What the drive in `folder` has recorded itself, after writes that make it collect, several at a time.
fn serve(folder: &Path, config: &RunConfig) -> (Vec<SlowRequest>, u64) {
    let (_state, mut engine, _, _) = open(folder, config).expect("a new drive");
    let pages = engine.bytes() / 4096;
    for i in 0..3 * pages {
        let at = engine.ssd().now().0;
        let written = engine.write(at, i * 7919 % pages * 4096, &[7; 4096], false).expect("room");
        if i % 4 == 3 {
            finish(&mut engine, written);
        }
    }
    let write = engine.write(1, 0, &[7; 4096], false).expect("room").first;
    // It completes at once, which the log records.
    let trimmed = engine.trim(1, 4096, 4096).expect("room");
    finish(&mut engine, trimmed);
    engine.completions().expect("the disk works");
    engine.settle().expect("the disk works");
    (engine.slowest(), write)
}

fn asked(folder: &Path, config: &RunConfig, id: u64) -> Result<Explanation, StateError> {
    why(config, &ServedFolder::State(folder.to_owned(), 1), id, &mut Unattended)
}

#[test]
fn the_log_tells_what_each_request_waited_for() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let (slowest, _) = serve(&folder.0, &config);
    assert_eq!(slowest.len(), 10);
    let mut collected = 0;
    for slow in &slowest {
        let why = asked(&folder.0, &config, slow.id).expect("it was served");
        assert_eq!(&why.request, slow, "another request than the server has seen");
        let end = slow.arrival_ns + slow.latency_ns;
        let last = why.operations.iter().max_by_key(|one| one.end_ns).expect("it writes");
        assert_eq!((last.op, last.cause, last.end_ns), ("program", "host", end));
        let in_order = why.before.is_sorted_by_key(|one| one.start_ns);
        assert!(in_order && why.before.iter().all(|one| one.end_ns <= last.start_ns));
        let waited: u64 =
            why.before.iter().map(|one| one.end_ns - one.start_ns.max(last.queued_ns)).sum();
        assert!(waited <= last.start_ns - last.queued_ns, "a unit did two things at a time");
        let gc = why.before.iter().any(|one| one.cause == "gc");
        assert_eq!(gc, slow.gc_wait_ns > 0, "{why:?}");
        collected += usize::from(gc);
    }
    assert!(collected > 0, "nothing waited for collection");
}

#[test]
fn a_request_waits_from_when_its_last_operation_is_queued() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let (_state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
    for bytes in [4096, 512] {
        let written = engine.write(1, 0, &vec![7; bytes], false).expect("room");
        finish(&mut engine, written);
    }
    engine.settle().expect("the disk works");
    // The rest of the page is read before the program is queued, so the read is nothing that it waits for.
    let part = asked(&folder.0, &config, 1).expect("it was served");
    let ops: Vec<_> = part.operations.iter().map(|one| (one.op, one.cause)).collect();
    assert_eq!(ops, [("read", "rmw"), ("program", "host")]);
    assert!(part.operations[1].queued_ns >= part.operations[0].end_ns, "{part:?}");
    assert_eq!(part.before, []);
}

#[test]
fn a_request_that_is_not_there_is_refused_with_those_that_are() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let (_, write) = serve(&folder.0, &config);
    let last = write + 1;
    let refused = |id| match asked(&folder.0, &config, id) {
        Err(StateError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    let why = refused(last + 7);
    let range = format!("has requests 0 to {last}; the nearest one is {last}");
    assert!(why.contains(&format!("request {}:", last + 7)) && why.contains(&range), "{why}");
    // It was under way when the server was killed.
    let why = refused(write);
    assert!(why.contains("not completed") && why.contains("under way"), "{why}");
    let other = with_state(&[("gc.victim", "fifo")]);
    let why = match asked(&folder.0, &other, 0) {
        Err(StateError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(why.contains("as the server wrote it"), "{why}");
    drop(open(&folder.0, &config).expect("it mounts"));
    let why = match ssd_serve::why::why(
        &config,
        &ServedFolder::State(folder.0.clone(), 2),
        0,
        &mut Unattended,
    ) {
        Err(StateError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(why.contains("has no requests") && why.contains("--record"), "{why}");
}
