//! What reads a file of which no line is of the format that is set.

use super::File;
use super::refusal::Refusal;
use crate::config::{TimeUnit, TraceUnit, Workload};
use crate::read::commands::{command, one_of, word};
use crate::read::formats::{self, ReadAs, TraceFormat};
use crate::read::readings::{Reading, choices};
use ssd_core::config::Word;

/// Longest first line of a file that may be read otherwise, bytes.
const LONGEST: usize = 4096;

impl File<'_> {
    /// The end of a message about a file of which no line is of the stated `format`: the commands that read it. `None`
    /// if there are such lines, or no other way to read the file.
    pub(super) fn instead(&self, format: TraceFormat, how: &ReadAs) -> Option<String> {
        if self.workload.format == TraceFormat::Auto {
            return None;
        }
        let counts = Reading::counts_of(format, how, self.head)?;
        let is_other = counts.requests() + counts.others == 0;
        is_other.then(|| self.otherwise())?
    }

    /// The refusal of a table without columns.
    pub(super) fn without_columns(&self, format: TraceFormat) -> Refusal {
        let example = || {
            let source = formats::info(format).map_or("", |info| info.source);
            format!("set workload.columns (--columns), such as {source}")
        };
        let other = self.otherwise().unwrap_or_else(example);
        let word = format.word();
        self.refused(&format!("format {word:?} needs the columns of the file: {other}"))
    }

    /// As [`File::instead`], whatever format or columns are set.
    pub(super) fn otherwise(&self) -> Option<String> {
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
        let (found, how, _) = match file.decision(TraceFormat::Auto, None) {
            Ok(decision) => decision,
            Err(Refusal::Doubt(what, choices)) => {
                let choices = one_of(self.name, &choices);
                return Some(format!("read this file in another way: {what}; {choices}"));
            }
            Err(Refusal::Filtered(text)) => {
                return Some(format!("read this file in another way: {text}"));
            }
            Err(Refusal::Error(_)) => return None,
        };
        let (options, what) = match &how.columns {
            Some(columns) => (format!("--columns {}", word(&columns.text)), "a table".to_owned()),
            None => {
                (format!("--format {}", found.word()), format!("one of format {}", found.word()))
            }
        };
        let reading = Reading::of(options, found, &how, self.head)?;
        let (options, gives) = choices(vec![reading], self.whole).pop()?;
        Some(format!("run {} (the line looks like {what}: {gives})", command(self.name, &options)))
    }
}
