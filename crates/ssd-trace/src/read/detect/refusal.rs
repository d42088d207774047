//! Reasons why a file is not read, with the commands that read it.

use super::File;
use crate::config::Workload;
use crate::read::commands::{command, filter_of, list, one_of, options_without, sorted, with_name};
use crate::read::foreign::Filter;
use crate::read::readings::{self, Reading};
use ssd_core::host::source::SourceError;

/// The reason why a file is not read.
pub(super) enum Refusal {
    /// A complete message, to which nothing is added.
    Error(SourceError),
    /// Several readings fit: what is in doubt, and for each reading its options and its numbers.
    Doubt(String, Vec<(String, String)>),
    /// A filter makes it readable: the reason, and the commands.
    Filtered(String),
}

impl Refusal {
    /// Returns the error for `file`.
    pub(super) fn error(self, file: &str) -> SourceError {
        match self {
            Refusal::Error(error) => error,
            Refusal::Filtered(text) => SourceError(format!("{file}: {text}")),
            Refusal::Doubt(message, choices) => {
                SourceError(format!("{file}: {message}; {}", one_of(file, &choices)))
            }
        }
    }
}

impl From<SourceError> for Refusal {
    fn from(error: SourceError) -> Refusal {
        Refusal::Error(error)
    }
}

impl File<'_> {
    /// Returns the refusal of the file for this reason.
    pub(super) fn refused(&self, reason: &str) -> Refusal {
        Refusal::Error(SourceError(format!("{}: {reason}", self.name)))
    }

    /// Returns the refusal of a file that is known not to be a trace. The name of the file replaces `FILE` in `text`.
    pub(super) fn foreign(&self, text: &str) -> Refusal {
        self.refused(&with_name(self.name, text))
    }

    /// Returns the refusal of a file that can be read through a filter.
    pub(super) fn filtered(&self, Filter { message, filter, options }: &Filter) -> Refusal {
        Refusal::Filtered(format!("{message}: {}", self.through_filter(filter, options)))
    }

    /// Returns the end of a sentence that says what a filter does: its command. `filter` is `None` if awk would split
    /// the cells differently.
    pub(super) fn remedy(&self, filter: Option<&str>, options: &str) -> String {
        match filter {
            Some(filter) => format!(": {}", self.through_filter(filter, options)),
            None => " with a program that reads quoted cells, since awk would split them at the separators inside"
                .to_owned(),
        }
    }

    /// Returns the command that reads the output of a `filter` of FILE with these options, and with the options of the
    /// workload that do not depend on the columns.
    pub(super) fn through_filter(&self, filter: &str, options: &str) -> String {
        self.through(&[filter], options)
    }

    /// Returns the command that reads the file with these options, through the filters that have already rewritten it.
    pub(super) fn as_it_is(&self, options: &str) -> String {
        self.through(&[], options)
    }

    fn through(&self, filters: &[&str], options: &str) -> String {
        let Workload { action, volume, sort, skip_bad, .. } = *self.workload;
        // The options of the reading may already contain these.
        let skip_bad = skip_bad && !options.contains("workload.skip_bad=true");
        let volume = volume.filter(|_| !options.contains("workload.volume="));
        let independent = Workload { action, volume, skip_bad, ..Workload::default() };
        let options = if sort { sorted(options) } else { options.to_owned() };
        let options = format!("{options} {}", options_without(&independent, ""));
        let options = options.trim();
        if self.filters.is_empty() && filters.is_empty() {
            return command(self.name, options);
        }
        let space = if options.is_empty() { "" } else { " " };
        let filters = self.filters.iter().map(String::as_str).chain(filters.iter().copied());
        format!("{} | ssdlab trace info -{space}{options}", filter_of(self.name, filters))
    }

    /// Returns the refusal of a file with several readings: what is in doubt, and one command for each.
    pub(super) fn doubt(&self, message: impl Into<String>, readings: Vec<Reading>) -> Refusal {
        let (message, choices) = (message.into(), readings::choices(readings, self.is_whole));
        if choices.is_empty() {
            return self
                .refused(&format!("{message}; no reading fits, so name its columns (--columns)"));
        }
        Refusal::Doubt(message, choices)
    }

    /// Returns the refusal of a file with several readings through a filter.
    pub(super) fn doubt_behind(
        &self,
        message: &str,
        filter: &str,
        choices: &[(String, String)],
    ) -> Refusal {
        Refusal::Filtered(format!(
            "{message}; {}",
            list(choices, |options| self.through_filter(filter, options))
        ))
    }
}
