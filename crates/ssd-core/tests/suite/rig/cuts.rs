//! Power cuts: a closed loop of whole-page requests that knows, independently of the map, what a cut may leave of each
//! page.

use super::PAGE;
use ssd_core::config::{BufferPower, Config, RemapMode};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request, flags};
use ssd_core::metrics::report::Recovery;
use ssd_core::nand::flash::fill_digest;
use ssd_core::nand::nvram::SHARE_BYTES;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};
use std::collections::BTreeMap;

/// Percent of requests that are TRIMs, reads and flushes; the rest are writes, of which this share is FUA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) seed: u64,
    pub(crate) depth: usize,
    pub(crate) trim: u64,
    pub(crate) read: u64,
    pub(crate) flush: u64,
    /// On a device that remaps.
    pub(crate) copy: u64,
    pub(crate) fua: u64,
    /// Pages of the longest request.
    pub(crate) pages: u64,
}

impl Load {
    pub(crate) const MIXED: Load =
        Load { seed: 1, depth: 4, trim: 15, read: 5, flush: 0, copy: 0, fua: 0, pages: 3 };
}

/// One change of a page: what it holds afterwards, and the request that changed it.
#[derive(Clone, Copy, Debug)]
struct Change {
    digest: u64,
    request: u64,
    /// When a cut can no longer undo it.
    durable: bool,
}

/// A run that may be cut at any of its steps.
pub(crate) struct Cuts {
    pub(crate) ssd: Ssd,
    load: Load,
    rng: Stream,
    user_pages: u64,
    volatile: bool,
    /// Admission numbers of a page of a copy, with data or without.
    numbers_of_copy: [u64; 2],
    /// Pages of the longest copy whose records fit into the NVRAM.
    most_copied: u64,
    /// The changes of every page, in order of admission; the first one is what the last cut, or the start, left.
    changes: Vec<Vec<Change>>,
    /// Admission number of the last page written.
    sequence: u64,
    pending: BTreeMap<u64, Request>,
    pub(crate) completed: u64,
}

impl Cuts {
    /// A device of `config`, with its first `filled` pages written once.
    pub(crate) fn new(config: &Config, load: Load, filled: u32) -> Cuts {
        let mut functional = Functional::new(config, Ftl::new(config));
        if filled > 0 {
            functional.write_run(Lpn(0), filled, 0).expect("the pages fit");
        }
        let sequence = functional.sequence();
        let mut ssd = Ssd::new(config, functional.ftl, sequence);
        ssd.audit_every(7);
        let start = |lpn: u32| {
            let digest = if lpn < filled { fill_digest(Lpn(lpn), u64::from(lpn) + 1) } else { 0 };
            vec![Change { digest, request: u64::MAX, durable: true }]
        };
        Cuts {
            ssd,
            load,
            rng: Stream::new(load.seed, "power"),
            user_pages: u64::from(config.device.user_pages),
            volatile: config.host.write_buffer_pages > 0
                && config.power.buffer == BufferPower::Volatile,
            numbers_of_copy: match config.remap.mode {
                _ if config.raid.group > 0 => [1, 0],
                // The shared page, and its own.
                RemapMode::Copy => [2, 1],
                _ => [1, 1],
            },
            most_copied: config.power.nvram_bytes / SHARE_BYTES,
            changes: (0..config.device.user_pages).map(start).collect(),
            sequence,
            pending: BTreeMap::new(),
            completed: 0,
        }
    }

    fn draw(&mut self) -> Request {
        let Load { trim, read, flush, copy, fua, pages, .. } = self.load;
        let kind = self.rng.below(100);
        let count = 1 + self.rng.below(pages);
        // Half of the requests go to a few pages, so that writes of a page overlap.
        let space = if self.rng.below(2) == 0 { self.user_pages } else { 8.min(self.user_pages) };
        let first = self.rng.below(space - count.min(space - 1));
        let op = match kind {
            k if k < trim => Op::Trim,
            k if k < trim + read => Op::Read,
            k if k < trim + read + flush => return Request::new(Op::Flush, 0, 0),
            k if k < trim + read + flush + copy => Op::Copy,
            _ => Op::Write,
        };
        let count = if op == Op::Copy { count.min(self.most_copied) } else { count };
        let request = Request::new(op, first * PAGE, (count * PAGE) as u32);
        let mut bits = 0;
        if op == Op::Write && self.rng.below(100) < fua {
            bits = if self.rng.below(3) == 0 { flags::PREFLUSH } else { flags::FUA };
        }
        Request { flags: bits, ..request }
    }

    /// Submit a copy to these pages from others, often ones with writes under way; `newest[destination] =
    /// newest[source]`.
    fn submit_copy(&mut self, request: Request) {
        let (first, count) = (request.sector / PAGE, u64::from(request.sectors) / PAGE);
        let from = loop {
            let space = if self.rng.below(2) == 0 { self.user_pages } else { 16 };
            let from = self.rng.below(space.min(self.user_pages) - count + 1);
            if from + count <= first || first + count <= from {
                break from;
            }
        };
        let data = encode(&[SourceRange { sector: from * PAGE, sectors: count * PAGE }]);
        let id = self.ssd.submit(self.ssd.now(), &request, Some(&data)).expect("a valid copy").0;
        for page in 0..count {
            let newest = self.changes[(from + page) as usize].last().expect("the first one");
            self.sequence += self.numbers_of_copy[usize::from(newest.digest == 0)];
            let change = Change { digest: newest.digest, request: id, durable: false };
            self.changes[(first + page) as usize].push(change);
        }
        self.pending.insert(id, request);
    }

