//! What a drive has done since it was first served.

use crate::rig::{Temporary, finish, fold, open, with_state};
use ssd_core::host::device::Device as _;
use ssd_serve::engine::Engine;

/// Write every page of the drive once, and a sector of the first one.
fn work(engine: &mut Engine) {
    for page in 0..engine.bytes() / 4096 {
        let at = engine.ssd().now().0;
        let written = engine.write(at, page * 4096, &[7; 4096], false).expect("room");
        finish(engine, written);
    }
    let written = engine.write(1, 100, &[7; 10], false).expect("room");
    finish(engine, written);
    let read = engine.read(1, 0, 1024).expect("the drive takes it");
    finish(engine, read);
}

#[test]
fn what_was_done_is_counted_over_folds_stops_and_kills() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let (mut state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
    assert_eq!(engine.life(), Default::default());
    work(&mut engine);
    let (first, pages) = (engine.life(), engine.bytes() / 4096);
    assert_eq!((first.writes, first.host_written_bytes), (pages + 1, pages * 4096 + 512));
    assert_eq!((first.reads, first.host_read_bytes), (1, 1024));
    let report = engine.report(None);
    let programs: u64 = report.flash.programs.values().sum();
    assert_eq!(first.media_written_bytes, programs * 4096);
    assert!(first.media_written_bytes > first.host_written_bytes, "nothing is amplified");
    let reads: u64 = report.flash.reads.values().sum();
    assert_eq!(first.media_read_bytes, reads * 4096);
    assert!(
        first.media_read_bytes > first.host_read_bytes.next_multiple_of(4096),
        "nothing is copied"
    );
    // One request after the other: each is under way from its arrival to its completion.
    assert!(first.busy_ns > 0 && first.busy_ns <= first.on_ns, "{first:?}");
    assert!(first.on_ns - first.busy_ns <= 2 * (pages + 2), "{first:?}");
    fold(&mut state, &config, &mut engine);
    let folded = engine.life();
    assert_eq!((folded.writes, folded.ends), (first.writes, 0));
    assert!(folded.media_written_bytes >= first.media_written_bytes);
    work(&mut engine);
    engine.settle().expect("the disk works");
    let before = engine.life();
    drop((state, engine));
    let (mut state, mut engine, _, mounted) = open(&folder.0, &config).expect("it mounts");
    assert!(mounted.is_some());
    let killed = engine.life();
    assert_eq!((killed.ends, killed.cuts), (1, 1));
    assert_eq!(
        (killed.writes, killed.host_written_bytes),
        (before.writes, before.host_written_bytes)
    );
    assert_eq!(killed.busy_ns, before.busy_ns);
    assert!(killed.on_ns >= before.on_ns, "the mount takes time");
    engine.finish().expect("it completes all requests");
    let (snapshot, _) = engine.rest().expect("it comes to rest");
    state.close(&config, &snapshot, &engine).expect("it is saved");
    drop((state, engine));
    let (_state, engine, _, _) = open(&folder.0, &config).expect("a drive");
    let stopped = engine.life();
    assert_eq!((stopped.ends, stopped.cuts, stopped.writes), (2, 1, killed.writes));
}

#[test]
fn a_drive_is_busy_from_the_first_of_requests_that_overlap() {
    let (folder, config) = (Temporary::new(), crate::rig::config(&[]));
    let snapshot = ssd_serve::state::new_drive(&config, &mut ssd_run::Unattended).expect("a drive");
    let made = ssd_serve::state::without_state(&config, &snapshot, &folder.0);
    let mut engine = made.expect("a drive");
    for (first, second) in [(1_000, 2_000), (100_000_000, 100_050_000)] {
        let before = engine.life().busy_ns;
        for at in [first, second] {
            engine.write(at, at % 8 * 4096, &[7; 4096], false).expect("room");
        }
        assert_eq!(engine.ssd().outstanding(), 2, "they do not overlap");
        while engine.ssd().outstanding() > 0 {
            engine.run(engine.next_event().expect("something is left to do"));
        }
        assert_eq!(engine.life().busy_ns - before, engine.ssd().now().0 - first);
    }
}

#[test]
fn a_drive_wears_as_far_as_its_blocks_endure_it() {
    let (folder, config) = (Temporary::new(), crate::rig::config(&[("wear.endurance", "40")]));
    let snapshot = ssd_serve::state::new_drive(&config, &mut ssd_run::Unattended).expect("a drive");
    let made = ssd_serve::state::without_state(&config, &snapshot, &folder.0);
    let mut engine = made.expect("a drive");
    assert_eq!((engine.worn().used, engine.worn().spare), (0, 100));
    for _ in 0..8 {
        work(&mut engine);
    }
    let erases = engine.ssd().erases();
    let mean = erases.iter().map(|&count| u64::from(count)).sum::<u64>() / erases.len() as u64;
    let used = engine.worn().used;
    assert!(mean > 2 && used >= 100 * mean / 40 && used < 100 * (mean + 1) / 40, "{used} %");
}

#[test]
fn wear_counts_from_the_factory_on_and_what_was_always_bad_is_no_spare() {
    let worn = [
        ("wear.endurance", "400"),
        ("wear.factory_bad_blocks", "0.04"),
        ("precondition.fill", "1"),
        ("precondition.overwrite", "3"),
    ];
    let (folder, config) = (Temporary::new(), crate::rig::config(&worn));
    let snapshot = ssd_serve::state::new_drive(&config, &mut ssd_run::Unattended).expect("a drive");
    let erases: u64 = snapshot.erases().iter().map(|&count| u64::from(count)).sum();
    let made = ssd_serve::state::without_state(&config, &snapshot, &folder.0);
    let engine = made.expect("a drive");
    let ftl = &engine.ssd().core.ftl;
    let good = ftl.blocks.len() as u64 - ftl.bad_blocks().factory;
    assert!(ftl.bad_blocks().factory > 0 && erases > 4 * good, "{good} blocks, {erases} erases");
    assert_eq!((engine.worn().used, engine.worn().spare), (100 * erases / (400 * good), 100));
}
