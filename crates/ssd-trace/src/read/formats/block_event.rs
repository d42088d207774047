//! Block-event text, line by line: the default output of `blkparse`, and the same fields from tracefs.
//!
//! `MAJ,MIN CPU SEQ TIME PID ACTION RWBS SECTOR + N [COMM]`, fields separated by blanks, TIME in seconds with up to
//! nine decimals, SECTOR and N in 512-byte sectors. The rest of the line (an elapsed time, the process name, an error
//! code) is ignored.
//!
//! Source: blkparse(1), and `blk_fill_rwbs` of the Linux kernel for RWBS, which is a set of letters and not a word.
//! Decided where the sources are silent:
//!
//! | letter | meaning here |
//! |---|---|
//! | F before the operation | preflush |
//! | R, W | read, write |
//! | D, then perhaps E | discard (E: secure erase), a TRIM |
//! | N, or W then Z | write zeroes: a write, because the log does not show whether the device may unmap |
//! | F as the operation | flush |
//! | F after the operation | FUA |
//! | A, S, M | read-ahead, sync, metadata |
//! | C | part of a copy: R is a source range, the W after the sources is the destination; only ssdlab writes it |
//! | B | barrier (kernels before 2.6.37): preflush |
//! | U | atomic write: no flag here |
//!
//! Events of the chosen action without data are not requests, except that a flush becomes [`Op::Flush`]. Packet
//! commands (no `+ N`), `N` without a length, and the end of a flush sequence at action C (a zero-length write) are
//! [`Line::Dataless`].

use super::cursor::Cursor;
use super::{
    Clock, Event, Format, FormatInfo, Line, MAX_TRANSFER_SECTORS, Range, ReadAs, Reject, TimeRule,
    TraceFormat, UnitRule, in_sectors,
};
use ssd_core::host::request::{Op, flags};

/// The form of a line, for error messages.
const LINE_FORM: &str = "`MAJ,MIN CPU SEQ TIME PID ACTION RWBS SECTOR + N [COMM]`";

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::BlockEvent,
    name: "block-event",
    summary: "Output of blkparse, and the same fields from tracefs.",
    title: "block-event text",
    form: LINE_FORM,
    unit: UnitRule::Sectors,
    time: TimeRule::Fixed,
    actions: true,
    units: "time in s with up to nine decimals, SECTOR and N in 512 B sectors",
    clock: Clock::File,
    volume: "MAJ * 2^32 + MIN",
    order: "ascending",
    source: "blkparse(1); blk_fill_rwbs of the Linux kernel",
    traps: "RWBS is a set of letters; one action is used (workload.action); logs of stacked devices \
            hold each request twice (workload.dedup); C after R or W is a part of a copy, which only \
            ssdlab writes (docs/trace-file.md); Z, which zoned devices have, and lengths that look like \
            bytes (blkparse -f with %N): refused",
};

/// The parser.
pub struct Parser {
    /// Letter of the chosen action.
    action: u8,
}

impl Default for Parser {
    fn default() -> Parser {
        Parser { action: b'Q' }
    }
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn new(read_as: &ReadAs) -> Parser {
        Parser { action: read_as.action }
    }

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        parse_line(line, self.action)
    }

    fn volume_name(&self, volume: u64) -> String {
        super::major_minor_name(volume)
    }
}

/// Parses a line without its newline; `action` is the letter of the chosen action.
///
/// # Errors
/// [`Reject`] says what was expected and where.
#[inline]
pub fn parse_line(line: &[u8], action: u8) -> Result<Line, Reject> {
    let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
    let major = cursor.u32("the device's major number")?;
    cursor.byte(b',', "`,` and the device's minor number")?;
    let minor = cursor.u32("the device's minor number")?;
    cursor.gap("a blank after the device")?;
    cursor.digits("the CPU")?;
    cursor.gap("a blank after the CPU")?;
    cursor.digits("the sequence number")?;
    cursor.gap("a blank after the sequence number")?;
    let exact = "a time with at most nine decimals";
    let at_ns = cursor.decimal(1_000_000_000, "the time, seconds", exact)?;
    cursor.gap("a blank after the time")?;
    cursor.digits("the PID")?;
    cursor.gap("a blank after the PID")?;
    let letters = cursor.word(2, "the action, one or two letters")?;
    if letters != [action] {
        return Ok(Line::Other(letters[0]));
    }
    cursor.gap("a blank after the action")?;
    request(&mut cursor, action, at_ns, super::major_minor(major, minor))
}

