//! The format of a trace, configured or detected from its head, and the remaining doubts.

mod actions;
mod bytes;
mod clocks;
mod columns;
mod doubts;
mod empty;
mod fiu;
mod hosts;
mod instead;
mod intervals;
mod pace;
mod refusal;
mod regions;
mod rewritten;
mod rounded;
mod stated;
mod unaligned;
mod wrapped;

pub(crate) use columns::insisted;

use crate::config::{TimeUnit, Workload};
use crate::read::columnar::MAGIC;
use crate::read::commands::{command, filter_of};
use crate::read::foreign::{self, around, frames, logs, notations, rewriting};
use crate::read::formats::{self, Head, Mapping, ReadAs, TimeRule, TraceFormat, Unit};
use crate::read::guess::{self, LINES};
use crate::read::input::{RewoundReader, unreadable};
use crate::read::lines::shown;
use crate::read::readings::{BadLines, FEW_BAD, Reading};
use refusal::Refusal;
use ssd_core::config::Word;
use ssd_core::host::source::SourceError;
use std::io::{Cursor, Read};
use std::sync::Arc;

/// Share of bad lines above which the format or the columns are wrong.
const MOST_BAD: f64 = 0.5;
/// Maximum bytes of the head.
const HEAD: u64 = 64 << 10;
/// Minimum share of the lines in the head that must be records of the format, per cent.
const LEAST_SHARE: u32 = 50;
/// The option that skips bad lines.
const SKIPPING: &str = "--set workload.skip_bad=true";
/// Maximum number of bad lines in a message.
const SHOWN: usize = 3;

/// How a file is read.
pub(crate) struct DetectedFormat<R> {
    pub(crate) format: TraceFormat,
    pub(crate) read_as: ReadAs,
    /// Whether the format was detected.
    pub(crate) is_detected: bool,
    /// Notes about the format for readers of the results.
    pub(crate) notes: Vec<String>,
    /// How its bad lines may be skipped.
    pub(crate) skipping: BadLines,
    /// What to do instead if no line has the configured format.
    pub(crate) instead: Option<String>,
    /// The numbers of each action in the head, if it has none of the chosen action.
    pub(crate) actions: Vec<(char, String)>,
    /// All bytes of the file.
    pub(crate) reader: RewoundReader<R>,
}

/// Detects the format of `reader` unless it is configured, and returns it with all of the bytes. A file without lines
/// is treated as block-event text, whose messages describe the problem.
///
/// # Errors
/// No format fits, several fit, or the configured columns fit no line. The message ends with a remedy.
pub(crate) fn format_of<R: Read>(
    file: &str,
    workload: &Workload,
    mut reader: R,
) -> Result<DetectedFormat<R>, SourceError> {
    let columns = columns_of(file, workload)?;
    let stated = match &columns {
        Some(mapping) if mapping.record.is_some() => TraceFormat::Records,
        Some(_) => TraceFormat::Table,
        None => workload.format,
    };
    let mut bytes = Vec::new();
    let count = reader.by_ref().take(HEAD).read_to_end(&mut bytes);
    let count = count.map_err(|error| unreadable(file, "line 1", &error))?;
    let (decision, cut_digits, skipping, instead, actions) = {
        let lines = lines_of(&bytes, count as u64 == HEAD);
        let head = Head { bytes: &bytes, lines: &lines };
        let is_whole = (count as u64) < HEAD;
        let file =
            File { name: file, workload, head: &head, is_whole, filters: &[], is_notated: false };
        let decision =
            file.decision(stated, columns).map_err(|refusal| refusal.error(file.name))?;
        let skipping = file.skipping(decision.0, &decision.1);
        let is_other = file.is_of_another_format(decision.0, &decision.1);
        let instead = is_other.then(|| file.instead()).flatten();
        let actions = file.of_actions(decision.0, &decision.1);
        (decision, file.cut_digits(), skipping, instead, actions)
    };
    let (format, read_as, mut notes) = decision;
    notes.extend(cut_digits);
    let is_detected = workload.format == TraceFormat::Auto;
    Ok(DetectedFormat {
        format,
        read_as,
        is_detected,
        notes,
        skipping,
        instead,
        actions,
        reader: Cursor::new(bytes).chain(reader),
    })
}

