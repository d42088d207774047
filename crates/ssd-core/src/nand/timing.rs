//! How long each operation takes, from `[timing]`.

use crate::config::{Config, TimingModel};

/// Phases of operations in nanoseconds.
///
/// *Serial*: an operation occupies its busy unit for array, SRAM and transfer together. A page of the
/// host crosses the SRAM twice (in and out); a GC page is in it between its read and its program, so
/// each of the two operations pays one crossing. *Pipelined*: command, transfer and SRAM occupy the
/// channel (and the chip), the array only the chip.
#[derive(Clone, Debug)]
pub struct Times {
    /// The model.
    pub serial: bool,
    /// Array read.
    pub read_ns: u64,
    /// Array program.
    pub program_ns: u64,
    /// Array erase.
    pub erase_ns: u64,
    /// Command cycles on the bus (0 in the serial model).
    pub command_ns: u64,
    /// Bus time of one host page, SRAM included.
    pub host_bus_ns: u64,
    /// Bus time of one GC page, SRAM included (none with copy-back).
    pub gc_bus_ns: u64,
    /// A page served by the controller, without flash.
    pub controller_ns: u64,
    /// ECC decoding of a page read for the host.
    pub host_ecc_ns: u64,
}

impl Times {
    /// From a resolved config.
    #[must_use]
    pub fn new(config: &Config) -> Times {
        let t = &config.timing;
        Times {
            serial: t.model == TimingModel::Serial,
            read_ns: t.read_ns,
            program_ns: t.program_ns,
            erase_ns: t.erase_ns,
            command_ns: if t.model == TimingModel::Serial { 0 } else { t.command_ns },
            host_bus_ns: t.transfer_ns + 2 * t.sram_ns,
            gc_bus_ns: t.transfer_ns + t.sram_ns,
            controller_ns: t.sram_ns,
            host_ecc_ns: config.controller.host_ecc_ns,
        }
    }
}
