//! The drive behind the server: the machine, the data of its pages, and the log from which both are restored.
//!
//! It handles bytes and simulated time, and knows neither the protocol nor a clock. A request of a client becomes one
//! or more requests to the machine, each at its own instant.

use crate::disk::Disk;
use crate::life::{Life, WearState, worn};
use crate::log::{Log, pages_of};
use crate::slots::Slots;
use crate::table::{NONE, SlotTable};
use crate::versions::{Survivors, Versions};
use crate::view::{Channel, SlowRequest, SlowestRequests, Space, channels};
use ssd_core::ftl::map::Entry;
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::host::request::{Completion, Op, Request, TimedRequest, flags};
use ssd_core::metrics::report::Report;
use ssd_core::sim::ssd::{MAX_SECTORS, Ssd};
use ssd_core::units::{Lpn, Nanos, SECTOR_BYTES};
use ssd_run::report_of;
use ssd_trace::config::RunConfig;
use ssd_trace::write::TraceWriter;
use std::io;

mod answers;
mod restart;
mod space;

use answers::Promises;
pub use restart::MountResult;
use restart::restored;

/// Why a request fails. The drive continues.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no space for the data, or for the request in the log.
    #[error("no space on the disk of the server: {0}")]
    NoSpace(String),
    /// Another error of the disk of the server.
    #[error("the disk of the server failed: {0}")]
    Disk(String),
    /// The drive has no block left to write to.
    #[error("{0}")]
    Stuck(String),
    /// The drive has failed.
    #[error("{0}")]
    Failed(String),
}

impl From<&DeviceError> for Refusal {
    fn from(error: &DeviceError) -> Refusal {
        match error {
            DeviceError::NoSpace { .. } | DeviceError::WornOut { .. } => {
                Refusal::Stuck(error.to_string())
            }
            _ => Refusal::Failed(error.to_string()),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Refusal::NoSpace(error.to_string()),
            _ => Refusal::Disk(error.to_string()),
        }
    }
}

/// The consecutive requests to the machine that one request of a client has become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// Number of the first one.
    pub first: u64,
    /// How many; 0 if the machine is not needed.
    pub count: u64,
}

/// The drive.
pub struct Engine {
    config: RunConfig,
    ssd: Ssd,
    disk: Disk,
    slots: Slots,
    versions: Versions,
    /// The log, if the drive has a state.
    log: Option<Log>,
    /// The recording, if there is one.
    record: Option<Box<dyn TraceWriter>>,
    /// Pages admitted.
    sequence: u64,
    /// Arrival of the last request.
    last: u64,
    /// Whether the disk has had no space for a request since the log began.
    lacks_space: bool,
    /// Why the drive does not continue.
    failure: Option<Refusal>,
    done: Vec<Completion>,
    promises: Promises,
    slowest: SlowestRequests,
    /// The counters when the log began, plus those since then that the machine does not keep.
    life: Life,
    /// When the drive last became busy: the arrival of a request while none was outstanding.
    busy_since: u64,
    sectors_of_page: u64,
}

/// The data on flash, and those on their way there.
struct Flash<'a>(&'a Ssd);

impl Survivors for Flash<'_> {
    fn on_flash(&self, lpn: u32) -> Option<u64> {
        self.0.page_on_flash(Lpn(lpn)).map(|page| self.0.core.ftl.flash.sequence(page))
    }

    fn on_the_way(&self) -> Vec<(u32, u64)> {
        self.0.writes_in_controller().map(|(lpn, sequence)| (lpn.0, sequence)).collect()
    }
}

/// The configuration of the machine without series and logs that would grow without limit.
fn endless(config: &RunConfig) -> RunConfig {
    let mut config = config.clone();
    config.metrics.op_log = false;
    // The engine drains this log continuously.
    config.metrics.request_log = true;
    config.metrics.interval_ns = 0;
    config
}

