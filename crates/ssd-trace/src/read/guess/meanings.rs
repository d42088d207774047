//! Possible meanings of the codes and words of operations.

use super::{NO, YES, words};
use crate::read::formats::mapping::{Meaning, Words};
use ssd_core::host::request::Op;
use std::collections::BTreeSet;

/// Codes of reads, writes and discards: small numbers, those of Linux (0, 1 and 3), of SCSI (in three notations) and of
/// ATA (in two), and flags.
const CODES: [[&[&str]; 3]; 11] = [
    [&["0"], &["1"], &["2"]],
    [&["1"], &["0"], &["2"]],
    [&["1"], &["2"], &["3"]],
    [&["0"], &["1"], &["3"]],
    [&["0x08", "0x28", "0x88", "0xa8"], &["0x0a", "0x2a", "0x8a", "0xaa"], &["0x42"]],
    [&["0x25", "0x60", "0xc8"], &["0x35", "0x61", "0xca"], &["0x06"]],
    [&["08", "28", "88", "a8"], &["0a", "2a", "8a", "aa"], &["42"]],
    [&["40", "136"], &["42", "138"], &["66"]],
    [&["25", "60", "c8"], &["35", "61", "ca"], &["06", "6"]],
    [NO.split_at(1).1, YES.split_at(1).1, &[]],
    [YES.split_at(1).1, NO.split_at(1).1, &[]],
];

/// Codes of NVMe in three notations: reads, writes (also of zeros), discards and flushes. In decimal, 0 is more likely
/// a flag.
const NVME: [[&str; 4]; 3] = [
    ["2", "1|8", "9", ""],
    ["0x2", "0x1|0x8", "0x9", "0x0"],
    ["0x02", "0x01|0x08", "0x09", "0x00"],
];

/// Returns what a mapping needs for a column of operations with these `cells`: a text for each possible meaning, or a
/// single empty text if all cells are known words.
pub(super) fn meanings<'a>(cells: impl Iterator<Item = &'a str>) -> Vec<String> {
    let cells: BTreeSet<&str> = cells.collect();
    let words = Words::default();
    let unknown: Vec<&str> =
        cells.iter().copied().filter(|cell| words.meaning(cell.as_bytes()).is_none()).collect();
    let has = |op: Op| {
        let is = |cell: &&str| words.meaning(cell.as_bytes()) == Some(Meaning::Request(op, 0));
        cells.iter().any(is)
    };
    match unknown[..] {
        [] => return vec![String::new()],
        [word] if word.eq_ignore_ascii_case("t") && has(Op::Read) && has(Op::Write) => {
            return vec![format!(",discard={word}")];
        }
        _ => {}
    }
    // Codes are compared in lower case.
    let cells: BTreeSet<String> = cells.into_iter().map(str::to_ascii_lowercase).collect();
    let cells: BTreeSet<&str> = cells.iter().map(String::as_str).collect();
    let fits = |codes: &&[&[&str]; 3]| {
        let has = |codes: &[&str]| cells.iter().any(|cell| codes.contains(cell));
        let hexadecimal = cells.iter().all(|cell| cell.starts_with("0x"));
        // Codes without 0x must include a read and a write, because other numbers look like them.
        let has_both = has(codes[0]) && has(codes[1]);
        (hexadecimal || has_both)
            && cells.iter().all(|cell| codes.iter().any(|codes| codes.contains(cell)))
    };
    let text = |codes: &[&[&str]; 3]| {
        let parts = ["read", "write", "discard"].iter().zip(codes).map(|(key, codes)| {
            let present: Vec<&str> =
                codes.iter().copied().filter(|code| cells.contains(code)).collect();
            if present.is_empty() { String::new() } else { format!(",{key}={}", present.join("|")) }
        });
        parts.collect::<String>()
    };
    let mut meanings: Vec<String> = CODES.iter().filter(fits).map(text).collect();
    meanings.dedup();
    meanings.extend(NVME.iter().find_map(|codes| of_nvme(&cells, codes)));
    meanings
}

