//! Prints the files of a store as text, record by record.

use super::properties::{escaped, shown};
use crate::error::{Error, Result};
use crate::format::batch::{Change, WriteBatch};
use crate::format::edit::Edit;
use crate::format::log::{Entry, LogReader};
use crate::format::names::{self, FileKind};
use crate::format::order::Order;
use crate::lru::Lru;
use crate::options::ReadOptions;
use crate::table::{Table, TableIter};
use crate::vfs::{Files, Vfs, Work};
use std::io;
use std::sync::{Arc, Mutex};

/// Receives a line; an error ends the dump.
type Line<'a> = &'a mut dyn FnMut(String) -> io::Result<()>;

/// Pass the contents of a log, manifest or table to `line` as text. Damaged records become lines too,
/// but a damaged table ends the dump.
///
/// # Errors
/// If the file is none of these, or cannot be read; `Stopped` if `line` fails or the file layer asks
/// to stop.
pub fn dump(
    vfs: Arc<dyn Vfs>,
    name: &str,
    line: &mut dyn FnMut(String) -> io::Result<()>,
) -> Result<()> {
    let files = Files::new(vfs);
    match names::parse(name) {
        Some(FileKind::Log(_)) => {
            records(&files, name, line, (|data| LogReader::of_batches(data), batch_lines))
        }
        Some(FileKind::Manifest(_)) => {
            records(&files, name, line, (|data| LogReader::new(data), edit_lines))
        }
        Some(FileKind::Table(number)) => table(&files, name, number, line),
        _ => Err(Error::invalid(format!(
            "{}: expected a log (NUMBER.log), a manifest (MANIFEST-NUMBER) or a table (NUMBER.ldb)",
            files.describe(name)
        ))),
    }
}

type Reader = for<'a> fn(&'a [u8]) -> LogReader<'a>;
type Lines = fn(Vec<u8>) -> std::result::Result<Vec<String>, &'static str>;

fn stopped(error: io::Error) -> Error {
    Error::Stopped(Arc::new(error))
}

fn records(
    files: &Files,
    name: &str,
    line: Line<'_>,
    (reader, lines): (Reader, Lines),
) -> Result<()> {
    let data = files.read(name)?;
    let mut work = Work::new(files);
    let mut reader = reader(&data);
    while let Some(entry) = reader.next_entry() {
        let (offset, result) = match entry {
            Entry::Record(offset, record) => {
                work.add(record.len())?;
                (offset, lines(record))
            }
            Entry::Damaged(offset, message) => (offset, Err(message)),
        };
        debug_assert!(offset < data.len() as u64, "a record at {offset} of {} bytes", data.len());
        match result {
            Ok(lines) => {
                line(format!("--- offset {offset}")).map_err(stopped)?;
                lines.into_iter().try_for_each(&mut *line)
            }
            Err(message) => line(format!("--- offset {offset}: damaged: {message}")),
        }
        .map_err(stopped)?;
    }
    match reader.tail() {
        Some(tail) => {
            line(format!("--- offset {}: {}", tail.offset, tail.describe())).map_err(stopped)
        }
        None => Ok(()),
    }
}

fn batch_lines(record: Vec<u8>) -> std::result::Result<Vec<String>, &'static str> {
    let batch = WriteBatch::decoded(record).map_err(|d| d.message)?;
    let numbered = (batch.sequence()..).zip(batch.changes().flatten());
    let lines: Vec<String> = numbered
        .map(|(sequence, change)| match change {
            Change::Put(k, v) => format!("{sequence}: put '{}' '{}'", escaped(k), escaped(v)),
            Change::Delete(k) => format!("{sequence}: del '{}'", escaped(k)),
        })
        .collect();
    debug_assert_eq!(lines.len(), batch.count() as usize, "a line for each change");
    Ok(lines)
}

fn edit_lines(record: Vec<u8>) -> std::result::Result<Vec<String>, &'static str> {
    let edit = Edit::decoded(&record).map_err(|d| d.message)?;
    let mut lines: Vec<String> =
        edit.comparator.iter().map(|c| format!("comparator {c}")).collect();
    let numbers = [
        ("log", edit.log_number),
        ("previous log", edit.previous_log),
        ("next file", edit.next_file),
        ("last sequence", edit.last_sequence),
    ];
    lines.extend(numbers.iter().filter_map(|(name, n)| Some(format!("{name} {}", (*n)?))));
    for (level, key) in &edit.compact_pointers {
        lines.push(format!("level {level} goes on after {}", shown(key)));
    }
    for (level, number) in &edit.deleted {
        lines.push(format!("level {level} delete {number}"));
    }
    for f in &edit.added {
        let (first, last) = (shown(&f.smallest), shown(&f.largest));
        lines.push(format!(
            "level {} add {} ({} bytes) {first} .. {last}",
            f.level, f.number, f.size
        ));
    }
    Ok(lines)
}

fn table(files: &Files, name: &str, number: u64, line: Line<'_>) -> Result<()> {
    let file = files.open(name)?;
    let size = file.len()?;
    let no_cache = Arc::new(Mutex::new(Lru::new(0)));
    // Keys are printed as they are stored, whatever their order.
    let table = Table::open(file, number, size, true, no_cache, Order::Bytewise)?;
    let options = ReadOptions { verify_checksums: true, fill_cache: false };
    let mut iter = TableIter::new(Arc::new(table), options);
    let (mut block, mut work) = (None, Work::new(files));
    iter.first()?;
    while iter.valid() {
        work.add(iter.key().len() + iter.value().len())?;
        if block != Some(iter.block()) {
            let handle = iter.block();
            debug_assert!(handle.offset + handle.size <= size, "a block beyond the file");
            debug_assert_eq!(iter.file(), number, "entries of another table");
            line(format!("--- block at {} of {} bytes", handle.offset, handle.size))
                .map_err(stopped)?;
            block = Some(handle);
        }
        line(format!("{} => '{}'", shown(iter.key()), escaped(iter.value()))).map_err(stopped)?;
        iter.next()?;
    }
    Ok(())
}
