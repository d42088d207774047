//! The timed machine: it owns everything and time.
//!
//! At one instant: completions in resource order (operations, then served and decoded pages, then pages in
//! the slices of the interconnect), then arrivals, then idle timers, then collection is considered, then
//! units are dispatched in order, then free buses are granted. Nothing else moves time.

use super::collect::Collector;
use super::content::Content;
use super::crossing::PageBuffers;
use super::event::{Events, Timers};
use super::log::OpLog;
use super::op::{Op, Slab};
use super::request::{Epochs, Requests};
use super::unit::{Activity, Bus, Unit};
use crate::config::Config;
use crate::ftl::Ftl;
use crate::ftl::place::{Layout, Placement};
use crate::ftl::plugs::{Fault, Plugs};
use crate::ftl::snapshot::DeviceSnapshot;
use crate::host::device::{Device, DeviceError};
use crate::host::link::Link;
use crate::host::request::{Completion, Op as HostOp, Request, RequestId};
use crate::host::write_buffer::WriteBuffer;
use crate::id_set::IdSet;
use crate::metrics::Measurements;
use crate::metrics::counters::Cause;
use crate::metrics::series::Gauges;
use crate::nand::geometry::Geometry;
use crate::nand::read_errors::{PageErrors, ReadErrors};
use crate::nand::slices::Slices;
use crate::nand::timing::Times;
use crate::sched::order::Order;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn, UnitId};
use std::collections::VecDeque;

/// Largest read or write, in sectors (1 GiB).
pub const MAX_SECTORS: u32 = (1 << 30) / 512;

/// Most rows of the time series.
pub const MAX_SAMPLES: usize = 1 << 20;

/// A request on its way in.
pub(crate) struct Arrival {
    pub(crate) at: Nanos,
    pub(crate) id: u64,
    pub(crate) request: Request,
    pub(crate) data: Option<Box<[u8]>>,
}

/// A simulated SSD.
pub struct Ssd {
    /// Page decisions.
    pub ftl: Ftl,
    /// What has been measured.
    pub measured: Measurements,
    pub(crate) times: Times,
    pub(crate) now: Nanos,
    pub(crate) events: Events,
    pub(crate) timers: Timers,
    pub(crate) units: Vec<Unit>,
    pub(crate) buses: Vec<Bus>,
    /// Chips and channels are notified when operations begin and end: not if the chip is the busy unit and
    /// the bus keeps track of its channel.
    pub(crate) watch_activity: bool,
    pub(crate) chips: Vec<Activity>,
    /// Serial model: operations on each channel.
    pub(crate) channels: Vec<Activity>,
    pub(crate) ops: Slab,
    pub(crate) requests: Requests,
    pub(crate) epochs: Epochs,
    pub(crate) arrivals: VecDeque<Arrival>,
    pub(crate) ready: IdSet,
    pub(crate) buses_to_grant: IdSet,
    pub(crate) gc: Collector,
    pub(crate) placement: Placement,
    pub(crate) order: Order,
    pub(crate) multi_plane: bool,
    pub(crate) age: u64,
    pub(crate) sequence: u64,
    pub(crate) done: Vec<Completion>,
    pub(crate) content: Option<Content>,
    pub(crate) log: Option<OpLog>,
    pub(crate) failure: Option<DeviceError>,
    pub(crate) link: Option<Link>,
    /// There is neither link nor buffer between the admission of a write and its queue.
    pub(crate) writes_go_straight: bool,
    pub(crate) buffer: Option<WriteBuffer>,
    pub(crate) read_errors: Option<ReadErrors>,
    pub(crate) page_errors: Option<PageErrors>,
    pub(crate) page_buffers: Option<PageBuffers>,
    pub(crate) slices: Option<Slices>,
    /// Digest of all events so far: equal runs have equal digests.
    pub event_digest: u64,
    /// Half of what event keys can hold, so that no operation can end beyond them.
    pub(crate) latest_ns: u64,
    mid_instant: bool,
    submitted: u64,
    last_arrival: Nanos,
    /// Requests before this one do not count in the statistics.
    pub(crate) warmup: u64,
    next_sample: Nanos,
    pub(crate) look_ahead: u32,
    pages_before: u64,
    erases_before: Vec<u32>,
    audit_every: u64,
    until_audit: u64,
    /// Running operations finish, and nothing new starts.
    pub(crate) quiescing: bool,
    plugs: Plugs,
}