impl Engine {
    /// The drive of `config` in the state of `snapshot`; `table` has the slot of each page in `slots`.
    ///
    /// # Errors
    /// The snapshot is not of this drive, or the system has no thread for its disk.
    pub fn new(
        config: &RunConfig,
        snapshot: &DeviceSnapshot,
        slots: Slots,
        table: SlotTable,
    ) -> Result<Engine, String> {
        let config = endless(config);
        let ssd = restored(&config, snapshot)?;
        assert_eq!(table.pages(), ssd.core.ftl.geo.user_pages, "a table of another drive");
        let cuts = !config.power.is_off();
        Ok(Engine {
            sectors_of_page: u64::from(config.device.page_bytes) / SECTOR_BYTES,
            promises: Promises::new(&config),
            slowest: SlowestRequests::default(),
            life: Life::default(),
            busy_since: 0,
            config,
            ssd,
            disk: Disk::start().map_err(|error| error.to_string())?,
            slots,
            versions: Versions::new(table, cuts),
            log: None,
            record: None,
            sequence: snapshot.counters().sequence,
            last: 0,
            lacks_space: false,
            failure: None,
            done: Vec::new(),
        })
    }

    /// Log requests to `log` from now on.
    pub fn log_to(&mut self, log: Log) {
        self.log = Some(log);
        self.reserve_log_space();
    }

    /// Continue from these counters.
    pub fn continue_life(&mut self, life: Life) {
        self.life = life;
    }

    /// The counters since the drive was first served.
    #[must_use]
    pub fn life(&self) -> Life {
        self.life.with(&self.ssd, self.page_bytes())
    }

    /// The wear of the drive.
    #[must_use]
    pub fn worn(&self) -> WearState {
        worn(&self.config, &self.ssd)
    }

    /// The space that the drive uses, and its size.
    #[must_use]
    pub fn space(&self) -> Space {
        Space {
            drive_bytes: self.bytes(),
            mapped_bytes: self.ssd.core.ftl.owners.mapped() * self.page_bytes(),
            stored_bytes: self.slots.allocated() * self.page_bytes(),
            log_bytes: self.log_bytes(),
        }
    }

