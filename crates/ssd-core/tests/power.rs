//! What was acknowledged as durable is there after any power cut.

mod rig;

use rig::cuts::{Cuts, Load};
use rig::device;
use ssd_core::config::{BufferPower, Config, DataMode, PowerCut};

/// Two planes of 16 blocks of 8 pages, and a window of two copies.
fn small() -> Config {
    let mut c = device([1, 2, 1], 16, 8, 150);
    c.run.data = DataMode::Digest;
    c.power.cut = PowerCut::OnRequest;
    c.gc.window = 2;
    c
}

/// Power is cut after each of the first `steps` steps of a run.
fn cut_everywhere(config: &Config, load: Load, filled: u32, steps: u64) {
    for at in 0..steps {
        let mut run = Cuts::new(config, load, filled);
        run.run(at);
        run.cut();
        run.mount_and_judge(&at);
        run.read_back();
    }
}

#[test]
fn a_cut_after_every_event_loses_no_acknowledged_page() {
    cut_everywhere(&small(), Load::MIXED, 150, 900);
}

#[test]
fn so_does_one_during_collection_that_follows_a_cut() {
    for first in (0..700).step_by(41) {
        for second in 0..120 {
            let mut run = Cuts::new(&small(), Load::MIXED, 150);
            run.run(first);
            run.cut();
            run.mount_and_judge(&first);
            run.run(second);
            run.cut();
            run.mount_and_judge(&(first, second));
        }
    }
}

#[test]
fn a_second_cut_inside_every_step_of_the_recovery_changes_nothing() {
    let mut stopped = 0;
    for at in (0..900).step_by(3) {
        let mut steps = 0;
        loop {
            let mut run = Cuts::new(&small(), Load::MIXED, 150);
            run.run(at);
            run.cut();
            let again = run.ssd.mount_in_part(steps).expect("it can be recovered");
            stopped += u64::from(again);
            run.mount_and_judge(&(at, steps));
            if !again {
                break;
            }
            steps += 1;
        }
    }
    assert!(stopped > 30, "{stopped} mounts were cut off");
}

#[test]
fn a_volatile_buffer_loses_what_no_flush_has_covered_and_nothing_else() {
    let mut c = small();
    c.host.write_buffer_pages = 6;
    cut_everywhere(&c, Load { flush: 8, fua: 15, ..Load::MIXED }, 150, 700);
}

#[test]
fn a_protected_buffer_loses_nothing() {
    let mut c = small();
    c.host.write_buffer_pages = 6;
    c.power.buffer = BufferPower::Protected;
    cut_everywhere(&c, Load { flush: 3, fua: 5, ..Load::MIXED }, 150, 700);
}
