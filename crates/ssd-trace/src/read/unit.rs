//! The unit of a trace's addresses and lengths, and whether the numbers fit the format's unit.
//!
//! DiskSim's, SSDSim's, MQSim's and Tencent's traces are defined in sectors, but there are copies with the same columns
//! in bytes (Heimdall, FlashNet) and in pages. A single line does not distinguish them, but all lines together usually
//! do. A trace is refused only if another unit fits as well ([`Shape::doubt`]); `workload.unit` must then be set. In
//! the other formats the unit is part of the definition, and ssdlab only warns of absurd values ([`Shape::warnings`]).
//!
//! The thresholds were set on every available trace in its unit and converted to the two others: five public traces
//! (MSR as in Heimdall, TPC-C of MQSim, MySQL and web servers of blkreplay) and 16 recordings. In sectors, none causes
//! a refusal or a warning. In bytes, all are refused. In pages, all are refused except one, in which lengths of 16 and
//! 128 pages are frequent, and which causes a warning.

use crate::config::{TraceUnit, Workload};
use crate::read::commands::one_of;
use crate::read::formats::mapping::TIME_UNITS;
use crate::read::formats::{self, Event, ReadAs, TimeRule, TraceFormat, Unit};
use ssd_core::config::Word;
use ssd_core::config::text::quantity::show_size;
use ssd_core::host::request::Op;
use ssd_core::host::source::SourceError;
use ssd_core::metrics::numbers::{bandwidth, count, duration, size};
use ssd_core::units::SECTOR_BYTES;

/// Numbers in bytes are multiples of this.
const SECTOR: u64 = SECTOR_BYTES;
/// Mean length, as a number, above which a trace that could be in bytes is read as bytes. Requests of more than 1 MiB
/// on average are rare in sectors (by default Linux splits requests at 1280 KiB; the largest mean of the available
/// traces is 0.15 MiB). Requests of less than 2 KiB on average are rare in bytes (the smallest mean of a published
/// trace is 2.4 KiB, in the OLTP trace Financial2). A trace with a lower mean has sectors: large aligned requests, as
/// in a sequential benchmark.
const LONG: u64 = 2048;
/// Sectors of 4 KiB, the block of nearly every file system since 2000. Requests in sectors have lengths that are
/// multiples of it, or addresses with a common remainder, or are longer than it (logs that append records of any size).
/// Requests in pages have none of these properties.
const BLOCK: u64 = 8;
/// Minimum number of requests that can show multiples of a block.
const FEW: u64 = 16;
/// Maximum mean size of requests on buses: SCSI ends at 32 MiB with sectors of 512 B.
const LONGEST_MEAN: f64 = (32 << 20) as f64;
/// Largest device, bytes and sectors: 1 PiB in one address space.
const LARGEST: f64 = (1u64 << 50) as f64;
pub(crate) const LARGEST_SECTORS: u64 = (1 << 50) / SECTOR;
/// Fastest device, bytes per second: four times PCIe 5.0 x16.
const FASTEST: f64 = (256u64 << 30) as f64;

/// Returns the rate, in bytes per second, of `requests` of `bytes` in total within `ns` nanoseconds, without one
/// request that may be in flight, if no device has this rate.
pub(crate) fn beyond_any_rate(requests: u64, bytes: f64, ns: u64) -> Option<f64> {
    let mean = bytes / requests.max(1) as f64;
    let rate = (bytes - mean) / (ns as f64 / 1e9);
    (ns > 0 && rate > FASTEST).then_some(rate)
}

/// Returns why no device has an address `end`, in sectors; `None` if a device may have it.
pub(crate) fn beyond_any_device(end: u64) -> Option<String> {
    let bytes = end as f64 * SECTOR as f64;
    (bytes > LARGEST).then(|| format!("addresses up to {}, more than any device has", size(bytes)))
}

