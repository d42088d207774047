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
fn all(vocabularies: Vocabularies) -> impl Iterator<Item = (&'static str, &'static Term)> {
    vocabularies
        .iter()
        .flat_map(|vocabulary| vocabulary.terms.iter().map(|term| (vocabulary.tool, term)))
}

/// The word that `path` or its last part matches, and its meanings: the tools, and the term that they share.
pub(crate) fn of_key(
    vocabularies: Vocabularies,
    path: &str,
) -> (&str, Vec<(String, &'static Term)>) {
    let last = path.rsplit('.').next().unwrap_or(path);
    // The whole path goes first: "device.size" is not fio's size. No word is longer than `LONGEST`.
    for word in [path, last].into_iter().filter(|word| word.len() <= LONGEST) {
        let plain_word = plain(word);
        let is_word = |spelled: &str| !spelled.contains('=') && plain(spelled) == plain_word;
        let mut terms: Vec<(String, &'static Term)> = Vec::new();
        for (tool, term) in all(vocabularies).filter(|(_, term)| term.spellings().any(is_word)) {
            let is_same = |entry: &Term| (entry.key, entry.note) == (term.key, term.note);
            match terms.iter_mut().find(|(_, entry)| is_same(entry)) {
                Some((tools, _)) => *tools += &format!(", {tool}"),
                None => terms.push((tool.to_string(), term)),
            }
        }
        if !terms.is_empty() {
            return (word, terms);
        }
    }
    (last, Vec::new())
}

/// The value of the key `path` for the word `text` of another tool; `None` if `text` is the value here.
pub(crate) fn of_value(
    vocabularies: Vocabularies,
    path: &str,
    text: &str,
) -> Option<(&'static str, &'static Term)> {
    let plain_text = plain(text.get(..=LONGEST).unwrap_or(text));
    let is_word = |spelled: &str| {
        spelled.split_once('=').is_some_and(|(key, word)| key == path && plain(word) == plain_text)
    };
    let is_value = |term: &Term| term.key.split_once('=').is_some_and(|(_, value)| value == text);
    all(vocabularies).find(|(_, term)| term.spellings().any(is_word) && !is_value(term))
}

/// The word of which `text` may be a misspelling.
pub(crate) fn nearest_word(vocabularies: Vocabularies, text: &str) -> Option<&'static str> {
    let words =
        all(vocabularies).flat_map(|(_, term)| term.spellings()).filter(|word| !word.contains('='));
    nearest(text, words)
}
