//! Types of pages: the time of each page by hand, over all kinds of operations.

use crate::rig::{
    alone, closed, device, finish, free_blocks, load, operations_of, whole, with_pages,
};
use ssd_core::config::{
    self, BusyUnit, Config, EraseUnit, GcPath, Input, Kernel, PoolScope, PowerCut, Suspend,
    TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::Device;
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

/// FEMU's TLC.
const READ: [u64; 3] = [56_500, 77_500, 106_000];
const PROGRAM: [u64; 3] = [820_500, 2_225_000, 5_734_000];
const ERASE: u64 = 3_000_000;
const C: u64 = 200;
const X: u64 = 13_653;

/// One die, or more, with blocks of 12 pages, of which `word_line` share a word line.
fn tlc(shape: [u32; 3], word_line: u32) -> Config {
    let planes: u32 = shape.iter().product();
    let mut c = device(shape, 16, 12, planes * 12 * 12);
    (c.device.bits, c.device.word_line) = (3, word_line);
    let t = &mut c.timing;
    t.model = TimingModel::Pipelined;
    (t.read_types_ns, t.program_types_ns) = (READ.to_vec(), PROGRAM.to_vec());
    (t.read_ns, t.program_ns, t.erase_ns) = (80_000, 2_926_500, ERASE);
    (t.command_ns, t.transfer_ns) = (C, X);
    c.gc.trigger = vec![free_blocks(2)];
    c.metrics.op_log = true;
    c
}

fn in_array(r: &OpRecord) -> u64 {
    r.array.map_or(0, |(from, to)| (to - from).0)
}

#[test]
fn a_full_pass_reads_in_the_mean_of_the_types_and_each_page_in_its_own() {
    let c = tlc([1, 1, 1], 3);
    let mut ssd = with_pages(&c, 144);
    let times: Vec<u64> = (0..144).map(|lpn| alone(&mut ssd, whole(Op::Read, lpn, 1))).collect();
    for (lpn, &ns) in times.iter().enumerate() {
        assert_eq!(ns, C + READ[lpn % 3] + X, "page {lpn}");
    }
    assert_eq!(times.iter().sum::<u64>(), 144 * (80_000 + C + X));
}

#[test]
fn programs_add_up_and_a_word_line_of_several_pages_has_them_in_turn() {
    for (word_line, type_of) in [
        (3, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]),
        (6, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]),
        (12, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]),
    ] {
        let mut ssd = with_pages(&tlc([1, 1, 1], word_line), 0);
        let times: Vec<u64> =
            (0..36).map(|lpn| alone(&mut ssd, whole(Op::Write, lpn, 1))).collect();
        for (page, &ns) in times.iter().enumerate() {
            let expected = C + X + PROGRAM[type_of[page % 12]];
            assert_eq!(ns, expected, "word line of {word_line}, page {page}");
        }
        assert_eq!(times.iter().sum::<u64>(), 36 * (C + X) + 12 * PROGRAM.iter().sum::<u64>());
        let measured = ssd.measured().flash.programs[Cause::Host.at()];
        assert_eq!(measured, 36);
    }
}

#[test]
fn pages_of_a_superblock_have_the_types_of_their_planes() {
    for model in [TimingModel::Pipelined, TimingModel::Serial] {
        let mut c = tlc([1, 1, 4], 3);
        c.timing.model = model;
        (c.alloc.pool, c.alloc.erase_unit) = (PoolScope::Device, EraseUnit::Superblock);
        c.alloc.placement = crate::rig::named(ssd_core::ftl::place::ALL, "round-robin");
        c.timing.busy_unit = BusyUnit::Plane;
        let mut ssd = with_pages(&c, 0);
        let command = if model == TimingModel::Serial { 0 } else { C };
        // The first four pages are the first pages of four flash blocks.
        for page in 0..48 {
            let kind = page as usize / 4 % 3;
            let write = alone(&mut ssd, whole(Op::Write, page, 1));
            assert_eq!(write, command + X + PROGRAM[kind], "{model:?}: page {page}");
            let read = alone(&mut ssd, whole(Op::Read, page, 1));
            assert_eq!(read, command + READ[kind] + X, "{model:?}: page {page}");
        }
    }
}

