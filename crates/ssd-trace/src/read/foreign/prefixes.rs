//! Additions of other programs to the lines of a trace: line numbers, fields of a log, colours.

use super::pattern::{pattern, replaced};
use super::{Rewriting, filled_lines, notation};

/// Codes that colour text in a terminal.
const COLOURS: &str = r"\x1b\[[0-9;]*[mK]";
/// A number in the notation of `cat -n` and `nl`, in six columns, or of `grep -n`.
const NUMBER: &str = r"^(?: {5}\d| {4}\d\d| {3}\d{3}| {2}\d{4}| \d{5}|\d{6})\t|^\d+:";
/// Time, host and program of a line in the system's log.
const LOG: &str = concat!(
    r"^(?:[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)?) ",
    r"\S+ [^\s:\[]+(?:\[\d+\])?: "
);

/// Removes colours from text.
pub(super) fn without_colours(bytes: &[u8]) -> Option<Rewriting> {
    let message = "its text has the codes of colours (grep --color=always); remove them";
    let filter = format!("perl -pe 's/{COLOURS}//g' < FILE");
    let has = bytes.contains(&0x1b);
    has.then(|| notation(message, &filter, bytes, replaced(bytes, COLOURS, |_| String::new())))?
}

/// Removes line numbers, if all lines have one and the numbers rise.
pub(super) fn without_line_numbers(bytes: &[u8]) -> Option<Rewriting> {
    let number = pattern(NUMBER);
    let (mut before, mut count) = (0, 0);
    for line in filled_lines(bytes) {
        let start = String::from_utf8_lossy(&line[..line.len().min(24)]);
        let prefix = number.find(&start)?;
        let digits = prefix.as_str().trim().trim_end_matches(':');
        let next = digits.parse::<u64>().ok()?;
        let rest = &line[prefix.end()..];
        // Numbers that rise by more than 1 may be times, unless other numbers follow them.
        let follows =
            next == before + 1 || (next > before && rest.first().is_some_and(u8::is_ascii_digit));
        // Colons may separate the cells.
        if !follows || !rest.iter().any(|byte| b" \t,;|".contains(byte)) {
            return None;
        }
        (before, count) = (next, count + 1);
    }
    let message = "its lines are numbered (cat -n, grep -n); remove the numbers";
    let filter = format!("perl -pe 's/{NUMBER}//' < FILE");
    let per_line = format!("(?m){NUMBER}");
    (count > 2)
        .then(|| notation(message, &filter, bytes, replaced(bytes, &per_line, |_| String::new())))?
}

/// Extracts the rows that a program has written to the system's log.
pub(super) fn without_log_prefix(bytes: &[u8]) -> Option<Rewriting> {
    let log = pattern(LOG);
    let (mut rows, mut count) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let Ok(text) = std::str::from_utf8(line) else { return None };
        count += usize::from(!text.trim().is_empty());
        // Text that does not begin with a number, a time in brackets or an object is not a row of a table.
        if let Some(prefix) = log.find(text)
            && text[prefix.end()..]
                .starts_with(|first: char| first.is_ascii_digit() || "{[".contains(first))
        {
            rows.push(&line[prefix.end()..]);
        }
    }
    let message = "its rows have the prefix of the system's log (journald, syslog); remove it";
    let filter = format!(r"perl -ne 's/{LOG}(?=[\d{{\[])// and print' < FILE");
    (rows.len() > 2 && 2 * rows.len() > count)
        .then(|| notation(message, &filter, bytes, rows.concat()))?
}

/// Extracts the rows of the kernel's log, with the time at the start without its brackets.
pub(super) fn with_kernel_times(bytes: &[u8]) -> Option<Rewriting> {
    const TIME: &str = r"^(?:<\d+>)?\[ *(\d+[.]\d+)\] *";
    let time = pattern(TIME);
    let is_row = |line: &[u8]| time.is_match(&String::from_utf8_lossy(line));
    let first = filled_lines(bytes).next()?;
    // The time becomes a cell of the rows.
    let has = |mark: &u8| first.contains(mark);
    let mark = char::from(*b",;|\t".iter().find(|mark| has(mark)).unwrap_or(&b' '));
    let message =
        "its lines begin with the time of the kernel's log; write it as a cell, in seconds";
    let filter = format!("perl -pe 's/{TIME}/$1s{}/' < FILE", mark.escape_default());
    let per_line = format!("(?m){TIME}");
    let with_cells = || replaced(bytes, &per_line, |part| format!("{}s{mark}", &part[1]));
    filled_lines(bytes).all(is_row).then(|| notation(message, &filter, bytes, with_cells()))?
}
