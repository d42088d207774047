//! Files that can be read after a filter has rewritten them.

use super::refusal::Refusal;
use super::{File, lines_of};
use crate::read::commands::{list, word};
use crate::read::foreign::{Rewrite, Rewriting, marks};
use crate::read::formats::{self, Head, ReadAs, TraceFormat};
use crate::read::guess;
use crate::read::readings::{self, Counts, Reading};

/// Maximum number of readings in a message for each of two filters.
const READINGS: usize = 3;
/// Maximum number of filters in a pipeline.
const FILTERS: usize = 3;

/// How a file can be read after a filter has rewritten it.
enum FilteredReading {
    /// The only reading: its options and numbers.
    Certain((String, String)),
    /// The options and numbers of each reading.
    Choices(Vec<(String, String)>),
    /// A message with the commands.
    Refused(String),
}

impl FilteredReading {
    /// Returns the readings, or `None` for a message.
    fn choices(&self) -> Option<&[(String, String)]> {
        match self {
            FilteredReading::Certain(choice) => Some(std::slice::from_ref(choice)),
            FilteredReading::Choices(choices) => Some(choices),
            FilteredReading::Refused(_) => None,
        }
    }
}

impl File<'_> {
    /// Returns a refusal if the file can be read, or read differently, after one of `rewrites` has rewritten it.
    pub(super) fn rewritten(&self, rewrites: &[Rewrite]) -> Option<Refusal> {
        self.rewritten_as(rewrites, false)
    }

    /// Like [`File::rewritten`]; `are_numeric`: `rewrites` rewrite notations of numbers.
    pub(super) fn rewritten_as(&self, rewrites: &[Rewrite], are_numeric: bool) -> Option<Refusal> {
        // A second filter for numbers could undo the first.
        if self.filters.len() == FILTERS || self.is_notated && are_numeric {
            return None;
        }
        let ended = match self.head.bytes.iter().rposition(|&byte| byte == b'\n') {
            // The last line may be incomplete.
            Some(end) if !self.is_whole => &self.head.bytes[..=end],
            _ => self.head.bytes,
        };
        rewrites.iter().find_map(|rewrite| {
            let rewriting = rewrite(ended)?;
            let outcome = self.examined(&rewriting, are_numeric)?;
            let Some(alternative) = rewriting.alternative.as_deref() else {
                return Some(self.refusal_behind(&rewriting.message, &rewriting.filter, outcome));
            };
            let behind_other = self.examined(alternative, are_numeric);
            Some(self.refusal_of_two([&rewriting, alternative], outcome, behind_other))
        })
    }

    /// Returns a refusal if only a mapping can name the separator of the table.
    pub(super) fn of_other_separator(&self) -> Option<Refusal> {
        let (separator, mark) = marks::separator(self.head.bytes)?;
        let FilteredReading::Choices(choices) =
            self.examined(&marks::with_commas(self.head.bytes)?, false)?
        else {
            return None;
        };
        let with_separator = |(options, gives): &(String, String)| {
            let (columns, remaining) = options_of(options)?;
            let columns = word(&format!("{columns},{separator}"));
            Some((format!("--columns {columns}{remaining}"), gives.clone()))
        };
        let choices = choices.iter().map(with_separator).collect::<Option<Vec<_>>>()?;
        Some(Refusal::Doubt(format!("its cells are separated by {mark}"), choices))
    }

    /// Returns the refusal of a file that can be read through a filter, for this reason.
    fn refusal_behind(&self, message: &str, filter: &str, outcome: FilteredReading) -> Refusal {
        match outcome {
            FilteredReading::Refused(next) => Refusal::Filtered(format!("{message}; {next}")),
            FilteredReading::Certain((options, _)) => {
                Refusal::Filtered(format!("{message}: {}", self.through_filter(filter, &options)))
            }
            FilteredReading::Choices(choices) => self.doubt_behind(message, filter, &choices),
        }
    }

    /// Returns the refusal of a file that can be read through either of two filters.
    fn refusal_of_two(
        &self,
        [first, second]: [&Rewriting; 2],
        outcome: FilteredReading,
        behind_other: Option<FilteredReading>,
    ) -> Refusal {
        let message = &first.message;
        let (Some(choices), Some(second_choices)) =
            (outcome.choices(), behind_other.as_ref().and_then(FilteredReading::choices))
        else {
            let message = format!(
                "{message} (the command assumes that {}; if not, {} in it)",
                first.case, first.otherwise
            );
            return self.refusal_behind(&message, &first.filter, outcome);
        };
        // Lists the readings that both filters share, if there are any.
        let is_shared = |(options, _): &&(String, String)| {
            [choices, second_choices]
                .iter()
                .all(|all| all.iter().any(|(candidate, _)| candidate == options))
        };
        let has_shared = choices.iter().any(|choice| is_shared(&choice));
        let pairs = [(first, choices), (second, second_choices)].into_iter();
        let choices: Vec<(String, String)> = pairs
            .flat_map(|(Rewriting { filter, case, .. }, choices)| {
                let choices = choices.iter().filter(|choice| !has_shared || is_shared(choice));
                choices.take(READINGS).map(move |(options, gives)| {
                    (self.through_filter(filter, options), format!("if {case}: {gives}"))
                })
            })
            .collect();
        Refusal::Filtered(format!("{message}; {}", list(&choices, str::to_owned)))
    }

    /// Returns how the output of `rewriting` can be read; `None` if it cannot be read, or only as without the filter.
    fn examined(&self, rewriting: &Rewriting, is_numeric: bool) -> Option<FilteredReading> {
        let Rewriting { filter, bytes, columns, .. } = rewriting;
        let lines = lines_of(bytes, false);
        let head = Head { bytes, lines: &lines };
        head.lines.first()?;
        let place = if self.is_whole { "" } else { ", in its first lines" };
        let certain = |options: String, counts: Counts| {
            FilteredReading::Certain((options, format!("{}{place}", counts.summary())))
        };
        let filters = [self.filters, std::slice::from_ref(filter)].concat();
        let is_notated = self.is_notated || is_numeric;
        let file = File { head: &head, filters: &filters, is_notated, ..*self };
        // A single set of columns is certain.
        if let [columns] = columns {
            let counts = file.with_columns(columns).map(|reading| reading.counts);
            let options = format!("--columns {}", word(columns));
            return Some(certain(options, counts.unwrap_or_default()));
        }
        let refusal = match file.decision(TraceFormat::Auto, None) {
            // Lines may not fit the nearest format.
            Ok((format, read_as, _)) => {
                let counts = Reading::counts_of(format, &read_as, &head)?;
                let action = file.only_action(format, &read_as);
                let of_action = action.chars().next_back();
                let requests = of_action
                    .and_then(|action| file.counts_of_action(format, &read_as, action as u8));
                return counts.fit().then(|| certain(action, requests.unwrap_or(counts)));
            }
            Err(refusal) => refusal,
        };
        let readings = columns.iter().filter_map(|columns| file.with_columns(columns));
        let readings: Vec<Reading> = readings.filter(|reading| reading.counts.is_sound()).collect();
        if let [reading] = &readings[..] {
            return Some(certain(reading.options.clone(), reading.counts));
        } else if !readings.is_empty() {
            return Some(FilteredReading::Choices(readings::choices(readings, self.is_whole)));
        }
        let choices = match refusal {
            Refusal::Doubt(_, choices) => choices,
            Refusal::Filtered(next) => return Some(FilteredReading::Refused(next)),
            Refusal::Error(_) => return None,
        };
        let mut unfiltered = guess::values::of(self.head, self.workload.action as u8);
        unfiltered.retain(|reading| reading.counts.bad == 0);
        let unfiltered = readings::choices(unfiltered, self.is_whole);
        let is_same = !unfiltered.is_empty() && unfiltered.first() == choices.first();
        (!is_same).then_some(FilteredReading::Choices(choices))
    }

    /// Returns the option for the action of the requests in the head, if the head has none of the usual action.
    pub(super) fn only_action(&self, format: TraceFormat, read_as: &ReadAs) -> String {
        let has = |action: u8| self.counts_of_action(format, read_as, action).is_some();
        let is_open = formats::has_actions(format) && self.workload.action == 'Q' && !has(b'Q');
        let letter = [b'D', b'C'].into_iter().find(|&action| is_open && has(action));
        letter.map_or_else(String::new, |action| {
            format!("--set workload.action={}", char::from(action))
        })
    }
}

/// Returns the columns in the options of a reading, and the options after them.
fn options_of(options: &str) -> Option<(&str, &str)> {
    let columns = options.strip_prefix("--columns ")?;
    match columns.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\'').filter(|(_, rest)| !rest.starts_with('\\')),
        None => Some(columns.split_at(columns.find(' ').unwrap_or(columns.len()))),
    }
}
