//! SLC blocks: the cells of a fill by hand, and the times of every kind of operation on their pages.

use crate::rig::{alone, closed, device, free_blocks, operations_of, whole, with_pages};
use ssd_core::config::{
    Amount, Config, Fold, FoldPath, Frontiers, PoolScope, SlcFull, SlcMode, TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::{Functional, Tally};
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos, PoolId};

const READ: [u64; 3] = [56_500, 77_500, 106_000];
const PROGRAM: [u64; 3] = [820_500, 2_225_000, 5_734_000];
const ERASE: u64 = 3_000_000;
const SLC_READ: u64 = 25_000;
const SLC_PROGRAM: u64 = 200_000;
const C: u64 = 200;
const X: u64 = 13_653;

/// One plane of `blocks` blocks with `pages` pages of `bits` bits, `user` blocks of data, and collection at one erased
/// block.
fn plane(bits: u32, blocks: u32, pages: u32, user: u32) -> Config {
    let mut c = device([1, 1, 1], blocks, pages, user * pages);
    (c.device.bits, c.device.word_line) = (bits, bits);
    c.alloc.frontiers = Frontiers::HostGc;
    (c.gc.reserve, c.gc.trigger) = (1, vec![free_blocks(1)]);
    c.slc.mode = SlcMode::Dynamic;
    c
}

/// A cell of the study: blocks, pages of a block, bits, blocks of data, most SLC blocks, blocks kept erased.
#[derive(Clone, Copy, Debug)]
struct Cell {
    n: u32,
    s: u32,
    b: u32,
    u: u32,
    m: u32,
}

/// Blocks that the cells keep erased: the trigger, and the block that the host opens next.
const R: u32 = 2;

/// What a sequential fill has met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fill {
    /// Pages before the first that was written directly, and before the first fold.
    direct: u32,
    folding: u32,
    slc_left: u32,
    copies: u64,
    erases: u64,
}

fn fill(c: &Config) -> (Fill, Tally) {
    let mut f = Functional::new(c, Ftl::new(c));
    let (mut direct, mut folding) = (u32::MAX, u32::MAX);
    for lpn in 0..c.device.user_pages {
        f.write(Lpn(lpn), 0).expect("the user pages fit");
        if f.tally.slc.host_pages <= u64::from(lpn) {
            direct = direct.min(lpn);
        }
        if f.tally.slc.folds > 0 {
            folding = folding.min(lpn);
        }
    }
    f.ftl.audit().unwrap();
    let erases = f.ftl.blocks.erases.iter().map(|&n| u64::from(n)).sum();
    let slc_left = f.ftl.slc_blocks().expect("a device with SLC blocks") as u32;
    (Fill { direct, folding, slc_left, copies: f.tally.fold_pages, erases }, f.tally)
}

#[test]
fn a_fill_meets_the_cells_of_the_study() {
    let first = Cell { n: 30, s: 12, b: 3, u: 24, m: 15 };
    let second = Cell { n: 32, s: 16, b: 4, u: 24, m: 12 };
    let expected = [
        (first, Fill { direct: 60, folding: 216, slc_left: 6, copies: 36, erases: 9 }, (9, 8)),
        (second, Fill { direct: 48, folding: 336, slc_left: 8, copies: 16, erases: 4 }, (25, 24)),
    ];
    for (cell, expected, waf) in expected {
        let Cell { n, s, b, u, m } = cell;
        // The closed forms.
        let y = (n - R - u) * b / (b - 1);
        let direct = m * s / b;
        let by_form = Fill {
            direct,
            folding: direct + s * (n - m - R),
            slc_left: y,
            copies: u64::from((m - y) * s / b),
            erases: u64::from(m - y),
        };
        assert_eq!(by_form, expected, "{cell:?}");
        let mut c = plane(b, n, s, u);
        c.slc.share = f64::from(m) / f64::from(n);
        let (found, tally) = fill(&c);
        assert_eq!(found, expected, "{cell:?}");
        assert_eq!(tally.programs() * waf.1, tally.host_pages * waf.0, "{cell:?}");
        assert_eq!((tally.victims, tally.gc_pages), (0, 0), "nothing else is collected");
        // While the pool folds, b - 1 pages of the host are written for each copy.
        let meanwhile = u64::from(c.device.user_pages - found.folding);
        assert_eq!(meanwhile, u64::from(b - 1) * found.copies, "{cell:?}");
    }
}