    fn submit(&mut self, request: Request) {
        if request.op == Op::Copy {
            return self.submit_copy(request);
        }
        let id = self.ssd.submit(self.ssd.now(), &request, None).expect("a valid request").0;
        for page in request.sector / PAGE..(request.sector + u64::from(request.sectors)) / PAGE {
            let digest = match request.op {
                Op::Write => {
                    self.sequence += 1;
                    fill_digest(Lpn(page as u32), self.sequence)
                }
                Op::Trim => 0,
                _ => continue,
            };
            let change = Change { digest, request: id, durable: false };
            self.changes[page as usize].push(change);
        }
        self.pending.insert(id, request);
    }

    /// Keep the queue full and run the next instant, or up to its completions.
    pub(crate) fn step(&mut self) {
        while self.pending.len() < self.load.depth {
            let request = self.draw();
            self.submit(request);
        }
        self.step_only();
    }

    /// Run the next instant, or up to its completions.
    fn step_only(&mut self) {
        let mut done = Vec::new();
        let next = self.ssd.next_event().expect("requests are under way");
        self.ssd.run_until(next, &mut done).unwrap_or_else(|e| panic!("{e}"));
        for c in done {
            let request = self.pending.remove(&c.id.0).expect("it was submitted");
            self.completed += 1;
            let all = self.volatile && (c.op == Op::Flush || request.flags & flags::PREFLUSH != 0);
            let safe = !self.volatile
                || request.flags & flags::FUA != 0
                || matches!(c.op, Op::Trim | Op::Copy);
            for change in self.changes.iter_mut().flatten() {
                let here = safe && change.request == c.id.0;
                // A flush covers the writes admitted before it.
                change.durable |= here || (all && change.request < c.id.0);
            }
        }
    }

    pub(crate) fn run(&mut self, steps: u64) {
        (0..steps).for_each(|_| self.step());
    }

    /// Complete what is under way, and continue with a device in the state of this one.
    pub(crate) fn through_a_snapshot(&mut self, config: &Config) {
        while !self.pending.is_empty() {
            self.step_only();
        }
        self.ssd.empty_buffer().expect("there is room");
        self.ssd.run_until(Nanos::NEVER, &mut Vec::new()).expect("collection ends");
        assert_eq!(self.ssd.next_event(), None, "something is left to do");
        let snapshot = self.ssd.snapshot().expect("it is at rest");
        let plugs = Plugs::default();
        let device = Functional::restore(config, &snapshot, &plugs).expect("the same device");
        let sequence = device.sequence();
        self.ssd = Ssd::new(config, device.ftl, sequence);
        self.ssd.audit_every(7);
        for changes in &mut self.changes {
            let newest = changes.last().expect("the first one").digest;
            *changes = vec![Change { digest: newest, request: u64::MAX, durable: true }];
        }
        self.sequence = sequence;
    }

    /// Cut the power now.
    pub(crate) fn cut(&mut self) {
        let lost = self.ssd.power_cut().expect("power is on").len();
        assert_eq!(lost, self.pending.len(), "requests that had not completed");
        self.pending.clear();
    }

    /// Run, cut the power, and mount.
    pub(crate) fn cut_after(&mut self, steps: u64, what: &dyn std::fmt::Debug) -> Recovery {
        self.run(steps);
        self.cut();
        self.mount_and_judge(what)
    }

    /// Mount, and compare every page with what the cut may have left.
    pub(crate) fn mount_and_judge(&mut self, what: &dyn std::fmt::Debug) -> Recovery {
        let recovery = self.ssd.mount(false).unwrap_or_else(|e| panic!("{what:?}: {e}"));
        self.ssd.audit().unwrap_or_else(|e| panic!("{what:?}: {e}"));
        for page in 0..self.user_pages {
            let lpn = Lpn(page as u32);
            let digest = self.digest(lpn);
            let changes = &mut self.changes[page as usize];
            let last = changes.iter().rposition(|change| change.durable).expect("the first one is");
            let possible = &changes[last..];
            assert!(
                possible.iter().any(|change| change.digest == digest),
                "{what:?}: page {page} holds {digest:016x}, and not one of {possible:x?}"
            );
            *changes = vec![Change { digest, request: u64::MAX, durable: true }];
        }
        recovery
    }

    /// The digest of what the device has of `lpn`; 0 for nothing.
    fn digest(&self, lpn: Lpn) -> u64 {
        let ftl = &self.ssd.core.ftl;
        let on_flash = self.ssd.page_on_flash(lpn).map(|page| ftl.flash.digest(page));
        let computed = || ftl.is_lost(lpn).then(|| ftl.reconstructed(lpn).digest);
        let digest = on_flash.or_else(computed).unwrap_or(0);
        self.ssd.buffered_digest(lpn).unwrap_or(digest)
    }

    /// Read every page back; the device itself checks the digests as well.
    pub(crate) fn read_back(&mut self) {
        for page in 0..self.user_pages {
            let request = Request::new(Op::Read, page * PAGE, PAGE as u32);
            let id = self.ssd.submit(self.ssd.now(), &request, None).expect("a valid request");
            let mut done = Vec::new();
            while !done.iter().any(|c: &ssd_core::host::request::Completion| c.id == id) {
                self.ssd.run_until(Nanos::NEVER, &mut done).expect("reads complete");
            }
            let [Change { digest, .. }] = self.changes[page as usize][..] else {
                panic!("page {page} has changed since the mount");
            };
            let mixed = digest.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let read = done.iter().find(|c| c.id == id).map(|c| c.digest);
            assert_eq!(read, Some(mixed), "page {page} read back");
        }
    }
}
