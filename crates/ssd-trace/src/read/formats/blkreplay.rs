//! Load files of blkreplay: `START ; SECTOR ; SECTORS ; R|W ; DELAY ; DURATION`.
//!
//! Source: blkreplay, scripts/conv_blktrace_to_load.sh. Times are in seconds, address and length in 512-byte sectors,
//! after free text. Decided: the text ends before the first line that begins with a digit; RA is a read with the
//! read-ahead flag; delay and duration belong to an earlier replay, are ignored, and may be missing.

use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Head, Line, Reject, TimeRule, TraceFormat, UnitRule, in_sectors,
};
use ssd_core::host::request::{Op, flags};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Blkreplay,
    name: "blkreplay",
    summary: "Load files of blkreplay.",
    title: "a blkreplay load file",
    form: "`START ; SECTOR ; SECTORS ; R|W|RA [; DELAY ; DURATION]`",
    unit: UnitRule::Sectors,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in s with up to nine decimals, address and length in 512 B sectors",
    clock: Clock::File,
    volume: "0, the only one",
    order: "ascending",
    source: "blkreplay, scripts/conv_blktrace_to_load.sh",
    traps: "free text before the first record; RA is a read",
};

/// The parser.
#[derive(Default)]
pub struct Parser {
    /// Whether a record, or a line that should be a record, has been read.
    started: bool,
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        self.started |= cursor.peek().is_some_and(|byte| byte.is_ascii_digit());
        if !self.started {
            return Ok(Line::Header);
        }
        let exact = "a time in s with at most nine decimals";
        let at_ns = cursor.decimal(1_000_000_000, "the start, seconds", exact)?;
        semicolon(&mut cursor, "`;` after the start")?;
        let range = cursor.range(
            "the first sector",
            semicolon,
            "`;` after the first sector",
            "the number of sectors",
        )?;
        semicolon(&mut cursor, "`;` after the number of sectors")?;
        let op_at = cursor.at;
        while cursor.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
            cursor.at += 1;
        }
        let (op, flags) = match &line[op_at..cursor.at] {
            b"R" => (Op::Read, 0),
            b"RA" => (Op::Read, flags::AHEAD),
            b"W" => (Op::Write, 0),
            _ => return Err(Reject::new("the operation, `R`, `W` or `RA`", op_at)),
        };
        cursor.blanks();
        if !cursor.is_end() {
            cursor.byte(b';', "the end of the line or `;` after the operation")?;
        }
        in_sectors(at_ns, 0, op, flags, range)
    }

    fn detect(head: &Head<'_>) -> u32 {
        let begins_record =
            |line: &&[u8]| line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
        let first = head.lines.iter().position(begins_record);
        let above = first.and_then(|first| first.checked_sub(1)).map(|above| head.lines[above]);
        let has_cells = |line: &[u8]| line.iter().filter(|&&byte| byte == b';').count() > 2;
        let is_own = |line: &[u8]| line.trim_ascii_start().starts_with(b"start");
        // Free text has no cells. Other names above the first record are those of another table.
        if above.is_some_and(|line| has_cells(line) && !is_own(line)) {
            return 0;
        }
        super::share(&mut Parser::default(), head.lines)
    }

    fn understood(line: &[u8]) -> usize {
        // A line without a semicolon merely begins with a number.
        let reject = Parser::default().parse(line).err().filter(|_| line.contains(&b';'));
        reject.map_or(0, |reject| reject.column)
    }
}

/// Reads a semicolon between blanks.
fn semicolon(cursor: &mut Cursor<'_>, expected: &'static str) -> Result<(), Reject> {
    cursor.blanks();
    cursor.byte(b';', expected)?;
    cursor.blanks();
    Ok(())
}
