//! The ledger: what has been measured, and the digest of all events.
//!
//! It counts what happens and decides nothing.

use super::front::request::InFlightRequest;
use crate::config::Config;
use crate::ftl::Ftl;
use crate::host::device::DeviceError;
use crate::metrics::Measurements;
use crate::metrics::counters::Parts;
use crate::metrics::series::Gauges;
use crate::metrics::tenants::Tenants;
use crate::units::Nanos;

/// Most rows of the time series.
pub const MAX_SAMPLES: usize = 1 << 20;

/// Measurements of a run.
pub(crate) struct Ledger {
    pub(crate) measured: Measurements,
    /// Whether array and bus times count.
    pub(crate) counts_energy: bool,
    /// Of all events so far: equal runs have equal digests.
    pub(crate) event_digest: u64,
    /// Requests before this one do not count in the statistics.
    warmup: u64,
    /// The request with which the measurement starts, if it has not started; otherwise no number.
    starts_with: u64,
    next_sample: Nanos,
    pub(crate) pages_before: u64,
    erases_before: Vec<u32>,
}

impl Ledger {
    /// For the device `ftl`, to which `sequence` pages have been admitted.
    pub(crate) fn new(config: &Config, ftl: &Ftl, sequence: u64) -> Ledger {
        let interval = Nanos(config.metrics.interval_ns);
        assert!(ftl.clock <= sequence, "{} pages were bound, {sequence} admitted", ftl.clock);
        let mut measured = Measurements::new(interval, false);
        measured.tenants = config.metrics.tenants.then(|| Tenants::new(ftl.geo.user_pages).into());
        Ledger {
            measured,
            counts_energy: !config.energy.is_off(),
            event_digest: 0xcbf2_9ce4_8422_2325,
            warmup: 0,
            starts_with: u64::MAX,
            next_sample: if interval == Nanos::ZERO { Nanos::NEVER } else { interval },
            pages_before: sequence,
            erases_before: ftl.blocks.erases.clone(),
        }
    }

    /// Whether something counts that only the full loop counts.
    #[inline]
    pub(crate) fn counts_work(&self) -> bool {
        self.counts_energy || self.measured.tenants.is_some()
    }

    /// Record an event at `now`, described by `a` and `b`.
    #[inline]
    pub(crate) fn note(&mut self, now: Nanos, a: u64, b: u64) {
        // Rotated, so that equal numbers in two of the places do not cancel out.
        let x = self.event_digest ^ now.0.rotate_left(20) ^ a.rotate_left(40) ^ b;
        self.event_digest = x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// Whether a row of the series is due at or before `t`.
    #[inline(always)]
    pub(crate) fn sample_is_due(&self, t: Nanos) -> bool {
        self.next_sample <= t
    }

    /// The last time before a row of the series is due.
    #[inline(always)]
    pub(crate) fn quiet_until(&self) -> Nanos {
        debug_assert!(self.next_sample > Nanos::ZERO, "a row is due before the run begins");
        Nanos(self.next_sample.0 - 1)
    }

    /// Append the row of the series that is due.
    ///
    /// # Errors
    /// The series has reached its maximum number of rows.
    pub(crate) fn sample(&mut self, gauges: Gauges) -> Result<(), DeviceError> {
        let interval_ns = self.measured.series.interval_ns;
        let at = self.next_sample;
        if self.measured.series.rows.len() >= MAX_SAMPLES {
            return Err(DeviceError::SeriesTooLong { interval_ns, at_ns: at.0 });
        }
        assert!(interval_ns > 0, "a row is due, and the series has no interval");
        self.measured.sample(at, gauges);
        self.next_sample = at + Nanos(interval_ns);
        Ok(())
    }

    /// Exclude `warmup` requests from the statistics; `split` keeps separate latencies for volumes and streams.
    pub(crate) fn measure(&mut self, warmup: u64, split: bool) {
        self.warmup = warmup;
        self.starts_with = if warmup > 0 { warmup } else { u64::MAX };
        let tenants = self.measured.tenants.take();
        self.measured = Measurements::new(Nanos(self.measured.series.interval_ns), split);
        self.measured.tenants = tenants;
    }

    /// Leave the first `warmup` requests, which have been submitted, out of the statistics that start now.
    pub(crate) fn leave_out(&mut self, warmup: u64) {
        debug_assert!(warmup >= self.warmup, "requests count again");
        self.warmup = warmup;
    }

    /// Whether the measurement starts with request `id`.
    #[inline(always)]
    pub(crate) fn warmup_ends_with(&self, id: u64) -> bool {
        id == self.starts_with
    }

    /// Whether request `id`, which has arrived, counts in the statistics.
    pub(crate) fn counts(&self, id: u64) -> bool {
        debug_assert_ne!(id, u64::MAX, "no request has this number");
        id >= self.warmup || self.starts_with != u64::MAX
    }

    /// Whether a run of `submitted` requests has not finished its warm-up.
    pub(crate) fn warms_up(&self, submitted: u64) -> bool {
        self.warmup > 0 && submitted <= self.warmup
    }

    /// Forget all measurements: the measurement of the device `ftl` starts at `now`.
    pub(crate) fn restart(&mut self, now: Nanos, ftl: &Ftl, sequence: u64) {
        assert_eq!(ftl.blocks.len(), self.erases_before.len(), "erases of another device");
        self.measured.restart(now);
        self.starts_with = u64::MAX;
        assert!(self.pages_before <= sequence, "admissions are counted backwards");
        self.pages_before = sequence;
        self.erases_before.clone_from(&ftl.blocks.erases);
    }

    /// Erases of each erase unit since the measurement started.
    pub(crate) fn erases(&self, ftl: &Ftl) -> Vec<u32> {
        assert_eq!(ftl.blocks.len(), self.erases_before.len(), "erases of another device");
        let pairs = ftl.blocks.erases.iter().zip(&self.erases_before);
        let pairs = pairs.inspect(|(now, before)| debug_assert!(now >= before, "erases are lost"));
        pairs.map(|(now, before)| now - before).collect()
    }

    /// Check that its counts are possible on the device `ftl`.
    pub(crate) fn audit(&self, ftl: &Ftl) -> Result<(), String> {
        let pairs = ftl.blocks.erases.iter().zip(&self.erases_before);
        if let Some(block) = pairs.into_iter().position(|(now, before)| now < before) {
            return Err(format!("block {block} has lost erases since the measurement started"));
        }
        Ok(())
    }

    /// Record that a request completes at `now`; `parts`: where its time went.
    #[inline(always)]
    pub(crate) fn completed(&mut self, now: Nanos, r: &InFlightRequest, parts: &Parts) {
        debug_assert!(r.arrival <= now, "request {} completes before it arrives", r.id);
        debug_assert!(r.parts.is_done(), "request {} completes with parts left", r.id);
        let latency = now - r.arrival;
        // (The message gets copies of the numbers, so that these stay in registers.)
        let total = parts.total();
        assert!(
            total == latency.0,
            "parts of request {}: {:?} of {} ns are {} ns",
            { r.id },
            { *parts },
            { latency.0 },
            { total }
        );
        if r.id >= self.warmup {
            self.measured.complete(now, &r.request, latency, parts);
        } else {
            self.measured.complete_unmeasured(now);
        }
        self.note(now, r.id, r.digest);
    }
}
