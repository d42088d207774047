//! Link, write buffer, ECC and read retries: closed forms to the nanosecond; the meaning of a flush, FUA and a TRIM
//! with a buffer; and any combination of them under any combination of policies.

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, Spare, any_config};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{PAGE, alone, closed, device, finish, free_blocks, named, whole};
use proptest::prelude::*;
use ssd_core::config::{BusyUnit, Config, DataMode, Frontiers, LinkDuplex, TimingModel};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::map::Entry;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Op, Request, flags};
use ssd_core::metrics::counters::Cause;
use ssd_core::nand::page_store::{PageStore, Slabs};
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Serial chips with 2 KiB pages: read 50 + 20, program 500 + 20, 3 for each SRAM crossing.
fn chips(count: u32) -> Config {
    let mut c = device([count, 1, 1], 16, 8, count * 64);
    (c.timing.model, c.timing.busy_unit) = (TimingModel::Serial, BusyUnit::Chip);
    c.timing.sram_ns = 3;
    c
}

const READ: u64 = 50 + 20 + 6;
const PROGRAM: u64 = 500 + 20 + 6;
const SRAM: u64 = 3;

fn buffered(count: u32, pages: u32, threshold: f64) -> Config {
    let mut c = chips(count);
    (c.host.write_buffer_pages, c.host.write_buffer_threshold) = (pages, threshold);
    c.run.data = DataMode::Digest;
    c
}

fn fresh(c: &Config) -> Ssd {
    let mut ssd = Ssd::new(c, Ftl::new(c), 0);
    ssd.audit_every(1);
    ssd
}

fn programs(ssd: &Ssd) -> u64 {
    ssd.measured().flash.programs[Cause::Host.at()]
}

/// Keeps pages until they are lost.
#[derive(Default)]
struct LossyStore {
    slabs: Slabs,
    lost: Arc<AtomicBool>,
}

impl PageStore for LossyStore {
    fn write(&mut self, slot: u32, bytes: &[u8]) -> Result<(), String> {
        self.slabs.write(slot, bytes)
    }

    fn read(&self, slot: u32, bytes: &mut [u8]) -> Result<(), String> {
        if self.lost.load(Relaxed) {
            return Err("the disk is gone".to_string());
        }
        self.slabs.read(slot, bytes)
    }
}

#[test]
fn contents_that_cannot_be_read_end_the_run() {
    let mut c = chips(2);
    c.run.data = DataMode::File;
    let lost = Arc::new(AtomicBool::new(false));
    let switch = lost.clone();
    let plugs = Plugs::default().with_page_store(Arc::new(move || {
        Box::new(LossyStore { lost: lost.clone(), ..LossyStore::default() })
    }));
    let mut ssd = Ssd::with_plugs(&c, Ftl::with_plugs(&c, &plugs), 0, &plugs);
    alone(&mut ssd, whole(Op::Write, 0, 1));
    alone(&mut ssd, whole(Op::Read, 0, 1));
    ssd.snapshot().expect("all of it can be read");
    switch.store(true, Relaxed);
    let gone = DeviceError::Contents("the disk is gone".to_string());
    assert_eq!(ssd.snapshot().err(), Some(gone.clone()));
    ssd.submit(ssd.now(), &whole(Op::Read, 0, 1), None).expect("it is inside");
    assert_eq!(finish(&mut ssd), Err(gone));
}

#[test]
fn latency_over_a_link_is_its_time_and_the_rest() {
    for duplex in [LinkDuplex::Full, LinkDuplex::Half] {
        let mut c = chips(4);
        (c.host.link_bytes_per_s, c.host.link_duplex) = (Some(1_000_000_000), duplex);
        c.controller.host_ecc_ns = 11;
        let mut ssd = fresh(&c);
        for pages in 1..=4 {
            let link = 2048 * u64::from(pages);
            assert_eq!(alone(&mut ssd, whole(Op::Write, 0, pages)), link + PROGRAM);
            assert_eq!(alone(&mut ssd, whole(Op::Read, 0, pages)), link + READ + 11);
        }
        // Half a page crosses in half the time; its rest is read and decoded first.
        assert_eq!(alone(&mut ssd, Request::new(Op::Write, 2, 2)), 1024 + READ + 11 + PROGRAM);
        assert_eq!(alone(&mut ssd, whole(Op::Trim, 0, 1)), SRAM);
        assert_eq!(alone(&mut ssd, whole(Op::Read, 0, 1)), SRAM + 2048);
        let parts = ssd.measured().write_parts;
        assert_eq!(parts.queue, 0, "an idle link is not waited for");
        assert_eq!(parts.transfer, u128::from(2048 * 10 + 4 * 26 + 1024u64 + 26 + 11 + 26));
    }
}

