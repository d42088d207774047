//! Pages of HTML.

use super::pattern::{bytes_of, characters};
use super::{Rewriting, notation};
use regex_lite::Regex;

/// Elements with which a page begins, or of which it consists.
const ELEMENTS: &str = r"(?i)<(!doctype +html|html|table|pre|style)[\s>]";
/// Bytes among which one of them is searched.
const START: usize = 4096;

/// Whether `bytes` begin a page.
pub(super) fn is_page(bytes: &[u8]) -> bool {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let start = &start[..start.len().min(START)];
    start.starts_with(b"<") && pattern(ELEMENTS).is_match(&characters(start))
}

/// The rows of the tables in a page.
pub(super) fn with_rows(bytes: &[u8]) -> Option<Rewriting> {
    let page = is_page(bytes).then(|| characters(bytes))?;
    let (row, end, cell, tag, blanks) = (
        pattern(r"(?i)<tr\b"),
        pattern(r"(?si)</table.*"),
        pattern(r"(?i)<t[dh]\b[^>]*>"),
        pattern(r"<[^>]*>"),
        pattern(r"\s+"),
    );
    let text = |cell: &str| {
        let text = tag.replace_all(cell, "");
        blanks.replace_all(text.trim_ascii(), " ").into_owned()
    };
    let cells = |row: &str| -> Vec<String> {
        let row = end.replace(row, "");
        cell.split(&row).skip(1).map(text).collect()
    };
    let rows = row.split(&page).map(cells).filter(|cells| !cells.is_empty());
    let rows: String = rows.map(|cells| cells.join("\t") + "\n").collect();
    let filter = concat!(
        r#"perl -0777 -ne 'for (split /<tr\b/i) { s{</table.*}{}si; my @c = split /<t[dh]\b[^>]*>/i; shift @c; "#,
        r#"s/<[^>]*>//g, s/^\s+|\s+$//g, s/\s+/ /g for @c; print join("\t", @c), "\n" if @c }' < FILE"#
    );
    let what = "the file is a page of HTML; extract the rows of its tables";
    (!rows.is_empty()).then(|| notation(what, filter, bytes, bytes_of(&rows)))?
}

/// The lines of printed text in a page.
pub(super) fn with_lines(bytes: &[u8]) -> Option<Rewriting> {
    let page = is_page(bytes).then(|| characters(bytes))?;
    let printed = pattern(r"(?si)<pre\b[^>]*>(.*?)(?:</pre>|$)");
    let tag = pattern(r"</?[A-Za-z][^<>]*>");
    let lines: String = printed
        .captures_iter(&page)
        .map(|text| tag.replace_all(&text[1], "").trim_start_matches('\n').to_owned())
        .collect();
    let filter = concat!(
        r#"perl -0777 -ne 'while (m{<pre\b[^>]*>(.*?)(?:</pre>|$)}gsi) { my $t = $1; "#,
        r#"$t =~ s{</?[A-Za-z][^<>]*>}{}g; $t =~ s/^\n+//; print $t }' < FILE"#
    );
    let what = "the file is a page of HTML; extract its printed text";
    (!lines.is_empty()).then(|| notation(what, filter, bytes, bytes_of(&lines)))?
}

/// A pattern in the syntax that Perl and [`Regex`] share.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("it is a pattern")
}
