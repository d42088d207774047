//! Detects which engine the store in a directory belongs to, before anything in the directory is touched.
//!
//! RocksDB began as a copy of LevelDB: its files have the same names, and its tables and manifests look like damaged
//! ones of LevelDB. Other engines also number their files, so that some have the names of LevelDB's logs or tables.

use crate::error::{Error, Result};
use crate::format::batch::WriteBatch;
use crate::format::edit::{Edit, ROCKSDB_TAG};
use crate::format::footer;
use crate::format::log::{Entry, LogReader};
use crate::format::names::{self, FileKind};
use crate::format::order::Order;
use crate::vfs::Files;

/// The engine other than LevelDB to which a file belongs by its name.
fn engine_of(name: &str) -> Option<&'static str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_pebble =
        name.starts_with("marker.manifest.") || name.starts_with("marker.format-version.");
    match name {
        _ if is_pebble => Some("Pebble"),
        "IDENTITY" => Some("RocksDB"),
        _ if name.strip_prefix("OPTIONS-").is_some_and(is_number) => Some("RocksDB"),
        "KEYREGISTRY" => Some("Badger"),
        _ if name.strip_suffix(".vlog").is_some_and(is_number) => Some("Badger"),
        "WiredTiger" | "WiredTiger.wt" | "WiredTiger.turtle" => Some("WiredTiger"),
        "data.mdb" => Some("LMDB"),
        _ if name.ends_with(".bitcask.data") => Some("Bitcask"),
        _ => None,
    }
}

fn refusal(files: &Files, engine: &str, evidence: &str) -> Error {
    let folder = files.describe("");
    Error::invalid(format!(
        "{folder}: a store of {engine} ({evidence}), and not of LevelDB; nothing was changed"
    ))
}

/// The order of the keys of the store, and the name of the manifest that says so.
///
/// # Errors
/// It is the store of another engine, or its keys are in an order that cannot be read.
pub(super) fn check(files: &Files, listed: &[String]) -> Result<(Order, String)> {
    checked(files, listed, false)
}

/// As `check`, for a caller that removes the store: a manifest that cannot be read is an error, because it may belong
/// to another engine.
pub(super) fn check_strictly(files: &Files, listed: &[String]) -> Result<()> {
    checked(files, listed, true).map(drop)
}

fn checked(files: &Files, listed: &[String], is_strict: bool) -> Result<(Order, String)> {
    // A store of Pebble also has files that are named as those of RocksDB, so Pebble's own names decide first.
    let engines = || listed.iter().filter_map(|name| Some((engine_of(name)?, name)));
    if let Some((engine, name)) =
        engines().find(|(engine, _)| *engine == "Pebble").or(engines().next())
    {
        return Err(refusal(files, engine, &format!("{} is there", name.escape_debug())));
    }
    let mut order = (Order::Bytewise, String::new());
    for name in listed {
        if !matches!(names::parse(name), Some(FileKind::Manifest(_))) {
            continue;
        }
        let data = match files.read(name) {
            Ok(data) => data,
            Err(error) if is_strict => return Err(error),
            // Opening or repairing the store reports what it cannot read.
            Err(_) => continue,
        };
        let mut reader = LogReader::new(&data);
        while let Some(entry) = reader.next_entry() {
            let Entry::Record(_, record) = entry else { continue };
            match Edit::decoded(&record) {
                Ok(edit) => {
                    let name = files.describe(name);
                    if let Some(manifest_order @ Order::Idb) = Order::of_edit(&name, &edit)? {
                        order = (manifest_order, name);
                    }
                }
                Err(damage) if damage.message == ROCKSDB_TAG => {
                    return Err(refusal(files, "RocksDB", &format!("{name} has its records")));
                }
                Err(_) => {}
            }
        }
    }
    Ok(order)
}

/// As `check`, for a caller that renames files: also looks into the tables, and requires one file of LevelDB.
pub(super) fn check_contents(files: &Files, listed: &[String]) -> Result<(Order, String)> {
    let order = check(files, listed)?;
    for name in listed {
        if magic(files, name).is_some_and(footer::is_rocksdb) {
            return Err(refusal(files, "RocksDB", &format!("{name} is one of its tables")));
        }
    }
    // Manifests come last in the list and need no reading, so the search starts there.
    if listed.iter().rev().any(|name| is_of_leveldb(files, name)) {
        return Ok(order);
    }
    let folder = files.describe("");
    Err(Error::invalid(format!("{folder}: nothing of a store is here to repair")))
}

/// The magic number at the end of a table; `None` for other files.
fn magic(files: &Files, name: &str) -> Option<u64> {
    if !matches!(names::parse(name), Some(FileKind::Table(_))) {
        return None;
    }
    let file = files.open(name).ok()?;
    let at = file.len().ok()?.checked_sub(8)?;
    let bytes = file.read_exact(at, 8).ok()?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Whether a file is certainly LevelDB's. The name of a log is not enough: many programs number their logs.
fn is_of_leveldb(files: &Files, name: &str) -> bool {
    match names::parse(name) {
        Some(FileKind::Manifest(_)) => true,
        Some(FileKind::Table(_)) => {
            name.ends_with(".ldb") || magic(files, name) == Some(footer::MAGIC)
        }
        Some(FileKind::Log(_)) => {
            let Ok(data) = files.read(name) else { return false };
            let mut reader = LogReader::of_batches(&data);
            let mut entries = std::iter::from_fn(|| reader.next_entry());
            entries.any(|entry| match entry {
                Entry::Record(_, record) => WriteBatch::decoded(record).is_ok(),
                Entry::Damaged(..) => false,
            })
        }
        _ => false,
    }
}