/// Returns whether this part of a mapping has words for reads and for writes.
pub(super) fn has_both(words: &str) -> bool {
    [",read=", ",write="].iter().all(|key| words.contains(key))
}

/// Returns whether one of the cells is a known word.
pub(super) fn has_known<'a>(mut cells: impl Iterator<Item = &'a str>) -> bool {
    let words = Words::default();
    cells.any(|cell| words.meaning(cell.as_bytes()).is_some())
}

/// Returns what a mapping needs for codes of NVMe, in lower case: all codes, because discards and flushes may follow
/// after the head.
fn of_nvme(cells: &BTreeSet<&str>, codes: &[&str; 4]) -> Option<String> {
    let is_code =
        |cell: &&str| codes.iter().any(|codes| codes.split('|').any(|code| code == *cell));
    let [read, write, _, flush] = codes;
    let has = |codes: &str| codes.split('|').any(|code| cells.contains(code));
    // 0x0 and 0x1 alone may be flags.
    let is_certain = has(read) && has(write) || read.starts_with("0x") && !has(flush);
    let words = ["read", "write", "discard", "flush"].iter().zip(codes);
    let words = words.filter(|(_, codes)| !codes.is_empty());
    (is_certain && !cells.is_empty() && cells.iter().all(is_code))
        .then(|| words.map(|(key, codes)| format!(",{key}={codes}")).collect())
}

/// Like [`meanings`], for two unknown words, either of which may mean a read.
pub(super) fn meanings_of_two<'a>(cells: impl Iterator<Item = &'a str>) -> Vec<String> {
    let cells: BTreeSet<&str> = cells.collect();
    let vocabulary = Words::default();
    let is_word = |cell: &&str| {
        !cell.is_empty()
            && cell.chars().all(char::is_alphabetic)
            && vocabulary.meaning(cell.as_bytes()).is_none()
    };
    if cells.len() != 2 || !cells.iter().all(is_word) {
        return Vec::new();
    }
    let (first, second) = (cells.first().unwrap_or(&""), cells.last().unwrap_or(&""));
    let mut pairs = [(*first, *second), (*second, *first)];
    let resembles = |(read, write): &(&str, &str)| {
        words::meanings_of(read) == ["read"] || words::meanings_of(write) == ["write"]
    };
    pairs.sort_by_key(|words| !resembles(words));
    pairs.iter().map(|(read, write)| format!(",read={read},write={write}")).collect()
}

/// Returns what a mapping needs for a column such as `is_write`, whose name determines the meaning of 1 or true.
pub(super) fn meaning_of_flag<'a>(
    letters: &str,
    cells: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let (no, yes, op) = match letters {
        "iswrite" => ("read", "write", Op::Write),
        "isread" => ("write", "read", Op::Read),
        _ => return None,
    };
    let vocabulary = Words::default();
    let cells: BTreeSet<String> = cells.map(str::to_ascii_lowercase).collect();
    let is_flag = |cell: &String| NO.contains(&&cell[..]) || YES.contains(&&cell[..]);
    // The word for the operation may stand for yes. N is then no, although it is a write elsewhere.
    let is_op =
        |cell: &String| vocabulary.meaning(cell.as_bytes()) == Some(Meaning::Request(op, 0));
    // Later rows may have the opposite value.
    let pairs =
        NO.into_iter().zip(YES).filter(|(no, yes)| cells.contains(*no) || cells.contains(*yes));
    let (noes, yeses): (Vec<&str>, Vec<&str>) = pairs.unzip();
    let words = format!(",{no}={},{yes}={}", noes.join("|"), yeses.join("|"));
    let is_known = cells.iter().all(|cell| is_flag(cell) || is_op(cell));
    (is_known && !noes.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::meanings_of_two;

    #[test]
    fn of_two_words_the_one_with_a_verb_has_its_meaning_first() {
        let first = |words: [&'static str; 2]| meanings_of_two(words.into_iter()).remove(0);
        assert_eq!(first(["Foo", "ReadAhead"]), ",read=ReadAhead,write=Foo");
        assert_eq!(first(["Foo", "WriteBack"]), ",read=Foo,write=WriteBack");
    }
}
