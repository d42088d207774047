//! Data frames in JSON, as written by `to_json` of pandas. The head of a file rarely contains complete rows, so the
//! output of the filters is not calculated.

use super::Filter;
use super::pattern::{characters, pattern};
use crate::read::guess::names::is_needed_field;

/// Bytes that are enough to recognise the form of a frame.
const START: usize = 4096;
/// Digits of a number that may be inexact in floating point.
const EXACT: &str = r"[0-9]{16}";

/// Start of a frame: by columns or by rows, which its names distinguish, or in parts (`split` and `table`).
const NESTED: &str = r#"^\s*\{\s*"([^"]+)"\s*:\s*\{\s*"([^"]+)"\s*:\s*[^{\[\s]"#;
const SPLIT: &str = r#"^\s*\{\s*"columns"\s*:\s*\[\s*""#;
const TABLE: &str = r#"^\s*\{\s*"schema"\s*:\s*\{\s*"fields"\s*:\s*\["#;

const OF_COLUMNS: &str = concat!(
    "to_entries as $c | [$c[].key], ($c[0].value | keys_unsorted[] as $i | [$c[].value[$i]]) ",
    "| @csv"
);
const OF_ROWS: &str = "[.[]] | (.[0] | keys_unsorted) as $k | $k, (.[] | [.[$k[]]]) | @csv";
const OF_SPLIT: &str = ".columns, .data[] | @csv";
const OF_TABLE: &str = ".data | (.[0] | keys_unsorted) as $k | $k, (.[] | [.[$k[]]]) | @csv";

/// Returns the filter that converts a data frame to a table; `None` if `bytes` do not begin one.
pub(crate) fn of(bytes: &[u8]) -> Option<Filter> {
    let text = characters(&bytes[..bytes.len().min(START)]);
    let is = |start: &str| pattern(start).is_match(&text);
    let nested = || {
        let names = pattern(NESTED);
        let names = names.captures(&text)?;
        // If each line has an object within another, a line is a request.
        let is_line = text.find('\n').is_some_and(|end| text[end..].trim_start().starts_with('{'));
        let [outer, inner] = [1, 2].map(|at| is_needed_field(&names[at]));
        // Numbers name the rows of a frame. Other nested objects are not rows.
        let is_number = names[1].starts_with(|first: char| first.is_ascii_digit());
        match (outer, inner) {
            (true, false) if !is_line => Some(OF_COLUMNS),
            (false, true) if !is_line && is_number => Some(OF_ROWS),
            _ => None,
        }
    };
    let program = match (is(SPLIT), is(TABLE)) {
        (true, _) => OF_SPLIT,
        (_, true) => OF_TABLE,
        _ => nested()?,
    };
    let long = if pattern(EXACT).is_match(&text) {
        " with long numbers, which jq rounds before version 1.7"
    } else {
        ""
    };
    Some(Filter {
        message: format!("the file is a data frame in JSON (pandas){long}; convert it to a table"),
        filter: format!("jq -r '{program}' FILE"),
        options: "",
    })
}
