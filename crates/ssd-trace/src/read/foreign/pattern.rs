//! Lines with a request, and the rows that a filter makes of them: the same in Perl and here.

use regex_lite::{Captures, Regex};

/// Longest line in which a request is looked for, bytes: on longer ones Perl may take minutes.
const LONGEST: usize = 2000;

/// A line with a request, and the row for it.
pub(super) struct Pattern<'a> {
    /// The first line of the table; empty if it has none.
    pub(super) title: &'a str,
    /// The line, in the syntax that Perl and [`Regex`] share.
    pub(super) request: &'a str,
    /// Groups of it, as in `$1`, and numbers that are calculated from them, as in `{$2 + 1}`.
    pub(super) row: &'a str,
}

/// A pattern in the syntax that Perl and [`Regex`] share.
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("it is a pattern")
}

/// What the pattern `request` finds in each line of the [`characters`] of a file.
pub(super) fn requests<'t>(request: &str, text: &'t str) -> Vec<Captures<'t>> {
    let request = pattern(request);
    let lines = text.split('\n').filter(|line| line.len() <= LONGEST);
    lines.filter_map(|line| request.captures(line)).collect()
}

/// The bytes of a file in which `with` replaces what the pattern `text` finds.
pub(super) fn replaced(
    bytes: &[u8],
    text: &str,
    with: impl FnMut(&Captures<'_>) -> String,
) -> Vec<u8> {
    bytes_of(&pattern(text).replace_all(&characters(bytes), with))
}

/// The text with a character for each byte, as Perl sees it.
pub(super) fn characters(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// The bytes for [`characters`].
pub(super) fn bytes_of(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect()
}

impl Pattern<'_> {
    /// The table of these [`requests`].
    pub(super) fn table(&self, requests: &[Captures<'_>]) -> Vec<u8> {
        let rows = requests.iter().map(|caught| filled(self.row, caught));
        let title = Some(self.title.to_owned()).filter(|title| !title.is_empty());
        let table: String = title.into_iter().chain(rows).map(|row| row + "\n").collect();
        bytes_of(&table)
    }

    /// The command that does so.
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

/// The `row` for a line.
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

/// The number that a calculation gives, as in `$1 + 1`.
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
