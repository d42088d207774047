//! Statistics of a trace, independent of any device: collects requests one by one and returns [`Info`].
//!
//! Every statistic is defined once, at its field in `python/ssdlab/traces/info.py`, from which `docs/trace-info.md` is
//! generated; the names here are the same.
//!
//! Memory: 16 bytes for each page of every 64 KiB area that is read or written (and at most 4.2 of
//! index, 6.2 while it grows), 16 bytes for each separate run of discarded pages, and a constant (of
//! which the map of addresses has 128 KiB).

mod addresses;
mod order;
mod over_time;
mod pages;
mod shape;
mod sizes;
#[cfg(test)]
mod tests;
mod time;
mod trains;

use order::{DuplicateDetector, Order};
pub(crate) use pages::RECENT_PAGES;
use pages::{Access, Pages};
use serde::Serialize;
pub(crate) use shape::Distribution;
use ssd_core::host::request::{Op, Request, TimedRequest, flags};
use ssd_core::host::source::SourceError;
use ssd_core::units::SECTOR_BYTES;
use std::ops::RangeInclusive;

use crate::read::page_runs::RunCollector;
use crate::read::worker::{Consumer, Worker};

/// Sectors of a page, regardless of the device.
const PAGE_SECTORS: u64 = 8;
/// Bytes of a page.
const PAGE_BYTES: u64 = PAGE_SECTORS * SECTOR_BYTES;
/// Number of operations with an address: read, write, trim.
const ADDRESSED: usize = 3;

/// Options of the collection.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sectors of the file system's journal, as half-open ranges.
    pub journal: Vec<(u64, u64)>,
    /// Maximum memory of the table of pages, bytes.
    pub memory: u64,
}

/// One operation.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct OpInfo {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) request_share: Option<f64>,
    pub(crate) byte_share: Option<f64>,
    pub(crate) aligned_share: Option<f64>,
    pub(crate) size: Distribution,
    pub(crate) frequent: Vec<sizes::FrequentSize>,
    pub(crate) sequential_share: Option<f64>,
    pub(crate) sequential_mean_bytes: Option<f64>,
    pub(crate) run_requests: Distribution,
    pub(crate) run_bytes: Distribution,
}

/// Operations, and sequences of operations.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Ops {
    pub(crate) read: OpInfo,
    pub(crate) write: OpInfo,
    pub(crate) trim: OpInfo,
}

/// Journal share.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Journal {
    pub(crate) requests: u64,
    pub(crate) request_share: Option<f64>,
    pub(crate) write_share: Option<f64>,
    pub(crate) write_byte_share: Option<f64>,
    #[serde(skip)]
    writes: u64,
    #[serde(skip)]
    write_bytes: u64,
}

/// One volume.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(crate) struct VolumeInfo {
    pub(crate) volume: u16,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) trims: u64,
    pub(crate) flushes: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) bytes_trimmed: u64,
    pub(crate) write_share: Option<f64>,
    pub(crate) sequential_share: Option<f64>,
    pub(crate) pages_touched: u64,
    pub(crate) pages_written: u64,
}

/// Statistics of a trace; the head of this module says where they are defined.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Info {
    pub(crate) requests: u64,
    pub(crate) flushes: u64,
    pub(crate) copies: u64,
    pub(crate) bytes_copied: u64,
    pub(crate) first_ns: u64,
    pub(crate) duration_ns: u64,
    pub(crate) requests_per_s: Option<f64>,
    pub(crate) write_share: Option<f64>,
    pub(crate) sequential_share: Option<f64>,
    pub(crate) sequential_any_share: Option<f64>,
    pub(crate) doubled: u64,
    pub(crate) doubled_share: Option<f64>,
    pub(crate) ops: Ops,
    pub(crate) addresses: addresses::Addresses,
    pub(crate) footprint: pages::Footprint,
    pub(crate) updates: pages::Updates,
    pub(crate) hot: pages::Hot,
    pub(crate) discards: pages::Discards,
    pub(crate) rate: over_time::Rate,
    pub(crate) map: over_time::AddressMap,
    pub(crate) bursts: Vec<time::Burst>,
    pub(crate) gaps: Distribution,
    pub(crate) idle: time::Idle,
    pub(crate) trains: trains::Trains,
    pub(crate) journal: Option<Journal>,
    pub(crate) volumes: Vec<VolumeInfo>,
    /// Memory used by the table of pages.
    pub(crate) table_bytes: u64,
}

/// Returns `part` of `total`; undefined if `total` is 0.
fn share(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| part as f64 / total as f64)
}

/// Returns the pages of the sectors `start..end`.
fn pages_of(start: u64, end: u64) -> RangeInclusive<u64> {
    start / PAGE_SECTORS..=(end - 1) / PAGE_SECTORS
}

/// State of a volume.
#[derive(Default)]
struct Volume {
    order: Order,
    trimmed: RunCollector,
    /// Requests by operation.
    requests: [u64; 4],
    sectors: [u64; ADDRESSED],
}

