//! A storm: random overlapping reads, full and partial writes, TRIMs and flushes of 1 to 8 pages, many at once, with
//! every answer compared with the history.

use super::PAGE;
use super::history::History;
use ssd_core::config::{Config, DataMode, RemapMode};
use ssd_core::ftl::Ftl;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Completion, Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use std::collections::BTreeMap;

/// What to throw at the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    pub(crate) requests: u64,
    pub(crate) depth: usize,
    pub(crate) seed: u64,
    /// Audit every so many instants.
    pub(crate) audit: u64,
    /// Percent of reads, trims and flushes; the rest are writes.
    pub(crate) mix: [u64; 3],
    /// Longest pause before a submission.
    pub(crate) pause: u64,
}

/// No small device takes longer for a request, whatever it collects meanwhile.
const LONGEST: u64 = 1_000_000_000;

struct Pending {
    arrival: u64,
    request: Request,
}

/// One run of a storm over one device.
pub(crate) struct Storm {
    pub(crate) ssd: Ssd,
    pub(crate) history: History,
    weather: Weather,
    /// Whether the measurement begins later than the storm, so that totals do not hold.
    pub(crate) warms_up: bool,
    /// Percent of copies among what would be writes.
    pub(crate) copies: u64,
    /// The rest of a circle of copies a -> b -> c -> a: destinations and sources.
    circle: Vec<(Request, SourceRange)>,
    pub(crate) circles: u64,
    rng: Stream,
    pending: BTreeMap<u64, Pending>,
    user_pages: u64,
    /// Streams of requests: at most as many as the device has handles.
    streams: u64,
    with_bytes: bool,
    /// Some requests are FUA or flush first, which means nothing without a buffer.
    flags: bool,
    last: u64,
    /// Reads with too many explanations to try.
    pub(crate) unjudged: u64,
    pub(crate) completed: u64,
}

impl Storm {
    pub(crate) fn new(config: &Config, weather: Weather) -> Storm {
        let mut ssd = Ssd::new(config, Ftl::new(config), 0);
        ssd.audit_every(weather.audit);
        let streams = ssd.core.ftl.handles().map_or(5, |(handles, _)| u64::from(handles.min(5)));
        let bytes = config.run.data == DataMode::Bytes;
        Storm {
            ssd,
            history: History::new(
                config.device.user_pages,
                bytes,
                config.remap.mode == RemapMode::Copy || config.raid.group > 0,
            ),
            weather,
            warms_up: false,
            copies: 0,
            circle: Vec::new(),
            circles: 0,
            rng: Stream::new(weather.seed, "storm"),
            pending: BTreeMap::new(),
            user_pages: u64::from(config.device.user_pages),
            streams,
            with_bytes: bytes,
            flags: config.host.write_buffer_pages > 0,
            last: 0,
            unjudged: 0,
            completed: 0,
        }
    }

    /// The whole storm, then every page read back at the end.
    pub(crate) fn run(&mut self) -> Result<(), DeviceError> {
        let mut left = self.weather.requests;
        while left > 0 || !self.pending.is_empty() {
            while left > 0 && self.pending.len() < self.weather.depth {
                let request = match self.circle.last() {
                    Some(&(request, _)) => request,
                    None => self.draw(),
                };
                self.submit(request)?;
                left -= 1;
            }
            self.step()?;
        }
        for lpn in 0..self.user_pages {
            self.weather.pause = 0;
            self.submit(Request::new(Op::Read, lpn * PAGE, PAGE as u32))?;
            if self.pending.len() >= self.weather.depth {
                self.step()?;
            }
        }
        while !self.pending.is_empty() {
            self.step()?;
        }
        self.ssd.audit().unwrap_or_else(|e| panic!("audit at the end: {e}"));
        self.totals();
        Ok(())
    }

