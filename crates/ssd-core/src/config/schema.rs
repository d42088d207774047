//! JSON Schema, from the table of keys.

use super::composed::{AnyKey, Composed, of_any, tables};
use super::keys::policy::{Registry, TRIGGERS};
use super::keys::{Key, Slot};
use super::presets::PRESETS;
use super::text::quantity::TIME;
use crate::plug::{ParamInfo, ParamKind};
use serde_json::{Map, Value, json};

/// JSON Schema (2020-12) of the config as users write it.
#[must_use]
pub fn schema<T: Composed>() -> Value {
    let mut properties = Map::new();
    let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    properties.insert(
        "preset".to_string(),
        json!({ "type": "string", "enum": presets, "description": "The preset to start from." }),
    );
    for (section, doc) in tables::<T>() {
        let keys: Map<String, Value> = AnyKey::<T>::of_table(section)
            .map(|key| (key.name().to_string(), key_schema(key)))
            .collect();
        properties.insert(
            section.to_string(),
            json!({
                "type": "object",
                "description": doc,
                "properties": keys,
                "additionalProperties": false,
            }),
        );
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ssdlab config",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn key_schema<T: Composed>(key: AnyKey<T>) -> Value {
    let mut schema = of_any!(key, value_schema);
    let note = of_any!(key, type_note);
    schema["description"] = Value::from(format!("{} {note}", key.meaning()).trim());
    schema["default"] = default_json(&key.default_text());
    schema
}

fn value_schema<C>(key: &Key<C>) -> Value {
    match &key.slot {
        Slot::Int { min, max, .. } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Slot::Real { span, .. } => {
            let low = if span.above { "exclusiveMinimum" } else { "minimum" };
            let high = if span.below { "exclusiveMaximum" } else { "maximum" };
            json!({ "anyOf": [{ "type": "number", low: span.min, high: span.max }, percentage()] })
        }
        Slot::Time { .. } => time_schema(),
        Slot::Flag { .. } => json!({ "type": "boolean" }),
        Slot::Word(slot) => {
            let words: Vec<&str> = slot.words.iter().map(|&(word, _)| word).collect();
            if slot.policy {
                let name = json!({ "type": "string", "enum": words });
                json!({ "anyOf": [name, {
                    "type": "object",
                    "properties": { "policy": name },
                    "required": ["policy"],
                    "additionalProperties": false,
                }] })
            } else {
                json!({ "type": "string", "enum": words })
            }
        }
        Slot::Policy { registry, .. } => policy_schema(*registry),
        Slot::Special(_) if key.path == "gc.trigger" => {
            let policy = policy_schema(TRIGGERS);
            let mut any = policy["anyOf"].as_array().cloned().unwrap_or_default();
            any.push(json!({ "type": "array", "items": policy, "minItems": 1 }));
            json!({ "anyOf": any })
        }
        Slot::Special(special) => json!({ "type": special.types }),
    }
}

/// The form of keys whose JSON type alone says too little.
fn type_note<C>(key: &Key<C>) -> String {
    match &key.slot {
        Slot::Special(special) => format!("({})", special.form),
        _ => String::new(),
    }
}

/// A default as JSON where it is a value; as a sentence where it follows from other keys.
fn default_json(text: &str) -> Value {
    match toml::from_str::<toml::Table>(&format!("x = {text}")) {
        Ok(table) => serde_json::to_value(&table["x"]).unwrap_or(Value::Null),
        Err(_) => Value::from(text),
    }
}

fn percentage() -> Value {
    json!({ "type": "string", "pattern": "^[0-9][0-9_.]* *%$" })
}

fn time_schema() -> Value {
    let units: Vec<&str> = TIME.units.iter().map(|&(name, _)| name).collect();
    let pattern = format!("^[0-9][0-9_.]*(e[+-]?[0-9]+)? *({})$", units.join("|"));
    json!({ "type": "string", "pattern": pattern })
}

fn policy_schema(registry: Registry) -> Value {
    let names: Vec<&str> = registry.names().collect();
    let mut any = vec![json!({ "type": "string", "enum": names })];
    any.extend(registry.policies.iter().map(|info| {
        let mut properties = Map::new();
        properties.insert("policy".to_string(), json!({ "const": info.name }));
        for param in info.params {
            properties.insert(param.name.to_string(), param_schema(param));
        }
        json!({
            "type": "object",
            "description": format!("{} ({})", info.summary, info.paper),
            "properties": properties,
            "additionalProperties": false,
        })
    }));
    json!({ "anyOf": any })
}

fn param_schema(param: &ParamInfo) -> Value {
    let mut schema = match param.kind {
        ParamKind::Int(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        ParamKind::Ratio(min, max) => {
            json!({ "anyOf": [{ "type": "number", "minimum": min, "maximum": max }, percentage()] })
        }
        ParamKind::Choice(words) => json!({ "type": "string", "enum": words }),
        ParamKind::Time => time_schema(),
        ParamKind::Bool => json!({ "type": "boolean" }),
    };
    schema["description"] = Value::from(param.doc);
    schema
}
