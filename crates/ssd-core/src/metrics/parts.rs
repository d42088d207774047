//! Where the time of requests went.

/// Where the time of one request went, along the part that finished last; sums to its latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// Waiting for other host operations.
    pub queue_ns: u64,
    /// In the flash array.
    pub chip_ns: u64,
    /// On buses, links and in SRAM.
    pub transfer_ns: u64,
    /// Waiting for garbage collection.
    pub gc_wait_ns: u64,
    /// Fetching the device's own metadata.
    pub metadata_ns: u64,
}

impl Parts {
    /// Both, one after the other.
    #[must_use]
    pub const fn then(&self, next: &Parts) -> Parts {
        Parts {
            queue_ns: self.queue_ns + next.queue_ns,
            chip_ns: self.chip_ns + next.chip_ns,
            transfer_ns: self.transfer_ns + next.transfer_ns,
            gc_wait_ns: self.gc_wait_ns + next.gc_wait_ns,
            metadata_ns: self.metadata_ns + next.metadata_ns,
        }
    }

    /// What was added since it was `before`.
    #[must_use]
    pub const fn since(&self, before: &Parts) -> Parts {
        Parts {
            queue_ns: self.queue_ns - before.queue_ns,
            chip_ns: self.chip_ns - before.chip_ns,
            transfer_ns: self.transfer_ns - before.transfer_ns,
            gc_wait_ns: self.gc_wait_ns - before.gc_wait_ns,
            metadata_ns: self.metadata_ns - before.metadata_ns,
        }
    }

    /// The latency.
    #[inline(always)]
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.queue_ns + self.chip_ns + self.transfer_ns + self.gc_wait_ns + self.metadata_ns
    }
}

/// Sums of [`Parts`] over requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartSums {
    /// Requests.
    pub count: u64,
    /// See [`Parts::queue_ns`].
    pub queue: u128,
    /// See [`Parts::chip_ns`].
    pub chip: u128,
    /// See [`Parts::transfer_ns`].
    pub transfer: u128,
    /// See [`Parts::gc_wait_ns`].
    pub gc_wait: u128,
    /// See [`Parts::metadata_ns`].
    pub metadata: u128,
}

impl PartSums {
    /// Count one request.
    #[inline(always)]
    pub fn record(&mut self, parts: &Parts) {
        self.count += 1;
        self.queue += u128::from(parts.queue_ns);
        self.chip += u128::from(parts.chip_ns);
        self.transfer += u128::from(parts.transfer_ns);
        self.gc_wait += u128::from(parts.gc_wait_ns);
        self.metadata += u128::from(parts.metadata_ns);
    }
    /// The sum of all latencies.
    #[must_use]
    pub const fn total(&self) -> u128 {
        self.queue + self.chip + self.transfer + self.gc_wait + self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_sum_of_the_five_parts() {
        let parts = Parts {
            queue_ns: 1,
            chip_ns: 20,
            transfer_ns: 300,
            gc_wait_ns: 4000,
            metadata_ns: 50_000,
        };
        let mut sums = PartSums::default();
        sums.record(&parts);
        sums.record(&parts);
        assert_eq!((sums.count, sums.total()), (2, 108_642));
    }
}
