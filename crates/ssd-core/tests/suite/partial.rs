//! Partial transfers: of a page that the host reads, only the sectors that it asks for cross the bus. Times by hand,
//! and what crosses as a whole.

use crate::rig::{alone, closed, device, finish, free_blocks, operations_of, whole, with_pages};
use ssd_core::config::{
    self, ChipFailure, Config, GcPath, Input, Kernel, PoolScope, RemapMode, Suspend, TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

const C: u64 = 305;
const R: u64 = 50_001;
const P: u64 = 600_007;
/// Bus time of a page of four sectors: the parts are rounded to the nearest nanosecond.
const X: u64 = 20_003;
const PARTS: [u64; 5] = [0, 5_001, 10_002, 15_002, X];
const SRAM: u64 = 71;

fn partial(shape: [u32; 3]) -> Config {
    let planes: u32 = shape.iter().product();
    let mut c = device(shape, 16, 8, planes * 80);
    let t = &mut c.timing;
    (t.model, t.partial) = (TimingModel::Pipelined, true);
    (t.read_ns, t.program_ns, t.erase_ns) = (R, P, 3_000_011);
    (t.transfer_ns, t.command_ns, t.sram_ns) = (X, C, SRAM);
    c.gc.trigger = vec![free_blocks(2)];
    c.metrics.op_log = true;
    c
}

/// How long the data of an operation were on the bus.
fn on_bus(r: &OpRecord) -> u64 {
    r.bus.map_or(0, |(from, to)| (to - from).0)
}

#[test]
fn a_quarter_of_a_page_of_the_modern_preset_takes_a_quarter_of_its_transfer() {
    for (partial, expected) in [("true", 63_613), ("false", 73_853)] {
        let input = Input {
            preset: Some("modern-tlc".to_owned()),
            sets: vec![("timing.partial".to_owned(), partial.to_owned())],
            ..Input::default()
        };
        let c = config::load::<Kernel>(&input).expect("a valid configuration").0;
        let mut ssd = with_pages(&c, 2);
        for sector in [0, 3, 24] {
            assert_eq!(alone(&mut ssd, Request::new(Op::Read, sector, 8)), expected, "{partial}");
        }
        assert_eq!(alone(&mut ssd, Request::new(Op::Read, 0, 32)), 73_853, "a whole page");
        // Four sectors of each of two pages, side by side on two channels.
        assert_eq!(
            alone(&mut ssd, Request::new(Op::Read, 28, 8)),
            if partial == "true" { 61_907 } else { 73_853 }
        );
    }
}

#[test]
fn sectors_cross_in_proportion_and_writes_cross_whole() {
    let mut ssd = with_pages(&partial([1, 1, 1]), 40);
    let read = |sectors: usize| C + R + PARTS[sectors] + 2 * SRAM;
    for (from, sectors) in [(0, 1), (1, 1), (3, 1), (0, 2), (1, 2), (0, 3), (1, 3), (0, 4)] {
        let request = Request::new(Op::Read, 5 * 4 + from, sectors as u32);
        assert_eq!(alone(&mut ssd, request), read(sectors), "{sectors} sectors from {from} on");
    }
    // Two sectors of a page, a page, and a sector of the next, on one unit.
    let request = Request::new(Op::Read, 5 * 4 + 2, 7);
    assert_eq!(alone(&mut ssd, request), read(2) + read(4) + read(1));
    let write = C + X + 2 * SRAM + P;
    assert_eq!(alone(&mut ssd, whole(Op::Write, 3, 1)), write);
    // The rest of a page that is written in part crosses with the rest: pages are programmed whole.
    let request = Request::new(Op::Write, 5 * 4 + 1, 2);
    assert_eq!(alone(&mut ssd, request), read(4) + write);
    assert_eq!(alone(&mut ssd, Request::new(Op::Read, 5 * 4, 1)), read(1));
    // Without a page on flash nothing crosses.
    assert_eq!(alone(&mut ssd, whole(Op::Trim, 5, 1)), SRAM);
    assert_eq!(alone(&mut ssd, Request::new(Op::Read, 5 * 4, 1)), SRAM);
}

#[test]
fn copies_cross_whole_over_the_controller_and_not_at_all_by_copy_back() {
    for path in [GcPath::Controller, GcPath::Copyback] {
        let mut c = partial([1, 1, 1]);
        (c.gc.path, c.alloc.pool) = (path, PoolScope::Plane);
        let mut ssd = with_pages(&c, c.device.user_pages);
        let mut rng = Stream::new(4, "requests");
        let requests = (0..600).map(|n| {
            let lpn = rng.below(80) as u32;
            if n % 3 == 0 {
                Request::new(Op::Read, u64::from(lpn) * 4 + 1, 1)
            } else {
                whole(Op::Write, lpn, 1)
            }
        });
        closed(&mut ssd, 4, requests).expect("they complete");
        let log = operations_of(&mut ssd);
        let mut seen = [0; 2];
        for r in log.iter().filter(|r| r.op != FlashOp::Erase) {
            let of_gc = r.cause == Cause::Gc;
            seen[usize::from(of_gc)] += 1;
            let expected = match (r.op, path) {
                (_, GcPath::Controller) if of_gc => X + SRAM,
                _ if of_gc => 0,
                (FlashOp::Read, _) => PARTS[1] + 2 * SRAM,
                _ => X + 2 * SRAM,
            };
            assert_eq!(on_bus(r), expected, "{path:?}: {r:?}");
        }
        assert!(seen[0] > 300 && seen[1] > 300, "{path:?}: {seen:?}");
    }
}

#[test]
fn a_copy_for_the_host_reads_whole_pages() {
    let mut c = partial([1, 1, 1]);
    c.remap.mode = RemapMode::Copy;
    let mut ssd = with_pages(&c, 40);
    let ranges = ssd_core::host::copy::encode(&[ssd_core::host::copy::SourceRange {
        sector: 4,
        sectors: 8,
    }]);
    ssd.submit(ssd.now(), &whole(Op::Copy, 50, 2), Some(&ranges)).expect("a valid copy");
    finish(&mut ssd).expect("it completes");
    let log = operations_of(&mut ssd);
    let copies: Vec<_> = log.iter().filter(|r| r.cause == Cause::Remap).collect();
    assert_eq!(copies.len(), 4, "two reads, two programs");
    assert!(copies.iter().all(|r| on_bus(r) == X + 2 * SRAM), "{copies:?}");
}

/// What the buffer holds does not cross less: a read that needs flash for some of its sectors gets all of them there.
#[test]
fn a_read_beside_buffered_sectors_crosses_with_all_that_it_asks_for() {
    let mut c = partial([1, 1, 1]);
    (c.host.write_buffer_pages, c.host.write_buffer_threshold) = (8, 1.0);
    let mut ssd = with_pages(&c, 40);
    assert_eq!(alone(&mut ssd, Request::new(Op::Write, 5 * 4 + 1, 1)), SRAM);
    // Buffered as a whole.
    assert_eq!(alone(&mut ssd, Request::new(Op::Read, 5 * 4 + 1, 1)), SRAM);
    for (from, sectors) in [(0, 2), (1, 2), (0, 1), (3, 1), (0, 4)] {
        let read = C + R + PARTS[sectors] + 2 * SRAM;
        let request = Request::new(Op::Read, 5 * 4 + from, sectors as u32);
        assert_eq!(alone(&mut ssd, request), read, "{sectors} sectors from {from} on");
    }
    // The eviction reads the rest as a whole.
    assert_eq!(alone(&mut ssd, Request::new(Op::Flush, 0, 0)), C + R + 2 * (X + 2 * SRAM) + C + P);
}

#[test]
fn a_page_is_computed_from_whole_pages() {
    let mut c = crate::rig::parity::with_bytes([4, 1, 1], 4, 200);
    let t = &mut c.timing;
    (t.model, t.partial) = (TimingModel::Pipelined, true);
    (t.read_ns, t.program_ns, t.transfer_ns, t.command_ns) = (R, P, X, C);
    (c.raid.fail, c.metrics.op_log) = (vec![ChipFailure { chip: 1, at_ns: 1 }], true);
    let mut functional = Functional::new(&c, Ftl::new(&c));
    functional.write_run(Lpn(0), c.device.user_pages, 0).expect("the user pages fit");
    let sequence = functional.sequence();
    let mut ssd = Ssd::new(&c, functional.ftl, sequence);
    ssd.run_until(Nanos(1), &mut Vec::new()).expect("the chip fails");
    let mut latencies: Vec<_> =
        (0..12).map(|lpn| alone(&mut ssd, Request::new(Op::Read, lpn * 4 + 2, 1))).collect();
    latencies.sort_unstable();
    latencies.dedup();
    // Four channels: the pages of the three other chips cross side by side.
    assert_eq!(latencies, [C + R + PARTS[1], C + R + X]);
    for r in &operations_of(&mut ssd) {
        let expected = if r.cause == Cause::Reconstruct { X } else { PARTS[1] };
        assert_eq!(on_bus(r), expected, "{r:?}");
    }
}

#[test]
fn a_suspension_is_as_much_shorter_as_its_read() {
    let end = |partial: bool| {
        let mut c = self::partial([1, 1, 1]);
        (c.timing.partial, c.timing.suspend) = (partial, Suspend::Both);
        let mut ssd = with_pages(&c, 40);
        ssd.submit(Nanos(0), &whole(Op::Write, 3, 1), None).expect("a valid request");
        ssd.submit(Nanos(200_000), &Request::new(Op::Read, 20, 1), None).expect("one, too");
        let done = finish(&mut ssd).expect("they complete");
        done.iter().map(|d| (d.at - d.arrival).0).collect::<Vec<_>>()
    };
    let write = C + X + 2 * SRAM + P + 20_000 + 5_000;
    for (partial, bus) in [(false, X), (true, PARTS[1])] {
        let read = C + R + bus + 2 * SRAM;
        assert_eq!(end(partial), [20_000 + read, write + read], "{partial}");
    }
}

#[test]
fn the_serial_model_refuses_it() {
    let sets = [("timing.model", "serial"), ("timing.partial", "true")];
    let sets = sets.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let errors = config::load::<Kernel>(&Input { sets, ..Input::default() }).expect_err("refused");
    let text = errors.iter().map(ToString::to_string).collect::<String>();
    assert!(text.contains("partial transfers need timing.model = \"pipelined\""), "{text}");
}

/// The event digest of random requests of whole pages.
fn digest(c: &Config, seed: u64) -> u64 {
    let mut ssd = with_pages(c, c.device.user_pages);
    let mut rng = Stream::new(seed, "requests");
    let user = u64::from(c.device.user_pages);
    let requests = (0..800).map(|_| {
        let op = [Op::Read, Op::Write, Op::Trim][rng.below(3) as usize];
        whole(op, rng.below(user) as u32, 1)
    });
    closed(&mut ssd, 6, requests.collect::<Vec<_>>()).expect("they complete");
    ssd.event_digest()
}

#[test]
fn whole_pages_take_the_same_time() {
    for (seed, buffer) in [(1, 0), (2, 12)] {
        let mut c = partial([2, 1, 2]);
        c.host.write_buffer_pages = buffer;
        let mut other = c.clone();
        other.timing.partial = false;
        assert_eq!(digest(&c, seed), digest(&other, seed), "{buffer} pages of a buffer");
    }
}