impl Unit {
    /// Returns the unit that `workload` sets for a trace in `format`.
    ///
    /// # Errors
    /// The format defines the unit.
    pub(crate) fn of(
        file: &str,
        format: TraceFormat,
        workload: &Workload,
    ) -> Result<Unit, SourceError> {
        if workload.unit != TraceUnit::Auto && !formats::unit_may_be_set(format) {
            let name = format.word();
            return Err(SourceError(format!(
                "{file} is of format {name:?}, whose unit is defined: {}; leave workload.unit at \
                 \"auto\", or set another workload.format",
                formats::info(format).map_or("", |info| info.units)
            )));
        }
        Ok(match workload.unit {
            TraceUnit::Auto if formats::is_mapped(format) => Unit::Bytes,
            TraceUnit::Auto | TraceUnit::Sectors => Unit::Sectors,
            TraceUnit::Bytes => Unit::Bytes,
            TraceUnit::Pages => Unit::Pages(workload.page_bytes / SECTOR as u32),
        })
    }

    /// Returns the text `units` in this unit.
    fn of_units(self, units: &str) -> String {
        match self {
            Unit::Sectors => units.to_owned(),
            Unit::Bytes => units.replace("512 B sectors", "bytes"),
            Unit::Pages(sectors) => {
                let page = format!("pages of {}", size((u64::from(sectors) * SECTOR) as f64));
                units.replace("512 B sectors", &page)
            }
        }
    }
}

impl ReadAs {
    /// Returns the units of `format`, as text.
    pub(crate) fn units(&self, format: TraceFormat) -> String {
        if let Some(columns) = &self.columns {
            return format!("--columns {}", columns.text);
        }
        let Some(info) = formats::info(format) else { return String::new() };
        let units = self.unit.of_units(info.units);
        let name_of =
            |ns: u64| TIME_UNITS.iter().find(|unit| unit.1 == ns).map_or("", |unit| unit.0);
        match (info.time, self.time_ns) {
            (TimeRule::Varies(own), Some(set)) if own != set => units.replacen(
                &format!("time in {}", name_of(own)),
                &format!("time in {}", name_of(set)),
                1,
            ),
            _ => units,
        }
    }
}

/// Statistics of addresses and lengths of reads and writes, in sectors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) requests: u64,
    /// Reads among these requests.
    pub(crate) reads: u64,
    /// Discards, of which only number and times are counted.
    pub(crate) discards: u64,
    /// Requests whose address and length are multiples of [`SECTOR`], as numbers.
    whole_sectors: u64,
    /// Requests whose length is a multiple of [`BLOCK`].
    whole_blocks: u64,
    /// Requests whose length is a multiple of half a [`BLOCK`].
    half_blocks: u64,
    /// Requests shorter than [`BLOCK`].
    short: u64,
    /// Requests by their address modulo [`BLOCK`].
    places: [u64; BLOCK as usize],
    /// Sum of all lengths, the longest and the last length.
    pub(crate) length: u64,
    longest: u64,
    last: u64,
    /// First address and largest end.
    pub(crate) span: Option<(u64, u64)>,
    /// First and last time of all requests, including discards and flushes, nanoseconds.
    pub(crate) times: Option<(u64, u64)>,
}

/// The numbers of a trace in units of this many bytes.
struct Numbers {
    span: f64,
    mean: f64,
    /// Bytes per second; `None` if all requests arrive at once.
    rate: Option<f64>,
    total: f64,
}

