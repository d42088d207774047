//! Reads an archive as the single file in it.

use super::final_error;
use crate::read::commands::word;
use crate::read::cpu_files::parse_cpu_file;
use std::fmt;
use std::io::{self, ErrorKind, Read};

/// Bytes of a member that are stored for the message about an archive of several files.
const HEAD: usize = 64 << 10;
/// Maximum number of members in that message.
const LISTED: usize = 6;
/// Maximum number of bytes that are skipped to find these members.
const PASSED: u64 = 256 << 20;

/// A member of an archive.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// First bytes of the member.
    pub(crate) head: Vec<u8>,
    /// Whether `head` is the whole member.
    pub(crate) is_whole: bool,
}

/// The error of an archive with several files, one of which must be selected.
#[derive(Debug)]
pub(crate) struct AmbiguousArchive {
    /// The command that writes a file of the archive FILE to standard output.
    pub(crate) command: &'static str,
    /// The argument of the command that selects only the file of this name, before quoting.
    pub(crate) selecting: fn(&str) -> String,
    /// The command that extracts all files of the archive FILE.
    pub(crate) unpack: &'static str,
    /// The first members, two or more.
    pub(crate) members: Vec<Member>,
    /// Whether there may be more members.
    pub(crate) is_more: bool,
}

impl AmbiguousArchive {
    /// Returns the `AmbiguousArchive` in `error`, if there is one.
    pub(crate) fn of(error: &io::Error) -> Option<&AmbiguousArchive> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for AmbiguousArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = self.members.iter().map(|member| member.name.escape_debug());
        let (Some(first), Some(second)) = (names.next(), names.next()) else { return Ok(()) };
        write!(f, "an archive of several files (the first two are {first} and {second})")
    }
}

impl std::error::Error for AmbiguousArchive {}

impl Member {
    /// Returns whether the name belongs to a document that accompanies traces.
    pub(crate) fn is_document(&self) -> bool {
        let last = self.name.rsplit('/').next().unwrap_or(&self.name).to_ascii_lowercase();
        ["readme", "license", "licence", "copying"].iter().any(|word| last.starts_with(word))
            || [".md", ".pdf", ".html"].iter().any(|ending| last.ends_with(ending))
    }
}

/// Sequential access to the members of an archive.
pub(super) trait Members {
    /// Moves to the next file, skipping folders and the like; returns its name.
    fn next_file(&mut self) -> io::Result<Option<String>>;
    /// Reads bytes of the file; returns 0 at its end.
    fn read_file(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    /// The command that writes a file of such an archive to standard output.
    const COMMAND: &'static str;
    /// Returns the argument of that command that selects only the file of this name, before quoting.
    fn selecting(name: &str) -> String;
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
    /// Within this file.
    Open(Member),
    End,
}

impl<M: Members> Archive<M> {
    pub(super) fn new(members: M) -> Archive<M> {
        Archive { members, state: State::Start }
    }

    /// Returns the next file that the packing program has not added itself.
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
                return Err(final_error("an archive without files; give the trace itself"));
            };
            if name == "[Content_Types].xml" {
                return Err(final_error("an office workbook or document; save the sheet as CSV"));
            }
            self.state = State::Open(Member { name, head: Vec::new(), is_whole: true });
        }
        let State::Open(member) = &mut self.state else { return Ok(0) };
        let count = self.members.read_file(buffer)?;
        if count > 0 || buffer.is_empty() {
            let room = (HEAD - member.head.len()).min(count);
            member.head.extend_from_slice(&buffer[..room]);
            member.is_whole &= room == count;
            return Ok(count);
        }
        let State::Open(first) = std::mem::replace(&mut self.state, State::End) else {
            return Ok(0);
        };
        self.next_file()?.map_or(Ok(0), |second| Err(self.several(first, second)))
    }
}

impl<M: Members> Archive<M> {
    /// Returns the error of an archive in which a file named `second` follows the `first`.
    #[cold]
    fn several(&mut self, first: Member, second: String) -> io::Error {
        let of_cpu = [&first.name, &second].into_iter().find_map(|name| parse_cpu_file(name));
        if let Some((base, ..)) = of_cpu {
            let recording = base.trim_end_matches(".blktrace.").trim_start_matches('/');
            return final_error(format!(
                "an archive of blktrace files, one for each CPU; unpack it: {}; then read each recording by its \
                 name: ssdlab trace info {}",
                M::UNPACK,
                word(&recording.escape_debug().to_string())
            ));
        }
        let (mut members, mut next, mut left) = (vec![first], Some(second), PASSED);
        while let Some(name) = next.take() {
            members.push(self.member(name, &mut left));
            if left == 0 || members.len() == LISTED {
                break;
            }
            next = self.next_file().unwrap_or_default();
        }
        let is_more = left == 0 || self.next_file().is_ok_and(|next| next.is_some());
        let (command, selecting, unpack) = (M::COMMAND, M::selecting, M::UNPACK);
        let several = AmbiguousArchive { command, selecting, unpack, members, is_more };
        io::Error::new(ErrorKind::Unsupported, several)
    }

    /// Returns the file of this name, and skips it if it is not longer than `left`, the bytes that may still be
    /// skipped. A damaged file sets `left` to 0.
    fn member(&mut self, name: String, left: &mut u64) -> Member {
        let mut member = Member { name, head: Vec::new(), is_whole: true };
        let mut buffer = vec![0; HEAD];
        while *left > 0 {
            match self.members.read_file(&mut buffer) {
                Ok(0) => return member,
                Ok(count) => {
                    let room = (HEAD - member.head.len()).min(count);
                    member.head.extend_from_slice(&buffer[..room]);
                    member.is_whole &= room == count;
                    *left = left.saturating_sub(count as u64);
                }
                Err(_) => *left = 0,
            }
        }
        member.is_whole = false;
        member
    }
}

/// Returns whether packers add files of this name, such as resource forks of macOS.
fn is_hidden(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    name.starts_with("__MACOSX/")
        || last.starts_with("._")
        || last == ".DS_Store"
        || last == "Thumbs.db"
}
