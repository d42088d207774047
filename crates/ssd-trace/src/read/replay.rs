//! Replays a trace: time range, fit to the device, loops, time scale.

use crate::config::{Fit, Workload};
use crate::read::copies;
use crate::read::digest::Digest;
use crate::read::facts::{TraceFacts, Volume};
use crate::read::fit::{Fitter, Record};
use crate::read::input::{self, Step, Watch};
use crate::read::reading::{self, ReadingSummary};
use crate::read::scan::Refusal;
use crate::read::tally::Tally;
use crate::read::trace_cache::{CachedTrace, TraceCache};
use crate::read::updates::Key;
use crate::read::volumes::VolumeSelection;
use ssd_core::config::Word;
use ssd_core::host::copy::SourceRange;
use ssd_core::host::request::{Op, Request, TimedRequest, flags};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::units::{Nanos, SECTOR_BYTES};
use std::collections::VecDeque;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Maximum arrival of a replay, nanoseconds (146 years).
const LATEST: u64 = 1 << 62;

/// A trace in memory, 24 bytes a request, and the position of its replay.
///
/// Time 0 is `from_ns` of the trace. Loop `i` starts `i` times the length of one loop later, which is the time of the
/// last request. All arrivals are then multiplied by `time_scale`.
#[derive(Clone)]
pub struct TraceSource {
    /// Records of the whole trace, which other runs may share, or of a part.
    records: Arc<Vec<Record>>,
    /// The replayed part: `first..end`, with `from_ns` as time 0.
    first: usize,
    end: usize,
    from_ns: u64,
    /// Number of records that are sources of copies, and the sources of returned copies.
    source_records: u64,
    sources: VecDeque<Vec<SourceRange>>,
    next: usize,
    round: u32,
    loops: u32,
    /// Length of one loop before scaling, nanoseconds.
    span: u64,
    scale: f64,
}

