//! Snapshots in files: the core's format compressed with zstd. A file is either complete or absent.

use crate::write::{WriteError, output::Output};
use ssd_core::config::Config;
use ssd_core::ftl::snapshot::{DeviceSnapshot, FormError};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

/// zstd level. A higher level does not make unordered addresses smaller.
const LEVEL: i32 = 1;
/// The first bytes of a zstd frame.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes between two calls of the watcher.
const WATCH_EVERY: u64 = 1 << 23;

/// Called periodically with the uncompressed bytes processed; `Break` ends the work.
pub type Watch<'a> = dyn FnMut(u64) -> ControlFlow<()> + 'a;

/// A snapshot in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SavedSnapshot {
    /// Digest of the state, as in reports.
    pub digest: String,
    /// Length of the file.
    pub bytes: u64,
}

/// Why a snapshot was not saved. No file remains.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SaveError {
    /// The file cannot be written, or exists.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The watcher stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// Why a snapshot was not loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be used; the message names it.
    #[error("{0}")]
    Refused(String),
    /// The watcher stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// Returns a digest in the notation of reports.
#[must_use]
pub fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Calls a watcher after every [`WATCH_EVERY`] bytes.
struct Steps<'a, 'w> {
    watch: &'a mut Watch<'w>,
    done: u64,
    next: u64,
}

impl Steps<'_, '_> {
    fn count(&mut self, bytes: usize) -> ControlFlow<()> {
        self.done += bytes as u64;
        if self.done < self.next {
            return ControlFlow::Continue(());
        }
        self.next = self.done + WATCH_EVERY;
        (self.watch)(self.done)
    }
}

/// Writes `snapshot` to `path`; an existing file is replaced only with `replace`.
///
/// # Errors
/// A [`SaveError`].
pub fn save(
    snapshot: &DeviceSnapshot,
    path: &Path,
    replace: bool,
    watch: &mut Watch<'_>,
) -> Result<SavedSnapshot, SaveError> {
    let file = path.display().to_string();
    let failed = |error: io::Error| {
        SaveError::Write(WriteError::File { file: file.clone(), cause: error.to_string() })
    };
    let output = Output::create(path, replace)?;
    let mut encoder = zstd::Encoder::new(output, LEVEL).map_err(failed)?;
    let mut steps = Steps { watch, done: 0, next: 0 };
    let digest = snapshot.encode(&mut |bytes| {
        encoder.write_all(bytes).map_err(failed)?;
        let go_on = steps.count(bytes.len());
        if go_on.is_break() { Err(SaveError::Interrupted) } else { Ok(()) }
    })?;
    let bytes = encoder.finish().map_err(failed)?.commit()?;
    Ok(SavedSnapshot { digest: hex(digest), bytes })
}

/// Returns the snapshot in the file `path` and its digest, checked against `config` if that is given.
///
/// # Errors
/// A [`LoadError`].
pub fn load(
    path: &Path,
    config: Option<&Config>,
    watch: &mut Watch<'_>,
) -> Result<(DeviceSnapshot, String), LoadError> {
    let refused = |reason: &dyn std::fmt::Display| {
        LoadError::Refused(format!("{}: {reason}", path.display()))
    };
    let unreadable = |error: &io::Error| refused(&format_args!("cannot be read: {error}"));
    let mut file = BufReader::new(File::open(path).map_err(|error| unreadable(&error))?);
    let mut begin = Vec::new();
    let begun = file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut begin);
    begun.map_err(|error| unreadable(&error))?;
    if begin != ZSTD {
        return Err(refused(&FormError::Foreign));
    }
    let stream = io::Cursor::new(begin).chain(file);
    let mut decoder = zstd::Decoder::new(stream).map_err(|error| unreadable(&error))?;
    let mut steps = Steps { watch, done: 0, next: 0 };
    let (mut interrupted, mut cut) = (false, false);
    let decoded = DeviceSnapshot::decode(config, &mut |buffer| {
        let read = match decoder.read(buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                cut = true;
                0
            }
            Err(error) => return Err(format!("cannot be read: {error}")),
        };
        interrupted = steps.count(read).is_break();
        if interrupted { Err(String::new()) } else { Ok(read) }
    });
    match decoded {
        Ok((snapshot, digest)) => Ok((snapshot, hex(digest))),
        Err(_) if interrupted => Err(LoadError::Interrupted),
        Err(_) if cut => Err(refused(&FormError::Truncated)),
        Err(error) => Err(refused(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd_core::ftl::Ftl;

    fn keep_going(_: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("ssdlab-{name}-{}", std::process::id()));
        // An aborted run whose process had the same id may have left the folder.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder of its own");
        folder
    }

    fn loaded(path: &Path, config: &Config) -> String {
        load(path, Some(config), &mut keep_going).err().expect("it is refused").to_string()
    }

    #[test]
    fn a_file_comes_back_whole_and_nothing_else_does() {
        let (folder, config) = (folder("snapshots"), Config::default());
        let (path, other_path) = (folder.join("a.snap"), folder.join("b.snap"));
        let snapshot = Ftl::new(&config).snapshot(0).expect("an erased device is at rest");
        let saved = save(&snapshot, &path, false, &mut keep_going).expect("it can be written");
        assert_eq!(saved.bytes, path.metadata().expect("a file").len());
        let (back, digest) = load(&path, Some(&config), &mut keep_going).expect("what was saved");
        assert!(back == snapshot && digest == saved.digest);
        let second = save(&snapshot, &path, false, &mut keep_going);
        assert!(matches!(second, Err(SaveError::Write(WriteError::Exists(_)))));
        let stopped = save(&snapshot, &other_path, false, &mut |_| ControlFlow::Break(()));
        assert_eq!((stopped, other_path.exists()), (Err(SaveError::Interrupted), false));
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1, "nothing is left");
        let stopped = load(&path, Some(&config), &mut |_| ControlFlow::Break(()));
        assert_eq!(stopped.err(), Some(LoadError::Interrupted));

        let bytes = std::fs::read(&path).expect("it can be read");
        std::fs::write(&other_path, &bytes[..bytes.len() / 2]).expect("half of it");
        assert!(loaded(&other_path, &config).contains("b.snap: it is truncated"));
        std::fs::write(&other_path, [&bytes[..], &b"more"[..]].concat()).expect("more than it");
        assert!(loaded(&other_path, &config).contains("b.snap: cannot be read"));
        for foreign in
            [&b""[..], b"(\xb5", b"op,lpn\n", &zstd::encode_all(&b"0 R"[..], 1).expect("")]
        {
            std::fs::write(&other_path, foreign).expect("something else");
            assert!(loaded(&other_path, &config).contains("b.snap: it is not a snapshot"));
        }
        assert!(
            loaded(&folder.join("c.snap"), &config).contains("c.snap: cannot be read: No such")
        );
        assert!(loaded(&folder, &config).contains("cannot be read"));
        std::fs::remove_dir_all(folder).expect("the folder goes");
    }
}
