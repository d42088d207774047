//! The clock of the drive (simulated time is wall time divided by the scale), and how late replies are.
//!
//! A thread that sleeps until a certain time wakes late: by some µs with real-time priority, by up to 50 µs more
//! without it (timer slack), and by 20 to 150 µs in a virtual machine whose host takes idle CPUs away.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a served drive runs on wall time"
)]

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use ssd_core::metrics::histogram::Histogram;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How far the server may be behind an event of the drive before its clock stops, wall time.
const BEHIND: Duration = Duration::from_millis(1);

/// For how long a server that polls does so before an event of the drive, wall time: a thread rarely wakes later.
const POLL: Duration = Duration::from_micros(200);

/// The 99th percentile of lateness, in ns of the drive's time, up to which the latencies that clients measure are those
/// of the drive.
pub const VALID_NS: u64 = 50_000;

/// How wall time passes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scale {
    /// This many times as fast as that of the drive.
    Fixed(f64),
    /// As fast as the drive at first, then as much faster as timely replies require.
    Auto,
}

/// How the server keeps to the clock of the drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pacing {
    /// How wall time passes.
    pub scale: Scale,
    /// Whether the clock continues when the server is behind, so that replies are late.
    pub clock_continues: bool,
    /// Whether the server polls instead of sleeping shortly before an event of the drive.
    pub polls: bool,
    /// The processor time that a sleep takes: instead of shorter sleeps the server polls.
    pub sleep_cost: Duration,
}

impl Default for Pacing {
    /// Wall time passes as fast as that of the drive, whose clock stops when the server is behind. Sleeps cost nothing.
    fn default() -> Pacing {
        Pacing {
            scale: Scale::Fixed(1.0),
            clock_continues: false,
            polls: false,
            sleep_cost: Duration::ZERO,
        }
    }
}

/// How the server was more than 1 ms behind the drive: stops of the clock, or spans in which it continued.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Delays {
    /// How often.
    pub count: u64,
    /// Their total time, ns of wall time.
    pub ns: u64,
}

/// The clock of a drive.
pub struct Pace {
    started: Instant,
    /// The wall time at which simulated time is `simulated`.
    wall: Instant,
    simulated: u64,
    /// Wall time passes this many times as fast as that of the drive.
    scale: f64,
    /// The scale before `simulated`.
    earlier_scale: f64,
    pacing: Pacing,
    stops: Delays,
    lags: Delays,
    /// Since when the server has been behind.
    behind_since: Option<Instant>,
}

impl Pace {
    /// Simulated time 0 is now.
    #[must_use]
    pub fn start(pacing: Pacing) -> Pace {
        let scale = match pacing.scale {
            Scale::Fixed(scale) => scale,
            Scale::Auto => 1.0,
        };
        assert!(scale > 0.0 && scale.is_finite(), "a scale of {scale}");
        let now = Instant::now();
        Pace {
            started: now,
            wall: now,
            simulated: 0,
            scale,
            earlier_scale: scale,
            pacing,
            stops: Delays::default(),
            lags: Delays::default(),
            behind_since: None,
        }
    }

