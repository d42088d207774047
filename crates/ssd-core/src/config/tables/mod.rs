//! The resolved configuration: plain data, every value in base units. A file per table declares its keys, each
//! once: field, type, default, range and meaning. `words` has the types of keys that are one of a few words,
//! `shape` the counts that follow from all keys.

mod alloc;
mod controller;
mod device;
mod energy;
mod gc;
mod host;
mod interconnect;
mod metrics;
mod power;
mod precondition;
mod prelude;
mod raid;
mod remap;
mod run;
mod sched;
mod shape;
mod slc;
mod timing;
mod wear;
mod words;
mod zns;

pub use alloc::Alloc;
pub use controller::Controller;
pub use device::{DeviceConfig, MOST_TYPES};
pub use energy::Energy;
pub use gc::Blocking;
pub use gc::Gc;
pub use host::Host;
pub use interconnect::Interconnect;
pub use metrics::Metrics;
pub use power::{Power, PowerCut};
pub use precondition::Precondition;
pub use raid::{ChipFailure, Raid};
pub use remap::Remap;
pub use run::Run;
pub(crate) use run::is_folder_name;
pub use sched::Sched;
pub use slc::Slc;
pub use timing::Timing;
pub use wear::Wear;
pub use words::*;
pub use zns::Zns;

use super::draft::{Capacity, Transfer};
use super::keys::{Key, Table};
use serde::{Deserialize, Serialize};

/// The kernel's tables, in the order in which they are shown.
pub(crate) const TABLES: &[Table<Config>] = &[
    run::TABLE,
    device::TABLE,
    timing::TABLE,
    interconnect::TABLE,
    host::TABLE,
    zns::TABLE,
    alloc::TABLE,
    raid::TABLE,
    remap::TABLE,
    slc::TABLE,
    power::TABLE,
    sched::TABLE,
    controller::TABLE,
    gc::TABLE,
    wear::TABLE,
    energy::TABLE,
    precondition::TABLE,
    metrics::TABLE,
];

/// A complete, checked description of a device and of how it is driven.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Name of the preset it started from, if any.
    pub preset: Option<String>,
    /// The run as a whole.
    pub run: Run,
    /// Geometry and capacity.
    pub device: DeviceConfig,
    /// Flash and bus times.
    pub timing: Timing,
    /// The network between the flash controllers and the host side (serial model).
    pub interconnect: Interconnect,
    /// How requests reach the device.
    pub host: Host,
    /// Zones; left out like `raid` where they have their defaults.
    #[serde(default, skip_serializing_if = "Zns::is_default")]
    pub zns: Zns,
    /// Where writes go and what space is shared.
    pub alloc: Alloc,
    /// Parity over the chips; left out of what is stored where there is none, so that digests of configurations
    /// without parity are those of before there was any.
    #[serde(default, skip_serializing_if = "Raid::is_off")]
    pub raid: Raid,
    /// What the device answers to a copy; left out like `raid` where it refuses them.
    #[serde(default, skip_serializing_if = "Remap::is_off")]
    pub remap: Remap,
    /// SLC blocks; left out like `raid` where there are none.
    #[serde(default, skip_serializing_if = "Slc::is_off")]
    pub slc: Slc,
    /// Power cuts; left out of what is stored where there are none, as parity.
    #[serde(default, skip_serializing_if = "Power::is_off")]
    pub power: Power,
    /// The order of operations on a busy unit.
    pub sched: Sched,
    /// The controller, which every page passes.
    pub controller: Controller,
    /// Garbage collection: the seven decisions.
    pub gc: Gc,
    /// Wear levelling, endurance and bad blocks.
    pub wear: Wear,
    /// Power of flash, buses and drive; left out of what is stored where none is given, as parity.
    #[serde(default, skip_serializing_if = "Energy::is_off")]
    pub energy: Energy,
    /// State of the device before the workload, prepared in functional mode.
    pub precondition: Precondition,
    /// What is measured and logged.
    pub metrics: Metrics,
}

impl Default for Config {
    fn default() -> Config {
        let mut config = Config {
            preset: None,
            run: Run::default(),
            device: DeviceConfig::default(),
            timing: Timing::default(),
            interconnect: Interconnect::default(),
            host: Host::default(),
            zns: Zns::default(),
            alloc: Alloc::default(),
            raid: Raid::default(),
            remap: Remap::default(),
            slc: Slc::default(),
            power: Power::default(),
            sched: Sched::default(),
            controller: Controller::default(),
            gc: Gc::default(),
            wear: Wear::default(),
            energy: Energy::default(),
            precondition: Precondition::default(),
            metrics: Metrics::default(),
        };
        config.device.user_pages = Capacity::default()
            .user_pages(config.device.physical_pages(), config.device.page_bytes)
            .and_then(|pages| u32::try_from(pages).ok())
            .expect("the default device has a capacity");
        config.timing.transfer_ns = Transfer::default().of_page(config.device.page_bytes);
        config
    }
}

impl Key<Config> {
    /// The kernel's key called `path`.
    pub(crate) fn find(path: &str) -> Option<&'static Key<Config>> {
        TABLES.iter().flat_map(|table| table.keys).find(|key| key.path == path)
    }
}
