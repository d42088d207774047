//! Runs with configured cuts: a closed loop of whole-page requests with their own data, and what every page may hold.
//!
//! The device itself repeats what a cut withdraws, so a request may take effect again after later ones have.

use super::PAGE;
use ssd_core::config::{BufferPower, Config, DataMode};
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Completion, Op, Request, flags};
use ssd_core::nand::nvram::SHARE_BYTES;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Percent of requests of each kind; the rest are writes. Of those this share is FUA or has preflush.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    pub(crate) seed: u64,
    pub(crate) depth: usize,
    pub(crate) trim: u64,
    pub(crate) read: u64,
    pub(crate) flush: u64,
    pub(crate) copy: u64,
    pub(crate) fua: u64,
    /// Pages of the longest request, and the pages that most requests touch.
    pub(crate) pages: u64,
    pub(crate) span: u64,
}

impl Mix {
    pub(crate) const ALL: Mix = Mix {
        seed: 1,
        depth: 6,
        trim: 15,
        read: 15,
        flush: 5,
        copy: 20,
        fua: 15,
        pages: 2,
        span: 60,
    };
}

/// What a page may hold: numbers of writes; 0 for no data.
#[derive(Clone, Debug)]
struct PageValues {
    values: BTreeSet<u64>,
    /// Requests under way that touch it, and all that have changed it or will.
    open: u64,
    changes: u64,
    /// The last change, if it is in the buffer and nothing else touched the page meanwhile: the completions and the
    /// cuts until it completed, and what it left.
    alone: Option<(u64, u64, BTreeSet<u64>)>,
}

/// A request under way.
#[derive(Clone, Debug)]
struct OpenRequest {
    request: Request,
    /// The source of a copy: its first page.
    source: u64,
    /// The number of the first page of a write.
    value: u64,
    /// Completions before it was submitted.
    after: u64,
    /// By page, if nothing else touched it when it was submitted: its changes, including this one.
    alone: Vec<Option<u64>>,
}

pub(crate) struct Run {
    pub(crate) ssd: Ssd,
    mix: Mix,
    rng: Stream,
    volatile: bool,
    /// Pages of the longest copy whose records fit into the NVRAM.
    most_copied: u64,
    pages: Vec<PageValues>,
    open: BTreeMap<u64, OpenRequest>,
    next_value: u64,
    /// By request number: the pages that it writes.
    writes: Vec<u64>,
    pub(crate) completed: u64,
}

fn page(value: u64) -> Vec<u8> {
    let bytes = value.to_le_bytes();
    bytes.iter().copied().cycle().take(512 * PAGE as usize).collect()
}

impl Run {
    /// The device of `config`, without data.
    pub(crate) fn new(config: &Config, mix: Mix) -> Run {
        assert_eq!(config.run.data, DataMode::Bytes, "pages have data of their own");
        let empty = PageValues { values: [0].into(), open: 0, changes: 0, alone: None };
        let mut ssd = Ssd::new(config, ssd_core::ftl::Ftl::new(config), 0);
        ssd.audit_every(11);
        Run {
            ssd,
            mix,
            rng: Stream::new(mix.seed, "runs"),
            volatile: config.host.write_buffer_pages > 0
                && config.power.buffer == BufferPower::Volatile,
            most_copied: config.power.nvram_bytes / SHARE_BYTES,
            pages: vec![empty; config.device.user_pages as usize],
            open: BTreeMap::new(),
            next_value: 1,
            writes: Vec::new(),
            completed: 0,
        }
    }

    /// The pages that it reads, and those that it changes.
    fn touched(open: &OpenRequest) -> Vec<u64> {
        let (first, count) = (open.request.sector / PAGE, u64::from(open.request.sectors) / PAGE);
        let mut all: Vec<u64> = (first..first + count).collect();
        if open.request.op == Op::Copy {
            all.extend(open.source..open.source + count);
        }
        all
    }

    fn submit(&mut self) {
        let Mix { trim, read, flush, copy, fua, pages, span, .. } = self.mix;
        let (kind, count) = (self.rng.below(100), 1 + self.rng.below(pages));
        let first = self.rng.below(span - count);
        let op = match kind {
            k if k < trim => Op::Trim,
            k if k < trim + read => Op::Read,
            k if k < trim + read + flush => Op::Flush,
            k if k < trim + read + flush + copy => Op::Copy,
            _ => Op::Write,
        };
        let count = if op == Op::Copy { count.min(self.most_copied) } else { count };
        let mut request = Request::new(op, first * PAGE, (count * PAGE) as u32);
        let (mut source, value, mut data) = (0, self.next_value, None);
        match op {
            Op::Flush => request = Request::new(op, 0, 0),
            Op::Write => {
                if self.rng.below(100) < fua {
                    request.flags =
                        if self.rng.below(3) == 0 { flags::PREFLUSH } else { flags::FUA };
                }
                self.next_value += count;
                data = Some((value..value + count).flat_map(page).collect());
            }
            Op::Copy => {
                source = loop {
                    let from = self.rng.below(span - count);
                    if from + count <= first || first + count <= from {
                        break from;
                    }
                };
                data =
                    Some(encode(&[SourceRange { sector: source * PAGE, sectors: count * PAGE }]));
            }
            _ => {}
        }
        let mut open =
            OpenRequest { request, source, value, after: self.completed, alone: Vec::new() };
        for (number, at) in (0..).zip(Run::touched(&open)) {
            let page = &mut self.pages[at as usize];
            if op != Op::Read && number < count {
                page.alone = None;
                page.changes += 1;
            }
            open.alone.push((page.open == 0).then_some(page.changes));
            page.open += 1;
        }
        self.adds(&open);
        let id = self.ssd.submit(self.ssd.now(), &request, data.as_deref());
        self.open.insert(id.expect("a valid request").0, open);
        self.writes.push(if op == Op::Write { count } else { 0 });
    }

