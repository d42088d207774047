//! Checkpoints against a literal version of their rules: which blocks of the two areas are erased and programmed, in
//! which order and when, in runs with power cuts.

use crate::rig::device;
use ssd_core::config::{BusyUnit, Config, PowerCut, RemapMode, TimingModel};
use ssd_core::ftl::Ftl;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::{Cause, RemapCounts};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

const PLANES: u32 = 2;
const BLOCKS: u32 = 192;
const PAGES: u32 = 2;
const PAGE_BYTES: u32 = 512;
const USER: u32 = 600;
const PROGRAM: u64 = 500 + 20;
const ERASE: u64 = 2000;

/// Two planes whose checkpoints have five pages on each, or more if copies share pages.
fn small() -> Config {
    let mut c = device([PLANES, 1, 1], BLOCKS, PAGES, USER);
    c.device.page_bytes = PAGE_BYTES;
    (c.timing.model, c.timing.busy_unit) = (TimingModel::Serial, BusyUnit::Plane);
    (c.remap.mode, c.metrics.op_log) = (RemapMode::Share, true);
    (c.power.cut, c.power.checkpoint_bytes) = (PowerCut::OnRequest, 30 * u64::from(PAGE_BYTES));
    c
}

/// Pages on each plane of a checkpoint with this many bytes of lists.
fn pages(listed: u32) -> u32 {
    let bytes = 4 * USER + 6 * PLANES * BLOCKS + listed;
    bytes.div_ceil(PLANES * PAGE_BYTES)
}

/// Blocks of an area on each plane: each page may be listed as an owner, as trimmed, and in a victim.
fn blocks_of_area() -> u32 {
    pages((12 + 12 + 16) * USER).div_ceil(PAGES)
}

/// The operations of checkpoints between two cuts, and how many checkpoints were completed.
struct Period {
    rows: Vec<OpRecord>,
    written: usize,
}

/// The request to copy a page to another.
fn copy(to: u32, from: u32) -> (Request, Vec<u8>) {
    let range = SourceRange { sector: u64::from(from), sectors: 1 };
    (Request::new(Op::Copy, u64::from(to), 1), encode(&[range]))
}

/// Writes and copies of single pages with cuts at random times, after each of the first `shared` pages has been copied.
fn periods(seed: u64, shared: u32) -> Vec<Period> {
    let c = small();
    let mut functional = Functional::new(&c, Ftl::new(&c));
    functional.write_run(Lpn(0), USER / 2, 0).expect("the pages fit");
    for lpn in 0..shared {
        let (request, list) = copy(USER / 2 + lpn, lpn);
        functional.copy(0, &request, &list, &mut RemapCounts::default()).expect("a copy");
    }
    let sequence = functional.sequence();
    let mut ssd = Ssd::new(&c, functional.ftl, sequence);
    let (mut rng, mut all, mut before) = (Stream::new(seed, "checkpoints"), Vec::new(), 0);
    let mut take = |ssd: &mut Ssd| {
        let mut rows = Vec::new();
        ssd.drain_operations(&mut rows);
        rows.retain(|row| row.cause == Cause::Metadata);
        let checkpoints = ssd.measured().power.checkpoints as usize;
        all.push(Period { rows, written: checkpoints - before });
        before = checkpoints;
    };
    // Copies come in waves, so that checkpoints grow and shrink.
    for step in 0..2000 {
        let (to, from) = (rng.below(u64::from(USER)) as u32, rng.below(u64::from(USER)) as u32);
        let copies = step / 300 % 2 == 0 && rng.chance(0.7) && to != from;
        let now = ssd.now();
        if copies {
            let (request, list) = copy(to, from);
            ssd.submit(now, &request, Some(list.as_slice())).expect("a copy");
        } else {
            ssd.submit(now, &Request::new(Op::Write, u64::from(to), 1), None).expect("a write");
        }
        if rng.chance(0.03) {
            ssd.run_until(Nanos(now.0 + rng.below(4000)), &mut Vec::new()).expect("it goes on");
            ssd.power_cut().expect("power is on");
            take(&mut ssd);
            ssd.mount(false).expect("it mounts");
        } else {
            ssd.run_until(Nanos::NEVER, &mut Vec::new()).expect("it completes");
        }
    }
    while let Some(next) = ssd.next_event() {
        ssd.run_until(next, &mut Vec::new()).expect("it goes on");
    }
    take(&mut ssd);
    all
}