impl Ssd {
    /// Over the device `ftl`, preconditioned or not, with `sequence` pages admitted so far.
    #[must_use]
    pub fn new(config: &Config, ftl: Ftl, sequence: u64) -> Ssd {
        Ssd::with_plugs(config, ftl, sequence, &Plugs::default())
    }

    /// The same with external policies.
    #[must_use]
    pub fn with_plugs(config: &Config, mut ftl: Ftl, sequence: u64, plugs: &Plugs) -> Ssd {
        plugs.begin();
        let layout = Layout::new(&config.device);
        let geo = ftl.geo.clone();
        ftl.blocks.now = Nanos::ZERO;
        ftl.set_victim(plugs.victim(&config.gc.victim, &ftl.blocks));
        let channel_of = |u: u32| geo.channel_of(PlaneId(geo.planes_of_unit(UnitId(u)).start)).0;
        let interval = Nanos(config.metrics.interval_ns);
        let split = config.workload.kind == crate::config::WorkloadKind::Trace;
        let slices = Slices::new(config);
        let events = Events::new((geo.channels + geo.units + 1) as usize + slices.iter().count());
        let latest_ns = events.limit().0 / 2;
        let mut ssd = Ssd {
            measured: Measurements::new(interval, split),
            times: Times::new(config),
            now: Nanos::ZERO,
            events,
            timers: Timers::default(),
            units: (0..geo.units).map(|u| Unit::new(channel_of(u))).collect(),
            buses: vec![Bus::default(); geo.channels as usize],
            watch_activity: config.timing.busy_unit != crate::config::BusyUnit::Chip
                || config.timing.model == crate::config::TimingModel::Serial,
            chips: vec![Activity::default(); (geo.channels * geo.chips_per_channel) as usize],
            channels: vec![Activity::default(); geo.channels as usize],
            ops: Slab::default(),
            requests: Requests::new(config.metrics.request_log),
            epochs: Epochs::default(),
            arrivals: VecDeque::new(),
            ready: IdSet::new(geo.units),
            buses_to_grant: IdSet::new(geo.channels),
            gc: Collector::new(config, &ftl, plugs),
            placement: plugs.placement(&config.alloc.placement, &layout),
            order: Order::build(&config.sched.order),
            multi_plane: config.timing.multi_plane,
            age: 0,
            sequence,
            done: Vec::new(),
            content: Content::new(config, &ftl),
            log: config.metrics.op_log.then(OpLog::default),
            failure: None,
            link: config.host.link_bytes_per_s.map(|rate| Link::new(rate, config.host.link_duplex)),
            buffer: (config.host.write_buffer_pages > 0).then(|| {
                WriteBuffer::new(config.host.write_buffer_pages, config.host.write_buffer_threshold)
            }),
            writes_go_straight: config.host.link_bytes_per_s.is_none()
                && config.host.write_buffer_pages == 0,
            read_errors: ReadErrors::new(config),
            page_errors: PageErrors::new(config),
            page_buffers: PageBuffers::new(config),
            slices,
            event_digest: 0xcbf2_9ce4_8422_2325,
            latest_ns,
            mid_instant: false,
            submitted: 0,
            last_arrival: Nanos::ZERO,
            warmup: config.workload.warmup_requests,
            look_ahead: super::dispatch::LOOK_AHEAD,
            next_sample: if interval == Nanos::ZERO { Nanos::NEVER } else { interval },
            pages_before: sequence,
            erases_before: ftl.blocks.erases.clone(),
            audit_every: 0,
            until_audit: 0,
            quiescing: false,
            plugs: plugs.clone(),
            ftl,
        };
        // A unit that the host never uses is idle from the start.
        (0..ssd.units.len()).for_each(|unit| ssd.arm_idle_timer(unit));
        ssd
    }

