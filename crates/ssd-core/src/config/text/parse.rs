//! Parsed input: TOML text and `--set` values as trees with a source position on every node.

use super::error::{Errors, SourcePos};
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its position in the source.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it is written.
    pub place: SourcePos,
    /// What is written.
    pub literal: RawValue,
}

/// A value as it was written.
#[derive(Clone, Debug)]
pub enum RawValue {
    /// A string, or a bare word after `--set`.
    Text(String),
    /// An integer; `None` if it does not fit.
    Int(Option<i128>),
    /// A number with a point or an exponent, as written.
    Float(String),
    /// true or false.
    Flag(bool),
    /// A table, in the order of its lines.
    Table(Vec<(String, Node)>),
    /// A list.
    List(Vec<Node>),
    /// A date or a time of day.
    Date(String),
}

impl Node {
    /// What was found, for a message.
    pub fn describe(&self) -> String {
        match &self.literal {
            RawValue::Text(text) if text.chars().count() > 60 => {
                format!("{:?}...", text.chars().take(60).collect::<String>())
            }
            RawValue::Text(text) => format!("{text:?}"),
            RawValue::Int(Some(n)) => n.to_string(),
            RawValue::Int(None) => "an integer out of range".to_string(),
            RawValue::Float(text) | RawValue::Date(text) => text.clone(),
            RawValue::Flag(flag) => flag.to_string(),
            RawValue::Table(_) => "a table".to_string(),
            RawValue::List(_) => "a list".to_string(),
        }
    }

    /// The text to paste that sets `key` to `value` where this node was set: an option, or a line of TOML.
    pub fn setting(&self, key: &str, value: &str) -> String {
        if self.place.line == 0 {
            let set = format!("{key}={value}");
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
            if set.chars().all(is_plain) {
                return format!("--set {set}");
            }
            return format!("--set '{}'", set.replace('\'', r"'\''"));
        }
        let plain = value.parse::<f64>().is_ok() || matches!(value, "true" | "false");
        let value = if plain { value.to_string() } else { format!("{value:?}") };
        format!("{key} = {value}")
    }

    /// The string, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.literal {
            RawValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Largest number of syntax errors that are listed one by one.
const MAX_SYNTAX_ERRORS: usize = 20;

/// The tree of a TOML document. Syntax errors are reported; what could be read is returned.
pub fn document(layer: u8, text: &str, errors: &mut Errors) -> Vec<(String, Node)> {
    let lines = Lines::new(layer, text);
    let (table, syntax) = DeTable::parse_recoverable(text);
    let at =
        |error: &toml::de::Error| lines.place(error.span().map_or(text.len(), |span| span.start));
    let mut bad: Vec<_> = syntax.iter().map(|error| (at(error), error.message())).collect();
    bad.dedup_by_key(|(place, _)| *place); // one mistake often gives several errors: keep the first
    for (place, message) in bad.iter().take(MAX_SYNTAX_ERRORS) {
        errors.add(*place, "", format!("not TOML: {message}"));
    }
    if bad.len() > MAX_SYNTAX_ERRORS {
        let all = format!("not TOML: syntax errors on {} lines", bad.len());
        errors.add(SourcePos { layer, line: 0 }, "", all);
    }
    let mut tree = lines.table(table.get_ref());
    if !bad.is_empty() {
        let lines: BTreeSet<u32> = bad.iter().map(|(place, _)| place.line).collect();
        drop_lines(&mut tree, &lines);
        // A key outside all tables may belong to a table whose header is broken.
        tree.retain(|(key, node)| key == "preset" || matches!(node.literal, RawValue::Table(_)));
    }
    tree
}

/// Drop what the parser recovered from lines with syntax errors.
fn drop_lines(tree: &mut Vec<(String, Node)>, lines: &BTreeSet<u32>) {
    tree.retain(|(_, node)| !lines.contains(&node.place.line));
    for (_, node) in tree {
        if let RawValue::Table(table) = &mut node.literal {
            drop_lines(table, lines);
        }
    }
}

/// The tree of one `--set` value: TOML, or else a string without quotes. For a key that takes free
/// text (`is_text`) only quotes are TOML: a run may be called 2026 or true.
pub fn set_value(
    place: SourcePos,
    path: &str,
    text: &str,
    is_text: bool,
    errors: &mut Errors,
) -> Option<Node> {
    let layer = place.layer;
    let text = text.trim();
    if is_text && !text.starts_with(['"', '\'']) {
        return Some(Node { place, literal: RawValue::Text(text.to_string()) });
    }
    let literal = match DeValue::parse(text) {
        Ok(value) => strip_lines(Lines::new(layer, text).node(place, value.get_ref())).literal,
        Err(error) if text.starts_with(['[', '{', '"', '\'']) => {
            let hint = "strings inside lists and tables need quotes";
            let message = format!("found {text}: not TOML: {}; {hint}", error.message());
            errors.add(place, path, message);
            return None;
        }
        Err(_) => RawValue::Text(text.to_string()),
    };
    Some(Node { place, literal })
}

/// Line numbers mean nothing in a value from the command line.
fn strip_lines(mut node: Node) -> Node {
    node.place.line = 0;
    node.literal = match node.literal {
        RawValue::Table(table) => {
            RawValue::Table(table.into_iter().map(|(key, node)| (key, strip_lines(node))).collect())
        }
        RawValue::List(list) => RawValue::List(list.into_iter().map(strip_lines).collect()),
        other => other,
    };
    node
}

/// Offsets of the lines of a text.
struct Lines {
    layer: u8,
    starts: Vec<usize>,
}

impl Lines {
    fn new(layer: u8, text: &str) -> Lines {
        let breaks = text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i + 1);
        Lines { layer, starts: std::iter::once(0).chain(breaks).collect() }
    }

    fn place(&self, offset: usize) -> SourcePos {
        let line = self.starts.partition_point(|&start| start <= offset);
        SourcePos { layer: self.layer, line: line as u32 }
    }

    fn table(&self, table: &DeTable<'_>) -> Vec<(String, Node)> {
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let key: &Spanned<std::borrow::Cow<'_, str>> = key;
            let node = self.node(self.place(key.span().start), value.get_ref());
            (key.span().start, key.get_ref().to_string(), node)
        };
        let mut entries: Vec<_> = table.iter().map(entry).collect();
        entries.sort_by_key(|&(start, ..)| start);
        entries.into_iter().map(|(_, key, node)| (key, node)).collect()
    }

    fn node(&self, place: SourcePos, value: &DeValue<'_>) -> Node {
        let literal = match value {
            DeValue::String(text) => RawValue::Text(text.to_string()),
            DeValue::Integer(n) => RawValue::Int(i128::from_str_radix(n.as_str(), n.radix()).ok()),
            DeValue::Float(x) => RawValue::Float(x.as_str().to_string()),
            DeValue::Boolean(flag) => RawValue::Flag(*flag),
            DeValue::Datetime(date) => RawValue::Date(date.to_string()),
            DeValue::Table(table) => RawValue::Table(self.table(table)),
            DeValue::Array(items) => {
                let item =
                    |v: &Spanned<DeValue<'_>>| self.node(self.place(v.span().start), v.get_ref());
                RawValue::List(items.iter().map(item).collect())
            }
        };
        Node { place, literal }
    }
}
