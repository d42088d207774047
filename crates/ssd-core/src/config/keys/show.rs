//! A key as TOML.

use super::policy::Registry;
use super::{Key, Num, Slot};
use crate::config::text::quantity::show_time;
use crate::plug::{ParamKind, PolicySpec, Value};
use std::fmt::Write;

impl<C: Clone> Key<C> {
    /// The value in `config` as TOML; `None` if another key prints it or there is nothing to print.
    pub(crate) fn show(&self, config: &C) -> Option<String> {
        // The accessors need a mutable config; a copy is small, and this is not a hot path.
        let mut copy = config.clone();
        Some(match &self.slot {
            Slot::Int { at, .. } => match at(&mut copy) {
                Num::U32(n) => n.to_string(),
                Num::U64(n) => n.to_string(),
            },
            Slot::Real { at, .. } => format!("{:?}", at(&mut copy)),
            Slot::Time { at, .. } => format!("{:?}", show_time(*at(&mut copy))),
            Slot::Flag { at } => at(&mut copy).to_string(),
            Slot::Word(slot) => format!("{:?}", (slot.get)(config)),
            Slot::Policy { registry, at } => policy(*registry, at(&mut copy)),
            Slot::Special(special) => return (special.show)(config),
        })
    }

    /// The default, for the reference and the schema.
    pub(crate) fn default_text(&self, defaults: &C) -> String {
        match &self.slot {
            Slot::Special(special) if special.default.is_some() => {
                special.default.unwrap_or_default().to_string()
            }
            _ => self.show(defaults).unwrap_or_default(),
        }
    }
}

/// A policy as TOML: its name alone, or with its parameters.
pub(crate) fn policy(registry: Registry, spec: &PolicySpec) -> String {
    if spec.params.is_empty() {
        return format!("{:?}", spec.policy);
    }
    let params = registry.find(&spec.policy).map_or(&[][..], |info| info.params);
    let is_time =
        |name: &str| params.iter().any(|p| p.name == name && matches!(p.kind, ParamKind::Time));
    let mut out = format!("{{ policy = {:?}", spec.policy);
    for (name, value) in &spec.params {
        let value = match value {
            Value::Int(ns) if is_time(name) => format!("{:?}", show_time(*ns)),
            Value::Int(n) => n.to_string(),
            Value::Real(x) => format!("{x:?}"),
            Value::Bool(flag) => flag.to_string(),
            Value::Word(word) => format!("{word:?}"),
        };
        let _ = write!(out, ", {name} = {value}");
    }
    out + " }"
}