    /// A device in the state of `snapshot`, at time zero, under the policies of `config`.
    ///
    /// # Errors
    /// The snapshot does not fit the configuration.
    pub fn restore(config: &Config, snapshot: &DeviceSnapshot) -> Result<Ssd, String> {
        Ok(Ssd::new(config, Ftl::restore(config, snapshot)?, snapshot.counters().sequence))
    }

    /// Recompute all invariants every `n` instants, check after each that no idle unit has been forgotten,
    /// and panic on a violation; 0: never.
    pub fn audit_every(&mut self, n: u64) {
        self.audit_every = n;
        self.until_audit = n;
    }

    /// Recompute all invariants now.
    ///
    /// # Errors
    /// The first violated one.
    pub fn audit(&self) -> Result<(), String> {
        self.ftl.audit()?;
        self.audit_buffer()?;
        self.audit_crossing()?;
        self.audit_gc()
    }

    /// The flash page with the newest data of `lpn` on flash; newer data may be in the controller.
    #[must_use]
    pub fn page_on_flash(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.owners.committed(lpn)
    }

    /// Requests submitted so far.
    #[must_use]
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    /// Requests submitted and not completed.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.requests.len() as u64 + self.arrivals.len() as u64
    }

    pub(crate) fn timer_resource(&self) -> usize {
        self.buses.len() + self.units.len()
    }

    pub(crate) fn slices_resource(&self) -> usize {
        self.timer_resource() + 1
    }

    pub(crate) fn unit_resource(&self, unit: usize) -> usize {
        self.buses.len() + unit
    }

    #[inline]
    pub(crate) fn note(&mut self, a: u64, b: u64) {
        let x = self.event_digest ^ self.now.0.rotate_left(20) ^ a.rotate_left(40) ^ b;
        self.event_digest = x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// Advance to `t` and process the completions of that instant.
    #[inline(always)]
    fn begin_instant(&mut self, t: Nanos) -> Result<(), DeviceError> {
        assert!(t >= self.now, "time runs backwards");
        while self.next_sample <= t {
            if self.measured.series.rows.len() >= MAX_SAMPLES {
                let interval_ns = self.measured.series.interval_ns;
                return Err(DeviceError::SeriesTooLong { interval_ns, at_ns: self.next_sample.0 });
            }
            self.sample(self.next_sample);
            self.next_sample += Nanos(self.measured.series.interval_ns);
        }
        if t.0 > self.latest_ns {
            return Err(DeviceError::TimeRange { limit_ns: self.latest_ns });
        }
        self.now = t;
        self.ftl.blocks.now = t;
        self.mid_instant = true;
        while self.events.more_at(t) {
            let resource = self.events.take();
            if resource < self.buses.len() {
                self.bus_event(resource);
            } else if resource < self.timer_resource() {
                self.unit_event(resource - self.buses.len());
            } else {
                self.rare_event(resource);
            }
        }
        Ok(())
    }

    /// The rest of the instant: arrivals, idle timers, collection, dispatch.
    #[inline(always)]
    fn end_instant(&mut self) {
        while self.arrivals.front().is_some_and(|a| a.at <= self.now) {
            let Arrival { at, id, request, data } = self.arrivals.pop_front().expect("seen");
            self.admit(at, id, &request, data.as_deref());
        }
        if !self.gc.idle_units.is_empty() {
            self.idle_timers();
        }
        loop {
            if self.gc.something_to_consider() {
                self.consider_collection();
            }
            while let Some(unit) = self.ready.pop() {
                self.dispatch(unit as usize);
            }
            if self.gc.agenda.is_empty() {
                break;
            }
        }
        if !self.buses_to_grant.is_empty() {
            self.grant_buses();
        }
        if self.audit_every > 0 {
            self.audit_instant().unwrap_or_else(|e| panic!("audit at {} ns: {e}", self.now.0));
        }
    }

    #[inline(never)]
    fn rare_event(&mut self, resource: usize) {
        if resource == self.timer_resource() {
            self.timer_events();
        } else {
            self.slices_event();
        }
    }

    /// At the end of an instant: check what no later audit would find, and all invariants when they are due.
    #[inline(never)]
    fn audit_instant(&mut self) -> Result<(), String> {
        self.audit_idle_units()?;
        self.until_audit -= 1;
        if self.until_audit > 0 {
            return Ok(());
        }
        self.until_audit = self.audit_every;
        self.audit()
    }

    fn sample(&mut self, at: Nanos) {
        let gauges = Gauges {
            used_pages: self.ftl.space.used(),
            free_blocks: self.ftl.space.free_blocks_total(),
            gc_active_pools: u64::from(self.gc.active()),
        };
        self.measured.sample(at, gauges);
    }

    /// Statistics start over when the first request after the warm-up arrives.
    pub(crate) fn end_warmup(&mut self, id: u64) {
        if self.warmup > 0 && id == self.warmup {
            self.measured.restart(self.now);
            self.pages_before = self.sequence;
            self.restart_activity();
        }
    }

    fn restart_activity(&mut self) {
        let now = self.now;
        self.chips.iter_mut().chain(&mut self.channels).for_each(|a| a.restart(now));
        self.units.iter_mut().for_each(|u| u.restart(now));
        for bus in &mut self.buses {
            // What the bus still transfers belongs to the measurement.
            bus.busy_ns = bus.free_at.0.saturating_sub(now.0);
        }
        self.ftl.space.restart_lowest();
        self.erases_before.clone_from(&self.ftl.blocks.erases);
    }

    /// Time that each channel has been busy since the measurement started.
    #[must_use]
    pub fn channel_busy_ns(&self) -> Vec<u64> {
        if self.times.serial {
            return self.channels.iter().map(|a| a.busy_ns(self.now)).collect();
        }
        // The future part of a transfer was counted at its grant.
        self.buses.iter().map(|b| b.busy_ns - b.free_at.0.saturating_sub(self.now.0)).collect()
    }

    /// Time that each chip has had an operation since the measurement started.
    #[must_use]
    pub fn chip_busy_ns(&self) -> Vec<u64> {
        if self.watch_activity {
            return self.chips.iter().map(|a| a.busy_ns(self.now)).collect();
        }
        self.units.iter().map(|u| u.busy_ns(self.now)).collect()
    }

    pub(crate) fn activity_begins(&mut self, plane: PlaneId) {
        self.chips[self.ftl.geo.chip_of(plane) as usize].begins(self.now);
        self.channels[self.ftl.geo.channel_of(plane).at()].begins(self.now);
    }

    pub(crate) fn activity_ends(&mut self, plane: PlaneId) {
        self.chips[self.ftl.geo.chip_of(plane) as usize].ends(self.now);
        self.channels[self.ftl.geo.channel_of(plane).at()].ends(self.now);
    }

    /// Erases of each erase unit since the measurement started.
    #[must_use]
    pub fn erases(&self) -> Vec<u32> {
        let pairs = self.ftl.blocks.erases.iter().zip(&self.erases_before);
        pairs.map(|(now, before)| now - before).collect()
    }

    /// Host pages admitted before the measurement started, preconditioning included.
    #[must_use]
    pub fn pages_before(&self) -> u64 {
        self.pages_before
    }

    /// Pages read, or being read, for `cause` and neither programmed nor dropped yet.
    #[must_use]
    pub fn pages_in_flight(&self, cause: Cause) -> u64 {
        self.gc.pages_read[cause.at()]
    }

    /// Whether no flash operation is queued or running.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.ops.len() == 0
    }

    /// Start nothing new, and run until every flash operation has ended (for complete logs): no operation is
    /// counted from here on.
    ///
    /// # Errors
    /// As [`Device::run_until`].
    pub fn quiesce(&mut self) -> Result<(), DeviceError> {
        self.quiescing = true;
        while let Some(t) = self.events.next_time() {
            self.begin_instant(t)?;
            self.grant_buses();
        }
        self.quiescing = false;
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Whether the run is still in its warm-up; if so, forget what has been measured.
    pub fn discard_warmup(&mut self) -> bool {
        let warming = self.warmup > 0 && self.submitted <= self.warmup;
        if warming {
            self.measured.restart(self.now);
            self.pages_before = self.sequence;
            self.restart_activity();
        }
        warming
    }

    /// Run the next instant; if there is none, check whether there could be one.
    ///
    /// # Errors
    /// As [`Device::run_until`].
    pub(crate) fn step(&mut self) -> Result<(), DeviceError> {
        match self.next_event() {
            Some(next) => self.run_until(next, &mut Vec::new()).map(drop),
            None => self.look_further(),
        }
    }

    /// Nothing will happen by itself: perhaps an operation far back in a queue can start.
    ///
    /// # Errors
    /// [`Ssd::stalled`] after it has been tried.
    fn look_further(&mut self) -> Result<(), DeviceError> {
        if self.look_ahead == u32::MAX {
            return Err(self.stalled());
        }
        self.look_ahead = u32::MAX;
        (0..self.ftl.geo.units).for_each(|u| self.ready.insert(u));
        self.mid_instant = true;
        Ok(())
    }

    /// Why the requests in the device cannot complete.
    #[must_use]
    pub fn stalled(&self) -> DeviceError {
        let (outstanding, first) = (self.outstanding(), self.requests.oldest().unwrap_or(0));
        let buffered = match self.buffered_pages() {
            0 => String::new(),
            pages => format!("; {pages} pages of the write buffer are not on flash"),
        };
        match self.gc.agenda.starved_pool(&self.ftl) {
            Some(pool) => {
                let waiting = (outstanding, first);
                super::functional::no_space(&self.ftl, pool, &self.plugs, waiting, &buffered)
            }
            None => DeviceError::Stalled {
                outstanding,
                first,
                reason: format!("{} operations are queued or running{buffered}", self.ops.len()),
            },
        }
    }

    /// End the run if an external policy has failed at this instant.
    #[inline(never)]
    fn heed_policies(&self) -> Result<(), DeviceError> {
        let place = || format!("at {} ns", self.now.0);
        self.plugs.fault().map_or(Ok(()), |fault| Err(policy_error(fault, place)))
    }

    /// Queue an operation on the unit of its plane.
    #[inline]
    pub(crate) fn enqueue(&mut self, slot: OpSlot, queue: usize) {
        self.age += 1;
        let op: &mut Op = &mut self.ops[slot];
        let unit_id = self.ftl.geo.unit_of(op.plane);
        let unit = &mut self.units[unit_id.at()];
        op.age = self.age;
        op.queued = self.now;
        op.host_busy_ns = unit.host_busy_ns(self.now);
        unit.load += 1;
        unit.host_load += u32::from(op.kind().is_host());
        unit.push(queue, &mut self.ops, slot);
        if unit.running == OpSlot::NONE {
            self.ready.insert(unit_id.0);
        }
    }
}

