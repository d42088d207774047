//! Bytes of a trace from a file or standard input, still packed.

use crate::read::commands::{STANDARD_INPUT, with_name};
use crate::read::cpu_files::{SUFFIXES, parse_cpu_file};
use crate::read::members;
use crate::read::records::Part;
use crate::read::unpack::{AmbiguousArchive, unpacked};
use ssd_core::host::source::SourceError;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Chain, Cursor, ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time between two checks whether the wait for the writer of a pipe was ended.
const OPENING: Duration = Duration::from_millis(100);
/// Bytes of a file between two progress reports.
const LOOK_EVERY: u64 = 1 << 18;

/// Returns the name of a trace in messages: the name of the file that [`open`] opens.
pub(crate) fn display_name(path: &str) -> String {
    if path == "-" { STANDARD_INPUT.to_owned() } else { file_of(path) }
}

/// Returns the file at `path`, or the first of the files that blktrace calls `PATH.blktrace.N`, as `blkparse -i PATH`
/// does.
pub(crate) fn file_of(path: &str) -> String {
    let of_cpu = |suffix: &&str| format!("{path}.blktrace.0{suffix}");
    let first = || SUFFIXES.iter().map(of_cpu).find(|name| Path::new(name).exists());
    let missing = path != "-" && !Path::new(path).exists();
    missing.then(first).flatten().unwrap_or_else(|| path.to_owned())
}

/// Opens `path`; "-" is standard input. `watch` may end the wait for the writer of a named pipe.
pub(crate) fn open(path: &str, watch: &Watch<'_>) -> Result<Box<dyn Read>, SourceError> {
    if path == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = file_of(path);
    let is_special =
        std::fs::metadata(&file).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    let opened = if is_special { open_in_thread(file, watch) } else { File::open(file) };
    match opened {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(SourceError(format!("{path}: cannot open the trace: {error}"))),
    }
}

/// Opens a special file in a separate thread, because no signal interrupts the opening of a named pipe. If `watch` ends
/// the wait, the thread continues to wait.
#[expect(clippy::disallowed_methods, reason = "the thread only waits; it simulates nothing")]
fn open_in_thread(file: String, watch: &Watch<'_>) -> io::Result<File> {
    let (sender, receiver) = mpsc::channel();
    // The receiver may be gone.
    thread::spawn(move || drop(sender.send(File::open(file))));
    loop {
        match receiver.recv_timeout(OPENING) {
            Ok(opened) => return opened,
            Err(RecvTimeoutError::Timeout) => watch.at(Step::Read(0))?,
            Err(RecvTimeoutError::Disconnected) => {
                unreachable!("the thread sends before it ends")
            }
        }
    }
}

/// Start of zstd's error for a dictionary other than that of the file.
const NO_DICTIONARY: &str = "Dictionary mismatch";

/// Returns the error for bytes that cannot be read or unpacked.
#[cold]
pub(crate) fn unreadable(file: &str, place: &str, error: &io::Error) -> SourceError {
    if let Some(several) = AmbiguousArchive::of(error) {
        return SourceError(members::choice(file, several));
    }
    let cause = match error.kind() {
        ErrorKind::Unsupported => {
            return SourceError(format!("{file}: {}", with_name(file, &error.to_string())));
        }
        ErrorKind::IsADirectory => {
            return SourceError(format!("{file}: cannot read the trace: {error}"));
        }
        ErrorKind::Other if error.to_string().starts_with(NO_DICTIONARY) => {
            return SourceError(format!(
                "{file}: the file needs a dictionary, which ssdlab does not have: {} | ssdlab trace info -",
                with_name(file, "zstd -dc -D DICTIONARY FILE")
            ));
        }
        ErrorKind::UnexpectedEof => "the compressed data are cut short",
        ErrorKind::Other | ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            "the compressed data are damaged"
        }
        _ => "reading failed",
    };
    SourceError(format!("{file}: {cause} ({error}) in or before {place}; {}", copying_again(file)))
}