#[test]
fn planes_programmed_together_take_the_time_of_the_slowest_page() {
    let mut c = tlc([1, 1, 2], 3);
    (c.timing.multi_plane, c.timing.busy_unit, c.alloc.pool) =
        (true, BusyUnit::Chip, PoolScope::Chip);
    c.alloc.placement = crate::rig::named(ssd_core::ftl::place::ALL, "round-robin");
    let mut ssd = with_pages(&c, 0);
    // One page alone, then two at a time: the planes are one page apart.
    let mut slowest = vec![alone(&mut ssd, whole(Op::Write, 0, 1))];
    for pair in 0..6 {
        slowest.push(alone(&mut ssd, whole(Op::Write, 1 + 2 * pair, 2)));
    }
    let log = operations_of(&mut ssd);
    assert_eq!(slowest[0], C + X + PROGRAM[0]);
    let mut mixed = 0;
    for pair in log[1..].chunks(2) {
        assert_eq!(pair[0].array, pair[1].array, "one operation");
        let kinds = [0, 1].map(|n| pair[n].place.page as usize % 3);
        mixed += u32::from(kinds[0] != kinds[1]);
        assert_eq!(in_array(&pair[0]), PROGRAM[kinds[0].max(kinds[1])], "{kinds:?}");
        assert_ne!(pair[0].place.plane, pair[1].place.plane);
    }
    assert!(mixed >= 4, "{mixed} of six pairs are of two types");
}

/// Every line of the log of a device in collection, over both paths.
#[test]
fn copies_take_the_times_of_the_pages_that_they_read_and_program() {
    for (path, model) in [
        (GcPath::Controller, TimingModel::Pipelined),
        (GcPath::Copyback, TimingModel::Pipelined),
        (GcPath::Controller, TimingModel::Serial),
        (GcPath::Copyback, TimingModel::Serial),
        (GcPath::Selective, TimingModel::Serial),
    ] {
        let mut c = tlc([1, 1, 1], 6);
        (c.gc.path, c.timing.model, c.controller.ecc_ns) = (path, model, 0);
        c.alloc.pool = PoolScope::Plane;
        let mut ssd = with_pages(&c, c.device.user_pages);
        let mut rng = Stream::new(4, "requests");
        let requests: Vec<_> = (0..500)
            .map(|n| whole([Op::Read, Op::Write][n % 2], rng.below(144) as u32, 1))
            .collect();
        closed(&mut ssd, 3, requests).expect("they complete");
        let mut copies = 0;
        for r in &operations_of(&mut ssd) {
            let kind = r.place.page as usize % 6 / 2;
            let copied_back = path == GcPath::Copyback && r.cause == Cause::Gc;
            // The log of the serial model has one phase.
            let bus = if model == TimingModel::Serial && !copied_back { X } else { 0 };
            copies += u32::from(r.cause == Cause::Gc);
            let expected = match r.op {
                FlashOp::Read => READ[kind] + bus,
                FlashOp::Program => PROGRAM[kind] + bus,
                FlashOp::Erase => ERASE,
            };
            assert_eq!(in_array(r), expected, "{path:?}, {model:?}: {r:?}");
        }
        assert!(copies > 300, "{path:?}: {copies}");
    }
}

#[test]
fn a_retry_takes_a_read_of_its_page() {
    let mut c = tlc([1, 1, 1], 3);
    let k = &mut c.controller;
    (k.retry_probability, k.retry_limit, k.retry_factor) = (1.0, 2, 0.5);
    let mut ssd = with_pages(&c, 6);
    for lpn in 0..6 {
        let read = READ[lpn as usize % 3];
        assert_eq!(alone(&mut ssd, whole(Op::Read, lpn, 1)), C + 2 * read + X, "page {lpn}");
    }
}

