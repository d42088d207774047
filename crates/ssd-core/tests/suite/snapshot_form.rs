//! The file form of snapshots: what is written comes back bit for bit and continues the same way; nothing else is
//! accepted.

use crate::cases::cases;
use crate::rig::{
    self,
    any_config::{Spare, any_config},
};
use proptest::prelude::*;
use ssd_core::config::{Config, DataMode};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::snapshot::{DeviceSnapshot, FormError};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

fn encoded(snapshot: &DeviceSnapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(digest) = snapshot.encode(&mut |piece| {
        bytes.extend_from_slice(piece);
        Ok::<(), std::convert::Infallible>(())
    });
    assert_eq!(digest, snapshot.digest());
    bytes
}

/// Read in pieces of odd sizes, as files and decompressors give them.
fn decoded(config: Option<&Config>, mut bytes: &[u8]) -> Result<(DeviceSnapshot, u64), FormError> {
    DeviceSnapshot::decode(config, &mut |buffer| {
        let now = buffer.len().min(bytes.len()).min(977);
        let (head, tail) = bytes.split_at(now);
        buffer[..now].copy_from_slice(head);
        bytes = tail;
        Ok(now)
    })
}

/// Random writes, TRIMs and reads of one to four pages in any stream, 16 at once, until the device is at rest; `None`
/// if it has no space for them.
fn work(ssd: &mut Ssd, requests: u64, seed: u64) -> Option<()> {
    let (mut rng, user) = (Stream::new(seed, "work"), u64::from(ssd.core.ftl.geo.user_pages));
    let drawn: Vec<Request> = (0..requests)
        .map(|_| {
            let op = [Op::Write, Op::Write, Op::Write, Op::Trim, Op::Read][rng.below(5) as usize];
            let (lpn, stream) = (rng.below(user), rng.below(5) as u8);
            let pages = (1 + rng.below(4)).min(user - lpn);
            Request { stream, ..rig::whole(op, lpn as u32, pages as u32) }
        })
        .collect();
    rig::closed(ssd, 16, drawn).ok()?;
    ssd.run_until(Nanos(u64::MAX - 1), &mut Vec::new()).ok()?;
    Some(())
}

/// What a device does next: its digest of events, erases and state.
fn goes_on(mut ssd: Ssd) -> (u64, Vec<u32>, Option<u64>) {
    ssd.audit().expect("a sound device");
    let done = work(&mut ssd, 300, 77);
    let state = done.map(|()| ssd.snapshot().expect("at rest").digest());
    (ssd.event_digest(), ssd.erases(), state)
}

proptest! {
    #![proptest_config(cases(96, 41))]

    #[test]
    fn a_loaded_device_is_the_saved_one_and_goes_on_alike(
        mut drawn in any_config(Spare::Any),
        data in prop_oneof![Just(DataMode::None), Just(DataMode::Digest), Just(DataMode::Bytes)],
        op_log in any::<bool>(),
        seed in 0u64..1000,
    ) {
        let config = &mut drawn.0;
        (config.run.data, config.metrics.op_log) = (data, op_log);
        let mut ssd = Ssd::new(config, Ftl::new(config), 0);
        // Some of the devices are too full for their frontiers.
        prop_assume!(work(&mut ssd, 500, seed).is_some());
        let saved = ssd.snapshot().expect("at rest");
        let bytes = encoded(&saved);
        let (loaded, digest) = decoded(Some(config), &bytes).expect("what was written");
        prop_assert_eq!(digest, saved.digest());
        prop_assert!(loaded == saved, "every column and counter");
        let from_file = Ssd::restore(config, &loaded).expect("the same configuration");
        prop_assert!(from_file.snapshot().expect("at rest") == saved, "the state is the same");
        let from_memory = Ssd::restore(config, &saved).expect("the same configuration");
        prop_assert_eq!(goes_on(from_file), goes_on(from_memory));
    }

    #[test]
    fn bytes_that_were_changed_are_refused(at in any::<prop::sample::Index>(), bit in 0u32..8) {
        let mut bytes = encoded(&small(DataMode::Digest));
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(decoded(None, &bytes).is_err());
    }

    #[test]
    fn any_bytes_after_the_magic_are_an_error(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = b"ssdsnap\n\x01\0\0\0".to_vec();
        bytes.extend(tail);
        prop_assert!(decoded(None, &bytes).is_err());
    }

}

#[test]
fn a_parameter_of_seventeen_digits_comes_back() {
    let mut config = rig::snapshot_shape(DataMode::None, false);
    let step = Value::Real(0.467_366_874_864_499_96);
    config.gc.victim = rig::victim("second-chance").with("step", step);
    let saved = rig::preconditioned(&config);
    let (loaded, _) = decoded(Some(&config), &encoded(&saved)).expect("what was written");
    assert!(loaded == saved, "the victim policy has another step");
}

fn small(data: DataMode) -> DeviceSnapshot {
    rig::preconditioned(&rig::snapshot_shape(data, false))
}

#[test]
fn every_beginning_of_a_snapshot_is_refused() {
    let bytes = encoded(&small(DataMode::None));
    assert_eq!(decoded(None, &[]).err(), Some(FormError::Foreign));
    assert_eq!(decoded(None, b"ssd").err(), Some(FormError::Truncated));
    for end in 1..bytes.len() {
        assert_eq!(decoded(None, &bytes[..end]).err(), Some(FormError::Truncated), "{end} bytes");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(
        matches!(decoded(None, &longer), Err(FormError::Damaged(what)) if what.contains("end"))
    );
}

#[test]
fn other_files_versions_and_devices_are_told_apart() {
    let bytes = encoded(&small(DataMode::None));
    assert_eq!(decoded(None, b"128,read,0,8\n").err(), Some(FormError::Foreign));
    let mut newer = bytes.clone();
    newer[8] = 3;
    assert_eq!(decoded(None, &newer).err(), Some(FormError::Version(3)));
    let mut other = rig::snapshot_shape(DataMode::None, false);
    (other.device.channels, other.device.page_bytes) = (4, 4096);
    let told = decoded(Some(&other), &bytes).err().expect("another device").to_string();
    for part in [
        "device.channels is 2 in the snapshot and 4 here",
        "device.page_size is \"2 KiB\" in the snapshot and \"4 KiB\" here",
        "device.user_capacity is",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(!told.contains("alloc.pool"), "{told}");
    let mut digests = rig::snapshot_shape(DataMode::Digest, false);
    let told = decoded(Some(&digests), &bytes).err().expect("no digests in it").to_string();
    assert!(told.contains("run.data = \"digest\""), "{told}");
    digests.run.data = DataMode::None;
    digests.metrics.op_log = true;
    let told = decoded(Some(&digests), &bytes).err().expect("no numbers in it").to_string();
    assert!(told.contains("metrics.op_log"), "{told}");
    // Columns that are kept but not needed do no harm.
    let richer = encoded(&small(DataMode::Bytes));
    let config = rig::snapshot_shape(DataMode::None, false);
    let (snapshot, _) = decoded(Some(&config), &richer).expect("contents are left out");
    Ssd::restore(&config, &snapshot).expect("it fits");
}
