//! Bytes in memory: on the heap, or a file mapped for reading. This, the record lock and the sharing of
//! storage are the only code in this crate that needs `unsafe`.
#![allow(unsafe_code, reason = "calls of the operating system: a mapping, a lock, a share")]

use std::io;
use std::ops::Deref;
use std::os::fd::RawFd;
use std::sync::Arc;

/// Bytes that do not change.
pub struct Region(Backing);

enum Backing {
    Heap(Vec<u8>),
    Mapped { start: *const u8, length: usize },
}

// SAFETY: a mapping is read-only memory, the same for all threads, until it is dropped.
unsafe impl Send for Backing {}
// SAFETY: as above: nobody writes through it.
unsafe impl Sync for Backing {}

impl Region {
    /// A file of `length` bytes, mapped for reading. The file may be removed while it is mapped, but must not
    /// be truncated: the store never truncates a file.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn map(fd: RawFd, length: usize) -> io::Result<Region> {
        debug_assert!(fd >= 0, "a mapping of no file");
        if length == 0 {
            return Ok(Region(Backing::Heap(Vec::new())));
        }
        // SAFETY: a new mapping, at an address that the system chooses.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, fd, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        assert!(!start.is_null(), "slices need an address");
        assert!(length <= isize::MAX as usize, "slices are not longer");
        Ok(Region(Backing::Mapped { start: start.cast(), length }))
    }
}

impl From<Vec<u8>> for Region {
    fn from(data: Vec<u8>) -> Region {
        Region(Backing::Heap(data))
    }
}

impl Deref for Region {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        if let Backing::Mapped { start, length } = &self.0 {
            debug_assert!(!start.is_null() && *length > 0, "a mapping of nothing");
        }
        match &self.0 {
            Backing::Heap(data) => data,
            // SAFETY: `map` made it with this length, and it lives until `drop`.
            Backing::Mapped { start, length } => unsafe {
                std::slice::from_raw_parts(*start, *length)
            },
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Backing::Mapped { start, length } = self.0 {
            // SAFETY: made by `map` with this length; nothing borrows from it any more.
            let result = unsafe { libc::munmap(start.cast_mut().cast(), length) };
            debug_assert_eq!(result, 0, "the mapping is the one that `map` made");
        }
    }
}

/// Lock a whole file for this process without waiting: exclusively, as LevelDB does, or shared.
///
/// # Errors
/// `WouldBlock` if another process holds a conflicting lock.
pub(crate) fn lock_file(fd: RawFd, to_write: bool) -> io::Result<()> {
    debug_assert!(fd >= 0, "a lock without a file");
    // SAFETY: all fields of `flock` may be zero.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    let kind = if to_write { libc::F_WRLCK } else { libc::F_RDLCK };
    request.l_type = kind as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: `request` outlives the call.
    if unsafe { libc::fcntl(fd, libc::F_SETLK, &raw const request) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EAGAIN) => Err(io::ErrorKind::WouldBlock.into()),
        _ => Err(error),
    }
}

/// By reflinks (`FICLONERANGE` of Linux, on XFS and btrfs), let `length` bytes of `to` from `at` on share
/// the storage of `from` at `offset`. All three are multiples of the block of the file system.
///
/// # Errors
/// If nothing was shared: the error of the operating system, or `Unsupported` where there is no such call.
#[cfg(target_os = "linux")]
pub(super) fn share_range(
    (to, at): (RawFd, u64),
    (from, offset): (RawFd, u64),
    length: u64,
) -> io::Result<()> {
    debug_assert!(to >= 0 && from >= 0, "files that are open");
    debug_assert!(at.checked_add(length).is_some(), "no file is as long");
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
pub(super) fn share_range(_: (RawFd, u64), _: (RawFd, u64), _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A part of a region; it keeps the region alive.
#[derive(Clone)]
pub(crate) struct Piece {
    region: Arc<Region>,
    start: usize,
    end: usize,
}

impl Piece {
    /// # Panics
    /// If the region is shorter than `end`.
    pub(crate) fn new(region: Arc<Region>, start: usize, end: usize) -> Piece {
        assert!(start <= end && end <= region.len(), "a piece lies inside its region");
        Piece { region, start, end }
    }
}

impl From<Vec<u8>> for Piece {
    fn from(data: Vec<u8>) -> Piece {
        let end = data.len();
        Piece::new(Arc::new(Region::from(data)), 0, end)
    }
}

impl Deref for Piece {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.region[self.start..self.end]
    }
}