    /// Check an error after which the run could not continue: it names the pool and the first request, the pool has
    /// nothing to collect, and every invariant holds.
    pub(crate) fn gave_up(&self, error: &DeviceError) {
        let (first, waiting) = (self.pending.keys().next().copied(), self.pending.len() as u64);
        match error {
            DeviceError::NoSpace { pool, outstanding, first: named, .. } => {
                assert_eq!((Some(*named), *outstanding), (first, waiting), "{error}");
                let sealed = self.ssd.core.ftl.fewest_valid(ssd_core::units::PoolId(*pool));
                assert_eq!(sealed, None, "a block with invalid pages is left: {error}");
            }
            DeviceError::WornOut { pool, worn_out, .. } => {
                assert!(*worn_out > 0, "{error}");
                let sealed = self.ssd.core.ftl.fewest_valid(ssd_core::units::PoolId(*pool));
                let fits = sealed.is_some_and(|block| self.ssd.core.ftl.fits(block));
                assert!(!fits, "a block with invalid pages is left: {error}");
            }
            other => panic!("{other}"),
        }
        self.ssd.audit().unwrap_or_else(|e| panic!("audit after {error}: {e}"));
    }

    fn draw(&mut self) -> Request {
        let [read, trim, flush] = self.weather.mix;
        let kind = self.rng.below(100);
        let sectors = self.user_pages * PAGE;
        let start = self.rng.below(sectors);
        let pages = 1 + self.rng.below(8).min(self.rng.below(8));
        let aligned = self.rng.chance(0.6);
        let (sector, count) = if aligned {
            (start / PAGE * PAGE, pages * PAGE)
        } else {
            (start, 1 + self.rng.below(pages * PAGE))
        };
        let count = count.min(sectors - sector) as u32;
        let op = match kind {
            k if k < read => Op::Read,
            k if k < read + trim => Op::Trim,
            k if k < read + trim + flush => return Request::new(Op::Flush, 0, 0),
            _ if self.copies > 0 && self.user_pages > 2 && self.rng.below(100) < self.copies => {
                // At most a third of the device, so that there is room for the source.
                let pages = pages.min(self.user_pages / 3).max(1);
                let pages = (start / PAGE, pages.min(self.user_pages - start / PAGE));
                return Request::new(Op::Copy, pages.0 * PAGE, (pages.1 * PAGE) as u32);
            }
            _ => Op::Write,
        };
        let flags =
            if self.flags { self.rng.below(16) as u8 & self.rng.below(16) as u8 } else { 0 };
        Request {
            stream: self.rng.below(self.streams) as u8,
            flags,
            ..Request::new(op, sector, count)
        }
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        let pause = self.rng.below(self.weather.pause + 1);
        let at = self.last.max(self.ssd.now().0 + pause);
        self.last = at;
        if request.op == Op::Copy {
            if self.circle.is_empty() && self.rng.chance(0.1) {
                self.draw_circle();
            }
            let Some((request, source)) = self.circle.pop() else {
                let ranges = self.sources(&request);
                return self.submit_copy(at, request, &ranges);
            };
            self.circles += u64::from(self.circle.is_empty());
            return self.submit_copy(at, request, &[source]);
        }
        let data = (self.with_bytes && request.op == Op::Write).then(|| {
            let seed = self.rng.bits();
            (0..request.sectors as usize * 512)
                .map(|i| (seed.rotate_left((i / 64) as u32) >> (i % 8 * 8)) as u8)
                .collect::<Vec<u8>>()
        });
        let id = self.ssd.submit(Nanos(at), &request, data.as_deref())?.0;
        self.history.admit(at, &request, data.as_deref());
        self.pending.insert(id, Pending { arrival: at, request });
        Ok(())
    }

    /// Three ranges in turn, copied while the first copy is under way or waits.
    fn draw_circle(&mut self) {
        let third = self.user_pages / 3;
        let pages = 1 + self.rng.below(third.min(4));
        let mut place = |turn: u64| turn * third + self.rng.below(third - pages + 1);
        let places: Vec<u64> = (0..3).map(&mut place).collect();
        for turn in [2, 1, 0] {
            let (from, to) = (places[turn] * PAGE, places[(turn + 1) % 3] * PAGE);
            let request = Request::new(Op::Copy, to, (pages * PAGE) as u32);
            self.circle.push((request, SourceRange { sector: from, sectors: pages * PAGE }));
        }
    }

    /// One or two ranges that do not overlap the destination, often near it, so that chains arise.
    fn sources(&mut self, request: &Request) -> Vec<SourceRange> {
        let (first, pages) = (request.sector / PAGE, u64::from(request.sectors) / PAGE);
        let cut = if pages > 1 { self.rng.below(pages) } else { 0 };
        let parts = [cut, pages - cut].into_iter().filter(|&pages| pages > 0);
        let mut ranges = Vec::new();
        for part in parts {
            let from = loop {
                let near = self.rng.chance(0.5);
                let most = self.user_pages - part + 1;
                let any = self.rng.below(most);
                let from =
                    if near { (first + 20).saturating_sub(any % 40).min(most - 1) } else { any };
                if from + part <= first || first + pages <= from {
                    break from;
                }
            };
            ranges.push(SourceRange { sector: from * PAGE, sectors: part * PAGE });
        }
        ranges
    }

