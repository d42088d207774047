//! The distributions behind the report's means and percentiles, for plots: `distributions.csv`.

use super::Measurements;
use crate::host::request::Op;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// As CSV: `count` values of `distribution` lie from `low` to `high`, both included.
///
/// `latency_read` to `latency_flush` are requests by latency (nanoseconds), `victim_invalid`
/// victims by invalid pages when they were chosen, `erases` blocks by their erases within the
/// measurement. Empty buckets are left out.
#[must_use]
pub fn csv(measured: &Measurements, erases: &[u32]) -> String {
    let mut text = String::from("distribution,low,high,count\n");
    let latencies = Op::ALL
        .iter()
        .map(|&op| (format!("latency_{}", op.name()), &measured.latencies.of(op).histogram));
    let victims = ("victim_invalid".to_owned(), &measured.victim_invalid);
    for (name, histogram) in latencies.chain([victims]) {
        for b in histogram.buckets() {
            let _ = writeln!(text, "{name},{},{},{}", b.low, b.high, b.count);
        }
    }
    let mut blocks = BTreeMap::<u32, u64>::new();
    for &n in erases {
        *blocks.entry(n).or_default() += 1;
    }
    for (n, count) in blocks {
        let _ = writeln!(text, "erases,{n},{n},{count}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    #[test]
    fn every_value_is_in_a_line() {
        let mut m = Measurements::new(Nanos::ZERO, false);
        m.latencies.record(Op::Write, 0, 0, 1000);
        m.latencies.record(Op::Write, 0, 0, 1001);
        m.victim_invalid.record(7);
        let text = csv(&m, &[2, 0, 2]);
        let lines: Vec<&str> = text.lines().collect();
        let expected = [
            "distribution,low,high,count",
            "latency_write,1000,1003,2",
            "victim_invalid,7,7,1",
            "erases,0,0,1",
            "erases,2,2,2",
        ];
        assert_eq!(lines, expected);
    }
}
