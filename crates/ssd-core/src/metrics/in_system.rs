//! How many requests are in the device.

/// Requests in the device over time, integrated event by event: one side of Little's law, which the
/// latencies are the other side of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequestsInSystem {
    now_ns: u64,
    current: u64,
    peak: u64,
    integral: u128,
    /// Requests that were inside when the measurement started.
    inherited: u64,
    /// Time that requests waited in the host beyond their intended arrival.
    outside: u128,
}

impl RequestsInSystem {
    #[inline(always)]
    fn advance(&mut self, at_ns: u64) {
        // (The message gets copies of the numbers, which otherwise stay in registers.)
        let now_ns = self.now_ns;
        assert!(at_ns >= now_ns, "time runs backwards: {} after {}", { at_ns }, { now_ns });
        self.integral += u128::from(self.current) * u128::from(at_ns - self.now_ns);
        self.now_ns = at_ns;
    }
    /// A request arrives. Called at that instant, in order with the completions, not when a driver
    /// announces a later arrival.
    #[inline(always)]
    pub fn arrive(&mut self, at_ns: u64) {
        self.advance(at_ns);
        self.current += 1;
        self.peak = self.peak.max(self.current);
    }
    /// The request that has just arrived was meant to arrive `ns` earlier.
    #[inline(always)]
    pub fn waited_outside(&mut self, ns: u64) {
        self.outside += u128::from(ns);
    }
    /// Request-nanoseconds spent in the host, past the intended arrival.
    #[must_use]
    pub const fn outside(&self) -> u128 {
        self.outside
    }
    /// A request completes.
    #[inline(always)]
    pub fn leave(&mut self, at_ns: u64) {
        self.advance(at_ns);
        assert!(self.current > 0, "a request completes at {} ns and none is in the device", {
            at_ns
        });
        self.current -= 1;
    }
    /// Forget the past and measure from here; the requests inside stay inside.
    pub fn restart(&mut self, at_ns: u64) {
        self.advance(at_ns);
        (self.integral, self.peak, self.inherited) = (0, self.current, self.current);
        self.outside = 0;
    }
    /// Requests in the device.
    #[must_use]
    pub const fn current(&self) -> u64 {
        self.current
    }
    /// The most there have been.
    #[must_use]
    pub const fn peak(&self) -> u64 {
        self.peak
    }
    /// Request-nanoseconds up to the last arrival or completion.
    #[must_use]
    pub const fn integral(&self) -> u128 {
        self.integral
    }
    /// Request-nanoseconds up to `at_ns`, which is not before the last arrival or completion.
    #[must_use]
    pub fn integral_until(mut self, at_ns: u64) -> u128 {
        self.advance(at_ns);
        self.integral
    }
    /// The measurement started and ended with an empty device: the integral then equals the sum of
    /// the latencies.
    #[must_use]
    pub const fn closed(&self) -> bool {
        self.inherited == 0 && self.current == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_is_the_sum_of_latencies() {
        let mut s = RequestsInSystem::default();
        // Requests over [0, 30), [10, 40), [10, 20), [100, 101).
        for (at, arrives) in [(0, true), (10, true), (10, true), (20, false), (30, false)] {
            if arrives { s.arrive(at) } else { s.leave(at) }
        }
        assert!(!s.closed());
        s.leave(40);
        s.arrive(100);
        s.leave(101);
        assert!(s.closed());
        assert_eq!((s.integral(), s.peak(), s.current()), (30 + 30 + 10 + 1, 3, 0));
        s.arrive(200);
        s.restart(210);
        assert_eq!((s.integral(), s.peak(), s.current(), s.closed()), (0, 1, 1, false));
        assert_eq!((s.integral_until(213), s.integral()), (3, 0));
        s.leave(215);
        assert_eq!((s.integral(), s.closed()), (5, false));
    }

    #[test]
    fn time_in_the_host_adds_up_until_the_measurement_restarts() {
        let mut s = RequestsInSystem::default();
        s.arrive(10);
        s.waited_outside(7);
        s.arrive(12);
        s.waited_outside(5);
        assert_eq!((s.outside(), s.integral()), (12, 2));
        s.restart(20);
        assert_eq!(s.outside(), 0);
    }

    #[test]
    #[should_panic(expected = "none is in the device")]
    fn a_completion_without_arrival_is_a_bug() {
        RequestsInSystem::default().leave(5);
    }
}