/// Collects the requests of a trace. The reading, the table of pages, which waits for memory, and the other statistics
/// take about the same time, so each has a thread.
pub struct Collector(Worker<Statistics>);

impl Collector {
    /// Creates a collector without requests.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn new(options: Options) -> Result<Collector, SourceError> {
        Ok(Collector(Worker::new(Statistics::new(options)?)?))
    }

    /// Adds the next request in order of arrival.
    ///
    /// # Errors
    /// The touched pages take more memory than allowed, or a count or time exceeds the range of the table. The error
    /// may belong to an earlier request, up to tens of thousands before. No call may follow.
    pub fn push(&mut self, timed: &TimedRequest) -> Result<(), SourceError> {
        self.0.push(*timed)
    }

    /// Returns the statistics.
    ///
    /// # Errors
    /// As for [`Collector::push`].
    pub fn finish(self) -> Result<Info, SourceError> {
        self.0.finish()?.finish()
    }
}

/// Statistics of the requests so far.
struct Statistics {
    journal_ranges: Vec<(u64, u64)>,
    journal: Journal,
    sizes: [sizes::Sizes; ADDRESSED],
    runs: [order::Runs; ADDRESSED],
    doubled: DuplicateDetector,
    addresses: addresses::Collector,
    pages: Worker<Pages>,
    time: time::Arrivals,
    over_time: over_time::ActivityCollector,
    trains: trains::Collector,
    copies: u64,
    sectors_copied: u64,
    /// Volumes by number.
    volumes: Vec<Option<Box<Volume>>>,
}

impl Consumer for Statistics {
    type Item = TimedRequest;

    fn consume(&mut self, requests: &[TimedRequest]) -> Result<(), SourceError> {
        requests.iter().try_for_each(|timed| self.add(timed))
    }
}

impl Statistics {
    fn new(options: Options) -> Result<Statistics, SourceError> {
        Ok(Statistics {
            journal_ranges: options.journal,
            journal: Journal::default(),
            sizes: Default::default(),
            runs: Default::default(),
            doubled: DuplicateDetector::default(),
            addresses: addresses::Collector::default(),
            pages: Worker::new(Pages::new(options.memory))?,
            time: time::Arrivals::default(),
            over_time: over_time::ActivityCollector::default(),
            trains: trains::Collector::default(),
            copies: 0,
            sectors_copied: 0,
            volumes: Vec::new(),
        })
    }

    /// Adds the next request in order of arrival.
    fn add(&mut self, timed: &TimedRequest) -> Result<(), SourceError> {
        let request = &timed.request;
        if request.flags & flags::COPY != 0 {
            return self.add_copy(timed);
        }
        let gap = self.time.since_last(timed.at.0);
        let after = self.time.add(timed.at.0)?;
        self.over_time.add(after, request.op);
        self.trains.add(gap, request);
        let volume = Volume::of(&mut self.volumes, request.volume);
        volume.requests[request.op as usize] += 1;
        if request.op == Op::Flush || request.sectors == 0 {
            return Ok(());
        }
        let op = request.op as usize;
        let sectors = u64::from(request.sectors);
        let Some(end) = request.sector.checked_add(sectors) else {
            return Err(SourceError("a request ends beyond sector 2^64".to_owned()));
        };
        volume.sectors[op] += sectors;
        volume.order.add(&mut self.runs, op, request.sector, end);
        self.sizes[op].add(request.sector, request.sectors);
        self.doubled.add(timed);
        match request.op {
            Op::Read | Op::Write => {
                self.addresses.add(request.sector, end);
                self.over_time.touch(after, request.op, pages_of(request.sector, end));
            }
            Op::Trim => {
                let (first, until) = (request.sector.div_ceil(PAGE_SECTORS), end / PAGE_SECTORS);
                if first < until {
                    volume.trimmed.add(first, until - 1);
                }
            }
            Op::Flush | Op::Copy => {}
        }
        self.add_journal(request);
        let Request { op, volume, sector, .. } = *request;
        self.pages.push(Access { op, volume, sector, end, after })
    }

    /// Adds a part of a copy: the destination is the arrival, and the contents of its pages are unknown.
    #[cold]
    fn add_copy(&mut self, timed: &TimedRequest) -> Result<(), SourceError> {
        if timed.request.op == Op::Write {
            let after = self.time.add(timed.at.0)?;
            self.over_time.add(after, Op::Copy);
            self.copies += 1;
            self.sectors_copied += u64::from(timed.request.sectors);
        }
        Ok(())
    }

    /// Counts a request that begins in the journal.
    fn add_journal(&mut self, request: &Request) {
        let sector = request.sector;
        if self.journal_ranges.iter().any(|&(start, end)| start <= sector && sector < end) {
            self.journal.requests += 1;
            if request.op == Op::Write {
                self.journal.writes += 1;
                self.journal.write_bytes += u64::from(request.sectors) * SECTOR_BYTES;
            }
        }
    }

