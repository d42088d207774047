//! Tables: whether columns that are set, or recognised by names, fit the file.

use super::refusal::Refusal;
use super::{Decision, File, SHOWN, lines_of};
use crate::config::{TimeUnit, TraceUnit, Workload};
use crate::read::commands::{command, list, word};
use crate::read::foreign::{Rewrite, Rewriting, joined, marks, notations, rewriting};
use crate::read::formats::mapping::{Size, TIME_UNITS, is_word};
use crate::read::formats::{self, Head, Mapping, ReadAs, TraceFormat};
use crate::read::guess::apart::{self, Parts};
use crate::read::guess::derived::Derivation;
use crate::read::guess::names::{is_of_pages, letters_of};
use crate::read::guess::{self, LINES, unknown, words};
use crate::read::lines::shown;
use crate::read::readings::{self, Reading, of_distinct_times};
use ssd_core::config::Word;
use std::sync::Arc;

/// Maximum number of readings with each column of volumes in a message.
const VOLUME_READINGS: usize = 3;

impl File<'_> {
    /// Checks that columns that are set fit the file.
    pub(super) fn mapped(&self, format: TraceFormat, read_as: ReadAs) -> Result<Decision, Refusal> {
        let columns = read_as.columns.as_ref().expect("it is mapped");
        self.units_are_given_once("workload.columns gives", columns)?;
        if let Some(column) = &columns.time
            && column.unit.is_none()
            && read_as.time_ns.is_none()
        {
            let units = TIME_UNITS.iter().rev().filter_map(|&(name, ns)| {
                let options = format!("--columns {} --time-unit {name}", word(&columns.text));
                Reading::of(
                    options,
                    format,
                    &ReadAs { time_ns: Some(ns), ..read_as.clone() },
                    self.head,
                )
            });
            let readings = of_distinct_times(units.collect());
            // Calendar dates need no unit.
            let is_certain = Reading::of(String::new(), format, &read_as, self.head).is_some();
            if !is_certain && !readings.is_empty() {
                return Err(self.doubt("workload.columns names no unit for the time", readings));
            }
        }
        if format == TraceFormat::Table {
            self.some_line_fits(&read_as)?;
            self.times_are_in_order(&read_as)?;
        }
        if self.workload.format == TraceFormat::Auto {
            self.numbers_are_possible(format, &read_as)?;
        }
        let is_merged = format == TraceFormat::Table && columns.volume.is_none();
        let volumes =
            is_merged.then(|| guess::values::unused_volumes(self.head, columns)).flatten();
        let notes = columns.words.contradiction().into_iter().chain(volumes);
        let notes = notes.map(|text| format!("{}: {text}", self.name)).collect();
        Ok((format, read_as, notes))
    }

    /// Refuses a unit for columns with their own units. `origin` is the start of the message, and says where these
    /// units are set, such as "workload.columns gives".
    fn units_are_given_once(&self, origin: &str, columns: &Mapping) -> Result<(), Refusal> {
        let Workload { unit, time_unit, .. } = self.workload;
        let time = columns.time.as_ref().is_some_and(|time| time.unit.is_some());
        let size = match &columns.size {
            Size::Column(size) => size.unit.is_some(),
            Size::Constant(_) => true,
        };
        let twice = if *time_unit != TimeUnit::Auto && time {
            ("time_unit", "--time-unit", "the time")
        } else if *unit != TraceUnit::Auto && size && columns.offset.unit.is_some() {
            ("unit", "--unit", "address and length")
        } else {
            return Ok(());
        };
        let (key, option, field) = twice;
        Err(self.unit_given_twice(origin, (key, option, field), columns))
    }

    /// Returns the refusal of a unit in the workload for a column with its own unit. `origin` is the start of the
    /// message and says where the unit of the column is set; `key` and `option` set the other unit, and `field` is the
    /// field.
    pub(super) fn unit_given_twice(
        &self,
        origin: &str,
        (key, option, field): (&str, &str, &str),
        columns: &Mapping,
    ) -> Refusal {
        self.refused(&format!(
            "{origin} the unit of {field}, and so does workload.{key}; leave out {option}, or the unit in --columns {}",
            word(&columns.text)
        ))
    }

    /// Refuses columns with numbers that no device has, and lists columns with possible numbers.
    fn numbers_are_possible(&self, format: TraceFormat, read_as: &ReadAs) -> Result<(), Refusal> {
        let reading = Reading::of_some(String::new(), format, read_as, self.head);
        let Some(reason) = reading.and_then(|reading| reading.counts.implausible()) else {
            return Ok(());
        };
        let columns = read_as.columns.as_ref().expect("it is mapped");
        let Workload { unit, time_unit, .. } = self.workload;
        let mut options = String::new();
        if *unit != TraceUnit::Auto {
            options += &format!(" --unit {}", unit.word());
        }
        if *time_unit != TimeUnit::Auto {
            options += &format!(" --time-unit {}", time_unit.word());
        }
        let of_units = |text: String| {
            let columns = Some(Arc::new(Mapping::parse(&text).ok()?));
            let read_as = ReadAs { columns, ..read_as.clone() };
            Reading::of(format!("--columns {}{options}", word(&text)), format, &read_as, self.head)
        };
        let mut readings: Vec<Reading> =
            columns.in_other_units().into_iter().filter_map(of_units).collect();
        if format == TraceFormat::Table {
            readings.extend(guess::of(self.head, self.workload.action as u8));
            readings.extend(guess::values::of(self.head, self.workload.action as u8));
        }
        readings.retain(|reading| reading.counts.is_possible());
        let message = format!(
            "workload.columns fits its lines, but the numbers are impossible: {reason} (to read them anyway: {})",
            command(self.name, &(insisted(format, read_as) + &options)),
        );
        Err(if readings.is_empty() {
            self.refused(&format!(
                "{message}; no other unit fits, so correct the numbers or the columns"
            ))
        } else {
            self.doubt(message, readings)
        })
    }

    /// Refuses columns that fit no line.
    fn some_line_fits(&self, read_as: &ReadAs) -> Result<(), Refusal> {
        let fits = formats::table::bad(read_as, self.head);
        if fits.records > 0 || fits.bad.is_empty() {
            return Ok(());
        }
        let few = &fits.bad[..fits.bad.len().min(SHOWN)];
        let expected = &few[0].1.expected;
        let is_alike = few.iter().all(|(_, reject)| reject.expected == *expected);
        let describe = |(line, reject): &(&[u8], formats::Reject)| {
            let reason =
                if is_alike { String::new() } else { format!("expected {} ", reject.expected) };
            format!("{} ({reason}at byte {})", shown(line), reject.column + 1)
        };
        let lines: Vec<String> = few.iter().map(describe).collect();
        let common = if is_alike { format!(", expected {expected}") } else { String::new() };
        if let Some(text) = read_as.columns.as_ref().and_then(|columns| {
            columns.wrong_names(&self.head.lines[..self.head.lines.len().min(LINES)])
        }) {
            return Err(self.refused(&format!("workload.columns: {text}")));
        }
        let message = format!(
            "workload.columns fits none of its first {} lines: {}{common}; correct the columns",
            fits.bad.len(),
            lines.join("; ")
        );
        let action = self.workload.action as u8;
        if let Some((separator, mark)) = marks::separator(self.head.bytes)
            && let Some(columns) = &read_as.columns
            && columns.separator.is_none()
            && let Some(reading) = self.with_columns(&format!("{},{separator}", columns.text))
        {
            return Err(self.doubt(format!("its cells are separated by {mark}"), vec![reading]));
        }
        let by_name = guess::of(self.head, action);
        let mut readings =
            if by_name.is_empty() { guess::values::of(self.head, action) } else { by_name };
        // A reading with times needs no filter.
        if !readings.iter().any(Reading::has_times)
            && let Some(refusal) = self.refusal_by_notation(read_as).or_else(|| {
                let rewrites = [&rewriting::FORMS[..], &rewriting::LOGS];
                self.rewritten(&rewrites.concat())
            })
        {
            return Err(refusal);
        }
        if self.workload.sort {
            readings.iter_mut().for_each(Reading::sort);
        }
        if readings.is_empty() {
            let instead = self.instead();
            let instead = instead.map(|text| format!(", or read this file in another way: {text}"));
            return Err(self.refused(&(message + &instead.unwrap_or_default())));
        }
        Err(self.doubt(format!("{message}; these fit"), readings))
    }

    /// Returns a refusal if the columns fit only after a filter has rewritten the numbers.
    pub(super) fn refusal_by_notation(&self, read_as: &ReadAs) -> Option<Refusal> {
        let columns = read_as.columns.as_ref()?;
        // The filter joins a date and a time of day in the first of their columns.
        let mappings = [
            Some(columns.text.clone()),
            Some(columns.without_time_unit()),
            columns.with_time_before(),
        ];
        let mut reasons = Vec::new();
        let mut choices = Vec::new();
        let rewrites: [Rewrite; 3] =
            [marks::without_single_quotes, marks::with_commas, joined::with_joined_dates];
        let rewritings = rewrites
            .into_iter()
            .chain(notations::TIMES)
            .chain(notations::NUMBERS)
            .filter_map(|rewrite| rewrite(self.head.bytes));
        for Rewriting { message, filter, bytes, case, .. } in
            rewritings.flat_map(Rewriting::with_other)
        {
            let lines = lines_of(&bytes, !self.is_whole);
            let head = Head { bytes: &bytes, lines: &lines };
            let fits = |text: &String| {
                let reading = guess::reading(text, &head, read_as.action)?;
                reading.counts.is_sound().then_some(reading)
            };
            let Some(reading) = mappings.iter().flatten().find_map(fits) else { continue };
            let command = self.through_filter(&filter, &reading.options);
            let (_, mut outcome) = readings::choices(vec![reading], self.is_whole).pop()?;
            if !case.is_empty() {
                outcome = format!("if {case}: {outcome}");
            }
            // Of several commands with the same outcome, one is enough.
            if choices.iter().all(|(_, candidate)| *candidate != outcome) {
                choices.push((command, outcome));
                reasons.extend((!reasons.contains(&message)).then_some(message));
            }
        }
        (!choices.is_empty()).then(|| {
            let commands = list(&choices, str::to_owned);
            Refusal::Filtered(format!("{}; {commands}", reasons.join(", or ")))
        })
    }

    /// Returns a refusal if all times are the same number, because they may be intervals.
    fn all_at_once(&self, readings: &[Reading]) -> Option<Refusal> {
        let first = readings.first().filter(|first| first.has_times())?;
        let is_constant =
            |reading: &Reading| reading.counts.requests() > 2 && !reading.has_duration();
        let Derivation { message, filter } = guess::derived::of_constant_time(self.head)
            .filter(|_| readings.iter().all(is_constant))?;
        let insisted = command(self.name, &first.options);
        let remedy = self.remedy(filter.as_deref(), "");
        Some(
            self.refused(&format!("{message}{remedy}; if all requests arrive at once: {insisted}")),
        )
    }

    /// Returns a refusal if there are several columns of volumes, and none of them distinguishes all volumes.
    fn volumes_in_doubt(&self, readings: &[Reading]) -> Option<Refusal> {
        if readings.is_empty() {
            return None;
        }
        let Parts { message, filter, places, names, listing } = Parts::of(self.head)?;
        let with_volume = |place: &str| {
            let add_volume = |reading: &Reading| {
                let text = reading.columns.as_ref()?.text_with_volume(place);
                guess::reading(&text, self.head, self.workload.action as u8)
            };
            let combined = readings.iter().filter_map(add_volume).collect();
            readings::choices(combined, self.is_whole).into_iter().take(VOLUME_READINGS)
        };
        let mut choices = Vec::new();
        if let (Some(filter), Some(place)) = (filter, places.first()) {
            let mut together = with_volume(place).peekable();
            if together.peek().is_none() {
                // The message behind the filter lists the readings.
                choices.push((
                    self.through_filter(&filter, ""),
                    format!("{listing} together name the volume"),
                ));
            }
            choices.extend(together.map(|(options, gives)| {
                (
                    self.through_filter(&filter, &options),
                    format!("{listing} together name the volume: {gives}"),
                )
            }));
        }
        let open = what_names_leave_open(readings);
        let open = if open.is_empty() { open } else { format!("; nor do they say {open}") };
        for (place, name) in places.iter().zip(&names).take(apart::LISTED) {
            choices.extend(with_volume(place).map(|(options, gives)| {
                (self.as_it_is(&options), format!("{name} is the volume: {gives}"))
            }));
        }
        Some(Refusal::Filtered(format!("{message}{open}; {}", list(&choices, str::to_owned))))
    }

    /// Returns a refusal if the columns have known names, but the operations are unknown words.
    pub(super) fn unknown_words(&self) -> Option<Refusal> {
        let (columns, op_words) = unknown::columns_and_words(self.head)?;
        let op_words: Vec<&str> = op_words.iter().map(String::as_str).collect();
        let message = format!(
            "it is a table, but ssdlab does not know the words of its operations: {}",
            words::shown_words(&op_words)
        );
        if op_words.iter().any(|word| word.contains('|')) {
            let command = self.through_filter("tr '|' '+' < FILE", "");
            return Some(Refusal::Filtered(format!(
                "{message}; --columns takes no words with the mark |, so replace it: {command}"
            )));
        }
        let quotable: Vec<&str> = op_words.iter().copied().filter(|word| is_word(word)).collect();
        let rule =
            "(--columns takes words of at most 64 bytes, without quotes, commas and the mark =)";
        let [first, rest @ ..] = &quotable[..] else {
            return Some(self.refused(&format!("{message}; replace them {rule}")));
        };
        if let [second] = rest {
            let either = [(first, second), (second, first)].map(|(read, write)| {
                let columns = word(&format!("{columns},read={read},write={write}"));
                (
                    self.as_it_is(&format!("--columns {columns}")),
                    format!("if {} are reads", shown(read.as_bytes())),
                )
            });
            return Some(Refusal::Filtered(format!("{message}; {}", list(&either, str::to_owned))));
        }
        let second = rest.first().map_or(String::new(), |second| format!(",write={second}"));
        let options = format!("--columns {}", word(&format!("{columns},read={first}{second}")));
        Some(Refusal::Filtered(format!(
            "{message}; say what each of them means {rule}, as in: {}",
            self.as_it_is(&options)
        )))
    }

    /// Reads a table by the names of its columns.
    pub(super) fn guessed(&self, read_as: ReadAs) -> Result<Decision, Refusal> {
        if let Some(Derivation { message, filter }) = guess::derived::of(self.head) {
            let remedy = self.remedy(filter.as_deref(), "");
            return Err(Refusal::Filtered(message + &remedy));
        }
        let readings = guess::of(self.head, self.workload.action as u8);
        let mut readings = self.with_stated_units(&read_as, readings)?;
        let refusal = self
            .all_at_once(&readings)
            .or_else(|| self.clocks_that_wrap(&readings))
            .or_else(|| self.volumes_in_doubt(&readings))
            .or_else(|| self.sectors_in_doubt(&readings))
            .or_else(|| self.bytes_in_doubt(&readings))
            .or_else(|| self.pace_in_doubt(&readings))
            .or_else(|| self.region_in_doubt(&readings))
            .or_else(|| self.times_in_other_notation(&readings));
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let open = what_names_leave_open(&readings);
        if !open.is_empty() {
            let unordered = readings.iter_mut().filter(|reading| reading.counts.descents > 0);
            unordered.for_each(Reading::sort);
            let check =
                if readings.len() == 1 { "; check the meanings in the command" } else { "" };
            let message = format!("it is a table whose column names do not say {open}{check}");
            return Err(self.doubt(message, readings));
        }
        let Some(reading) = readings.pop() else { return Err(self.unknown(self.head.lines[0])) };
        let mut note = format!(
            "{}: it matches no known format, so it was read by the names of its columns: {}",
            self.name, reading.options
        );
        if !reading.has_times() {
            if let Some(refusal) = self.unread_times(&reading) {
                return Err(refusal);
            }
            note += "; no column is known to be a time, so all requests arrive at once (--pace closed keeps a fixed \
                     number of them outstanding instead)";
        }
        if reading.columns.as_deref().is_some_and(is_page_size_assumed) {
            note += "; pages are taken as 4 KiB (if they have 16 KiB, write :16KiB instead of :4KiB in these columns)";
        }
        let unused = reading
            .columns
            .as_ref()
            .map(|columns| guess::unused(self.head, columns))
            .unwrap_or_default();
        if !unused.is_empty() {
            note += &format!("; unused columns: {}", shown(unused.join(", ").as_bytes()));
        }
        // If a file has the records of hosts one after the other, the second host is beyond the head.
        let volumes: Vec<&str> = unused
            .iter()
            .map(String::as_str)
            .filter(|name| guess::names::is_volume(name))
            .collect();
        if !self.is_whole && !volumes.is_empty() {
            note += &format!(
                " (if {} changes below the first {} lines, it may be a part of the volume)",
                shown(volumes.join(", ").as_bytes()),
                self.head.lines.len()
            );
        }
        let merged = reading.columns.as_deref().filter(|columns| columns.volume.is_none());
        if let Some(text) =
            merged.and_then(|columns| guess::values::unused_volumes(self.head, columns))
        {
            note += &format!("; {text}");
        }
        let read_as = ReadAs { columns: reading.columns, ..read_as };
        Ok((TraceFormat::Table, read_as, vec![note]))
    }
}

