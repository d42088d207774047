//! A snapshot taken at rest and restored continues exactly like the device itself.

use ssd_core::config::{Config, DataMode, HostMode};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

fn config(victim: &str) -> Config {
    let mut c = Config::default();
    let d = &mut c.device;
    (d.channels, d.chips_per_channel, d.blocks_per_plane, d.pages_per_block) = (2, 2, 24, 16);
    d.user_pages = 2 * 2 * 24 * 16 * 8 / 10;
    c.host.mode = HostMode::Closed;
    c.run.data = DataMode::Digest;
    c.gc.victim.policy = victim.to_string();
    c
}

/// Write and read at random, 500 requests at once, then come to rest. Returns the latencies.
fn work(ssd: &mut Ssd, user: u64, seed: u64) -> Vec<u64> {
    let mut rng = Stream::new(seed, "snapshot");
    let (mut latencies, mut done) = (Vec::new(), Vec::new());
    for _ in 0..8 {
        let at = ssd.now();
        for _ in 0..500 {
            let op = if rng.chance(0.2) { Op::Read } else { Op::Write };
            let request = Request::new(op, rng.below(user) * 8, 8);
            ssd.submit(at, &request, None).expect("a request within the device");
        }
        while ssd.outstanding() > 0 {
            ssd.run_until(Nanos::NEVER, &mut done).expect("all complete");
        }
        latencies.extend(done.drain(..).map(|c| (c.at - c.arrival).0));
    }
    ssd.run_until(Nanos(u64::MAX - 1), &mut done).expect("collection comes to rest");
    latencies
}

#[test]
fn the_restored_device_goes_on_like_the_device_itself() {
    for victim in ["greedy", "fifo"] {
        let c = config(victim);
        let user = u64::from(c.device.user_pages);
        let mut first = Ssd::new(&c, Ftl::new(&c), 0);
        work(&mut first, user, 1);
        let snapshot = first.snapshot().expect("the device is at rest");
        let mut second = Ssd::restore(&c, &snapshot).expect("the same configuration");
        second.audit().expect("the restored device is sound");
        let (erases, before) = (first.erases(), first.measured().gc.calls);
        assert_eq!(work(&mut first, user, 2), work(&mut second, user, 2), "{victim}");
        assert!(second.measured().gc.calls > 20, "collection took part");
        assert_eq!(first.measured().gc.calls - before, second.measured().gc.calls);
        let gained: Vec<u32> = first.erases().iter().zip(&erases).map(|(n, b)| n - b).collect();
        assert_eq!(gained, second.erases());
    }
}

#[test]
fn one_device_serves_other_policies() {
    let c = config("greedy");
    let user = u64::from(c.device.user_pages);
    let mut first = Ssd::new(&c, Ftl::new(&c), 0);
    work(&mut first, user, 1);
    let snapshot = first.snapshot().expect("the device is at rest");
    for info in ssd_core::ftl::gc::victim::ALL {
        let mut other = c.clone();
        other.gc.victim = ssd_core::plug::PolicySpec::with_defaults(info);
        let mut ssd = Ssd::restore(&other, &snapshot).expect("policies are not in a snapshot");
        work(&mut ssd, user, 3);
        ssd.audit().unwrap_or_else(|e| panic!("{}: {e}", info.name));
    }
}

#[test]
fn a_busy_device_and_another_shape_are_refused() {
    let c = config("greedy");
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    let empty = ssd.snapshot().expect("a fresh device is at rest");
    ssd.submit(Nanos(5), &Request::new(Op::Write, 0, 8), None).expect("within the device");
    assert!(matches!(ssd.snapshot(), Err(DeviceError::Busy(_))));
    let mut other = c.clone();
    other.device.pages_per_block = 32;
    assert!(
        Ssd::restore(&other, &empty)
            .is_err_and(|e| e.contains("device.pages_per_block is 16 in the snapshot and 32 here"))
    );
}