#[test]
fn a_suspended_program_ends_after_what_its_page_takes() {
    let mut c = tlc([1, 1, 1], 3);
    c.timing.suspend = Suspend::Both;
    let (suspend, resume) = (c.timing.suspend_ns, c.timing.resume_ns);
    let mut ssd = with_pages(&c, 2);
    // The third page of a word line, and a read of the second.
    ssd.submit(Nanos(0), &whole(Op::Write, 9, 1), None).expect("a valid request");
    ssd.submit(Nanos(5_000_000), &whole(Op::Read, 1, 1), None).expect("one, too");
    let done = finish(&mut ssd).expect("they complete");
    let latencies: Vec<u64> = done.iter().map(|d| (d.at - d.arrival).0).collect();
    let read = C + READ[1] + X;
    let write = C + X + PROGRAM[2] + suspend + read + resume;
    assert_eq!(latencies, [suspend + read, write]);
}

#[test]
fn parts_of_the_latency_are_those_of_the_page() {
    let mut c = tlc([1, 1, 1], 3);
    c.metrics.request_log = true;
    let mut ssd = with_pages(&c, 6);
    for lpn in 0..6 {
        alone(&mut ssd, whole(Op::Read, lpn, 1));
    }
    let mut requests = Vec::new();
    ssd.drain_requests(&mut requests);
    let chip: Vec<u64> = requests.iter().map(|r| r.parts.chip_ns).collect();
    assert_eq!(chip, [READ, READ].concat());
}

#[test]
fn a_mount_reads_each_page_in_its_time() {
    for (model, bus) in [(TimingModel::Serial, X), (TimingModel::Pipelined, C + X)] {
        let mut c = tlc([1, 1, 1], 3);
        (c.timing.model, c.power.cut) = (model, PowerCut::OnRequest);
        let mut functional = Functional::new(&c, Ftl::new(&c));
        functional.write_run(Lpn(0), 17, 0).expect("the pages fit");
        let sequence = functional.sequence();
        let mut ssd = Ssd::new(&c, functional.ftl, sequence);
        ssd.power_cut().expect("power is on");
        let recovery = ssd.mount(false).expect("it mounts");
        // A full block, five pages and the first erased one, and the first page of 14 more blocks.
        let word_lines = 4 + 2;
        assert_eq!(recovery.reads, 3 * word_lines + 14);
        let expected =
            (3 * word_lines + 14) * bus + word_lines * READ.iter().sum::<u64>() + 14 * READ[0];
        assert_eq!(recovery.time, expected, "{model:?}");
    }
}

#[test]
fn a_checkpoint_programs_its_pages_in_their_times() {
    let mut c = tlc([1, 1, 1], 3);
    c.power.cut = PowerCut::OnRequest;
    c.power.checkpoint_bytes = 16 * 2048;
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    closed(&mut ssd, 1, (0..20).map(|lpn| whole(Op::Write, lpn, 1))).expect("they complete");
    while let Some(next) = ssd.next_event() {
        ssd.run_until(next, &mut Vec::new()).expect("the checkpoint ends");
    }
    let log = operations_of(&mut ssd);
    let metadata: Vec<_> = log.iter().filter(|r| r.cause == Cause::Metadata).collect();
    assert!(!metadata.is_empty(), "no checkpoint");
    for r in metadata.iter().filter(|r| r.op == FlashOp::Program) {
        assert_eq!(in_array(r), PROGRAM[r.place.page as usize % 3], "{r:?}");
    }
}

/// The shared bus, or the planes side by side, each with all of its pages in their times.
fn on_two_planes(c: &Config, pages: [&[usize]; 2]) -> u64 {
    let t = &c.timing;
    let serial = t.model == TimingModel::Serial;
    let bus = t.transfer_ns + if serial { 0 } else { C };
    let of_plane = pages.map(|kinds| kinds.iter().map(|&kind| READ[kind] + bus).sum::<u64>());
    let all = pages.concat();
    let first = all.iter().map(|&kind| READ[kind]).min().expect("there are pages");
    let of_bus = if serial { 0 } else { first + all.len() as u64 * bus };
    match t.busy_unit {
        BusyUnit::Plane => of_plane.into_iter().max().expect("two planes").max(of_bus),
        _ => of_plane.iter().sum::<u64>().max(of_bus),
    }
}

