//! Words for operations that resemble known words, such as `ReadAhead` and `REQ_OP_READ`.

use super::rows::{ENDED, Rows};
use crate::read::formats::Mapping;
use crate::read::formats::mapping::{Meaning, Words, is_word};
use crate::read::lines::shown;
use ssd_core::host::request::Op;
use std::collections::BTreeSet;

/// The keys of a mapping whose values are words for operations.
pub(super) const KEYS: [&str; 5] = ["read", "write", "discard", "flush", "ignore"];
/// Parts of words that mean an operation but are not known words themselves, in lower case, each with its key.
const VERBS: [(&str, &str); 15] = [
    ("pread", "read"),
    ("pwrite", "write"),
    ("zeroes", "write"),
    ("program", "write"),
    ("append", "write"),
    // Of YCSB and other databases.
    ("update", "write"),
    ("insert", "write"),
    ("erase", "discard"),
    // Linux and Windows use Dataset Management of NVMe only to deallocate.
    ("dsm", "discard"),
    ("blkdiscard", "discard"),
    ("fstrim", "discard"),
    ("fitrim", "discard"),
    ("synchronize", "flush"),
    ("synchronise", "flush"),
    ("fdatasync", "flush"),
];
/// Verbs like [`VERBS`] in other languages.
const FOREIGN: [(&str, &str); 34] = [
    ("lesen", "read"),
    ("schreiben", "write"),
    ("verwerfen", "discard"),
    ("löschen", "discard"),
    ("lecture", "read"),
    ("écriture", "write"),
    ("ecriture", "write"),
    ("libération", "discard"),
    ("suppression", "discard"),
    ("lectura", "read"),
    ("escritura", "write"),
    ("descarte", "discard"),
    ("leitura", "read"),
    ("escrita", "write"),
    ("lettura", "read"),
    ("scrittura", "write"),
    ("scarto", "discard"),
    ("чтение", "read"),
    ("запись", "write"),
    ("очистка", "discard"),
    ("读", "read"),
    ("读取", "read"),
    ("写", "write"),
    ("写入", "write"),
    ("丢弃", "discard"),
    ("読み取り", "read"),
    ("書き込み", "write"),
    ("読込", "read"),
    ("読取", "read"),
    ("書込", "write"),
    ("읽기", "read"),
    ("쓰기", "write"),
    ("odczyt", "read"),
    ("zapis", "write"),
];
/// Endings that may follow a verb in the same part.
const ENDINGS: [&str; 8] = ["ahead", "back", "file", "fua", "page", "pages", "v", "through"];
/// Verbs at the start of longer parts, each with its key.
const STARTS: [(&str, &str); 6] = [
    ("read", "read"),
    ("write", "write"),
    ("discard", "discard"),
    ("trim", "discard"),
    ("unmap", "discard"),
    ("flush", "flush"),
];
/// Parts of words, in lower case, that indicate something other than a request with the address and length of its row,
/// such as an end, a failure or a command without data. The words in [`ENDED`] are such parts, too.
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
/// Maximum bytes of all words together in a command that can be pasted.
const PASTED: usize = 200;
/// Maximum number of words in a message.
const LISTED: usize = 6;

/// Returns the parts of a word, split at separators and before capitals, in lower case.
pub(super) fn parts_of(word: &str) -> Vec<String> {
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

/// Returns the key of a part that is a verb, alone or with one of the [`ENDINGS`]. A single letter is not a verb.
fn key_of(part: &str) -> Option<&'static str> {
    let part = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let ended = ENDINGS.iter().filter_map(|ending| part.strip_suffix(ending));
    let stems = [part].into_iter().chain(ended).filter(|stem| stem.len() > 1);
    stems.into_iter().find_map(|stem| {
        let verb =
            VERBS.iter().chain(&FOREIGN).find(|(verb, _)| *verb == stem).map(|&(_, key)| key);
        verb.or_else(|| match Words::default().meaning(stem.as_bytes())? {
            Meaning::Request(Op::Read, _) => Some("read"),
            Meaning::Request(Op::Write, _) => Some("write"),
            Meaning::Request(Op::Trim, _) => Some("discard"),
            Meaning::Request(Op::Flush, _) => Some("flush"),
            Meaning::Request(Op::Copy, _) | Meaning::Ignored => None,
        })
    })
}

