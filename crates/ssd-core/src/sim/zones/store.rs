//! The timed host that stores logical pages in zones: a device with logical pages above the drive with zones.
//!
//! A request becomes appends or reads of the drive, and completes with the last of them. Writes, TRIMs and flushes wait
//! in order for room. Reads do not wait for them. A copy is a read and then an append, which is left out if the page
//! has been overwritten in the meantime. At most `gc.window` copies are in flight. The victim is reset when no read of
//! it is in flight. A TRIM, and a read of pages without data, take no time. If a page is written in part, its rest is
//! read at the same time.

use super::host::ZoneHost;
use super::timed::{TimedZones, ZoneAction};
use crate::config::Config;
use crate::ftl::plugs::Plugs;
use crate::ftl::snapshot::DeviceSnapshot;
use crate::host::device::{Device, DeviceError};
use crate::host::request::{Completion, Op, Request, RequestId};
use crate::host::zones::{ZoneStatus, ZoneTable};
use crate::sim::front::{Pages, is_in_part, pages_of};
use crate::sim::functional::Functional;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// A request that waits for its arrival or for room.
#[derive(Clone, Copy)]
struct Waiting {
    id: u64,
    at: Nanos,
    request: Request,
    /// Its pages that have been written.
    written: u32,
    /// Whether the reads for pages that it writes in part have been submitted.
    rests_asked: bool,
}

/// A request of the host that has not completed.
#[derive(Clone, Copy)]
struct Pending {
    arrival: Nanos,
    op: Op,
    /// Requests to the drive that it waits for, plus 1 until all of them have been submitted.
    parts: u32,
}

/// The purpose of a request to the drive.
#[derive(Clone, Copy)]
enum Part {
    /// Host request `id`; a read is of `zone`.
    Of { id: u64, zone: Option<u32> },
    /// The read of a copy.
    CopyRead { lpn: Lpn, page: Lpn },
    /// The append of a copy.
    CopyWrite,
    /// The TRIM of a reset.
    Reset,
}

/// The collection of a zone.
struct Job {
    victim: u32,
    /// Its pages that were live at the start, and the number of those considered so far.
    pages: Vec<(Lpn, Lpn)>,
    next: usize,
    in_flight: u32,
    /// Pages that have been read and wait for an active zone.
    read: VecDeque<(Lpn, Lpn)>,
}

/// The host and its drive.
pub struct ZoneStore {
    /// The drive.
    pub ssd: Ssd,
    host: ZoneHost,
    window: u32,
    warmup: u64,
    submitted: u64,
    last_arrival: Nanos,
    arrivals: VecDeque<Waiting>,
    /// Writes, TRIMs and flushes, in order.
    waiting: VecDeque<Waiting>,
    pending: BTreeMap<u64, Pending>,
    parts: BTreeMap<u64, Part>,
    completed: Vec<Completion>,
    /// Reads of each zone that have not completed.
    reads: Vec<u32>,
    job: Option<Job>,
}

impl ZoneStore {
    /// The host and the drive of `config` in the state of `device`, measured from request `warmup` on.
    ///
    /// # Panics
    /// The device has no zones.
    #[must_use]
    pub fn new(config: &Config, mut device: Functional, plugs: &Plugs, warmup: u64) -> ZoneStore {
        let used = *device.zones.take().expect("a device with zones");
        let (zones, host) = used.into_parts();
        let sequence = device.sequence();
        let mut ssd = Ssd::with_plugs(config, device.ftl, sequence, plugs);
        ssd.measure(0, config.metrics.tenants);
        let reads = vec![0; zones.table().zones().len()];
        ssd.zones = Some(Box::new(TimedZones::new(zones)));
        ZoneStore {
            ssd,
            host,
            window: config.gc.window,
            warmup,
            submitted: 0,
            last_arrival: Nanos::ZERO,
            arrivals: VecDeque::new(),
            waiting: VecDeque::new(),
            pending: BTreeMap::new(),
            parts: BTreeMap::new(),
            completed: Vec::new(),
            reads,
            job: None,
        }
    }

    /// Requests submitted so far.
    #[must_use]
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    /// Run until the collection under way has ended, once every request has completed.
    ///
    /// # Errors
    /// As [`Device::run_until`].
    pub fn finish_collection(&mut self) -> Result<(), DeviceError> {
        if !self.parts.is_empty() {
            self.run_until(Nanos::NEVER, &mut Vec::new())?;
        }
        assert!(self.parts.is_empty() && self.job.is_none(), "a collection waits for nothing");
        Ok(())
    }

