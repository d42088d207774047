//! The updates of the pages of a trace, with those of each page shifted by a separate phase.
//!
//! The runs of a study differ in their devices, not in the order of these updates, so runs with one seed share them.

use crate::read::fit::Record;
use crate::read::input::{Step, Watch};
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::rng::Stream;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Number of parts of a loop that are ordered one after the other, so that the positions of one part are in memory.
const PARTS: u64 = 4;
/// Updates between two progress reports.
const LOOK_EVERY: u64 = 1 << 20;

/// Properties of an update other than its page; the default is a write of stream 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) stream: u8,
    pub(crate) is_trim: bool,
}

/// Updates of one page each, in order.
#[derive(Default)]
pub(crate) struct Updates {
    pages: Vec<u32>,
    /// Empty if all updates are of the default kind, because long traces have neither streams nor TRIMs.
    kinds: Vec<Kind>,
}

impl Updates {
    /// Returns the updates of a `round` of a loop on pages of `sectors_per_page`, each shifted by the phase of its
    /// page, which `seed` draws. Time counts page writes: an update after `t` of the `n` page writes of a loop is moved
    /// to `(t + phase) mod n`. A TRIM remains before the write that follows it.
    ///
    /// # Errors
    /// The round contains copies or updates no page, there is no memory for its updates, or `watch` has ended it.
    pub(crate) fn shifted<S: Source + Clone>(
        round: &S,
        sectors_per_page: u32,
        seed: u64,
        watch: &Watch<'_>,
    ) -> Result<Updates, SourceError> {
        // Traces are long, so this is a counting sort that reads the trace again instead of storing its order.
        let recorded = RecordedUpdates { round, sectors_per_page, watch };
        let counts = recorded.counts()?;
        let reserved = |error| no_memory(counts.updates, &error);
        let mut updates = Updates::default();
        updates.pages.try_reserve_exact(counts.updates as usize).map_err(reserved)?;
        updates.pages.resize(counts.updates as usize, 0);
        if counts.has_kinds {
            updates.kinds.resize(counts.updates as usize, Kind::default());
        }
        let mut phases = Phases::new(&counts, seed);
        let mut first = 0;
        for part in 0..PARTS {
            let (start, end) = (counts.written * part / PARTS, counts.written * (part + 1) / PARTS);
            let places = start as u32..end as u32;
            let steps = (2 * part * counts.updates, 2 * PARTS * counts.updates);
            first = updates.order(&recorded, &mut phases, places, first, steps)?;
        }
        Ok(updates)
    }

    /// Stores the updates with positions in `places`, from index `first` on; returns the end.
    fn order<S: Source + Clone>(
        &mut self,
        recorded: &RecordedUpdates<'_, '_, S>,
        phases: &mut Phases,
        places: Range<u32>,
        first: u32,
        (done, total): (u64, u64),
    ) -> Result<u32, SourceError> {
        let mut next = vec![0_u32; places.len()];
        let counted = recorded.for_each((done, total), |page, _, before| {
            let place = phases.place(page, before);
            if places.contains(&place) {
                next[(place - places.start) as usize] += 1;
            }
        })?;
        let mut end = first;
        for count in &mut next {
            (*count, end) = (end, end + *count);
        }
        recorded.for_each((done + counted, total), |page, kind, before| {
            let place = phases.place(page, before);
            if places.contains(&place) {
                let at = &mut next[(place - places.start) as usize];
                self.pages[*at as usize] = page;
                if let Some(kind_of_step) = self.kinds.get_mut(*at as usize) {
                    *kind_of_step = kind;
                }
                *at += 1;
            }
        })?;
        Ok(end)
    }

    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns page and kind of the update at this position.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> (u32, Kind) {
        (self.pages[place], self.kinds.get(place).copied().unwrap_or_default())
    }
}

/// Counts of the updates of a round.
#[derive(Default)]
struct Counts {
    updates: u64,
    /// Writes among these.
    written: u64,
    /// One more than the last page.
    pages: u64,
    /// Whether any update is not of the default kind.
    has_kinds: bool,
}

/// A phase for each page, drawn in the order in which the pages first occur.
struct Phases {
    random: Stream,
    written: u64,
    numbers: Vec<u32>,
}

/// Marks a page without a phase, because no phase is this large.
const NONE: u32 = u32::MAX;

impl Phases {
    fn new(counts: &Counts, seed: u64) -> Phases {
        Phases {
            random: Stream::new(seed, "workload.phases"),
            written: counts.written,
            numbers: vec![NONE; counts.pages as usize],
        }
    }

    /// Returns the position to which an update of `page` is moved that has `before` page writes before it.
    #[inline]
    fn place(&mut self, page: u32, before: u64) -> u32 {
        let phase = &mut self.numbers[page as usize];
        if *phase == NONE {
            *phase = self.random.below(self.written) as u32;
        }
        let place = before + u64::from(*phase);
        (if place < self.written { place } else { place - self.written }) as u32
    }
}

