//! Words of other tools, and the corresponding keys of ssdlab. A crate declares them in one table
//! (`Composed::VOCABULARIES`), from which messages, the reference page and completions are generated.

use super::text::error::nearest;

/// The words of all tools.
pub type Vocabularies = &'static [Vocabulary];

/// The words of a tool.
pub struct Vocabulary {
    /// Name of the tool.
    pub tool: &'static str,
    /// Its words.
    pub terms: &'static [Term],
}

/// A word of another tool.
pub struct Term {
    /// The spellings, separated by bars. A word for the value of a key is spelled "gc.victim=rga".
    pub words: &'static str,
    /// The key of ssdlab, or key and value; empty if there is none.
    pub key: &'static str,
    /// How the value translates, or what takes the place of a key; empty if the value is the same.
    pub note: &'static str,
}

/// A word whose value is also the value of the key.
#[must_use]
pub const fn same(words: &'static str, key: &'static str) -> Term {
    Term { words, key, note: "" }
}

/// A word whose value differs from the value of the key as `note` says.
#[must_use]
pub const fn other(words: &'static str, key: &'static str, note: &'static str) -> Term {
    Term { words, key, note }
}

/// A word for which there is no key.
#[must_use]
pub const fn absent(words: &'static str, note: &'static str) -> Term {
    Term { words, key: "", note }
}

impl Term {
    /// Its spellings.
    pub fn spellings(&self) -> impl Iterator<Item = &'static str> {
        self.words.split('|')
    }
}

/// Longest word that is compared, bytes.
const LONGEST: usize = 64;

/// `word` in lower case without punctuation: "IO_Queue_Depth" and "io queue depth" are the same word.
fn plain(word: &str) -> String {
    word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// All terms, each with its tool.
fn all(known: Vocabularies) -> impl Iterator<Item = (&'static str, &'static Term)> {
    known.iter().flat_map(|of| of.terms.iter().map(|term| (of.tool, term)))
}

/// The word that `path` or its last part matches, and its meanings: the tools, and the term that they share.
pub(crate) fn of_key(known: Vocabularies, path: &str) -> (&str, Vec<(String, &'static Term)>) {
    let last = path.rsplit('.').next().unwrap_or(path);
    // The whole path goes first: "device.size" is not fio's size. No word is longer than `LONGEST`.
    for word in [path, last].into_iter().filter(|word| word.len() <= LONGEST) {
        let said = plain(word);
        let is_word = |spelled: &str| !spelled.contains('=') && plain(spelled) == said;
        let mut found: Vec<(String, &'static Term)> = Vec::new();
        for (tool, term) in all(known).filter(|(_, term)| term.spellings().any(is_word)) {
            let same = |other: &Term| (other.key, other.note) == (term.key, term.note);
            match found.iter_mut().find(|(_, other)| same(other)) {
                Some((tools, _)) => *tools += &format!(", {tool}"),
                None => found.push((tool.to_string(), term)),
            }
        }
        if !found.is_empty() {
            return (word, found);
        }
    }
    (last, Vec::new())
}

/// The value of the key `path` for the word `text` of another tool; `None` if `text` is the value here.
pub(crate) fn of_value(
    known: Vocabularies,
    path: &str,
    text: &str,
) -> Option<(&'static str, &'static Term)> {
    let said = plain(text.get(..=LONGEST).unwrap_or(text));
    let is_word = |spelled: &str| {
        spelled.split_once('=').is_some_and(|(key, word)| key == path && plain(word) == said)
    };
    let is_value = |term: &Term| term.key.split_once('=').is_some_and(|(_, value)| value == text);
    all(known).find(|(_, term)| term.spellings().any(is_word) && !is_value(term))
}

/// The word of which `said` may be a misspelling.
pub(crate) fn nearest_word(known: Vocabularies, said: &str) -> Option<&'static str> {
    let words =
        all(known).flat_map(|(_, term)| term.spellings()).filter(|word| !word.contains('='));
    nearest(said, words)
}
