//! Units in comments above the column names, as in `# offset and size in 4 KiB pages, time in ms`.

use super::names::{is_address, is_length, is_time};

/// Units of the columns, as far as comments state them.
#[derive(Default, Clone, Copy)]
pub(super) struct StatedUnits {
    pub(super) time: Option<&'static str>,
    pub(super) offset: Option<&'static str>,
    pub(super) size: Option<&'static str>,
}

/// Separators between the columns in a comment and their unit.
const MARKS: [&str; 4] = [" in ", ": ", "=", " are "];

/// Units of time, each with its words.
const TIMES: [(&str, &[&str]); 5] = [
    ("100ns", &["100ns", "100 ns", "filetime"]),
    ("ns", &["ns", "nanosecond"]),
    ("us", &["us", "µs", "microsecond"]),
    ("ms", &["ms", "millisecond"]),
    ("s", &["s", "sec", "second"]),
];
/// Units of addresses and lengths, each with its words.
const RANGES: [(&str, &[&str]); 5] = [
    ("4KiB", &["4 kib", "4kib", "4 kb", "4kb", "4k", "4096-byte", "4096 byte", "page"]),
    ("512B", &["512b", "512 b", "512-byte", "512 byte", "sector"]),
    ("1KiB", &["kib", "kb", "kilobyte"]),
    ("1MiB", &["mib", "mb", "megabyte"]),
    ("B", &["byte", "b"]),
];

/// Returns the unit at the start of `text`.
fn unit_of(text: &str, units: &[(&'static str, &[&str])]) -> Option<&'static str> {
    let is = |word: &&str| {
        text.strip_prefix(*word).is_some_and(|rest| {
            let rest = rest.strip_prefix('s').unwrap_or(rest);
            !rest.starts_with(|next: char| next.is_alphanumeric())
        })
    };
    units.iter().find(|(_, words)| words.iter().any(is)).map(|&(unit, _)| unit)
}

/// Returns the units that the comments among `lines` state.
pub(super) fn stated_units(lines: &[&[u8]]) -> StatedUnits {
    let mut stated = StatedUnits::default();
    for line in lines.iter().filter(|line| line.starts_with(b"#")) {
        let text = String::from_utf8_lossy(line).to_lowercase();
        for clause in text.split([',', ';', '.', '(', ')', '#']) {
            let parts = MARKS.iter().find_map(|mark| clause.split_once(mark));
            let Some((subject, unit)) = parts else { continue };
            let unit = unit.trim_start();
            for word in subject.split(|letter: char| !letter.is_alphanumeric()) {
                if is_time(word) {
                    stated.time = stated.time.or(unit_of(unit, &TIMES));
                } else if is_address(word) || is_address(word.trim_end_matches('s')) {
                    stated.offset = stated.offset.or(unit_of(unit, &RANGES));
                } else if is_length(word) || is_length(word.trim_end_matches('s')) {
                    stated.size = stated.size.or(unit_of(unit, &RANGES));
                }
            }
        }
    }
    stated
}

#[cfg(test)]
mod tests {
    use super::stated_units;

    #[test]
    fn comments_state_units() {
        for (comment, expected) in [
            (
                "# offset and size in 4 KiB pages, time in ms",
                (Some("ms"), Some("4KiB"), Some("4KiB")),
            ),
            ("# time: us; offset: sectors; size: bytes", (Some("us"), Some("512B"), Some("B"))),
            ("# times are seconds", (Some("s"), None, None)),
            ("# timestamp in nanoseconds", (Some("ns"), None, None)),
            ("# lba in 512-byte sectors, length in KB", (None, Some("512B"), Some("1KiB"))),
            ("# recorded in May", (None, None, None)),
        ] {
            let stated = stated_units(&[comment.as_bytes()]);
            assert_eq!((stated.time, stated.offset, stated.size), expected, "{comment}");
        }
    }
}