/// The same device with times, and an operation log.
fn timed(mut c: Config) -> Config {
    let t = &mut c.timing;
    t.model = TimingModel::Pipelined;
    (t.read_types_ns, t.program_types_ns) = (READ.to_vec(), PROGRAM.to_vec());
    (t.read_ns, t.program_ns, t.erase_ns) = (80_000, 2_926_500, ERASE);
    (t.command_ns, t.transfer_ns) = (C, X);
    (c.slc.read_ns, c.slc.program_ns) = (SLC_READ, SLC_PROGRAM);
    c.alloc.pool = PoolScope::Plane;
    c.metrics.op_log = true;
    c
}

fn in_array(r: &OpRecord) -> u64 {
    r.array.map_or(0, |(from, to)| (to - from).0)
}

/// What the log of one plane says of its blocks of 12 pages: whether the host has programmed each with one bit a cell
/// since its erase, and how many pages it has. Every line has the times of its page.
struct Blocks {
    slc: Vec<Option<bool>>,
    pages: Vec<u32>,
    /// Blocks that were SLC when they were erased, and pages programmed in such blocks.
    folded: u64,
    slc_pages: u64,
}

impl Blocks {
    fn new(blocks: u32) -> Blocks {
        let n = blocks as usize;
        Blocks { slc: vec![None; n], pages: vec![0; n], folded: 0, slc_pages: 0 }
    }

    /// `bus`: what one time of the serial model includes.
    fn take(&mut self, r: &OpRecord, bus: u64) {
        let (block, kind) = (r.place.block as usize, r.place.page as usize % 3);
        let slc = &mut self.slc[block];
        match r.op {
            FlashOp::Erase => {
                assert_eq!(in_array(r), ERASE, "{r:?}");
                let was_slc = slc.take() == Some(true);
                assert_eq!(self.pages[block], if was_slc { 4 } else { 12 }, "{r:?}");
                assert_eq!(r.cause == Cause::Fold, was_slc, "{r:?}");
                (self.pages[block], self.folded) = (0, self.folded + u64::from(was_slc));
            }
            FlashOp::Program => {
                let is_slc = in_array(r) == SLC_PROGRAM + bus;
                assert!(is_slc || in_array(r) == PROGRAM[kind] + bus, "{r:?}");
                assert!(!is_slc || r.cause == Cause::Host, "{r:?}");
                assert_eq!(*slc.get_or_insert(is_slc), is_slc, "a block of two kinds: {r:?}");
                assert_eq!(r.place.page, self.pages[block], "{r:?}");
                self.pages[block] += 1;
                self.slc_pages += u64::from(is_slc);
                assert!(self.pages[block] <= if is_slc { 4 } else { 12 }, "{r:?}");
            }
            FlashOp::Read => {
                let is_slc = slc.expect("a programmed block");
                let expected = if is_slc { SLC_READ } else { READ[kind] };
                assert_eq!(in_array(r), expected + bus, "{r:?}");
                assert_eq!(r.cause == Cause::Fold, is_slc && r.cause != Cause::Host, "{r:?}");
            }
        }
    }
}