/// Whether the device accepts request `r` with number `id`.
#[inline]
pub(crate) fn check(geo: &Geometry, id: u64, r: &Request) -> Result<(), DeviceError> {
    let capacity = geo.user_sectors();
    let inside = r.sector < capacity && u64::from(r.sectors) <= capacity - r.sector;
    let sized = r.sectors > 0 && (r.sectors <= MAX_SECTORS || r.op == HostOp::Trim);
    if (inside && sized) || r.op == HostOp::Flush { Ok(()) } else { refuse(capacity, id, r) }
}

/// The end of a run because of the fault of a policy; `place`: when it was asked.
pub(crate) fn policy_error(fault: Fault, place: impl FnOnce() -> String) -> DeviceError {
    match fault {
        Fault::Interrupted => DeviceError::Interrupted,
        Fault::Failed { who, pool, what } => {
            let pool = pool.map_or_else(String::new, |pool| format!(", pool {}", pool.0));
            DeviceError::Policy(format!("{who}, {}{pool}: {what}", place()))
        }
    }
}

#[cold]
fn refuse(capacity: u64, id: u64, r: &Request) -> Result<(), DeviceError> {
    let bad = |reason: String| Err(DeviceError::BadRequest { id, reason });
    if r.sectors == 0 {
        return bad(format!("a {} of zero length", r.op.name()));
    }
    if r.op != HostOp::Trim && r.sectors > MAX_SECTORS {
        return bad(format!(
            "a {} of {} bytes; the largest is {} bytes",
            r.op.name(),
            u64::from(r.sectors) * 512,
            u64::from(MAX_SECTORS) * 512
        ));
    }
    bad(format!("sectors {} + {} lie beyond the device of {capacity} sectors", r.sector, r.sectors))
}

