//! Submission times of an instance: depth, rates and pauses.

use super::kinds::{Mix, SetResult};
use super::value::{Units, count, flag, seconds_ns, set_three, time_ns, word};
use ssd_core::host::request::Op;
use ssd_core::rng::Stream;

const SECOND: u128 = 1_000_000_000;

/// The options. Arrays are of reads, writes and trims.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pacing {
    pub(super) depth: u64,
    /// A full queue must drain to this many requests before the next submission; `None`: to fewer than `depth`.
    low: Option<u64>,
    /// Completions that a full queue waits for.
    reaped_at_once: u64,
    /// Requests are submitted on schedule, regardless of completions.
    pub(super) offload: bool,
    /// Bytes a second, and requests of the smallest size a second; 0: unlimited.
    pub(super) rate: [u64; 3],
    pub(super) iops: [u64; 3],
    poisson: bool,
    /// Requests that a rate misses during a pause are not made up for.
    forgets: bool,
    pub(super) think_ns: u64,
    /// Requests between two pauses; `None`: 1, or pauses by time alone.
    think_blocks: Option<u64>,
    /// Counts requests at submission instead of completion.
    counts_issues: bool,
    /// Time between two pauses; 0: pauses by requests.
    think_after_ns: u64,
    /// 0: no limit.
    pub(super) runtime_ns: u64,
}

impl Default for Pacing {
    fn default() -> Pacing {
        Pacing {
            depth: 1,
            low: None,
            reaped_at_once: 1,
            offload: false,
            rate: [0; 3],
            iops: [0; 3],
            poisson: false,
            forgets: false,
            think_ns: 0,
            think_blocks: None,
            counts_issues: false,
            think_after_ns: 0,
            runtime_ns: 0,
        }
    }
}

impl Pacing {
    /// Sets option `name`.
    pub(super) fn set(&mut self, units: Units, name: &str, text: &str) -> SetResult {
        let (number, time) = ("a whole number from 1 on", "a time, as 100us");
        let done = match name {
            "iodepth" => count(text).map(|n| self.depth = n).ok_or(number),
            "iodepth_low" => count(text).map(|n| self.low = Some(n)).ok_or(number),
            "iodepth_batch_complete_min" => {
                // 0 polls, but a full queue waits for a completion even then.
                units.size(text).map(|n| self.reaped_at_once = n.max(1)).ok_or("a whole number")
            }
            "io_submit_mode" => word(text, &[("inline", false), ("offload", true)])
                .map(|set| self.offload = set)
                .ok_or("inline or offload"),
            "rate" => set_three(&mut self.rate, text, |text| units.size(text))
                .ok_or("bytes a second, as 10m, or those of reads,writes,trims"),
            "rate_iops" => set_three(&mut self.iops, text, |text| units.size(text))
                .ok_or("requests a second, or those of reads,writes,trims"),
            "rate_process" => word(text, &[("linear", false), ("poisson", true)])
                .map(|set| self.poisson = set)
                .ok_or("linear or poisson"),
            "rate_ignore_thinktime" => flag(text).map(|on| self.forgets = on).ok_or("0 or 1"),
            "thinktime" => time_ns(text).map(|ns| self.think_ns = ns).ok_or(time),
            "thinktime_blocks" => count(text).map(|n| self.think_blocks = Some(n)).ok_or(number),
            "thinktime_blocks_type" => word(text, &[("complete", false), ("issue", true)])
                .map(|set| self.counts_issues = set)
                .ok_or("complete or issue"),
            "thinktime_iotime" => {
                seconds_ns(text).map(|ns| self.think_after_ns = ns).ok_or("a time, as 9s")
            }
            "runtime" => seconds_ns(text).map(|ns| self.runtime_ns = ns).ok_or("a time, as 60s"),
            _ => return None,
        };
        Some(done)
    }

    /// Returns whether a job with endless requests would never advance the time on a device that takes none.
    pub(super) fn is_timeless(&self, mix: Mix) -> bool {
        let paced = |op: &usize| self.rate[*op] > 0 || self.iops[*op] > 0;
        let checked: &[usize] = if mix == Mix::TrimWrite { &[1] } else { mix.used() };
        let by_requests = self.think_after_ns == 0 || self.think_blocks.is_some();
        let pauses = self.think_ns > 0 && by_requests;
        !pauses && !checked.iter().all(paced)
    }
}

/// The state of an instance that runs.
pub(super) struct Pace {
    pub(super) pacing: Pacing,
    mix: Mix,
    /// Bytes per second; a rate in requests counts its smallest size; 0: unlimited.
    rates: [u64; 3],
    smallest: [u64; 3],
    random: Stream,
    fresh: Stream,
    /// Zero of the times below.
    epoch_ns: u64,
    issued_bytes: [u64; 3],
    /// When the next request is due, from the epoch.
    due_ns: [u64; 3],
    /// Requests submitted and not reaped, and those of them that have completed.
    pub(super) in_flight: u64,
    completed: u64,
    completed_data: u64,
    /// The queue has been full and waits for completions.
    is_full: bool,
    /// Requests submitted, and requests reaped, without flushes.
    issues: u64,
    reaped: u64,
    /// Count at the last pause, and the end of that pause.
    paused_at: u64,
    paused_ns: u64,
}

impl Pace {
    pub(super) fn new(
        pacing: Pacing,
        mix: Mix,
        smallest: [u64; 3],
        (seed, name): (u64, &str),
    ) -> Pace {
        let fresh = Stream::new(seed, &format!("{name}.rate"));
        let rates = [0, 1, 2].map(|op| match pacing.rate[op] {
            0 => pacing.iops[op].saturating_mul(smallest[op]),
            rate => rate,
        });
        Pace {
            pacing,
            mix,
            rates,
            smallest,
            random: fresh.clone(),
            fresh,
            epoch_ns: 0,
            issued_bytes: [0; 3],
            due_ns: [0; 3],
            in_flight: 0,
            completed: 0,
            completed_data: 0,
            is_full: false,
            issues: 0,
            reaped: 0,
            paused_at: 0,
            paused_ns: 0,
        }
    }

