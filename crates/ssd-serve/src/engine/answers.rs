//! When a completed request may be answered: if its reply promises that data survive a kill, once the disk has them.

use super::Engine;
use ssd_core::config::BufferPower;
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Completion, Op, Request, flags};
use ssd_trace::config::RunConfig;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;

/// Completions that wait for the disk, because their replies promise that data survive a kill.
pub(super) struct Promises {
    /// Whether writes without FUA promise nothing, because the drive has a volatile buffer.
    is_volatile: bool,
    /// Numbers of the outstanding writes with FUA.
    fua: BTreeSet<u64>,
    /// Completions, each with the position that the disk has to reach.
    waiting: VecDeque<(u64, Completion)>,
}

impl Promises {
    pub(super) fn new(config: &RunConfig) -> Promises {
        let is_volatile =
            config.host.write_buffer_pages > 0 && config.power.buffer == BufferPower::Volatile;
        Promises { is_volatile, fua: BTreeSet::new(), waiting: VecDeque::new() }
    }

    /// Note that the machine has received a request.
    pub(super) fn submitted(&mut self, id: u64, request: &Request) {
        if self.is_volatile && request.op == Op::Write && request.flags & flags::FUA != 0 {
            self.fua.insert(id);
        }
    }

    /// Whether the reply promises that data survive. Forgets the number of a write with FUA.
    fn take_promise(&mut self, completion: &Completion) -> bool {
        match completion.op {
            Op::Flush | Op::Trim => true,
            Op::Write => !self.is_volatile || self.fua.remove(&completion.id.0),
            _ => false,
        }
    }
}

impl Engine {
    /// The requests that may be answered now; each is returned once. Those whose replies promise that data survive a
    /// kill are returned only when the disk has everything up to their completion.
    ///
    /// # Errors
    /// The disk has failed. No request may be answered any more.
    pub fn completions(&mut self) -> io::Result<Vec<Completion>> {
        self.disk.check()?;
        if self.log.is_none() {
            self.promises.fua.clear();
            return Ok(std::mem::take(&mut self.done));
        }
        if !self.done.is_empty() {
            self.mark()?;
        }
        if self.failure.is_some() {
            // Requests that completed before the failure are not affected.
            self.settle()?;
        }
        let position = self.disk.position();
        let mut completions = Vec::new();
        for completion in self.done.drain(..) {
            if self.promises.take_promise(&completion) {
                self.promises.waiting.push_back((position, completion));
            } else {
                completions.push(completion);
            }
        }
        let done = self.disk.done();
        while let Some((_, completion)) =
            self.promises.waiting.pop_front_if(|(position, _)| *position <= done)
        {
            completions.push(completion);
        }
        Ok(completions)
    }

    /// Whether [`Engine::completions`] would return any request.
    #[must_use]
    pub fn has_completions(&self) -> bool {
        let first = self.promises.waiting.front();
        !self.done.is_empty() || first.is_some_and(|(position, _)| *position <= self.disk.done())
    }

    /// A file descriptor that becomes readable when the disk reaches the position of the next completion. `None` if no
    /// completion waits. Check [`Engine::has_completions`] after this call and before waiting.
    #[must_use]
    pub fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.promises.waiting.front().map(|(position, _)| self.disk.wake_fd(*position))
    }

    /// Reset the file descriptor of [`Engine::wake_fd`].
    pub fn clear_wake(&self) {
        self.disk.clear_wake();
    }

    /// Wait until the disk has done all operations.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn settle(&self) -> io::Result<()> {
        self.disk.settle()
    }

    /// Append a mark with the present time to the log, if there is one.
    pub(super) fn mark(&mut self) -> io::Result<()> {
        let now = self.ssd.now().0;
        self.log.as_mut().map_or(Ok(()), |log| log.mark(now, &mut self.disk))
    }
}
