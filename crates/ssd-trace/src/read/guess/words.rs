//! Words for operations that resemble known ones, such as `ReadAhead` and `REQ_OP_READ`.

use super::rows::{ENDED, Rows};
use crate::read::formats::mapping::{Meaning, Words, is_word};
use crate::read::lines::shown;
use ssd_core::host::request::Op;
use std::collections::BTreeSet;

/// The keys of a mapping that have words.
const KEYS: [&str; 5] = ["read", "write", "discard", "flush", "ignore"];
/// Parts of words for operations that are no words of their own, in lower case, each with its key.
const VERBS: [(&str, &str); 9] = [
    ("pread", "read"),
    ("pwrite", "write"),
    ("zeroes", "write"),
    ("program", "write"),
    ("append", "write"),
    ("erase", "discard"),
    ("synchronize", "flush"),
    ("synchronise", "flush"),
    ("fdatasync", "flush"),
];
/// What may follow a verb in the same part.
const ENDINGS: [&str; 8] = ["ahead", "back", "file", "fua", "page", "pages", "v", "through"];
/// Verbs with which a part may begin that goes on with something else.
const STARTS: [(&str, &str); 6] = [
    ("read", "read"),
    ("write", "write"),
    ("discard", "discard"),
    ("trim", "discard"),
    ("unmap", "discard"),
    ("flush", "flush"),
];
/// Parts of words, in lower case, for something other than a request that moves data, or for one whose address or
/// outcome is another. Those in [`ENDED`] are such parts, too.
const OTHERS: [&str; 33] = [
    "uncorrectable",
    "verify",
    "compare",
    "error",
    "err",
    "fail",
    "failed",
    "failure",
    "timeout",
    "abort",
    "aborted",
    "retry",
    "exit",
    "return",
    "ret",
    "cpl",
    "cmpl",
    "compl",
    "reply",
    "response",
    "resp",
    "ack",
    "hit",
    "miss",
    "capacity",
    "toc",
    "log",
    "buffer",
    "defect",
    "dir",
    "link",
    "append",
    "erase",
];
/// Bytes of all words that people can paste in a command.
const PASTED: usize = 200;
/// Most words that a message lists.
const LISTED: usize = 6;

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

/// The key of a part that is a verb, alone or with one of the [`ENDINGS`]. Letters are no verbs.
fn key_of(part: &str) -> Option<&'static str> {
    let part = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let ended = ENDINGS.iter().filter_map(|ending| part.strip_suffix(ending));
    let stems = [part].into_iter().chain(ended).filter(|stem| stem.len() > 1);
    stems.into_iter().find_map(|stem| {
        let verb = VERBS.iter().find(|(verb, _)| *verb == stem).map(|&(_, key)| key);
        verb.or_else(|| match Words::default().meaning(stem.as_bytes())? {
            Meaning::Request(Op::Read, _) => Some("read"),
            Meaning::Request(Op::Write, _) => Some("write"),
            Meaning::Request(Op::Trim, _) => Some("discard"),
            Meaning::Request(Op::Flush, _) => Some("flush"),
            Meaning::Request(Op::Copy, _) | Meaning::Ignored => None,
        })
    })
}

/// The keys of a mapping for the operations that an unknown `word` may mean, the likeliest first: a single one if its
/// verb is clear; `ignore` alone if it has none.
pub(crate) fn meanings_of(word: &str) -> Vec<&'static str> {
    let parts = parts_of(word);
    let mut keys: Vec<&str> = Vec::new();
    // A request that is synchronous is not a flush.
    for is_sync in [false, true] {
        let own = parts.iter().filter(|part| part.contains("sync") == is_sync);
        for key in own.filter_map(|part| key_of(part)) {
            if !keys.contains(&key) && (keys.is_empty() || !is_sync) {
                keys.push(key);
            }
        }
    }
    let is_other = |part: &String| [&OTHERS[..], &ENDED].concat().contains(&part.as_str());
    let is_clear = keys.len() == 1 && !parts.iter().any(is_other);
    if keys.is_empty() {
        let begun = STARTS.iter().find(|(verb, _)| parts.iter().any(|part| part.starts_with(verb)));
        keys.extend(begun.map(|&(_, key)| key));
    }
    if !is_clear {
        keys.insert(0, "ignore");
    }
    keys
}

/// The words of `rows` in the column `op` that are not known, each in one spelling, in the order in which they come.
pub(super) fn unknown_words(rows: &Rows, op: usize) -> Vec<&str> {
    let known = Words::default();
    let mut unknown: Vec<&str> = Vec::new();
    for cell in rows.column(op) {
        let is_new = !unknown.iter().any(|word| word.eq_ignore_ascii_case(cell));
        if is_new && known.meaning(cell.as_bytes()).is_none() {
            unknown.push(cell);
        }
    }
    unknown
}