    fn submit_copy(
        &mut self,
        at: u64,
        request: Request,
        ranges: &[SourceRange],
    ) -> Result<(), DeviceError> {
        let id = self.ssd.submit(Nanos(at), &request, Some(&encode(ranges)))?.0;
        self.history.copy(at, &request, ranges);
        self.pending.insert(id, Pending { arrival: at, request });
        Ok(())
    }

    fn step(&mut self) -> Result<(), DeviceError> {
        let mut done = Vec::new();
        let before = self.ssd.now();
        self.ssd.run_until(Nanos(before.0 + LONGEST), &mut done)?;
        if done.is_empty() && self.ssd.next_event().is_none() {
            // Nothing more will happen: the device has to say why.
            self.ssd.run_until(Nanos::NEVER, &mut done)?;
        }
        assert!(self.ssd.now() >= before, "time runs backwards");
        assert!(!done.is_empty(), "no request completes from {} ns on", before.0);
        for c in &done {
            self.judge(c);
        }
        Ok(())
    }

    fn judge(&mut self, c: &Completion) {
        let id = c.id.0;
        let p = self.pending.remove(&id).unwrap_or_else(|| panic!("request {id} completes twice"));
        assert_eq!((c.arrival.0, c.op), (p.arrival, p.request.op));
        assert_eq!(c.at, self.ssd.now());
        assert!(c.at >= c.arrival, "request {id} completes before it arrives");
        self.completed += 1;
        match p.request.op {
            Op::Flush => {
                let writes = |op| matches!(op, Op::Write | Op::Copy);
                let write = self.pending.range(..id).find(|(_, p)| writes(p.request.op));
                assert!(write.is_none(), "flush {id} overtakes write {:?}", write.map(|w| w.0));
            }
            Op::Read => self.judge_read(id, &p, c),
            Op::Write | Op::Trim | Op::Copy => assert_eq!(c.digest, 0),
        }
    }

    fn judge_read(&mut self, id: u64, p: &Pending, c: &Completion) {
        match self.history.explains(&p.request, p.arrival, c.at.0, c.digest) {
            Some(true) => {}
            Some(false) => panic!("read {id} of {:?} returns what was never there", p.request),
            None => self.unjudged += 1,
        }
        if self.with_bytes {
            let data = self.ssd.take_data(c.id).expect("a read has data");
            assert_eq!(data.len(), p.request.sectors as usize * 512);
            let foreign = self.history.foreign_page(&p.request, p.arrival, c.at.0, &data);
            assert_eq!(foreign, None, "read {id} of {:?}", p.request);
            assert!(self.ssd.take_data(c.id).is_none(), "data are handed over once");
        }
    }

    /// Counters that must agree once every request has completed.
    fn totals(&self) {
        if self.warms_up {
            return;
        }
        let m = &self.ssd.measured();
        assert!(m.in_system.closed(), "requests are left inside");
        assert_eq!(self.ssd.outstanding(), 0);
        for (cause, pages) in
            [(Cause::Gc, &m.gc.pages), (Cause::Wear, &m.wear.pages), (Cause::Fold, &m.slc.pages)]
        {
            let programs = m.flash.programs[cause.at()];
            let running = self.ssd.pages_in_flight(cause);
            assert!(programs >= pages.moved + pages.stale);
            assert_eq!(
                m.flash.reads[cause.at()],
                programs + pages.dropped + running,
                "{cause:?} reads end as programs or drops"
            );
        }
        if let Some(tenants) = &m.tenants {
            let counts = || tenants.by_writer().map(|(_, counts)| counts);
            let pages: u64 = counts().map(|counts| counts.pages).sum();
            let programs: u64 = counts().flat_map(|counts| counts.programs).sum();
            assert_eq!((pages, programs), (m.host.pages_written, m.flash.all_programs()));
        }
        let sums = m.read_parts.total() + m.write_parts.total();
        assert!(sums <= m.in_system.integral(), "parts of reads and writes exceed all latencies");
    }
}
