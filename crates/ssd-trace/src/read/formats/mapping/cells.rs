//! Separators, and the cells between them.

use std::ops::Range as Span;

/// The order in which separators are tried: a comma may belong to a number, and a colon to a time.
pub(crate) const TRIED: [u8; 5] = [b'\t', b';', b'|', b',', b' '];

/// Words for separators, and their bytes; `blanks` are any number of blanks and tabs.
const SEPARATORS: [(&str, u8); 6] = [
    ("comma", b','),
    ("semicolon", b';'),
    ("tab", b'\t'),
    ("bar", b'|'),
    ("colon", b':'),
    ("blanks", b' '),
];

/// Returns the byte of a separator in the notation of `separator=`.
pub(super) fn separator(word: &str) -> Result<u8, String> {
    let mark_of_name = SEPARATORS.iter().find(|&&(name, _)| name == word).map(|&(_, byte)| byte);
    let mark = match word.as_bytes() {
        [byte] => Some(*byte),
        // A control character, such as \x01.
        [b'\\', b'x', ..] => u8::from_str_radix(&word[2..], 16).ok(),
        _ => None,
    };
    let is_mark = |byte: &u8| byte.is_ascii_punctuation() || byte.is_ascii_control();
    let mark = mark.filter(|byte| is_mark(byte) && !b"\n\r\"".contains(byte));
    mark_of_name.or(mark).ok_or_else(|| {
        let names: Vec<&str> = SEPARATORS.iter().map(|&(name, _)| name).collect();
        format!(
            "separator={word}: expected {}, or a character such as ~ or \\x01",
            names.join(", ")
        )
    })
}

/// Returns the name of a separator in messages.
pub(super) fn name_of(separator: u8) -> String {
    let entry = SEPARATORS.iter().find(|&&(_, byte)| byte == separator);
    let mark = || char::from(separator).escape_default().to_string();
    entry.map_or_else(mark, |(name, _)| (*name).to_owned())
}

/// Returns the bytes of a cell without surrounding blanks and quotes.
pub(super) fn cell<'l>(line: &'l [u8], span: &Span<usize>) -> &'l [u8] {
    let text = line[span.clone()].trim_ascii();
    match text {
        [b'"', inner @ .., b'"'] => inner.trim_ascii(),
        _ => text,
    }
}

/// Returns the end of the cell that begins at `at`: a separator outside of quotes, or the end of the line.
pub(super) fn end_of_cell(line: &[u8], at: usize, separator: u8) -> usize {
    let rest = &line[at..];
    let blank = |byte: u8| byte == separator || (separator == b' ' && byte == b'\t');
    let mut from = 0;
    let lead = rest.iter().take_while(|byte| **byte == b' ' && separator != b' ').count();
    if rest.get(lead) == Some(&b'"') {
        // A doubled quote needs no special case: the first one closes the text, and the second one opens it again.
        let closing = rest[lead + 1..].iter().position(|byte| *byte == b'"');
        from = closing.map_or(0, |length| lead + length + 2);
        while from > 0 && rest.get(from) == Some(&b'"') {
            let next = rest[from + 1..].iter().position(|byte| *byte == b'"');
            from = next.map_or(rest.len(), |length| from + length + 2);
        }
    }
    let from = from.min(rest.len());
    rest[from..]
        .iter()
        .position(|&byte| blank(byte))
        .map_or(line.len(), |length| at + from + length)
}

/// Returns the cells of a line of names, split by the first separator that gives several cells.
pub(crate) fn cells_of(line: &[u8]) -> Vec<String> {
    separated(line).map_or(Vec::new(), |(_, cells)| cells)
}

/// Returns the first separator that splits a line into several cells, and the cells.
pub(crate) fn separated(line: &[u8]) -> Option<(u8, Vec<String>)> {
    let cut = |separator: u8| (separator, separated_by(line, separator));
    TRIED.into_iter().map(cut).find(|(_, cells)| cells.len() > 2)
}

/// Returns the cells of a line.
pub(crate) fn separated_by(line: &[u8], separator: u8) -> Vec<String> {
    let start = line.iter().position(|byte| !matches!(byte, b'#' | b' ' | b'\t')).unwrap_or(0);
    let line = line[start..].trim_ascii_end();
    let (mut at, mut cells) = (0, Vec::new());
    while at <= line.len() {
        while separator == b' ' && line.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            at += 1;
        }
        let end = end_of_cell(line, at, separator);
        cells.push(String::from_utf8_lossy(cell(line, &(at..end))).into_owned());
        at = end + 1;
    }
    cells
}
