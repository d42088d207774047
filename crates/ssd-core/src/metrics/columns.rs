//! The columns of comparisons, from the notes of the fields of the report.

use super::column::Role;
use super::field::{Kind, Section, Unit};
use super::report::Report;

/// A column of the rows of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComparisonColumn {
    /// Name in `compare.json`.
    pub name: String,
    /// Dotted key of `report.json`.
    pub key: String,
    /// Dotted key of what it is divided by, if it is.
    pub of: Option<String>,
    /// What it is measured in.
    pub unit: Unit,
    /// How far it goes.
    pub role: Role,
    /// Title in tables.
    pub title: String,
    /// Title where there is little room.
    pub short: String,
}

/// Parts of the report whose columns come first; the others follow in the order of the report.
const FIRST: [&str; 9] =
    ["completed", "requests", "waf", "latency.write", "latency", "verdict", "gc", "flash", "time"];

/// Every column, in the order of tables.
#[must_use]
pub fn columns() -> Vec<ComparisonColumn> {
    let mut columns = Vec::new();
    collect(Report::SECTION, "", None, &mut columns);
    let within = |key: &str, part: &str| {
        key.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let place = |key: &str| FIRST.iter().position(|part| within(key, part));
    columns.sort_by_key(|(last, column)| (place(&column.key).unwrap_or(FIRST.len()), *last));
    columns.into_iter().map(|(_, column)| column).collect()
}

fn collect(
    section: &Section,
    path: &str,
    subject: Option<&str>,
    columns: &mut Vec<(bool, ComparisonColumn)>,
) {
    let key_of =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for field in section.fields {
        let key = key_of(field.name);
        for column in field.columns.iter().filter(|column| column.role > Role::Subject) {
            let name_of = |text: &str| text.replace("{}", subject.unwrap_or_default());
            if column.name.contains("{}") && subject.is_none() {
                continue;
            }
            let entry = ComparisonColumn {
                name: name_of(column.name),
                key: key.clone(),
                of: column.of.map(key_of),
                unit: if column.of.is_some() { Unit::Percent } else { field.unit },
                role: column.role,
                title: name_of(column.title),
                short: name_of(column.short),
            };
            columns.push((column.last, entry));
        }
        let inner = match field.kind {
            Kind::Section(inner) | Kind::Nullable(&Kind::Section(inner)) => inner,
            _ => continue,
        };
        let about = field.columns.iter().find(|column| column.role == Role::Subject);
        collect(inner, &key, about.map(|column| column.name), columns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn columns_have_distinct_names_and_shown_ones_a_title() {
        let found = columns();
        let names: BTreeSet<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), found.len());
        for one in &found {
            assert_eq!(one.title.is_empty(), one.role < Role::Paged, "{}", one.name);
            assert!(!one.name.contains("{}") && !one.key.contains("trim"), "{}", one.name);
        }
    }

    #[test]
    fn latencies_are_columns_of_reads_and_writes_and_shares_name_both_fields() {
        let found = columns();
        let of = |name: &str| found.iter().find(|one| one.name == name).unwrap();
        let tail = of("write_p99_9_ns");
        assert_eq!((tail.key.as_str(), tail.role), ("latency.write.p99_9", Role::Ranked));
        assert_eq!(
            (tail.title.as_str(), tail.short.as_str()),
            ("p99.9 write latency", "p99.9 write")
        );
        let share = of("gc_foreground_share");
        assert_eq!((share.key.as_str(), share.of.as_deref()), ("gc.foreground", Some("gc.calls")));
        assert_eq!((share.unit, of("gc_foreground").unit), (Unit::Percent, Unit::Number));
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        let order =
            ["waf", "write_p99_9_ns", "write_max_ns", "read_mean_ns", "gc_calls", "erases", "seed"];
        let places = order.map(|name| names.iter().position(|&one| one == name));
        assert!(places.is_sorted() && places[0].is_some(), "{names:?}");
    }
}
