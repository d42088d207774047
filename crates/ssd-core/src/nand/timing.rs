//! How long each operation takes, from `[timing]`.

use super::geometry::Geometry;
use super::interconnect::formula_ns;
use crate::config::{Config, GcPath, InterconnectModel, MOST_TYPES, Suspend, TimingModel};

/// The type of the pages of SLC blocks, after those of the others.
pub const SLC_TYPE: usize = MOST_TYPES;

/// Array times of the pages of each type.
#[derive(Clone, Copy, Debug)]
struct Types {
    read_ns: [u64; MOST_TYPES + 1],
    program_ns: [u64; MOST_TYPES + 1],
}

/// Phases of operations in nanoseconds.
///
/// *Serial*: an operation occupies its busy unit for array, SRAM and transfer together. A page of the
/// host crosses the SRAM twice (in and out); a GC page is in it between its read and its program, so
/// each of the two operations pays one crossing. *Pipelined*: command, transfer and SRAM occupy the
/// channel (and the chip), the array only the chip.
///
/// Bus times include the traversal of the interconnect if a formula gives its time; with slices it is known only when
/// the page arrives.
#[derive(Clone, Debug)]
pub struct Times {
    /// The model.
    pub serial: bool,
    /// Array read of a page of an unknown type: the mean of the types.
    pub read_ns: u64,
    /// Array program, likewise.
    pub program_ns: u64,
    /// Of each type, if they differ.
    types: Option<Types>,
    /// Array erase.
    pub erase_ns: u64,
    /// Command cycles on the bus (0 in the serial model).
    pub command_ns: u64,
    /// Bus time of one host page, SRAM included.
    pub host_bus_ns: u64,
    /// Bus time of the read of a GC page, SRAM included (none with copy-back), and on the selective path
    /// the ECC engine, whose verdict the task waits for.
    pub gc_read_bus_ns: u64,
    /// Bus time of the program of a GC page that comes from the host side of the controller.
    pub gc_program_bus_ns: u64,
    /// Bus time of the program of a GC page that its flash controller holds.
    pub gc_local_bus_ns: u64,
    /// One page into or out of the SRAM.
    pub sram_ns: u64,
    /// Whether GC pages cross an interconnect, and those of the host.
    pub gc_crosses: bool,
    /// See `gc_crosses`.
    pub host_crosses: bool,
    /// A page served by the controller, without flash.
    pub controller_ns: u64,
    /// ECC decoding of a page read for the host.
    pub host_ecc_ns: u64,
    /// Whether only the sectors that the host asks for cross the bus when it reads.
    pub partial: bool,
    /// Bus time of one page alone, and its sectors.
    page: (u64, u64),
    /// Whose array phases reads of the host suspend.
    pub suspend: Suspend,
}

impl Times {
    /// From a resolved config.
    #[must_use]
    pub fn new(config: &Config) -> Times {
        let t = &config.timing;
        let gc_crosses = config.interconnect.model != InterconnectModel::None;
        let host_crosses = gc_crosses && config.controller.traversals_host > 0;
        let traversal_ns = formula_ns(config);
        let gc_bus_ns = t.transfer_ns + t.sram_ns;
        let selective = config.gc.path == GcPath::Selective;
        Times {
            serial: t.model == TimingModel::Serial,
            read_ns: t.read_ns,
            program_ns: t.program_ns,
            types: Types::new(config),
            erase_ns: t.erase_ns,
            command_ns: if t.model == TimingModel::Serial { 0 } else { t.command_ns },
            host_bus_ns: t.transfer_ns
                + 2 * t.sram_ns
                + if host_crosses { traversal_ns } else { 0 },
            gc_read_bus_ns: gc_bus_ns
                + traversal_ns
                + if selective { config.controller.ecc_ns } else { 0 },
            gc_program_bus_ns: gc_bus_ns + traversal_ns,
            gc_local_bus_ns: gc_bus_ns,
            sram_ns: t.sram_ns,
            gc_crosses,
            host_crosses,
            controller_ns: t.sram_ns,
            host_ecc_ns: config.controller.host_ecc_ns,
            partial: t.partial,
            page: (t.transfer_ns, u64::from(config.device.page_bytes / 512)),
            suspend: config.timing.suspend,
        }
    }

    /// Whether pages of different types take different times, or may.
    #[must_use]
    pub fn has_types(&self) -> bool {
        self.types.is_some()
    }

    /// Array read of a page of type `kind`. Without `FULL` all pages take the same time.
    #[inline(always)]
    #[must_use]
    pub fn read_of<const FULL: bool>(&self, kind: impl FnOnce() -> usize) -> u64 {
        match &self.types {
            Some(types) if FULL => types.read_ns[kind()],
            _ => self.read_ns,
        }
    }

    /// Array program of a page of type `kind`.
    #[inline]
    #[must_use]
    pub fn program_of(&self, kind: impl FnOnce() -> usize) -> u64 {
        self.types.as_ref().map_or(self.program_ns, |types| types.program_ns[kind()])
    }

    /// Array program of page `page` of a flash block.
    #[must_use]
    pub fn program_in_block(&self, geo: &Geometry, page: u32) -> u64 {
        self.types
            .as_ref()
            .map_or(self.program_ns, |types| types.program_ns[geo.type_in_block(page)])
    }

    /// Array read of a page of type `kind`.
    #[must_use]
    pub fn read_of_type(&self, kind: usize) -> u64 {
        self.types.as_ref().map_or(self.read_ns, |types| types.read_ns[kind])
    }

    /// Bus time of a page alone.
    #[must_use]
    pub fn page_ns(&self) -> u64 {
        self.page.0
    }

    /// Bus time of `sectors` of a page that the host reads, alone, to the nearest nanosecond.
    #[must_use]
    pub fn part_ns(&self, sectors: u64) -> u64 {
        let (page_ns, page_sectors) = self.page;
        debug_assert!((1..=page_sectors).contains(&sectors), "{sectors} sectors of a page");
        (page_ns * sectors + page_sectors / 2) / page_sectors
    }

    /// The same, SRAM included.
    #[must_use]
    pub fn part_bus_ns(&self, sectors: u64) -> u64 {
        self.host_bus_ns - self.page_ns() + self.part_ns(sectors)
    }
}

impl Types {
    /// `None` if all pages take the same times.
    fn new(config: &Config) -> Option<Types> {
        let t = &config.timing;
        let times = |list: &[u64], ns: u64, slc_ns: u64| {
            let mut times = [ns; MOST_TYPES + 1];
            assert!(list.len() <= MOST_TYPES, "{} types of pages", list.len());
            times[..list.len()].copy_from_slice(list);
            times[SLC_TYPE] = slc_ns;
            times
        };
        let differ = |list: &[u64], ns: u64| list.iter().any(|&time| time != ns);
        let found =
            differ(&t.read_types_ns, t.read_ns) || differ(&t.program_types_ns, t.program_ns);
        (found || !config.slc.is_off()).then(|| Types {
            read_ns: times(&t.read_types_ns, t.read_ns, config.slc.read_ns),
            program_ns: times(&t.program_types_ns, t.program_ns, config.slc.program_ns),
        })
    }
}
