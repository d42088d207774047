//! Latencies by operation and, if requested, by volume and stream.

use super::batch::BatchMeans;
use super::histogram::Histogram;
use crate::host::request::Op;
use std::collections::BTreeMap;

/// Latencies of one group of requests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recorder {
    /// Their distribution.
    pub histogram: Histogram,
    /// Their order in time, for the confidence interval of the mean.
    pub batches: BatchMeans,
}

impl Recorder {
    /// Count one.
    #[inline(always)]
    pub fn record(&mut self, ns: u64) {
        self.histogram.record(ns);
        self.batches.record(ns);
    }
}

/// One recorder an operation, indexed by `op as usize`.
pub type ByOp = [Recorder; Op::ALL.len()];

/// All latencies of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Latencies {
    /// By operation.
    pub by_op: ByOp,
    /// By volume, if distinguished.
    pub by_volume: BTreeMap<u16, Box<ByOp>>,
    /// By stream, if distinguished.
    pub by_stream: BTreeMap<u8, Box<ByOp>>,
    /// Distinguish volumes and streams.
    pub split: bool,
}

impl Latencies {
    /// Empty; `split`: keep volumes and streams apart too.
    #[must_use]
    pub fn new(split: bool) -> Latencies {
        Latencies { split, ..Latencies::default() }
    }

    /// Count one request.
    #[inline(always)]
    pub fn record(&mut self, op: Op, volume: u16, stream: u8, ns: u64) {
        self.by_op[op as usize].record(ns);
        if self.split {
            self.record_split(op, volume, stream, ns);
        }
    }

    #[inline(never)]
    fn record_split(&mut self, op: Op, volume: u16, stream: u8, ns: u64) {
        self.by_volume.entry(volume).or_default()[op as usize].record(ns);
        self.by_stream.entry(stream).or_default()[op as usize].record(ns);
    }

    /// Those of one operation.
    #[must_use]
    pub fn of(&self, op: Op) -> &Recorder {
        &self.by_op[op as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_add_up_to_the_whole() {
        let mut l = Latencies::new(true);
        for i in 0..1000u64 {
            let op = if i % 3 == 0 { Op::Read } else { Op::Write };
            l.record(op, (i % 5) as u16, (i % 2) as u8, 1000 + i);
        }
        let mut whole = Histogram::new();
        l.by_volume.values().for_each(|g| whole.merge(&g[Op::Write as usize].histogram));
        assert_eq!(whole, l.of(Op::Write).histogram);
        assert_eq!((l.by_volume.len(), l.by_stream.len()), (5, 2));
        let mut plain = Latencies::new(false);
        plain.record(Op::Read, 3, 1, 10);
        assert!(plain.by_volume.is_empty() && plain.of(Op::Read).histogram.count() == 1);
    }
}
