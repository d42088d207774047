//! Detects the format of a trace by its first lines.

use crate::read::columnar::MAGIC;
use crate::read::formats::TraceFormat;
use crate::read::formats::{self, Head};
use crate::read::input::Whole;
use crate::read::lines::shown;
use crate::read::scan::unreadable;
use ssd_core::config::Word;
use ssd_core::host::source::SourceError;
use std::io::{Cursor, Read};

/// Bytes of the head that are examined.
const HEAD: u64 = 64 << 10;
/// Lines of it.
const LINES: usize = 64;
/// Share of them that must be records of the format, per cent.
const MOST: u32 = 50;

/// The format of `reader`, detected unless it was set, and the same bytes again. A file without any lines is
/// treated as block-event text, whose messages describe the problem.
///
/// # Errors
/// No format or several fit; the message names them and the key that decides.
pub(crate) fn format_of<R: Read>(
    file: &str,
    said: TraceFormat,
    mut reader: R,
) -> Result<(TraceFormat, Whole<R>), SourceError> {
    let mut head = Vec::new();
    if said != TraceFormat::Auto {
        return Ok((said, Cursor::new(head).chain(reader)));
    }
    let count = reader.by_ref().take(HEAD).read_to_end(&mut head);
    let count = count.map_err(|error| unreadable(file, "line 1", &error))?;
    let format = if head.starts_with(&MAGIC) {
        TraceFormat::Ssdtrace
    } else {
        format_of_plug(file, &head, count as u64 == HEAD)?
    };
    Ok((format, Cursor::new(head).chain(reader)))
}

/// The format of the trace that begins with `head`, the last line of which may be `cut`.
fn format_of_plug(file: &str, head: &[u8], cut: bool) -> Result<TraceFormat, SourceError> {
    let mut lines: Vec<&[u8]> = head.split(|&byte| byte == b'\n').collect();
    if cut && lines.len() > 1 {
        lines.pop();
    }
    lines.retain(|line| !line.trim_ascii().is_empty());
    lines.truncate(LINES);
    let Some(&first) = lines.first() else { return Ok(TraceFormat::BlockEvent) };
    best(&formats::detect(&Head { bytes: head, lines: &lines })).or_else(|alike| {
        // The message of that format says what is wrong with the line.
        let near = if alike.is_empty() { nearest(first) } else { None };
        near.ok_or_else(|| message(file, first, &alike))
    })
}

/// The one format that fits best, or all that do.
fn best(found: &[(TraceFormat, u32)]) -> Result<TraceFormat, Vec<TraceFormat>> {
    let most = found.iter().map(|&(_, share)| share).max().unwrap_or(0).max(MOST);
    let alike: Vec<TraceFormat> =
        found.iter().filter(|&&(_, share)| share == most).map(|&(format, _)| format).collect();
    match alike[..] {
        [format] => Ok(format),
        _ => Err(alike),
    }
}

/// The one format that parses more than a third of a bad line, and more of it than any other.
fn nearest(line: &[u8]) -> Option<TraceFormat> {
    let all = formats::understood(line);
    let most = all.iter().map(|&(_, bytes)| bytes).max()?;
    let mut alike = all.iter().filter(|&&(_, bytes)| bytes == most);
    let &(format, _) = alike.next()?;
    (3 * most > line.len() && alike.next().is_none()).then_some(format)
}

/// The message when no format fits, or several do.
#[cold]
fn message(file: &str, first: &[u8], alike: &[TraceFormat]) -> SourceError {
    let quoted = |format: &TraceFormat| format!("\"{}\"", format.word());
    if alike.is_empty() {
        let all: Vec<&str> = formats::ALL.iter().map(|info| info.format.word()).collect();
        return SourceError(format!(
            "{file}: its first lines are of no known format (it begins {}); set workload.format to \
             see what one of them expects: {}; give a trace, plain or as .zst or .gz",
            shown(first),
            all.join(", ")
        ));
    }
    let names: Vec<String> = alike.iter().map(quoted).collect();
    SourceError(format!(
        "{file}: its first lines may be {} (it begins {}); set workload.format to one of them",
        names.join(" or "),
        shown(first)
    ))
}
