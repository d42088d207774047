//! A table with known column names, and the change that a filter makes.

use super::HEADER;
use super::columns::Columns;
use super::names::letters_of;
use super::rows::Rows;
use crate::read::foreign::awk;
use crate::read::formats::Head;
use crate::read::formats::mapping::separated;
use crate::read::lines::shown;

/// A table with its column names above its rows.
pub(super) struct Table {
    pub(super) names: Vec<String>,
    pub(super) columns: Columns,
    pub(super) rows: Rows,
    pub(super) separator: u8,
    /// The line of the column names, counted from 1.
    pub(super) line: usize,
}

/// How a filter derives a field.
pub(super) struct Change {
    /// The reason, and what the filter does.
    pub(super) message: String,
    /// The changed names, in awk.
    pub(super) title: String,
    /// The change of a row, in awk.
    pub(super) statement: String,
    /// Decimals of the calculated numbers, if any.
    pub(super) decimals: Option<usize>,
}

impl Table {
    /// Returns the table in `head` if one of its first lines has the column names of requests.
    pub(super) fn of(head: &Head<'_>) -> Option<Table> {
        let mut lines = (1..).zip(head.lines.iter().take(HEADER));
        lines.find_map(|(line, text)| {
            let (separator, names) = separated(text)?;
            let columns = Columns::of(&names).or_else(|| Columns::with_ends(&names))?;
            let rows = Rows::below(&names, &head.lines[line..]);
            Some(Table { names, columns, rows, separator, line })
        })
    }

    /// Returns the filter that makes a change to the table in `head`; `None` if awk cannot make it.
    pub(super) fn filter(&self, head: &Head<'_>, change: &Change) -> Option<String> {
        let Table { separator, line, .. } = *self;
        let table = awk::Table { separator, lines: head.lines, names: line };
        table.filter(&change.title, &change.statement, change.decimals)
    }

    pub(super) fn shown_name(&self, column: usize) -> String {
        shown(self.names[column - 1].as_bytes())
    }

    /// Returns the first column with one of the names `field_names`, counted from 1.
    pub(super) fn column_named(&self, field_names: &[&str]) -> Option<usize> {
        self.names
            .iter()
            .position(|name| field_names.contains(&letters_of(name).as_str()))
            .map(|at| at + 1)
    }

    /// Returns whether all cells of a column are digits, with which awk calculates.
    pub(super) fn is_plain(&self, at: usize) -> bool {
        self.rows.column(at).all(|cell| cell.bytes().all(|byte| byte.is_ascii_digit()))
    }
}
