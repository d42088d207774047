//! Files of a known format, or tables with known names, in which every request has length 0.

use super::File;
use super::refusal::Refusal;
use crate::read::formats::{self, Cut, EMPTY, Format, TraceFormat, Work};
use crate::read::guess::{self, LINES};

/// Whether all of these lines are requests of a format, but of length 0.
struct Empty<'a>(&'a [&'a [u8]]);

impl Work for Empty<'_> {
    type Done = bool;

    fn with<P: Format>(self) -> bool {
        let mut parser = P::default();
        let mut is_empty =
            |line: &&&[u8]| parser.parse(line).err().is_some_and(|reject| reject.expected == EMPTY);
        let rows = &self.0[1.min(self.0.len())..];
        P::CUT == Cut::Lines && !rows.is_empty() && rows.iter().all(|line| is_empty(&line))
    }
}

impl File<'_> {
    /// The refusal of a file of a known format, or with known names of columns, in which every request has length 0.
    /// The first line may be names.
    pub(super) fn has_no_lengths(&self) -> Option<Refusal> {
        let lines = &self.head.lines[..self.head.lines.len().min(LINES)];
        let is_empty = |format: &TraceFormat| formats::with(*format, Empty(lines)) == Some(true);
        let known = formats::ALL.iter().find(|info| is_empty(&info.format)).map(|info| info.title);
        let title = known.or_else(|| guess::has_no_lengths(self.head).then_some("a table"))?;
        Some(self.refused(&format!(
            "its lines are those of {title}, but every request has length 0, so the lengths are lost; use the original \
             file, or record it again"
        )))
    }
}