impl Device for Ssd {
    type Snapshot = DeviceSnapshot;

    fn submit(
        &mut self,
        at: Nanos,
        request: &Request,
        data: Option<&[u8]>,
    ) -> Result<RequestId, DeviceError> {
        let id = self.submitted;
        check(&self.ftl.geo, id, request)?;
        if at < self.last_arrival {
            let reason = format!("it arrives at {} ns, before {} ns", at.0, self.last_arrival.0);
            return Err(DeviceError::BadRequest { id, reason });
        }
        self.submitted += 1;
        self.last_arrival = at;
        if self.mid_instant && at <= self.now && self.arrivals.is_empty() {
            // Arrivals are what comes next in this instant.
            self.admit(at, id, request, data);
        } else {
            let data = data.map(Into::into);
            self.arrivals.push_back(Arrival { at, id, request: *request, data });
        }
        Ok(RequestId(id))
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn next_event(&self) -> Option<Nanos> {
        if self.mid_instant {
            return Some(self.now);
        }
        let arrival = self.arrivals.front().map(|a| a.at.max(self.now));
        match (self.events.next_time(), arrival) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn run_until(
        &mut self,
        limit: Nanos,
        done: &mut Vec<Completion>,
    ) -> Result<Nanos, DeviceError> {
        loop {
            if self.mid_instant {
                self.end_instant();
                if self.plugs.any() {
                    self.heed_policies()?;
                }
                if self.failure.is_some() {
                    return Err(self.failure.take().expect("seen"));
                }
                self.mid_instant = !self.done.is_empty();
            } else {
                match self.next_event() {
                    Some(t) if t <= limit => self.begin_instant(t)?,
                    None if limit == Nanos::NEVER && self.outstanding() > 0 => {
                        self.look_further()?
                    }
                    _ => return Ok(self.now),
                }
            }
            if !self.done.is_empty() {
                done.append(&mut self.done);
                return Ok(self.now);
            }
        }
    }

    fn snapshot(&self) -> Result<DeviceSnapshot, DeviceError> {
        if self.outstanding() > 0 || !self.at_rest() {
            let (requests, operations) = (self.outstanding(), self.ops.len());
            return Err(DeviceError::Busy(format!(
                "{requests} requests and {operations} flash operations are under way"
            )));
        }
        self.ftl.snapshot(self.sequence).map_err(DeviceError::Busy)
    }

    fn hint(&self, request: &Request) {
        if request.op == HostOp::Write {
            let lpn = request.sector >> self.ftl.geo.sector_shift;
            self.ftl.owners.prefetch(Lpn(lpn as u32));
        }
    }

    fn hint_soon(&self, request: &Request) {
        if request.op == HostOp::Write {
            let lpn = request.sector >> self.ftl.geo.sector_shift;
            self.ftl.prefetch_write(Lpn(lpn as u32));
        }
    }

    fn take_data(&mut self, id: RequestId) -> Option<Vec<u8>> {
        self.content.as_mut()?.take(id)
    }
}
