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
    pub(super) fn mapped(&self, format: TraceFormat, how: ReadAs) -> Result<Decision, Refusal> {
        let named = how.columns.as_ref().expect("it is mapped");
        self.units_are_given_once("workload.columns gives", named)?;
        if let Some(column) = &named.time
            && column.unit.is_none()
            && how.time_ns.is_none()
        {
            let units = TIME_UNITS.iter().rev().filter_map(|&(name, ns)| {
                let options = format!("--columns {} --time-unit {name}", word(&named.text));
                Reading::of(
                    options,
                    format,
                    &ReadAs { time_ns: Some(ns), ..how.clone() },
                    self.head,
                )
            });
            let readings = of_distinct_times(units.collect());
            // Calendar dates need no unit.
            let is_certain = Reading::of(String::new(), format, &how, self.head).is_some();
            if !is_certain && !readings.is_empty() {
                return Err(self.doubt("workload.columns names no unit for the time", readings));
            }
        }
        if format == TraceFormat::Table {
            self.some_line_fits(&how)?;
            self.times_are_in_order(&how)?;
        }
        if self.workload.format == TraceFormat::Auto {
            self.numbers_are_possible(format, &how)?;
        }
        let is_merged = format == TraceFormat::Table && named.volume.is_none();
        let volumes = is_merged.then(|| guess::values::unused_volumes(self.head, named)).flatten();
        let notes = named.words.contradiction().into_iter().chain(volumes);
        let notes = notes.map(|text| format!("{}: {text}", self.name)).collect();
        Ok((format, how, notes))
    }

    /// Refuses a unit for columns with their own units. `given` is the start of the message, and says where these units
    /// are set, such as "workload.columns gives".
    fn units_are_given_once(&self, given: &str, columns: &Mapping) -> Result<(), Refusal> {
        let Workload { unit, time_unit, .. } = self.workload;
        let time = columns.time.as_ref().is_some_and(|time| time.unit.is_some());
        let size = match &columns.size {
            Size::Of(size) => size.unit.is_some(),
            Size::Always(_) => true,
        };
        let twice = if *time_unit != TimeUnit::Auto && time {
            ("time_unit", "--time-unit", "the time")
        } else if *unit != TraceUnit::Auto && size && columns.offset.unit.is_some() {
            ("unit", "--unit", "address and length")
        } else {
            return Ok(());
        };
        let (key, option, what) = twice;
        Err(self.unit_given_twice(given, (key, option, what), columns))
    }

    /// Returns the refusal of a unit in the workload for a column with its own unit. `given` is the start of the
    /// message and says where the unit of the column is set; `key` and `option` set the other unit, and `what` is the
    /// field.
    pub(super) fn unit_given_twice(
        &self,
        given: &str,
        (key, option, what): (&str, &str, &str),
        columns: &Mapping,
    ) -> Refusal {
        self.refused(&format!(
            "{given} the unit of {what}, and so does workload.{key}; leave out {option}, or the unit in --columns {}",
            word(&columns.text)
        ))
    }

    /// Refuses columns with numbers that no device has, and lists columns with possible numbers.
    fn numbers_are_possible(&self, format: TraceFormat, how: &ReadAs) -> Result<(), Refusal> {
        let reading = Reading::of_some(String::new(), format, how, self.head);
        let Some(why) = reading.and_then(|reading| reading.counts.implausible()) else {
            return Ok(());
        };
        let columns = how.columns.as_ref().expect("it is mapped");
        let Workload { unit, time_unit, .. } = self.workload;
        let mut others = String::new();
        if *unit != TraceUnit::Auto {
            others += &format!(" --unit {}", unit.word());
        }
        if *time_unit != TimeUnit::Auto {
            others += &format!(" --time-unit {}", time_unit.word());
        }
        let of_units = |text: String| {
            let columns = Some(Arc::new(Mapping::parse(&text).ok()?));
            let how = ReadAs { columns, ..how.clone() };
            Reading::of(format!("--columns {}{others}", word(&text)), format, &how, self.head)
        };
        let mut readings: Vec<Reading> =
            columns.in_other_units().into_iter().filter_map(of_units).collect();
        if format == TraceFormat::Table {
            readings.extend(guess::of(self.head, self.workload.action as u8));
            readings.extend(guess::values::of(self.head, self.workload.action as u8));
        }
        readings.retain(|reading| reading.counts.is_possible());
        let what = format!(
            "workload.columns fits its lines, but the numbers are impossible: {why} (to read them anyway: {})",
            command(self.name, &(insisted(format, how) + &others)),
        );
        Err(if readings.is_empty() {
            self.refused(&format!(
                "{what}; no other unit fits, so correct the numbers or the columns"
            ))
        } else {
            self.doubt(what, readings)
        })
    }

    /// Refuses columns that fit no line.
    fn some_line_fits(&self, how: &ReadAs) -> Result<(), Refusal> {
        let all = formats::table::bad(how, self.head);
        if all.records > 0 || all.bad.is_empty() {
            return Ok(());
        }
        let few = &all.bad[..all.bad.len().min(SHOWN)];
        let expected = &few[0].1.expected;
        let is_alike = few.iter().all(|(_, reject)| reject.expected == *expected);
        let each = |(line, reject): &(&[u8], formats::Reject)| {
            let why =
                if is_alike { String::new() } else { format!("expected {} ", reject.expected) };
            format!("{} ({why}at byte {})", shown(line), reject.column + 1)
        };
        let lines: Vec<String> = few.iter().map(each).collect();
        let common = if is_alike { format!(", expected {expected}") } else { String::new() };
        if let Some(text) = how.columns.as_ref().and_then(|columns| {
            columns.wrong_names(&self.head.lines[..self.head.lines.len().min(LINES)])
        }) {
            return Err(self.refused(&format!("workload.columns: {text}")));
        }
        let what = format!(
            "workload.columns fits none of its first {} lines: {}{common}; correct the columns",
            all.bad.len(),
            lines.join("; ")
        );
        let action = self.workload.action as u8;
        if let Some((separator, mark)) = marks::separator(self.head.bytes)
            && let Some(columns) = &how.columns
            && columns.separator.is_none()
            && let Some(reading) = self.with_columns(&format!("{},{separator}", columns.text))
        {
            return Err(self.doubt(format!("its cells are separated by {mark}"), vec![reading]));
        }
        let named = guess::of(self.head, action);
        let mut readings =
            if named.is_empty() { guess::values::of(self.head, action) } else { named };
        // A reading with times needs no filter.
        if !readings.iter().any(Reading::has_times)
            && let Some(refusal) = self.refusal_by_notation(how).or_else(|| {
                let all = [&rewriting::FORMS[..], &rewriting::LOGS];
                self.rewritten(&all.concat())
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
            return Err(self.refused(&(what + &instead.unwrap_or_default())));
        }
        Err(self.doubt(format!("{what}; these fit"), readings))
    }

    /// Returns a refusal if the columns fit only after a filter has rewritten the numbers.
    pub(super) fn refusal_by_notation(&self, how: &ReadAs) -> Option<Refusal> {
        let columns = how.columns.as_ref()?;
        // The filter joins a date and a time of day in the first of their columns.
        let mappings = [
            Some(columns.text.clone()),
            Some(columns.without_time_unit()),
            columns.with_time_before(),
        ];
        let mut reasons = Vec::new();
        let mut choices = Vec::new();
        let all: [Rewrite; 3] =
            [marks::without_single_quotes, marks::with_commas, joined::with_joined_dates];
        let all = all
            .into_iter()
            .chain(notations::TIMES)
            .chain(notations::NUMBERS)
            .filter_map(|rewrite| rewrite(self.head.bytes));
        for Rewriting { what, filter, bytes, case, .. } in all.flat_map(Rewriting::with_other) {
            let lines = lines_of(&bytes, !self.whole);
            let head = Head { bytes: &bytes, lines: &lines };
            let fits = |text: &String| {
                let reading = guess::reading(text, &head, how.action)?;
                reading.counts.is_sound().then_some(reading)
            };
            let Some(reading) = mappings.iter().flatten().find_map(fits) else { continue };
            let command = self.behind(&filter, &reading.options);
            let (_, mut outcome) = readings::choices(vec![reading], self.whole).pop()?;
            if !case.is_empty() {
                outcome = format!("if {case}: {outcome}");
            }
            // Of several commands with the same outcome, one is enough.
            if choices.iter().all(|(_, other)| *other != outcome) {
                choices.push((command, outcome));
                reasons.extend((!reasons.contains(&what)).then_some(what));
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
        let Derivation { what, filter } = guess::derived::of_constant_time(self.head)
            .filter(|_| readings.iter().all(is_constant))?;
        let insisted = command(self.name, &first.options);
        let remedy = self.remedy(filter.as_deref(), "");
        Some(self.refused(&format!("{what}{remedy}; if all requests arrive at once: {insisted}")))
    }

    /// Returns a refusal if there are several columns of volumes, and none of them distinguishes all volumes.
    fn volumes_in_doubt(&self, readings: &[Reading]) -> Option<Refusal> {
        if readings.is_empty() {
            return None;
        }
        let Parts { what, filter, places, names, listing } = Parts::of(self.head)?;
        let with_volume = |place: &str| {
            let of = |reading: &Reading| {
                let text = reading.columns.as_ref()?.text_with_volume(place);
                guess::reading(&text, self.head, self.workload.action as u8)
            };
            let all = readings.iter().filter_map(of).collect();
            readings::choices(all, self.whole).into_iter().take(VOLUME_READINGS)
        };
        let mut choices = Vec::new();
        if let (Some(filter), Some(place)) = (filter, places.first()) {
            let mut together = with_volume(place).peekable();
            if together.peek().is_none() {
                // The message behind the filter lists the readings.
                choices.push((
                    self.behind(&filter, ""),
                    format!("{listing} together name the volume"),
                ));
            }
            choices.extend(together.map(|(options, gives)| {
                (
                    self.behind(&filter, &options),
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
        Some(Refusal::Filtered(format!("{what}{open}; {}", list(&choices, str::to_owned))))
    }

    /// Returns a refusal if the columns have known names, but the operations are unknown words.
    pub(super) fn unknown_words(&self) -> Option<Refusal> {
        let (columns, all) = unknown::columns_and_words(self.head)?;
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let what = format!(
            "it is a table, but ssdlab does not know the words of its operations: {}",
            words::shown_words(&all)
        );
        if all.iter().any(|word| word.contains('|')) {
            let command = self.behind("tr '|' '+' < FILE", "");
            return Some(Refusal::Filtered(format!(
                "{what}; --columns takes no words with the mark |, so replace it: {command}"
            )));
        }
        let said: Vec<&str> = all.iter().copied().filter(|word| is_word(word)).collect();
        let rule =
            "(--columns takes words of at most 64 bytes, without quotes, commas and the mark =)";
        let [first, others @ ..] = &said[..] else {
            return Some(self.refused(&format!("{what}; replace them {rule}")));
        };
        if let [second] = others {
            let either = [(first, second), (second, first)].map(|(read, write)| {
                let columns = word(&format!("{columns},read={read},write={write}"));
                (
                    self.as_it_is(&format!("--columns {columns}")),
                    format!("if {} are reads", shown(read.as_bytes())),
                )
            });
            return Some(Refusal::Filtered(format!("{what}; {}", list(&either, str::to_owned))));
        }
        let second = others.first().map_or(String::new(), |second| format!(",write={second}"));
        let options = format!("--columns {}", word(&format!("{columns},read={first}{second}")));
        Some(Refusal::Filtered(format!(
            "{what}; say what each of them means {rule}, as in: {}",
            self.as_it_is(&options)
        )))
    }

    /// Reads a table by the names of its columns.
    pub(super) fn guessed(&self, how: ReadAs) -> Result<Decision, Refusal> {
        if let Some(Derivation { what, filter }) = guess::derived::of(self.head) {
            let remedy = self.remedy(filter.as_deref(), "");
            return Err(Refusal::Filtered(what + &remedy));
        }
        let readings = guess::of(self.head, self.workload.action as u8);
        let mut readings = self.with_stated_units(&how, readings)?;
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
            let what = format!("it is a table whose column names do not say {open}{check}");
            return Err(self.doubt(what, readings));
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
        if !self.whole && !volumes.is_empty() {
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
        let how = ReadAs { columns: reading.columns, ..how };
        Ok((TraceFormat::Table, how, vec![note]))
    }
}

/// Returns whether addresses or lengths are taken as pages of 4 KiB because their column names pages without a size.
fn is_page_size_assumed(columns: &Mapping) -> bool {
    let size = match &columns.size {
        Size::Of(column) => Some((&column.place, column.unit)),
        Size::Always(_) => None,
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
    let all: Vec<&Mapping> =
        readings.iter().filter_map(|reading| reading.columns.as_deref()).collect();
    let mut guessed = all.iter().map(|columns| words::guessed_words(columns));
    let guessed = guessed.find(|words| !words.is_empty()).unwrap_or_default();
    let of_words = format!("what these operations are: {}", words::shown_words(&guessed));
    let length = |all: &Mapping| match &all.size {
        Size::Of(column) => Some(column.place.clone()),
        Size::Always(_) => None,
    };
    let place = |all: &Mapping| all.time.as_ref().map(|time| time.place.clone());
    let units =
        |all: &Mapping| (all.time.as_ref().map(|time| time.unit), all.offset.unit, all.size.unit());
    let differ =
        |of: &dyn Fn(&Mapping, &Mapping) -> bool| all.windows(2).any(|pair| of(pair[0], pair[1]));
    let has_known = all.iter().all(|columns| !columns.text.contains(",read="));
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
    let open = open.into_iter().filter(|(is_open, _)| *is_open).map(|(_, what)| what);
    let open = open.collect::<Vec<_>>().join(", nor ");
    if is_one_of_several { "which of them are those of a request".to_owned() } else { open }
}

/// Returns the options that read a file as `how` says, whatever its numbers are.
pub(crate) fn insisted(format: TraceFormat, how: &ReadAs) -> String {
    let columns = how.columns.as_ref().map(|columns| format!(" --columns {}", word(&columns.text)));
    format!("--format {}{}", format.word(), columns.unwrap_or_default())
}
