//! Columns from which times can be made: intervals between requests, minutes, hours.

use super::{Columns, HEADER, TIMES, letters_of, unit_of_time};
use crate::read::formats::Head;
use crate::read::formats::mapping::separated;
use crate::read::lines::shown;

/// Names of columns with the time since the request above.
const INTERVALS: [&str; 14] = [
    "iat",
    "interarrival",
    "interarrivaltime",
    "arrivalinterval",
    "interval",
    "delta",
    "deltatime",
    "timedelta",
    "dt",
    "delay",
    "gap",
    "wait",
    "think",
    "thinktime",
];
/// Ends of the names of columns in larger units of time, with the seconds of one.
const LONG_UNITS: [(&str, &str, u32); 6] = [
    ("minutes", "minutes", 60),
    ("minute", "minutes", 60),
    ("mins", "minutes", 60),
    ("min", "minutes", 60),
    ("hours", "hours", 3600),
    ("hour", "hours", 3600),
];

/// How a column becomes one of times.
struct Change {
    what: String,
    /// Its name afterwards.
    name: String,
    /// In awk.
    statement: String,
}

impl Change {
    /// That of the column with this number and name.
    fn of(column: usize, name: &str) -> Option<Change> {
        let unit = unit_of_time(name);
        let rest = unit.map_or(name, |_| {
            let words = name.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
            words.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric())
        });
        if INTERVALS.contains(&letters_of(rest).as_str()) {
            return Some(Change {
                what: "the time since the request above, not the time of arrival; add up the intervals".to_owned(),
                name: unit.map_or("time".to_owned(), |unit| format!("time_{unit}")),
                statement: format!("t += ${column}; ${column} = t"),
            });
        }
        let letters = letters_of(name);
        let is_time = |rest: &str| rest.is_empty() || TIMES.contains(&rest);
        let ends = |end: &str| letters.strip_suffix(end).is_some_and(is_time);
        let (_, unit, seconds) = LONG_UNITS.into_iter().find(|(end, ..)| ends(end))?;
        Some(Change {
            what: format!("{unit}, which is not a unit of --columns; convert them to seconds"),
            name: "time_s".to_owned(),
            statement: format!("${column} *= {seconds}"),
        })
    }
}

/// What to do with a table that has no column of times, but one from which they can be made: the command that does.
pub(crate) fn of(head: &Head<'_>) -> Option<String> {
    let mut lines = (1..).zip(head.lines.iter().take(HEADER));
    let (line, separator, names) = lines.find_map(|(line, text)| {
        let (separator, names) = separated(text)?;
        Columns::of(&names).filter(|columns| columns.time.is_none())?;
        Some((line, separator, names))
    })?;
    let change = |(column, name): (usize, &String)| Some((column, Change::of(column, name)?));
    let (column, Change { what, name, statement }) = (1..).zip(&names).find_map(change)?;
    let separator = match separator {
        b' ' => String::new(),
        byte => format!(" -F'{0}' -v OFS='{0}'", char::from(byte).escape_default()),
    };
    let old = shown(names[column - 1].as_bytes());
    Some(format!(
        "its column {old} seems to hold {what}: awk{separator} -v CONVFMT=%.9f 'NR == {line} {{ ${column} = \
         \"{name}\" }} NR > {line} {{ {statement} }} 1' FILE | ssdlab trace info -"
    ))
}
