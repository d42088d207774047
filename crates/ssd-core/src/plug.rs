//! What every plug (policy file) declares, and how its parameters reach it.
//!
//! A plug file declares one [`PolicyInfo`]; config, CLI, docs and Python list it from there. The
//! config layer checks names and parameters against it and hands the plug its resolved [`Params`].

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name, summary, source and parameters of one policy.
#[derive(Debug)]
pub struct PolicyInfo {
    /// Name in the config, lower case with hyphens.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Authors, title, venue, year; section or equation.
    pub paper: &'static str,
    /// Its parameters, in the order in which they are shown.
    pub params: &'static [ParamInfo],
}

/// One parameter of a policy.
#[derive(Debug)]
pub struct ParamInfo {
    /// Key in the policy's table.
    pub name: &'static str,
    /// Type and allowed range.
    pub kind: ParamKind,
    /// Default as it would be written in the config; `None`: must be given.
    pub default: Option<&'static str>,
    /// What it means, with its unit.
    pub doc: &'static str,
}

/// Type and allowed range of a parameter.
#[derive(Debug)]
pub enum ParamKind {
    /// Integer in `min..=max`.
    Int(u64, u64),
    /// Number in `min..=max`.
    Ratio(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A time with a unit ("5 ms"), in nanoseconds once resolved.
    Time,
    /// true or false.
    Bool,
}

/// A resolved parameter value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// true or false.
    Bool(bool),
    /// Integer, or a time in nanoseconds.
    Int(u64),
    /// Ratio.
    Real(f64),
    /// A word.
    Word(String),
}

/// The resolved parameters of one policy: every declared one is present.
pub type Params = BTreeMap<String, Value>;

/// A policy by name with its resolved parameters, as it stands in the resolved config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicySpec {
    /// The policy's name.
    pub policy: String,
    /// Its parameters, defaults filled in.
    #[serde(flatten)]
    pub params: Params,
}

impl PolicySpec {
    /// `name` with the defaults that `info` declares; parameters without default are left out.
    #[must_use]
    pub fn with_defaults(info: &PolicyInfo) -> PolicySpec {
        let mut params = Params::new();
        for p in info.params {
            if let Some(text) = p.default {
                params.insert(p.name.to_string(), default_value(&p.kind, text));
            }
        }
        PolicySpec { policy: info.name.to_string(), params }
    }

    /// The same with parameter `key` set (builder form for code and tests).
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> PolicySpec {
        self.params.insert(key.to_string(), value);
        self
    }

    /// Integer parameter (or time in nanoseconds).
    ///
    /// # Panics
    /// If it is absent or of another type: the config layer has checked both.
    #[must_use]
    pub fn int(&self, key: &str) -> u64 {
        match self.params.get(key) {
            Some(Value::Int(n)) => *n,
            other => panic!("{}.{key}: expected an integer, found {other:?}", self.policy),
        }
    }

    /// Ratio parameter.
    ///
    /// # Panics
    /// If it is absent or of another type: the config layer has checked both.
    #[must_use]
    pub fn real(&self, key: &str) -> f64 {
        match self.params.get(key) {
            Some(Value::Real(x)) => *x,
            Some(Value::Int(n)) => *n as f64,
            other => panic!("{}.{key}: expected a number, found {other:?}", self.policy),
        }
    }

    /// Word parameter.
    ///
    /// # Panics
    /// If it is absent or of another type: the config layer has checked both.
    #[must_use]
    pub fn word(&self, key: &str) -> &str {
        match self.params.get(key) {
            Some(Value::Word(w)) => w,
            other => panic!("{}.{key}: expected a word, found {other:?}", self.policy),
        }
    }

    /// Boolean parameter.
    ///
    /// # Panics
    /// If it is absent or of another type: the config layer has checked both.
    #[must_use]
    pub fn flag(&self, key: &str) -> bool {
        match self.params.get(key) {
            Some(Value::Bool(b)) => *b,
            other => panic!("{}.{key}: expected true or false, found {other:?}", self.policy),
        }
    }
}

fn default_value(kind: &ParamKind, text: &str) -> Value {
    let parsed = match kind {
        ParamKind::Int(..) | ParamKind::Time => text.parse().ok().map(Value::Int),
        ParamKind::Ratio(..) => text.parse().ok().map(Value::Real),
        ParamKind::Choice(words) => words.contains(&text).then(|| Value::Word(text.to_string())),
        ParamKind::Bool => text.parse().ok().map(Value::Bool),
    };
    parsed.unwrap_or_else(|| panic!("default {text:?} does not fit {kind:?}"))
}
