//! Columns in addition to the operations that mark requests as discards.

use super::columns::Columns;
use super::table::{Change, Table};
use super::{LINES, NO, YES};
use crate::read::foreign::pattern::pattern;
use crate::read::formats::mapping::{Meaning, Words};
use ssd_core::host::request::Op;

/// Names of columns that mark requests as discards.
const DISCARDS: [&str; 6] = ["isdiscard", "istrim", "isunmap", "discard", "trim", "unmap"];

/// Words for discards, alone or within other words, as in `REQ_DISCARD` and `TrimCommand`, in the syntax common to awk
/// and Rust. The name of a process, such as fstrim, is no such word.
const DISCARDING: &str = concat!(
    "(^|[^A-Za-z])(discard|unmap|trim|deallocate)([^a-z]|$)|(^|[^A-Z])(Discard|Unmap|Trim|Deallocate)([^a-z]|$)",
    "|(^|[^A-Za-z])(DISCARD|UNMAP|TRIM|DEALLOCATE)([^A-Za-z]|$)"
);
/// Maximum number of distinct words in a column of flags.
const MOST_WORDS: usize = 16;

impl Table {
    /// Derives the operation from its column and from a column that marks discards.
    pub(super) fn discards(&self) -> Option<Change> {
        let (op, flag) = (self.columns.op.at + 1, self.column_named(&DISCARDS)?);
        let flags = || self.rows.column(flag - 1).map(str::to_ascii_lowercase);
        if !flags().all(|cell| NO.contains(&&cell[..]) || YES.contains(&&cell[..])) {
            return None;
        }
        let mut flagged =
            self.rows.column(op - 1).zip(flags()).filter(|(_, cell)| YES.contains(&&cell[..]));
        let is_known = flagged.all(|(op, _)| is_discard(op));
        // Rows below these may have the flag.
        let is_all = self.rows.rows.len() < LINES;
        let is_set = flags().any(|cell| YES.contains(&&cell[..]));
        if is_known && (is_set || is_all) {
            return None;
        }
        let is_flagged = |column: usize| format!("tolower(${column}) ~ /^({})$/", YES.join("|"));
        let (flagged, is_op_set) = (is_flagged(flag), is_flagged(op));
        let of_flags = |set: &str, otherwise: &str| {
            format!("${op} = {flagged} ? \"discard\" : {is_op_set} ? \"{set}\" : \"{otherwise}\"")
        };
        Some(Change {
            message: format!(
                "its column {} says which of the requests are discards; write discard into column {} of these",
                self.shown_name(flag),
                self.shown_name(op)
            ),
            title: format!("${op} = \"op\"; ${flag} = \"flag\""),
            statement: match self.columns.op.letters.as_str() {
                "iswrite" => of_flags("write", "read"),
                "isread" => of_flags("read", "write"),
                _ => format!("if ({flagged}) ${op} = \"discard\""),
            },
            decimals: None,
        })
    }

    /// Derives the operation from its column and from another with words for discards, such as `REQ_DISCARD`.
    pub(super) fn discards_by_word(&self) -> Option<Change> {
        let Columns { op, offset, size, .. } = &self.columns;
        let discarding = pattern(DISCARDING);
        let names_discard = |cell: &str| discarding.is_match(cell);
        let contradicts = |&at: &usize| {
            let mut pairs = self.rows.whole_column(op.at).zip(self.rows.whole_column(at));
            ![op.at, offset.at, size.at].contains(&at)
                && self.rows.distinct(at) <= MOST_WORDS
                && pairs
                    .any(|(op, cell)| names_discard(cell) && !names_discard(op) && !is_discard(op))
        };
        let at =
            (0..self.rows.width()).find(contradicts).filter(|_| !op.letters.starts_with("is"))?;
        let (flag, op) = (at + 1, op.at + 1);
        Some(Change {
            message: format!(
                "its column {} names discards that column {} does not; write discard into the latter",
                self.shown_name(flag),
                self.shown_name(op)
            ),
            title: String::new(),
            statement: format!("if (${flag} ~ /{DISCARDING}/) ${op} = \"discard\""),
            decimals: None,
        })
    }
}

/// Returns whether a cell is a word for a discard.
fn is_discard(cell: &str) -> bool {
    Words::default().meaning(cell.as_bytes()) == Some(Meaning::Request(Op::Trim, 0))
}