    /// Check the drive, and the map of the host.
    ///
    /// # Errors
    /// The first violated invariant.
    pub fn audit(&self) -> Result<(), String> {
        self.ssd.audit()?;
        self.host.audit(self.table())
    }

    fn table(&self) -> &ZoneTable {
        self.ssd.zones().expect("the drive has zones")
    }

    /// The earliest time at which the drive takes a request that is meant to arrive at `at`.
    fn earliest(&self, at: Nanos) -> Nanos {
        at.max(self.ssd.core.front.last_arrival())
    }

    /// Note that `part` ends with request `id` of the drive.
    fn expect(&mut self, id: RequestId, part: Part) {
        if let Part::Of { id, .. } = part {
            self.pending.get_mut(&id).expect("it waits").parts += 1;
        }
        self.parts.insert(id.0, part);
    }

    fn arrive(&mut self, arrived: Waiting) -> Result<(), DeviceError> {
        let Waiting { id, at, request, .. } = arrived;
        if id == self.warmup && id > 0 {
            self.ssd.core.ledger.leave_out(self.ssd.core.front.submitted);
            self.ssd.core.restart_measurement();
        }
        self.pending.insert(id, Pending { arrival: at, op: request.op, parts: 1 });
        if request.op == Op::Read {
            self.read(id, at, pages_of(&self.ssd.core.ftl.geo, &request))?;
            self.part_ends(id);
            return Ok(());
        }
        self.waiting.push_back(arrived);
        if self.waiting.len() == 1 { self.serve_waiting() } else { Ok(()) }
    }

    /// Read `pages` for request `id`.
    fn read(&mut self, id: u64, at: Nanos, pages: Pages) -> Result<(), DeviceError> {
        let lpns = (pages.first..pages.first + pages.count).map(Lpn);
        let mut places = lpns.filter_map(|lpn| self.host.place(lpn)).collect::<VecDeque<Lpn>>();
        let size = self.table().zone_pages();
        while let Some(first) = places.pop_front() {
            let mut count = 1;
            let end = (first.0 / size + 1) * size;
            while first.0 + count < end && places.front() == Some(&Lpn(first.0 + count)) {
                places.pop_front();
                count += 1;
            }
            self.read_drive(at, first, count, |zone| Part::Of { id, zone: Some(zone) })?;
        }
        Ok(())
    }

    /// Read `count` pages of a zone.
    fn read_drive(
        &mut self,
        at: Nanos,
        first: Lpn,
        count: u32,
        part: impl FnOnce(u32) -> Part,
    ) -> Result<(), DeviceError> {
        let zone = first.0 / self.table().zone_pages();
        let shift = self.ssd.core.ftl.geo.sector_shift;
        let request = Request::new(Op::Read, u64::from(first.0) << shift, count << shift);
        let read = self.ssd.submit(self.earliest(at), &request, None)?;
        self.reads[zone as usize] += 1;
        self.expect(read, part(zone));
        Ok(())
    }

    /// Serve the waiting requests in order, as far as there is room.
    fn serve_waiting(&mut self) -> Result<(), DeviceError> {
        while let Some(mut first) = self.waiting.pop_front() {
            if !self.serve(&mut first)? {
                self.waiting.push_front(first);
                break;
            }
            self.part_ends(first.id);
        }
        Ok(())
    }

    /// Serve `first`, the first waiting request. False if it must wait longer.
    fn serve(&mut self, first: &mut Waiting) -> Result<bool, DeviceError> {
        let (id, request) = (first.id, first.request);
        match request.op {
            Op::Write => return self.write(first),
            Op::Trim => {
                let Pages { first, count } = pages_of(&self.ssd.core.ftl.geo, &request);
                let table = self.ssd.zones().expect("the drive has zones");
                for lpn in (first..first + count).map(Lpn) {
                    self.host.forget(lpn, table);
                }
            }
            _ => {
                let flush = Request::new(Op::Flush, 0, 0);
                let flush = self.ssd.submit(self.earliest(first.at), &flush, None)?;
                self.expect(flush, Part::Of { id, zone: None });
            }
        }
        Ok(true)
    }