#[test]
fn every_operation_takes_the_time_of_its_block() {
    for (path, model) in [
        (FoldPath::Controller, TimingModel::Pipelined),
        (FoldPath::Copyback, TimingModel::Pipelined),
        (FoldPath::Controller, TimingModel::Serial),
        (FoldPath::Copyback, TimingModel::Serial),
    ] {
        let mut c = timed(plane(3, 20, 12, 14));
        (c.slc.path, c.timing.model, c.slc.share) = (path, model, 0.5);
        (c.slc.mode, c.slc.static_bytes) = (SlcMode::Hybrid, 2 * 4 * 2048);
        let mut ssd = with_pages(&c, 0);
        ssd.audit_every(7);
        let mut rng = Stream::new(4, "requests");
        let pages = u64::from(c.device.user_pages);
        let fill = (0..c.device.user_pages).map(|lpn| whole(Op::Write, lpn, 1));
        let mixed =
            (0..900).map(|n| whole([Op::Read, Op::Write][n % 2], rng.below(pages) as u32, 1));
        let requests: Vec<_> = fill.chain(mixed).collect();
        closed(&mut ssd, 3, requests).expect("they complete");
        let mut blocks = Blocks::new(20);
        for r in &operations_of(&mut ssd) {
            // The log of the serial model has one phase; a copy-back crosses no bus.
            let back = path == FoldPath::Copyback && r.cause == Cause::Fold;
            let crosses = model == TimingModel::Serial && !back && r.op != FlashOp::Erase;
            blocks.take(r, if crosses { X } else { 0 });
        }
        let m = ssd.measured();
        assert!(m.slc.folds > 20 && m.gc.calls > 5, "{path:?}, {model:?}: {:?}", m.slc);
        assert_eq!(m.flash.erases[Cause::Fold.at()], blocks.folded, "{path:?}, {model:?}");
        assert_eq!(m.slc.host_pages, blocks.slc_pages, "{path:?}, {model:?}");
        assert_eq!(m.slc.pages.moved + m.slc.pages.stale, m.flash.programs[Cause::Fold.at()]);
        ssd.audit().unwrap();
    }
}

/// A device whose first `pages` pages are on SLC blocks, and which folds after 1 ms without a host operation.
fn idle(path: FoldPath, pages: u32) -> Ssd {
    let mut c = timed(plane(3, 30, 12, 24));
    (c.slc.fold, c.slc.idle_ns, c.slc.path) = (Fold::Idle, 1_000_000, path);
    let mut ssd = with_pages(&c, 0);
    for lpn in 0..pages {
        assert_eq!(alone(&mut ssd, whole(Op::Write, lpn, 1)), C + X + SLC_PROGRAM);
    }
    ssd
}

#[test]
fn an_idle_pool_folds_all_of_its_full_blocks_and_no_pool_before() {
    let mut ssd = idle(FoldPath::Controller, 14);
    let idle_since = ssd.now();
    let at = |after: u64| Nanos(idle_since.0 + after);
    ssd.run_until(at(999_999), &mut Vec::new()).unwrap();
    assert_eq!(ssd.measured().slc.folds, 0);
    ssd.run_until(at(1_000_000), &mut Vec::new()).unwrap();
    assert_eq!(ssd.measured().slc.folds, 1);
    ssd.run_until(at(1_000_000_000), &mut Vec::new()).unwrap();
    let slc = ssd.measured().slc;
    // The fourth block is open, with two of four pages.
    assert_eq!((slc.folds, slc.pages.moved, slc.foreground), (3, 12, 0));
    assert_eq!(ssd.core.ftl.slc_blocks(), Some(1));
    assert_eq!(alone(&mut ssd, whole(Op::Read, 12, 1)), C + SLC_READ + X);
    // The twelve pages fill a block with three bits a cell.
    for lpn in 0..12 {
        assert_eq!(alone(&mut ssd, whole(Op::Read, lpn, 1)), C + READ[lpn as usize % 3] + X);
    }
    ssd.audit().unwrap();
}

