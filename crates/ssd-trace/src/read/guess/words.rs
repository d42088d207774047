//! Words for operations that resemble known ones, such as `ReadAhead` and `REQ_OP_READ`.

use crate::read::formats::mapping::Words;
use std::collections::BTreeSet;

/// The keys of a mapping, each with verbs: a word that begins with one, or whose last part is one, may mean it.
const VERBS: [(&str, &[&str]); 4] = [
    ("read", &["read"]),
    ("write", &["write", "program"]),
    ("discard", &["discard", "trim"]),
    ("flush", &["flush"]),
];
/// Parts of words for flushes that have no verb.
const SYNCS: [&str; 4] = ["sync", "fsync", "synchronize", "synchronise"];
/// Parts of words for something other than a request that moves data.
const OTHERS: [&str; 11] = [
    "uncorrectable",
    "verify",
    "error",
    "failed",
    "complete",
    "completed",
    "completion",
    "done",
    "end",
    "finish",
    "finished",
];

/// The parts of a word between marks and at capitals, in lower case.
fn parts_of(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut text = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let is_start = letter.is_uppercase()
            && before.is_some_and(|before| {
                let is_below = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
                before.is_lowercase() || (before.is_uppercase() && is_below)
            });
        if is_start {
            text.push(' ');
        }
        text.push(letter.to_ascii_lowercase());
    }
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The key of a mapping, such as `read`, for the operation that an unknown `word` may mean.
pub(crate) fn verb_of(word: &str) -> Option<&'static str> {
    let parts = parts_of(word);
    if parts.iter().any(|part| OTHERS.contains(&part.as_str())) {
        return None;
    }
    let (first, last) = (parts.first()?, parts.last()?);
    let begins = |verbs: &[&str]| verbs.iter().any(|verb| first.starts_with(verb));
    let ends = |verbs: &[&str]| verbs.contains(&last.as_str());
    let all: Vec<&str> = VERBS
        .iter()
        .filter(|(_, verbs)| begins(verbs) || ends(verbs))
        .map(|&(key, _)| key)
        .collect();
    match all[..] {
        [key] => Some(key),
        [] => parts.iter().any(|part| SYNCS.contains(&part.as_str())).then_some("flush"),
        _ => None,
    }
}

/// What to add to a mapping whose column of operations has these `cells`, if some of the unknown words resemble known
/// ones: with their likely meanings, and with all of them ignored.
pub(super) fn likely<'a>(cells: impl Iterator<Item = &'a str>) -> Vec<String> {
    let cells: BTreeSet<&str> = cells.collect();
    let known = Words::default();
    let unknown = cells.iter().filter(|cell| known.meaning(cell.as_bytes()).is_none());
    let unknown: Vec<&str> = unknown.copied().collect();
    let is_said = |word: &&str| {
        !word.is_empty()
            && !word.chars().any(|letter| letter.is_control() || ",|=\"\u{fffd}".contains(letter))
    };
    let resembling = unknown.iter().filter(|word| verb_of(word).is_some()).count();
    // Of two unknown words, either may be the read.
    let is_open = cells.len() == 2 && resembling < unknown.len();
    if resembling == 0 || is_open || !unknown.iter().all(is_said) {
        return Vec::new();
    }
    let of = |key: &str| {
        let words = unknown.iter().copied().filter(|word| verb_of(word).unwrap_or("ignore") == key);
        let words: Vec<&str> = words.collect();
        if words.is_empty() { String::new() } else { format!(",{key}={}", words.join("|")) }
    };
    let keys = VERBS.iter().map(|&(key, _)| key).chain(["ignore"]);
    vec![keys.map(of).collect(), format!(",ignore={}", unknown.join("|"))]
}

/// Whether the `columns` of a mapping give meanings to words for which [`likely`] has found them.
pub(crate) fn are_likely(columns: &str) -> bool {
    let known = Words::default();
    let is_likely =
        |word: &str| known.meaning(word.as_bytes()).is_none() && verb_of(word).is_some();
    let said = columns.split(',').filter_map(|part| part.split_once('='));
    let mut said = said.filter(|(key, _)| VERBS.iter().any(|(known, _)| known == key));
    said.any(|(_, words)| words.split('|').any(is_likely))
}

#[cfg(test)]
mod tests {
    use super::verb_of;

    #[test]
    fn words_resemble_verbs_at_their_ends() {
        for (word, verb) in [
            ("ReadAhead", Some("read")),
            ("readahead", Some("read")),
            ("IORead", Some("read")),
            ("ProgramPage", Some("write")),
            ("REQ_OP_READ", Some("read")),
            ("WriteFUA", Some("write")),
            ("SYNC-WRITE", Some("write")),
            ("bulkTrim", Some("discard")),
            ("SYNC_CACHE", Some("flush")),
            ("Thread", None),
            ("READ_WRITE", None),
            ("write_done", None),
            ("WRITE_UNCORRECTABLE", None),
        ] {
            assert_eq!(verb_of(word), verb, "{word}");
        }
    }
}