impl Shape {
    #[inline(always)]
    pub(crate) fn add(&mut self, event: &Event) {
        let at = event.at_ns;
        let (earliest, latest) = self.times.unwrap_or((at, at));
        self.times = Some((earliest.min(at), latest.max(at)));
        if !matches!(event.op, Op::Read | Op::Write) {
            self.discards += u64::from(event.op == Op::Trim);
            return;
        }
        let (start, length) = (event.sector, u64::from(event.sectors));
        self.requests += 1;
        self.reads += u64::from(event.op == Op::Read);
        self.whole_sectors += u64::from((start | length).is_multiple_of(SECTOR));
        self.whole_blocks += u64::from(length.is_multiple_of(BLOCK));
        self.half_blocks += u64::from(length.is_multiple_of(BLOCK / 2));
        self.short += u64::from(length < BLOCK);
        self.places[(start % BLOCK) as usize] += 1;
        self.length += length;
        self.longest = self.longest.max(length);
        self.last = length;
        let (first, end) = self.span.unwrap_or((start, start));
        self.span = Some((first.min(start), end.max(start + length)));
    }

    /// Returns the nanoseconds from the first time to the last.
    fn duration_ns(&self) -> u64 {
        self.times.map_or(0, |(earliest, latest)| latest - earliest)
    }

    /// Returns the numbers if each unit of an address or length has `bytes` bytes.
    fn read(&self, bytes: u64) -> Numbers {
        let (bytes, seconds) = (bytes as f64, self.duration_ns() as f64 / 1e9);
        let total = self.length as f64 * bytes;
        Numbers {
            span: self.span.map_or(0.0, |(first, end)| (end - first) as f64) * bytes,
            mean: total / self.requests.max(1) as f64,
            rate: (seconds > 0.0).then(|| total / seconds),
            total,
        }
    }

    /// Returns whether the last length is the only one that is not whole blocks.
    pub(crate) fn ends_oddly(&self) -> bool {
        self.requests > 3
            && self.whole_blocks + 1 == self.requests
            && !self.last.is_multiple_of(BLOCK)
    }

    /// Returns why the unit is in doubt: the numbers fit sectors and another unit; `None` without doubt.
    pub(crate) fn doubt(&self, file: &str, options: &str, page_bytes: u32) -> Option<String> {
        let (alternative, name, reason) = if self.is_like_bytes() {
            let reason = format!(
                "in {} of them address and length are multiples of 512",
                count(self.whole_sectors)
            );
            (1, "bytes", reason)
        } else if self.is_like_pages() && self.read(u64::from(page_bytes)).is_possible() {
            let reason = format!(
                "in sectors only {} of {} lengths are whole blocks of 4 KiB, and addresses start \
                 anywhere within blocks",
                count(self.whole_blocks),
                count(self.requests)
            );
            (u64::from(page_bytes), "pages", reason)
        } else {
            return None;
        };
        let page = if name == "pages" {
            format!(" --page-size {}", show_size(u64::from(page_bytes)).replace(' ', ""))
        } else {
            String::new()
        };
        let (sectors, alternatives) = (self.read(SECTOR), self.read(alternative));
        Some(format!(
            "the unit of its addresses and lengths (workload.unit) is not certain ({} requests in {}; {reason}); {}",
            count(self.requests),
            duration(self.duration_ns() as f64),
            one_of(
                file,
                &[
                    (format!("{options}--unit sectors"), sectors.summary()),
                    (format!("{options}--unit {name}{page}"), alternatives.summary()),
                ]
            ),
        ))
    }

    /// Returns whether all numbers, except one in a hundred, are possible in bytes, and bytes are at least as likely.
    /// (4 in 100 recorded requests are multiples of this many sectors.)
    fn is_like_bytes(&self) -> bool {
        let are_sectors = 100 * (self.requests - self.whole_sectors) < self.requests;
        are_sectors && self.length > LONG * self.requests
    }

    /// Returns whether in sectors many requests would be shorter than a block, few would be whole blocks, and their
    /// offsets in blocks would be arbitrary. The available traces in sectors have at most 5 % of short lengths, or 58 %
    /// of whole blocks (MSR, 79 % at the same offset). Those in pages have 27 % to 100 % of short lengths, at most 28 %
    /// of whole blocks, and 13 % to 40 % at the most common offset.
    fn is_like_pages(&self) -> bool {
        self.could_be_pages() && 4 * self.whole_blocks < self.requests
    }

