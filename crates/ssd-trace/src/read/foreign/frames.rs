//! Data frames in JSON, as `to_json` of pandas writes them. The first bytes of a file seldom contain whole rows, so
//! what the filters make of them is not calculated.

use super::Filter;
use super::pattern::{characters, pattern};
use crate::read::guess::names::is_needed_field;

/// Bytes in which the form of a frame shows.
const START: usize = 4096;
/// Digits of numbers that are exact in floating point.
const EXACT: &str = r"[0-9]{16}";

/// How a frame starts: by columns or by rows, between which its names decide, and in parts (`split` and `table`).
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

/// The filter that makes a table of a data frame; `None` if `bytes` do not begin one.
pub(crate) fn of(bytes: &[u8]) -> Option<Filter> {
    let text = characters(&bytes[..bytes.len().min(START)]);
    let is = |start: &str| pattern(start).is_match(&text);
    let nested = || {
        let names = pattern(NESTED);
        let names = names.captures(&text)?;
        // If each line has an object within another, a line is a request.
        let is_line = text.find('\n').is_some_and(|end| text[end..].trim_start().starts_with('{'));
        let [outer, inner] = [1, 2].map(|at| is_needed_field(&names[at]));
        // Rows of a frame are named by their numbers. Other objects within objects are not rows.
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
        what: format!("the file is a data frame in JSON (pandas){long}; convert it to a table"),
        filter: format!("jq -r '{program}' FILE"),
        options: "",
    })
}
