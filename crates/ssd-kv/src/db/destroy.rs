//! Removes a store.

use crate::error::Result;
use crate::format::names::{self, FileKind};
use crate::vfs::{Files, Vfs};
use std::sync::Arc;

/// Remove all files of the store in a directory, and the directory if nothing else is in it. Without a
/// store, nothing is done, except that the rest of an interrupted removal is removed.
///
/// # Errors
/// If the store is in use or belongs to another engine, or a file cannot be removed.
pub fn destroy(vfs: Arc<dyn Vfs>) -> Result<()> {
    let files = Files::new(vfs);
    if !files.exists_any(is_of_a_store)? {
        return Ok(());
    }
    super::foreign::check_strictly(&files, &files.list()?)?;
    let lock = files.lock(names::LOCK)?;
    // CURRENT first: if this is interrupted, the directory is no longer a store.
    if files.exists(names::CURRENT)? {
        files.remove(names::CURRENT)?;
    }

    for name in files.list()? {
        if names::parse(&name).is_some() && name != names::LOCK {
            files.remove(&name)?;
        }
    }
    drop(lock);
    files.remove(names::LOCK)?;
    if files.list()?.is_empty() { files.remove_dir() } else { Ok(()) }
}

/// Whether a file with this name shows that there is or was a store. Logs do not: other programs have
/// files with such names.
fn is_of_a_store(name: &str) -> bool {
    matches!(
        names::parse(name),
        Some(FileKind::Current | FileKind::Lock | FileKind::Manifest(_) | FileKind::Table(_))
    )
}
