//! Words for operations.

use crate::read::formats::block_event::{Rwbs, Verb};
use ssd_core::host::request::Op;

/// Maximum length of a word for an operation, bytes.
const LONGEST_WORD: usize = 64;

/// Meaning of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// An operation, and the flags of its request.
    Request(Op, u8),
    /// Not a request.
    Ignored,
}

/// Common words, in lower case. Numbers are not included, because 0 is a read in some files and a write in others.
const KNOWN: [(Op, &[&str]); 4] = [
    (
        Op::Read,
        &[
            "r",
            "read",
            "rd",
            "reads",
            "diskread",
            "nvme_cmd_read",
            "read dma",
            "read dma ext",
            "read fpdma queued",
        ],
    ),
    (
        Op::Write,
        &[
            "w",
            "write",
            "wr",
            "writes",
            "diskwrite",
            "nvme_cmd_write",
            "write_zeroes",
            "writezeroes",
            "write dma",
            "write dma ext",
            "write fpdma queued",
        ],
    ),
    (
        Op::Trim,
        &["d", "discard", "trim", "unmap", "deallocate", "nvme_cmd_dsm", "data set management"],
    ),
    (
        Op::Flush,
        &["f", "flush", "sync", "datasync", "fsync", "diskflush", "flush cache", "flush cache ext"],
    ),
];

/// The words of a mapping.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Words {
    words: Vec<(String, Meaning)>,
}

impl Words {
    /// Parses words; `value` returns the words of a key, separated by `|`.
    pub(super) fn of<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Result<Words, String> {
        let mut words: Vec<(String, Meaning)> = Vec::new();
        for (key, meaning) in [
            ("read", Meaning::Request(Op::Read, 0)),
            ("write", Meaning::Request(Op::Write, 0)),
            ("discard", Meaning::Request(Op::Trim, 0)),
            ("flush", Meaning::Request(Op::Flush, 0)),
            ("ignore", Meaning::Ignored),
        ] {
            for word in value(key).into_iter().flat_map(|text| text.split('|')) {
                let word = word.trim().to_ascii_lowercase();
                match words.iter().find(|(candidate, _)| *candidate == word) {
                    Some((_, previous)) if *previous == meaning => {}
                    Some(_) => {
                        return Err(format!(
                            "the word {word:?} has two meanings; keep one of them"
                        ));
                    }
                    None => words.push((word, meaning)),
                }
            }
        }
        Ok(Words { words })
    }

    /// Returns a contradiction to the usual meanings: a word for reads that usually means a write, or the reverse.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let usual = Words::default();
        self.words.iter().find_map(|(word, meaning)| {
            // The words of the mapping are in lower case; the letters of blktrace are known only as capitals.
            let capitals = word.to_ascii_uppercase();
            let verbs =
                [*meaning, usual.meaning(capitals.as_bytes())?].map(|meaning| match meaning {
                    Meaning::Request(Op::Read, _) => Some("read"),
                    Meaning::Request(Op::Write, _) => Some("write"),
                    _ => None,
                });
            let [Some(stated), Some(usual)] = verbs else { return None };
            (stated != usual).then(|| {
                format!(
                    "the columns say that {word:?} is a {stated}, although it usually means a {usual}"
                )
            })
        })
    }

    /// Returns the meaning of a word, or `None` for an unknown word.
    pub(crate) fn meaning(&self, word: &[u8]) -> Option<Meaning> {
        let entry = self
            .words
            .iter()
            .find(|(candidate, _)| candidate.as_bytes().eq_ignore_ascii_case(word));
        if let Some(&(_, meaning)) = entry {
            return Some(meaning);
        }
        let plain = without_length(word);
        let has_word = |(_, words): &&(Op, &[&str])| {
            words.iter().any(|term| term.as_bytes().eq_ignore_ascii_case(plain))
        };
        if let Some(&(op, _)) = KNOWN.iter().find(has_word) {
            return Some(Meaning::Request(op, 0));
        }
        let rwbs = Rwbs::parse(word).ok().filter(|_| word.len() <= 8)?;
        let op = match rwbs.verb {
            Verb::Read => Op::Read,
            Verb::Write | Verb::Zeroes => Op::Write,
            Verb::Discard => Op::Trim,
            Verb::Flush => Op::Flush,
        };
        Some(Meaning::Request(op, rwbs.flags))
    }
}

/// Returns whether a mapping can contain `word`; invalid UTF-8 has been replaced, and longer words are not pasted.
pub(crate) fn is_word(word: &str) -> bool {
    let is_said = |letter: char| !letter.is_control() && !",|=\"\u{fffd}".contains(letter);
    (1..=LONGEST_WORD).contains(&word.len()) && word.chars().all(is_said)
}

/// Returns the name of a SCSI command without its length: `READ` for `READ_10`, `READ(16)` or `read10`.
fn without_length(word: &[u8]) -> &[u8] {
    let word = word.strip_suffix(b")").unwrap_or(word);
    let lengths: [&[u8]; 4] = [b"10", b"12", b"16", b"6"];
    let stem = lengths.iter().find_map(|length| word.strip_suffix(*length));
    let stem = stem.map(|stem| stem.strip_suffix(b"_").or(stem.strip_suffix(b"(")).unwrap_or(stem));
    stem.filter(|stem| stem.len() > 3).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::super::Parts;
    use super::*;

    fn words(text: &str) -> Words {
        let parts = Parts::of(text).unwrap();
        Words::of(|key| parts.get(key)).unwrap()
    }

    #[test]
    fn given_words_come_first() {
        let words = words("read=1|w,write=0,ignore=x");
        let op = |word: &str| words.meaning(word.as_bytes());
        assert_eq!(op("1"), Some(Meaning::Request(Op::Read, 0)));
        assert_eq!(op("W"), Some(Meaning::Request(Op::Read, 0)));
        assert_eq!(op("0"), Some(Meaning::Request(Op::Write, 0)));
        assert_eq!(op("X"), Some(Meaning::Ignored));
        let of = |text: &str| Parts::of(text).and_then(|parts| Words::of(|key| parts.get(key)));
        assert!(of("write=A|a").is_ok() && of("read=a,write=A").is_err());
        assert_eq!(op("Discard"), Some(Meaning::Request(Op::Trim, 0)));
        assert!(words.contradiction().unwrap().contains("\"w\" is a read"));
        for word in ["READ_10", "read(16)", "Read10", "read"] {
            assert_eq!(op(word), Some(Meaning::Request(Op::Read, 0)));
        }
        // A flush has no preflush.
        assert_eq!(op("FF"), Some(Meaning::Request(Op::Flush, 0)));
        assert_eq!(op("2"), None);
        assert_eq!(op("r10"), None);
        assert_eq!(op(""), None);
    }
}
