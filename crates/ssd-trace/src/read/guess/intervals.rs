//! Columns from which times can be made: intervals between requests, minutes, hours.

use super::rows::Rows;
use super::{Columns, HEADER, TIMES, letters_of, unit_of_time};
use crate::read::formats::Head;
use crate::read::formats::mapping::separated;
use crate::read::lines::shown;

/// Names of columns with the time since the request above.
const INTERVALS: [&str; 23] = [
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
    "timediff",
    "difftime",
    "timesinceprev",
    "timesinceprevious",
    "timetonext",
    "arrivalgap",
    "intervaltime",
    "sleep",
    "step",
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
        let rest = unit.map_or(name, |_| without_unit(name));
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

/// The column that holds seconds with the column that holds the rest of them, and the digits of that: columns whose
/// names differ in their units only, the first in s.
fn parts(names: &[String], head: &Head<'_>, line: usize) -> Option<(usize, usize, usize)> {
    let rows = Rows::below(names, &head.lines[line..]);
    let stem = |at: usize| letters_of(without_unit(&names[at]));
    let unit = |at: usize| unit_of_time(&names[at]);
    let digits = |at: usize| match unit(at)? {
        "ms" => Some(3),
        "us" => Some(6),
        "ns" => Some(9),
        _ => None,
    };
    let is_rest = |at: usize, digits: usize| {
        let cells: Vec<u64> = rows.numbers(at).unwrap_or_default();
        !cells.is_empty() && cells.iter().all(|&cell| cell < 10u64.pow(digits as u32))
    };
    let seconds = (0..names.len()).filter(|&at| unit(at) == Some("s"));
    seconds.into_iter().find_map(|seconds| {
        let rest = (0..names.len()).find(|&at| {
            stem(at) == stem(seconds) && digits(at).is_some_and(|digits| is_rest(at, digits))
        })?;
        rows.numbers(seconds)?;
        Some((seconds + 1, rest + 1, digits(rest)?))
    })
}

/// A name without its last word, which is its unit.
fn without_unit(name: &str) -> &str {
    let words = name.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    words.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric())
}

/// What to do with a table that has no column of times, but one from which they can be made: the command that does.
pub(crate) fn of(head: &Head<'_>) -> Option<String> {
    let mut lines = (1..).zip(head.lines.iter().take(HEADER));
    let (line, text, separator, names, has_times) = lines.find_map(|(line, text)| {
        let (separator, names) = separated(text)?;
        let has_times = Columns::of(&names)?.time.is_some();
        Some((line, text, separator, names, has_times))
    })?;
    let (what, title, statement) = if let Some((seconds, rest, digits)) = parts(&names, head, line)
    {
        let [first, second] = [seconds, rest].map(|column| shown(names[column - 1].as_bytes()));
        let what =
            format!("its columns {first} and {second} seem to hold parts of one time; join them");
        let title = format!("${seconds} = \"time_s\"; ${rest} = \"rest\"");
        (what, title, format!("${seconds} = sprintf(\"%d.%0{digits}d\", ${seconds}, ${rest})"))
    } else {
        let change = |(column, name): (usize, &String)| Some((column, Change::of(column, name)?));
        let changed = (1..).zip(&names).filter(|_| !has_times).find_map(change);
        let (column, Change { what, name, statement }) = changed?;
        let old = shown(names[column - 1].as_bytes());
        (
            format!("its column {old} seems to hold {what}"),
            format!("${column} = \"{name}\""),
            statement,
        )
    };
    let separator = match separator {
        b' ' => String::new(),
        byte => format!(" -F'{0}' -v OFS='{0}'", char::from(byte).escape_default()),
    };
    let rows = head.lines.get(line).copied().unwrap_or_default();
    let plain = if [text, &rows].iter().any(|line| line.contains(&b'"')) {
        "{ gsub(/\"/, \"\") } "
    } else {
        ""
    };
    Some(format!(
        "{what}: awk{separator} -v CONVFMT=%.9f '{plain}NR == {line} {{ {title} }} NR > {line} {{ {statement} }} 1' \
         FILE | ssdlab trace info -"
    ))
}
