//! Energy of the run.

use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// Energy in picojoules, of operations that start in the measurement and of the drive.
    ///
    /// Each is its power (`[energy]`) times its time, to the nearest picojoule, and at most 2^64 - 1.
    pub struct Energy;
    /// For how long arrays and buses work, page by page, for the operations that start; counted only where power is
    /// given. Pages that are programmed together count each for itself.
    counters WorkTimes in work {
        /// Array time of all pages that are read, with retries.
        read_time: u64 [Duration],
        /// Array time of all pages that are programmed.
        program_time: u64 [Duration],
        /// Array time of all blocks that are erased.
        erase_time: u64 [Duration],
        /// Time of all pages, or parts of pages, on the buses of the channels, without commands and SRAM.
        bus_time: u64 [Duration],
    }
    sums {}
    values(inputs) {
        let (work, power) = (&inputs.measured.work, inputs.device.power.unwrap_or_default());
        let [read, program, erase, bus, idle] = [
            picojoules(power.read_uw, work.read_time),
            picojoules(power.program_uw, work.program_time),
            picojoules(power.erase_uw, work.erase_time),
            picojoules(power.bus_uw, work.bus_time),
            picojoules(power.idle_uw, inputs.span_ns()),
        ];
        let total = [read, program, erase, bus, idle].into_iter().fold(0, u64::saturating_add);
        let host = &inputs.measured.host;
        let bytes = (host.pages_read + host.pages_written) * inputs.device.page_bytes;
    } {
        /// Of reads.
        read: u64 = read,
        /// Of programs.
        program: u64 = program,
        /// Of erases.
        erase: u64 = erase,
        /// Of pages on the buses.
        bus: u64 = bus,
        /// Of the drive, at all times.
        idle: u64 = idle,
        /// All of them.
        total: u64 = total,
        /// All of them over the bytes that the host reads and writes, in whole pages.
        per_host_byte: Option<f64> [Number, measure("pj_per_host_byte").short("energy").last()] =
            super::ratio(total, bytes),
    }
}

/// Energy of a power in microwatts over a time in nanoseconds, to the nearest picojoule.
fn picojoules(uw: u64, ns: u64) -> u64 {
    u64::try_from((u128::from(uw) * u128::from(ns) + 500) / 1000).unwrap_or(u64::MAX)
}
