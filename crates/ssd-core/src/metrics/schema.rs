//! The JSON schema of `report.json`, from the descriptions of its sections. A test compares it with what
//! the structs are serialised to, in both directions.

use super::field::{Kind, Section, Unit};
use super::report::Report;
use serde_json::{Map, Value, json};

/// The schema (draft 2020-12). Readers must accept fields that it does not name.
#[must_use]
pub fn schema() -> Value {
    let mut schema = of_section(Report::SECTION);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("ssdlab report");
    schema
}

fn of_section(section: &Section) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in section.flat_fields() {
        let kind = match field.kind {
            Kind::Nullable(&kind) if field.optional() => kind,
            kind => {
                required.push(field.name);
                kind
            }
        };
        properties.insert(field.name.to_owned(), of_kind(kind, field.unit));
    }
    json!({"type": "object", "properties": properties, "required": required})
}

fn of_kind(kind: Kind, unit: Unit) -> Value {
    match kind {
        Kind::Count => json!({"type": "integer", "minimum": 0}),
        Kind::Number if unit == Unit::Percent => {
            json!({"type": "number", "minimum": 0, "maximum": 1})
        }
        Kind::Number => json!({"type": "number"}),
        Kind::Text => json!({"type": "string"}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Free => json!({"type": "object"}),
        Kind::Words(words) => json!({"type": "string", "enum": words}),
        Kind::Nullable(&inner) => {
            let mut schema = of_kind(inner, Unit::Number);
            schema["type"] = json!([schema["type"], "null"]);
            schema
        }
        Kind::List(&item) => json!({"type": "array", "items": of_kind(item, unit)}),
        Kind::Map(&value) => {
            json!({"type": "object", "additionalProperties": of_kind(value, unit)})
        }
        Kind::Section(section) => of_section(section),
    }
}