#[test]
fn a_read_while_a_block_is_folded_puts_off_the_next_one() {
    let mut c = timed(plane(3, 30, 12, 24));
    (c.slc.fold, c.slc.idle_ns) = (Fold::Idle, 100_000_000);
    let mut ssd = with_pages(&c, 0);
    for lpn in 0..14 {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    ssd.run_until(Nanos(ssd.now().0 + c.slc.idle_ns), &mut Vec::new()).unwrap();
    assert_eq!(ssd.measured().slc.folds, 1);
    alone(&mut ssd, whole(Op::Read, 13, 1));
    let idle_since = ssd.now().0;
    ssd.run_until(Nanos(idle_since + c.slc.idle_ns - 1), &mut Vec::new()).unwrap();
    let m = ssd.measured();
    assert_eq!((m.slc.folds, m.flash.erases[Cause::Fold.at()]), (1, 1));
    ssd.run_until(Nanos(idle_since + c.slc.idle_ns), &mut Vec::new()).unwrap();
    assert_eq!(ssd.measured().slc.folds, 2);
}

/// Three blocks that are folded: twelve SLC pages become four word lines. Each page is programmed by itself, so a word
/// line takes the sum of its types; a program of the whole line in one pass is not modelled.
#[test]
fn a_folded_word_line_takes_its_reads_and_programs() {
    let programs: u64 = PROGRAM.iter().sum();
    for (path, line) in [
        (FoldPath::Controller, 3 * (C + SLC_READ + X) + 3 * (C + X) + programs),
        (FoldPath::Copyback, 3 * (C + SLC_READ) + programs),
    ] {
        let mut ssd = idle(path, 12);
        ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).unwrap();
        let log = operations_of(&mut ssd);
        let folds: Vec<_> = log.iter().filter(|r| r.cause == Cause::Fold).collect();
        let (first, last) = (folds.first().expect("folds"), folds.last().expect("folds"));
        let took = last.end.0 - first.start.0;
        assert_eq!(took, 4 * line + 3 * (C + ERASE), "{path:?}");
        assert_eq!(ssd.measured().slc.folds, 3, "{path:?}");
    }
}

#[test]
fn a_host_that_waits_writes_nothing_directly_as_long_as_there_is_something_to_fold() {
    for (full, direct) in [(SlcFull::Direct, true), (SlcFull::Wait, false)] {
        let mut c = timed(plane(3, 30, 12, 20));
        (c.slc.mode, c.slc.static_bytes) = (SlcMode::Static, 3 * 4 * 2048);
        c.slc.full = full;
        let mut ssd = with_pages(&c, 0);
        ssd.audit_every(5);
        let requests = (0..200).map(|lpn| whole(Op::Write, lpn, 1));
        closed(&mut ssd, 4, requests).expect("they complete");
        let m = ssd.measured();
        assert_eq!(m.slc.host_pages < 200, direct, "{full:?}: {:?}", m.slc);
        assert_eq!(m.slc.folds > 40, !direct, "{full:?}: {:?}", m.slc);
        assert!(ssd.core.ftl.slc_blocks() <= Some(3), "{full:?}");
        let mut f = Functional::new(&c, Ftl::new(&c));
        (0..200).for_each(|lpn| f.write(Lpn(lpn), 0).expect("it fits"));
        assert_eq!(f.tally.slc.host_pages < 200, direct, "{full:?}: {:?}", f.tally);
        f.ftl.audit().unwrap();
    }
}

/// A fold for which the host waits needs neither its turn nor the end of a list of victims: the rule allows no
/// collection in the background.
#[test]
fn a_host_that_waits_is_served_whatever_the_concurrency_rule_says() {
    for (amount, mode, soft) in [
        (Amount::One, SlcMode::Dynamic, 0),
        (Amount::UntilSatisfied, SlcMode::Hybrid, 2),
        (Amount::AllCandidates, SlcMode::Static, 2),
    ] {
        let mut c = plane(2, 8, 4, 1);
        (c.alloc.frontiers, c.gc.amount) = (Frontiers::Streams(3), amount);
        (c.slc.mode, c.slc.full, c.slc.share) = (mode, SlcFull::Wait, 0.2);
        c.slc.static_bytes = if mode.has_static() { 2 * 2048 } else { 0 };
        c.gc.trigger = vec![free_blocks(soft)];
        c.gc.concurrency = crate::rig::named(ssd_core::ftl::gc::concurrency::ALL, "adaptive")
            .with("gmax", Value::Int(0));
        let mut ssd = with_pages(&c, 0);
        ssd.audit_every(1);
        let mut rng = Stream::new(8, "streams");
        let write =
            |_| Request { stream: rng.below(3) as u8, ..whole(Op::Write, rng.below(4) as u32, 1) };
        let requests: Vec<_> = (0..600).map(write).collect();
        closed(&mut ssd, 8, requests).unwrap_or_else(|error| panic!("{amount:?}: {error}"));
        assert!(ssd.measured().slc.foreground > 2, "{amount:?}: {:?}", ssd.measured().slc);
    }
}

