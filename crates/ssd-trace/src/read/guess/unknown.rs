//! Tables with unknown words for operations.

use super::table::Table;
use super::words::{KEYS, unknown_words};
use crate::read::formats::{Head, Mapping};

/// Returns the columns of the table in `head` by their names, and the unknown words of its operations, if there are
/// any.
pub(crate) fn columns_and_words(head: &Head<'_>) -> Option<(String, Vec<String>)> {
    let table = Table::of(head).filter(|table| !table.columns.is_end)?;
    let columns = table.columns.with_known_words(&table.names, &table.rows);
    let words: Vec<String> =
        unknown_words(&table.rows, columns.op.at).into_iter().map(str::to_owned).collect();
    let text = columns.mappings(&table.rows).into_iter().next()?;
    // The user must state the meanings of the words.
    let text = Mapping::parse(&text).ok()?.text_without(&KEYS);
    (!words.is_empty()).then_some((text, words))
}