/// Parses the part after the action: RWBS, sector and length.
#[inline(always)]
fn request(cursor: &mut Cursor<'_>, action: u8, at_ns: u64, volume: u64) -> Result<Line, Reject> {
    let letters_at = cursor.at;
    let letters = cursor.word(8, "the operation (RWBS), up to eight letters")?;
    let rwbs = Rwbs::parse(letters).map_err(|text| Reject::new(text, letters_at))?;
    cursor.gap("a blank after the operation")?;
    let address_at = cursor.at;
    let (start, length) = match address(cursor)? {
        Some(address) => address,
        None if rwbs.flushes() => (0, 0),
        None => return Ok(Line::Dataless),
    };
    let range = Range { start, length, start_at: address_at, length_at: address_at };
    rwbs.request(action, at_ns, volume, range)
}

/// The operation letter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Read,
    Write,
    Discard,
    Zeroes,
    Flush,
}

/// A parsed RWBS field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rwbs {
    pub(super) verb: Verb,
    pub(super) flags: u8,
}

impl Rwbs {
    /// Returns whether it is a flush if it has no data.
    pub(super) const fn flushes(self) -> bool {
        matches!(self.verb, Verb::Flush) || self.flags & flags::PREFLUSH != 0
    }

    /// Returns the request for a range.
    #[inline(always)]
    pub(super) fn request(
        self,
        action: u8,
        at_ns: u64,
        volume: u64,
        range: Range,
    ) -> Result<Line, Reject> {
        let reject = |text: &'static str| Err(Reject::new(text, range.length_at));
        if range.length == 0 {
            return match self.verb {
                Verb::Write if action == b'C' => Ok(Line::Dataless),
                _ if self.flushes() => {
                    let flags = self.flags & !flags::PREFLUSH;
                    let op = Op::Flush;
                    Ok(Line::Event(Event {
                        at_ns,
                        volume,
                        sector: 0,
                        sectors: 0,
                        op,
                        flags,
                        stream: 0,
                    }))
                }
                Verb::Zeroes => Ok(Line::Dataless),
                Verb::Read => reject("a read of at least one sector"),
                Verb::Write => reject("a write of at least one sector"),
                Verb::Discard | Verb::Flush => reject("a discard of at least one sector"),
            };
        }
        let op = match self.verb {
            Verb::Read => Op::Read,
            Verb::Write | Verb::Zeroes => Op::Write,
            Verb::Discard => Op::Trim,
            Verb::Flush => return reject("a flush without a length (`0 + 0`)"),
        };
        if range.length > MAX_TRANSFER_SECTORS && op != Op::Trim {
            return reject("a length of at most 2097152 sectors (1 GiB)");
        }
        in_sectors(at_ns, volume, op, self.flags, range)
    }

