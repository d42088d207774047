//! Tables with several columns of volumes, such as hosts and their disks, of which none tells all volumes apart.

use super::derived::{Change, Table};
use crate::read::formats::Head;

/// What may stand between the parts of a volume's name.
const MARKS: [&str; 4] = ["-", "_", "/", "."];

/// The columns of a table that may each be a part of the volume.
pub(crate) struct Parts {
    /// Why that is in doubt.
    pub(crate) what: String,
    /// The filter that writes all of them into the one that is read; `None` if awk would cut the cells elsewhere.
    pub(crate) filter: Option<String>,
    /// As a mapping calls them, the one that is read first.
    pub(crate) places: Vec<String>,
    /// As messages call them, in the same order.
    pub(crate) names: Vec<String>,
    /// All of these names, in the order of the table.
    pub(crate) all: String,
}

impl Parts {
    /// Those of the table in `head`; `None` if one column of volumes tells all of them apart, or if there is none.
    pub(crate) fn of(head: &Head<'_>) -> Option<Parts> {
        let table = Table::of(head)?;
        let columns = table.columns.clone().with_known_words(&table.names, &table.rows);
        let parts = columns.parts_of_volume(&table.rows);
        let own = parts.first()?.at;
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
        let in_order: Vec<&str> = order.iter().map(|&part| names[part].as_str()).collect();
        let all = listed(&in_order);
        let change = Change {
            what: format!(
                "it is a table whose column names do not say which of {all} is the volume: some values of one come \
                 with several of another, and the reverse"
            ),
            title: String::new(),
            statement: format!("${} = {joined}", own + 1),
            decimals: None,
        };
        let filter = table.filter(head, &change);
        Some(Parts { what: change.what, filter, places, names, all })
    }
}

/// "host, target and lun".
pub(crate) fn listed(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}