/// Four pages on each of two planes of a channel, so that the second word line of a block begins; then a mount, which
/// reads them and what was written since.
#[test]
fn a_checkpoint_of_several_word_lines_is_programmed_and_read_in_the_times_of_its_pages() {
    for (model, busy_unit, transfer_ns) in [
        (TimingModel::Serial, BusyUnit::Plane, X),
        (TimingModel::Serial, BusyUnit::Chip, X),
        (TimingModel::Pipelined, BusyUnit::Chip, X),
        (TimingModel::Pipelined, BusyUnit::Plane, X),
        // The bus takes longer than the planes.
        (TimingModel::Pipelined, BusyUnit::Plane, 400_000),
    ] {
        let mut c = tlc([1, 1, 2], 3);
        // Entries of 4 B for each page and 6 B for each block are four pages on each plane.
        (c.device.blocks_per_plane, c.device.user_pages) = (150, 3000);
        (c.timing.model, c.timing.busy_unit, c.timing.transfer_ns) =
            (model, busy_unit, transfer_ns);
        // Due with the 16th page: it covers eight pages of one plane and seven of the other.
        (c.power.cut, c.power.checkpoint_bytes) = (PowerCut::OnRequest, 16 * 2048);
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        closed(&mut ssd, 1, (0..20).map(|lpn| whole(Op::Write, lpn, 1))).expect("they complete");
        while let Some(next) = ssd.next_event() {
            ssd.run_until(next, &mut Vec::new()).expect("the checkpoint ends");
        }
        let log = operations_of(&mut ssd);
        let checkpoint: Vec<_> = log.iter().filter(|r| r.cause == Cause::Metadata).collect();
        let bus = if model == TimingModel::Serial { transfer_ns } else { 0 };
        for plane in 0..2 {
            let times = checkpoint.iter().filter(|r| r.place.plane == plane).map(|r| in_array(r));
            let expected = [0, 1, 2, 0].map(|kind: usize| PROGRAM[kind] + bus);
            assert_eq!(times.collect::<Vec<_>>(), expected, "{model:?}: plane {plane}");
        }
        ssd.power_cut().expect("power is on");
        let recovery = ssd.mount(false).expect("it mounts");
        assert_eq!(recovery.checkpoint_pages, 8);
        // The first pages of all blocks, and in the open one those since the checkpoint and the first erased one.
        let scanned = [8usize, 7].map(|covered| {
            (covered..=10).map(|page| page % 3).chain([0; 150]).collect::<Vec<usize>>()
        });
        assert_eq!(recovery.reads, scanned.iter().map(|pages| pages.len() as u64).sum::<u64>());
        let expected =
            on_two_planes(&c, [&[0, 1, 2, 0]; 2]) + on_two_planes(&c, [&scanned[0], &scanned[1]]);
        assert_eq!(recovery.time, expected, "{model:?}, {busy_unit:?}, {transfer_ns} ns");
    }
}

