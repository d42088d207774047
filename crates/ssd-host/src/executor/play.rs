//! Nodes of actors, and requests on the drive.

use super::{Activity, HostError, Machine, RecordEntry};
use crate::fs::{Node, NotedRequest, PAGE};
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Op, Request, RequestId};
use ssd_core::units::Nanos;

/// Sectors of a page.
pub(super) const SECTORS: u64 = PAGE as u64 / 512;

impl Machine {
    /// Play nodes until the actor waits (false) or none is left (true).
    pub(super) fn play(&mut self, actor: usize) -> Result<bool, HostError> {
        loop {
            if self.actors[actor].waits || self.actors[actor].pending > 0 {
                return Ok(false);
            }
            let Some(node) = self.actors[actor].nodes.pop_front() else { return Ok(true) };
            match node {
                Node::Cpu(ns) => {
                    self.actors[actor].waits = true;
                    if self.idle_cores > 0 {
                        self.start_processing(actor, ns);
                    } else {
                        self.enter(actor, Activity::Core);
                        self.cpu_queue.push_back((actor, ns));
                    }
                }
                Node::Io(requests) => {
                    let reads = requests.iter().all(|request| request.op == Op::Read);
                    self.enter(actor, if reads { Activity::Read } else { Activity::Write });
                    for request in requests {
                        self.submit(request, Some(actor))?;
                        self.actors[actor].pending += 1;
                    }
                }
                Node::ReadAhead(requests) => {
                    for request in requests {
                        self.submit(request, None)?;
                    }
                }
                Node::After(first, last) if !self.fs.are_done(first, last) => {
                    self.block(actor, Node::After(first, last));
                }
                Node::Barrier(number) if !self.fs.is_past(number) => {
                    self.block(actor, Node::Barrier(number));
                }
                Node::After(..) | Node::Barrier(_) => {}
                Node::Free(extents) => {
                    self.fs.freed(&extents);
                    if std::mem::take(&mut self.short_of_space) {
                        self.wake(super::BACKGROUND);
                    }
                }
            }
        }
    }

    /// Block the actor until requests of others have completed.
    fn block(&mut self, actor: usize, node: Node) {
        let reads = matches!(node, Node::After(first, _) if self.fs.is_reading(first));
        self.enter(actor, if reads { Activity::Read } else { Activity::Write });
        self.actors[actor].nodes.push_front(node);
        self.actors[actor].waits = true;
        self.blocked.push(actor);
    }

    /// Let actors that wait for requests of others check again.
    pub(super) fn unblock(&mut self) {
        for actor in std::mem::take(&mut self.blocked) {
            let passes = match self.actors[actor].nodes.front() {
                Some(&Node::After(first, last)) => self.fs.are_done(first, last),
                Some(&Node::Barrier(number)) => self.fs.is_past(number),
                _ => true,
            };
            if passes {
                self.wake(actor);
            } else {
                self.blocked.push(actor);
            }
        }
    }

    fn submit(&mut self, noted: NotedRequest, waits: Option<usize>) -> Result<(), HostError> {
        let (first, pages) = (u64::from(noted.extent.start), u64::from(noted.extent.pages));
        let mut request = Request::new(noted.op, first * SECTORS, (pages * SECTORS) as u32);
        if noted.op == Op::Flush {
            request.sector = 0;
        }
        (request.flags, request.stream) = (noted.flags, noted.stream);
        self.note_event(RecordEntry::Submitted { at_ns: self.now, request });
        let id = self.ssd.submit(Nanos(self.now), &request, noted.data.as_deref())?;
        self.requests.insert(id.0, (noted.number, waits));
        Ok(())
    }

    /// Handle a request that the drive has completed.
    pub(super) fn completed(&mut self, id: u64) {
        self.note(id << 8);
        self.ticks = 0;
        self.ssd.take_data(RequestId(id));
        let Some((number, waits)) = self.requests.remove(&id) else { return };
        self.fs.done(number);
        if let Some(actor) = waits {
            let pending = &mut self.actors[actor].pending;
            *pending -= 1;
            if *pending == 0 {
                self.ready.push_back(actor);
            }
        }
    }

    /// Play what has been noted while nobody else acts.
    pub(super) fn play_alone(&mut self) -> Result<(), HostError> {
        self.take_nodes(super::WRITE_BACK);
        self.write_back_idle = true;
        self.ready.push_back(super::WRITE_BACK);
        loop {
            self.act_all()?;
            if self.requests.is_empty() && self.idle_cores == self.settings.cores {
                return Ok(());
            }
            self.advance()?;
        }
    }
}
