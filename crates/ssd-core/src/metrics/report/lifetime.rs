//! How long a device lasts.

use super::ratio;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// Days of a year.
const YEAR: f64 = 365.0;

section! {
    /// How long the device lasts, extrapolated from the measurement (`wear.endurance`).
    ///
    /// From now on the host writes as in the measurement, at its write amplification, and every block is erased at
    /// the mean rate of its pool. Bytes and days count from when the device was new, a day as `wear.daily_writes`
    /// says. Write amplification grows while blocks are lost, which is left out: see docs/lifetime.md.
    pub struct Lifetime;
    values(inputs) {
        let (device, m) = (&inputs.device, inputs.measured);
        let ends = device.ends_of_life;
        let page_bytes = device.page_bytes as f64;
        let run_bytes = m.host.pages_written as f64 * page_bytes;
        let total = |times: f64| device.host_bytes_written as f64 + times * run_bytes;
        let first = ends.map(|ends| total(ends.0));
        let end = ends.map(|ends| total(ends.1));
        let measured = (inputs.span_ns() > 0 && m.host.pages_written > 0)
            .then(|| run_bytes / (inputs.span_ns() as f64 / 1e9) * DAY);
        let daily = device.daily_writes.map(|bytes| bytes as f64).or(measured);
        let days = |bytes: Option<f64>| Some(bytes? / daily?);
        let capacity = device.user_pages as f64 * page_bytes;
    } {
        /// Bytes that the host writes in a day: `wear.daily_writes`, or the rate of the measurement.
        daily_writes: Option<f64> [Size] = daily,
        /// Bytes that the host has written when the first block is worn out.
        first_block_bytes: Option<f64> [Size] = first,
        /// Days until then.
        first_block_days: Option<f64> [Number, shown("first_block_days", "days to the first worn block")] = days(first),
        /// Bytes that the host has written when a pool has lost its spare (TBW).
        bytes_written: Option<f64> [Size, shown("lifetime_bytes", "bytes written in a lifetime")] = end,
        /// Days until then.
        days: Option<f64> [Number, shown("lifetime_days", "lifetime, days")] = days(end),
        /// Times the capacity that the host may write each day to reach the end of the warranty (DWPD).
        drive_writes_per_day: Option<f64> [Number, shown("drive_writes_per_day", "drive writes per day")] =
            end.map(|bytes| bytes / capacity / (device.warranty_years * YEAR)),
        /// Erases of a block left on average, over those that it survives.
        left: Option<f64> [Percent] = ratio(
            u64::from(device.endurance) * device.life_erases.len() as u64 - device.life_erases.iter()
                .map(|&n| u64::from(n.min(device.endurance))).sum::<u64>(),
            u64::from(device.endurance) * device.life_erases.len() as u64,
        ),
    }
}
