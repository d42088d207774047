//! The clock of the drive.
#![allow(clippy::disallowed_methods, reason = "a served drive runs on wall time")]

use ssd_serve::pace::{Pace, Rate, VALID_NS, scale_for};
use std::thread::sleep;
use std::time::Duration;

#[test]
fn a_clock_that_is_behind_goes_on_from_the_next_event() {
    let mut pace = Pace::start(2.0);
    assert_eq!(pace.hold(1_000_000_000), 0, "the event is yet to come");
    sleep(Duration::from_millis(20));
    let late = pace.late(1_000_000);
    assert!(late >= 18_000_000, "{late} ns");
    let stopped = pace.hold(1_000_000);
    assert!(stopped >= late);
    let now = pace.now();
    assert!((1_000_000..10_000_000).contains(&now), "{now} ns is not the time of the event");
    assert_eq!((pace.stops().count, pace.stops().ns), (1, stopped));
    // What was due before is late by as much as the clock has advanced beyond it.
    assert!(pace.late(500_000) >= 1_000_000);
    assert!(pace.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_scale_changes_the_pace_and_not_the_time() {
    let mut pace = Pace::start(0.001);
    sleep(Duration::from_millis(2));
    let before = pace.now();
    pace.rescale(1e6);
    let after = pace.now();
    sleep(Duration::from_millis(2));
    assert!(before >= 2_000_000_000 && after >= before);
    assert!(pace.now() - after < 1_000_000, "{} ns", pace.now() - after);
}

#[test]
fn the_scale_follows_lateness_upwards() {
    assert_eq!(scale_for(VALID_NS, 1.0), None);
    assert_eq!(scale_for(VALID_NS + 1, 1.0), Some(1.25));
    assert_eq!(scale_for(3 * VALID_NS, 1.0), Some(3.0));
    assert_eq!(scale_for(300 * VALID_NS, 1.0), Some(4.0));
    assert_eq!(scale_for(3 * VALID_NS, 3.0), None);
}

#[test]
fn the_rate_is_that_of_the_last_second() {
    let mut rate = Rate::default();
    assert_eq!(rate.per_second(), None);
    rate.look(Duration::ZERO, 0);
    assert_eq!(rate.per_second(), None);
    for looks in 1..=40 {
        // 2 replies per look in the first second, then 10.
        let replies = if looks <= 20 { 2 * looks } else { 40 + 10 * (looks - 20) };
        rate.look(Duration::from_millis(50 * looks), replies);
        if looks == 20 {
            assert_eq!(rate.per_second(), Some(40.0));
        }
    }
    assert_eq!(rate.per_second(), Some(200.0));
}