/// Returns the configured mapping.
fn columns_of(file: &str, workload: &Workload) -> Result<Option<Arc<Mapping>>, SourceError> {
    let Some(text) = &workload.columns else {
        return Ok(None);
    };
    let mapping =
        Mapping::parse(text).map_err(|error| SourceError(format!("workload.columns: {error}")))?;
    let own = if mapping.record.is_some() { TraceFormat::Records } else { TraceFormat::Table };
    if ![TraceFormat::Auto, own].contains(&workload.format) {
        let (word, own) = (workload.format.word(), own.word());
        return Err(SourceError(format!(
            "{file}: workload.columns is for tables, but workload.format is {word:?}, whose columns are defined; \
             leave out one of them (or set workload.format = {own:?})"
        )));
    }
    Ok(Some(Arc::new(mapping)))
}

/// Returns the complete lines of `head` that are not blank; with `cut`, the last one may be incomplete.
fn lines_of(head: &[u8], cut: bool) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = head.split(|&byte| byte == b'\n').collect();
    if cut && lines.len() > 1 {
        lines.pop();
    }
    lines.retain(|line| !line.trim_ascii().is_empty());
    lines
}

/// A file whose format is being detected.
struct File<'a> {
    name: &'a str,
    workload: &'a Workload,
    head: &'a Head<'a>,
    /// Whether the head is the whole file.
    is_whole: bool,
    /// The filters that have rewritten the head, in order.
    filters: &'a [String],
    /// Whether one of the filters has rewritten the notation of numbers.
    is_notated: bool,
}

/// The format of a file, how it is read, and notes for readers of the results.
type Decision = (TraceFormat, ReadAs, Vec<String>);

