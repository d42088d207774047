//! A pass over a whole trace: every line is an event, a part of the format, a part of blkparse's report, blank, or an
//! error.

mod messages;

use crate::config::Workload;
use crate::read::blkparse_report::{has_report, is_report, skips, starts_report};
use crate::read::columnar::Reader;
use crate::read::commands::{one_of, options_without};
use crate::read::formats::{
    Clock, Cut, DISCARD_PIECE, Event, Flaw, Format, Line, ReadAs, Reject, TraceFormat,
};
use crate::read::input::{self, Step, Watch, unreadable};
use crate::read::lines::{Lines, Pieces, Text};
use crate::read::order::{COUNTED, Track, Tracks};
use crate::read::readings::BadLines;
use crate::read::records::{Part, Records};
use crate::read::sort::{Entry, Room, Sorter};
use crate::read::tally::Tally;
use crate::read::unit::{LARGEST_SECTORS, Shape};
use crate::read::volumes::VolumeSelection;
use ssd_core::host::source::{Source, SourceError};
use std::io::Read;
use std::ops::ControlFlow;

/// Requests of a trace file that are read at a time.
const BATCH: usize = 4096;
/// Sorted events between two progress reports.
const LOOK_EVERY: u64 = 1 << 14;
/// Maximum number of volumes in a message.
const LISTED: usize = 8;

/// The reason why an event was not used.
pub(crate) enum Refusal {
    /// Its line is bad (`skip_bad` skips it).
    Line(Reject),
    /// It is before an earlier event, which has this time in nanoseconds (`skip_bad` skips it).
    Late(u64),
    /// The trace cannot be used.
    Trace(SourceError),
}

/// One pass over a trace.
pub(crate) struct Scan<'a, 'w> {
    /// Name of the file in messages.
    pub(crate) file: &'a str,
    /// The configuration, which commands in messages repeat.
    pub(crate) workload: &'a Workload,
    /// How the file is read.
    pub(crate) read_as: ReadAs,
    /// Whether to count and skip lines that cannot be used.
    pub(crate) skip_bad: bool,
    /// The volumes used.
    pub(crate) volume: VolumeSelection,
    /// Whether to drop doubled records.
    pub(crate) dedup: bool,
    /// Whether to sort events by time instead of requiring their order.
    pub(crate) sort: bool,
    /// The options for skipping in messages.
    pub(crate) skipping: BadLines,
    /// How to read a file that is not in its format.
    pub(crate) instead: Option<String>,
    /// Whether to refuse numbers that fit another unit, such as pages of this many bytes.
    pub(crate) unit_of_pages: Option<u32>,
    /// Receives the progress.
    pub(crate) watch: &'a Watch<'w>,
}

/// State of a pass.
struct Events {
    tally: Tally,
    tracks: Tracks,
    /// Collects the events if they must be sorted.
    sorter: Option<Sorter>,
    /// Message for the first late event; later ones are only counted.
    late: Option<String>,
    /// Whether [`Tally::shape`] is collected.
    collects_shape: bool,
}