    /// Append the remaining pages of the write `first`. False if there is no room for all of them.
    fn write(&mut self, first: &mut Waiting) -> Result<bool, DeviceError> {
        let (id, request, pages) =
            (first.id, first.request, pages_of(&self.ssd.core.ftl.geo, &first.request));
        if !std::mem::replace(&mut first.rests_asked, true) {
            self.read_rests(first, pages)?;
        }
        let slot = self.host.slot_of(request.stream);
        while first.written < pages.count {
            let table = self.ssd.zones().expect("the drive has zones");
            let Some(zone) = self.host.zone_for(slot, table) else {
                if self.collect()? {
                    continue;
                }
                return Ok(false);
            };
            let left = table.zone_pages() - table.zones()[zone as usize].written;
            let count = left.min(pages.count - first.written);
            let lpn = Lpn(pages.first + first.written);
            if !self.append(first.at, zone, (lpn, count), Part::Of { id, zone: None })? {
                return Ok(false);
            }
            first.written += count;
        }
        Ok(true)
    }

    /// Read the pages that `first` writes in part.
    fn read_rests(&mut self, first: &Waiting, pages: Pages) -> Result<(), DeviceError> {
        let geo = &self.ssd.core.ftl.geo;
        let mut ends = vec![pages.first, pages.first + pages.count - 1];
        ends.dedup();
        ends.retain(|&lpn| is_in_part(geo, &first.request, Lpn(lpn)));
        for place in
            ends.into_iter().filter_map(|lpn| self.host.place(Lpn(lpn))).collect::<Vec<_>>()
        {
            self.ssd.core.ledger.measured.host.rmw += 1;
            let id = first.id;
            self.read_drive(first.at, place, 1, |zone| Part::Of { id, zone: Some(zone) })?;
        }
        Ok(())
    }

    /// Append `count` logical pages from `lpn` on to `zone`. False if no other zone may be active.
    fn append(
        &mut self,
        at: Nanos,
        zone: u32,
        (lpn, count): (Lpn, u32),
        part: Part,
    ) -> Result<bool, DeviceError> {
        let at = self.earliest(at);
        let (id, first) = match self.ssd.zone_append(at, zone, count)? {
            Ok(begun) => begun,
            Err(ZoneStatus::TooManyActiveZones) => return Ok(false),
            Err(status) => unreachable!("the host observes the rules of zones: {}", status.name()),
        };
        self.expect(id, part);
        let table = self.ssd.zones().expect("the drive has zones");
        for i in 0..count {
            self.host.written(Lpn(lpn.0 + i), Lpn(first.0 + i), table);
        }
        Ok(true)
    }

    /// Begin to collect a zone, unless one is being collected. Returns whether it has already been reset.
    fn collect(&mut self) -> Result<bool, DeviceError> {
        if self.job.is_some() {
            return Ok(false);
        }
        let table = self.ssd.zones().expect("the drive has zones");
        let Some(victim) = self.host.victim(table) else { return Ok(false) };
        let pages = self.host.live_pages(victim, table);
        self.job = Some(Job { victim, pages, next: 0, in_flight: 0, read: VecDeque::new() });
        self.advance_job()?;
        Ok(self.job.is_none())
    }

    /// Keep copies in flight; after the last one, reset the victim.
    fn advance_job(&mut self) -> Result<(), DeviceError> {
        let Some(mut job) = self.job.take() else { return Ok(()) };
        let now = self.ssd.now();
        while let Some(&(lpn, page)) = job.read.front() {
            if !self.write_copy(lpn, page, &mut job.in_flight)? {
                break;
            }
            job.read.pop_front();
        }
        while job.in_flight < self.window && job.next < job.pages.len() {
            let (lpn, page) = job.pages[job.next];
            job.next += 1;
            if self.host.place(lpn) == Some(page) {
                job.in_flight += 1;
                self.read_drive(now, page, 1, |_| Part::CopyRead { lpn, page })?;
            }
        }
        let is_over = job.in_flight == 0 && job.next == job.pages.len();
        if !is_over || self.reads[job.victim as usize] > 0 {
            self.job = Some(job);
            return Ok(());
        }
        let at = self.earliest(now);
        let reset = self.ssd.zone_manage(at, job.victim, ZoneAction::Reset)?;
        let reset = reset.expect("a full zone is reset").expect("a reset is a request");
        self.expect(reset, Part::Reset);
        let table = self.ssd.zones().expect("the drive has zones");
        self.host.was_reset(job.victim, table);
        Ok(())
    }

    /// Append the copy of `lpn`, which has been read from `page`, unless it is outdated. False if it must wait.
    fn write_copy(
        &mut self,
        lpn: Lpn,
        page: Lpn,
        in_flight: &mut u32,
    ) -> Result<bool, DeviceError> {
        if self.host.place(lpn) != Some(page) {
            *in_flight -= 1;
            return Ok(true);
        }
        let table = self.ssd.zones().expect("the drive has zones");
        let zone = self.host.zone_for(self.host.slot_of_copies(), table);
        let zone = zone.expect("one empty zone is reserved for copies");
        let now = self.ssd.now();
        let appended = self.append(now, zone, (lpn, 1), Part::CopyWrite)?;
        if appended {
            self.ssd.core.ledger.measured.zones.was_copied(1);
        }
        Ok(appended)
    }