    /// What its pages may additionally hold while it is under way.
    fn adds(&mut self, open: &OpenRequest) {
        let first = open.request.sector / PAGE;
        for number in 0..u64::from(open.request.sectors) / PAGE {
            let values = match open.request.op {
                Op::Write => [open.value + number].into(),
                Op::Trim => [0].into(),
                Op::Copy => self.pages[(open.source + number) as usize].values.clone(),
                Op::Read | Op::Flush => continue,
            };
            self.pages[(first + number) as usize].values.extend(values);
        }
    }

    fn complete(&mut self, c: &Completion) {
        let open = self.open.remove(&c.id.0).expect("it was submitted, and completes once");
        self.completed += 1;
        // A repeated copy copies what its source holds then.
        let copies = self.open.values().filter(|open| open.request.op == Op::Copy).cloned();
        copies.collect::<Vec<OpenRequest>>().iter().for_each(|copy| self.adds(copy));
        self.adds(&open);
        let (first, op) = (open.request.sector / PAGE, open.request.op);
        let bits = open.request.flags;
        if op == Op::Read {
            let data = self.ssd.take_data(c.id).expect("a read has data");
            for (at, bytes) in (first..).zip(data.chunks(512 * PAGE as usize)) {
                let value = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
                assert_eq!(bytes, page(value), "page {at} holds parts of several writes");
                let may = &self.pages[at as usize].values;
                assert!(may.contains(&value), "page {at} holds {value}, and not one of {may:?}");
            }
        }
        let cuts = self.ssd.measured().power.cuts;
        let count = u64::from(open.request.sectors) / PAGE;
        for (number, at) in Run::touched(&open).into_iter().enumerate() {
            let copied = (op == Op::Copy && (number as u64) < count)
                .then(|| self.pages[(open.source + number as u64) as usize].values.clone());
            let page = &mut self.pages[at as usize];
            page.open -= 1;
            // Neither sources of copies nor pages read have changed.
            let alone = open.alone[number] == Some(page.changes) && page.open == 0;
            if op == Op::Read || number as u64 >= count || !alone {
                continue;
            }
            let left = match op {
                Op::Write => [open.value + number as u64].into(),
                Op::Trim => [0].into(),
                _ => copied.expect("a copy"),
            };
            let durable = !self.volatile || op != Op::Write || bits & flags::FUA != 0;
            if durable {
                page.values = left;
            } else {
                page.alone = Some((self.completed, cuts, left));
            }
        }
        if op == Op::Flush || bits & flags::PREFLUSH != 0 {
            for page in &mut self.pages {
                // What came before it is on flash, except for what a cut has taken.
                let covered = |&(at, then, _): &(u64, u64, _)| at <= open.after && then == cuts;
                if page.alone.as_ref().is_some_and(covered) {
                    page.values = page.alone.take().expect("seen").2;
                }
            }
        }
    }

    /// Run so many requests.
    pub(crate) fn run(&mut self, requests: u64) {
        let end = self.completed + requests;
        while self.completed < end {
            while self.open.len() < self.mix.depth {
                self.submit();
            }
            let mut done = Vec::new();
            self.ssd.run_until(Nanos::NEVER, &mut done).unwrap_or_else(|e| panic!("{e}"));
            done.iter().for_each(|c| self.complete(c));
        }
    }

    /// Requests submitted, and pages that those from number `first` on write.
    pub(crate) fn submitted(&self) -> u64 {
        self.writes.len() as u64
    }

    pub(crate) fn written_from(&self, first: u64) -> u64 {
        self.writes[first as usize..].iter().sum()
    }

    pub(crate) fn complete_all(&mut self) {
        while !self.open.is_empty() {
            let mut done = Vec::new();
            self.ssd.run_until(Nanos::NEVER, &mut done).unwrap_or_else(|e| panic!("{e}"));
            done.iter().for_each(|c| self.complete(c));
        }
    }

    /// Complete what is under way, and read every page back.
    pub(crate) fn end(mut self) -> Ssd {
        self.complete_all();
        self.mix.depth = 1;
        self.ssd.empty_buffer().unwrap_or_else(|e| panic!("{e}"));
        let all = Mix { read: 100, trim: 0, flush: 0, copy: 0, ..self.mix };
        self.mix = all;
        self.run(2 * self.mix.span);
        self.ssd.audit().unwrap_or_else(|e| panic!("{e}"));
        self.ssd
    }
}
