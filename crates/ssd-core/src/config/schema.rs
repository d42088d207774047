//! JSON Schema and reference page, from the table of keys.

use super::checks::needs;
use super::keys::policy::{CONCURRENCIES, ORDERS, PLACEMENTS, Registry, TRIGGERS, VICTIMS};
use super::keys::table::SECTIONS;
use super::keys::{Key, Slot};
use super::presets::PRESETS;
use super::resolved::Config;
use super::text::quantity::{FREQUENCY, RATE, SIZE, TIME, show_time};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// JSON Schema (2020-12) of the config as users write it.
#[must_use]
pub fn schema() -> Value {
    let mut tables = Map::new();
    let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    tables.insert(
        "preset".to_string(),
        json!({ "type": "string", "enum": presets, "description": "The preset to start from." }),
    );
    for &(section, doc) in SECTIONS {
        let keys: Map<String, Value> = Key::of_section(section)
            .map(|key| (key.parts().1.to_string(), key_schema(key)))
            .collect();
        tables.insert(
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
        "properties": tables,
        "additionalProperties": false,
    })
}

fn key_schema(key: &Key<Config>) -> Value {
    let mut schema = match &key.slot {
        Slot::Int { min, max, .. } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Slot::Real { span, .. } => {
            let low = if span.above { "exclusiveMinimum" } else { "minimum" };
            let high = if span.below { "exclusiveMaximum" } else { "maximum" };
            json!({ "type": "number", low: span.min, high: span.max })
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
            let one = policy_schema(TRIGGERS);
            let mut any = one["anyOf"].as_array().cloned().unwrap_or_default();
            any.push(json!({ "type": "array", "items": one, "minItems": 1 }));
            json!({ "anyOf": any })
        }
        Slot::Special(special) => json!({ "type": special.types }),
    };
    schema["description"] = Value::from(format!("{} {}", meaning(key), type_note(key)).trim());
    schema["default"] = default_json(key);
    schema
}

/// What the key means, and what it needs to have an effect.
fn meaning(key: &Key<Config>) -> String {
    let needs: Vec<&str> = needs::of(key.path).collect();
    if needs.is_empty() {
        key.doc.to_string()
    } else {
        format!("{} Needs {}.", key.doc, needs.join(" and "))
    }
}

/// The form of keys whose JSON type alone says too little.
fn type_note(key: &Key<Config>) -> String {
    match &key.slot {
        Slot::Special(special) => format!("({})", special.form),
        _ => String::new(),
    }
}

/// The default as JSON where it is a value; as a sentence where it follows from other keys.
fn default_json(key: &Key<Config>) -> Value {
    let text = key.default_text(&Config::default());
    match toml::from_str::<toml::Table>(&format!("x = {text}")) {
        Ok(table) => serde_json::to_value(&table["x"]).unwrap_or(Value::Null),
        Err(_) => Value::from(text),
    }
}

fn time_schema() -> Value {
    let units: Vec<&str> = TIME.units.iter().map(|&(name, _)| name).collect();
    let pattern = format!("^[0-9][0-9_.]*(e[+-]?[0-9]+)? *({})$", units.join("|"));
    json!({ "type": "string", "pattern": pattern })
}

