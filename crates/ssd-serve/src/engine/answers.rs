//! What clients may be told, and when: the machine has completed a request, and what its reply promises is on the disk.

use super::Engine;
use ssd_core::config::BufferPower;
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Completion, Op, Request, flags};
use ssd_trace::config::RunConfig;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;

/// Completions that wait for the disk, because their replies promise that data outlive a kill.
pub(super) struct Promises {
    /// Whether the reply to a write promises nothing.
    is_volatile: bool,
    /// Numbers of writes with FUA that are under way.
    fua: BTreeSet<u64>,
    /// Each with the position that the disk has to reach.
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

    /// Whether the reply promises anything; the number of a write with FUA is then forgotten.
    fn take_promise(&mut self, completion: &Completion) -> bool {
        match completion.op {
            Op::Flush | Op::Trim => true,
            Op::Write => !self.is_volatile || self.fua.remove(&completion.id.0),
            _ => false,
        }
    }
}

impl Engine {
    /// The requests that the machine has completed since the last call and whose clients may be told. Requests whose
    /// replies promise that data outlive a kill are returned only when the disk has everything.
    ///
    /// # Errors
    /// The disk has failed: no client may be told of anything.
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
            // What had completed before is not affected.
            self.settle()?;
        }
        let place = self.disk.place();
        let mut completions = Vec::new();
        for completion in self.done.drain(..) {
            if self.promises.take_promise(&completion) {
                self.promises.waiting.push_back((place, completion));
            } else {
                completions.push(completion);
            }
        }
        let done = self.disk.done();
        while let Some((_, completion)) =
            self.promises.waiting.pop_front_if(|(place, _)| *place <= done)
        {
            completions.push(completion);
        }
        Ok(completions)
    }

    /// Whether [`Engine::completions`] would return something.
    #[must_use]
    pub fn has_completions(&self) -> bool {
        let first = self.promises.waiting.front();
        !self.done.is_empty() || first.is_some_and(|(place, _)| *place <= self.disk.done())
    }

    /// A file descriptor that becomes readable when the disk lets [`Engine::completions`] return something; `None` if
    /// nothing waits for it. Check [`Engine::has_completions`] before waiting.
    #[must_use]
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.promises.waiting.front().map(|(place, _)| self.disk.bell(*place))
    }

    /// The bell has been heard.
    pub fn silence(&self) {
        self.disk.silence();
    }

    /// Wait for the disk.
    ///
    /// # Errors
    /// It has failed.
    pub fn settle(&self) -> io::Result<()> {
        self.disk.settle()
    }

    pub(super) fn mark(&mut self) -> io::Result<()> {
        let now = self.ssd.now().0;
        self.log.as_mut().map_or(Ok(()), |log| log.mark(now, &mut self.disk))
    }
}