impl Scan<'_, '_> {
    /// Reads all of `reader` and passes every event of the chosen action to `take`, in order.
    ///
    /// Events have the replay's clock: see [`Clock`].
    pub(crate) fn run<P: Format>(
        &self,
        parser: P,
        reader: impl Read,
        take: impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<Tally, SourceError> {
        let Cut::Records(head) = P::CUT else {
            return self.all(parser, Lines::new(reader), take);
        };
        let mut parts: Vec<Part<'_>> = vec![(self.file.to_owned(), Box::new(reader))];
        if P::INFO.format == TraceFormat::Blktrace {
            parts.extend(input::other_cpus(self.file)?);
        }
        self.all(parser, Records::new(parts, head), take)
    }

    /// Reads all of `pieces`.
    fn all<P: Format, I: Pieces<P>>(
        &self,
        mut parser: P,
        pieces: I,
        mut take: impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<Tally, SourceError> {
        let mut events = self.start();
        let read = self.pass(&mut parser, pieces, &mut events, &mut take);
        // A doubt about the unit explains errors that follow from it, so it is reported first.
        self.unit_is_certain(&events.tally)?;
        read?;
        self.ended(events, P::INFO.clock, I::NOUN, &mut take, &|volume| parser.volume_name(volume))
    }

    /// Checks that the unit of addresses and lengths is set or not in doubt.
    fn unit_is_certain(&self, tally: &Tally) -> Result<(), SourceError> {
        if !self.watch.stopped()
            && let Some(page_bytes) = self.unit_of_pages
            && let Some(doubt) =
                tally.shape.doubt(self.file, &options_without(self.workload, "volume"), page_bytes)
        {
            return Err(SourceError(format!("{}: {doubt}", self.file)));
        }
        Ok(())
    }

    /// Ends the pass: checks the order, then passes on the events that must be sorted.
    fn ended(
        &self,
        mut events: Events,
        clock: Clock,
        noun: &str,
        take: &mut dyn FnMut(&Event) -> Result<(), Refusal>,
        name: &dyn Fn(u64) -> String,
    ) -> Result<Tally, SourceError> {
        if let Some(first) = events.late {
            return Err(self.unsorted(&first, &events.tally));
        }
        if let Some(sorter) = events.sorter.take() {
            self.sorted(sorter, &mut events, clock, noun, take)?;
        }
        self.end(events.tally, name)
    }

    /// Reads all of `pieces`, or up to an error.
    #[inline(always)]
    fn pass<P: Format, I: Pieces<P>>(
        &self,
        parser: &mut P,
        mut pieces: I,
        events: &mut Events,
        take: &mut impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<(), SourceError> {
        let mut in_summary = false;
        loop {
            let number = pieces.number() + 1;
            let text = match pieces.next_piece(parser) {
                Ok(Some(text)) => text,
                Ok(None) => {
                    events.tally.is_unended = pieces.is_unended();
                    return Ok(());
                }
                Err(error) => {
                    let place = format!("{} {number}", I::NOUN);
                    return Err(unreadable(self.file, &place, &error));
                }
            };
            events.tally.lines = number;
            let reject = match self.line::<P, I>(&text, parser, events, take) {
                Ok(event) => {
                    in_summary &= !event;
                    continue;
                }
                Err(Refusal::Trace(error)) => return Err(error),
                Err(Refusal::Late(latest)) => messages::late(latest),
                Err(Refusal::Line(reject)) => reject,
            };
            in_summary |= has_report::<P>() && starts_report(text.bytes);
            if in_summary && is_report(&text) {
                events.tally.summary_lines += 1;
                events.tally.skips = events.tally.skips.take().or_else(|| skips(text.bytes));
                continue;
            }
            let counting = events.late.is_some();
            if counting && (events.tally.late.first + COUNTED < number || reject.flaw != Flaw::Late)
            {
                return Ok(());
            }
            if counting {
                continue;
            }
            let bad = text.bytes.to_vec();
            let message = self.message::<P, I>(&pieces, &bad, &reject, &events.tally);
            if reject.flaw == Flaw::Late && !self.skip_bad {
                events.late = Some(message);
                continue;
            }
            self.skip(message, &mut events.tally)?;
        }
    }

    /// Like [`Scan::run`], for an ssdlab trace file, with its requests instead of lines.
    pub(crate) fn run_trace_file(
        &self,
        reader: impl Read,
        mut take: impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<Tally, SourceError> {
        let mut reader = Reader::of(self.file, reader)?;
        let mut events = self.start();
        // Only the message that lists the volumes needs the statistics of these files.
        events.collects_shape =
            self.volume == VolumeSelection::Only && reader.header().columns.volume;
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            batch.clear();
            reader.fill(&mut batch, BATCH)?;
            if batch.is_empty() {
                break;
            }
            for timed in &batch {
                events.tally.lines += 1;
                match self.event(Event::of(timed), Clock::File, &mut events, &mut take) {
                    Ok(()) => {}
                    Err(Refusal::Trace(error)) => return Err(error),
                    Err(Refusal::Late(_)) => panic!("the reader checks the order"),
                    Err(Refusal::Line(reject)) => {
                        let number = events.tally.lines;
                        self.skip(self.short("request", number, &reject), &mut events.tally)?;
                    }
                }
            }
        }
        // What the file has was accepted when it was written, so that nothing judges it again.
        events.tally.shape = Shape::default();
        let name = |volume: u64| volume.to_string();
        self.unit_is_certain(&events.tally)?;
        self.ended(events, Clock::File, "request", &mut take, &name)
    }

    fn start(&self) -> Events {
        let tally = Tally { other_events: vec![0; 128], ..Tally::default() };
        let sorter = self.sort.then(|| Sorter::new(self.file, Room::default()));
        Events { tally, tracks: Tracks::new(self.dedup), sorter, late: None, collects_shape: true }
    }

    /// Passes on the events of `sorter` in order of time.
    fn sorted(
        &self,
        sorter: Sorter,
        events: &mut Events,
        clock: Clock,
        noun: &str,
        take: &mut dyn FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<(), SourceError> {
        let (total, mut done) = (sorter.total(), 0u64);
        let Events { tally, tracks, .. } = events;
        let merged = sorter.finish(|Entry { event, number }| {
            if done.is_multiple_of(LOOK_EVERY)
                && let Err(error) = self.watch.at(Step::Sorted { done, total })
            {
                return ControlFlow::Break(SourceError(format!("{}: {error}", self.file)));
            }
            done += 1;
            let track = tracks.track_of(self.volume, event.volume);
            match self.in_order(event, clock, track, tally, take) {
                Ok(()) => ControlFlow::Continue(()),
                Err(Refusal::Trace(error)) => ControlFlow::Break(error),
                Err(Refusal::Late(_)) => panic!("the order is that of the times"),
                Err(Refusal::Line(reject)) => {
                    match self.skip(self.short(noun, number, &reject), tally) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(error) => ControlFlow::Break(error),
                    }
                }
            }
        })?;
        match merged {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// Counts a bad line, or refuses the trace because of it.
    #[cold]
    fn skip(&self, message: String, tally: &mut Tally) -> Result<(), SourceError> {
        if !self.skip_bad {
            return Err(SourceError(message));
        }
        tally.skipped_lines += 1;
        tally.first_skipped.get_or_insert(message);
        Ok(())
    }

    /// Processes a line; returns true for an event.
    #[inline(always)]
    fn line<P: Format, I: Pieces<P>>(
        &self,
        text: &Text<'_>,
        parser: &mut P,
        events: &mut Events,
        take: &mut impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<bool, Refusal> {
        if !text.is_whole {
            return Err(Refusal::Line(Reject::new(I::WHOLE, 0)));
        }
        let tally = &mut events.tally;
        match parser.parse(text.bytes).map_err(Refusal::Line)? {
            Line::Blank => return Ok(false),
            Line::Header => tally.header_lines += 1,
            Line::Wait(number) => tally.wait(number),
            Line::Other(letter) => tally.add_other(letter),
            Line::Dataless => {
                (tally.dataless, tally.chosen) = (tally.dataless + 1, tally.chosen + 1);
            }
            Line::Event(event) => self.event(event, P::INFO.clock, events, take)?,
            Line::LongDiscard(event, sectors) => {
                self.long_discard(event, sectors, P::INFO.clock, events, take)?;
            }
        }
        Ok(true)
    }

    /// Processes a discard that is too long for an event, in pieces.
    #[cold]
    fn long_discard(
        &self,
        original: Event,
        sectors: u64,
        clock: Clock,
        events: &mut Events,
        take: &mut impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut done = 0;
        while done < sectors {
            let piece = (sectors - done).min(u64::from(DISCARD_PIECE));
            let event = Event { sector: original.sector + done, sectors: piece as u32, ..original };
            self.event(event, clock, events, take)?;
            done += piece;
        }
        Ok(())
    }

    /// Processes an event, whose times count from the `clock`.
    #[inline(always)]
    fn event(
        &self,
        mut event: Event,
        clock: Clock,
        events: &mut Events,
        take: &mut impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let Events { tally, tracks, sorter, late, collects_shape } = events;
        if !self.is_chosen(event.volume, tally)? {
            tally.count_apart(&event, self.volume);
            return Ok(());
        }
        if *collects_shape {
            tally.shape.add(&event);
            tally.event_line = tally.lines;
            if event.sector > LARGEST_SECTORS {
                tally.far_line.get_or_insert(tally.lines);
            }
        }
        if self.volume == VolumeSelection::All {
            self.place(&mut event, tally)?;
        }
        let track = tracks.track_of(self.volume, event.volume);
        let missed = track.missed(&event, tally.lines, &mut tally.late);
        if let Some(sorter) = sorter {
            track.passed(event.at_ns);
            tally.sorted += 1;
            return sorter.push(event, tally.lines).map_err(Refusal::Trace);
        }
        match missed {
            Some(latest) => return Err(Refusal::Late(latest)),
            None if late.is_none() => self.in_order(event, clock, track, tally, take)?,
            None => {}
        }
        track.passed(event.at_ns);
        Ok(())
    }

    /// Moves an event to the address range of its volume.
    #[inline(never)]
    fn place(&self, event: &mut Event, tally: &mut Tally) -> Result<(), Refusal> {
        let placed = tally.tenants.place(event);
        placed.map_err(|text| Refusal::Trace(SourceError(format!("{}: {text}", self.file))))
    }

    /// Processes the next event in order of time.
    #[inline(always)]
    fn in_order(
        &self,
        mut event: Event,
        clock: Clock,
        track: &mut Track,
        tally: &mut Tally,
        take: &mut (impl FnMut(&Event) -> Result<(), Refusal> + ?Sized),
    ) -> Result<(), Refusal> {
        let double = track.next(&mut event, clock);
        tally.doubled += u64::from(double);
        tally.base_ns = track.base_ns();
        if !(double && self.dedup) {
            take(&event)?;
        }
        tally.chosen += 1;
        tally.times = Some((tally.times.map_or(event.at_ns, |times| times.0), event.at_ns));
        Ok(())
    }

    /// Counts a record of `volume`; returns whether it is used.
    #[inline(always)]
    fn is_chosen(&self, volume: u64, tally: &mut Tally) -> Result<bool, Refusal> {
        if !tally.volumes.add(volume) {
            let text = "more than 65536 volumes; set workload.format if it is another format";
            return Err(Refusal::Trace(SourceError(format!("{}: {text}", self.file))));
        }
        match (self.volume, &tally.volume) {
            (VolumeSelection::Each | VolumeSelection::All, _) => return Ok(true),
            (VolumeSelection::One(chosen), _) => {
                tally.other_volumes += u64::from(chosen != volume);
                return Ok(chosen == volume);
            }
            (VolumeSelection::Only, Some((first, _))) => tally.several |= *first != volume,
            (VolumeSelection::Only, None) => tally.volume = Some((volume, String::new())),
        }
        Ok(!tally.several)
    }

    /// Checks that the chosen volumes exist, and names them.
    fn end(&self, mut tally: Tally, name: &dyn Fn(u64) -> String) -> Result<Tally, SourceError> {
        if matches!(self.volume, VolumeSelection::Each | VolumeSelection::All) {
            tally.names = tally.volumes.all().map(|(volume, _)| (volume, name(volume))).collect();
        }
        let chosen = match self.volume {
            VolumeSelection::Only => tally.volume.as_ref().map(|volume| volume.0),
            VolumeSelection::One(volume) => Some(volume),
            VolumeSelection::Each | VolumeSelection::All => None,
        };
        let Some(chosen) = chosen else { return Ok(tally) };
        let (is_known, number) = (tally.volumes.holds(chosen), tally.volumes.count());
        if (is_known && !tally.several) || number == 0 {
            tally.volume = Some((chosen, name(chosen)));
            return Ok(tally);
        }
        let more =
            if number > LISTED { format!(", here the first {LISTED}") } else { String::new() };
        let is_part = self.workload.from_ns > 0 || self.workload.until_ns.is_some();
        let more = more + if is_part { ", without workload.from and workload.until" } else { "" };
        let file = self.file;
        let choices = one_of(file, &self.of_volumes(&tally, name));
        let message = if is_known {
            format!("the trace has {number} volumes")
        } else {
            let plural = if number == 1 { "" } else { "s" };
            format!("there is no volume {chosen}; the trace has {number} volume{plural}")
        };
        Err(SourceError(format!("{file}: {message} (workload.volume){more}; {choices}")))
    }
}
