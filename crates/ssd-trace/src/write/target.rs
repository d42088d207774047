//! The writable formats, by name.

use super::{
    BlockEvent, Columnar, EPOCH_1970, Fio, Mqsim, Msr, Options, TextWriter, TraceWriter, WriteError,
};
use crate::read::formats::TraceFormat;
use ssd_core::config::Word;
use std::path::Path;

/// Name of the host, or of the file, in formats that require one. fio's `replay_redirect` can name the device instead.
const SOMEBODY: &str = "ssdlab";

/// A writable format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The format, as a readable format.
    pub format: TraceFormat,
    /// Extension of files that the program names, without the dot.
    pub extension: &'static str,
    /// What it stores of a request, and what it does not store.
    pub carries: &'static str,
}

/// All targets, sorted by name.
pub const TARGETS: [Target; 5] = [
    Target {
        format: TraceFormat::BlockEvent,
        extension: "trace",
        carries: "all operations and copies, times in ns, flags; no reads and writes above 1 GiB, no streams",
    },
    Target {
        format: TraceFormat::FioV3,
        extension: "log",
        carries: "reads, writes, trims, flushes, times in us; no requests of 4 GiB and more, no copies, flags and \
                  streams",
    },
    Target {
        format: TraceFormat::Mqsim,
        extension: "txt",
        carries: "reads and writes, times in ns; no trims, flushes and copies, no flags and streams",
    },
    Target {
        format: TraceFormat::Msr,
        extension: "csv",
        carries: "reads and writes, times in 100 ns; no trims, flushes and copies, no flags and streams",
    },
    Target {
        format: TraceFormat::Ssdtrace,
        extension: crate::read::columnar::EXTENSION,
        carries: "everything, exactly",
    },
];

impl Target {
    /// Returns the target called `name`, as in `workload.format`.
    ///
    /// # Errors
    /// [`WriteError::Option`], which names all targets.
    pub fn named(name: &str) -> Result<&'static Target, WriteError> {
        let names = || TARGETS.iter().map(|target| target.format.word());
        TARGETS.iter().find(|target| target.format.word() == name).ok_or_else(|| {
            let names: Vec<&str> = names().collect();
            WriteError::Option(format!("format {name:?}: expected one of {}", names.join(", ")))
        })
    }

    /// Opens a writer for `path`; the file is compressed with zstd if the name ends in `.zst`.
    ///
    /// # Errors
    /// [`WriteError::Exists`], [`WriteError::File`], or [`WriteError::Option`] for a name with the ending of another
    /// compression.
    pub fn create(
        &self,
        path: &Path,
        options: Options,
    ) -> Result<Box<dyn TraceWriter>, WriteError> {
        if path.extension().is_some_and(|extension| extension == "gz") {
            let text = "files are compressed with zstd, not gzip; name it .zst, or without .gz";
            return Err(WriteError::Option(format!("{}: {text}", path.display())));
        }
        Ok(match self.format {
            TraceFormat::BlockEvent => {
                let form = BlockEvent::new('Q').expect("Q is an action");
                Box::new(TextWriter::create(path, form, options)?)
            }
            TraceFormat::FioV3 => Box::new(TextWriter::create(path, Fio::new(SOMEBODY)?, options)?),
            TraceFormat::Mqsim => Box::new(TextWriter::create(path, Mqsim, options)?),
            TraceFormat::Msr => {
                Box::new(TextWriter::create(path, Msr::new(SOMEBODY, EPOCH_1970)?, options)?)
            }
            _ => Box::new(Columnar::create(path, options)?),
        })
    }
}
