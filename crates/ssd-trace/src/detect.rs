//! Which format a trace has, by its first lines.

use crate::formats;
use crate::scan::{shown, unreadable};
use ssd_core::config::{TraceFormat, Word};
use ssd_core::host::request::SourceError;
use std::io::{Cursor, Read};

/// Bytes of the head that is looked at.
const HEAD: u64 = 64 << 10;
/// Lines of it.
const LINES: usize = 64;
/// Share of them that must be records of the format, per cent.
const MOST: u32 = 50;

/// The format of `reader`, and the same bytes once more. A file without any lines is taken for
/// block-event text, whose messages say what is wrong.
///
/// # Errors
/// No format or several fit; the message names them and the key that decides.
pub(crate) fn format_of<'a>(
    file: &str,
    mut reader: Box<dyn Read + 'a>,
) -> Result<(TraceFormat, Box<dyn Read + 'a>), SourceError> {
    let mut head = Vec::new();
    let count = reader.by_ref().take(HEAD).read_to_end(&mut head);
    let count = count.map_err(|error| unreadable(file, 1, &error))?;
    let mut lines: Vec<&[u8]> = head.split(|&byte| byte == b'\n').collect();
    if count as u64 == HEAD && lines.len() > 1 {
        lines.pop(); // cut by the end of the head
    }
    lines.retain(|line| !line.trim_ascii().is_empty());
    lines.truncate(LINES);
    let format = if let Some(&first) = lines.first() {
        let fits = best(&formats::detect(&lines));
        match (fits, nearest(first)) {
            (Ok(format), _) => format,
            // Its own message says what is wrong with the line.
            (Err(alike), Some(format)) if alike.is_empty() => format,
            (Err(alike), _) => return Err(message(file, first, &alike)),
        }
    } else {
        TraceFormat::BlockEvent
    };
    Ok((format, Box::new(Cursor::new(head).chain(reader))))
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

/// The one format that understands more than a third of a bad line, and more of it than any other.
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
             see what one of them expects: {}; give a text trace, plain or as .zst or .gz",
            shown(first),
            all.join(", ")
        ));
    }
    let names: Vec<String> = alike.iter().map(quoted).collect();
    SourceError(format!(
        "{file}: its first lines may be {} (it begins {}); say which in workload.format",
        names.join(" or "),
        shown(first)
    ))
}
