//! Notations of times that a filter rewrites, except dates.

use super::pattern::{pattern, replaced};
use super::table::Table;
use super::{Rewriting, by_line, filled_lines, notation};
use crate::read::guess::names::is_time;
use crate::read::guess::times::is_latency;

/// Pads the fractions of times in seconds and nanoseconds, or microseconds, without leading zeros. Such times are in
/// order as pairs, but not as decimals.
pub(super) fn with_padded_fractions(bytes: &[u8]) -> Option<Rewriting> {
    let is_part = |letter: char| letter == '.' || letter.is_ascii_digit();
    let parted = |line: &[u8]| {
        let text = std::str::from_utf8(line).ok()?;
        let word = text.trim_start_matches(|letter: char| !is_part(letter));
        let word = &word[..word.find(|letter| !is_part(letter)).unwrap_or(word.len())];
        let (seconds, rest) = word.split_once('.').filter(|(_, part)| part.len() <= 9)?;
        Some(((seconds.parse::<u64>().ok()?, rest.parse::<u64>().ok()?), word.to_owned()))
    };
    let (mut pairs, mut words) = (Vec::new(), Vec::new());
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match parted(line) {
            Some((pair, word)) => {
                pairs.push(pair);
                words.push(word);
            }
            None if line.ends_with(b"\n") => return None,
            None => {}
        }
    }
    let decimals: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
    if !pairs.is_sorted() || decimals?.is_sorted() {
        return None;
    }
    let of_unit = |unit: &str, digits: usize| {
        let padded = by_line(bytes, |line| {
            let ((seconds, rest), word) = parted(line)?;
            let text = String::from_utf8_lossy(line);
            Some(text.replacen(&word, &format!("{seconds}.{rest:0>digits$}"), 1).into_bytes())
        });
        let message = format!("its times are seconds and {unit}; add the zeros");
        let filter = format!(
            r#"perl -pe 's/(\d+)\.(\d{{1,{digits}}})/sprintf "%d.%0{digits}d", $1, $2/e' < FILE"#
        );
        notation(&message, &filter, bytes, padded)
    };
    let nanoseconds =
        || of_unit("nanoseconds without leading zeros, as blkparse -f %T.%t prints them", 9);
    if pairs.iter().any(|(_, rest)| *rest > 999_999) {
        return nanoseconds();
    }
    let microseconds = of_unit("microseconds without leading zeros", 6)?;
    // Within the first millisecond of a second, nanoseconds are also below a million.
    if pairs.first().map(|(seconds, _)| seconds) != pairs.last().map(|(seconds, _)| seconds) {
        return Some(microseconds);
    }
    let cases = ["the numbers behind the point are nanoseconds", "they are microseconds"];
    Some(nanoseconds()?.or(cases, microseconds, "put 6 in place of 9"))
}

/// Returns three numbers at `at` with one of the `marks` between them, and the position of their end.
pub(super) fn numbers_at(text: &[u8], mut at: usize, marks: &[u8]) -> Option<([u32; 3], usize)> {
    let mut numbers = [0; 3];
    for (index, number) in numbers.iter_mut().enumerate() {
        if index > 0 {
            text.get(at).filter(|byte| marks.contains(byte))?;
            at += 1;
        }
        let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        *number = std::str::from_utf8(&text[at..at + digits.min(4)]).ok()?.parse().ok()?;
        at += digits;
    }
    Some((numbers, at))
}

/// Days of January 2000, to which times without a date are moved.
const DAYS: i32 = 31;