impl TraceSource {
    /// Reads the trace at `path` ("-": standard input), which may be compressed with zstd or gzip, for a device of
    /// `user_pages` pages of `page_bytes` bytes (a multiple of 512), or takes it from the cache `store`, where it
    /// remains for later runs. `watch` receives the progress, and `Break` ends the reading.
    ///
    /// # Errors
    /// The file cannot be read, a line is bad, a time or address does not fit, or nothing remains to replay; the
    /// message names file, line and remedy.
    pub fn open(
        path: &str,
        workload: &Workload,
        page_bytes: u32,
        user_pages: u32,
        store: Option<&TraceCache>,
        watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> Result<(TraceSource, TraceFacts), SourceError> {
        let (file, watch) = (input::display_name(path), Watch::new(watch));
        if let Some(store) = store
            && check_options(workload).is_ok()
            && reading::check_options(workload).is_ok()
            && let Some(trace) = store.get(path, workload, page_bytes, &watch)
            && let Some(opened) =
                TraceSource::of_whole(&file, &trace, workload, (page_bytes, user_pages))
        {
            return opened;
        }
        TraceSource::read_watched(
            &file,
            input::open(path, &watch)?,
            &watch,
            workload,
            (page_bytes, user_pages),
        )
    }

    /// Like [`TraceSource::open`], from any reader; `file` is its name in messages.
    ///
    /// # Errors
    /// As for [`TraceSource::open`].
    pub fn read(
        file: &str,
        raw: impl Read,
        workload: &Workload,
        page_bytes: u32,
        user_pages: u32,
    ) -> Result<(TraceSource, TraceFacts), SourceError> {
        let mut nobody = |_| ControlFlow::Continue(());
        let watch = Watch::new(&mut nobody);
        TraceSource::read_watched(file, raw, &watch, workload, (page_bytes, user_pages))
    }

    fn read_watched(
        file: &str,
        raw: impl Read,
        watch: &Watch<'_>,
        workload: &Workload,
        (page_bytes, user_pages): (u32, u32),
    ) -> Result<(TraceSource, TraceFacts), SourceError> {
        crate::device::check(page_bytes, user_pages)?;
        check_options(workload)?;
        let sectors_per_page = u64::from(page_bytes) / SECTOR_BYTES;
        let mut fitter = Fitter::new(workload.fit, sectors_per_page, user_pages);
        let mut digest = Digest::new();
        let volume = VolumeSelection::of(workload.volume);
        let result = reading::each_event(file, raw, watch, workload, volume, |event, at| {
            fitter.add(event, at)?;
            digest.add(&event.request(at));
            Ok(())
        })?;
        let mut facts = TraceFacts::of(file, workload, &result, &fitter, digest);
        let records = fitted(file, &result, volume, &mut fitter)?;
        facts.empty_discards = fitter.empty_discards;
        let part = Part { first: 0, end: records.len(), from_ns: 0, records: Arc::new(records) };
        TraceSource::of_part(part, facts, workload, (page_bytes, user_pages))
    }

    /// Returns the part of a cached trace for `workload`; `None` if only the file can show the error.
    fn of_whole(
        file: &str,
        trace: &CachedTrace,
        workload: &Workload,
        (page_bytes, user_pages): (u32, u32),
    ) -> Option<Result<(TraceSource, TraceFacts), SourceError>> {
        let ReadingSummary { format, action, tally, .. } = &*trace.reading;
        let from_ns = workload.from_ns;
        let range = trace.range(from_ns, workload.until_ns.unwrap_or(u64::MAX));
        let part = &trace.records[range.clone()];
        let sectors_per_page = u64::from(page_bytes) / SECTOR_BYTES;
        let mut fitter = Fitter::new(workload.fit, sectors_per_page, user_pages);
        let volume = VolumeSelection::of(workload.volume);
        let (mut digest, mut as_is) = (Digest::new(), true);
        if let Some((renumbered, of_all)) = trace.renumbered {
            if let Err(error) = renumbered.check_room(sectors_per_page, user_pages) {
                return Some(Err(SourceError(format!("{file}: {error}"))));
            }
            fitter.empty_discards = renumbered.empty_discards;
            digest = of_all;
        } else if part.is_empty() {
            return Some(Err(reading::nothing(file, tally, (*format, *action), &[], workload)));
        } else {
            as_is = workload.fit != Fit::Compact
                && volume != VolumeSelection::All
                && part.iter().all(|record| record.end() <= fitter.capacity());
            for record in part {
                let (event, at) = (record.event(), record.at - from_ns);
                digest.add(&event.request(at));
                match if as_is { Ok(()) } else { fitter.add(&event, at) } {
                    Ok(()) => {}
                    Err(Refusal::Trace(error)) => return Some(Err(error)),
                    // The message, or the skipping, needs the line.
                    Err(Refusal::Line(_) | Refusal::Late(_)) => return None,
                }
            }
        }
        let mut facts = TraceFacts::of(file, workload, &trace.reading, &fitter, digest);
        facts.events_outside_range = (trace.records.len() - part.len()) as u64;
        let with_name = |message: &String| trace.with_name(message, file);
        facts.notes = facts.notes.iter().map(with_name).collect();
        facts.first_skipped = facts.first_skipped.as_ref().map(with_name);
        let part = if as_is {
            let records = Arc::clone(&trace.records);
            Part { records, first: range.start, end: range.end, from_ns }
        } else {
            let records = match fitted(file, &trace.reading, volume, &mut fitter) {
                Ok(records) => records,
                Err(error) => return Some(Err(error)),
            };
            Part { first: 0, end: records.len(), from_ns: 0, records: Arc::new(records) }
        };
        facts.empty_discards = fitter.empty_discards;
        Some(TraceSource::of_part(part, facts, workload, (page_bytes, user_pages)))
    }

    fn of_part(
        part: Part,
        mut facts: TraceFacts,
        workload: &Workload,
        (page_bytes, user_pages): (u32, u32),
    ) -> Result<(TraceSource, TraceFacts), SourceError> {
        let file = facts.file.clone();
        let sectors_per_page = u64::from(page_bytes) / SECTOR_BYTES;
        let Part { records, first, end, from_ns } = part;
        let replayed = &records[first..end];
        let (Some(earliest), Some(latest)) = (replayed.first(), replayed.last()) else {
            return Err(reading::no_page(&file, workload));
        };
        let source_records = copies::check(replayed, sectors_per_page)
            .map_err(|error| SourceError(format!("{file}: {error}")))?;
        (facts.first_ns, facts.duration_ns) = (earliest.at - from_ns, latest.at - from_ns);
        facts.add_volume(Volume::of(replayed, sectors_per_page, user_pages));
        let source = TraceSource {
            next: first,
            round: 0,
            loops: workload.loops,
            span: facts.duration_ns,
            scale: workload.time_scale,
            records,
            first,
            end,
            from_ns,
            source_records,
            sources: VecDeque::new(),
        };
        source.check_end(&file)?;
        Ok((source, facts))
    }

    /// Returns its requests, fitted to the device; times are not scaled.
    ///
    /// # Panics
    /// They are a part of a cached trace.
    pub(crate) fn into_records(self) -> Vec<Record> {
        Arc::into_inner(self.records).expect("it was read for this source alone")
    }

    /// Returns the key of the shifted updates of its requests.
    pub(crate) fn key_of_updates(&self, sectors_per_page: u32, seed: u64) -> Key {
        let (records, range) = (Arc::downgrade(&self.records), self.first..self.end);
        Key { records, range, sectors_per_page, seed }
    }

    /// Checks that the last arrival is within the range of times.
    fn check_end(&self, file: &str) -> Result<(), SourceError> {
        let end = u128::from(self.span) * u128::from(self.loops);
        if end as f64 * self.scale.max(1.0) < LATEST as f64 {
            return Ok(());
        }
        let remedy = "lower workload.loops or workload.time_scale, or set workload.from";
        Err(SourceError(format!("{file}: the replay would end after 146 years; {remedy}")))
    }

    /// Returns the copy that begins with the next record.
    #[cold]
    #[inline(never)]
    fn copy(&mut self) -> TimedRequest {
        let ranges = copies::sources(&self.records[self.next..self.end]);
        self.next += ranges.len() + 1;
        self.sources.push_back(ranges);
        let Record { at, sector, sectors, flags, stream, .. } = self.records[self.next - 1];
        let copy = Request::new(Op::Copy, sector, sectors);
        let request = Request { flags: flags & !flags::COPY, stream, ..copy };
        TimedRequest { at: self.arrival(at), request }
    }

    /// Returns the arrival of a record in the current loop.
    #[inline(always)]
    fn arrival(&self, at: u64) -> Nanos {
        let at = u64::from(self.round) * self.span + (at - self.from_ns);
        if self.scale.to_bits() == 1.0f64.to_bits() {
            return Nanos(at);
        }
        // Rounding by adding a half preserves the order of arrivals.
        Nanos((at as f64 * self.scale + 0.5) as u64)
    }
}

impl Source for TraceSource {
    #[inline]
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.next == self.end {
            if self.round + 1 >= self.loops {
                return Ok(None);
            }
            (self.round, self.next) = (self.round + 1, self.first);
        }
        let record = self.records[self.next];
        if record.copies() {
            return Ok(Some(self.copy()));
        }
        let Record { at, sector, sectors, flags, stream, .. } = record;
        self.next += 1;
        let request = Request { flags, stream, ..Request::new(record.op(), sector, sectors) };
        Ok(Some(TimedRequest { at: self.arrival(at), request }))
    }