/// Latencies of requests that come alone, and then of the same requests at fixed times.
fn latencies(c: &Config) -> (Vec<u64>, Vec<(u64, u64)>, u64) {
    let mut ssd = fresh(c);
    let preflush = |lpn| Request { flags: flags::PREFLUSH, ..whole(Op::Write, lpn, 2) };
    let mut requests = vec![whole(Op::Trim, 0, 1), whole(Op::Read, 0, 1)];
    for lpn in 0..20 {
        requests.push(whole(Op::Write, lpn % 5, 1 + lpn % 4));
        requests.push(whole(Op::Read, lpn % 6, 1 + lpn % 3));
        requests.push(Request::new(Op::Write, u64::from(lpn % 7) * PAGE + 1, 2));
        requests.push(if lpn % 3 == 0 { preflush(lpn) } else { whole(Op::Flush, 0, 1) });
    }
    let idle = requests.iter().map(|&request| alone(&mut ssd, request)).collect();
    let start = ssd.now() + Nanos(1_000_000);
    let without_flush = requests.iter().filter(|r| r.op != Op::Flush && r.flags == 0);
    for (i, request) in (0..).zip(without_flush) {
        ssd.submit(start + Nanos(130 * i), request, None).expect("a valid request");
    }
    let mut done = finish(&mut ssd).expect("it completes");
    done.sort_unstable_by_key(|one| one.id.0);
    ssd.audit().expect("nothing is lost");
    let took = done.iter().map(|one| (one.id.0, (one.at - one.arrival).0)).collect();
    (idle, took, programs(&ssd))
}

#[test]
fn the_firmware_adds_its_time_to_every_request_once() {
    let link = |c: &mut Config| c.host.link_bytes_per_s = Some(1_000_000_000);
    let mut devices = [chips(4), chips(4), buffered(4, 64, 1.0), buffered(4, 64, 1.0)];
    link(&mut devices[1]);
    link(&mut devices[3]);
    for mut c in devices {
        let (idle, loaded, programs) = latencies(&c);
        (c.controller.firmware_p50_ns, c.controller.firmware_p99_ns) = (7_777, 7_777);
        let (idle_too, loaded_too, programs_too) = latencies(&c);
        assert_eq!(idle_too, idle.iter().map(|ns| ns + 7_777).collect::<Vec<_>>());
        // Nobody waits for the firmware of others: the flash does the same at the same times.
        let added = loaded.iter().map(|&(id, ns)| (id, ns + 7_777)).collect::<Vec<_>>();
        assert_eq!((loaded_too, programs_too), (added, programs));
    }
}

#[test]
fn the_map_adds_its_time_for_each_page_of_a_request() {
    let mut c = chips(4);
    let idle = |c: &Config| {
        let mut ssd = fresh(c);
        let requests = [
            whole(Op::Write, 0, 5),
            whole(Op::Read, 1, 3),
            Request::new(Op::Read, 2 * PAGE + 1, PAGE as u32),
            whole(Op::Trim, 0, 2),
            Request::new(Op::Flush, 0, 0),
        ];
        let took = requests.map(|request| alone(&mut ssd, request));
        let m = ssd.measured();
        (took, [m.read_parts.metadata, m.write_parts.metadata])
    };
    let (without, none) = idle(&c);
    c.controller.metadata_ns = 1_300;
    let (with, parts) = idle(&c);
    let added: Vec<u64> = with.iter().zip(without).map(|(with, without)| with - without).collect();
    // The second read touches two pages, a flush none.
    assert_eq!(added, [5, 3, 2, 2, 0].map(|pages| pages * 1_300));
    assert_eq!((none, parts), ([0, 0], [5 * 1_300, 5 * 1_300]));
    (c.controller.firmware_p50_ns, c.controller.firmware_p99_ns) = (7_777, 7_777);
    assert_eq!(idle(&c), (with.map(|ns| ns + 7_777), parts));
}

