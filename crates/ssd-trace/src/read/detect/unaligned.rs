//! Tables in bytes with requests that are not whole sectors.

use super::File;
use super::refusal::Refusal;
use crate::read::commands::list;
use crate::read::foreign::awk;
use crate::read::formats::mapping::cells_of;
use crate::read::formats::{self, Head, ReadAs, TraceFormat};
use crate::read::guess;
use crate::read::guess::extended::{ExtendedTable, range_of};
use crate::read::readings::{self, Reading};

/// A format, the column of its offsets (the sizes are in the next column), and its other columns.
const TABLES: [(TraceFormat, usize, &str); 3] = [
    (TraceFormat::Msr, 5, "time=1:100ns,op=4,volume=3"),
    (TraceFormat::Alibaba, 3, "time=5:us,op=2,volume=1"),
    (TraceFormat::Systor17, 5, "time=1:s,op=3,volume=4"),
];

impl File<'_> {
    /// Returns a refusal for such a table, with the command that extends requests to whole sectors and its readings in
    /// sectors.
    pub(super) fn unaligned(&self) -> Option<Refusal> {
        let (head, action) = (self.head, self.workload.action as u8);
        let is_named = !guess::of_names(head, action).is_empty();
        let tables = TABLES.iter().filter(|(format, ..)| {
            !is_named || guess::is_own_line(*format, &ReadAs::default(), head)
        });
        tables.into_iter().find_map(|&(format, offset, remaining)| {
            let size = offset + 1;
            let has_names = range_of(&cells_of(head.lines.first()?), offset, size).is_none();
            let table =
                awk::Table { separator: b',', lines: head.lines, names: usize::from(has_names) };
            let extended = ExtendedTable::of(&table, offset, size)?;
            let lines: Vec<&[u8]> = extended.lines.iter().map(Vec::as_slice).collect();
            let aligned = Head { lines: &lines, ..*head };
            let read = Reading::of(String::new(), format, &ReadAs::default(), &aligned)?;
            if !read.counts.is_possible() {
                return None;
            }
            let in_sectors = ["B", "512B"].into_iter().filter_map(|unit| {
                let columns = format!("{remaining},offset={offset}:512B,size={size}:{unit}");
                guess::reading(&columns, head, action)
            });
            let in_sectors: Vec<Reading> =
                in_sectors.filter(|reading| reading.counts.is_sound()).collect();
            let title = formats::info(format).map_or("", |info| info.title);
            let message = format!(
                "its columns are those of {title}, which counts bytes, but in {} the offset or the size is not a \
                 multiple of 512",
                extended.share(),
            );
            let remedy = self.remedy(extended.filter.as_deref(), "");
            let extend = format!("{message}; extend these requests to whole sectors{remedy}");
            if in_sectors.is_empty() {
                return Some(Refusal::Filtered(extend));
            }
            let Some(filter) = extended.filter.as_deref() else {
                let message = format!("{extend}; its numbers may also be sectors");
                return Some(self.doubt(message, in_sectors));
            };
            let place = if self.is_whole { "" } else { ", in its first lines" };
            let summary = read.counts.summary();
            let gives = format!("in bytes, extended to whole sectors: {summary}{place}");
            let mut choices = vec![(self.through_filter(filter, ""), gives)];
            choices.extend(
                readings::choices(in_sectors, self.is_whole)
                    .into_iter()
                    .map(|(options, gives)| (self.as_it_is(&options), format!("in sectors: {gives}"))),
            );
            // Bytes are mostly whole sectors.
            if extended.are_all() {
                choices.rotate_left(1);
            }
            let choices = list(&choices, str::to_owned);
            Some(Refusal::Filtered(format!("{message}; its numbers are bytes, or sectors; {choices}")))
        })
    }
}