/// Adds dates to times of day; the date changes after midnight.
pub(super) fn with_a_date(bytes: &[u8]) -> Option<Rewriting> {
    let (mut day, mut latest, mut last) = (1, None, 0);
    let rewritten = by_line(bytes, |line| {
        let starts = |at: usize| match line[..at] {
            [.., before, b' '] => !before.is_ascii_digit(),
            [.., before] => !before.is_ascii_digit() && !matches!(before, b':' | b'T'),
            [] => true,
        };
        let (at, hour) = (0..line.len()).filter(|&at| starts(at)).find_map(|at| {
            let ([hour, minute, second], _) = numbers_at(line, at, b":")?;
            let rest = format!(":{minute:02}:{second:02}");
            let is_time = [format!("{hour:02}{rest}"), format!("{hour}{rest}")]
                .iter()
                .any(|time| line[at..].starts_with(time.as_bytes()));
            is_time.then_some((at, hour))
        })?;
        // A request may be slightly late, before or after midnight. Hours from 24 up count without days.
        let before = latest.replace(hour).unwrap_or(hour);
        day += i32::from(hour + 12 < before) - i32::from(hour < 24 && hour > before + 12);
        let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let date = day + (hour / 24) as i32;
        last = last.max(date);
        let date = format!("2000-01-{date:02}T{:02}", hour % 24);
        Some([&line[..at], date.as_bytes(), &line[at + digits..]].concat())
    });
    let message =
        "its times of day have no date; put one before them (that of the next day after midnight)";
    let filter = concat!(
        r"perl -pe 's{(?<![\d:T])(?<!\d )(\d\d?|[1-9]\d{2,3})(?=:\d\d:\d\d)}{$h //= $1; ",
        r"$d += ($1 + 12 < $h) - ($1 < 24 && $1 > $h + 12); ",
        r#"$h = $1; sprintf "2000-01-%02dT%02d", $d + 1 + $1 / 24, $1 % 24}e' < FILE"#
    );
    (last <= DAYS).then(|| notation(message, filter, bytes, rewritten))?
}

/// Returns whether numbers are in order, and rise in at least half of the steps.
pub(super) fn is_rising<T: PartialOrd>(numbers: &[T]) -> bool {
    let steps = numbers.windows(2).filter(|pair| pair[0] < pair[1]).count();
    numbers.is_sorted() && 2 * steps >= numbers.len()
}

/// Converts times in minutes and seconds to times of day.
pub(super) fn with_hours(bytes: &[u8]) -> Option<Rewriting> {
    let time = r"(?m)(^|[\s,;|])(\d+):([0-5]\d(?:[.]\d+)?)([\s,;|]|$)";
    let mut times = Vec::new();
    let rewritten = replaced(bytes, time, |parts| {
        let minutes = parts[2].parse::<u64>().unwrap_or(0);
        times.push((minutes, parts[3].to_owned()));
        let (day, hour, minute) = (1 + minutes / 1440, minutes / 60 % 24, minutes % 60);
        format!("{}2000-01-{day:02}T{hour:02}:{minute:02}:{}{}", &parts[1], &parts[3], &parts[4])
    });
    let lines = filled_lines(bytes).count();
    // The first line may contain names.
    let is_on_every_line = times.len() == lines || times.len() + 1 == lines;
    let may_be_hours =
        times.iter().all(|(minutes, seconds)| *minutes < 24 && !seconds.contains('.'));
    let doubt =
        if may_be_hours { " (if they are hours and minutes, append :00 to each)" } else { "" };
    let message = format!("its times are minutes and seconds{doubt}; add hours and a date");
    let filter = format!(
        concat!(
            r"perl -pe 's{{{time}}}",
            r#"{{sprintf "%s2000-01-%02dT%02d:%02d:%s%s", $1, 1 + $2 / 1440, $2 / 60 % 24, $2 % 60, $3, $4}}e' < FILE"#
        ),
        time = time
    );
    // Device numbers (8:16) look like such times, but rarely rise from line to line.
    let are_times = is_on_every_line && is_rising(&times);
    let are_in_month = times.iter().all(|(minutes, _)| *minutes < DAYS as u64 * 1440);
    (are_times && are_in_month).then(|| notation(&message, &filter, bytes, rewritten))?
}

