//! What is shown of a drive: the slowest requests and the blocks.

use crate::rig::{Temporary, config, finish, fold, open, with_state};
use ssd_core::host::device::Device as _;
use ssd_serve::state::{new_drive, without_state};

#[test]
fn the_slowest_requests_and_the_blocks_are_known() {
    let (folder, config) = (Temporary::new(), config(&[]));
    let snapshot = new_drive(&config, &mut ssd_run::Unattended).expect("a new drive");
    let mut engine = without_state(&config, &snapshot, &folder.0).expect("a drive");
    let erased = engine.channels();
    assert_eq!(erased.len(), 2);
    assert!(erased.iter().all(|channel| channel.free == channel.blocks && !channel.is_collecting));
    assert!(erased.iter().flat_map(|channel| &channel.valid).all(Option::is_none));
    let mut latencies = Vec::new();
    let pages = engine.bytes() / 4096;
    let mut has_collected = false;
    for i in 0..6 * pages {
        let begun = engine.ssd().now().0;
        let numbers =
            engine.write(begun, i * 7919 % pages * 4096, &[7; 4096], false).expect("room");
        finish(&mut engine, numbers);
        latencies.push(engine.ssd().now().0 - begun);
        has_collected |= engine.channels().iter().any(|channel| channel.is_collecting);
    }
    assert!(has_collected, "nothing is collected");
    let slowest = engine.slowest();
    assert_eq!(slowest.len(), 10);
    assert!(slowest.is_sorted_by_key(|one| std::cmp::Reverse(one.latency_ns)));
    for one in &slowest {
        let parts = [one.queue_ns, one.chip_ns, one.transfer_ns, one.gc_wait_ns, one.metadata_ns];
        assert_eq!(parts.iter().sum::<u64>(), one.latency_ns);
        assert_eq!((one.op, one.sectors), ("write", 8));
    }
    latencies.sort_unstable();
    assert!(slowest[0].latency_ns.abs_diff(latencies[latencies.len() - 1]) <= 1);
    for channel in engine.channels() {
        assert!(channel.free < channel.blocks);
        assert!(channel.valid.iter().flatten().all(|share| (0.0..=1.0).contains(share)));
        assert!(channel.valid.iter().flatten().any(|&share| share < 1.0));
    }
}

#[test]
fn the_slowest_requests_are_those_since_the_last_fold() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let (mut state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
    for page in 0..20 {
        let numbers = engine.write(1, page * 4096, &[7; 4096], false).expect("room");
        finish(&mut engine, numbers);
    }
    assert_eq!(engine.slowest().len(), 10);
    fold(&mut state, &config, &mut engine);
    assert!(engine.slowest().is_empty());
    let read = engine.read(1, 0, 512).expect("the drive takes it");
    finish(&mut engine, read);
    let slowest = engine.slowest();
    assert_eq!((slowest.len(), slowest[0].op, slowest[0].id), (1, "read", read.first));
}