    fn copy_sources(&mut self) -> Vec<SourceRange> {
        self.sources.pop_front().unwrap_or_default()
    }

    fn expected(&self) -> Option<u64> {
        let requests = (self.end - self.first) as u64 - self.source_records;
        Some(requests * u64::from(self.loops))
    }
}

/// The replayed part of the records; see [`TraceSource`].
struct Part {
    records: Arc<Vec<Record>>,
    first: usize,
    end: usize,
    from_ns: u64,
}

/// Returns the requests of a trace fitted to the device.
fn fitted(
    file: &str,
    reading: &ReadingSummary,
    volume: VolumeSelection,
    fitter: &mut Fitter,
) -> Result<Vec<Record>, SourceError> {
    let mut records = fitter.finish().map_err(|error| SourceError(format!("{file}: {error}")))?;
    if volume == VolumeSelection::All {
        let ranks = reading.tally.tenants.ranks();
        records.iter_mut().for_each(|r| r.stream = ranks[usize::from(r.stream)]);
    }
    Ok(records)
}

/// Checks the keys of the replay.
fn check_options(workload: &Workload) -> Result<(), SourceError> {
    let Workload { loops, time_scale, .. } = workload;
    if *loops == 0 {
        return Err(SourceError("workload.loops is 0; it must be at least 1".to_owned()));
    }
    if !(time_scale.is_finite() && *time_scale > 0.0) {
        let text = format!("workload.time_scale is {time_scale}; it must be above 0");
        return Err(SourceError(text));
    }
    Ok(())
}

