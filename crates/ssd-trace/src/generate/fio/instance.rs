//! An instance of a job and its next action, as in fio's main loop.

use super::JobFileError;
use super::content::{Content, FLUSH, NextRequest, RequestAttempt};
use super::job::Job;
use super::pace::Pace;
use ssd_core::host::request::{Op, Request};
use ssd_core::rng::Stream;
use ssd_core::units::SECTOR_BYTES;

/// State of an instance. Times are nanoseconds from the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Other jobs must end first.
    Blocked,
    /// It begins at this time.
    Before(u64),
    /// It has submitted a request and checks whether its queue has room.
    Submitted,
    /// A pause begins when all outstanding requests have completed.
    Draining,
    /// Pauses until this time.
    Paused(u64),
    /// It looks for its next request.
    Choosing,
    /// It is ahead of its rate, and waits for outstanding requests.
    Ahead(Op, u64),
    /// It submits a request of this operation at this time.
    Waiting(Op, u64),
    /// It submits a request of this operation now; the request was due at this time.
    Ready(Op, u64),
    /// It submits the flush at its end.
    Closing,
    /// A round has ended; the next one begins when all outstanding requests have completed.
    Turning,
    Ending,
    Ended,
}

/// One instance of a job.
pub(super) struct Instance {
    content: Content,
    pace: Pace,
    state: State,
    delay_ns: u64,
    repeats: bool,
    /// Groups run one after the other.
    pub(super) group: usize,
    /// Index of its job in the file, and of the job that it waits for.
    pub(super) job: usize,
    pub(super) waits_for: Option<usize>,
}

impl Instance {
    pub(super) fn new(
        job: &Job,
        number: u64,
        file: (u64, u64),
        seed: u64,
    ) -> Result<Instance, JobFileError> {
        let mut name = format!("fio.{}.{number}", job.name);
        if let Some(seed) = job.seed {
            name = format!("{name}.{seed}");
        }
        let smallest = [0, 1, 2].map(|op| job.sizes(op).smallest());
        let (from, to) = job.start_ns;
        let delay = Stream::new(seed, &format!("{name}.start")).below(to - from + 1);
        Ok(Instance {
            content: Content::new(job, number, file, (seed, &name))?,
            pace: Pace::new(job.pacing, job.mix, smallest, (seed, &name)),
            state: State::Blocked,
            delay_ns: from + delay,
            repeats: job.repeats,
            group: 0,
            job: 0,
            waits_for: None,
        })
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.state == State::Blocked
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Returns whether it has begun and not ended.
    pub(super) fn is_running(&self) -> bool {
        !matches!(self.state, State::Blocked | State::Before(_) | State::Ended)
    }

    /// Releases it after the jobs that it waits for have ended.
    pub(super) fn unblock(&mut self, now: u64) {
        self.state = State::Before(now.saturating_add(self.delay_ns));
    }

    /// Ends it early: it submits nothing more.
    pub(super) fn terminate(&mut self) {
        self.state = if self.is_running() { State::Ending } else { State::Ended };
    }

    /// Returns whether it submits a request now.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready(..) | State::Closing)
    }

    /// Returns the time at which it continues without a completion.
    pub(super) fn due(&self) -> Option<u64> {
        match self.state {
            State::Before(at) | State::Paused(at) | State::Waiting(_, at) => Some(at),
            _ => None,
        }
    }

    /// Returns the maximum number of outstanding requests.
    pub(super) fn depth(&self) -> u64 {
        self.pace.pacing.depth
    }

    /// Records a completion.
    pub(super) fn completed(&mut self, is_flush: bool) {
        self.pace.completed(is_flush);
    }

    /// Advances as far as possible at `now`.
    pub(super) fn advance(&mut self, now: u64) {
        while let Some(next) = self.next_state(now) {
            self.state = next;
        }
    }

    /// Returns the state after this one, or `None` if it stays the same.
    fn next_state(&mut self, now: u64) -> Option<State> {
        match self.state {
            State::Before(at) => (at <= now).then(|| {
                self.pace.begin(now);
                State::Choosing
            }),
            State::Submitted if self.pace.make_room() => Some(if self.pace.must_pause(now) {
                self.pace.mark_pause();
                State::Draining
            } else {
                State::Choosing
            }),
            State::Draining => self.pace.drained().then(|| {
                let end = now.saturating_add(self.pace.pacing.think_ns);
                State::Paused(end.min(self.pace.end_ns()))
            }),
            State::Paused(at) => (at <= now).then(|| {
                self.pace.resume(now);
                State::Choosing
            }),
            State::Choosing => Some(self.choose(now)),
            State::Ahead(op, at) => self.pace.drained().then_some(State::Waiting(op, at)),
            State::Waiting(op, at) => (at <= now).then(|| match now >= self.pace.end_ns() {
                true => State::Ending,
                false => State::Ready(op, at),
            }),
            State::Turning => self.pace.drained().then(|| {
                self.content.begin_round();
                if self.repeats {
                    self.pace.repeat();
                }
                State::Choosing
            }),
            State::Ending => self.pace.drained().then(|| match self.content.must_flush() {
                true => State::Closing,
                false => State::Ended,
            }),
            State::Submitted
            | State::Blocked
            | State::Ready(..)
            | State::Closing
            | State::Ended => None,
        }
    }

    fn choose(&mut self, now: u64) -> State {
        if now >= self.pace.end_ns() {
            return State::Ending;
        }
        let ready_at = match self.content.wish() {
            NextRequest::End => return State::Ending,
            NextRequest::Flush => return State::Ready(Op::Flush, now),
            NextRequest::Data(op) => op,
        };
        let (op, at) = self.pace.next(ready_at, now);
        // It does not wait for a request beyond its runtime.
        let at = at.min(self.pace.end_ns());
        if at <= now {
            State::Ready(op, at)
        } else if self.pace.pacing.offload {
            State::Waiting(op, at)
        } else {
            State::Ahead(op, at)
        }
    }

    /// Submits a request, and returns it with its intended arrival; `None` where a round or the job ends.
    pub(super) fn submit(&mut self, now: u64) -> Option<(u64, Request)> {
        let (output, intended) = match self.state {
            State::Closing => (RequestAttempt::Request(FLUSH), now),
            State::Ready(Op::Flush, _) => (RequestAttempt::Request(self.content.flush()), now),
            State::Ready(op, at) => (self.content.data(op), self.pace.intended(op, at, now)),
            _ => unreachable!("it has a request"),
        };
        let (state, request) = match output {
            RequestAttempt::Request(request) if self.state == State::Closing => {
                (State::Ending, Some(request))
            }
            RequestAttempt::Request(request) => (State::Submitted, Some(request)),
            RequestAttempt::Round => (State::Turning, None),
            RequestAttempt::End => (State::Ending, None),
        };
        self.state = state;
        let request = request?;
        self.pace.submitted(request.op, u64::from(request.sectors) * SECTOR_BYTES);
        Some((intended, request))
    }
}
