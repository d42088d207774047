//! The disk under the drive: a separate thread that carries out orders in sequence.
//!
//! Callers do not wait for it unless too many bytes are queued. Each order has a position in the sequence. Once the
//! disk has reached a position, the kernel has everything before it, which then outlives the process. A kill loses only
//! the tail.

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

/// Most bytes that wait to be written; beyond them writers wait, too.
const MOST_BYTES: u64 = 64 << 20;

/// A range of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// Its first byte.
    pub at: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// What the disk has to do.
enum Order {
    Write(Arc<File>, u64, Arc<[u8]>),
    Punch(Arc<File>, Range),
    Hold(Arc<File>, Vec<Range>, u64),
}

/// What both threads know.
struct Shared {
    /// The position before which everything has been done.
    done: AtomicU64,
    /// Bytes that have been written.
    bytes: AtomicU64,
    /// The position at which somebody is to be woken.
    awaited: AtomicU64,
    /// Why nothing more is done.
    failure: OnceLock<io::Error>,
    bell: OwnedFd,
}

/// A disk.
pub struct Disk {
    orders: Option<Sender<Order>>,
    /// For how many units of each hold there is room.
    hold_results: Receiver<io::Result<usize>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    place: u64,
    bytes: u64,
}

impl Disk {
    /// An idle disk.
    ///
    /// # Errors
    /// The system has no more threads or files.
    pub fn start() -> io::Result<Disk> {
        let (orders, received) = channel();
        let (holds, hold_results) = channel();
        let shared = Arc::new(Shared {
            done: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            awaited: AtomicU64::new(u64::MAX),
            failure: OnceLock::new(),
            bell: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        });
        let worker_shared = Arc::clone(&shared);
        let work = move || {
            while let Ok(order) = received.recv() {
                worker_shared.carry_out(&order, &holds);
            }
        };
        let thread = std::thread::Builder::new().name("disk".into()).spawn(work)?;
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Disk { orders, hold_results, shared, thread, place: 0, bytes: 0 })
    }

    fn tell(&mut self, order: Order) {
        // A thread that has gone has failed, which waiting callers notice.
        let _ = self.orders.as_ref().expect("it has not ended").send(order);
        self.place += 1;
    }

    /// Write `bytes` to `file` from byte `at` on, for which there is room.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn write(&mut self, file: &Arc<File>, at: u64, bytes: Arc<[u8]>) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.tell(Order::Write(Arc::clone(file), at, bytes));
        while self.bytes - self.shared.bytes.load(Ordering::SeqCst) > MOST_BYTES {
            self.wait(self.done() + 1)?;
        }
        Ok(())
    }

    /// Release the space of a range of `file`.
    pub fn punch(&mut self, file: &Arc<File>, range: Range) {
        self.tell(Order::Punch(Arc::clone(file), range));
    }

    /// Reserve space for these ranges of `file`, which are holes, in units of this many bytes. [`Disk::next_hold`]
    /// returns for how many units there was space.
    pub fn hold(&mut self, file: &Arc<File>, ranges: Vec<Range>, unit: u64) {
        self.tell(Order::Hold(Arc::clone(file), ranges, unit));
    }

    /// The unread answer to the oldest [`Disk::hold`], if there is one: the number of units at the front that are held,
    /// or why not even the first one is.
    #[must_use]
    pub fn next_hold(&self) -> Option<io::Result<usize>> {
        self.hold_results.try_recv().ok()
    }

    /// The position after all orders so far.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.place
    }

    /// The position that it has reached.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.shared.done.load(Ordering::SeqCst)
    }

    /// The error that stopped it, if it has failed.
    ///
    /// # Errors
    /// That.
    pub fn check(&self) -> io::Result<()> {
        match self.shared.failure.get() {
            None if self.thread.as_ref().is_some_and(JoinHandle::is_finished) => {
                Err(io::Error::other("the writer thread has ended"))
            }
            None => Ok(()),
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// A file descriptor that becomes readable when the disk reaches `place`, or fails. Check [`Disk::done`] before
    /// waiting for it.
    pub fn bell(&self, place: u64) -> BorrowedFd<'_> {
        self.shared.awaited.store(place, Ordering::SeqCst);
        self.shared.bell.as_fd()
    }

    /// The bell has been heard.
    pub fn silence(&self) {
        // It may not have rung.
        let _ = rustix::io::read(&self.shared.bell, &mut [0u8; 8]);
    }

    /// Wait until the disk has reached `place`.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn wait(&self, place: u64) -> io::Result<()> {
        loop {
            let bell = self.bell(place);
            self.check()?;
            if self.done() >= place {
                return Ok(());
            }
            // The thread may have panicked, which rings no bell; the check detects that.
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            match poll(&mut [PollFd::from_borrowed_fd(bell, PollFlags::IN)], Some(&second)) {
                Ok(_) | Err(Errno::INTR) => self.silence(),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Wait until everything has been done.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn settle(&self) -> io::Result<()> {
        self.wait(self.place)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn carry_out(&self, order: &Order, holds: &Sender<io::Result<usize>>) {
        if self.failure.get().is_some() {
            return;
        }
        let carried_out = match order {
            Order::Write(file, at, bytes) => {
                let written = file.write_all_at(bytes, *at);
                self.bytes.fetch_add(bytes.len() as u64, Ordering::SeqCst);
                written
            }
            Order::Punch(file, range) => {
                // Space that cannot be released stays allocated. That is not a failure: some file systems need space to
                // punch a hole.
                let _ = punch(file, *range);
                Ok(())
            }
            Order::Hold(file, ranges, unit) => {
                // At the end nobody listens any more.
                let _ = holds.send(hold(file, ranges, *unit));
                Ok(())
            }
        };
        let place = match carried_out {
            Ok(()) => self.done.fetch_add(1, Ordering::SeqCst) + 1,
            Err(error) => {
                let _ = self.failure.set(error);
                u64::MAX
            }
        };
        if place >= self.awaited.load(Ordering::SeqCst) {
            self.awaited.store(u64::MAX, Ordering::SeqCst);
            // It rings already if this is not possible.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }
}

/// Release the space of a range.
///
/// # Errors
/// The disk fails.
pub fn punch(file: &File, range: Range) -> io::Result<()> {
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match fallocate(file, hole, range.at, range.bytes) {
        // A file system without holes keeps the space for what comes next.
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

/// Allocate space for a range, or leave it as it is.
fn allocate(file: &File, range: Range) -> io::Result<()> {
    let allocated = match fallocate(file, FallocateFlags::empty(), range.at, range.bytes) {
        Err(Errno::OPNOTSUPP | Errno::NODEV) => {
            file.write_all_at(&vec![0; range.bytes as usize], range.at)
        }
        other => other.map_err(io::Error::from),
    };
    if allocated.is_err() {
        // A part of it may be allocated now.
        punch(file, range)?;
    }
    allocated
}