    /// Length of the log in bytes; 0 without one.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        self.log.as_ref().map_or(0, Log::bytes)
    }

    /// Record requests to `record` from now on.
    pub fn record_to(&mut self, record: Box<dyn TraceWriter>) {
        self.record = Some(record);
    }

    /// Size of the drive in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.ssd.core.ftl.geo.user_pages) * self.page_bytes()
    }

    /// Size of a page in bytes.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.sectors_of_page * SECTOR_BYTES
    }

    /// The machine.
    #[must_use]
    pub fn ssd(&self) -> &Ssd {
        &self.ssd
    }

    /// The slots of all pages.
    #[must_use]
    pub fn table(&self) -> &SlotTable {
        self.versions.table()
    }

    /// The error after which the drive does not continue, if any.
    #[must_use]
    pub fn failure(&self) -> Option<&Refusal> {
        self.failure.as_ref()
    }

    /// The report on the requests since the log began.
    #[must_use]
    pub fn report(&self, commit: Option<String>) -> Report {
        report_of(&self.config, &self.ssd, commit)
    }

    /// The slowest requests, the slowest one first.
    #[must_use]
    pub fn slowest(&self) -> Vec<SlowRequest> {
        self.slowest.in_order()
    }

    /// The blocks of each channel.
    #[must_use]
    pub fn channels(&self) -> Vec<Channel> {
        channels(&self.ssd)
    }

    /// The time of the next event.
    #[must_use]
    pub fn next_event(&self) -> Option<u64> {
        if self.failure.is_some() { None } else { self.ssd.next_event().map(|at| at.0) }
    }

    /// Run through time `to`. [`Engine::completions`] returns the requests that complete.
    pub fn run(&mut self, to: u64) {
        let before = self.done.len();
        while self.next_event().is_some_and(|at| at <= to) {
            if let Err(error) = self.ssd.run_until(Nanos(to), &mut self.done) {
                self.failure = Some(Refusal::from(&error));
            }
        }
        self.slowest.update(&mut self.ssd);
        self.note_busy(before);
        for completion in self.done[before..].iter().filter(|c| c.op == Op::Trim) {
            self.versions.trim_done(completion.id.0);
        }
    }

    /// Count the busy time that ends with the last completion in `done`, of which those from `before` on are new.
    fn note_busy(&mut self, before: usize) {
        if let Some(last) = self.done[before..].last().filter(|_| self.ssd.outstanding() == 0) {
            self.life.busy_ns += last.at.0 - self.busy_since;
        }
    }

    /// Read `length` bytes from `offset` on, at time `at` or as soon as possible after it.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn read(&mut self, at: u64, offset: u64, length: u64) -> Result<Numbers, Refusal> {
        self.each_part(at, Op::Read, (offset, length))
    }

    /// TRIM the whole pages within `length` bytes from `offset` on. The machine gets no request if there is not even a
    /// whole sector.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn trim(&mut self, at: u64, offset: u64, length: u64) -> Result<Numbers, Refusal> {
        let first = offset.div_ceil(SECTOR_BYTES);
        let end = (offset + length) / SECTOR_BYTES;
        if first >= end {
            return Ok(Numbers { first: self.ssd.submitted(), count: 0 });
        }
        self.each_part(at, Op::Trim, (first * SECTOR_BYTES, (end - first) * SECTOR_BYTES))
    }

    /// Flush.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn flush(&mut self, at: u64) -> Result<Numbers, Refusal> {
        let first = self.submit(at, &Request::new(Op::Flush, 0, 0), Vec::new())?;
        Ok(Numbers { first, count: 1 })
    }

    fn each_part(
        &mut self,
        at: u64,
        op: Op,
        (offset, length): (u64, u64),
    ) -> Result<Numbers, Refusal> {
        assert!(length > 0 && offset + length <= self.bytes(), "beyond the drive");
        let (first, mut count) = (self.ssd.submitted(), 0);
        for (sector, sectors) in parts(offset, length) {
            if op == Op::Trim {
                self.sweep_if_due()?;
            }
            self.submit(at, &Request::new(op, sector, sectors), Vec::new())?;
            count += 1;
        }
        Ok(Numbers { first, count })
    }

    /// Write `data` from byte `offset` on.
    ///
    /// # Errors
    /// A [`Refusal`]: nothing has been written.
    pub fn write(
        &mut self,
        at: u64,
        offset: u64,
        data: &[u8],
        fua: bool,
    ) -> Result<Numbers, Refusal> {
        self.write_any(at, (offset, data.len() as u64), Some(data), fua)
    }

    /// Write `length` zeros from byte `offset` on. With `trim`, whole pages are trimmed instead.
    ///
    /// # Errors
    /// A [`Refusal`]. Some of the zeros may have been written.
    pub fn write_zeroes(
        &mut self,
        at: u64,
        (offset, length): (u64, u64),
        fua: bool,
        trim: bool,
    ) -> Result<Numbers, Refusal> {
        let (page, end) = (self.page_bytes(), offset + length);
        let (from, to) = (offset.next_multiple_of(page), end / page * page);
        if !trim || from >= to {
            return self.write_any(at, (offset, length), None, fua);
        }
        let mut numbers = self.each_part(at, Op::Trim, (from, to - from))?;
        for (from, to) in [(offset, from), (to, end)] {
            if from < to {
                numbers.count += self.write_any(at, (from, to - from), None, fua)?.count;
            }
        }
        Ok(numbers)
    }

    /// Write `data`, or zeros if there are none.
    fn write_any(
        &mut self,
        at: u64,
        (offset, length): (u64, u64),
        data: Option<&[u8]>,
        fua: bool,
    ) -> Result<Numbers, Refusal> {
        assert!(length > 0 && offset + length <= self.bytes(), "beyond the drive");
        let (first, mut count) = (self.ssd.submitted(), 0);
        let mut from = offset;
        for (sector, sectors) in parts(offset, length) {
            let to = ((sector + u64::from(sectors)) * SECTOR_BYTES).min(offset + length);
            let data = data.map(|data| &data[(from - offset) as usize..(to - offset) as usize]);
            self.sweep_if_due()?;
            let slots = self.store_or_sweep((from, to), data)?;
            let flags = if fua { flags::FUA } else { 0 };
            let request = Request { flags, ..Request::new(Op::Write, sector, sectors) };
            self.submit(at, &request, slots)?;
            (from, count) = (to, count + 1);
        }
        Ok(Numbers { first, count })
    }

    /// Log a request whose data are in `slots`, and submit it to the machine. Returns its number.
    fn submit(&mut self, at: u64, request: &Request, slots: Vec<u32>) -> Result<u64, Refusal> {
        let at = at.max(self.last + 1).max(self.ssd.now().0 + 1);
        self.run(at - 1);
        let refusal = match (&self.failure, &self.log) {
            (Some(failure), _) => Some(failure.clone()),
            (None, Some(_)) => self.log(at, request, &slots).err().map(Refusal::from),
            (None, None) => None,
        };
        if let Some(refusal) = refusal {
            self.give_back(&slots);
            return Err(refusal);
        }
        let timed = TimedRequest { at: Nanos(at), request: *request };
        if let Some(Err(error)) = self.record.as_mut().map(|record| record.write(&timed)) {
            // The drive itself is intact. The error is reported when the server stops.
            self.failure = Some(Refusal::Failed(format!("the recording failed: {error}")));
        }
        self.hand_over(at, request, &slots).map_err(|error| Refusal::from(&error))
    }

    /// Submit the request that arrives at `at` to the machine.
    fn hand_over(&mut self, at: u64, request: &Request, slots: &[u32]) -> Result<u64, DeviceError> {
        if self.ssd.outstanding() == 0 {
            self.busy_since = at;
        }
        let submitted = self.ssd.submit(Nanos(at), request, None);
        // The request is in the log, so a drive that continued without it would differ from its log.
        let id = submitted.inspect_err(|error| self.failure = Some(Refusal::from(error)))?.0;
        self.last = at;
        self.life.request(request);
        self.promises.submitted(id, request);
        match request.op {
            Op::Write => {
                let (first, pages) = pages_of(request, self.sectors_of_page).expect("it has pages");
                assert_eq!(slots.len(), pages as usize, "a slot for each page");
                for (lpn, &slot) in (first..).zip(slots) {
                    self.sequence += 1;
                    let freed = self.versions.replace(lpn, slot, self.sequence, None);
                    freed.into_iter().for_each(|slot| self.slots.free(slot));
                }
            }
            Op::Trim => {
                let per_page = self.sectors_of_page;
                let first = request.sector.div_ceil(per_page) as u32;
                let end = (request.sector + u64::from(request.sectors)) / per_page;
                let (until, pages) = (self.sequence + 1, first..end as u32);
                let replace = |lpn| self.versions.replace(lpn, NONE, until, Some(id));
                pages.filter_map(replace).for_each(|slot| self.slots.free(slot));
            }
            _ => {}
        }
        Ok(id)
    }

    /// Read the newest data from `offset` on, without a request to the machine.
    ///
    /// # Errors
    /// The disk fails.
    pub fn data(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let page = self.page_bytes();
        let mut at = offset;
        let mut left = bytes;
        while !left.is_empty() {
            let from = at % page;
            let length = (page - from).min(left.len() as u64) as usize;
            let (part, rest) = left.split_at_mut(length);
            self.slots.read(self.versions.newest((at / page) as u32), from as usize, part)?;
            (at, left) = (at + length as u64, rest);
        }
        Ok(())
    }

    /// Whether the page of `offset` is mapped.
    #[must_use]
    pub fn is_mapped(&self, offset: u64) -> bool {
        let lpn = (offset / self.page_bytes()) as u32;
        self.ssd.core.ftl.owners.newest(Lpn(lpn)) != Entry::Unmapped
    }

    /// Whether the page of `offset` is known to read as zeros.
    #[must_use]
    pub fn is_zero(&self, offset: u64) -> bool {
        self.versions.newest((offset / self.page_bytes()) as u32) == NONE
    }
}

/// The requests to the machine for `length` bytes from `offset` on: first sector and number of sectors of each.
fn parts(offset: u64, length: u64) -> impl Iterator<Item = (u64, u32)> {
    let (mut sector, end) = (offset / SECTOR_BYTES, (offset + length).div_ceil(SECTOR_BYTES));
    std::iter::from_fn(move || {
        let sectors = (end - sector).min(u64::from(MAX_SECTORS)) as u32;
        let part = (sectors > 0).then_some((sector, sectors));
        sector += u64::from(sectors);
        part
    })
}