    /// Like [`Shape::is_like_pages`], but with more whole blocks, as in a database with small records.
    fn could_be_pages(&self) -> bool {
        self.requests >= FEW
            && !self.has_half_blocks()
            && 4 * self.short > self.requests
            && 2 * self.whole_blocks < self.requests
            && 2 * self.most_common_place() < self.requests
    }

    /// Returns whether all lengths, except one in a hundred, are multiples of 2 KiB in sectors. In pages they would all
    /// be multiples of 16 KiB, without the single pages that every trace in pages has.
    fn has_half_blocks(&self) -> bool {
        100 * (self.requests - self.half_blocks) < self.requests
    }

    fn most_common_place(&self) -> u64 {
        self.places.iter().copied().max().unwrap_or(0)
    }

    /// Returns anomalies of the numbers of a trace in `format`, read in `unit`.
    ///
    /// `in_pages`: how to read them in pages of 4 KiB, if that is another reading.
    pub(crate) fn warnings(&self, format: TraceFormat, in_pages: Option<&str>) -> Vec<String> {
        let mut warnings = Vec::new();
        if formats::counts_sectors(format) && self.is_like_bytes() {
            warnings.push(format!(
                "addresses and lengths are multiples of 512 sectors (256 KiB), as in a copy that \
                 counts bytes; the format counts sectors: {}",
                self.read(SECTOR).summary()
            ));
        }
        if let Some(in_pages) = in_pages.filter(|_| self.requests >= FEW) {
            warnings.extend(self.warning_of_pages(in_pages));
        }
        let read = self.read(SECTOR);
        let bytes = self.length as f64 * SECTOR as f64;
        if let Some(text) = self.impossible() {
            warnings.push(format!("{text}; is the trace in another unit or format?"));
        } else if !read.is_possible() {
            let numbers = read.summary();
            warnings.push(format!(
                "{numbers}, more than any device has; is the trace in another unit or format?"
            ));
        } else if beyond_any_rate(self.requests, bytes, self.duration_ns()).is_some() {
            warnings.push(format!(
                "{}, more than any device carries; is the time in another unit?",
                read.summary()
            ));
        }
        warnings
    }

    /// Returns whether many requests arrive at one time, and none at another.
    pub(crate) fn is_at_once(&self) -> bool {
        self.requests >= FEW && self.duration_ns() == 0
    }

    /// Returns why no device has the addresses; `None` if a device may have them.
    pub(crate) fn impossible(&self) -> Option<String> {
        self.span.and_then(|(_, end)| beyond_any_device(end))
    }
}

impl Shape {
    /// Returns why lengths, or all numbers, may be in pages although they are read as sectors.
    fn warning_of_pages(&self, in_pages: &str) -> Option<String> {
        let few = 8 * self.whole_blocks < self.requests
            && 2 * self.short > self.requests
            && !self.has_half_blocks();
        let message = if few && 2 * self.most_common_place() >= self.requests {
            "the lengths may be in pages and the addresses in sectors, as in traces of FlashSim"
                .to_owned()
        } else if self.could_be_pages() {
            format!("addresses and lengths may be in pages ({in_pages})")
        } else {
            return None;
        };
        Some(format!(
            "in sectors only {} of {} lengths are whole blocks of 4 KiB: {message}",
            count(self.whole_blocks),
            count(self.requests)
        ))
    }
}

impl Numbers {
    fn is_possible(&self) -> bool {
        self.span <= LARGEST && self.mean <= LONGEST_MEAN
    }

    fn summary(&self) -> String {
        let (span, mean, total) = (size(self.span), size(self.mean), size(self.total));
        let rate = self.rate.map_or("all at once".to_owned(), bandwidth);
        format!("requests of {mean} on average over a span of {span}, {total} at {rate}")
    }
}