/// Returns text about the volumes that are used together, and their streams.
fn describe_volumes(tally: &Tally) -> String {
    let numbers = tally.tenants.numbers();
    let streams =
        numbers.iter().enumerate().map(|(stream, volume)| format!("{volume} as stream {stream}"));
    streams.collect::<Vec<_>>().join(", ")
}

impl TraceFacts {
    /// Returns the facts that are known before the fit is finished.
    fn of(
        file: &str,
        workload: &Workload,
        reading: &ReadingSummary,
        fitter: &Fitter,
        digest: Digest,
    ) -> TraceFacts {
        let ReadingSummary { format, action, tally, outside, units, warnings } = reading;
        TraceFacts {
            file: file.to_owned(),
            lines: tally.lines,
            summary_lines: tally.summary_lines,
            skipped_lines: tally.skipped_lines,
            late_requests: tally.late.events,
            sorted: workload.sort,
            notes: warnings.clone(),
            first_skipped: tally.first_skipped.clone(),
            events: tally.events(*action as u8),
            action: *action,
            format: format.word(),
            units: units.clone(),
            volume: tally.volume.as_ref().map_or(0, |volume| volume.0),
            device: tally
                .volume
                .as_ref()
                .map_or_else(|| describe_volumes(tally), |volume| volume.1.clone()),
            base_ns: tally.base_ns.unwrap_or(0),
            header_lines: tally.header_lines,
            events_of_other_volumes: tally.other_volumes,
            doubled_records: tally.doubled,
            dedup: workload.dedup,
            dataless_events: tally.dataless,
            events_outside_range: *outside,
            requests: Default::default(),
            empty_discards: 0,
            split_requests: fitter.split_requests,
            whole_device_discards: fitter.whole_device_discards,
            footprint_pages: 0,
            unique_pages_written: 0,
            write_streams: Vec::new(),
            bytes_read: 0,
            bytes_written: 0,
            bytes_trimmed: 0,
            from_ns: workload.from_ns,
            first_ns: 0,
            duration_ns: 0,
            trace_digest: digest.hex(),
            fit: workload.fit,
            loops: workload.loops,
            time_scale: workload.time_scale,
        }
    }

    fn add_volume(&mut self, volume: Volume) {
        self.requests = volume.requests;
        self.bytes_read = volume.bytes_read;
        self.bytes_written = volume.bytes_written;
        self.bytes_trimmed = volume.bytes_trimmed;
        self.footprint_pages = volume.footprint_pages;
        self.unique_pages_written = volume.unique_pages_written;
        self.write_streams = volume.write_streams;
    }
}
