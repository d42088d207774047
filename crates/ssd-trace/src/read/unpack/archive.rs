//! An archive as the one file in it.

use super::told;
use crate::read::commands::word;
use crate::read::input::parse_cpu_file;
use std::io::{self, Read};

/// The members of an archive, one after the other.
pub(super) trait Members {
    /// Steps to the next file (folders and the like are none); its name.
    fn next_file(&mut self) -> io::Result<Option<String>>;
    /// Bytes of the file; none at its end.
    fn read_file(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    /// The command that writes a file of such an archive to standard output.
    const COMMAND: &'static str;
    /// The command that extracts all files of such an archive.
    const UNPACK: &'static str;
}

/// Reads the only file of an archive.
pub(super) struct Archive<M> {
    members: M,
    state: State,
}

enum State {
    Start,
    /// In the file of this name.
    Open(String),
    End,
}

impl<M: Members> Archive<M> {
    pub(super) fn new(members: M) -> Archive<M> {
        Archive { members, state: State::Start }
    }

    /// The next file that is not an addition of the packing program.
    fn next_file(&mut self) -> io::Result<Option<String>> {
        loop {
            match self.members.next_file()? {
                Some(name) if is_hidden(&name) => {}
                other => return Ok(other),
            }
        }
    }
}

impl<M: Members> Read for Archive<M> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if matches!(self.state, State::Start) {
            let Some(name) = self.next_file()? else {
                return Err(told("an archive without files; give the trace itself"));
            };
            if name == "[Content_Types].xml" {
                return Err(told("an office workbook or document; save the sheet as CSV"));
            }
            self.state = State::Open(name);
        }
        let State::Open(name) = &self.state else { return Ok(0) };
        let count = self.members.read_file(buffer)?;
        if count > 0 || buffer.is_empty() {
            return Ok(count);
        }
        let name = name.escape_debug().to_string();
        self.state = State::End;
        match self.next_file()? {
            None => Ok(0),
            Some(other) => {
                let other = other.escape_debug().to_string();
                if let Some((base, ..)) = parse_cpu_file(&name).or_else(|| parse_cpu_file(&other)) {
                    let recording = base.trim_end_matches(".blktrace.").trim_start_matches('/');
                    return Err(told(format!(
                        "an archive of blktrace files, one for each CPU; unpack it: {}; then read each recording by \
                         its name: ssdlab trace info {}",
                        M::UNPACK,
                        word(recording)
                    )));
                }
                let one = if is_document(&name) { &other } else { &name };
                Err(told(format!(
                    "an archive of several files (the first two are {name} and {other}); choose one: {} '{one}' | \
                     ssdlab trace info -",
                    M::COMMAND
                )))
            }
        }
    }
}

/// Whether the name is that of a document that accompanies traces.
fn is_document(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    ["readme", "license", "licence", "copying"].iter().any(|word| last.starts_with(word))
        || [".md", ".pdf", ".html"].iter().any(|ending| last.ends_with(ending))
}

/// What packers add: resource forks of macOS, and the like.
fn is_hidden(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    name.starts_with("__MACOSX/")
        || last.starts_with("._")
        || last == ".DS_Store"
        || last == "Thumbs.db"
}
