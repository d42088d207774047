//! Lines with a request, and the rows that a filter makes of them, with the same result in Perl and here.

use regex_lite::{Captures, Regex};

/// Maximum length of a line that is searched for a request, bytes; Perl may take minutes for longer lines.
const LONGEST: usize = 2000;

/// A line with a request, and its row.
pub(super) struct Pattern<'a> {
    /// The first line of the table; empty if it has no names.
    pub(super) title: &'a str,
    /// The line, in the syntax common to Perl and [`Regex`].
    pub(super) request: &'a str,
    /// Groups of the line, as in `$1`, and calculated numbers, as in `{$2 + 1}`.
    pub(super) row: &'a str,
}

/// Compiles a pattern in the syntax common to Perl and [`Regex`].
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("it is a pattern")
}

/// Returns the matches of the pattern `request` in the lines of the [`characters`] of a file.
pub(super) fn requests<'t>(request: &str, text: &'t str) -> Vec<Captures<'t>> {
    let request = pattern(request);
    let lines = text.split('\n').filter(|line| line.len() <= LONGEST);
    lines.filter_map(|line| request.captures(line)).collect()
}

/// Returns the bytes of a file after `with` has replaced the matches of the pattern `text`.
pub(super) fn replaced(
    bytes: &[u8],
    text: &str,
    with: impl FnMut(&Captures<'_>) -> String,
) -> Vec<u8> {
    bytes_of(&pattern(text).replace_all(&characters(bytes), with))
}

/// Returns the text with a character for each byte, as Perl sees it.
pub(super) fn characters(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// Returns the bytes for [`characters`].
pub(super) fn bytes_of(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect()
}

impl Pattern<'_> {
    /// Returns the table of these [`requests`].
    pub(super) fn table(&self, requests: &[Captures<'_>]) -> Vec<u8> {
        let rows = requests.iter().map(|caught| filled(self.row, caught));
        let title = Some(self.title.to_owned()).filter(|title| !title.is_empty());
        let table: String = title.into_iter().chain(rows).map(|row| row + "\n").collect();
        bytes_of(&table)
    }

    /// Returns the command that writes this table.
    pub(super) fn filter(&self) -> String {
        let title = match self.title {
            "" => String::new(),
            title => format!(r#"BEGIN {{ print "{title}\n" }} "#),
        };
        let row = self.row.replace('{', "@{[").replace('}', "]}");
        let request = self.request;
        format!(
            r#"perl -ne '{title}length() <= {LONGEST} and /{request}/ and print "{row}\n"' < FILE"#
        )
    }
}

/// Returns the `row` for a line.
fn filled(row: &str, caught: &Captures<'_>) -> String {
    let mut done = String::new();
    let mut rest = row;
    while let Some(start) = rest.find(['$', '{']) {
        done += &rest[..start];
        if let Some(inner) = rest[start..].strip_prefix('{') {
            let (calculation, after) = inner.split_once('}').unwrap_or((inner, ""));
            done += &calculated(calculation, caught).to_string();
            rest = after;
        } else {
            let (group, after) = rest[start + 1..].split_at(1);
            done += caught.get(group.parse().unwrap_or(0)).map_or("", |part| part.as_str());
            rest = after;
        }
    }
    done + rest
}

/// Returns the result of a calculation, as in `$1 + 1`.
fn calculated(calculation: &str, caught: &Captures<'_>) -> u64 {
    let number = |word: &str| {
        let group = word.strip_prefix('$').and_then(|group| group.parse().ok());
        let word = group.and_then(|group| caught.get(group)).map_or(word, |part| part.as_str());
        word.parse::<u64>().unwrap_or(0)
    };
    match calculation.split(' ').collect::<Vec<&str>>()[..] {
        [left, "+", right] => number(left).saturating_add(number(right)),
        [left, "-", right] => number(left).saturating_sub(number(right)),
        [left, "&", right] => number(left) & number(right),
        _ => 0,
    }
}