impl File<'_> {
    /// Decides how the file is read: `stated` is the configured format, or `auto`.
    fn decision(
        &self,
        stated: TraceFormat,
        columns: Option<Arc<Mapping>>,
    ) -> Result<Decision, Refusal> {
        let decision = self.decided(stated, columns.clone())?;
        if !self.is_at_issue(decision.0, &decision.1) {
            return Ok(decision);
        }
        let workload = self.at_issue();
        let file = File { workload: &workload, ..*self };
        file.decided(stated, columns).map(|decision| self.noted(decision))
    }

    /// Like [`File::decision`], with the action from the workload.
    fn decided(
        &self,
        stated: TraceFormat,
        columns: Option<Arc<Mapping>>,
    ) -> Result<Decision, Refusal> {
        if let Some(columns) = columns {
            let read_as = ReadAs { columns: Some(columns), ..self.read_as(stated)? };
            return self.mapped(stated, read_as);
        }
        if formats::is_mapped(stated) {
            return Err(self.needs_columns(stated));
        }
        if stated != TraceFormat::Auto {
            return Ok((stated, self.read_as(stated)?, Vec::new()));
        }
        let format = self.detected()?;
        let Workload { sort, skip_bad, .. } = *self.workload;
        if format == TraceFormat::Msr
            && !skip_bad
            && let Some(refusal) = self.of_several_hosts()
        {
            return Err(refusal);
        }
        // With --sort, the user states that they are times.
        if format == TraceFormat::Tracepoint
            && !sort
            && let Some(refusal) = self.intervals_in_doubt()
        {
            return Err(refusal);
        }
        let read_as = self.read_as(format)?;
        if format == TraceFormat::Table || self.names_contradict(format, &read_as) {
            return self.guessed(self.read_as(TraceFormat::Table)?);
        }
        self.numbers_are_certain(format, &read_as)?;
        Ok((format, read_as, self.meaning_of(format).into_iter().collect()))
    }

    /// Returns how bad lines may be skipped. If the head is the whole file, the options also allow the existing number.
    fn skipping(&self, format: TraceFormat, read_as: &ReadAs) -> BadLines {
        let counts = Reading::counts_of(format, read_as, self.head);
        let Some(counts) = counts else {
            return BadLines::Few(SKIPPING.to_owned());
        };
        let text = self.is_whole.then(|| counts.skipping_all().trim_start().to_owned());
        let options = text.unwrap_or_else(|| SKIPPING.to_owned());
        match counts.bad_share() {
            share if share > MOST_BAD => BadLines::Most,
            share if share > FEW_BAD => BadLines::Many(options),
            _ => BadLines::Few(options),
        }
    }

    /// Returns how the workload reads a file of `format`.
    fn read_as(&self, format: TraceFormat) -> Result<ReadAs, SourceError> {
        let Workload { action, time_unit, .. } = self.workload;
        let unit = Unit::of(self.name, format, self.workload)?;
        let fixed = formats::info(format).is_none_or(|info| info.time == TimeRule::Fixed);
        if *time_unit != TimeUnit::Auto && fixed {
            let units = formats::info(format).map_or("", |info| info.units);
            return Err(SourceError(format!(
                "{} is of format {:?}, whose unit of time is defined: {units}; leave workload.time_unit at \
                 \"auto\", or name the columns (--columns)",
                self.name,
                format.word()
            )));
        }
        Ok(ReadAs { action: *action as u8, unit, time_ns: time_unit.ns(), columns: None })
    }

    /// Detects the format, which is not configured.
    fn detected(&self) -> Result<TraceFormat, Refusal> {
        let Head { bytes, lines } = *self.head;
        if bytes.starts_with(&MAGIC) {
            return Ok(TraceFormat::Ssdtrace);
        }
        if let Some(text) = foreign::recognise(bytes) {
            return Err(self.foreign(&text));
        }
        if let Some(text) = foreign::without_files(lines).filter(|_| !self.workload.skip_bad) {
            return Err(self.foreign(&text));
        }
        let few = &lines[..lines.len().min(LINES)];
        let shares = formats::detect(&Head { bytes, lines: few });
        let is_readable =
            |share: u32| share == 100 || (self.workload.skip_bad && share >= LEAST_SHARE);
        if !shares.iter().any(|&(_, share)| is_readable(share))
            && let Some(error) = self.of_several_hosts().or_else(|| self.rewritten(&around::AROUND))
        {
            return Err(error);
        }
        let Some(&first) = lines.first() else { return Ok(TraceFormat::BlockEvent) };
        let most = shares.iter().map(|&(_, share)| share).max().unwrap_or(0).max(LEAST_SHARE);
        let alike: Vec<TraceFormat> =
            shares.iter().filter(|&&(_, share)| share == most).map(|&(format, _)| format).collect();
        let fits = |reading: &Reading| reading.counts.fit();
        let has_own_names =
            |&format: &TraceFormat| guess::is_own_line(format, &ReadAs::default(), self.head);
        // The names of a table may be the only line that such a format does not fit.
        if !alike.is_empty()
            && most < 100
            && !alike.iter().any(has_own_names)
            && guess::of(self.head, self.workload.action as u8).iter().any(fits)
        {
            return Ok(TraceFormat::Table);
        }
        match alike[..] {
            [format] if !self.has_unreadable_events(format) => Ok(format),
            [_] => self.of_no_format(first),
            [] => self.of_no_format(first),
            _ => self.alike(first, &alike),
        }
    }

    /// Returns a refusal if the file is known not to be a trace, or needs a filter.
    fn refuse_foreign(&self) -> Option<Refusal> {
        if guess::is_oracle_general(self.head.bytes) {
            let message = "binary records of libCacheSim (oracleGeneral), which state neither operations nor the unit \
                        of addresses";
            return Some(self.doubt(message, guess::of_oracle_general(self.head)));
        }
        let bytes = self.head.bytes;
        self.of_other_separator()
            .or_else(|| self.rewritten(&[around::behind_zeros]))
            .or_else(|| foreign::unmarked(self.name, bytes).map(|text| self.refused(&text)))
            .or_else(|| {
                self.rewritten(&[logs::convert_known, logs::ranges_with_ends, logs::biosnoop_rows])
            })
            .or_else(|| foreign::named_text(bytes).map(|text| self.foreign(&text)))
            .or_else(|| self.rounded().map(|text| self.refused(&text)))
            .or_else(|| frames::of(bytes).map(|filter| self.filtered(&filter)))
            .or_else(|| self.rewritten(&rewriting::FORMS))
            .or_else(|| rewriting::of_json(bytes).map(|filter| self.filtered(&filter)))
            .or_else(|| rewriting::of_form(bytes).map(|text| self.refused(text)))
            .or_else(|| self.has_no_lengths())
            // The column names may be those of the format.
            .or_else(|| self.unaligned())
            .or_else(|| self.named_bytes_unaligned())
    }

    /// Handles a file that fits no format.
    fn of_no_format(&self, first: &[u8]) -> Result<TraceFormat, Refusal> {
        if let Some(refusal) = self.refuse_foreign() {
            return Err(refusal);
        }
        let action = self.workload.action as u8;
        let by_name = guess::of(self.head, action);
        let is_derived = || guess::derived::of(self.head).is_some();
        let all_fail = !by_name.is_empty() && by_name.iter().all(|reading| reading.counts.bad > 0);
        if all_fail && let Some(refusal) = self.rewritten_as(&[notations::with_digits], true) {
            return Err(refusal);
        }
        if by_name.iter().any(|reading| reading.counts.fit()) || is_derived() {
            return Ok(TraceFormat::Table);
        }
        if let Some(refusal) =
            self.other_times(first).filter(|_| by_name.is_empty() && self.filters.is_empty())
        {
            return Err(refusal);
        }
        // Other columns may have another notation, such as that of dates.
        let plain = self.rewritten_as(&[notations::without_points], true);
        let plain = plain.or_else(|| self.rewritten(&notations::TIMES));
        if let Some(refusal) = plain.or_else(|| self.rewritten_as(&notations::NUMBERS, true)) {
            return Err(refusal);
        }
        if !by_name.is_empty() {
            return Ok(TraceFormat::Table);
        }
        if let Some(refusal) = self.impossible_names() {
            return Err(refusal);
        }
        if let Some(refusal) = self.no_rows() {
            return Err(refusal);
        }
        // With skip_bad, bytes that are not UTF-8 may be in skipped lines.
        if !self.workload.skip_bad
            && let Some(refusal) = self.rewritten(&[rewriting::with_utf8])
        {
            return Err(refusal);
        }
        if let Some(refusal) = self.rewritten(&rewriting::LOGS) {
            return Err(refusal);
        }
        let below = self.nearest_below();
        let readings = self.in_stated_units(guess::values::of(self.head, action));
        if below.is_none()
            && let Some(refusal) = self.clocks_that_wrap(&readings)
        {
            return Err(refusal);
        }
        if below.is_none() && !readings.is_empty() {
            let unread: String =
                guess::values::unread(self.head).iter().map(|text| format!("{text}; ")).collect();
            let message = format!(
                "its first lines match no known format (it begins with {}); {unread}it can be read as a table in \
                 these ways, or with other columns (--columns)",
                shown(first)
            );
            return Err(self.doubt(message, readings));
        }
        // The nearest format describes the error of the line.
        let unknown = || {
            let other_refusal = self.unknown_words().or_else(|| self.of_other_encoding(first));
            other_refusal.unwrap_or_else(|| self.unknown(first))
        };
        let nearest = nearest(first).filter(|&format| !self.is_only_start(format));
        nearest.or(below).ok_or_else(unknown)
    }

    /// Returns a refusal if columns with known names have numbers that no device has in any unit.
    fn impossible_names(&self) -> Option<Refusal> {
        let mut readings = guess::of_names(self.head, self.workload.action as u8);
        let reason = readings.first()?.counts.implausible()?;
        let alternatives =
            readings.iter().filter_map(|reading| Some(reading.columns.as_ref()?.in_other_units()));
        let alternatives = alternatives.flatten().filter_map(|columns| self.with_columns(&columns));
        let alternatives: Vec<Reading> =
            alternatives.filter(|reading| reading.counts.is_sound()).collect();
        readings.iter_mut().for_each(|reading| reading.options.insert_str(0, "--format table "));
        let line = self.impossible_line(readings.first()?);
        let reason = line
            .map_or_else(|| reason.clone(), |number| format!("{reason} (first in line {number})"));
        let message = format!(
            "the names of its columns are those of a table of requests, but its numbers are impossible: {reason}; \
             correct them, or read them all the same{}",
            if alternatives.is_empty() { "" } else { " or in other units" }
        );
        Some(self.doubt(message, alternatives.into_iter().chain(readings).collect()))
    }

    /// Returns the number of the first line below the names with an address that no device has.
    fn impossible_line(&self, reading: &Reading) -> Option<usize> {
        let read_as =
            ReadAs { columns: reading.columns.clone(), unit: Unit::Bytes, ..ReadAs::default() };
        let (names, lines) = self.head.lines.split_first()?;
        let is_impossible = |line: &&&[u8]| {
            let pair = Head { lines: &[names, line], ..*self.head };
            let counts = Reading::counts_of(TraceFormat::Table, &read_as, &pair);
            counts.is_some_and(|counts| counts.is_beyond_any_device())
        };
        let line = lines.iter().find(is_impossible)?.trim_ascii();
        // `lines` has no blank lines.
        let mut file_lines = self.head.bytes.split(|&byte| byte == b'\n');
        file_lines.position(|candidate| candidate.trim_ascii() == line).map(|at| at + 1)
    }

    /// Returns a refusal if text has words in an encoding other than UTF-8.
    fn of_other_encoding(&self, first: &[u8]) -> Option<Refusal> {
        let encoding = rewriting::likely_encoding(self.head.bytes)?;
        let filter = format!("iconv -f {encoding} -t UTF-8 FILE");
        let filter = filter_of(self.name, [filter.as_str()].into_iter());
        Some(self.refused(&format!(
            "its first lines match no known format (it begins with {}), and its text is not UTF-8; convert it from its \
             encoding, perhaps {encoding} (others are Latin-1, CP1251, GB18030 and SHIFT_JIS): {filter} | ssdlab \
             trace info -",
            shown(first)
        )))
    }

    /// Returns a refusal if column names have no rows below them.
    fn no_rows(&self) -> Option<Refusal> {
        let [names] = self.head.lines[..] else { return None };
        guess::is_names(names).then(|| {
            self.refused(&format!(
                "the names of its columns, {}, have no requests below them",
                shown(names)
            ))
        })
    }

    /// Returns whether the file has one line, which is only the start of a line of the format.
    fn is_only_start(&self, format: TraceFormat) -> bool {
        let [line] = self.head.lines else { return false };
        formats::understood(line).contains(&(format, line.len()))
    }

    /// Returns the format of the first line, if the first bad line nearly has that format, too.
    fn nearest_below(&self) -> Option<TraceFormat> {
        let format = self.head.lines.iter().take(LINES).find_map(|line| nearest(line))?;
        let first = Head { lines: &self.head.lines[..1], ..*self.head };
        formats::detect(&first).contains(&(format, 100)).then_some(format)
    }

    /// Returns the refusal if no format fits.
    #[cold]
    fn unknown(&self, first: &[u8]) -> Refusal {
        let words: Vec<&str> = formats::ALL.iter().map(|info| info.format.word()).collect();
        let example = command(self.name, "--columns time=1:us,op=2,offset=3:512B,size=4");
        self.refused(&format!(
            "its first lines match no known format (it begins with {}); if it is a table, name its columns, as in \
             {example}; or set workload.format (--format) to one of these to see what that format expects: {}",
            shown(first),
            words.join(", ")
        ))
    }
}

/// Returns the single format that parses at least half of a bad line, and more of it than any other format.
fn nearest(line: &[u8]) -> Option<TraceFormat> {
    let matches = formats::understood(line);
    let most = matches.iter().map(|&(_, bytes)| bytes).max()?;
    let mut alike = matches.iter().filter(|&&(_, bytes)| bytes == most);
    let &(format, _) = alike.next()?;
    (2 * most >= line.len() && alike.next().is_none()).then_some(format)
}
