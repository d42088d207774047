//! The device at the end of a run.

use super::ratio;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// Shares of the simulated time in which something was busy, 0 to 1.
    pub struct Utilisation;
    values(inputs) {
        let shares = |busy: &[u64]| -> Vec<f64> {
            busy.iter().map(|&ns| ratio(ns, inputs.span_ns()).unwrap_or(0.0)).collect()
        };
    } {
        /// Each channel.
        channel: Vec<f64> [Percent] = shares(inputs.device.channel_busy_ns),
        /// Each chip, channel by channel.
        chip: Vec<f64> [Percent] = shares(inputs.device.chip_busy_ns),
    }
}

section! {
    /// The device at the end of the run.
    pub struct Device;
    values(inputs) {
        let device = &inputs.device;
        let erases = EraseStats::of(device.erases);
    } {
        /// Bytes per page.
        page_bytes: u64 [Size] = device.page_bytes,
        /// Pages the host can address.
        user_pages: u64 = device.user_pages,
        /// Pages of the flash.
        physical_pages: u64 = device.physical_pages,
        /// Pages that are not erased.
        used_pages: u64 = device.used_pages,
        /// Pages that hold current data.
        valid_pages: u64 = device.valid_pages,
        /// `used_pages` over `physical_pages`.
        used_ratio: f64 [Percent] = ratio(device.used_pages, device.physical_pages).unwrap_or(0.0),
        /// Blocks (erase units).
        blocks: u64 = device.erases.len() as u64,
        /// Erased blocks.
        free_blocks: u64 = device.free_blocks,
        /// Fewest erased blocks at any time.
        lowest_free_blocks: u64 = device.lowest_free_blocks,
        /// Blocks that can no longer be used: bad from the factory, or worn out.
        #[serde(default)]
        bad_blocks: u64 = device.factory_bad_blocks + device.worn_out_blocks,
        /// Fewest erases of a block; this and the next three count the measurement only, `wear` the life
        /// of the device.
        erase_min: u64 = erases.min,
        /// Most erases of a block.
        erase_max: u64 = erases.max,
        /// Mean erases of a block.
        erase_mean: f64 = erases.mean,
        /// Standard deviation of the erases over all blocks.
        erase_stddev: f64 = erases.stddev,
        /// Shares of the simulated time in which something was busy.
        utilisation: Utilisation = Utilisation::of(inputs),
    }
}

/// Erases over blocks; zeros without blocks.
pub(super) struct EraseStats {
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: f64,
    pub(super) stddev: f64,
}

impl EraseStats {
    pub(super) fn of(erases: &[u32]) -> EraseStats {
        let n = erases.len().max(1) as f64;
        let mean = erases.iter().map(|&e| u64::from(e)).sum::<u64>() as f64 / n;
        let square = |e: &u32| (f64::from(*e) - mean) * (f64::from(*e) - mean);
        let variance = erases.iter().map(square).sum::<f64>() / n;
        EraseStats {
            min: erases.iter().copied().min().unwrap_or(0).into(),
            max: erases.iter().copied().max().unwrap_or(0).into(),
            mean,
            stddev: variance.sqrt(),
        }
    }
}
