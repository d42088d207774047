//! The action that marks the requests in a log of block events.

use super::{Decision, File};
use crate::config::Workload;
use crate::read::cpu_files::is_cpu_file;
use crate::read::formats::{self, Cut, Format, Head, Line, ReadAs, TraceFormat, Work};
use crate::read::readings::{Counts, Reading};
use crate::read::tally::LETTERS_AT_ISSUE;

/// The actions of requests: their arrival, issue and completion.
const ACTIONS: [u8; 3] = *b"QDC";

impl File<'_> {
    /// Returns whether the requests are taken at their issue, because the head has no earlier events and no other
    /// action was chosen. The files of several CPUs must be read completely to decide this.
    pub(super) fn is_at_issue(&self, format: TraceFormat, read_as: &ReadAs) -> bool {
        let is_text = [TraceFormat::BlockEvent, TraceFormat::Tracepoint].contains(&format);
        if !is_text || read_as.action != b'Q' {
            return false;
        }
        let letters = formats::with(format, Letters { read_as, head: self.head });
        letters.is_some_and(|letters| {
            letters.contains(&b'D')
                && letters.iter().all(|letter| LETTERS_AT_ISSUE.contains(letter))
        }) && self.counts_of_action(format, read_as, b'D').is_some()
    }

    /// Returns whether the head has events of requests, but no line of them can be read.
    pub(super) fn has_unreadable_events(&self, format: TraceFormat) -> bool {
        let is_text = [TraceFormat::BlockEvent, TraceFormat::Tracepoint].contains(&format);
        let Some(read_as) = self.read_as(format).ok().filter(|_| is_text) else { return false };
        let letters = formats::with(format, Letters { read_as: &read_as, head: self.head });
        let letters = letters.unwrap_or_default().into_iter();
        let is_readable = |action: u8| {
            let read_as = ReadAs { action, ..read_as.clone() };
            let counts = Reading::counts_of(format, &read_as, self.head);
            // Events without data are read, too.
            counts.is_some_and(|counts| counts.requests() > 0 || counts.bad == 0)
        };
        let mut actions = letters.filter(|letter| ACTIONS.contains(letter)).peekable();
        actions.peek().is_some() && !actions.any(is_readable)
    }

    /// Returns the workload that takes requests at their issue.
    pub(super) fn at_issue(&self) -> Workload {
        Workload { action: 'D', ..self.workload.clone() }
    }

    /// Returns `decision` with a note that requests are taken at their issue.
    pub(super) fn noted(&self, (format, read_as, mut notes): Decision) -> Decision {
        let name = self.name;
        notes.push(format!(
            "{name}: every request is taken at its issue (D): its requests have no events before their issue"
        ));
        (format, read_as, notes)
    }

    /// Returns the numbers of each action in the head if the head has no request of the chosen action.
    pub(super) fn of_actions(&self, format: TraceFormat, read_as: &ReadAs) -> Vec<(char, String)> {
        let chosen = read_as.action;
        if !formats::has_actions(format)
            || is_cpu_file(self.name)
            || self.counts_of_action(format, read_as, chosen).is_some()
        {
            return Vec::new();
        }
        let place = if self.is_whole { "" } else { ", in its first lines" };
        let counts_for = |action: char| {
            let counts = self.counts_of_action(format, read_as, action as u8)?;
            Some((action, format!("{}{place}", counts.summary())))
        };
        ACTIONS.map(char::from).into_iter().filter_map(counts_for).collect()
    }

    /// Returns the numbers of this action in the head if it has a request of it.
    pub(super) fn counts_of_action(
        &self,
        format: TraceFormat,
        read_as: &ReadAs,
        action: u8,
    ) -> Option<Counts> {
        let read_as = ReadAs { action, ..read_as.clone() };
        let counts = Reading::counts_of(format, &read_as, self.head)?;
        (counts.requests() > 0).then_some(counts)
    }
}

/// Collects the letters of the actions in the lines of a head.
struct Letters<'a> {
    read_as: &'a ReadAs,
    head: &'a Head<'a>,
}

impl Work for Letters<'_> {
    type Output = Vec<u8>;

    fn with<P: Format>(self) -> Vec<u8> {
        debug_assert!(P::CUT == Cut::Lines, "the files of blktrace are not asked");
        let mut parser = P::new(self.read_as);
        let mut letters: Vec<u8> = Vec::new();
        for line in self.head.lines {
            let letter = match parser.parse(line) {
                Ok(Line::Other(letter)) => letter,
                Ok(Line::Event(_) | Line::LongDiscard(..) | Line::Dataless) => self.read_as.action,
                Ok(Line::Blank | Line::Header | Line::Wait(_)) | Err(_) => continue,
            };
            if !letters.contains(&letter) {
                letters.push(letter);
            }
        }
        letters
    }
}
