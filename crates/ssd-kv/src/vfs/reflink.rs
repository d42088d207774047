//! Shared storage on file systems that have reflinks: `FICLONERANGE` of Linux, on XFS and btrfs.
#![allow(unsafe_code, reason = "a call of the operating system")]

use std::io;
use std::os::fd::RawFd;

/// Let `length` bytes of `to` from `at` on share the storage of `from` at `offset`. All three are multiples
/// of the block of the file system.
///
/// # Errors
/// If nothing was shared: the error of the operating system, or `Unsupported` where there is no such call.
#[cfg(target_os = "linux")]
pub(super) fn share(
    (to, at): (RawFd, u64),
    (from, offset): (RawFd, u64),
    length: u64,
) -> io::Result<()> {
    debug_assert!(to >= 0 && from >= 0, "files that are open");
    // The system would take 0 for everything up to the end.
    if length == 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let range = libc::file_clone_range {
        src_fd: from.into(),
        src_offset: offset,
        src_length: length,
        dest_offset: at,
    };
    // SAFETY: `range` has the layout of the system's structure and outlives the call.
    if unsafe { libc::ioctl(to, libc::FICLONERANGE, &raw const range) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// As on Linux.
#[cfg(not(target_os = "linux"))]
pub(super) fn share(_: (RawFd, u64), _: (RawFd, u64), _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
