//! Tables with two columns of volumes, such as hosts and their disks, of which neither tells all volumes apart.

use super::derived::{Change, by_filter};
use crate::read::foreign::Filter;
use crate::read::formats::Head;

/// The filter that writes both columns into the one that is read, and the two as a mapping calls them: the one that is
/// read, and the other.
pub(crate) fn of(head: &Head<'_>) -> Option<(Filter, [String; 2])> {
    let mut places = None;
    let filter = by_filter(head, |table| {
        let [own, other] = table.columns.two_volumes(&table.rows)?;
        places = Some([own.place.clone(), other.place.clone()]);
        let (first, second) = (own.at.min(other.at) + 1, own.at.max(other.at) + 1);
        Some(Change {
            what: format!(
                "it is a table whose column names do not say which of {} and {} is the volume, and each value of \
                 either is found with several of the other",
                table.names[first - 1],
                table.names[second - 1]
            ),
            title: String::new(),
            statement: format!("${} = ${first} \"-\" ${second}", own.at + 1),
            decimals: None,
        })
    })?;
    Some((filter, places?))
}