#[test]
fn types_that_do_not_fit_are_refused_with_what_is_expected() {
    let types = ("timing.read_types", "[\"1 us\", \"2 us\"]");
    let three = ("timing.read_types", "[\"1 us\", \"2 us\", \"3 us\"]");
    let tlc = ("preset", "femu-tlc");
    for (sets, words) in [
        (
            vec![("device.bits", "3"), ("device.pages_per_block", "129"), types],
            "timing.read_types: has 2 times; expected 3, one for each of device.bits = 3",
        ),
        (
            vec![types],
            "timing.read_types: has 2 times; expected 1, one for each of device.bits = 1",
        ),
        (
            vec![("device.bits", "2"), ("timing.program_types", "[\"1 us\"]")],
            "timing.program_types: has 1 times; expected 2",
        ),
        (
            vec![("device.bits", "3"), three],
            "device.bits: 128 pages of a block are no whole number of word lines of 3 pages; expected \
             device.pages_per_block = 126 or 129",
        ),
        (
            vec![("device.bits", "3"), ("device.word_line", "8"), three],
            "a word line of 8 pages cannot have as many of each type; expected a multiple of device.bits = 3",
        ),
        // Of the keys that contradict each other, the user has set one.
        (
            vec![tlc, ("device.pages_per_block", "128")],
            "device.pages_per_block: 128 pages of a block are no whole number",
        ),
        (vec![tlc, ("device.bits", "2")], "device.bits: timing.read_types has 3 times; expected 2"),
        (vec![tlc, types], "timing.read_types: has 2 times; expected 3"),
        (
            vec![("device.bits", "3")],
            "device.bits: has no effect here: it needs timing.read_types, timing.program_types or an slc.mode",
        ),
        (
            vec![("device.word_line", "4")],
            "device.word_line: has no effect here: it needs timing.read_types, timing.program_types or an slc.mode",
        ),
        (vec![("device.bits", "5")], "device.bits"),
        (
            vec![("timing.read_types", "\"1 us\"")],
            "expected a list of times, one for each of device.bits",
        ),
        (vec![("timing.read_types", "[1]")], "timing.read_types"),
    ] {
        let error = load(&sets).expect_err(words);
        assert!(error.contains(words), "{error}\nwithout: {words}");
    }
}

#[test]
fn of_a_time_and_its_types_the_later_counts() {
    let tlc = [("device.bits", "3"), ("device.pages_per_block", "96")];
    let types = ("timing.read_types", "[\"50 us\", \"60 us\", \"71 us\"]");
    let with = |more: &[(&'static str, &'static str)]| {
        let c = load(&[&tlc, more].concat()).expect("a valid configuration");
        (c.timing.read_ns, c.timing.read_types_ns)
    };
    assert_eq!(with(&[types]), (60_333, vec![50_000, 60_000, 71_000]));
    assert_eq!(with(&[("timing.read", "9 us"), types]), (60_333, vec![50_000, 60_000, 71_000]));
    assert_eq!(with(&[types, ("timing.read", "9 us")]), (9_000, vec![]));
    assert_eq!(with(&[types, ("timing.read_types", "\"equal\"")]), (75_000, vec![]));
    // Without a list of times, bits and word lines have no effect: they have their defaults.
    let times = [("timing.read", "9 us"), ("timing.program", "90 us")];
    let c = load(&[&[("preset", "femu-tlc")], &times[..]].concat()).expect("a valid configuration");
    assert_eq!((c.device.bits, c.device.word_line, c.device.pages_per_block), (1, 1, 96));
    // A file sets both at once: they must agree, as those of a configuration that was printed do.
    let file = |read: &str| {
        let text = format!(
            "[device]\nbits = 2\n[timing]\nread = \"{read}\"\nread_types = [\"50 us\", \"60 us\"]"
        );
        let file = Some(("x.toml".to_owned(), text));
        config::load::<Kernel>(&Input { file, ..Input::default() })
    };
    assert_eq!(file("55 us").expect("the mean").0.timing.read_ns, 55_000);
    let errors = file("54 us").expect_err("another time");
    let error = errors.iter().map(ToString::to_string).collect::<String>();
    assert!(
        error.contains(
            "x.toml:4: timing.read: found 54 us, but the mean of timing.read_types is 55 us"
        ),
        "{error}"
    );
    // What is printed is read as the same configuration.
    let c = load(&[&tlc[..], &[types]].concat()).expect("a valid configuration");
    let text = config::to_toml(&Kernel(c.clone()));
    let again = config::load::<Kernel>(&Input {
        file: Some(("p.toml".to_owned(), text)),
        ..Input::default()
    });
    let mut again = again.expect("a valid configuration").0;
    again.run.name.clone_from(&c.run.name);
    assert_eq!(again, c);
}
