//! Mixtures of operations and sizes.

use super::check_share;
use crate::config::{SizeShare, Workload};
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;
use ssd_core::units::SECTOR_BYTES;

/// Reads and TRIMs by share; the rest is writes.
pub(super) struct Operations {
    random: Stream,
    read: f64,
    read_or_trim: f64,
}

impl Operations {
    pub(super) fn new(workload: &Workload, random: Stream) -> Result<Operations, SourceError> {
        let Workload { read, trim, .. } = *workload;
        check_share("read", read)?;
        check_share("trim", trim)?;
        if read + trim > 1.0 {
            let text = format!("workload.read + workload.trim is {}; lower one", read + trim);
            return Err(SourceError(format!("{text}: together they are at most 1")));
        }
        Ok(Operations { random, read, read_or_trim: read + trim })
    }

    #[inline(always)]
    pub(super) fn draw(&mut self) -> Op {
        if self.read_or_trim <= 0.0 {
            return Op::Write;
        }
        let draw = self.random.unit();
        if draw >= self.read_or_trim {
            Op::Write
        } else if draw < self.read {
            Op::Read
        } else {
            Op::Trim
        }
    }

    /// Draws the operations of requests, which are writes before.
    #[inline]
    pub(super) fn assign(&mut self, requests: &mut [TimedRequest]) {
        if self.read_or_trim > 0.0 {
            for timed in requests {
                timed.request.op = self.draw();
            }
        }
    }
}

/// Request sizes by weight.
pub(super) struct Sizes {
    random: Stream,
    /// Sectors, and the sum of the weights up to and including this size.
    shares: Vec<(u32, f64)>,
    total: f64,
}

impl Sizes {
    pub(super) fn new(sizes: &[SizeShare], random: Stream) -> Result<Sizes, SourceError> {
        let fail = |text: String| Err(SourceError(format!("workload.sizes: {text}")));
        let (mut shares, mut total) = (Vec::with_capacity(sizes.len()), 0.0);
        for &SizeShare { bytes, weight } in sizes {
            if bytes == 0 || !u64::from(bytes).is_multiple_of(SECTOR_BYTES) {
                return fail(format!("a size is {bytes} bytes; it must be a multiple of 512"));
            }
            if !(weight.is_finite() && weight > 0.0) {
                return fail(format!("the weight of {bytes} is {weight}; it must be above 0"));
            }
            total += weight;
            shares.push((bytes / SECTOR_BYTES as u32, total));
        }
        if shares.is_empty() || !total.is_finite() {
            return fail("give at least one size, and weights with a finite sum".to_owned());
        }
        Ok(Sizes { random, shares, total })
    }

    /// Returns the largest size, sectors.
    pub(super) fn largest(&self) -> u32 {
        self.shares.iter().map(|share| share.0).max().unwrap_or(1)
    }

    /// Returns the size, sectors, if there is only one.
    #[inline(always)]
    pub(super) fn only(&self) -> Option<u32> {
        if let [(sectors, _)] = self.shares[..] { Some(sectors) } else { None }
    }

    /// Draws the sizes of requests, which have the largest size before.
    #[inline]
    pub(super) fn assign(&mut self, requests: &mut [TimedRequest]) {
        if self.only().is_none() {
            for timed in requests {
                timed.request.sectors = self.draw();
            }
        }
    }

    /// Draws a size, sectors.
    #[inline(always)]
    pub(super) fn draw(&mut self) -> u32 {
        if let Some(sectors) = self.only() {
            return sectors;
        }
        let draw = self.random.unit() * self.total;
        let last = self.shares.len() - 1;
        // Rounding may make the product equal to the total.
        let index = self.shares[..last].partition_point(|share| share.1 <= draw);
        self.shares[index].0
    }
}