#[test]
fn a_flush_waits_for_the_writes_before_it_with_their_firmware() {
    let mut c = chips(1);
    (c.controller.firmware_p50_ns, c.controller.firmware_p99_ns) = (10_000, 10_000);
    let mut ssd = fresh(&c);
    for request in [whole(Op::Write, 0, 1), whole(Op::Flush, 0, 1)] {
        ssd.submit(Nanos::ZERO, &request, None).expect("a valid request");
    }
    let ends: Vec<u64> = finish(&mut ssd).expect("both end").iter().map(|one| one.at.0).collect();
    assert_eq!(ends, [PROGRAM + 10_000, PROGRAM + 20_000]);
}

#[test]
fn directions_of_a_link_are_apart_or_take_turns() {
    let mut ends = Vec::new();
    for duplex in [LinkDuplex::Full, LinkDuplex::Half] {
        let mut c = chips(2);
        (c.host.link_bytes_per_s, c.host.link_duplex) = (Some(1_000_000_000), duplex);
        let mut ssd = fresh(&c);
        alone(&mut ssd, whole(Op::Write, 0, 1));
        let start = ssd.now().0;
        ssd.submit(ssd.now(), &whole(Op::Read, 0, 1), None).unwrap();
        ssd.submit(ssd.now(), &whole(Op::Write, 1, 1), None).unwrap();
        let done = finish(&mut ssd).unwrap();
        ends.push(done.iter().map(|d| d.at.0 - start).collect::<Vec<_>>());
    }
    // The page read is ready while the write crosses.
    assert_eq!(ends[0], [READ + 2048, 2048 + PROGRAM]);
    assert_eq!(ends[1], [2048 + PROGRAM, 2048 + 2048]);
}

#[test]
fn a_write_completes_in_the_buffer_and_is_on_flash_at_the_end() {
    let mut ssd = fresh(&buffered(2, 8, 1.0));
    for lpn in 0..8 {
        assert_eq!(alone(&mut ssd, whole(Op::Write, lpn % 4, 1)), SRAM);
    }
    assert_eq!(alone(&mut ssd, whole(Op::Read, 3, 1)), SRAM);
    let counts = ssd.measured().buffer;
    assert_eq!((counts.coalesced, counts.evicted, programs(&ssd)), (4, 0, 0));
    assert_eq!(ssd.buffered_pages(), 4);
    ssd.empty_buffer().unwrap();
    assert_eq!((ssd.buffered_pages(), programs(&ssd)), (0, 4));
    assert_eq!(ssd.core.ftl.owners.valid_pages(), 4);
    assert_eq!(alone(&mut ssd, whole(Op::Read, 3, 1)), READ);
}

#[test]
fn a_full_buffer_makes_writes_wait_for_a_program() {
    let mut ssd = fresh(&buffered(1, 2, 1.0));
    assert_eq!(alone(&mut ssd, whole(Op::Write, 0, 2)), SRAM);
    assert_eq!(alone(&mut ssd, whole(Op::Write, 5, 1)), PROGRAM + SRAM);
    // The least recently written page has made room.
    assert_eq!(alone(&mut ssd, whole(Op::Read, 1, 1)), SRAM);
    assert_eq!(alone(&mut ssd, whole(Op::Read, 0, 1)), READ);
    let parts = ssd.measured().write_parts;
    assert_eq!((parts.queue, parts.transfer), (u128::from(PROGRAM), u128::from(2 * SRAM)));
    assert_eq!(ssd.measured().buffer.waited, 1);
}

/// A page that waits for room needs none once newer data or a TRIM have replaced it: its write completes then.
#[test]
fn a_page_that_is_replaced_while_it_waits_waits_no_longer() {
    for replacing in [Op::Write, Op::Trim] {
        let mut c = buffered(1, 1, 1.0);
        c.host.link_bytes_per_s = Some(20_000_000_000);
        let mut ssd = fresh(&c);
        // The second write waits until the first has been evicted and programmed, or until it is replaced.
        let replaced = 300;
        assert!(replaced < PROGRAM);
        for (at, op, lpn) in [(0, Op::Write, 0), (0, Op::Write, 5), (replaced, replacing, 5)] {
            ssd.submit(Nanos(at), &whole(op, lpn, 1), None).unwrap();
        }
        let done = finish(&mut ssd).unwrap();
        let write = done.iter().find(|done| done.id.0 == 1).expect("it completes");
        assert_eq!(write.at.0, replaced + SRAM, "{replacing:?}");
    }
}

