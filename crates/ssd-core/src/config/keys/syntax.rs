//! Helpers for keys with a special syntax: alternatives, lists, small tables.

use crate::config::text::error::{Errors, did_you_mean, one_of};
use crate::config::text::parse::{Node, RawValue};
use crate::config::text::read;
use crate::config::words::Word;

/// JSON types of a text.
pub const TEXT: &[&str] = &["string"];
/// JSON types of a size.
pub const SIZE_TYPES: &[&str] = &["string", "integer"];

/// Report why a value was not accepted.
pub fn report(errors: &mut Errors, path: &str, node: &Node, result: Result<(), String>) {
    if let Err(message) = result {
        errors.add(node.place, path, message);
    }
}

/// Text as TOML.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// Entries of the table at `node`, each known by name; a string is short for `{ first = "..." }`.
pub fn entries<'n>(
    errors: &mut Errors,
    path: &str,
    node: &'n Node,
    names: &[&'static str],
) -> Vec<(String, &'n Node)> {
    let table = match &node.literal {
        RawValue::Text(_) => return vec![(names[0].to_string(), node)],
        RawValue::Table(table) => table,
        _ => {
            let list = names.join(", ");
            let message = format!("found {}; expected a table of {list}", node.describe());
            errors.add(node.place, path, message);
            return Vec::new();
        }
    };
    let mut pairs = Vec::new();
    for (key, value) in table {
        if names.contains(&key.as_str()) {
            pairs.push((key.clone(), value));
        } else {
            let near = did_you_mean(key, names.iter().copied());
            let expected = one_of(names.iter().copied());
            let message = format!("unknown key; expected {expected}{near}");
            errors.add(value.place, &format!("{path}.{key}"), message);
        }
    }
    pairs
}

/// Set `field` to the word at `node`.
pub fn set_word<T: Word>(field: &mut T, node: &Node) -> Result<(), String> {
    let word = read::word(node, T::WORDS.iter().map(|&(word, _)| word))?;
    *field = T::from_word(word).unwrap_or(*field);
    Ok(())
}