    /// Starts the clock at `now`.
    pub(super) fn begin(&mut self, now: u64) {
        (self.epoch_ns, self.paused_ns) = (now, now);
    }

    /// Returns the time at which the runtime ends.
    pub(super) fn end_ns(&self) -> u64 {
        match self.pacing.runtime_ns {
            0 => u64::MAX,
            runtime => self.epoch_ns + runtime,
        }
    }

    /// Makes a new round draw the same intervals as the first.
    pub(super) fn repeat(&mut self) {
        self.random.clone_from(&self.fresh);
    }

    /// Records the submission of a request of `op`.
    pub(super) fn submitted(&mut self, op: Op, bytes: u64) {
        self.in_flight += 1;
        if op == Op::Flush {
            return;
        }
        self.issues += 1;
        let at = op as usize;
        let rate = u128::from(self.rates[at]);
        self.issued_bytes[at] += bytes;
        if rate == 0 {
            return;
        }
        if self.pacing.poisson {
            let a_second = (self.rates[at] / self.smallest[at]).max(1);
            let gap = 1e9 / a_second as f64 * self.random.exponential();
            self.due_ns[at] = self.due_ns[at].saturating_add(gap as u64);
        } else {
            let ns = u128::from(self.issued_bytes[at]) * SECOND / rate;
            self.due_ns[at] = u64::try_from(ns).unwrap_or(u64::MAX);
        }
    }

    /// Records a completion.
    pub(super) fn completed(&mut self, is_flush: bool) {
        self.completed += 1;
        self.completed_data += u64::from(!is_flush);
    }

    /// Reaps all completions; returns whether the queue is empty.
    pub(super) fn drained(&mut self) -> bool {
        self.reap();
        self.in_flight == 0
    }

    fn reap(&mut self) {
        self.in_flight -= self.completed;
        self.reaped += self.completed_data;
        (self.completed, self.completed_data) = (0, 0);
    }

    /// Makes room in the queue as far as requests have completed; returns whether there is room.
    pub(super) fn make_room(&mut self) -> bool {
        let depth = self.pacing.depth;
        self.is_full |= self.in_flight >= depth;
        if self.is_full {
            let low = self.pacing.low.unwrap_or(depth).min(depth - 1);
            let waits_for = self.pacing.reaped_at_once.min(self.in_flight);
            if self.completed < waits_for {
                return false;
            }
            self.reap();
            if self.in_flight > low {
                return false;
            }
        }
        self.is_full = false;
        true
    }

    /// Returns whether a pause is due.
    pub(super) fn must_pause(&self, now: u64) -> bool {
        let pacing = &self.pacing;
        if pacing.think_ns == 0 {
            return false;
        }
        if pacing.think_after_ns > 0 {
            if now - self.paused_ns >= pacing.think_after_ns {
                return true;
            }
            if pacing.think_blocks.is_none() {
                return false;
            }
        }
        self.counted() >= self.paused_at + pacing.think_blocks.unwrap_or(1)
    }

    fn counted(&self) -> u64 {
        if self.pacing.counts_issues { self.issues } else { self.reaped }
    }

    /// Records the start of a pause, with the requests before it.
    pub(super) fn mark_pause(&mut self) {
        self.paused_at = self.counted();
    }

    /// Ends a pause.
    pub(super) fn resume(&mut self, now: u64) {
        self.paused_ns = now;
        if !self.pacing.forgets {
            return;
        }
        let paused = u128::from(self.pacing.think_ns);
        for at in 0..3 {
            let rate = u128::from(self.rates[at]);
            if rate == 0 {
                continue;
            }
            if self.pacing.poisson {
                self.due_ns[at] = self.due_ns[at].saturating_add(self.pacing.think_ns);
                continue;
            }
            // What the rate would have submitted in the pause, less one request, so that the next one is due at once.
            let missed = u64::try_from(paused * rate / SECOND).unwrap_or(u64::MAX);
            let bytes = self.smallest[at];
            let over = if u128::from(bytes) * SECOND <= paused * rate { bytes } else { 0 };
            let missed = missed.saturating_sub(over);
            self.issued_bytes[at] = self.issued_bytes[at].saturating_add(missed);
        }
    }

    /// Returns what is submitted next if `op` is wanted, and when. In a mix in which both operations have rates, the
    /// one that is due first is submitted.
    pub(super) fn next(&self, op: Op, now: u64) -> (Op, u64) {
        let due = |op: Op| self.epoch_ns.saturating_add(self.due_ns[op as usize]);
        let (mut op, mut at) = match self.mix {
            // A trim is due when its write is.
            Mix::TrimWrite => (op, due(Op::Write)),
            _ => (op, due(op)),
        };
        if at > now && self.mix == Mix::ReadWrite {
            let opposite = if op == Op::Read { Op::Write } else { Op::Read };
            if due(opposite) < at {
                (op, at) = (opposite, due(opposite));
            }
        }
        (op, at)
    }

    /// Returns the intended arrival of a request that was due at `at` and is submitted at `now`.
    pub(super) fn intended(&self, op: Op, at: u64, now: u64) -> u64 {
        let is_rated = op != Op::Flush && self.rates[op as usize] > 0;
        if self.pacing.offload && is_rated { at.max(self.paused_ns).min(now) } else { now }
    }
}
