//! The clock of the drive (simulated time is wall time divided by the scale), and the lateness of replies.
//!
//! A thread that sleeps until a certain time wakes late: by a few µs with real-time priority, by up to 50 µs more
//! without it (timer slack), and by 20 to 150 µs in a virtual machine whose host stops idle CPUs.
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

/// How far the server may be behind an event of the drive before the clock stops, in wall time.
const BEHIND: Duration = Duration::from_millis(1);

/// How long before an event of the drive a server begins to poll, in wall time. A thread rarely wakes later.
const POLL: Duration = Duration::from_micros(200);

/// The 99th percentile of lateness, in ns of the drive's time, up to which the latencies that clients measure are those
/// of the drive.
pub const VALID_NS: u64 = 50_000;

/// The scale: wall time per simulated time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scale {
    /// This scale.
    Fixed(f64),
    /// 1 at first, raised until replies are on time.
    Auto,
}

/// How the clock of the drive follows wall time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pacing {
    /// The scale.
    pub scale: Scale,
    /// Whether the clock continues when the server is behind, so that replies are late.
    pub clock_continues: bool,
    /// Whether the server polls instead of sleeping shortly before an event of the drive.
    pub polls: bool,
    /// The CPU time of a sleep. The server polls instead of sleeping for a shorter time.
    pub sleep_cost: Duration,
}

impl Default for Pacing {
    /// A scale of 1. The clock stops when the server is behind, and sleeps take no CPU time.
    fn default() -> Pacing {
        Pacing {
            scale: Scale::Fixed(1.0),
            clock_continues: false,
            polls: false,
            sleep_cost: Duration::ZERO,
        }
    }
}

/// Periods in which the server was more than 1 ms behind the drive.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Delays {
    /// How often.
    pub count: u64,
    /// Their total length, ns of wall time.
    pub ns: u64,
}

/// The clock of a drive.
pub struct Pace {
    started: Instant,
    /// The wall time at which simulated time was `simulated`.
    wall: Instant,
    simulated: u64,
    /// Wall time per simulated time.
    scale: f64,
    /// The scale before `simulated`.
    earlier_scale: f64,
    pacing: Pacing,
    stops: Delays,
    lags: Delays,
    /// The wall time since which the server has been behind.
    behind_since: Option<Instant>,
}

impl Pace {
    /// Start the clock at simulated time 0.
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

    /// Whether the scale is raised until replies are on time.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        self.pacing.scale == Scale::Auto
    }

    /// How long to sleep if the next event of the drive is `until_event` away: less if the server polls, and not at all
    /// if polling until then takes less CPU time than a sleep.
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

    /// Wall time from the last [`Pace::set`] to simulated time `at`.
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

    /// How far the server is behind the next event of the drive, which is due at `next`, ns of wall time. `None` if
    /// that is at most [`BEHIND`].
    fn delay(&self, next: Option<u64>) -> Option<u64> {
        next.map(|at| self.late(at)).filter(|&delay| delay > BEHIND.as_nanos() as u64)
    }

    /// If the server is more than 1 ms behind the next event of the drive, which is due at `next`, set the clock
    /// back to that event, or begin a lag if the clock is to continue. Returns how long the clock has stopped, ns of
    /// wall time.
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

    /// End a lag if the server has caught up with the next event of the drive, which is due at `next`.
    pub fn catch_up(&mut self, next: Option<u64>) {
        if let Some(since) = self.behind_since
            && self.delay(next).is_none()
        {
            self.lags.ns += since.elapsed().as_nanos() as u64;
            self.behind_since = None;
        }
    }

    /// Set simulated time to `at`.
    pub fn set(&mut self, at: u64) {
        (self.wall, self.simulated) = (Instant::now(), at);
        self.earlier_scale = self.scale;
    }

    /// The scale.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Change the scale from now on.
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

/// Measure the CPU time of a short sleep: a few µs, or tens of µs in a virtual machine whose host stops and starts
/// its CPU.
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

/// Number of sleeps that are measured. Their median is robust against other load, and they take less than 10 ms.
const SLEEPS: usize = 33;

/// The recent rate of replies, per second of wall time: samples of their number.
#[derive(Clone, Default)]
pub struct Rate(VecDeque<(Duration, u64)>);

impl Rate {
    /// Add a sample: the number of replies so far, at wall time `at`.
    pub fn sample(&mut self, at: Duration, replies: u64) {
        self.0.push_back((at, replies));
        while self.0.get(1).is_some_and(|second| at - second.0 >= RATE_OVER) {
            self.0.pop_front();
        }
    }

    /// The rate over about the last second; `None` before the second sample.
    #[must_use]
    pub fn per_second(&self) -> Option<f64> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        let seconds = (last.0 - first.0).as_secs_f64();
        (seconds > 0.0).then(|| (last.1 - first.1) as f64 / seconds)
    }
}

/// The period over which a rate is computed.
const RATE_OVER: Duration = Duration::from_secs(1);

/// Number of replies after which [`Scale::Auto`] may change the scale.
const ENOUGH: u64 = 2000;

/// The next scale if replies are too late at `scale`. `p99` is the 99th percentile of their lateness, ns of wall time.
#[must_use]
pub fn scale_for(p99: u64, scale: f64) -> Option<f64> {
    let needed = p99 as f64 / VALID_NS as f64;
    // Steps are small, because a slower drive means less work for the server, and thus less lateness.
    (needed > scale).then(|| needed.clamp(scale * 1.25, scale * 4.0).min(1e6))
}

/// A histogram of the lateness of replies, in wall time.
#[derive(Clone)]
pub struct Lateness(Histogram);

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness(Histogram::new())
    }
}

impl Lateness {
    /// Record a reply that was late by `ns`.
    pub fn record(&mut self, ns: u64) {
        self.0.record(ns);
    }

    /// The 99th percentile, if there are enough replies for [`scale_for`].
    #[must_use]
    pub fn p99_of_enough(&self) -> Option<u64> {
        if self.0.count() < ENOUGH { None } else { self.0.percentile(0.99) }
    }

    /// Number of replies, and the 50th, 99th and 99.9th percentiles and the maximum of their lateness. A percentile is
    /// `None` if there are too few replies for it.
    #[must_use]
    pub fn percentiles(&self) -> (u64, [Option<u64>; 4]) {
        let quantile = |q| self.0.percentile(q);
        (self.0.count(), [quantile(0.5), quantile(0.99), quantile(0.999), self.0.max()])
    }
}
