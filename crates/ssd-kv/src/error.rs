//! Errors: every message names the file, and the offset if there is one.

use std::io;
use std::sync::Arc;

/// The result of an operation of the store.
pub type Result<T> = std::result::Result<T, Error>;

/// The failure of an operation of the store. Data that were acknowledged before are not lost.
///
/// For a write: `Applied` means that it was applied, `Uncertain` that this is unknown, any other error that it
/// was not applied.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The file layer refused: disk full, no permission, device error.
    #[error("{file}: cannot {doing}: {source}")]
    Io {
        /// The file, as the file layer describes it.
        file: String,
        /// The operation that failed, as a verb.
        doing: &'static str,
        /// The error of the file layer.
        source: Arc<io::Error>,
    },
    /// The contents of a file violate its format.
    #[error("{file}: damaged at offset {offset}: {message}")]
    Corruption {
        /// The file, as the file layer describes it.
        file: String,
        /// The offset in the file, in bytes.
        offset: u64,
        /// What was found and what was expected.
        message: String,
    },
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The caller's `go_on` refused to continue; the operation was not completed.
    #[error("stopped: {0}")]
    Stopped(Arc<io::Error>),
    /// The directory is in use by another store, in this process or another one.
    #[error("{0}: in use: another open store holds its lock")]
    Locked(String),
    /// The write was applied, and is durable if that was requested; background work after it failed.
    #[error("the write is made, but background work failed after it: {0}")]
    Applied(Box<Error>),
    /// The log failed during the write: the next open may find the whole batch or none of it.
    #[error("the write may be found when the store is opened again, or not at all: {0}")]
    Uncertain(Box<Error>),
    /// An earlier failure made further writes unsafe; the store can still be read.
    #[error("the store takes no more writes: {0} (reopen it to recover)")]
    Poisoned(Box<Error>),
}

impl Error {
    pub(crate) fn io(file: String, doing: &'static str, source: io::Error) -> Error {
        Error::Io { file, doing, source: Arc::new(source) }
    }

    pub(crate) fn corrupt(file: &str, offset: u64, message: impl Into<String>) -> Error {
        Error::Corruption { file: file.to_owned(), offset, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::Invalid(message.into())
    }

    /// Whether the error is damage in a file.
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        matches!(self, Error::Corruption { .. })
    }
}