    /// Parses the letters; the error says what was expected.
    #[inline(always)]
    pub(super) fn parse(letters: &[u8]) -> Result<Rwbs, &'static str> {
        let (preflush, rest) = match letters {
            [b'F', rest @ ..] => (flags::PREFLUSH, rest),
            rest => (0, rest),
        };
        let (mut verb, modifiers) = match rest {
            [b'R', rest @ ..] => (Verb::Read, rest),
            [b'W', rest @ ..] => (Verb::Write, rest),
            [b'D', rest @ ..] => (Verb::Discard, rest),
            [b'N', rest @ ..] => (Verb::Zeroes, rest),
            [b'F', rest @ ..] => (Verb::Flush, rest),
            rest if preflush != 0 => (Verb::Flush, rest),
            [b'Z', ..] => {
                return Err(
                    "an operation: R, W, D, N or F (Z is one of zoned devices, which are not simulated)",
                );
            }
            _ => return Err("an operation: R, W, D, N or F"),
        };
        let mut set = preflush;
        for &letter in modifiers {
            set |= match letter {
                b'F' => flags::FUA,
                b'S' => flags::SYNC,
                b'M' => flags::META,
                b'A' => flags::AHEAD,
                b'B' => flags::PREFLUSH,
                b'C' if matches!(verb, Verb::Read | Verb::Write) => flags::COPY,
                b'U' => 0,
                b'E' if verb == Verb::Discard => 0,
                b'Z' if verb == Verb::Write => {
                    verb = Verb::Zeroes;
                    0
                }
                _ => return Err("letters R W D N F S M A C E Z B U in the operation (RWBS)"),
            };
        }
        // PREFLUSH has no effect on a flush.
        let set = if verb == Verb::Flush { set & !flags::PREFLUSH } else { set };
        Ok(Rwbs { verb, flags: set })
    }
}

