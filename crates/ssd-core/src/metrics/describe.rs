//! The descriptions of the report as JSON, for whoever derives types, documentation and tables from them.

use super::column::Role;
use super::columns::{ComparisonColumn, columns};
use super::field::{Field, Kind, Section};
use super::report::Report;
use serde_json::{Value, json};

/// The sections of the report, those inside after those that they are in, and the columns of comparisons.
#[must_use]
pub fn describe() -> Value {
    let mut sections = vec![Report::SECTION];
    let mut at = 0;
    while let Some(section) = sections.get(at) {
        for inner in section.flat_fields().filter_map(|field| inner(&field.kind)) {
            if !sections.iter().any(|candidate| candidate.name == inner.name) {
                sections.push(inner);
            }
        }
        at += 1;
    }
    json!({
        "sections": sections.into_iter().map(section).collect::<Vec<_>>(),
        "columns": columns().iter().map(column).collect::<Vec<_>>(),
    })
}

/// The section that a field consists of, or several of.
fn inner(kind: &Kind) -> Option<&'static Section> {
    match *kind {
        Kind::Section(section) => Some(section),
        Kind::Nullable(kind) | Kind::List(kind) | Kind::Map(kind) => inner(kind),
        _ => None,
    }
}

/// Documentation without the blanks that its lines begin with.
fn text(doc: &str) -> String {
    doc.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

fn section(section: &'static Section) -> Value {
    json!({
        "name": section.name,
        "doc": text(section.doc),
        "fields": section.flat_fields().map(field).collect::<Vec<_>>(),
    })
}

fn field(field: &Field) -> Value {
    json!({
        "name": field.name,
        "doc": text(field.doc),
        "kind": kind(field.kind),
        "unit": field.unit.name(),
        "optional": field.optional(),
    })
}

/// A word, or a word and what is inside.
fn kind(form: Kind) -> Value {
    match form {
        Kind::Count => json!(["count"]),
        Kind::Number => json!(["number"]),
        Kind::Text | Kind::Words(_) => json!(["text"]),
        Kind::Flag => json!(["flag"]),
        Kind::Free => json!(["free"]),
        Kind::Nullable(&inner) => json!(["nullable", kind(inner)]),
        Kind::List(&inner) => json!(["list", kind(inner)]),
        Kind::Map(&inner) => json!(["map", kind(inner)]),
        Kind::Section(section) => json!(["section", section.name]),
    }
}

fn column(entry: &ComparisonColumn) -> Value {
    json!({
        "name": entry.name,
        "key": entry.key,
        "of": entry.of,
        "unit": entry.unit.name(),
        "title": entry.title,
        "short": entry.short,
        "measured": entry.role >= Role::Measure,
        "paged": entry.role >= Role::Paged,
        "shown": entry.role >= Role::Shown,
        "ranked": entry.role >= Role::Ranked,
    })
}