/// The updates of a round as recorded, without reads and flushes, which change no page, and without TRIMs of partial
/// pages.
struct RecordedUpdates<'a, 'w, S> {
    round: &'a S,
    sectors_per_page: u32,
    watch: &'a Watch<'w>,
}

impl<S: Source + Clone> RecordedUpdates<'_, '_, S> {
    /// Calls `with` for each request that updates pages, with these pages and the kind of the updates.
    fn each_range(
        &self,
        mut with: impl FnMut(Range<u32>, Kind) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        let mut round = self.round.clone();
        while let Some(TimedRequest { request, .. }) = round.next_request()? {
            let is_trim = match request.op {
                Op::Write => false,
                Op::Trim => true,
                Op::Read | Op::Flush => continue,
                Op::Copy => {
                    let text = "workload.phases = \"independent\": the trace holds copies, which tie pages to \
                                one another; set workload.phases = \"recorded\"";
                    return Err(SourceError(text.to_owned()));
                }
            };
            let kind = Kind { stream: request.stream, is_trim };
            with(pages(&request, self.sectors_per_page), kind)?;
        }
        Ok(())
    }

    fn counts(&self) -> Result<Counts, SourceError> {
        let mut counts = Counts::default();
        self.each_range(|pages, kind| {
            counts.updates += pages.len() as u64;
            counts.written += if kind.is_trim { 0 } else { pages.len() as u64 };
            if !pages.is_empty() {
                counts.pages = counts.pages.max(u64::from(pages.end));
                counts.has_kinds |= kind != Kind::default();
            }
            Ok(())
        })?;
        if counts.written == 0 {
            let text = "workload.phases = \"independent\": the trace writes no page, so there is nothing to shift";
            return Err(SourceError(text.to_owned()));
        }
        if u32::try_from(counts.updates).is_err() {
            let text = "workload.phases = \"independent\": the trace updates pages 2^32 times or more; cut it with \
                        workload.from, workload.until or workload.requests";
            return Err(SourceError(text.to_owned()));
        }
        Ok(counts)
    }

    /// Calls `with` for each update, with its page, its kind and the number of page writes before it. `done` of `total`
    /// steps precede this pass; returns the number of its steps.
    fn for_each(
        &self,
        (done, total): (u64, u64),
        mut with: impl FnMut(u32, Kind, u64),
    ) -> Result<u64, SourceError> {
        let (mut steps, mut last_report, mut before) = (0, 0, 0);
        self.each_range(|pages, kind| {
            steps += pages.len() as u64;
            for page in pages {
                with(page, kind, before);
                before += u64::from(!kind.is_trim);
            }
            if steps - last_report >= LOOK_EVERY {
                last_report = steps;
                let step = Step::Sorted { done: done + steps, total };
                self.watch.at(step).map_err(|error| SourceError(error.to_string()))?;
            }
            Ok(())
        })?;
        Ok(steps)
    }
}

/// Returns the pages that a write touches, or that a TRIM covers.
pub(crate) fn pages(request: &Request, sectors_per_page: u32) -> Range<u32> {
    let page = u64::from(sectors_per_page);
    let end = request.sector + u64::from(request.sectors);
    let (first, end) = match request.op {
        Op::Trim => (request.sector.div_ceil(page), end / page),
        _ => (request.sector / page, end.div_ceil(page)),
    };
    first as u32..end as u32
}

#[cold]
fn no_memory(updates: u64, error: &std::collections::TryReserveError) -> SourceError {
    SourceError(format!(
        "workload.phases = \"independent\": no memory for {updates} updates of pages ({error}); cut the trace with \
         workload.from or workload.until"
    ))
}

/// What shifted updates depend on.
pub(crate) struct Key {
    pub(crate) records: Weak<Vec<Record>>,
    /// Range of the replayed records.
    pub(crate) range: Range<usize>,
    pub(crate) sectors_per_page: u32,
    pub(crate) seed: u64,
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.records.ptr_eq(&other.records)
            && (&self.range, self.sectors_per_page, self.seed)
                == (&other.range, other.sectors_per_page, other.seed)
    }
}

/// Shifted updates that runs share as long as a run uses them.
#[derive(Default)]
pub(crate) struct SharedUpdates(Mutex<Vec<(Key, Weak<Updates>)>>);

impl SharedUpdates {
    /// Returns the updates of `key`: those of another run, or the result of `make`.
    ///
    /// # Errors
    /// The errors of `make`.
    pub(crate) fn get(
        &self,
        key: Key,
        make: impl FnOnce() -> Result<Updates, SourceError>,
    ) -> Result<Arc<Updates>, SourceError> {
        // Requests for other keys wait, too, so that only one run at a time needs the memory of `make`.
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|(_, updates)| updates.strong_count() > 0);
        let entry = entries.iter().find(|(candidate, _)| *candidate == key);
        if let Some(updates) = entry.and_then(|(_, updates)| updates.upgrade()) {
            return Ok(updates);
        }
        let updates = Arc::new(make()?);
        entries.push((key, Arc::downgrade(&updates)));
        Ok(updates)
    }
}