/// Parses `SECTOR + N`; returns `None` if blkparse prints `[COMM]`, `BYTES (PACKET) [COMM]` or `SECTOR [ERROR]`
/// instead.
#[inline(always)]
fn address(cursor: &mut Cursor<'_>) -> Result<Option<(u64, u64)>, Reject> {
    if let Some(b'[' | b'(') = cursor.peek() {
        return Ok(None);
    }
    let (sector, _) = cursor.number("the first sector")?;
    // The user's formats (`blkparse -f`) may have no blanks around the `+`.
    if cursor.peek() != Some(b'+') {
        cursor.gap("a blank after the sector")?;
        if let Some(b'[' | b'(') = cursor.peek() {
            return Ok(None);
        }
    }
    cursor.byte(b'+', "`+` and the number of sectors")?;
    if !cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        cursor.gap("a blank after `+`")?;
    }
    let (sectors, _) = cursor.number("the number of sectors")?;
    if !cursor.is_end() {
        cursor.gap("a blank after the number of sectors")?;
    }
    Ok(Some((sector, sectors)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns operation and flags of a line with these letters and this length at action `action`.
    fn letters(rwbs: &str, sectors: u64, action: u8) -> Result<Line, Reject> {
        let line = format!("8,0 1 2 0.5 3 {} {rwbs} 64 + {sectors} [x]", char::from(action));
        parse_line(line.as_bytes(), action)
    }

    fn op_and_flags(rwbs: &str, sectors: u64) -> Option<(Op, u8)> {
        match letters(rwbs, sectors, b'Q') {
            Ok(Line::Event(event)) => Some((event.op, event.flags)),
            _ => None,
        }
    }

    #[test]
    fn rwbs_is_a_set_of_letters() {
        use flags::{AHEAD, COPY, FUA, META, PREFLUSH, SYNC};
        for (rwbs, sectors, expected) in [
            ("R", 8, (Op::Read, 0)),
            ("RA", 8, (Op::Read, AHEAD)),
            ("RM", 8, (Op::Read, META)),
            ("RAM", 8, (Op::Read, AHEAD | META)),
            ("W", 8, (Op::Write, 0)),
            ("WS", 8, (Op::Write, SYNC)),
            ("WSM", 8, (Op::Write, SYNC | META)),
            ("WFSM", 8, (Op::Write, FUA | SYNC | META)),
            ("FWS", 8, (Op::Write, PREFLUSH | SYNC)),
            ("FWFSM", 8, (Op::Write, PREFLUSH | FUA | SYNC | META)),
            ("WSU", 8, (Op::Write, SYNC)),
            ("RC", 8, (Op::Read, COPY)),
            ("WCS", 8, (Op::Write, COPY | SYNC)),
            ("WB", 8, (Op::Write, PREFLUSH)),
            ("N", 8, (Op::Write, 0)),
            ("WZS", 8, (Op::Write, SYNC)),
            ("D", 8, (Op::Trim, 0)),
            ("DS", 8, (Op::Trim, SYNC)),
            ("DES", 8, (Op::Trim, SYNC)),
            ("FF", 0, (Op::Flush, 0)),
            ("F", 0, (Op::Flush, 0)),
            ("FN", 0, (Op::Flush, 0)),
            ("FWS", 0, (Op::Flush, SYNC)),
            ("FWFS", 0, (Op::Flush, FUA | SYNC)),
        ] {
            assert_eq!(op_and_flags(rwbs, sectors), Some(expected), "{rwbs} + {sectors}");
        }
        for (rwbs, sectors) in [
            ("X", 8),
            ("DC", 8),
            ("S", 8),
            ("WX", 8),
            ("RZ", 8),
            ("FF", 8),
            ("WE", 8),
            ("RWBSRWBSR", 8),
        ] {
            assert_eq!(op_and_flags(rwbs, sectors), None, "{rwbs} + {sectors}");
        }
    }

    #[test]
    fn lengths_have_limits() {
        for (rwbs, sectors) in
            [("R", 0), ("WS", 0), ("D", 0), ("WFS", 0), ("W", (1 << 21) + 1), ("D", (1 << 41) + 1)]
        {
            assert!(letters(rwbs, sectors, b'Q').is_err(), "{rwbs} + {sectors}");
        }
        assert!(letters("W", 1 << 21, b'Q').is_ok());
        assert!(letters("D", (1 << 32) - 1, b'Q').is_ok());
        assert!(matches!(letters("D", 1 << 32, b'Q'), Ok(Line::LongDiscard(_, 0x1_0000_0000))));
        let line = b"8,0 1 2 0.5 3 Q W 18446744073709551615 + 8 [x]";
        assert_eq!(parse_line(line, b'Q').unwrap_err().column, 18);
    }

    #[test]
    fn events_without_data_are_told_apart() {
        assert_eq!(letters("WS", 0, b'C'), Ok(Line::Dataless));
        assert_eq!(letters("FWS", 0, b'C'), Ok(Line::Dataless));
        assert_eq!(letters("N", 0, b'Q'), Ok(Line::Dataless));
        assert!(matches!(letters("FF", 0, b'C'), Ok(Line::Event(Event { op: Op::Flush, .. }))));
        assert!(letters("R", 0, b'C').is_err());
        for (line, flush) in [
            ("8,0 1 2 0.5 3 Q FWS [jbd2/sda1-8]", true),
            ("8,0 1 2 0.5 3 Q N [fio]", false),
            ("8,0 1 2 0.5 3 Q R 36 (12 00 00 00 24 00 ..) [udevd]", false),
            ("8,0 1 2 0.5 0 Q WFS 4096 [0]", false),
        ] {
            let parsed = parse_line(line.as_bytes(), b'Q').unwrap();
            assert_eq!(matches!(parsed, Line::Event(_)), flush, "{line}");
        }
    }

    #[test]
    fn times_are_exact() {
        for (text, ns) in [
            ("0", Some(0)),
            ("1.5", Some(1_500_000_000)),
            ("33.791608964", Some(33_791_608_964)),
            ("0.000000001", Some(1)),
            ("18446744073.709551615", Some(u64::MAX)),
            ("18446744073.709551616", None),
            ("18446744074", None),
            ("99999999999999999999999", None),
            ("1.0000000001", None),
            ("1.", None),
            ("-1.5", None),
            (".5", None),
        ] {
            let line = format!("8,0 0 0 {text} 0 Q R 0 + 1");
            let found = match parse_line(line.as_bytes(), b'Q') {
                Ok(Line::Event(event)) => Some(event.at_ns),
                _ => None,
            };
            assert_eq!(found, ns, "{text}");
        }
    }

    #[test]
    fn every_prefix_of_a_line_is_rejected_or_plausible() {
        let line = b"  8,64  11     2951    33.791608964 90790  Q  WS 7614368 + 8 [fio]";
        for length in 3..=line.len() {
            match parse_line(&line[..length], b'Q') {
                Ok(Line::Event(event)) => assert!(length >= 60 && event.sectors == 8),
                Ok(other) => panic!("{length}: {other:?}"),
                Err(reject) => assert!(reject.column <= length),
            }
        }
    }
}
