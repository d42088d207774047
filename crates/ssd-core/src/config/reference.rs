//! The reference page, from the table of keys.

use super::composed::{AnyKey, Composed, of_any, tables};
use super::keys::policy::DECISIONS;
use super::keys::{Key, Slot};
use super::presets::PRESETS;
use super::text::quantity::{FREQUENCY, POWER, RATE, SIZE, TIME, show_time};
use crate::plug::{ParamKind, PolicyInfo};
use std::fmt::Write;

/// The reference of all keys and policies, in Markdown.
#[must_use]
pub fn reference_markdown<T: Composed>() -> String {
    let mut out = String::from(HEAD);
    for (dimension, note) in [
        (&SIZE, "a bare whole number is bytes; of a page or a request \"16k\" is \"16 KiB\""),
        (&TIME, "never without a unit"),
        (&RATE, "a transfer (T) is 8 bit"),
        (&POWER, ""),
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
    for (section, doc) in tables::<T>() {
        let head = "| key | type | default | meaning |\n|---|---|---|---|";
        let _ = writeln!(out, "\n## [{section}]\n\n{doc}\n\n{head}");
        for key in AnyKey::<T>::of_table(section) {
            let (form, default) = (of_any!(key, form), key.default_text());
            let (form, default, doc) = (cell(&form), cell(&default), cell(&key.meaning()));
            let (name, words) = (key.name(), of_any!(key, words));
            let _ = writeln!(out, "| `{name}` | {form} | {default} | {doc}{words} |");
        }
    }
    for registry in DECISIONS {
        let _ = writeln!(out, "\n## {} (`{}`)\n", registry.title, registry.key);
        for info in registry.policies {
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

- a number: `0.28`, or a percentage: `\"28%\"`
";

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn form<C>(key: &Key<C>) -> String {
    match &key.slot {
        Slot::Int { min, max, .. } => format!("integer, {min} to {max}"),
        Slot::Real { span, .. } => format!("number {}", span.words()),
        Slot::Time { max, .. } => format!("time, at most {}", show_time(*max)),
        Slot::Flag { .. } => "true or false".to_string(),
        Slot::Word(_) => "word".to_string(),
        Slot::Policy { registry, .. } => registry.noun.to_string(),
        Slot::Special(special) => special.form.to_string(),
    }
}

/// The words of a key with their meanings, after the meaning of the key.
fn words<C>(key: &Key<C>) -> String {
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