    /// Whether the scale follows lateness.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        self.pacing.scale == Scale::Auto
    }

    /// For how long to sleep if the next event of the drive is `until_event` away: less if the server polls, and not at
    /// all if polling until then takes less of the processor.
    #[must_use]
    pub fn sleep_time(&self, until_event: Duration) -> Duration {
        let margin = if self.pacing.polls { POLL } else { Duration::ZERO };
        let time = until_event.saturating_sub(margin);
        if time > self.pacing.sleep_cost { time } else { Duration::ZERO }
    }

    /// Simulated time, ns.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.simulated + (self.wall.elapsed().as_nanos() as f64 / self.scale) as u64
    }

    /// Wall time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Wall time from the last setting of the clock to simulated time `at`.
    fn due(&self, at: u64) -> Duration {
        Duration::from_nanos((at.saturating_sub(self.simulated) as f64 * self.scale) as u64)
    }

    /// How long to wait for simulated time `at`.
    #[must_use]
    pub fn until(&self, at: u64) -> Duration {
        self.due(at).saturating_sub(self.wall.elapsed())
    }

    /// Wall time since simulated time `at`, ns.
    #[must_use]
    pub fn late(&self, at: u64) -> u64 {
        let before = (self.simulated.saturating_sub(at) as f64 * self.earlier_scale) as u64;
        let since = self.wall.elapsed().saturating_sub(self.due(at));
        before + since.as_nanos() as u64
    }

    /// Whether the server is far behind the next event of the drive, which is due at `next`: by how much, ns of wall
    /// time.
    fn delay(&self, next: Option<u64>) -> Option<u64> {
        next.map(|at| self.late(at)).filter(|&delay| delay > BEHIND.as_nanos() as u64)
    }

    /// Note whether the server is far behind the next event of the drive, which is due at `next`. Then the clock stops
    /// and continues from there, unless it is to continue. Returns how long it has stopped, ns of wall time.
    pub fn hold(&mut self, next: Option<u64>) -> u64 {
        let Some((at, delay)) = next.zip(self.delay(next)) else { return 0 };
        if self.pacing.clock_continues {
            if self.behind_since.is_none() {
                self.lags.count += 1;
                self.behind_since = Instant::now().checked_sub(Duration::from_nanos(delay));
            }
            return 0;
        }
        self.set(at);
        self.stops.count += 1;
        self.stops.ns += delay;
        delay
    }

    /// Note that the drive has run on, so that its next event is due at `next`: the server may have caught up.
    pub fn catch_up(&mut self, next: Option<u64>) {
        if let Some(since) = self.behind_since
            && self.delay(next).is_none()
        {
            self.lags.ns += since.elapsed().as_nanos() as u64;
            self.behind_since = None;
        }
    }

    /// Simulated time is `at` now.
    pub fn set(&mut self, at: u64) {
        (self.wall, self.simulated) = (Instant::now(), at);
        self.earlier_scale = self.scale;
    }

    /// The scale.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Let wall time pass `scale` times as fast as that of the drive from now on.
    pub fn rescale(&mut self, scale: f64) {
        self.set(self.now());
        self.scale = scale;
    }

    /// How often and for how long the clock has stopped.
    #[must_use]
    pub fn stops(&self) -> Delays {
        self.stops
    }

    /// How often and for how long the server was behind while the clock continued.
    #[must_use]
    pub fn lags(&self) -> Delays {
        let since = self.behind_since.map_or(0, |since| since.elapsed().as_nanos() as u64);
        Delays { ns: self.lags.ns + since, ..self.lags }
    }
}

/// The processor time that a short sleep takes: some us, or tens of them in a virtual machine, whose host stops and
/// starts its CPU.
#[must_use]
pub fn sleep_cost() -> Duration {
    let cpu_time = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    let mut costs = [Duration::ZERO; SLEEPS];
    for cost in &mut costs {
        let before = cpu_time();
        std::thread::sleep(Duration::from_micros(1));
        *cost = cpu_time().saturating_sub(before);
    }
    costs.sort_unstable();
    costs[SLEEPS / 2]
}

/// Sleeps that are measured: their median does not depend on what else runs, and they end within 10 ms.
const SLEEPS: usize = 33;

/// Recent rate of replies, per second of wall time.
#[derive(Clone, Default)]
pub struct Rate(VecDeque<(Duration, u64)>);

impl Rate {
    /// Note that there have been this many replies at wall time `at`.
    pub fn look(&mut self, at: Duration, replies: u64) {
        self.0.push_back((at, replies));
        while self.0.get(1).is_some_and(|second| at - second.0 >= RATE_OVER) {
            self.0.pop_front();
        }
    }

    /// The rate over the last second or so; `None` before the second look.
    #[must_use]
    pub fn per_second(&self) -> Option<f64> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        let seconds = (last.0 - first.0).as_secs_f64();
        (seconds > 0.0).then(|| (last.1 - first.1) as f64 / seconds)
    }
}

/// The time over which a rate is known.
const RATE_OVER: Duration = Duration::from_secs(1);

/// Replies on which [`Scale::Auto`] decides.
const ENOUGH: u64 = 2000;

/// The scale that timely replies require after replies whose 99th percentile was `p99` ns late, if it differs from
/// `scale`.
#[must_use]
pub fn scale_for(p99: u64, scale: f64) -> Option<f64> {
    let needed = p99 as f64 / VALID_NS as f64;
    // In small steps, because a slower drive reduces the server's work.
    (needed > scale).then(|| needed.clamp(scale * 1.25, scale * 4.0).min(1e6))
}

/// How late replies were passed to the system after the drive had completed them, wall time.
#[derive(Clone)]
pub struct Lateness(Histogram);

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness(Histogram::new())
    }
}

impl Lateness {
    /// Record a reply that was this late.
    pub fn record(&mut self, ns: u64) {
        self.0.record(ns);
    }

    /// The 99th percentile, if there are enough replies for [`scale_for`].
    #[must_use]
    pub fn p99_of_enough(&self) -> Option<u64> {
        if self.0.count() < ENOUGH { None } else { self.0.percentile(0.99) }
    }

    /// Number of replies, and the 50th, 99th and 99.9th percentile and the maximum of their lateness, if there are
    /// enough of them.
    #[must_use]
    pub fn percentiles(&self) -> (u64, [Option<u64>; 4]) {
        let quantile = |q| self.0.percentile(q);
        (self.0.count(), [quantile(0.5), quantile(0.99), quantile(0.999), self.0.max()])
    }
}