/// Returns the keys of a mapping for the possible operations of an unknown `word`, the likeliest first: a single key if
/// the word has one clear verb, and only `ignore` if it has no verb.
pub(crate) fn meanings_of(word: &str) -> Vec<&'static str> {
    // Next to r and w, the letter means unmap.
    if word.eq_ignore_ascii_case("u") {
        return vec!["discard", "ignore"];
    }
    let parts = parts_of(word);
    let mut keys: Vec<&str> = Vec::new();
    // `sync` next to another verb is a property of the request, and does not make it a flush.
    for is_sync in [false, true] {
        let verbs = parts.iter().filter(|part| part.contains("sync") == is_sync);
        for key in verbs.filter_map(|part| key_of(part)) {
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

/// Returns the unknown words of `rows` in the column `op`, in order of appearance. Words that differ only in case count
/// as one.
pub(super) fn unknown_words(rows: &Rows, op: usize) -> Vec<&str> {
    let words = Words::default();
    let mut unknown: Vec<&str> = Vec::new();
    for cell in rows.column(op) {
        let is_new = !unknown.iter().any(|word| word.eq_ignore_ascii_case(cell));
        if is_new && words.meaning(cell.as_bytes()).is_none() {
            unknown.push(cell);
        }
    }
    unknown
}

/// Returns what a mapping needs for operations in the column `op`: a text for each reading of the unknown words, the
/// likeliest first, and one that ignores all of them. Empty if no word resembles a known one, or if a command cannot
/// contain all of them.
///
/// `request` are the columns of address and length, if known. If the rows of a word repeat those of an earlier word
/// with the same verb, the word probably marks the ends of these requests and is ignored first.
pub(super) fn by_verb(rows: &Rows, op: usize, request: Option<[usize; 2]>) -> Vec<String> {
    let unknown = unknown_words(rows, op);
    let requests = |word: &str| -> BTreeSet<[&str; 2]> {
        let matching = rows.rows.iter().filter(|row| row[op] == word);
        matching.filter_map(|row| Some(request?.map(|at| row[at].as_str()))).collect()
    };
    let is_repeated = |at: usize| {
        let later = requests(unknown[at]);
        unknown[..at].iter().any(|earlier_word| {
            let earlier = requests(earlier_word);
            let common = later.intersection(&earlier).count();
            let rest = later.len().max(earlier.len()) - common;
            common > 2 && rest < 3 && meanings_of(earlier_word) == meanings_of(unknown[at])
        })
    };
    let meanings = |at: usize| {
        let mut keys = meanings_of(unknown[at]);
        if keys[0] != "ignore" && is_repeated(at) {
            keys.insert(0, "ignore");
        }
        keys
    };
    let meanings_of_words: Vec<Vec<&str>> = (0..unknown.len()).map(meanings).collect();
    let has_verb = |keys: &&Vec<&str>| keys.len() > 1 || keys[0] != "ignore";
    let resembling = meanings_of_words.iter().filter(has_verb).count();
    // If only one of two words has a verb, either may be the read.
    let cells: BTreeSet<&str> = rows.column(op).collect();
    let is_open = cells.len() == 2 && unknown.len() == 2 && resembling < 2;
    let is_pasted = unknown.iter().map(|word| word.len()).sum::<usize>() <= PASTED
        && unknown.iter().all(|word| is_word(word));
    if is_open || !is_pasted {
        return Vec::new();
    }
    let ignoring = format!(",ignore={}", unknown.join("|"));
    if resembling == 0 {
        return match unknown[..] {
            // A header line may be repeated.
            [word]
                if has_known_requests(rows, op) && !rows.names.iter().any(|name| name == word) =>
            {
                vec![format!(",discard={word}"), ignoring]
            }
            _ => Vec::new(),
        };
    }
    let text = |rank: usize| {
        let part = |key: &str| {
            let pairs = unknown.iter().zip(&meanings_of_words);
            let pairs = pairs.filter(|(_, keys)| keys[rank.min(keys.len() - 1)] == key);
            let words: Vec<&str> = pairs.map(|(word, _)| *word).collect();
            if words.is_empty() { String::new() } else { format!(",{key}={}", words.join("|")) }
        };
        KEYS.map(part).concat()
    };
    let most = meanings_of_words.iter().map(Vec::len).max().unwrap_or(0);
    let mut texts: Vec<String> = (0..most).map(text).collect();
    texts.extend((!texts.contains(&ignoring)).then_some(ignoring));
    texts
}

/// Returns whether most words in the column `op` are known, and include both reads and writes.
fn has_known_requests(rows: &Rows, op: usize) -> bool {
    let words = Words::default();
    let ops = || rows.column(op).filter_map(|cell| words.meaning(cell.as_bytes()));
    let has =
        |op: Op| ops().any(|meaning| matches!(meaning, Meaning::Request(other, _) if other == op));
    has(Op::Read) && has(Op::Write) && 2 * ops().count() > rows.column(op).count()
}

/// Returns the unknown words to which the `columns` of a mapping give meanings, if at least one of them resembles a
/// known word; empty otherwise.
pub(crate) fn guessed_words(columns: &Mapping) -> Vec<&str> {
    let (words, mut unknown) = (Words::default(), columns.words_of(&KEYS));
    let is_foreign = |word: &str| FOREIGN.iter().any(|(verb, _)| *verb == word.to_lowercase());
    unknown.retain(|word| words.meaning(word.as_bytes()).is_none() && !is_foreign(word));
    let is_resembling = |word: &&str| meanings_of(word) != ["ignore"];
    if unknown.iter().any(is_resembling) { unknown } else { Vec::new() }
}

/// Returns the first `words` in the form of messages.
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
