//! HTML pages.

use super::pattern::{bytes_of, characters, pattern};
use super::{Rewriting, notation};

/// Tags of which the start of an HTML page has at least one.
const ELEMENTS: &str = r"(?i)<(!doctype +html|html|table|pre|style)[\s>]";
/// Bytes that are searched for these tags.
const START: usize = 4096;

/// Returns whether `bytes` begin a page.
pub(super) fn is_page(bytes: &[u8]) -> bool {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let start = &start[..start.len().min(START)];
    start.starts_with(b"<") && pattern(ELEMENTS).is_match(&characters(start))
}

/// Extracts the rows of the tables in a page.
pub(super) fn html_tables(bytes: &[u8]) -> Option<Rewriting> {
    let page = is_page(bytes).then(|| characters(bytes))?;
    let row = pattern(r"(?i)<tr\b");
    let after_table = pattern(r"(?si)</table.*");
    let cell = pattern(r"(?i)<t[dh]\b[^>]*>");
    let tag = pattern(r"<[^>]*>");
    let blanks = pattern(r"\s+");
    let text_of = |html: &str| {
        let text = tag.replace_all(html, "");
        blanks.replace_all(text.trim_ascii(), " ").into_owned()
    };
    let cells_of = |html: &str| -> Vec<String> {
        cell.split(&after_table.replace(html, "")).skip(1).map(text_of).collect()
    };
    let rows = row.split(&page).map(cells_of).filter(|cells| !cells.is_empty());
    let rows: String = rows.map(|cells| cells.join("\t") + "\n").collect();
    let filter = concat!(
        r#"perl -0777 -ne 'for (split /<tr\b/i) { s{</table.*}{}si; my @c = split /<t[dh]\b[^>]*>/i; shift @c; "#,
        r#"s/<[^>]*>//g, s/^\s+|\s+$//g, s/\s+/ /g for @c; print join("\t", @c), "\n" if @c }' < FILE"#
    );
    let message = "the file is an HTML page; extract the rows of its tables";
    (!rows.is_empty()).then(|| notation(message, filter, bytes, bytes_of(&rows)))?
}

/// Extracts the preformatted text in a page.
pub(super) fn preformatted_text(bytes: &[u8]) -> Option<Rewriting> {
    let page = is_page(bytes).then(|| characters(bytes))?;
    let preformatted = pattern(r"(?si)<pre\b[^>]*>(.*?)(?:</pre>|$)");
    let tag = pattern(r"</?[A-Za-z][^<>]*>");
    let lines: String = preformatted
        .captures_iter(&page)
        .map(|text| tag.replace_all(&text[1], "").trim_start_matches('\n').to_owned())
        .collect();
    let filter = concat!(
        r#"perl -0777 -ne 'while (m{<pre\b[^>]*>(.*?)(?:</pre>|$)}gsi) { my $t = $1; "#,
        r#"$t =~ s{</?[A-Za-z][^<>]*>}{}g; $t =~ s/^\n+//; print $t }' < FILE"#
    );
    let message = "the file is an HTML page; extract its preformatted text";
    (!lines.is_empty()).then(|| notation(message, filter, bytes, bytes_of(&lines)))?
}
