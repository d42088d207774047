//! Reports that blkparse and blktrace print after the events of a trace.

use crate::read::formats::{Format, TraceFormat};
use crate::read::lines::Text;

/// Returns whether the file may contain blkparse's report.
pub(super) fn has_report<P: Format>() -> bool {
    P::INFO.format == TraceFormat::BlockEvent
}

/// Returns whether a line starts a section of the report: `CPU0 (8,0):`, `Total (8,0):`, `Throughput (R/W): ...`,
/// `Input file ...`, `=== sda ===`.
#[cold]
pub(super) fn starts_report(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    if let Some(rest) = line.strip_prefix(b"CPU") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        return digits > 0 && rest[digits..].starts_with(b" (");
    }
    let starts: [&[u8]; 4] = [b"Total (", b"Throughput (R/W):", b"Input file ", b"=== "];
    starts.iter().any(|start| line.starts_with(start))
}

/// Returns what blkparse reports about skipped events, if any: `3 forward (12,345 -  99.5%)`.
#[cold]
pub(super) fn skips(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?.trim().strip_prefix("Skips: ")?;
    let is_plain =
        text.len() < 80 && text.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ');
    (is_plain && !text.starts_with("0 ")).then(|| text.to_owned())
}

/// Returns whether a line within such a section belongs to it; an event, even a bad one, starts with a digit.
#[cold]
pub(super) fn is_report(text: &Text<'_>) -> bool {
    let first = text.bytes.trim_ascii_start().first();
    text.is_whole && first.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'=')
}
