//! The I/O log of fio, versions 2 and 3, which differ in where the time stands.

use super::cursor::{Cursor, TOO_LATE};
use super::{Event, Line, Range, Reject, in_bytes};
use ssd_core::host::request::Op;

/// Longest file name, bytes: as in fio.
const MAX_NAME: usize = 256;
/// Most files of one log.
const MAX_FILES: usize = 4096;

/// A log as far as it has been read.
pub(super) struct Iolog {
    /// Its first line.
    head: &'static str,
    /// Version 3: every line is led by its time.
    timed: bool,
    started: bool,
    /// Files by number, in the order of their `add` lines.
    files: Vec<Vec<u8>>,
    /// The file used last.
    last: usize,
    /// Version 2: sum of the waits, nanoseconds.
    now_ns: u64,
}

impl Iolog {
    pub(super) const fn new(head: &'static str, timed: bool) -> Iolog {
        Iolog { head, timed, started: false, files: Vec::new(), last: 0, now_ns: 0 }
    }

    /// Name of a file.
    pub(super) fn name(&self, volume: u64) -> String {
        let file = usize::try_from(volume).ok().and_then(|at| self.files.get(at));
        let name = file.map_or(&b"?"[..], |name| name);
        String::from_utf8_lossy(name).escape_debug().to_string()
    }

    /// Reads the next line.
    pub(super) fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let mut cursor = Cursor { line, at: 0 };
        cursor.blanks();
        if cursor.is_end() {
            return Ok(Line::Blank);
        }
        if !self.started {
            if line.trim_ascii() != self.head.as_bytes() {
                return Err(Reject::new(format!("the first line `{}`", self.head), 0));
            }
            self.started = true;
            return Ok(Line::Header);
        }
        let mut at_ns = self.now_ns;
        if self.timed {
            let time_at = cursor.at;
            let micros = cursor.value("the time, microseconds")?;
            at_ns = micros.checked_mul(1000).ok_or_else(|| Reject::new(TOO_LATE, time_at))?;
            cursor.gap("a blank after whole microseconds")?;
        }
        let name_at = cursor.at;
        let name = cursor.token("a file name")?;
        cursor.gap("a blank after the file name")?;
        let action_at = cursor.at;
        let op = match cursor.token("an action")? {
            b"add" => {
                cursor.end("the end of the line after `add`")?;
                self.add(name, name_at)?;
                return Ok(Line::Header);
            }
            b"open" | b"close" => {
                cursor.end("the end of the line after the action")?;
                self.file(name, name_at)?;
                return Ok(Line::Header);
            }
            b"wait" if !self.timed => return self.wait(&mut cursor),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            _ => {
                let wait = if self.timed { "" } else { ", wait" };
                let all = "add, open, close, read, write, trim, sync, datasync";
                return Err(Reject::new(format!("an action: {all}{wait}"), action_at));
            }
        };
        let volume = self.file(name, name_at)? as u64;
        if op == Op::Flush {
            return flush(&mut cursor, at_ns, volume);
        }
        cursor.gap("a blank after the action")?;
        let start_at = cursor.at;
        let start = cursor.value("the offset, bytes")?;
        cursor.gap("a blank after the offset")?;
        let length_at = cursor.at;
        let length = cursor.value("the length, bytes")?;
        cursor.end("the end of the line after the length")?;
        in_bytes(at_ns, volume, op, Range { start, length, start_at, length_at })
    }

    /// `FILE wait MICROSECONDS [LENGTH]`.
    fn wait(&mut self, cursor: &mut Cursor<'_>) -> Result<Line, Reject> {
        cursor.gap("a blank after `wait`")?;
        let at = cursor.at;
        let micros = cursor.value("the wait, microseconds")?;
        if !cursor.is_end() {
            cursor.gap("a blank after whole microseconds")?;
            if !cursor.is_end() {
                cursor.digits("a length, which is not used")?;
            }
        }
        cursor.end("the end of the line after the wait")?;
        let now = micros.checked_mul(1000).and_then(|wait| self.now_ns.checked_add(wait));
        self.now_ns = now.ok_or_else(|| Reject::new(TOO_LATE, at))?;
        Ok(Line::Header)
    }

    fn add(&mut self, name: &[u8], column: usize) -> Result<(), Reject> {
        if name.len() > MAX_NAME {
            return Err(Reject::new("a file name of at most 256 bytes", column));
        }
        if self.files.iter().any(|file| file == name) {
            return Ok(());
        }
        if self.files.len() == MAX_FILES {
            return Err(Reject::new("at most 4096 files", column));
        }
        self.files.push(name.to_vec());
        Ok(())
    }

    /// Number of a file.
    fn file(&mut self, name: &[u8], column: usize) -> Result<usize, Reject> {
        if self.files.get(self.last).is_none_or(|last| last != name) {
            let found = self.files.iter().position(|file| file == name);
            self.last = found
                .ok_or_else(|| Reject::new("a file that an `add` line above has named", column))?;
        }
        Ok(self.last)
    }
}

/// The rest of a `sync` line: offset and length mean nothing there and may be missing.
fn flush(cursor: &mut Cursor<'_>, at_ns: u64, volume: u64) -> Result<Line, Reject> {
    for _ in 0..2 {
        if !cursor.is_end() {
            cursor.gap("a blank")?;
            if !cursor.is_end() {
                cursor.digits("an offset and a length, or the end of the line")?;
            }
        }
    }
    cursor.end("the end of the line after the length")?;
    Ok(Line::Event(Event { at_ns, volume, sector: 0, sectors: 0, op: Op::Flush, flags: 0 }))
}
