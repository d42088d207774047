//! The disk of the server: a thread that performs file operations in order, so that callers do not wait for them.
//!
//! A caller waits only if too many bytes are queued. Each operation has a position in the queue. Once the disk has
//! reached a position, the kernel has the data of all operations before it, so they survive the process. A kill loses
//! only the operations after it.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{FallocateFlags, Timespec, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// Most bytes that are queued; a caller that queues more waits.
const MOST_BYTES: u64 = 64 << 20;

/// A range of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// First byte.
    pub at: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// A file operation.
enum Operation {
    Write(Arc<File>, u64, Arc<[u8]>),
    Punch(Arc<File>, Range),
    Hold(Arc<File>, Vec<Range>, u64),
}

/// State that the caller and the thread share.
struct Shared {
    /// The position that the thread has reached: all operations before it are done.
    done: AtomicU64,
    /// Bytes that have been written.
    bytes: AtomicU64,
    /// The position at which a waiting caller is to be woken.
    awaited: AtomicU64,
    /// The first error; the thread performs nothing after it.
    failure: OnceLock<io::Error>,
    /// The event that wakes the caller (eventfd).
    wake_event: OwnedFd,
}

/// The disk of the server: a queue of file operations, and the thread that performs them.
pub struct Disk {
    operations: Option<Sender<Operation>>,
    /// For each [`Disk::hold`], the number of units for which space was reserved.
    hold_results: Receiver<io::Result<usize>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    position: u64,
    bytes: u64,
}

impl Disk {
    /// Start the thread, with nothing to do.
    ///
    /// # Errors
    /// The system has no more threads or file descriptors.
    pub fn start() -> io::Result<Disk> {
        let (operations, received) = channel();
        let (holds, hold_results) = channel();
        let shared = Arc::new(Shared {
            done: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            awaited: AtomicU64::new(u64::MAX),
            failure: OnceLock::new(),
            wake_event: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        });
        let worker_shared = Arc::clone(&shared);
        let work = move || {
            while let Ok(operation) = received.recv() {
                worker_shared.perform(&operation, &holds);
            }
        };
        let thread = std::thread::Builder::new().name("disk".into()).spawn(work)?;
        let (operations, thread) = (Some(operations), Some(thread));
        Ok(Disk { operations, hold_results, shared, thread, position: 0, bytes: 0 })
    }

    fn enqueue(&mut self, operation: Operation) {
        // Sending fails only if the thread has panicked, which `check` reports.
        let _ = self.operations.as_ref().expect("the disk is running").send(operation);
        self.position += 1;
    }

