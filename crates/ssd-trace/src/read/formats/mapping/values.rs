//! Values of cells: numbers, times, and numbers in binary records.

use crate::read::formats::cursor::{Cursor, TOO_LATE};
use std::borrow::Cow;

/// A number in a binary record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number {
    bytes: u8,
    signed: bool,
    big: bool,
}

impl Number {
    /// Parses `u8` to `i64`, followed by `be` if the highest byte comes first.
    pub(super) fn named(name: &str) -> Option<Number> {
        let (name, big) = name.strip_suffix("be").map_or((name, false), |rest| (rest, true));
        let (signed, bits) = match name.strip_prefix('i') {
            Some(bits) => (true, bits),
            None => (false, name.strip_prefix('u')?),
        };
        let bytes = match bits {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            _ => return None,
        };
        Some(Number { bytes, signed, big })
    }

    /// Returns the names, for messages.
    pub(super) const fn names() -> &'static str {
        "u8, u16, u32, u64, i8, i16, i32, i64, followed by `be` if the highest byte comes first"
    }

    /// Returns its length, bytes.
    pub(crate) fn bytes(self) -> usize {
        usize::from(self.bytes)
    }

    /// Returns the value at `at` of a record, which contains it; `None` if it is negative.
    pub(crate) fn read(self, record: &[u8], at: usize) -> Option<u64> {
        let bytes = &record[at..at + self.bytes()];
        let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        let value =
            if self.big { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) };
        (!self.signed || value >> (8 * u32::from(self.bytes) - 1) == 0).then_some(value)
    }
}

/// Number of digits that no program rounds.
const ALL_DIGITS: usize = 15;

/// Number of digits that awk and `%g` print.
const DIGITS_OF_AWK: usize = 6;

/// Returns whether `text` is a number rounded by a spreadsheet, such as 1.28166E+17, and not one with all its digits.
/// Programs that print a lower-case e print all digits, except awk and `%g`.
pub(crate) fn is_rounded(text: &[u8]) -> bool {
    let Some(at) = text.iter().position(|byte| matches!(byte, b'e' | b'E')) else { return false };
    let (digits, exponent) = (&text[..at], &text[at + 1..]);
    let exponent = exponent.strip_prefix(b"+").unwrap_or(exponent);
    let number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let mark = digits.iter().position(|byte| matches!(byte, b'.' | b','));
    let decimals = mark.map_or(0, |mark| digits.len() - mark - 1);
    let all_digits: Vec<u8> = digits.iter().filter(|byte| byte.is_ascii_digit()).copied().collect();
    let marks = usize::from(mark.is_some());
    let is_exact = |exponent: usize| exponent <= decimals || all_digits.len() >= ALL_DIGITS;
    let is_short = text[at] == b'E' || all_digits.len() == DIGITS_OF_AWK;
    // Otherwise, digits around an E are a hexadecimal number.
    let is_decimal = mark.is_some() || text.contains(&b'+');
    number(exponent)
        && is_short
        && is_decimal
        && exponent.len() <= 2
        && number(&all_digits)
        && all_digits.len() + marks == digits.len()
        && !std::str::from_utf8(exponent).is_ok_and(|text| text.parse().is_ok_and(is_exact))
}

/// The message for such a number.
pub(crate) const ROUNDED: &str =
    "a number with all its digits: a spreadsheet has rounded it, and the rest is lost";

/// Parses a whole number, decimal or hexadecimal after `0x`, perhaps followed by decimals of 0.
pub(crate) fn whole(text: &[u8], expected: &'static str) -> Result<u64, Cow<'static, str>> {
    let fail = || if is_rounded(text) { ROUNDED.into() } else { expected.into() };
    if let Some(digits) = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")) {
        let digits =
            std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit));
        return digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(fail);
    }
    let (integer, rest) = digits(text).ok_or_else(fail)?;
    match rest {
        [] => {}
        [b'.', zeros @ ..] if zeros.iter().all(|byte| *byte == b'0') => {}
        _ => return Err(fail()),
    }
    integer.ok_or(Cow::Borrowed("a number below 2^64"))
}

/// Returns the number at the start of `text`, and the rest; `None` without a digit, `Some((None, _))` if it is too
/// large.
fn digits(text: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let mut cursor = Cursor { line: text, at: 0 };
    let value = cursor.value("").ok();
    (cursor.at > 0).then(|| (value, &text[cursor.at..]))
}

