//! Config errors: position, key, the value found, the value expected, and the nearest valid name.

use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// One thing wrong with a config.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, thiserror::Error)]
pub struct ConfigError {
    /// Where it was set: name of the file, "--set", or `None` if a default is involved.
    pub source_name: Option<String>,
    /// Line in the file, from 1.
    pub line: Option<u32>,
    /// Full path of the key, such as "gc.victim.policy"; empty for a syntax error.
    pub key: String,
    /// What was found, what is expected, and what to do.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = &self.source_name {
            write!(f, "{source}:")?;
            match self.line {
                Some(line) => write!(f, "{line}: ")?,
                None => f.write_str(" ")?,
            }
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// Where something was set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SourcePos {
    /// Index into the names of the layers; `NOWHERE` for a default.
    pub layer: u8,
    /// Line from 1; 0 where there are no lines.
    pub line: u32,
}

impl SourcePos {
    /// Not set at all: a default.
    pub const NOWHERE: SourcePos = SourcePos { layer: u8::MAX, line: 0 };
}

/// All errors found so far, and the keys they belong to.
#[derive(Default)]
pub struct Errors {
    layers: Vec<String>,
    entries: Vec<(SourcePos, ConfigError)>,
    keys: BTreeSet<String>,
}

impl Errors {
    /// A new layer, by the name under which its errors are reported.
    pub fn layer(&mut self, name: &str) -> u8 {
        self.layers.push(name.to_string());
        (self.layers.len() - 1) as u8
    }

    /// Report `message` about `key`.
    pub fn add(&mut self, place: SourcePos, key: &str, message: impl Into<String>) {
        self.keys.insert(key.to_string());
        let error = ConfigError {
            source_name: self.layers.get(place.layer as usize).cloned(),
            line: (place.line > 0).then_some(place.line),
            key: key.to_string(),
            message: message.into(),
        };
        self.entries.push((place, error));
    }

    /// Whether an error belongs to `key`, to its table or to something in it.
    pub fn touches(&self, key: &str) -> bool {
        let within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.keys.iter().any(|bad| within(bad, key) || within(key, bad))
    }

    /// Number of errors so far.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// All of them: by layer, then by line, then as they were found.
    pub fn into_sorted(mut self) -> Vec<ConfigError> {
        self.entries.sort_by_key(|(place, _)| *place);
        self.entries.into_iter().map(|(_, error)| error).collect()
    }
}

/// `; did you mean "x"?` with the word nearest to `text`, or nothing if none is near.
pub fn did_you_mean<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(text, words) {
        Some(word) => format!("; did you mean {word:?}?"),
        None => String::new(),
    }
}

/// The word nearest to `text`, if `text` may be a misspelling of it.
#[must_use]
pub fn nearest<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if text.len() > 64 {
        return None;
    }
    let plain = |word: &str| word.to_lowercase().replace(['_', ' '], "-");
    let text = plain(text);
    let rank = |word: &'a str| {
        let candidate = plain(word);
        let prefix = text.len().min(candidate.len()) >= 3
            && (candidate.starts_with(&text) || text.starts_with(&candidate));
        let distance = strsim::osa_distance(&text, &candidate);
        let limit = 1 + text.len().max(candidate.len()) / 4;
        let near = distance <= limit && distance < text.len().min(candidate.len());
        (near || prefix).then_some((distance, word))
    };
    words.into_iter().filter_map(rank).min_by_key(|&(distance, _)| distance).map(|(_, word)| word)
}

/// `"a", "b" or "c"`.
pub fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".to_string(),
    }
}
