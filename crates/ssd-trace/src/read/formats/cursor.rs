//! A position in a line, with methods to read numbers, times, words and separators.

use super::{Range, Reject};
use ssd_core::host::request::Op;

/// The message for a time that is too large.
pub(crate) const TOO_LATE: &str = "a time below 2^64 ns (584 years)";

/// Powers of ten from 10^9 down: nanoseconds per unit of each decimal of a second.
const POWERS: [u64; 10] =
    [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];

/// A position in a line.
pub(crate) struct Cursor<'a> {
    /// The line.
    pub(crate) line: &'a [u8],
    /// Position of the next byte.
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the first byte of a line that is not blank; `None` for a blank line.
    #[inline(always)]
    pub(crate) fn of(line: &'a [u8]) -> Option<Cursor<'a>> {
        let mut cursor = Cursor { line, at: 0 };
        cursor.blanks();
        (!cursor.is_end()).then_some(cursor)
    }

    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// Returns whether the line ends here, except for a carriage return.
    #[inline(always)]
    pub(crate) fn is_end(&self) -> bool {
        matches!(&self.line[self.at..], [] | [b'\r'])
    }

    /// Skips blanks and tabs.
    #[inline(always)]
    pub(crate) fn blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Skips at least one blank.
    #[inline(always)]
    pub(crate) fn gap(&mut self, expected: &'static str) -> Result<(), Reject> {
        if !matches!(self.peek(), Some(b' ' | b'\t')) {
            return Err(Reject::new(expected, self.at));
        }
        self.at += 1;
        self.blanks();
        Ok(())
    }

    /// Reads a given byte.
    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8, expected: &'static str) -> Result<(), Reject> {
        if self.peek() != Some(byte) {
            return Err(Reject::new(expected, self.at));
        }
        self.at += 1;
        Ok(())
    }

    /// Returns the next eight bytes with `'0'` removed from each, and how many of the first ones are digits; `None`
    /// near the end of the line.
    ///
    /// A byte is a digit if its value is at most 9: adding 0x76 then leaves its high bit clear. Carries only move
    /// upward, so the first byte that is not a digit is found exactly.
    #[inline(always)]
    pub(crate) fn eight(&self) -> Option<(u64, u32)> {
        let bytes = self.line.get(self.at..)?.first_chunk::<8>()?;
        let values = u64::from_le_bytes(*bytes) ^ 0x3030_3030_3030_3030;
        let nondigits =
            (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
        Some((values, nondigits.trailing_zeros() / 8))
    }

    /// Skips digits whose value is not needed.
    #[inline(always)]
    pub(crate) fn digits(&mut self, expected: &'static str) -> Result<(), Reject> {
        if let Some((_, digits @ 1..=7)) = self.eight() {
            self.at += digits as usize;
            return Ok(());
        }
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(Reject::new(expected, start)) } else { Ok(()) }
    }

    /// Reads a decimal number, and returns it with the count of its digits.
    #[inline(always)]
    pub(crate) fn number(&mut self, expected: &'static str) -> Result<(u64, usize), Reject> {
        let start = self.at;
        let mut value = 0u64;
        match self.eight() {
            Some((values, digits @ 1..=8)) => {
                value = eight_digits(values << (64 - 8 * digits));
                self.at += digits as usize;
                if digits < 8 {
                    return Ok((value, digits as usize));
                }
            }
            Some(_) => return Err(Reject::new(expected, start)),
            None => {}
        }
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        match self.at - start {
            0 => Err(Reject::new(expected, start)),
            digits @ 1..=19 => Ok((value, digits)),
            digits => Ok((self.long_number(start)?, digits)),
        }
    }

    /// Returns the value of the more than 19 digits from `start`.
    #[cold]
    pub(crate) fn long_number(&self, start: usize) -> Result<u64, Reject> {
        let digits = self.line[start..self.at].iter();
        digits
            .map(|byte| u64::from(byte - b'0'))
            .try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(digit))
            .ok_or_else(|| Reject::new("a number below 2^64", start))
    }

    #[inline(always)]
    pub(crate) fn u32(&mut self, expected: &'static str) -> Result<u32, Reject> {
        let start = self.at;
        let (value, _) = self.number(expected)?;
        u32::try_from(value).map_err(|_| Reject::new("a number below 2^32", start))
    }

    /// Reads 1 to `most` letters up to a blank or the end of the line.
    #[inline(always)]
    pub(crate) fn word(&mut self, most: usize, expected: &'static str) -> Result<&'a [u8], Reject> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
            self.at += 1;
        }
        let word = &self.line[start..self.at];
        let ends = self.is_end() || matches!(self.peek(), Some(b' ' | b'\t'));
        if word.is_empty() || word.len() > most || !ends {
            return Err(Reject::new(expected, start));
        }
        Ok(word)
    }

    /// Reads a number below 2^64.
    #[inline(always)]
    pub(crate) fn value(&mut self, expected: &'static str) -> Result<u64, Reject> {
        self.number(expected).map(|(value, _)| value)
    }

    /// Reads a whole number of units of `unit_ns` nanoseconds, and returns nanoseconds.
    #[inline(always)]
    pub(crate) fn time(&mut self, unit_ns: u64, expected: &'static str) -> Result<u64, Reject> {
        let start = self.at;
        let time = self.value(expected)?.checked_mul(unit_ns);
        time.ok_or_else(|| Reject::new(TOO_LATE, start))
    }

    /// Reads a decimal number of units of `unit_ns` nanoseconds (a power of ten up to a second), and returns the exact
    /// nanoseconds. It must have no decimals below a nanosecond.
    #[inline(always)]
    pub(crate) fn decimal(
        &mut self,
        unit_ns: u64,
        expected: &'static str,
        exact: &'static str,
    ) -> Result<u64, Reject> {
        let start = self.at;
        let integer = self.value(expected)?;
        let mut nanos = 0;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let (fraction, digits) = self.number("decimals of the time")?;
            // The inner quotient is a constant of the format, so there is no division by a variable.
            match POWERS.get(digits).map(|power| power / (POWERS[0] / unit_ns)) {
                Some(scale @ 1..) => nanos = fraction * scale,
                _ => return Err(Reject::new(exact, start)),
            }
        }
        let time = integer.checked_mul(unit_ns).and_then(|ns| ns.checked_add(nanos));
        time.ok_or_else(|| Reject::new(TOO_LATE, start))
    }

    /// Reads a comma.
    #[inline(always)]
    pub(crate) fn comma(&mut self, expected: &'static str) -> Result<(), Reject> {
        self.byte(b',', expected)
    }

    /// Reads the operation as one byte, from `read` or `write`.
    #[inline(always)]
    pub(crate) fn op(
        &mut self,
        read: &[u8],
        write: &[u8],
        expected: &'static str,
    ) -> Result<Op, Reject> {
        let op = match self.peek() {
            Some(letter) if read.contains(&letter) => Op::Read,
            Some(letter) if write.contains(&letter) => Op::Write,
            _ => return Err(Reject::new(expected, self.at)),
        };
        self.at += 1;
        Ok(op)
    }

    /// Reads an address and a length with `separator` between them; `between` describes the separator in errors.
    #[inline(always)]
    pub(super) fn range(
        &mut self,
        start: &'static str,
        separator: impl FnOnce(&mut Self, &'static str) -> Result<(), Reject>,
        between: &'static str,
        length: &'static str,
    ) -> Result<Range, Reject> {
        let start_at = self.at;
        let start = self.value(start)?;
        separator(self, between)?;
        let length_at = self.at;
        let length = self.value(length)?;
        Ok(Range { start, length, start_at, length_at })
    }

    /// Reads a first sector and a number of sectors, separated by blanks.
    #[inline(always)]
    pub(super) fn sectors(&mut self) -> Result<Range, Reject> {
        self.range(
            "the first sector",
            Self::gap,
            "a blank after the first sector",
            "the number of sectors",
        )
    }

    /// Reads at least one byte up to `stop`, and skips `stop`.
    #[inline(always)]
    pub(crate) fn until(&mut self, stop: u8, expected: &'static str) -> Result<&'a [u8], Reject> {
        let rest = &self.line[self.at..];
        match rest.iter().position(|&byte| byte == stop) {
            Some(length @ 1..) => {
                self.at += length + 1;
                Ok(&rest[..length])
            }
            _ => Err(Reject::new(expected, self.at)),
        }
    }

    /// Reads at least one byte up to a blank or the end of the line.
    #[inline(always)]
    pub(crate) fn token(&mut self, expected: &'static str) -> Result<&'a [u8], Reject> {
        let start = self.at;
        while !self.is_end() && !matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if self.at == start {
            return Err(Reject::new(expected, start));
        }
        Ok(&self.line[start..self.at])
    }

    /// Checks that only blanks follow up to the end of the line.
    #[inline(always)]
    pub(crate) fn end(&mut self, expected: &'static str) -> Result<(), Reject> {
        self.blanks();
        if self.is_end() { Ok(()) } else { Err(Reject::new(expected, self.at)) }
    }
}

/// Returns the number of eight digit values, the first one in the lowest byte: digits are joined to pairs, pairs to
/// fours, fours to the number.
#[inline(always)]
const fn eight_digits(values: u64) -> u64 {
    let pairs = (values.wrapping_mul(10) + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
}
