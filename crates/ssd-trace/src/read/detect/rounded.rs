//! Files with numbers rounded by a spreadsheet.

use super::File;
use crate::read::commands::command;
use crate::read::formats::mapping::{cells_of, is_rounded};
use crate::read::guess::LINES;

impl File<'_> {
    /// Returns the message about a file with numbers rounded by a spreadsheet.
    pub(super) fn rounded(&self) -> Option<String> {
        let cells_in = |line: &[u8]| cells_of(line);
        let cells = self.head.lines.iter().take(LINES).map(|line| cells_in(line));
        let cells =
            cells.into_iter().find(|cells| cells.iter().any(|cell| is_rounded(cell.as_bytes())))?;
        let at = cells.iter().position(|cell| is_rounded(cell.as_bytes()))?;
        let is_word = |cell: &&String| cell.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_number =
            |cell: &String| !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit());
        let op = cells.iter().enumerate().filter(|(_, cell)| is_word(cell)).find(|(_, cell)| {
            ["r", "w", "read", "write", "d", "trim"].contains(&cell.to_ascii_lowercase().as_str())
        });
        let op = op.map(|(op, _)| op);
        let numbers = (0..cells.len()).filter(|&column| is_number(&cells[column]));
        let after_op: Vec<usize> =
            numbers.filter(|&column| op.is_none_or(|op| column > op)).collect();
        // A number before the operation, or after address and length, is a time.
        let is_time =
            op.is_some_and(|op| at < op) || after_op.get(1).is_some_and(|&size| at > size);
        let order = match (op, after_op.first()) {
            (Some(op), Some(offset)) if is_time => {
                let size = after_op.get(1).map_or("4KiB".to_owned(), |size| (size + 1).to_string());
                let columns = format!("--columns op={},offset={},size={size}", op + 1, offset + 1);
                format!(
                    "; to read the requests in order but without times: {}",
                    command(self.name, &columns)
                )
            }
            _ => String::new(),
        };
        Some(format!(
            "column {} has numbers such as {}: a spreadsheet has rounded them, so they are useless as {}; use the \
             original file{order}",
            at + 1,
            cells[at],
            if is_time { "times" } else { "addresses or lengths" },
        ))
    }
}