fn policy_schema(registry: Registry) -> Value {
    let names: Vec<&str> = registry.names().collect();
    let mut any = vec![json!({ "type": "string", "enum": names })];
    any.extend(registry.all.iter().map(|info| {
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
        ParamKind::Ratio(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        ParamKind::Choice(words) => json!({ "type": "string", "enum": words }),
        ParamKind::Time => time_schema(),
        ParamKind::Bool => json!({ "type": "boolean" }),
    };
    schema["description"] = Value::from(param.doc);
    schema
}

/// The reference of all keys and policies, in Markdown.
#[must_use]
pub fn reference_markdown() -> String {
    let mut out = String::from(HEAD);
    for (dimension, note) in [
        (&SIZE, "a bare whole number is bytes"),
        (&TIME, "never without a unit"),
        (&RATE, "a transfer (T) is 8 bit"),
        (&FREQUENCY, ""),
    ] {
        let (name, example, units) = (dimension.name, dimension.example, dimension.unit_names());
        let note = if note.is_empty() { String::new() } else { format!("; {note}") };
        let _ = writeln!(out, "- {name}: `\"{example}\"` (units {units}{note})");
    }
    out.push_str("\n## Presets\n\n| preset | description |\n|---|---|\n");
    for preset in PRESETS {
        let _ = writeln!(out, "| `{}` | {} |", preset.name, cell(preset.summary()));
    }
    for &(section, doc) in SECTIONS {
        let head = "| key | type | default | meaning |\n|---|---|---|---|";
        let _ = writeln!(out, "\n## [{section}]\n\n{doc}\n\n{head}");
        for key in Key::of_section(section) {
            let (form, default) = (form(key), key.default_text(&Config::default()));
            let (form, default, doc) = (cell(&form), cell(&default), cell(&meaning(key)));
            let name = key.parts().1;
            let _ = writeln!(out, "| `{name}` | {form} | {default} | {doc}{} |", words(key));
        }
    }
    for (title, registry) in [
        ("Triggers (`gc.trigger`)", TRIGGERS),
        ("Victim policies (`gc.victim`)", VICTIMS),
        ("Concurrency rules (`gc.concurrency`)", CONCURRENCIES),
        ("Placements (`alloc.placement`)", PLACEMENTS),
        ("Orders (`sched.order`)", ORDERS),
    ] {
        let _ = writeln!(out, "\n## {title}\n");
        for info in registry.all {
            policy_reference(&mut out, info);
        }
    }
    out
}

const HEAD: &str = "# Config reference

Generated from the table of keys; do not edit. Every key is optional. Later layers override earlier ones:
defaults, then the preset, then the file, then each `--set` in order. A key that *needs* the value of another key
must keep its default without it, unless a later layer changed that other key. A policy is written as
`\"name\"` or as `{ policy = \"name\", parameter = value }`. A different name resets the parameters to the
defaults of that policy; the same name keeps the parameters that are not given again. Unknown keys are errors.

Quantities:

";

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn form(key: &Key<Config>) -> String {
    match &key.slot {
        Slot::Int { min, max, .. } => format!("integer, {min} to {max}"),
        Slot::Real { span, .. } => format!("number {}", span.words()),
        Slot::Time { max, .. } => format!("time, at most {}", show_time(*max)),
        Slot::Flag { .. } => "true or false".to_string(),
        Slot::Word(_) => "word".to_string(),
        Slot::Policy { registry, .. } => registry.what.to_string(),
        Slot::Special(special) => special.form.to_string(),
    }
}

/// The words of a key with their meanings, after the meaning of the key.
fn words(key: &Key<Config>) -> String {
    let Slot::Word(slot) = &key.slot else {
        return String::new();
    };
    let word = |&(word, doc): &(&str, &str)| {
        format!(
            "<br>`{word}`: {}",
            cell(doc.split_whitespace().collect::<Vec<_>>().join(" ").as_str())
        )
    };
    slot.words.iter().map(word).collect()
}

fn policy_reference(out: &mut String, info: &PolicyInfo) {
    let PolicyInfo { name, summary, paper, params } = info;
    let _ = writeln!(out, "- **{name}**: {summary}. Source: {paper}.");
    for param in *params {
        let default = match (param.default, &param.kind) {
            (None, _) => "must be given".to_string(),
            (Some(text), ParamKind::Time) => {
                let ns = text.parse().unwrap_or_default();
                format!("default \"{}\"", show_time(ns))
            }
            (Some(text), _) => format!("default {text}"),
        };
        let kind = match param.kind {
            ParamKind::Int(min, max) => format!("integer, {min} to {max}"),
            ParamKind::Ratio(min, max) => format!("number from {min} to {max}"),
            ParamKind::Choice(words) => words.join(" or "),
            ParamKind::Time => "time".to_string(),
            ParamKind::Bool => "true or false".to_string(),
        };
        let _ = writeln!(out, "  - `{}` ({kind}; {default}): {}", param.name, param.doc);
    }
}