/// Returns the remedy for a damaged compressed file.
pub(crate) fn copying_again(file: &str) -> String {
    let tools = [
        (".xz", "xz"),
        (".bz2", "bzip2"),
        (".lz4", "lz4"),
        (".zip", "unzip"),
        (".zst", "zstd"),
        (".gz", "gzip"),
        (".tgz", "gzip"),
    ];
    let test = match tools.iter().find(|(end, _)| file.ends_with(end)) {
        Some((_, tool)) => format!("`{tool} -t`"),
        None => "the program that packed it (`zstd -t`, `gzip -t`, ...)".to_owned(),
    };
    format!("copy the file again and check it with {test}")
}

/// Returns the other files of a set that blktrace wrote, one per CPU: for `path` NAME.blktrace.N, all NAME.blktrace.M
/// in the same folder with the same compression.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn other_cpus(path: &str) -> Result<Vec<Part<'static>>, SourceError> {
    let path = Path::new(path);
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(Vec::new()) };
    let Some((base, cpu, suffix)) = parse_cpu_file(name) else { return Ok(Vec::new()) };
    let folder = path.parent().filter(|folder| *folder != "").unwrap_or(Path::new("."));
    let fail = |error| {
        let folder = folder.display();
        SourceError(format!("{folder}: cannot look for the files of the other CPUs: {error}"))
    };
    let mut parts = BTreeMap::new();
    for entry in folder.read_dir().map_err(fail)? {
        let entry_name = entry.map_err(fail)?.file_name();
        let Some((its_base, its_cpu, its_suffix)) = entry_name.to_str().and_then(parse_cpu_file)
        else {
            continue;
        };
        if (its_base, its_suffix) == (base, suffix) && its_cpu != cpu {
            parts.insert(its_cpu, path.with_file_name(&entry_name).display().to_string());
        }
    }
    let part = |path: String| {
        let file = File::open(&path)
            .map_err(|error| SourceError(format!("{path}: cannot open the trace: {error}")))?;
        let bytes = unpacked(file).map_err(|error| unreadable(&path, "record 1", &error))?;
        Ok((path, bytes))
    };
    parts.into_values().map(part).collect()
}

/// Progress of reading a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Bytes of the file read so far.
    Read(u64),
    /// Requests sorted by time (`workload.sort`), after the whole file was read.
    Sorted {
        /// Requests sorted so far.
        done: u64,
        /// Requests in total.
        total: u64,
    },
}

/// Receives the progress of a reading, and may end it.
pub(crate) struct Watch<'a> {
    tell: RefCell<&'a mut dyn FnMut(Step) -> ControlFlow<()>>,
    stopped: Cell<bool>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(tell: &'a mut dyn FnMut(Step) -> ControlFlow<()>) -> Watch<'a> {
        Watch { tell: RefCell::new(tell), stopped: Cell::new(false) }
    }

    /// Reports `step`.
    ///
    /// # Errors
    /// The reading must end.
    pub(crate) fn at(&self, step: Step) -> io::Result<()> {
        if (self.tell.borrow_mut())(step).is_break() {
            self.stopped.set(true);
        }
        if self.stopped() { Err(io::Error::other("interrupted")) } else { Ok(()) }
    }

    /// Returns whether it was ended; an error of the reading is then not caused by the file.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.get()
    }
}

/// A reader that periodically reports the bytes read to a watch, and fails once the watch ends it.
pub(crate) struct WatchedReader<'w, 'a, R> {
    reader: R,
    bytes: u64,
    next_look: u64,
    watch: &'w Watch<'a>,
}

impl<'w, 'a, R> WatchedReader<'w, 'a, R> {
    pub(crate) fn new(reader: R, watch: &'w Watch<'a>) -> WatchedReader<'w, 'a, R> {
        WatchedReader { reader, bytes: 0, next_look: 0, watch }
    }
}

impl<R: Read> Read for WatchedReader<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.reader.read(buffer);
        // A signal interrupts reading from an empty pipe, so that the user can stop waiting.
        let signal = matches!(&result, Err(error) if error.kind() == ErrorKind::Interrupted);
        self.bytes += result.as_ref().map_or(0, |&count| count as u64);
        if signal || self.bytes >= self.next_look {
            self.next_look = self.bytes + LOOK_EVERY;
            self.watch.at(Step::Read(self.bytes))?;
        }
        result
    }
}

/// A reader whose first bytes have been examined.
pub(crate) type RewoundReader<R> = Chain<Cursor<Vec<u8>>, R>;