#[test]
fn waiting_for_room_that_collection_delays_is_waiting_for_collection() {
    // Collection moves two pages and erases; the page that is evicted first comes after it.
    let collection = 2 * (50 + 20 + SRAM + 500 + 20 + SRAM) + 2000;
    // Evicted when a write waits, which has waited from the start; or at once, and a later write waits.
    for (threshold, at) in [(1.0, 0), (0.0, 3000)] {
        let mut c = buffered(1, 1, threshold);
        let mut f = Functional::new(&c, Ftl::new(&c));
        for lpn in (0..64).chain(0..6) {
            f.write(Lpn(lpn), 0).expect("there is room");
        }
        (c.gc.trigger, c.gc.window) = (vec![free_blocks(7)], 1);
        c.sched.order = named(ssd_core::sched::order::ALL, "gc-first");
        let sequence = f.sequence();
        let mut ssd = Ssd::new(&c, f.ftl, sequence);
        ssd.audit_every(1);
        for (at, lpn) in [(0, 20), (at, 30)] {
            ssd.submit(Nanos(at), &whole(Op::Write, lpn, 1), None).unwrap();
        }
        let done = finish(&mut ssd).unwrap();
        let end = collection + PROGRAM + SRAM;
        assert_eq!(done.iter().map(|d| d.at.0).collect::<Vec<_>>(), [SRAM, end]);
        let parts = ssd.measured().write_parts;
        let waited = u128::from(collection + PROGRAM - at);
        let for_gc = waited.min(u128::from(collection));
        assert_eq!((parts.gc_wait, parts.queue), (for_gc, waited - for_gc));
        assert_eq!((parts.chip, parts.transfer), (0, u128::from(2 * SRAM)));
    }
}

#[test]
fn sustained_writes_one_at_a_time_keep_every_chip_busy() {
    let mut ssd = fresh(&buffered(4, 64, 0.5));
    let requests = 4000;
    closed(&mut ssd, 1, (0..requests).map(|i| whole(Op::Write, i % 256, 1))).unwrap();
    ssd.empty_buffer().unwrap();
    let ideal = f64::from(requests) * PROGRAM as f64 / 4.0;
    let took = ssd.now().0 as f64;
    assert!(ideal <= took, "faster than the chips");
    let erases: u64 = ssd.measured().flash.all_erases();
    let collection = (erases * 2000 + ssd.measured().gc.pages.moved * (50 + 500 + 46)) as f64;
    assert!(took < ideal + collection + 64.0 * PROGRAM as f64, "{took} of {ideal}");
}

#[test]
fn flush_fua_and_preflush_mean_flash() {
    let mut ssd = fresh(&buffered(2, 8, 1.0));
    alone(&mut ssd, whole(Op::Write, 0, 3));
    assert_eq!(alone(&mut ssd, Request::new(Op::Flush, 0, 0)), 2 * PROGRAM);
    assert_eq!((programs(&ssd), ssd.buffered_pages()), (3, 0));
    assert_eq!(alone(&mut ssd, Request::new(Op::Flush, 0, 0)), 0);
    // FUA writes through to flash, but the kept page of its LPN does not.
    alone(&mut ssd, whole(Op::Write, 7, 1));
    let fua = Request { flags: flags::FUA, ..whole(Op::Write, 7, 1) };
    assert_eq!(alone(&mut ssd, fua), PROGRAM);
    assert_eq!((programs(&ssd), ssd.measured().buffer.coalesced), (4, 1));
    // Preflush: what was there is on flash; the write itself need not be, and enters the buffer then.
    alone(&mut ssd, whole(Op::Write, 1, 1));
    let preflush = Request { flags: flags::PREFLUSH, ..whole(Op::Write, 2, 1) };
    assert_eq!(alone(&mut ssd, preflush), PROGRAM + SRAM);
    assert_eq!((programs(&ssd), ssd.buffered_pages()), (5, 1));
}

