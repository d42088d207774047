//! Single quotes around the cells of a table, and unusual separators between them.

use super::pattern::{characters, pattern, replaced};
use super::{Rewriting, filled_lines, notation};
use crate::read::formats::mapping::{Words, separated};

/// Separators that only a mapping can select, longer ones first. A colon also occurs in times.
const SEPARATORS: [&str; 17] = [
    "::", "->", "=>", "~", "^", "!", "*", "&", "#", "@", "%", "$", "\\", "\x01", "\x02", "\x1f",
    ":",
];
/// Minimum number of separators on a line.
const FEWEST: usize = 3;

/// Removes single quotes around cells if every line below the first has a number or an operation in such quotes.
pub(crate) fn without_single_quotes(bytes: &[u8]) -> Option<Rewriting> {
    let quoted = r"'[^',;|\t]*'";
    let line = pattern(&format!(
        r"^(?:[^']*[,;|\t ])?{quoted}(?:[,;|\t ](?:[^']*[,;|\t ])?{quoted})*(?:[,;|\t ][^']*)?\r?$"
    ));
    let cell = pattern(quoted);
    let is_field = |cell: &str| {
        let inner = cell.trim_matches('\'').trim();
        inner.parse::<f64>().is_ok() || Words::default().meaning(inner.as_bytes()).is_some()
    };
    let is_quoted = |text: &[u8]| {
        let text = characters(text);
        line.is_match(&text) && cell.find_iter(&text).any(|cell| is_field(cell.as_str()))
    };
    let mut rows = filled_lines(bytes).skip(1).peekable();
    let is_known = rows.peek().is_some() && rows.all(is_quoted);
    let plain = || bytes.iter().copied().filter(|&byte| byte != b'\'').collect();
    let message = "its cells are in single quotes; remove the quotes";
    is_known.then(|| notation(message, "tr -d \"'\" < FILE", bytes, plain()))?
}

/// Replaces the separator of a table by commas if only a mapping can name it.
pub(crate) fn with_commas(bytes: &[u8]) -> Option<Rewriting> {
    let mark = other_separator(bytes)?;
    let rewritten = std::str::from_utf8(bytes).ok()?.replace(mark, ",");
    let filter = match mark.as_bytes() {
        [byte @ ..0x20] => format!(r"tr '\{byte:03o}' , < FILE"),
        [b'\\'] => r"tr '\\' , < FILE".to_owned(),
        [_] => format!("tr '{mark}' , < FILE"),
        _ => format!("sed 's/{mark}/,/g' FILE"),
    };
    let message = format!("its cells are separated by {}; replace it with a comma", shown(mark));
    notation(&message, &filter, bytes, rewritten.into_bytes())
}

/// Returns the separator of a table in the notation of a mapping, and a description, if only a mapping can name it.
pub(crate) fn separator(bytes: &[u8]) -> Option<(String, String)> {
    let mark = other_separator(bytes).filter(|mark| mark.len() == 1)?;
    let name =
        if mark == "\\" { mark.to_owned() } else { mark.as_bytes().escape_ascii().to_string() };
    Some((format!("separator={name}"), shown(mark)))
}

fn shown(mark: &str) -> String {
    if mark == "\\" {
        format!("\"{mark}\"")
    } else {
        format!("\"{}\"", mark.as_bytes().escape_ascii())
    }
}

/// Returns the separator of numbers and words that occurs equally often on all lines, if there is no usual separator.
fn other_separator(bytes: &[u8]) -> Option<&'static str> {
    let lines = filled_lines(bytes).map(|line| std::str::from_utf8(line).ok());
    let lines: Vec<&str> = lines.collect::<Option<Vec<&str>>>()?;
    let clock = pattern(r"\d:\d\d:\d\d");
    let has_others =
        |line: &&str| line.contains([',', '"']) || separated(line.as_bytes()).is_some();
    if lines.len() < 3 || lines.iter().any(has_others) {
        return None;
    }
    let is_row = |mark: &str, line: &str| {
        let cells = || line.split(mark).map(str::trim);
        let is_word =
            |cell: &str| !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_alphabetic());
        let numbers = cells().filter(|cell| cell.parse::<f64>().is_ok()).count();
        numbers > 1 && cells().any(is_word) && !(mark == ":" && clock.is_match(line))
    };
    let is_separator = |mark: &&str| {
        let count = lines[0].matches(mark).count();
        count >= FEWEST
            && lines.iter().all(|line| line.matches(mark).count() == count)
            && lines[1..].iter().all(|line| is_row(mark, line))
    };
    SEPARATORS.into_iter().find(is_separator)
}

/// Rewrites devices in brackets as 8:16, because their comma also separates cells.
pub(super) fn with_devices(bytes: &[u8]) -> Option<Rewriting> {
    const DEVICE: &str = r"(?m)(^|,) *\((\d+), *(\d+)\) *(,|\r?$)";
    let text = characters(bytes);
    let count = pattern(DEVICE).find_iter(&text).count();
    let first = pattern(DEVICE).captures(&text)?;
    let (major, minor) = (&first[2], &first[3]);
    let message = format!(
        "its devices, such as ({major},{minor}), contain the comma that separates its cells; write them with a colon"
    );
    let filter = r"perl -pe 's/\((\d+), *(\d+)\)/$1:$2/' < FILE";
    let rewritten = replaced(bytes, DEVICE, |part| {
        format!("{}{}:{}{}", &part[1], &part[2], &part[3], &part[4])
    });
    (count + 1 >= filled_lines(bytes).count() && count > 1)
        .then(|| notation(&message, filter, bytes, rewritten))?
}