#[test]
fn erases_of_slc_blocks_wear_less() {
    let mut c = plane(3, 30, 12, 16);
    (c.wear.endurance, c.wear.endurance_spread, c.slc.endurance) = (12, 0.25, 60);
    (c.slc.mode, c.slc.static_bytes) = (SlcMode::Static, 4 * 4 * 2048);
    let mut f = Functional::new(&c, Ftl::new(&c));
    let mut rng = Stream::new(9, "wear");
    let worn = |f: &Functional| f.ftl.worn_out_in(PoolId(0));
    while worn(&f) < 4 {
        let page = rng.below(u64::from(c.device.user_pages));
        f.write(Lpn(page as u32), 0).expect("blocks are left");
    }
    let blocks = &f.ftl.blocks;
    let mut beyond = 0;
    for (at, &erases) in blocks.erases.iter().enumerate() {
        let of_slc = blocks.slc_erases[at];
        let worn = f64::from(erases - of_slc) / 12.0 + f64::from(of_slc) / 60.0;
        let is_bad = blocks.is_bad(ssd_core::units::BlockId(at as u32));
        assert_eq!(is_bad, worn >= 0.75 && is_bad, "block {at} is bad early: {worn}");
        assert!(is_bad || worn < 1.25, "block {at} is good for too long: {worn}");
        beyond += u32::from(is_bad && erases > 15);
    }
    assert!(beyond > 0, "no block has survived more erases than it would with all bits");
    f.ftl.audit().unwrap();
}

#[test]
fn frontiers_of_several_planes_share_the_cache_of_their_pool() {
    for superblock in [false, true] {
        let mut c = plane(3, 16, 12, 36);
        (c.device.channels, c.device.planes_per_chip) = (1, 4);
        c.alloc.pool = PoolScope::Device;
        c.alloc.placement = crate::rig::named(ssd_core::ftl::place::ALL, "round-robin");
        if superblock {
            c.alloc.erase_unit = ssd_core::config::EraseUnit::Superblock;
            c.device.user_pages = 8 * 48;
        }
        c.slc.share = 0.25;
        let units = if superblock { 16 } else { 64 };
        let mut f = Functional::new(&c, Ftl::new(&c));
        for lpn in 0..c.device.user_pages {
            f.write(Lpn(lpn), 0).expect("the user pages fit");
            f.ftl.audit().unwrap();
        }
        // A quarter of the units, each with a third of its pages.
        let pages = if superblock { 48 } else { 12 };
        assert_eq!(f.tally.slc.host_pages, units / 4 * pages / 3, "superblock: {superblock}");
        assert_eq!(f.tally.slc.folds, 0);
    }
}

#[test]
fn a_snapshot_holds_the_kinds_of_blocks() {
    let mut c = plane(3, 30, 12, 22);
    (c.wear.endurance, c.slc.share) = (50, 0.5);
    (c.slc.mode, c.slc.static_bytes) = (SlcMode::Hybrid, 2 * 4 * 2048);
    let mut f = Functional::new(&c, Ftl::new(&c));
    let mut rng = Stream::new(5, "snapshot");
    let user = u64::from(c.device.user_pages);
    (0..700).for_each(|_| f.write(Lpn(rng.below(user) as u32), 0).expect("it fits"));
    let snapshot = f.ftl.snapshot(f.sequence()).expect("at rest");
    let restored = Ftl::restore(&c, &snapshot).expect("the same device");
    assert_eq!(restored.blocks.slc, f.ftl.blocks.slc);
    assert_eq!(restored.blocks.slc_erases, f.ftl.blocks.slc_erases);
    assert!(f.ftl.slc_blocks() > Some(0) && f.ftl.blocks.slc_erases.iter().any(|&n| n > 0));
    assert!(snapshot == restored.snapshot(f.sequence()).expect("at rest"));
    let off = Config { slc: Default::default(), ..c };
    let error = Ftl::restore(&off, &snapshot).err().expect("a device without SLC blocks");
    assert!(error.contains("slc.mode"), "{error}");
}
