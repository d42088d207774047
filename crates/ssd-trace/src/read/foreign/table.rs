//! A table as text, and how awk rewrites it.

use super::{Rewriting, awk, filled_lines};
use crate::read::formats::mapping::{separated, separated_by};

/// A table as text: lines of cells with the same separators.
pub(super) struct Table<'a> {
    pub(super) separator: u8,
    pub(super) lines: Vec<&'a [u8]>,
    /// Cells without surrounding blanks and quotes.
    pub(super) rows: Vec<Vec<String>>,
    /// Whether the first row has the column names.
    pub(super) has_names: bool,
}

impl<'a> Table<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Option<Table<'a>> {
        let mut lines: Vec<&[u8]> = filled_lines(bytes).collect();
        let (separator, first) = separated(lines.first()?)?;
        let mut rows: Vec<Vec<String>> =
            lines.iter().map(|line| separated_by(line, separator)).collect();
        // The last line may be incomplete.
        if rows.last()?.len() != first.len() {
            lines.pop();
            rows.pop();
        }
        if rows.iter().any(|row| row.len() != first.len()) {
            return None;
        }
        let is_name = |cell: &String| !cell.starts_with(|first: char| first.is_ascii_digit());
        let has_names = rows.first()?.iter().all(is_name);
        Some(Table { separator, lines, rows, has_names })
    }

    /// Returns the table after awk has rewritten it: `title` changes the names and `statement` the rows below. `change`
    /// does the same to the cells of a row, given its number. awk prints calculated numbers with this many `decimals`.
    pub(super) fn rewritten(
        self,
        message: &str,
        [title, statement]: [&str; 2],
        decimals: Option<usize>,
        change: impl Fn(usize, &mut [String]),
    ) -> Option<Rewriting> {
        let Table { separator, lines, mut rows, has_names } = self;
        let table = awk::Table { separator, lines: &lines, names: usize::from(has_names) };
        let filter = table.filter(title, statement, decimals)?;
        let mut bytes = String::new();
        for (at, row) in rows.iter_mut().enumerate() {
            change(at, row);
            bytes += &(row.join(&char::from(separator).to_string()) + "\n");
        }
        Some(Rewriting::of(message.to_owned(), filter, bytes.into_bytes()))
    }

    /// Returns the rows below the names.
    pub(super) fn body(&self) -> &[Vec<String>] {
        &self.rows[usize::from(self.has_names)..]
    }
}
