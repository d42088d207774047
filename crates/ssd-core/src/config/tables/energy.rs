//! `[energy]`: what flash, buses and drive take.

use super::prelude::*;
use crate::config::text::quantity::show_power;

/// A kilowatt.
const MOST_UW: u64 = 1_000_000_000;

crate::config_table! {
    "Power of flash, buses and drive. As soon as one of them is more than 0, the report has the energy of the run."
    Energy: energy in Config {
        read: special(READ) => read_uw: u64 = 0,
            "Power of a plane while its array reads a page.";
        program: special(PROGRAM) => program_uw: u64 = 0,
            "Power of a plane while its array programs a page.";
        erase: special(ERASE) => erase_uw: u64 = 0,
            "Power of a plane while its array erases a block.";
        bus: special(BUS) => bus_uw: u64 = 0,
            "Power of a channel, and of the two ends of its bus, while a page crosses (`timing.transfer`).";
        idle: special(IDLE) => idle_uw: u64 = 0,
            "Power of the drive at all times, to which the others are added.";
    }
}

impl Energy {
    /// The report has no energy.
    #[must_use]
    pub fn is_off(&self) -> bool {
        *self == Energy::default()
    }
}

/// A power in the field `$field`.
macro_rules! power {
    ($field:ident) => {
        Special {
            form: "power, at most 1 kW",
            default: None,
            read: |draft, errors, path, node| {
                let set = read::power(node, MOST_UW).map(|uw| draft.config.energy.$field = uw);
                report(errors, path, node, set);
            },
            show: |config| Some(quoted(&show_power(config.energy.$field))),
            text: false,
            types: TEXT,
        }
    };
}

static READ: Special<Config> = power!(read_uw);
static PROGRAM: Special<Config> = power!(program_uw);
static ERASE: Special<Config> = power!(erase_uw);
static BUS: Special<Config> = power!(bus_uw);
static IDLE: Special<Config> = power!(idle_uw);
