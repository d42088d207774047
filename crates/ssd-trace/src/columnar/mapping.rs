//! A file as memory. The only unsafe code of this crate.
#![allow(unsafe_code, reason = "one mapping of a file, audited here")]

use memmap2::{Advice, Mmap};
use std::fs::File;
use std::io;

/// Maps the whole of `file` for reading, from its first to its last byte.
///
/// The mapping shows the file as it is, not as it was: somebody who shortens the file while it is
/// read makes the next access beyond its new end stop the process (SIGBUS), and somebody who writes
/// into it changes what is read. The writers of this crate do neither: they fill a temporary file
/// and rename it, so that a mapped file keeps its contents until the last reader is gone. For files
/// that others may change in place there is [`super::Reader::open_buffered`].
///
/// # Errors
/// The system refuses: the file is empty, a pipe or a device, or lies on a file system that cannot
/// map. The caller reads it in the ordinary way then.
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private to this process and only read. What the language asks beyond
    // that, that nobody changes the bytes meanwhile, no process can enforce against the others; it
    // is the stated condition above. The bytes are read as integers of any value, every block is
    // checked against its checksum before it is used, and every index is checked, so that even a
    // file that is changed in place leads to wrong numbers or an error and never to an access
    // outside the mapping.
    let mapping = unsafe { Mmap::map(file)? };
    // A hint: results never depend on it, so a refusal is harmless.
    let _ = mapping.advise(Advice::Sequential);
    Ok(mapping)
}