/// Returns whether addresses or lengths are taken as pages of 4 KiB because their column names pages without a size.
fn is_page_size_assumed(columns: &Mapping) -> bool {
    let size = match &columns.size {
        Size::Column(column) => Some((&column.place, column.unit)),
        Size::Constant(_) => None,
    };
    let offset = (&columns.offset.place, columns.offset.unit);
    [Some(offset), size].into_iter().flatten().any(|(place, unit)| {
        let letters = place.name().map(letters_of).unwrap_or_default();
        unit == Some(4096) && is_of_pages(&letters) && !letters.contains("4k")
    })
}

/// Returns what the column names leave open: the differences between these readings, and words whose meaning is derived
/// from known ones; empty if nothing is open.
fn what_names_leave_open(readings: &[Reading]) -> String {
    let mappings: Vec<&Mapping> =
        readings.iter().filter_map(|reading| reading.columns.as_deref()).collect();
    let mut guessed = mappings.iter().map(|columns| words::guessed_words(columns));
    let guessed = guessed.find(|words| !words.is_empty()).unwrap_or_default();
    let of_words = format!("what these operations are: {}", words::shown_words(&guessed));
    let length = |columns: &Mapping| match &columns.size {
        Size::Column(column) => Some(column.place.clone()),
        Size::Constant(_) => None,
    };
    let place = |columns: &Mapping| columns.time.as_ref().map(|time| time.place.clone());
    let units = |columns: &Mapping| {
        (columns.time.as_ref().map(|time| time.unit), columns.offset.unit, columns.size.unit())
    };
    let differ = |differs: &dyn Fn(&Mapping, &Mapping) -> bool| {
        mappings.windows(2).any(|pair| differs(pair[0], pair[1]))
    };
    let has_known = mappings.iter().all(|columns| !columns.text.contains(",read="));
    let of_operations = if has_known {
        "what its unknown operation means"
    } else {
        "which operations are reads and which are writes"
    };
    let open = [
        (differ(&|a, b| a.op != b.op), "which of them is the operation"),
        (differ(&|a, b| a.offset.place != b.offset.place), "which of them is the address"),
        (differ(&|a, b| length(a) != length(b)), "which of them is the length"),
        (differ(&|a, b| place(a) != place(b)), "which of them is the time"),
        (differ(&|a, b| a.event != b.event), "which event is the request"),
        (
            differ(&|a, b| {
                (place(a), length(a), &a.offset.place) == (place(b), length(b), &b.offset.place)
                    && units(a) != units(b)
            }),
            "the units",
        ),
        (guessed.is_empty() && differ(&|a, b| a.words != b.words), of_operations),
        (!guessed.is_empty(), &of_words),
    ];
    let is_one_of_several = readings.len() > 1 && !open.iter().any(|(is_open, _)| *is_open);
    let open = open.into_iter().filter(|(is_open, _)| *is_open).map(|(_, message)| message);
    let open = open.collect::<Vec<_>>().join(", nor ");
    if is_one_of_several { "which of them are those of a request".to_owned() } else { open }
}

/// Returns the options that read a file as `read_as` says, whatever its numbers are.
pub(crate) fn insisted(format: TraceFormat, read_as: &ReadAs) -> String {
    let columns =
        read_as.columns.as_ref().map(|columns| format!(" --columns {}", word(&columns.text)));
    format!("--format {}{}", format.word(), columns.unwrap_or_default())
}
