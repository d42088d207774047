//! An output file that is either complete or absent.

use super::WriteError;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes passed to the system at a time.
const BUFFER: usize = 1 << 18;
/// Names that are tried for the temporary file.
const ATTEMPTS: u32 = 100;

/// A temporary file beside the target, which gets the target's name at the end.
pub(crate) struct Output {
    target: PathBuf,
    temporary: PathBuf,
    replace: bool,
    file: Option<BufWriter<File>>,
}

impl Output {
    /// Creates the temporary file. Its name starts with a dot, contains the target's name and the id of this process,
    /// and ends in `.tmp`.
    pub(crate) fn create(target: &Path, replace: bool) -> Result<Output, WriteError> {
        refuse_existing(target, replace)?;
        let fail = |cause: &dyn std::fmt::Display| WriteError::File {
            file: target.display().to_string(),
            cause: cause.to_string(),
        };
        let Some(name) = target.file_name() else {
            return Err(fail(&"it names no file"));
        };
        for attempt in 0..ATTEMPTS {
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}.{attempt}.tmp", std::process::id()));
            let temporary = target.with_file_name(hidden);
            // `create_new` never overwrites a file of another process.
            match File::create_new(&temporary) {
                Ok(file) => {
                    let file = Some(BufWriter::with_capacity(BUFFER, file));
                    return Ok(Output { target: target.to_owned(), temporary, replace, file });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fail(&error)),
            }
        }
        Err(fail(&"too many temporary files of its name; remove those that end in .tmp"))
    }

    /// Returns the name of the target.
    pub(crate) fn name(&self) -> String {
        self.target.display().to_string()
    }

    fn error(&self, error: &io::Error) -> WriteError {
        WriteError::File { file: self.name(), cause: error.to_string() }
    }

    fn writer(&mut self) -> &mut BufWriter<File> {
        self.file.as_mut().expect("the file is there until it is committed")
    }

    /// Appends `bytes`.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let result = self.writer().write_all(bytes);
        result.map_err(|error| self.error(&error))
    }

    /// Overwrites the first bytes. Nothing may be appended afterwards.
    pub(crate) fn overwrite_start(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let writer = self.writer();
        let result = writer.seek(SeekFrom::Start(0)).and_then(|_| writer.write_all(bytes));
        result.map_err(|error| self.error(&error))
    }

    /// Replaces the whole file by its zstd-compressed form.
    pub(crate) fn compressed(mut self, level: i32) -> Result<Output, WriteError> {
        let output = Output::create(&self.target, self.replace)?;
        let done = self.writer().flush().and_then(|()| {
            let mut encoder = zstd::Encoder::new(output, level)?;
            io::copy(&mut File::open(&self.temporary)?, &mut encoder)?;
            encoder.finish()
        });
        done.map_err(|error| self.error(&error))
    }

    /// Renames the file to the target once it is completely on disk; returns its length, bytes.
    pub(crate) fn commit(mut self) -> Result<u64, WriteError> {
        let done = self.writer().flush().and_then(|()| {
            let file = self.writer().get_ref();
            // Syncs before the renaming, because a power cut must not leave an empty file under the target's name.
            file.sync_all()?;
            file.metadata()
        });
        let bytes = done.map_err(|error| self.error(&error))?.len();
        refuse_existing(&self.target, self.replace)?;
        fs::rename(&self.temporary, &self.target).map_err(|error| self.error(&error))?;
        // Nothing needs to be cleaned up from here on.
        self.file = None;
        Ok(bytes)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // The file is removed, so buffered bytes are not written.
            drop(file.into_parts());
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

fn refuse_existing(target: &Path, replace: bool) -> Result<(), WriteError> {
    if !replace && target.symlink_metadata().is_ok() {
        return Err(WriteError::Exists(target.display().to_string()));
    }
    Ok(())
}