/// Parses a calendar date with a time of day, such as "2016-02-22 17:03:00.123" or "2016-02-22T17:03:00+01:00", to
/// nanoseconds since 1970; UTC without a zone. Returns `None` for other texts, and before 1970.
pub(crate) fn date(text: &[u8]) -> Option<u64> {
    const DAY: u64 = 86_400;
    let mut cursor = Cursor { line: text, at: 0 };
    let [year, month, day] = fields(&mut cursor, [4, 2, 2], b'-')?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before: u64 = days_of.get(..usize::try_from(month).ok()?.checked_sub(1)?)?.iter().sum();
    let length = *days_of.get(month as usize - 1)?;
    if year < 1970 || !(1..=length).contains(&day) || !matches!(cursor.peek(), Some(b' ' | b'T')) {
        return None;
    }
    cursor.at += 1;
    let [hour, minute, second] = fields(&mut cursor, [2, 2, 2], b':')?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = fraction(&mut cursor)?;
    let east = zone(&text[cursor.at..])?;
    // Every fourth year is a leap year, except three in 400 years; 1970 is 477 leap days after year 1.
    let past_years = year - 1;
    let days = (year - 1970) * 365 + past_years / 4 - past_years / 100 + past_years / 400 - 477
        + before
        + day
        - 1;
    let seconds = days * DAY + hour * 3600 + minute * 60 + second;
    seconds.checked_add_signed(-east)?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Units in durations, the longer ones first, in nanoseconds.
const DURATION_UNITS: [(&str, u64); 8] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("\u{b5}s", 1000),
    ("\u{3bc}s", 1000),
    ("ns", 1),
];

/// Parses a duration with its units, longer ones first, such as "1.46s" or "2m3.5s", or 0, to nanoseconds. Returns
/// `None` for other texts.
fn duration(text: &[u8]) -> Option<u64> {
    if text == b"0" {
        return Some(0);
    }
    let mut rest = std::str::from_utf8(text).ok().filter(|text| !text.is_empty())?;
    let (mut ns, mut longer) = (0u64, u64::MAX);
    while !rest.is_empty() {
        let number =
            rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let name = number.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let (unit, value) =
            (&number[..number.len() - name.len()], &rest[..rest.len() - number.len()]);
        let (_, unit_ns) = DURATION_UNITS.iter().find(|(name, _)| *name == unit)?;
        if *unit_ns >= longer {
            return None;
        }
        ns = ns.checked_add(time(value.as_bytes(), *unit_ns).ok()?)?;
        (rest, longer) = (name, *unit_ns);
    }
    Some(ns)
}

/// Parses a time with its unit to nanoseconds: a [`date`], or a duration such as "1.46s".
pub(crate) fn stated_time(text: &[u8]) -> Option<u64> {
    date(text).or_else(|| duration(text))
}

/// Reads three numbers with these counts of digits, with a separator between them.
fn fields(cursor: &mut Cursor<'_>, digits: [usize; 3], separator: u8) -> Option<[u64; 3]> {
    let mut values = [0; 3];
    for (at, value) in values.iter_mut().enumerate() {
        if at > 0 {
            cursor.byte(separator, "").ok()?;
        }
        let (number, length) = cursor.number("").ok()?;
        *value = Some(number).filter(|_| length == digits[at])?;
    }
    Some(values)
}

/// Returns the nanoseconds of the decimals of a second, if any; digits below a nanosecond are dropped.
fn fraction(cursor: &mut Cursor<'_>) -> Option<u64> {
    if !matches!(cursor.peek(), Some(b'.' | b',')) {
        return Some(0);
    }
    let start = cursor.at + 1;
    cursor.at = start;
    cursor.digits("").ok()?;
    let decimals = cursor.line[start..cursor.at].iter().chain(std::iter::repeat(&b'0')).take(9);
    Some(decimals.fold(0, |ns, byte| 10 * ns + u64::from(byte - b'0')))
}