/// Removes colons after times in seconds, if most lines have one.
pub(super) fn without_colons(bytes: &[u8]) -> Vec<u8> {
    let mut count = 0;
    let rewritten = by_line(bytes, |line| {
        let is_end = |at: usize| matches!(line.get(at + 1), None | Some(b' ' | b'\n'));
        let is_time = |at: usize| {
            let digits = line[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let before = &line[..at - digits];
            digits > 0 && matches!(before, [.., b'0'..=b'9', b'.'])
        };
        let at = (0..line.len()).find(|&at| line[at] == b':' && is_end(at) && is_time(at))?;
        count += 1;
        Some([&line[..at], &line[at + 1..]].concat())
    });
    let lines = filled_lines(bytes).count();
    if 2 * count > lines { rewritten } else { bytes.to_vec() }
}

/// Converts durations such as `0 days 00:00:01.5`, as written by pandas, to seconds.
pub(super) fn with_seconds(bytes: &[u8]) -> Option<Rewriting> {
    let rewritten = by_line(bytes, |line| {
        let text = std::str::from_utf8(line).ok()?;
        let (before, after) = text.split_once(" days ")?;
        let start = before.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        let end = after.find(|letter: char| !letter.is_ascii_digit() && !":.".contains(letter));
        let (time, rest) = after.split_at(end.unwrap_or(after.len()));
        let mut parts = time.split(':');
        let mut number = || parts.next()?.parse::<u64>().ok().filter(|&number| number < 1 << 32);
        let (hours, minutes) = (number()?, number()?);
        let seconds = parts.next()?;
        let (integer, decimals) = seconds.split_once('.').unwrap_or((seconds, "0"));
        let days = before[start..].parse::<u64>().ok().filter(|&days| days < 1 << 32)?;
        let total =
            ((days * 24 + hours) * 60 + minutes) * 60 + u64::from(integer.parse::<u32>().ok()?);
        Some(format!("{}{total}.{decimals}{rest}", &before[..start]).into_bytes())
    });
    let message =
        "its times are durations in days, hours, minutes and seconds; convert them to seconds";
    let filter = concat!(
        r"perl -pe 's{(\d+) days (\d+):(\d+):(\d+)(?:[.](\d+))?}",
        r#"{(($1 * 24 + $2) * 60 + $3) * 60 + $4 . "." . ($5 // 0)}e' < FILE"#
    );
    notation(message, filter, bytes, rewritten)
}

/// Converts times of day with AM and PM to hours from 0 to 23.
pub(super) fn with_24_hours(bytes: &[u8]) -> Option<Rewriting> {
    let pattern = r"(\d+)(:\d\d:\d\d(?:[.]\d+)?) ?([AP])M\b";
    let rewritten = replaced(bytes, pattern, |time| {
        let hour: u64 = time[1].parse().unwrap_or(0);
        format!("{:02}{}", hour % 12 + if &time[3] == "P" { 12 } else { 0 }, &time[2])
    });
    let message = "its times have AM and PM; write hours from 0 to 23";
    let filter = concat!(
        r"perl -pe 's{(\d+)(:\d\d:\d\d(?:[.]\d+)?) ?([AP])M\b}",
        r#"{sprintf "%02d%s", $1 % 12 + 12 * ($3 eq "P"), $2}ge' < FILE"#
    );
    notation(message, filter, bytes, rewritten)
}

/// Removes the brackets around dates at the start of lines.
pub(super) fn without_brackets(bytes: &[u8]) -> Option<Rewriting> {
    const DATE: &str = r"^\[(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,]?(\d*)(Z|[+-]\d\d:?\d\d)?\] *";
    let message = "its dates are in brackets; remove the brackets";
    let filter = format!("perl -pe 's/{DATE}/$1T$2.${{3}}0$4 /' < FILE");
    let rewritten = replaced(bytes, &format!("(?m){DATE}"), |date| {
        let zone = date.get(4).map_or("", |zone| zone.as_str());
        format!("{}T{}.{}0{zone} ", &date[1], &date[2], &date[3])
    });
    notation(message, &filter, bytes, rewritten)
}

/// Removes the blank between times such as `0.001331 s` and their unit.
pub(super) fn with_adjacent_unit(bytes: &[u8]) -> Option<Rewriting> {
    let table = Table::of(bytes).filter(|table| table.separator != b' ')?;
    let times = pattern(r"^\d+(?:[.]\d+)? (?:s|ms|us|ns)$");
    let may_be_time = |at: &usize| {
        let name = &table.rows[0][*at];
        !table.has_names || is_time(name) && !is_latency(name)
    };
    let has_units = |at: &usize| table.body().iter().all(|row| times.is_match(&row[*at]));
    let at = (0..table.rows[0].len()).filter(may_be_time).find(has_units)?;
    let column = at + 1;
    let message =
        format!("a blank separates the times in its column {column} from their unit; remove it");
    let statement = format!("sub(/ /, \"\", ${column})");
    let header = usize::from(table.has_names);
    table.rewritten(&message, ["", &statement], None, |number, row| {
        if number >= header {
            row[at] = row[at].replacen(' ', "", 1);
        }
    })
}
