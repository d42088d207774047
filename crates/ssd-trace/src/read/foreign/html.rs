//! Pages of HTML.

use super::pattern::replaced;
use super::{Rewriting, notation};

/// What is replaced, in the syntax that Perl and Rust share, and with what: the rows of a table become lines.
const STEPS: [(&str, &str); 5] = [
    (r"(?si)<head\b.*?</head>", ""),
    (r"(?i)</t[dh]>\s*<t[dh]\b[^>]*>", ","),
    (r"(?i)</tr>", r"\n"),
    (r"<[^>]*>", ""),
    (r"(?m)^\s*\n", ""),
];
/// How pages begin, in lower case.
const STARTS: [&[u8]; 4] = [b"<!doctype html", b"<html", b"<table", b"<pre"];

/// Whether `bytes` begin a page.
pub(super) fn is_page(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    STARTS
        .iter()
        .any(|name| start.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
}

/// The text of a page.
pub(super) fn without_tags(bytes: &[u8]) -> Option<Rewriting> {
    if !is_page(bytes) {
        return None;
    }
    let text = STEPS.iter().fold(bytes.to_vec(), |text, (pattern, with)| {
        replaced(&text, pattern, |_| with.replace(r"\n", "\n"))
    });
    let steps = STEPS.map(|(pattern, with)| format!("s{{{pattern}}}{{{with}}}g"));
    let filter = format!("perl -0777 -pe '{}' < FILE", steps.join("; "));
    notation("the file is HTML; keep its text", &filter, bytes, text)
}
