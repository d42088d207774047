//! Submission queues of the host, which the device serves in turn.
//!
//! The device takes the oldest request of the next queue that has one, as with the round-robin arbitration of NVMe and
//! bursts of one command. A queue stands for a tenant: a request waits in the queue with the number of its stream,
//! modulo the number of queues.

use super::request::TimedRequest;
use std::collections::VecDeque;

/// A request that waits in the host.
pub(crate) struct QueuedRequest {
    pub(crate) timed: TimedRequest,
    /// Data of a copy: its source ranges.
    pub(crate) sources: Option<Vec<u8>>,
}

/// Requests that have arrived and that the device has not taken.
pub(crate) struct SubmissionQueues {
    queues: Vec<VecDeque<QueuedRequest>>,
    /// The queue whose turn is next.
    turn: usize,
}

impl SubmissionQueues {
    /// That many empty queues.
    pub(crate) fn new(queues: u32) -> SubmissionQueues {
        assert!(queues > 0, "the config layer has checked the number of queues");
        SubmissionQueues { queues: (0..queues).map(|_| VecDeque::new()).collect(), turn: 0 }
    }

    /// Add a request that has arrived.
    pub(crate) fn push(&mut self, request: QueuedRequest) {
        let queue = usize::from(request.timed.request.stream) % self.queues.len();
        self.queues[queue].push_back(request);
    }

    /// Take the request whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<QueuedRequest> {
        let count = self.queues.len();
        let from_turn = (0..count).map(|step| (self.turn + step) % count);
        let queue = { from_turn }.find(|&queue| !self.queues[queue].is_empty())?;
        self.turn = (queue + 1) % count;
        self.queues[queue].pop_front()
    }

    /// Whether no request waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::request::{Op, Request};
    use crate::units::Nanos;

    #[test]
    fn queues_take_turns_and_empty_ones_lose_theirs() {
        let mut queues = SubmissionQueues::new(3);
        for (at, stream) in [(1, 0), (2, 0), (3, 4), (4, 2), (5, 1), (6, 0)] {
            let request = Request { stream, ..Request::new(Op::Read, 0, 8) };
            let timed = TimedRequest { at: Nanos(at), request };
            queues.push(QueuedRequest { timed, sources: None });
        }
        // Stream 4 waits in queue 1.
        let order: Vec<u64> =
            std::iter::from_fn(|| queues.pop()).map(|queued| queued.timed.at.0).collect();
        assert_eq!(order, [1, 3, 4, 2, 5, 6]);
        assert!(queues.is_empty());
    }
}