/// Returns the seconds by which a zone is ahead of UTC: "Z", "+01:00", "+0100", "+01" or nothing.
fn zone(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text {
        [] | [b'Z'] | [b' ', b'U', b'T', b'C'] => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let two = |pair: &[u8]| match pair {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(i64::from((tens - b'0') * 10 + ones - b'0'))
        }
        _ => None,
    };
    let (hours, minutes) = match digits.len() {
        2 => (two(digits)?, 0),
        4 => (two(&digits[..2])?, two(&digits[2..])?),
        5 if digits[2] == b':' => (two(&digits[..2])?, two(&digits[3..])?),
        _ => return None,
    };
    (hours < 15 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Parses a time in units of `unit_ns` nanoseconds, decimal or, after 0x, hexadecimal; digits below a nanosecond are
/// dropped.
pub(crate) fn time(text: &[u8], unit_ns: u64) -> Result<u64, Cow<'static, str>> {
    let fail = || {
        if is_rounded(text) {
            ROUNDED.into()
        } else {
            "the time, a number that is not negative".into()
        }
    };
    let late = || Cow::Borrowed(TOO_LATE);
    if text.starts_with(b"0x") || text.starts_with(b"0X") {
        return whole(text, "the time")?.checked_mul(unit_ns).ok_or_else(late);
    }
    let (integer, rest) = digits(text).ok_or_else(fail)?;
    let mut ns = integer.and_then(|integer| integer.checked_mul(unit_ns)).ok_or_else(late)?;
    let decimals = match rest {
        [] => return Ok(ns),
        [b'.', decimals @ ..] if decimals.iter().all(u8::is_ascii_digit) => decimals,
        _ => return Err(fail()),
    };
    let mut worth = unit_ns;
    let mut rest = 0;
    for byte in decimals {
        // 100 ns have two decimals of whole nanoseconds, a second has nine; further digits are below a nanosecond.
        if worth < 10 {
            break;
        }
        worth /= 10;
        rest += u64::from(byte - b'0') * worth;
    }
    ns = ns.checked_add(rest).ok_or_else(late)?;
    Ok(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_cells_are_exact() {
        for (text, value) in [
            ("0", Some(0)),
            ("4096.0", Some(4096)),
            ("4096.", Some(4096)),
            ("0x1f", Some(31)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("4096.5", None),
            ("-1", None),
            ("1,024", None),
            ("", None),
            ("0x", None),
            ("nan", None),
        ] {
            assert_eq!(whole(text.as_bytes(), "x").ok(), value, "{text}");
        }
        assert_eq!(whole(b"1.2E+17", "x").unwrap_err(), ROUNDED);
    }

    #[test]
    fn times_of_cells_are_exact_down_to_a_nanosecond() {
        let second = 1_000_000_000;
        for (text, unit, ns) in [
            ("1.5", second, Some(1_500_000_000)),
            ("0.0000000019", second, Some(1)),
            ("1577808000.123456789123", second, Some(1_577_808_000_123_456_789)),
            ("3.25", 100, Some(325)),
            ("7", 1, Some(7)),
            ("7.9", 1, Some(7)),
            ("12.0015", 1_000_000, Some(12_001_500)),
            ("18446744074", second, None),
            ("-1", second, None),
            ("1.2.3", second, None),
            ("1e5", second, None),
            (".5", second, None),
        ] {
            assert_eq!(time(text.as_bytes(), unit).ok(), ns, "{text}");
        }
    }

    #[test]
    fn durations_have_their_units() {
        for (text, ns) in [
            ("1.46s", Some(1_460_000_000)),
            ("300ms", Some(300_000_000)),
            ("12.5us", Some(12_500)),
            ("12.5\u{b5}s", Some(12_500)),
            ("7ns", Some(7)),
            ("1h2m3.5s", Some(3_723_500_000_000)),
            ("0s", Some(0)),
            ("0", Some(0)),
            ("1.46", None),
            ("1s1s", None),
            ("3s1h", None),
            ("s", None),
            ("", None),
            ("1.46 s", None),
            ("-1s", None),
            ("1s5", None),
            ("18446744074s", None),
            ("4KiB", None),
        ] {
            assert_eq!(stated_time(text.as_bytes()), ns, "{text}");
        }
    }

    #[test]
    fn dates_are_nanoseconds_since_1970() {
        let second = |seconds: u64| Some(seconds * 1_000_000_000);
        for (text, ns) in [
            ("1970-01-01 00:00:00", Some(0)),
            ("1970-01-01 00:00:00.0000000019", Some(1)),
            ("2016-02-22 17:03:00.123", Some(1_456_160_580_123_000_000)),
            ("2016-02-22T17:03:00,123Z", Some(1_456_160_580_123_000_000)),
            ("2016-02-22T18:03:00+01:00", second(1_456_160_580)),
            ("2016-02-22T11:33:00-0530", second(1_456_160_580)),
            ("2000-02-29 00:00:00", second(951_782_400)),
            ("2000-03-01 00:00:00 UTC", second(951_868_800)),
            ("2100-02-28 23:59:59", second(4_107_542_399)),
            ("2100-02-29 00:00:00", None),
            ("2015-02-29 00:00:00", None),
            ("2016-13-01 00:00:00", None),
            ("2016-00-01 00:00:00", None),
            ("2016-01-00 00:00:00", None),
            ("2016-01-01 24:00:00", None),
            ("2016-01-01 00:60:00", None),
            ("2016-01-01 00:00:60", None),
            ("2016-01-01", None),
            ("16-01-01 00:00:00", None),
            ("2016-1-1 00:00:00", None),
            ("2016-01-01 00:00:00.", None),
            ("2016-01-01 00:00:00+1", None),
            ("2016-01-01 00:00:00 CET", None),
            ("1969-12-31 23:59:59", None),
            ("1970-01-01 00:00:00+01:00", None),
            ("9999-01-01 00:00:00", None),
            ("", None),
            ("1456160580", None),
        ] {
            assert_eq!(date(text.as_bytes()), ns, "{text}");
        }
    }

    #[test]
    fn binary_numbers_have_an_order_and_a_sign() {
        let record = [0x01, 0x02, 0xff, 0xff];
        let read = |name: &str, at| Number::named(name).unwrap().read(&record, at);
        assert_eq!((read("u16", 0), read("u16be", 0)), (Some(0x0201), Some(0x0102)));
        assert_eq!((read("i16", 2), read("u16", 2), read("i8", 0)), (None, Some(0xffff), Some(1)));
        assert_eq!(
            (Number::named("u24"), Number::named("f32"), Number::named("")),
            (None, None, None)
        );
    }
}
