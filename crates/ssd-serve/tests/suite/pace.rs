//! The clock of the drive.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a served drive runs on wall time"
)]

use ssd_serve::pace::{Pace, Pacing, Rate, Scale, VALID_NS, scale_for, sleep_cost};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn at_scale(scale: f64) -> Pacing {
    Pacing { scale: Scale::Fixed(scale), ..Pacing::default() }
}

#[test]
fn a_clock_that_is_behind_goes_on_from_the_next_event() {
    let mut pace = Pace::start(at_scale(2.0));
    assert_eq!(pace.hold(Some(1_000_000_000)), 0, "the event is yet to come");
    sleep(Duration::from_millis(20));
    let late = pace.late(1_000_000);
    assert!(late >= 18_000_000, "{late} ns");
    let stopped = pace.hold(Some(1_000_000));
    assert!(stopped >= late);
    let now = pace.now();
    assert!((1_000_000..10_000_000).contains(&now), "{now} ns is not the time of the event");
    assert_eq!((pace.stops().count, pace.stops().ns), (1, stopped));
    // What was due before is late by as much as the clock has advanced beyond it.
    assert!(pace.late(500_000) >= 1_000_000);
    assert!(pace.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_clock_may_continue_while_replies_are_late() {
    let started = Instant::now();
    let mut pace = Pace::start(Pacing { clock_continues: true, ..at_scale(1.0) });
    sleep(Duration::from_millis(20));
    for _ in 0..2 {
        assert_eq!(pace.hold(Some(1_000_000)), 0);
        // The next event is overdue, too.
        pace.catch_up(Some(1_500_000));
    }
    assert!(pace.now() >= 20_000_000, "{} ns: the clock has stopped", pace.now());
    sleep(Duration::from_millis(5));
    let during = pace.lags();
    pace.catch_up(None);
    let (lags, most) = (pace.lags(), started.elapsed().as_nanos() as u64);
    assert_eq!((lags.count, pace.stops().count), (1, 0));
    // It fell behind at 1 ms of the drive's time, which is 1 ms of wall time.
    assert!(
        during.ns >= 23_000_000 && (during.ns..most).contains(&lags.ns),
        "{during:?}, {lags:?}"
    );
    // What follows is no lag, however long the drive has no event.
    sleep(Duration::from_millis(5));
    pace.catch_up(None);
    assert_eq!((pace.hold(None), pace.lags()), (0, lags));
}

#[test]
fn a_server_that_polls_sleeps_until_shortly_before_an_event() {
    let times = [0, 1, 200, 201, 50_000].map(Duration::from_micros);
    let sleeps = Pace::start(Pacing::default());
    assert_eq!(times.map(|time| sleeps.sleep_time(time)), times);
    let polls = Pace::start(Pacing { polls: true, ..Pacing::default() });
    let sleep_times = [0, 0, 0, 1, 49_800].map(Duration::from_micros);
    assert_eq!(times.map(|time| polls.sleep_time(time)), sleep_times);
}

#[test]
fn a_sleep_that_costs_more_than_polling_is_left_out() {
    let times = [0, 29, 30, 31, 230, 231].map(Duration::from_micros);
    let costly = Pacing { sleep_cost: Duration::from_micros(30), ..Pacing::default() };
    for (polls, expected) in [(false, [0, 0, 0, 31, 230, 231]), (true, [0, 0, 0, 0, 0, 31])] {
        let pace = Pace::start(Pacing { polls, ..costly });
        let sleep_times = expected.map(Duration::from_micros);
        assert_eq!(times.map(|time| pace.sleep_time(time)), sleep_times, "polls: {polls}");
    }
    let cost = sleep_cost();
    assert!((Duration::from_nanos(100)..Duration::from_millis(5)).contains(&cost), "{cost:?}");
}

#[test]
fn what_was_late_before_a_change_of_scale_is_no_later_after_it() {
    let started = Instant::now();
    let mut pace = Pace::start(at_scale(1.0));
    sleep(Duration::from_millis(20));
    pace.rescale(1000.0);
    let late = pace.late(1_000_000);
    assert!((19_000_000..=started.elapsed().as_nanos() as u64).contains(&late), "{late} ns");
}

#[test]
fn a_scale_changes_the_pace_and_not_the_time() {
    let mut pace = Pace::start(at_scale(0.001));
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
    rate.sample(Duration::ZERO, 0);
    assert_eq!(rate.per_second(), None);
    for samples in 1..=40 {
        // 2 replies per sample in the first second, then 10.
        let replies = if samples <= 20 { 2 * samples } else { 40 + 10 * (samples - 20) };
        rate.sample(Duration::from_millis(50 * samples), replies);
        if samples == 20 {
            assert_eq!(rate.per_second(), Some(40.0));
        }
    }
    assert_eq!(rate.per_second(), Some(200.0));
}