    fn finish(mut self) -> Result<Info, SourceError> {
        let pages = self.pages.finish()?;
        let (mut counts, mut sectors, mut any) = ([0u64; 4], [0u64; ADDRESSED], 0u64);
        for volume in self.volumes.iter_mut().flatten() {
            volume.order.end(&mut self.runs);
            (0..4).for_each(|op| counts[op] += volume.requests[op]);
            (0..ADDRESSED).for_each(|op| sectors[op] += volume.sectors[op]);
            any += volume.order.any;
        }
        let addressed = counts[..ADDRESSED].iter().sum();
        let (bytes, survey) = (sectors.map(|count| count * SECTOR_BYTES), pages.survey());
        let (mut pages_trimmed, mut volumes) = (0, Vec::new());
        let numbered = (0..=u16::MAX).zip(std::mem::take(&mut self.volumes));
        for (number, volume) in numbered.filter_map(|(number, volume)| Some((number, volume?))) {
            let pages = survey.volumes.get(&number).copied().unwrap_or_default();
            volumes.push(volume.info(number, pages));
            pages_trimmed += volume.trimmed.count();
        }
        let followed: u64 = self.runs.iter().map(|runs| runs.followers).sum();
        let ops = Ops::of((&self.sizes, &self.runs), &counts, &bytes);
        let (read, write, trim) = (&ops.read, &ops.write, &ops.trim);
        let journal = (!self.journal_ranges.is_empty()).then(|| Journal {
            request_share: share(self.journal.requests, addressed),
            write_share: share(self.journal.writes, write.requests),
            write_byte_share: share(self.journal.write_bytes, write.bytes),
            ..self.journal
        });
        let (rate, map) = self.over_time.finish();
        Ok(Info {
            requests: counts.iter().sum::<u64>() + self.copies,
            flushes: counts[Op::Flush as usize],
            copies: self.copies,
            bytes_copied: self.sectors_copied * SECTOR_BYTES,
            first_ns: self.time.first(),
            duration_ns: self.time.duration(),
            requests_per_s: self.time.rate(),
            write_share: share(write.requests, read.requests + write.requests),
            sequential_share: share(followed, addressed),
            sequential_any_share: share(any, addressed),
            doubled: self.doubled.count,
            doubled_share: share(self.doubled.count, addressed),
            addresses: self.addresses.finish(),
            footprint: survey.footprint(&pages, write.bytes, pages_trimmed),
            updates: pages.updates(),
            hot: survey.hot(),
            discards: pages.discards(trim.requests, trim.bytes),
            rate,
            map,
            bursts: self.time.bursts(),
            gaps: self.time.gaps(),
            idle: self.time.idle(),
            trains: self.trains.finish(),
            journal,
            volumes,
            table_bytes: pages.bytes(),
            ops,
        })
    }
}

impl Ops {
    /// Returns the operations with these `counts` and `bytes` of requests.
    fn of(
        (sizes, runs): (&[sizes::Sizes; ADDRESSED], &[order::Runs; ADDRESSED]),
        counts: &[u64; 4],
        bytes: &[u64; ADDRESSED],
    ) -> Ops {
        let addressed = counts[..ADDRESSED].iter().sum();
        let [read, write, trim] = [Op::Read, Op::Write, Op::Trim].map(|op| {
            let index = op as usize;
            let (sizes, runs) = (&sizes[index], &runs[index]);
            OpInfo {
                requests: counts[index],
                bytes: bytes[index],
                request_share: share(counts[index], addressed),
                byte_share: if op == Op::Trim {
                    None
                } else {
                    share(bytes[index], bytes[0] + bytes[1])
                },
                aligned_share: share(sizes.aligned, counts[index]),
                size: sizes.distribution(),
                frequent: sizes.frequent(),
                sequential_share: share(runs.followers, counts[index]),
                sequential_mean_bytes: share(runs.follower_bytes, runs.followers),
                run_requests: Distribution::of(&runs.requests, 1),
                run_bytes: Distribution::of(&runs.sectors, SECTOR_BYTES),
            }
        });
        Ops { read, write, trim }
    }
}

impl Volume {
    /// Returns the volume with this number.
    fn of(volumes: &mut Vec<Option<Box<Volume>>>, number: u16) -> &mut Volume {
        let place = usize::from(number);
        if volumes.len() <= place {
            volumes.resize_with(place + 1, || None);
        }
        volumes[place].get_or_insert_default()
    }

    fn info(&self, volume: u16, pages: pages::TouchedPages) -> VolumeInfo {
        let [reads, writes, trims, flushes] = self.requests;
        let [bytes_read, bytes_written, bytes_trimmed] =
            self.sectors.map(|sectors| sectors * SECTOR_BYTES);
        VolumeInfo {
            volume,
            reads,
            writes,
            trims,
            flushes,
            bytes_read,
            bytes_written,
            bytes_trimmed,
            write_share: share(writes, reads + writes),
            sequential_share: share(self.order.same, reads + writes + trims),
            pages_touched: pages.touched,
            pages_written: pages.written,
        }
    }
}
