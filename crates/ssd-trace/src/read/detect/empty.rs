//! Files of a known format, or tables with known names, in which all requests have length 0.

use super::File;
use super::refusal::Refusal;
use crate::read::formats::{
    self, Cut, EMPTY, Format, Line, Mapping, ReadAs, TraceFormat, Work, msr,
};
use crate::read::guess::{self, few};
use crate::read::readings::Reading;
use ssd_core::host::request::Op;
use std::sync::Arc;

/// Checks that all of these lines with an address and a length are requests of a format with length 0.
struct EmptyRequests<'a> {
    read_as: &'a ReadAs,
    lines: &'a [&'a [u8]],
}

impl Work for EmptyRequests<'_> {
    type Output = bool;

    fn with<P: Format>(self) -> bool {
        if P::CUT != Cut::Lines {
            return false;
        }
        let mut parser = P::new(self.read_as);
        let mut empty = 0;
        for (at, line) in self.lines.iter().enumerate() {
            match parser.parse(line) {
                Err(reject) if reject.expected == EMPTY => empty += 1,
                Ok(Line::Event(event)) if event.op == Op::Flush => {}
                // The first line may contain names.
                Err(_) if at == 0 => {}
                Ok(Line::Event(_) | Line::LongDiscard(..)) | Err(_) => return false,
                Ok(_) => {}
            }
        }
        empty > 1
    }
}

impl File<'_> {
    /// Returns a refusal if all requests of a known format, or of a table with known names, have length 0.
    pub(super) fn has_no_lengths(&self) -> Option<Refusal> {
        let by_name = guess::of(self.head, self.workload.action as u8);
        // The column of length 0 may be another one.
        if self.workload.skip_bad || by_name.iter().any(|reading| reading.counts.fit()) {
            return None;
        }
        let is_empty = |format: TraceFormat, columns: Option<Arc<Mapping>>| {
            let read_as =
                ReadAs { columns, action: self.workload.action as u8, ..ReadAs::default() };
            formats::with(format, EmptyRequests { read_as: &read_as, lines: self.head.lines })
                == Some(true)
        };
        let format_info = formats::ALL.iter().find(|info| is_empty(info.format, None));
        let (title, columns) = match format_info {
            Some(info) if info.format == TraceFormat::Msr => {
                (info.title, vec![Mapping::parse(msr::COLUMNS).ok()?])
            }
            Some(info) => (info.title, Vec::new()),
            None => {
                let mappings = guess::mappings(self.head).into_iter();
                let is_empty = |mapping: &Mapping| {
                    is_empty(TraceFormat::Table, Some(Arc::new(mapping.clone())))
                };
                let mappings: Vec<Mapping> = mappings.filter(is_empty).collect();
                ("a table", Some(mappings).filter(|mappings| !mappings.is_empty())?)
            }
        };
        let assumed = |mapping: &Mapping| {
            self.with_columns(&format!("{},size={}", mapping.text_without(&["size"]), few::LENGTH))
        };
        let readings: Vec<Reading> = columns.iter().filter_map(assumed).collect();
        let place = if self.is_whole { "" } else { " in its first lines" };
        let message = format!(
            "its lines are those of {title}, but every request{place} has length 0, so the lengths are lost; use the \
             original file, or record it again"
        );
        Some(if readings.is_empty() {
            self.refused(&message)
        } else {
            self.doubt(message + ", or assume a length", readings)
        })
    }
}
