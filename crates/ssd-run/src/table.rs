//! A compressed CSV file, written by a thread of its own: compression takes longer than what it logs.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Text is passed to the thread in chunks of at least this many bytes.
const CHUNK: usize = 256 << 10;

/// Chunks that may wait for the thread; beyond them the caller waits.
const WAITING: usize = 4;

/// zstd's level.
const LEVEL: i32 = 3;

type Encoder = zstd::Encoder<'static, File>;

/// A compressed CSV file. If it cannot be written, the first call after that fails.
pub(crate) struct Table {
    name: String,
    /// What the thread does not have yet. Callers append whole lines and then call [`Table::end_line`].
    pub(crate) text: String,
    /// `None` once the thread has failed or has everything.
    chunks: Option<SyncSender<String>>,
    thread: Option<JoinHandle<io::Result<Encoder>>>,
}

impl Table {
    /// A new file `name` in `folder`, with this first line.
    ///
    /// # Errors
    /// It cannot be created.
    pub(crate) fn create(folder: &Path, name: &str, header: &str) -> Result<Table, String> {
        let path = folder.join(name);
        let start = || {
            let encoder = Encoder::new(File::create_new(&path)?, LEVEL)?;
            let (chunks, received) = sync_channel(WAITING);
            let thread = std::thread::Builder::new().name("log".into());
            Ok((chunks, thread.spawn(move || compress(encoder, &received))?))
        };
        let name = path.display().to_string();
        let (chunks, thread) = start().map_err(|error| unwritable(&name, &error))?;
        let text = header.to_owned();
        Ok(Table { name, text, chunks: Some(chunks), thread: Some(thread) })
    }

    /// The text has another line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn end_line(&mut self) -> Result<(), String> {
        if self.text.len() < CHUNK { Ok(()) } else { self.pass_on() }
    }

    /// Pass the text to the thread.
    fn pass_on(&mut self) -> Result<(), String> {
        let chunk = std::mem::take(&mut self.text);
        self.text.reserve(chunk.capacity());
        let is_passed = self.chunks.as_ref().is_some_and(|chunks| chunks.send(chunk).is_ok());
        // The thread ends early only if it has failed.
        if is_passed { Ok(()) } else { self.join().map(drop) }
    }

    /// Complete the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        self.pass_on()?;
        let Some(encoder) = self.join()? else { return Ok(()) };
        let complete = || encoder.finish()?.sync_all();
        complete().map_err(|error| unwritable(&self.name, &error))
    }

    /// Wait until the thread has compressed everything or has failed; `None` if it was waited for before.
    fn join(&mut self) -> Result<Option<Encoder>, String> {
        drop(self.chunks.take());
        let Some(thread) = self.thread.take() else { return Ok(None) };
        let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
        ended.map(Some).map_err(|error| unwritable(&self.name, &error))
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // Nobody completes the file, so its errors do not matter. Its folder may be removed next.
        let _ = self.join();
    }
}

fn unwritable(name: &str, error: &io::Error) -> String {
    format!("{name}: cannot be written: {error}")
}

/// Compress all chunks.
fn compress(mut encoder: Encoder, chunks: &Receiver<String>) -> io::Result<Encoder> {
    for chunk in chunks {
        encoder.write_all(chunk.as_bytes())?;
    }
    Ok(encoder)
}