    /// Note that a request of the drive has completed.
    fn drive_completes(&mut self, completion: &Completion) -> Result<(), DeviceError> {
        match self.parts.remove(&completion.id.0).expect("the host has submitted it") {
            Part::Of { id, zone } => {
                if let Some(zone) = zone {
                    self.reads[zone as usize] -= 1;
                }
                self.part_ends(id);
            }
            Part::CopyRead { lpn, page } => {
                let zone = page.0 / self.table().zone_pages();
                self.reads[zone as usize] -= 1;
                self.job.as_mut().expect("a copy has a job").read.push_back((lpn, page));
            }
            Part::CopyWrite => self.job.as_mut().expect("a copy has a job").in_flight -= 1,
            Part::Reset => {}
        }
        self.advance_job()?;
        self.serve_waiting()
    }

    /// Note that a part of request `id` has ended.
    fn part_ends(&mut self, id: u64) {
        let pending = self.pending.get_mut(&id).expect("it has not completed");
        pending.parts -= 1;
        if pending.parts > 0 {
            return;
        }
        let Pending { arrival, op, .. } = self.pending.remove(&id).expect("seen");
        let at = self.ssd.now().max(arrival);
        if id >= self.warmup {
            let measured = &mut self.ssd.core.ledger.measured;
            measured.zone_latencies.get_or_insert_default()[op as usize].record((at - arrival).0);
        }
        self.completed.push(Completion { id: RequestId(id), arrival, at, op, digest: 0 });
    }
}

impl Device for ZoneStore {
    type Snapshot = DeviceSnapshot;

    fn submit(
        &mut self,
        at: Nanos,
        request: &Request,
        _data: Option<&[u8]>,
    ) -> Result<RequestId, DeviceError> {
        let id = self.submitted;
        crate::sim::front::check(&self.ssd.core.ftl.geo, id, request)?;
        let (pages, user) = (pages_of(&self.ssd.core.ftl.geo, request), self.host.pages());
        let beyond = request.op != Op::Flush && pages.first + pages.count > user;
        if beyond || request.op == Op::Copy || at < self.last_arrival {
            let reason = format!("a {} that a host of {user} pages cannot take", request.op.name());
            return Err(DeviceError::BadRequest { id, reason });
        }
        (self.submitted, self.last_arrival) = (id + 1, at);
        self.arrivals.push_back(Waiting {
            id,
            at,
            request: *request,
            written: 0,
            rests_asked: false,
        });
        Ok(RequestId(id))
    }

    fn now(&self) -> Nanos {
        self.ssd.now()
    }

    fn next_event(&self) -> Option<Nanos> {
        let arrival = self.arrivals.front().map(|next| next.at.max(self.ssd.now()));
        self.ssd.next_event().into_iter().chain(arrival).min()
    }

    fn run_until(
        &mut self,
        limit: Nanos,
        done: &mut Vec<Completion>,
    ) -> Result<Nanos, DeviceError> {
        let mut ended = Vec::new();
        loop {
            if !self.completed.is_empty() {
                done.append(&mut self.completed);
                return Ok(self.ssd.now());
            }
            // An arrival is submitted before its instant begins.
            let before = self.arrivals.front().map(|next| Nanos(next.at.0.saturating_sub(1)));
            if before.is_some_and(|before| before <= self.ssd.now()) {
                let next = self.arrivals.pop_front().expect("seen");
                self.arrive(next)?;
                continue;
            }
            let stop = before.map_or(limit, |before| before.min(limit));
            let reached = self.ssd.run_until(stop, &mut ended)?;
            let idle = ended.is_empty();
            for completion in ended.drain(..) {
                self.drive_completes(&completion)?;
            }
            if !idle {
                // With nothing left to wait for, the drive may still erase.
                let over = self.parts.is_empty() && self.pending.is_empty();
                if over && self.completed.is_empty() {
                    return Ok(reached);
                }
                continue;
            }
            match before {
                Some(before) if before <= limit => self.ssd.wait_until(before)?,
                _ => {
                    let waits = limit == Nanos::NEVER && !self.pending.is_empty();
                    assert!(!waits, "{} requests wait for nothing", self.pending.len());
                    return Ok(reached);
                }
            }
        }
    }

    fn snapshot(&self) -> Result<DeviceSnapshot, DeviceError> {
        self.ssd.snapshot()
    }
}