/// The rows of one plane, split into checkpoints: erases, then programs.
fn split(rows: &[OpRecord], plane: u32) -> Vec<Vec<OpRecord>> {
    let mut all: Vec<Vec<OpRecord>> = Vec::new();
    for row in rows.iter().filter(|row| row.place.channel == plane) {
        let follows = all.last().and_then(|of| of.last()).is_some_and(|last| {
            let next = last.place.block * PAGES + last.place.page + 1;
            let place = row.place.block * PAGES + row.place.page;
            last.op == FlashOp::Erase || row.op == FlashOp::Program && place == next
        });
        if !follows {
            all.push(Vec::new());
        }
        all.last_mut().expect("pushed").push(*row);
    }
    all
}

/// What one plane knows of the two areas.
#[derive(Default)]
struct Areas {
    /// The area with the last completed checkpoint.
    current: Option<u32>,
    /// Blocks that the last checkpoint has used of each area; the pages of one that a cut ended are not in the log.
    used: [u32; 2],
    cut: [bool; 2],
    /// Blocks from the first to the last that holds a page or is half erased.
    holds: [u32; 2],
}

impl Areas {
    fn take(&mut self, rows: &[OpRecord], is_whole: bool) {
        let half = self.current.map_or(0, |current| 1 - current);
        let (at, first) = (half as usize, BLOCKS + half * blocks_of_area());
        let erases = rows.iter().take_while(|row| row.op == FlashOp::Erase).count() as u32;
        for (row, number) in rows.iter().zip(0u32..) {
            let (block, page) = match number.checked_sub(erases) {
                Some(page) => (page / PAGES, page % PAGES),
                None => (number, 0),
            };
            let expected = if number < erases { FlashOp::Erase } else { FlashOp::Program };
            assert_eq!(row.op, expected, "{row:?}");
            assert_eq!((row.place.block, row.place.page), (first + block, page), "{row:?}");
            let time = if number < erases { ERASE } else { PROGRAM };
            assert!(row.cut_off || row.end.0 - row.start.0 == time, "{row:?}");
            if let Some(last) = number.checked_sub(1).map(|last| rows[last as usize]) {
                assert_eq!(row.queued, last.end, "one after the other: {last:?}, {row:?}");
            }
        }
        let begun = rows.len() as u32 > erases;
        if self.cut[at] {
            assert!(!begun || erases >= self.holds[at], "{erases} of {} blocks", self.holds[at]);
        } else {
            assert!(if begun { erases == self.used[at] } else { erases <= self.used[at] });
        }
        let programmed = (rows.len() as u32 - erases).div_ceil(PAGES);
        self.holds[at] = if begun { programmed } else { self.holds[at].max(erases) };
        self.cut[at] = !is_whole;
        if is_whole {
            (self.current, self.used[at]) = (Some(half), programmed);
        }
    }
}

#[test]
fn checkpoints_erase_what_the_last_one_in_their_area_has_used() {
    let (mut sizes, mut cut, mut erases) = ([0; 16], 0, 0);
    for (seed, shared) in [(1, 0), (2, 10), (3, 130), (4, 290)] {
        let mut areas: Vec<Areas> = (0..PLANES).map(|_| Areas::default()).collect();
        if shared > 0 {
            // A checkpoint contains from the beginning what no out-of-band area does.
            let used = [pages(12 * shared).div_ceil(PAGES), 0];
            for of in &mut areas {
                (of.current, of.used) = (Some(0), used);
            }
        }
        for Period { rows, written } in periods(seed, shared) {
            let planes = [split(&rows, 0), split(&rows, 1)];
            for number in 0..written {
                let [a, b] = planes.each_ref().map(|plane| &plane[number]);
                assert_eq!((a.len(), a[0].queued), (b.len(), b[0].queued), "{a:?}, {b:?}");
                let programs = a.iter().filter(|row| row.op == FlashOp::Program).count();
                assert!(programs >= pages(0) as usize, "{programs} pages");
                sizes[programs] += 1;
                erases += a.len() - programs;
            }
            for (areas, plane) in areas.iter_mut().zip(&planes) {
                assert!(plane.len() == written || plane.len() == written + 1, "{written} written");
                for (number, of) in plane.iter().enumerate() {
                    areas.take(of, number < written);
                }
                if plane.len() == written && planes.iter().any(|plane| plane.len() > written) {
                    let next = areas.current.map_or(0, |current| 1 - current) as usize;
                    areas.cut[next] = true;
                }
            }
            cut += usize::from(planes[0].len() > written);
        }
    }
    let different = sizes.iter().filter(|&&n| n > 0).count();
    assert!(different > 4 && cut > 20 && erases > 200, "{sizes:?}, {cut} cut, {erases} erases");
}