#[test]
fn the_page_on_flash_stays_while_newer_data_are_in_the_buffer() {
    let mut ssd = fresh(&buffered(1, 4, 1.0));
    alone(&mut ssd, whole(Op::Write, 0, 1));
    assert_eq!(ssd.page_on_flash(Lpn(0)), None, "it is in the buffer alone");
    ssd.empty_buffer().unwrap();
    let page = ssd.page_on_flash(Lpn(0)).expect("it has been programmed");
    assert_eq!(ssd.core.ftl.owners.newest(Lpn(0)), Entry::Page(page));
    alone(&mut ssd, whole(Op::Write, 0, 1));
    assert_eq!(ssd.page_on_flash(Lpn(0)), Some(page));
    assert!(
        matches!(ssd.core.ftl.owners.newest(Lpn(0)), Entry::Slot(_)),
        "it is in the buffer too"
    );
    alone(&mut ssd, whole(Op::Trim, 0, 1));
    assert_eq!(ssd.page_on_flash(Lpn(0)), None);
}

#[test]
fn a_trim_drops_what_the_buffer_keeps() {
    let mut ssd = fresh(&buffered(2, 8, 1.0));
    alone(&mut ssd, whole(Op::Write, 0, 4));
    alone(&mut ssd, whole(Op::Trim, 1, 2));
    assert_eq!((ssd.measured().buffer.trimmed, ssd.measured().host.pages_trimmed), (2, 2));
    ssd.empty_buffer().unwrap();
    assert_eq!((programs(&ssd), ssd.core.ftl.owners.valid_pages()), (2, 2));
}

#[test]
fn parts_of_a_page_merge_and_the_rest_is_read_where_it_is_needed() {
    let mut ssd = fresh(&buffered(1, 4, 1.0));
    let part = |op, from: u64| Request::new(op, PAGE + from, 1);
    alone(&mut ssd, Request { flags: flags::FUA, ..whole(Op::Write, 1, 1) });
    alone(&mut ssd, part(Op::Write, 0));
    // The buffer supplies what it has; the rest of what the host wants is read from flash.
    assert_eq!(alone(&mut ssd, part(Op::Read, 0)), SRAM);
    assert_eq!(alone(&mut ssd, part(Op::Read, 1)), READ);
    let rmw = Cause::Rmw.at();
    assert_eq!((ssd.measured().flash.reads[rmw], ssd.measured().host.rmw), (1, 0));
    for from in 1..PAGE {
        alone(&mut ssd, part(Op::Write, from));
    }
    ssd.empty_buffer().unwrap();
    assert_eq!((programs(&ssd), ssd.measured().flash.reads[rmw]), (2, 1), "nothing was missing");
    alone(&mut ssd, part(Op::Write, 2));
    ssd.empty_buffer().unwrap();
    assert_eq!(
        (programs(&ssd), ssd.measured().flash.reads[rmw], ssd.measured().host.rmw),
        (3, 2, 1)
    );
}

#[test]
fn a_read_that_always_fails_takes_every_retry() {
    for model in [TimingModel::Serial, TimingModel::Pipelined] {
        let mut c = chips(1);
        c.timing.model = model;
        c.controller.retry_probability = 1.0;
        (c.controller.retry_limit, c.controller.retry_factor) = (3, 1.5);
        let mut ssd = fresh(&c);
        alone(&mut ssd, whole(Op::Write, 0, 1));
        assert_eq!(alone(&mut ssd, whole(Op::Read, 0, 1)), READ + 3 * 75);
        assert_eq!(ssd.measured().flash.retries[Cause::Host.at()], 3);
        assert_eq!(ssd.measured().read_parts.chip, 50 + 3 * 75);
    }
}

#[test]
fn a_link_too_slow_for_the_range_of_time_says_so() {
    let mut c = chips(1);
    c.host.link_bytes_per_s = Some(1);
    let mut ssd = fresh(&c);
    // Within the range, the link takes half an hour per page.
    ssd.submit(Nanos((1 << 61) - 1000), &whole(Op::Write, 0, 1), None).unwrap();
    let error = ssd.run_until(Nanos::NEVER, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, DeviceError::TimeRange { .. }), "{error}");
}

#[test]
fn a_device_that_cannot_take_the_buffer_says_so() {
    let mut c = device([1, 1, 1], 4, 4, 15);
    (c.host.write_buffer_pages, c.host.write_buffer_threshold) = (16, 1.0);
    c.alloc.frontiers = Frontiers::Single;
    c.gc.reserve = 1;
    let mut ssd = fresh(&c);
    alone(&mut ssd, whole(Op::Write, 0, 15));
    let error = ssd.empty_buffer().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("3 pages of the write buffer are not on flash"), "{text}");
    ssd.audit().unwrap();
}

