//! Logs whose lines are pairs of names and values, as in `op=read,offset=4096`.

use super::pattern::{bytes_of, characters, pattern};
use super::{Rewriting, notation};
use crate::read::guess::names::{is_address, is_operation, is_time};
use std::collections::BTreeMap;

/// A pair, in the syntax that Perl and the pattern here share.
const PAIR: &str = r#"(\w+)=("[^"]*"|[^\s,;)\]}]+)"#;

/// A table with the names above the values, if the first line with pairs has the names of a time, an operation and an
/// address. A time outside the pairs would be lost.
pub(super) fn with_names_above(bytes: &[u8]) -> Option<Rewriting> {
    let (text, pair) = (characters(bytes), pattern(PAIR));
    let pairs = |line: &str| -> Vec<(String, String)> {
        let all = pair.captures_iter(line);
        all.map(|caught| (caught[1].to_owned(), caught[2].to_owned())).collect()
    };
    let lines: Vec<Vec<(String, String)>> =
        text.lines().map(pairs).filter(|pairs| !pairs.is_empty()).collect();
    let names: Vec<String> = lines.first()?.iter().map(|(name, _)| name.clone()).collect();
    let has = |is: fn(&str) -> bool| names.iter().any(|name| is(name));
    if !has(is_time) || !has(is_operation) || !has(is_address) {
        return None;
    }
    let row = |pairs: Vec<(String, String)>| {
        let values: BTreeMap<String, String> = pairs.into_iter().collect();
        let cells = names.iter().map(|name| values.get(name).map_or("", String::as_str));
        cells.collect::<Vec<_>>().join(",")
    };
    let rows = std::iter::once(names.join(",")).chain(lines.into_iter().map(row));
    let table: String = rows.map(|row| row + "\n").collect();
    let what = "its lines are pairs of names and values; make a table of them";
    let filter = format!(
        "perl -lne 'BEGIN {{ $, = \",\"; print @n = qw({}) }} %v = /{PAIR}/g and print @v{{@n}}' < FILE",
        names.join(" ")
    );
    notation(what, &filter, bytes, bytes_of(&table))
}
