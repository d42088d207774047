//! Tables with several columns of volumes, such as hosts and their disks, none of which distinguishes all volumes.

use super::table::{Change, Table};
use crate::read::formats::Head;
use crate::read::lines::listed;

/// Maximum number of these columns in a message.
pub(crate) const LISTED: usize = 4;
/// Separators between the parts of a volume's name.
const MARKS: [&str; 4] = ["-", "_", "/", "."];

/// Columns of a table, each of which may be a part of the volume.
pub(crate) struct Parts {
    /// Why the volume is in doubt, for a message.
    pub(crate) message: String,
    /// The filter that joins all parts in the column that is read; `None` if awk would split the cells differently.
    pub(crate) filter: Option<String>,
    /// The columns in the notation of mappings, the likeliest first.
    pub(crate) places: Vec<String>,
    /// The columns as named in messages, in the same order.
    pub(crate) names: Vec<String>,
    /// These names in the order of the table, as in "host, target and lun".
    pub(crate) listing: String,
}

impl Parts {
    /// Returns the parts in the table in `head`; `None` if one column distinguishes all volumes, or none has volumes.
    pub(crate) fn of(head: &Head<'_>) -> Option<Parts> {
        let table = Table::of(head)?;
        let columns = table.columns.clone().with_known_words(&table.names, &table.rows);
        let parts = columns.parts_of_volume(&table.rows);
        let volume = parts.first()?.at;
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|&part| parts[part].at);
        let is_free = |mark: &&&str| {
            let mut cells = parts.iter().flat_map(|part| table.rows.whole_column(part.at));
            !cells.any(|cell| cell.contains(**mark))
        };
        let mark = MARKS.iter().find(is_free).unwrap_or(&MARKS[0]);
        let cells = order.iter().map(|&part| format!("${}", parts[part].at + 1));
        let joined = cells.collect::<Vec<_>>().join(&format!(" \"{mark}\" "));
        let name = |place: &String| {
            let is_number = place.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { format!("column {place}") } else { place.clone() }
        };
        let places: Vec<String> = parts.iter().map(|part| part.place.clone()).collect();
        let names: Vec<String> = places.iter().map(name).collect();
        let mut in_order: Vec<&str> = order.iter().map(|&part| names[part].as_str()).collect();
        if in_order.len() > LISTED {
            in_order.truncate(LISTED);
            in_order.push("others");
        }
        let listing = listed(&in_order);
        let change = Change {
            message: format!(
                "it is a table whose column names do not say which of {listing} is the volume, and the values of \
                 one do not determine those of another"
            ),
            title: String::new(),
            statement: format!("${} = {joined}", volume + 1),
            decimals: None,
        };
        let filter = table.filter(head, &change);
        Some(Parts { message: change.message, filter, places, names, listing })
    }
}
