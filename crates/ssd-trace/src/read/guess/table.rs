//! A table whose columns have known names, and how a filter changes it.

use super::HEADER;
use super::columns::Columns;
use super::names::letters_of;
use super::rows::Rows;
use crate::read::foreign::awk;
use crate::read::formats::Head;
use crate::read::formats::mapping::separated;
use crate::read::lines::shown;

/// A table with the names of its columns above its rows.
pub(super) struct Table {
    pub(super) names: Vec<String>,
    pub(super) columns: Columns,
    pub(super) rows: Rows,
    pub(super) separator: u8,
    /// The line with its names, counted from 1.
    pub(super) line: usize,
}

/// How a filter derives a field.
pub(super) struct Change {
    /// Why, and what it does.
    pub(super) what: String,
    /// The names that it changes, in awk.
    pub(super) title: String,
    /// What it does to a row, in awk.
    pub(super) statement: String,
    /// Decimals of the numbers that it calculates, if any.
    pub(super) decimals: Option<usize>,
}

impl Table {
    /// The table in `head`, if one of its first lines has the names of the columns of requests.
    pub(super) fn of(head: &Head<'_>) -> Option<Table> {
        let mut lines = (1..).zip(head.lines.iter().take(HEADER));
        lines.find_map(|(line, text)| {
            let (separator, names) = separated(text)?;
            let columns = Columns::of(&names).or_else(|| Columns::with_ends(&names))?;
            let rows = Rows::below(&names, &head.lines[line..]);
            Some(Table { names, columns, rows, separator, line })
        })
    }

    /// The filter that makes a change to the table in `head`; `None` if awk cannot.
    pub(super) fn filter(&self, head: &Head<'_>, change: &Change) -> Option<String> {
        let Table { separator, line, .. } = *self;
        let table = awk::Table { separator, lines: head.lines, names: line };
        table.filter(&change.title, &change.statement, change.decimals)
    }

    pub(super) fn named(&self, column: usize) -> String {
        shown(self.names[column - 1].as_bytes())
    }

    /// The first column with one of the `known` names, counted from 1.
    pub(super) fn column_named(&self, known: &[&str]) -> Option<usize> {
        self.names
            .iter()
            .position(|name| known.contains(&letters_of(name).as_str()))
            .map(|at| at + 1)
    }

    /// Whether all cells of a column are digits, which awk calculates with.
    pub(super) fn is_plain(&self, at: usize) -> bool {
        self.rows.column(at).all(|cell| cell.bytes().all(|byte| byte.is_ascii_digit()))
    }
}