    /// Write `bytes` to `file` from byte `at` on, for which space is reserved.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn write(&mut self, file: &Arc<File>, at: u64, bytes: Arc<[u8]>) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.enqueue(Operation::Write(Arc::clone(file), at, bytes));
        while self.bytes - self.shared.bytes.load(Ordering::SeqCst) > MOST_BYTES {
            self.wait(self.done() + 1)?;
        }
        Ok(())
    }

    /// Release the space of a range of `file`.
    pub fn punch(&mut self, file: &Arc<File>, range: Range) {
        self.enqueue(Operation::Punch(Arc::clone(file), range));
    }

    /// Reserve space for `ranges` of `file`, which are holes, in units of `unit` bytes. [`Disk::next_hold`] returns for
    /// how many units there was space.
    pub fn hold(&mut self, file: &Arc<File>, ranges: Vec<Range>, unit: u64) {
        self.enqueue(Operation::Hold(Arc::clone(file), ranges, unit));
    }

    /// The next result of a [`Disk::hold`], if there is one: the number of units for which space was reserved, from the
    /// first one on, or the error if there is none.
    #[must_use]
    pub fn next_hold(&self) -> Option<io::Result<usize>> {
        self.hold_results.try_recv().ok()
    }

    /// The position after all operations so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The position that the thread has reached.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.shared.done.load(Ordering::SeqCst)
    }

    /// Check that the disk has not failed.
    ///
    /// # Errors
    /// The error that stopped the thread.
    pub fn check(&self) -> io::Result<()> {
        match self.shared.failure.get() {
            None if self.thread.as_ref().is_some_and(JoinHandle::is_finished) => {
                Err(io::Error::other("the writer thread has ended"))
            }
            None => Ok(()),
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// A file descriptor that becomes readable when the disk reaches `position` or fails. Check [`Disk::done`] after
    /// this call and before waiting.
    pub fn wake_fd(&self, position: u64) -> BorrowedFd<'_> {
        self.shared.awaited.store(position, Ordering::SeqCst);
        self.shared.wake_event.as_fd()
    }

    /// Reset the file descriptor of [`Disk::wake_fd`].
    pub fn clear_wake(&self) {
        // Reading fails if the event has not occurred.
        let _ = rustix::io::read(&self.shared.wake_event, &mut [0u8; 8]);
    }

    /// Wait until the disk has reached `position`.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn wait(&self, position: u64) -> io::Result<()> {
        loop {
            let wake_fd = self.wake_fd(position);
            self.check()?;
            if self.done() >= position {
                return Ok(());
            }
            // A panic of the thread does not signal the event, so check every second.
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            match poll(&mut [PollFd::from_borrowed_fd(wake_fd, PollFlags::IN)], Some(&second)) {
                Ok(_) | Err(Errno::INTR) => self.clear_wake(),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Wait until all operations so far are done.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn settle(&self) -> io::Result<()> {
        self.wait(self.position)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.operations.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been printed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn perform(&self, operation: &Operation, holds: &Sender<io::Result<usize>>) {
        if self.failure.get().is_some() {
            return;
        }
        let result = match operation {
            Operation::Write(file, at, bytes) => {
                let written = file.write_all_at(bytes, *at);
                self.bytes.fetch_add(bytes.len() as u64, Ordering::SeqCst);
                written
            }
            Operation::Punch(file, range) => {
                // If this fails, the space stays allocated. That is not an error: on some file systems, punching a hole
                // needs free space.
                let _ = punch(file, *range);
                Ok(())
            }
            Operation::Hold(file, ranges, unit) => {
                // When the server stops, nobody receives the result.
                let _ = holds.send(hold(file, ranges, *unit));
                Ok(())
            }
        };
        let position = match result {
            Ok(()) => self.done.fetch_add(1, Ordering::SeqCst) + 1,
            Err(error) => {
                let _ = self.failure.set(error);
                u64::MAX
            }
        };
        if position >= self.awaited.load(Ordering::SeqCst) {
            self.awaited.store(u64::MAX, Ordering::SeqCst);
            // Writing fails only if the event is pending anyway.
            let _ = rustix::io::write(&self.wake_event, &1u64.to_ne_bytes());
        }
    }
}

/// Release the space of a range of `file`.
///
/// # Errors
/// The file system fails.
pub fn punch(file: &File, range: Range) -> io::Result<()> {
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match fallocate(file, hole, range.at, range.bytes) {
        // On a file system without holes the space stays allocated.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NODEV) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reserve space for ranges in units of this many bytes. Returns for how many units there was space.
fn hold(file: &File, ranges: &[Range], unit: u64) -> io::Result<usize> {
    let mut count = 0;
    for &range in ranges {
        if allocate(file, range).is_ok() {
            count += (range.bytes / unit) as usize;
            continue;
        }
        for at in (range.at..range.at + range.bytes).step_by(unit as usize) {
            if let Err(error) = allocate(file, Range { at, bytes: unit }) {
                return if count == 0 { Err(error) } else { Ok(count) };
            }
            count += 1;
        }
    }
    Ok(count)
}

/// Allocate space for a range, completely or not at all.
fn allocate(file: &File, range: Range) -> io::Result<()> {
    let allocated = match fallocate(file, FallocateFlags::empty(), range.at, range.bytes) {
        Err(Errno::OPNOTSUPP | Errno::NODEV) => {
            file.write_all_at(&vec![0; range.bytes as usize], range.at)
        }
        other => other.map_err(io::Error::from),
    };
    if allocated.is_err() {
        // A part of the range may have been allocated.
        punch(file, range)?;
    }
    allocated
}
