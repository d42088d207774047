//! The I/O log of fio, versions 2 and 3, which differ in the position of the time.

use super::cursor::{Cursor, TOO_LATE};
use super::{Event, Format, FormatInfo, Head, Line, Reject, in_bytes};
use crate::read::commands::command;
use ssd_core::host::request::Op;
use ssd_core::metrics::numbers::{count, duration};
use std::marker::PhantomData;

/// Maximum length of a file name, bytes, as in fio.
const MAX_NAME: usize = 256;
/// Maximum number of files in a log.
const MAX_FILES: usize = 4096;

/// The differences between the versions.
pub trait Version {
    /// Description of the format.
    const INFO: &'static FormatInfo;
    /// First line of a log.
    const HEAD: &'static str;
    /// Position of the times.
    const TIMES: Times;
    /// Whether the first line identifies the format; otherwise it must be set explicitly.
    const FOUND: bool;
}

/// Position and meaning of the times in a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// Every line starts with a time.
    Lines,
    /// `wait` lines are pauses, in microseconds.
    Pauses,
    /// `wait` lines give the end of a wait, in milliseconds from the start of the replay.
    Clock,
}

/// The `wait` lines of a log.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Waits {
    lines: u64,
    sum: u64,
    largest: u64,
}

impl Waits {
    /// Counts another line, with `number`.
    pub(crate) fn add(&mut self, number: u64) {
        self.lines += 1;
        self.sum = self.sum.saturating_add(number);
        self.largest = self.largest.max(number);
    }

    /// Returns how the numbers were read although the format was not set, and what else they may mean.
    pub(crate) fn doubt(&self, file: &str) -> Option<String> {
        let waits = |ns: u64, unit: u64| duration(ns.saturating_mul(unit) as f64);
        (self.lines > 0).then(|| {
            format!(
                "{} `wait` lines are read as pauses in microseconds, as fio's manual describes them: {} in all; \
                 fio 3.33 itself reads the numbers as milliseconds since the start, {} at the end; to read them as \
                 fio does: {}; to keep the pauses: {}",
                count(self.lines),
                waits(self.sum, 1000),
                waits(self.largest, 1_000_000),
                command(file, "--format fio-v2-clock"),
                command(file, "--format fio-v2"),
            )
        })
    }
}

/// State of the reader of a log.
pub struct Iolog<V> {
    started: bool,
    /// Files by number, in the order of their `add` lines.
    files: Vec<Vec<u8>>,
    /// The most recent file.
    last: usize,
    /// In a log without times, the sum of the waits so far, nanoseconds.
    now_ns: u64,
    version: PhantomData<V>,
}

impl<V> Default for Iolog<V> {
    fn default() -> Iolog<V> {
        Iolog { started: false, files: Vec::new(), last: 0, now_ns: 0, version: PhantomData }
    }
}

impl<V: Version> Format for Iolog<V> {
    const INFO: &'static FormatInfo = V::INFO;

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        if !self.started {
            if line.trim_ascii() != V::HEAD.as_bytes() {
                return Err(Reject::new(format!("the first line `{}`", V::HEAD), 0));
            }
            self.started = true;
            return Ok(Line::Header);
        }
        let mut at_ns = self.now_ns;
        if V::TIMES == Times::Lines {
            at_ns = cursor.time(1000, "the time, microseconds")?;
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
            b"wait" if V::TIMES != Times::Lines => return self.wait(&mut cursor),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            _ => {
                let wait = if V::TIMES == Times::Lines { "" } else { ", wait" };
                let actions = "add, open, close, read, write, trim, sync, datasync";
                return Err(Reject::new(format!("an action: {actions}{wait}"), action_at));
            }
        };
        let volume = self.file(name, name_at)? as u64;
        if op == Op::Flush {
            return flush(&mut cursor, at_ns, volume);
        }
        cursor.gap("a blank after the action")?;
        let range = cursor.range(
            "the offset, bytes",
            Cursor::gap,
            "a blank after the offset",
            "the length, bytes",
        )?;
        cursor.end("the end of the line after the length")?;
        in_bytes(at_ns, volume, op, range)
    }

    fn detect(head: &Head<'_>) -> u32 {
        // The first line states the format, so errors below it are errors of such a log.
        let stated = head.lines.first().is_some_and(|line| line.trim_ascii() == V::HEAD.as_bytes());
        if stated && V::FOUND { 100 } else { 0 }
    }

    fn volume_name(&self, volume: u64) -> String {
        let file = usize::try_from(volume).ok().and_then(|at| self.files.get(at));
        let name = file.map_or(&b"?"[..], |name| name);
        String::from_utf8_lossy(name).escape_debug().to_string()
    }
}

impl<V: Version> Iolog<V> {
    /// Reads `FILE wait NUMBER [LENGTH]`.
    fn wait(&mut self, cursor: &mut Cursor<'_>) -> Result<Line, Reject> {
        cursor.gap("a blank after `wait`")?;
        let at = cursor.at;
        let number = match V::TIMES {
            Times::Clock => {
                cursor.time(1_000_000, "the end of the wait, milliseconds")? / 1_000_000
            }
            _ => cursor.time(1000, "the wait, microseconds")? / 1000,
        };
        if !cursor.is_end() {
            cursor.gap("a blank after a whole number")?;
            if !cursor.is_end() {
                cursor.digits("a length, which is not used")?;
            }
        }
        cursor.end("the end of the line after the wait")?;
        let now = match V::TIMES {
            // A time that has passed causes no wait.
            Times::Clock => Some(self.now_ns.max(number * 1_000_000)),
            _ => self.now_ns.checked_add(number * 1000),
        };
        self.now_ns = now.ok_or_else(|| Reject::new(TOO_LATE, at))?;
        Ok(Line::Wait(number))
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

    /// Returns the number of a file.
    fn file(&mut self, name: &[u8], column: usize) -> Result<usize, Reject> {
        if self.files.get(self.last).is_none_or(|last| last != name) {
            let place = self.files.iter().position(|file| file == name);
            self.last = place
                .ok_or_else(|| Reject::new("a file that an `add` line above has named", column))?;
        }
        Ok(self.last)
    }
}

/// Reads the rest of a `sync` line: offset and length have no meaning and may be missing.
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
    Ok(Line::Event(Event {
        at_ns,
        volume,
        sector: 0,
        sectors: 0,
        op: Op::Flush,
        flags: 0,
        stream: 0,
    }))
}
