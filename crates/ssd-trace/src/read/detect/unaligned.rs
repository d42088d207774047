//! Tables of formats in bytes with requests that are not whole sectors.

use super::File;
use super::refusal::Refusal;
use crate::read::foreign::awk;
use crate::read::formats::mapping::cells_of;
use crate::read::formats::{self, Head, ReadAs, TraceFormat};
use crate::read::guess;
use crate::read::readings::Reading;
use ssd_core::metrics::numbers::count;
use ssd_core::units::SECTOR_BYTES;

/// A format, the column of its offsets (that of its sizes is the next), and its other columns.
const TABLES: [(TraceFormat, usize, &str); 3] = [
    (TraceFormat::Msr, 5, "time=1:100ns,op=4,volume=3"),
    (TraceFormat::Alibaba, 3, "time=5:us,op=2,volume=1"),
    (TraceFormat::Systor17, 5, "time=1:s,op=3,volume=4"),
];

impl File<'_> {
    /// The refusal of such a table: the command that extends its requests to whole sectors, and its readings in
    /// sectors.
    pub(super) fn unaligned(&self) -> Option<Refusal> {
        let (head, action) = (self.head, self.workload.action as u8);
        let is_named = !guess::of_names(head, action).is_empty();
        let tables = TABLES.iter().filter(|(format, ..)| {
            !is_named || guess::is_own_line(*format, &ReadAs::default(), head)
        });
        tables.into_iter().find_map(|&(format, at, others)| {
            let extended: Vec<Option<Vec<u8>>> =
                head.lines.iter().map(|line| extended(line, at)).collect();
            let unaligned = extended.iter().flatten().count();
            let lines = head.lines.iter().zip(&extended);
            let lines: Vec<&[u8]> =
                lines.map(|(line, extended)| extended.as_deref().unwrap_or(line)).collect();
            let aligned = Head { lines: &lines, ..*head };
            let read = Reading::of(String::new(), format, &ReadAs::default(), &aligned)?;
            if unaligned == 0 || !read.counts.is_possible() {
                return None;
            }
            let size = at + 1;
            let in_sectors = ["B", "512B"].into_iter().filter_map(|unit| {
                let columns = format!("{others},offset={at}:512B,size={size}:{unit}");
                guess::reading(&columns, head, action)
            });
            let in_sectors: Vec<Reading> =
                in_sectors.filter(|reading| reading.counts.is_sound()).collect();
            let names = usize::from(range_of(&cells_of(head.lines[0]), at).is_none());
            let table = awk::Table { separator: b',', lines: head.lines, names };
            let statement = format!(
                "e = ${at} + ${size}; ${at} -= ${at} % 512; ${size} = int((e - ${at} + 511) / 512) * 512"
            );
            let what = format!(
                "its columns are those of {}, which counts bytes, but in {} of {} lines the offset or the size is \
                 not a multiple of 512; to extend these requests to whole sectors: {}",
                formats::info(format).map_or("", |info| info.title),
                count(unaligned as u64),
                count(head.lines.len() as u64),
                self.behind(&table.filter("", &statement, Some(0))?, ""),
            );
            Some(if in_sectors.is_empty() {
                self.refused(&what)
            } else {
                self.doubt(format!("{what}; its numbers may also be sectors"), in_sectors)
            })
        })
    }
}

/// Offset and size of a line, if it has them.
fn range_of(cells: &[String], at: usize) -> Option<(u64, u64)> {
    Some((cells.get(at - 1)?.parse().ok()?, cells.get(at)?.parse().ok()?))
}

/// The line with its request extended to whole sectors; `None` if it has no request, or one of whole sectors.
fn extended(line: &[u8], at: usize) -> Option<Vec<u8>> {
    let mut cells = cells_of(line);
    let (start, size) = range_of(&cells, at)?;
    let from = start - start % SECTOR_BYTES;
    let end = start.checked_add(size)?.checked_next_multiple_of(SECTOR_BYTES)?;
    if (from, end) == (start, start + size) {
        return None;
    }
    (cells[at - 1], cells[at]) = (from.to_string(), (end - from).to_string());
    Some(cells.join(",").into_bytes())
}