/// The host's side: buffer, link, ECC, retries and firmware, each present in most cases.
fn host_side() -> impl Strategy<Value = Config> {
    let buffer = (prop_oneof![Just(0u32), 1u32..4, 4u32..80], 0.0f64..=1.0);
    let rate = prop_oneof![Just(None), (1_000_000u64..20_000_000_000).prop_map(Some)];
    let retries = (prop_oneof![Just(0.0), 0.0f64..=1.0], 0.0f64..0.2, 1u32..4, 0.1f64..3.0);
    let firmware = prop_oneof![Just((0u64, 1u64)), (1u64..2000, 1u64..20)];
    let ecc = (prop_oneof![Just(0u64), 1u64..60], firmware);
    (buffer, rate, any::<bool>(), ecc, retries).prop_map(
        |((pages, threshold), rate, half, (ecc, firmware), retries)| {
            let (probability, growth, limit, factor) = retries;
            let mut c = Config::default();
            (c.host.write_buffer_pages, c.host.write_buffer_threshold) = (pages, threshold);
            c.host.link_bytes_per_s = rate;
            c.host.link_duplex = if half { LinkDuplex::Half } else { LinkDuplex::Full };
            c.controller.host_ecc_ns = ecc;
            let k = &mut c.controller;
            (k.firmware_p50_ns, k.firmware_p99_ns) = (firmware.0, firmware.0 * firmware.1);
            (k.retry_probability, k.retry_growth) = (probability, growth);
            (k.retry_limit, k.retry_factor) = (limit, factor);
            c
        },
    )
}

fn storm(mut c: Config, side: &Config, seed: u64, pause: u64, data: DataMode) {
    let ecc_ns = c.controller.ecc_ns;
    (c.host, c.controller) = (side.host.clone(), side.controller.clone());
    (c.controller.ecc_ns, c.run.data) = (ecc_ns, data);
    let weather = Weather { requests: 400, depth: 64, seed, audit: 37, mix: [30, 8, 3], pause };
    let mut storm = Storm::new(&c, weather);
    let may_run_out = c.alloc.placement.policy != "static";
    match storm.run() {
        Ok(()) => {}
        Err(e @ DeviceError::NoSpace { .. }) if may_run_out => return storm.gave_up(&e),
        Err(e) => panic!("{e}"),
    }
    match storm.ssd.empty_buffer() {
        Ok(()) => {}
        Err(DeviceError::NoSpace { .. }) if may_run_out => return,
        Err(e) => panic!("{e}"),
    }
    storm.ssd.audit().unwrap_or_else(|e| panic!("audit of an empty buffer: {e}"));
    assert_eq!(storm.ssd.buffered_pages(), 0);
    let m = &storm.ssd.measured();
    if c.host.write_buffer_pages > 0 {
        let fates = m.buffer.coalesced + m.buffer.trimmed + m.buffer.evicted;
        assert_eq!((m.host.pages_written, programs(&storm.ssd)), (fates, m.buffer.evicted));
    }
    for lpn in (0..c.device.user_pages).map(Lpn) {
        let digest = storm
            .ssd
            .core
            .ftl
            .owners
            .committed(lpn)
            .map_or(0, |p| storm.ssd.core.ftl.flash.payload(p).digest);
        let newest = storm.history.pages[lpn.at()].last().map_or(0, |v| v.digest);
        assert_eq!(digest, newest, "the newest data of {lpn:?} are not on flash");
    }
}

proptest! {
    #![proptest_config(cases(800, 11))]
    #[test]
    fn any_combination_in_digests(
        RandomConfig(c) in any_config(Spare::Tight), side in host_side(),
        seed in any::<u64>(), pause in 0u64..300,
    ) {
        storm(c, &side, seed, pause, DataMode::Digest);
    }
}

proptest! {
    #![proptest_config(cases(200, 12))]
    #[test]
    fn any_combination_in_bytes(
        RandomConfig(c) in any_config(Spare::Tight), side in host_side(), seed in any::<u64>(),
    ) {
        storm(c, &side, seed, 0, DataMode::Bytes);
    }
}