/// What to add to a mapping whose operations are in the column `op`, if some of the unknown words resemble known ones:
/// each way to take the words, the likeliest first, and all of them ignored. Nothing if none resembles a known word, or
/// if a command cannot have all of them. Where the columns of a `request` are known, a word of which each request has
/// already come with another word of the same verb may be its end.
pub(super) fn by_verb(rows: &Rows, op: usize, request: Option<[usize; 2]>) -> Vec<String> {
    let unknown = unknown_words(rows, op);
    let requests = |word: &str| -> BTreeSet<[&str; 2]> {
        let own = rows.rows.iter().filter(|row| row[op] == word);
        own.filter_map(|row| Some(request?.map(|at| row[at].as_str()))).collect()
    };
    let is_repeated = |at: usize| {
        let own = requests(unknown[at]);
        unknown[..at].iter().any(|other| {
            let earlier = requests(other);
            let common = own.intersection(&earlier).count();
            let rest = own.len().max(earlier.len()) - common;
            common > 2 && rest < 3 && meanings_of(other) == meanings_of(unknown[at])
        })
    };
    let meanings = |at: usize| {
        let mut keys = meanings_of(unknown[at]);
        if keys[0] != "ignore" && is_repeated(at) {
            keys.insert(0, "ignore");
        }
        keys
    };
    let all: Vec<Vec<&str>> = (0..unknown.len()).map(meanings).collect();
    let has_verb = |keys: &&Vec<&str>| keys.len() > 1 || keys[0] != "ignore";
    let resembling = all.iter().filter(has_verb).count();
    // Of two words, of which one has no verb, either may be the read.
    let cells: BTreeSet<&str> = rows.column(op).collect();
    let is_open = cells.len() == 2 && unknown.len() == 2 && resembling < 2;
    let is_pasted = unknown.iter().map(|word| word.len()).sum::<usize>() <= PASTED
        && unknown.iter().all(|word| is_word(word));
    if resembling == 0 || is_open || !is_pasted {
        return Vec::new();
    }
    let text = |rank: usize| {
        let of = |key: &str| {
            let own = unknown.iter().zip(&all);
            let own = own.filter(|(_, keys)| keys[rank.min(keys.len() - 1)] == key);
            let words: Vec<&str> = own.map(|(word, _)| *word).collect();
            if words.is_empty() { String::new() } else { format!(",{key}={}", words.join("|")) }
        };
        KEYS.map(of).concat()
    };
    let most = all.iter().map(Vec::len).max().unwrap_or(0);
    let mut texts: Vec<String> = (0..most).map(text).collect();
    let ignoring = format!(",ignore={}", unknown.join("|"));
    texts.extend((!texts.contains(&ignoring)).then_some(ignoring));
    texts
}

/// The words to which the `columns` of a mapping give meanings because they resemble known ones, and those beside them;
/// nothing if none does.
pub(crate) fn guessed(columns: &str) -> Vec<&str> {
    let known = Words::default();
    let said = columns.split(',').filter_map(|part| part.split_once('='));
    let said = said.filter(|(key, _)| KEYS.contains(key)).flat_map(|(_, words)| words.split('|'));
    let unknown: Vec<&str> = said.filter(|word| known.meaning(word.as_bytes()).is_none()).collect();
    let is_resembling = |word: &&str| meanings_of(word) != ["ignore"];
    if unknown.iter().any(is_resembling) { unknown } else { Vec::new() }
}

/// A few `words`, as a message lists them.
pub(crate) fn shown_words(words: &[&str]) -> String {
    let more = if words.len() > LISTED { " and others" } else { "" };
    let few = words.iter().take(LISTED).map(|word| shown(word.as_bytes()));
    format!("{}{more}", few.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::meanings_of;

    #[test]
    fn words_resemble_verbs_by_their_parts() {
        for (word, keys) in [
            ("ReadAhead", &["read"][..]),
            ("readahead", &["read"]),
            ("IORead", &["read"]),
            ("ProgramPage", &["write"]),
            ("REQ_OP_READ", &["read"]),
            ("IO_READ_SYNC", &["read"]),
            ("SCSI_READ_10", &["read"]),
            ("ATA_READ_DMA", &["read"]),
            ("vfs_readv", &["read"]),
            ("pread64", &["read"]),
            ("WriteFUA", &["write"]),
            ("SYNC-WRITE", &["write"]),
            ("REQ_OP_WRITE_ZEROES", &["write"]),
            ("page_program", &["write"]),
            ("bulkTrim", &["discard"]),
            ("UnmapBlocks", &["discard"]),
            ("SYNC_CACHE", &["flush"]),
            ("IRP_MJ_FLUSH_BUFFERS", &["flush"]),
            ("Thread", &["ignore"]),
            ("VERIFY", &["ignore"]),
            ("Readdir", &["ignore", "read"]),
            ("WRITEFUA", &["write"]),
            ("WRITEMETA", &["ignore", "write"]),
            ("REQ_OP_ZONE_APPEND", &["ignore", "write"]),
            ("block_erase", &["ignore", "discard"]),
            ("READ_WRITE", &["ignore", "read", "write"]),
            ("write_done", &["ignore", "write"]),
            ("sys_exit_read", &["ignore", "read"]),
            ("WRITE_UNCORRECTABLE", &["ignore", "write"]),
        ] {
            assert_eq!(meanings_of(word), keys, "{word}");
        }
    }
}
