//! Alternatives for a file without any line in the configured format.

use super::File;
use super::refusal::Refusal;
use crate::config::{TimeUnit, TraceUnit, Workload};
use crate::read::commands::{one_of, word};
use crate::read::formats::{self, ReadAs, TraceFormat};
use crate::read::readings::{Reading, choices};
use ssd_core::config::Word;

/// Maximum length of the first line of a file with alternatives, bytes.
const LONGEST: usize = 4096;

impl File<'_> {
    /// Returns whether no line of the file is in the configured `format`.
    pub(super) fn is_of_another_format(&self, format: TraceFormat, read_as: &ReadAs) -> bool {
        let counts = || Reading::counts_of(format, read_as, self.head);
        self.workload.format != TraceFormat::Auto
            && counts().is_some_and(|counts| counts.requests() + counts.others == 0)
    }

    /// Returns the refusal of a table without columns.
    pub(super) fn needs_columns(&self, format: TraceFormat) -> Refusal {
        let example = || {
            let source = formats::info(format).map_or("", |info| info.source);
            format!("set workload.columns (--columns), such as {source}")
        };
        let instead = self.instead().unwrap_or_else(example);
        let word = format.word();
        self.refused(&format!("format {word:?} needs the columns of the file: {instead}"))
    }

    /// Returns the end of a message: what the file is if neither format nor columns are set, and the commands that read
    /// it. Returns `None` if there is no way to read it.
    pub(super) fn instead(&self) -> Option<String> {
        if self.head.lines.first().is_none_or(|line| line.len() > LONGEST) {
            return None;
        }
        let workload = Workload {
            format: TraceFormat::Auto,
            columns: None,
            unit: TraceUnit::Auto,
            time_unit: TimeUnit::Auto,
            ..self.workload.clone()
        };
        let file = File { workload: &workload, ..*self };
        let (detected, read_as, _) = match file.decision(TraceFormat::Auto, None) {
            Ok(decision) => decision,
            Err(Refusal::Doubt(message, choices)) => {
                return Some(format!("{message}; {}", one_of(self.name, &choices)));
            }
            Err(Refusal::Filtered(text)) => return Some(text),
            Err(Refusal::Error(_)) => return None,
        };
        let (options, message) = match &read_as.columns {
            Some(columns) => (format!("--columns {}", word(&columns.text)), "a table".to_owned()),
            None => (
                format!("--format {}", detected.word()),
                format!("a file of format {}", detected.word()),
            ),
        };
        let reading = Reading::of(options, detected, &read_as, self.head)?;
        let choices = choices(vec![reading], self.is_whole);
        Some(format!("it looks like {message}; {}", one_of(self.name, &choices)))
    }
}
