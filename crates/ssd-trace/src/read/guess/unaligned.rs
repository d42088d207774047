//! Tables of formats in bytes with requests that are no whole sectors.

use super::reading;
use crate::read::commands::with_name;
use crate::read::formats::{self, Head, ReadAs, TraceFormat};
use crate::read::readings::{Reading, choices};
use ssd_core::metrics::numbers::count;
use ssd_core::units::SECTOR_BYTES;

/// A format, the column of its offsets (that of its sizes is the next), and its other columns.
const TABLES: [(TraceFormat, usize, &str); 3] = [
    (TraceFormat::Msr, 5, "time=1:100ns,op=4,volume=3"),
    (TraceFormat::Alibaba, 3, "time=5:us,op=2,volume=1"),
    (TraceFormat::Systor17, 5, "time=1:s,op=3,volume=4"),
];

/// The message about such a table: the command that extends its requests to whole sectors, and its readings in
/// sectors.
pub(crate) fn of(file: &str, head: &Head<'_>, whole: bool, action: u8) -> Option<String> {
    let is_named = !super::of_names(head, action).is_empty();
    let tables = TABLES
        .iter()
        .filter(|(format, ..)| !is_named || super::is_own_line(*format, &ReadAs::default(), head));
    tables.into_iter().find_map(|&(format, at, others)| {
        let extended: Vec<Option<Vec<u8>>> =
            head.lines.iter().map(|line| extended(line, at)).collect();
        let unaligned = extended.iter().flatten().count();
        let lines: Vec<&[u8]> = head
            .lines
            .iter()
            .zip(&extended)
            .map(|(line, extended)| extended.as_deref().unwrap_or(line))
            .collect();
        let aligned = Head { lines: &lines, ..*head };
        let read = Reading::of(String::new(), format, &ReadAs::default(), &aligned)?;
        if unaligned == 0 || !read.counts.is_possible() {
            return None;
        }
        let size = at + 1;
        let in_sectors = ["B", "512B"].into_iter().filter_map(|unit| {
            let columns = format!("{others},offset={at}:512B,size={size}:{unit}");
            reading(&columns, head, action)
        });
        let fits = |reading: &Reading| reading.counts.bad == 0 && reading.counts.is_possible();
        let readings: Vec<Reading> = in_sectors.filter(fits).collect();
        let command = with_name(
            file,
            &format!(
                "awk -F, -v OFS=, -v CONVFMT=%.0f '${at} ~ /^[0-9]/ {{ e = ${at} + ${size}; ${at} -= ${at} % 512; \
                 ${size} = int((e - ${at} + 511) / 512) * 512 }} 1' FILE | ssdlab trace info -"
            ),
        );
        let or = if readings.is_empty() {
            String::new()
        } else {
            format!("; if they count sectors, {}", choices(file, readings, whole))
        };
        Some(format!(
            "{file}: its columns are those of {}, which counts bytes, but in {} of {} lines offset and size are \
             not both whole sectors of 512 B; to extend these requests to whole sectors: {command}{or}",
            formats::info(format).map_or("", |info| info.title),
            count(unaligned as u64),
            count(head.lines.len() as u64),
        ))
    })
}

/// The line with its request extended to whole sectors; `None` if it has no request, or one of whole sectors.
fn extended(line: &[u8], at: usize) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let mut cells: Vec<String> = text.split(',').map(str::to_owned).collect();
    let start: u64 = cells.get(at - 1)?.parse().ok()?;
    let size: u64 = cells.get(at)?.parse().ok()?;
    let from = start - start % SECTOR_BYTES;
    let end = start.checked_add(size)?.checked_next_multiple_of(SECTOR_BYTES)?;
    if (from, end) == (start, start + size) {
        return None;
    }
    (cells[at - 1], cells[at]) = (from.to_string(), (end - from).to_string());
    Some(cells.join(",").into_bytes())
}
