//! The initial state of a device: a snapshot in a file or in memory, or a preconditioned device for several runs.

use crate::caller::{Caller, Stage};
use crate::error::RunError;
use ssd_core::config::{Config, DataMode};
use ssd_core::ftl::plugs::Plugs;
use ssd_core::ftl::separation::foresees;
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::device::DeviceError;
use ssd_core::sim::functional::Functional;
use ssd_trace::config::RunConfig;
use ssd_trace::snapshots::{self, LoadError};
use std::path::Path;

/// The snapshot in the file `path` and its digest, for a device of `config` if that is given.
///
/// # Errors
/// The file is refused, or the caller ended the reading.
pub fn load_snapshot(
    path: &Path,
    config: Option<&Config>,
    caller: &mut dyn Caller,
) -> Result<(DeviceSnapshot, String), LoadError> {
    snapshots::load(path, config, &mut |done| caller.progress(Stage::Reading, done, None))
}

/// The device of `config` to start from and the digest of its state: that of `device_snapshot`, or else of the
/// snapshot file that the configuration names; `None` if the run preconditions it.
pub(crate) fn device(
    config: &Config,
    device_snapshot: Option<&DeviceSnapshot>,
    plugs: &Plugs,
    caller: &mut dyn Caller,
) -> Result<Option<(Functional, String)>, RunError> {
    let restored = |snapshot: &DeviceSnapshot, origin: &str| {
        let device = Functional::restore(config, snapshot, plugs);
        device.map_err(|message| RunError::Config(format!("{origin}: {message}")))
    };
    if let Some(snapshot) = device_snapshot {
        return Ok(Some((restored(snapshot, "device")?, snapshots::hex(snapshot.digest()))));
    }
    let Some(file) = &config.precondition.snapshot else { return Ok(None) };
    let key = "precondition.snapshot: ";
    let (snapshot, digest) =
        load_snapshot(file.as_ref(), Some(config), caller).map_err(|error| match error {
            LoadError::Refused(message) => RunError::Config(format!("{key}{message}")),
            LoadError::Interrupted => RunError::Interrupted,
        })?;
    Ok(Some((restored(&snapshot, &format!("{key}{file}"))?, digest)))
}

/// Tables of a configuration on which the preconditioned device does not depend.
const LATER: [&str; 5] = ["workload", "host", "sched", "controller", "interconnect"];

/// The part of `config` that determines its preconditioned device, as JSON. `None` if the run does not precondition a
/// device, or prepares more than the device.
#[must_use]
pub fn start_key(config: &RunConfig) -> Option<String> {
    let is_restored = config.precondition.snapshot.is_some();
    let keeps_data = config.run.data != DataMode::None;
    if is_restored || keeps_data || config.is_zoned() || foresees(&config.alloc.separation) {
        return None;
    }
    let mut tables = serde_json::to_value(config).expect("a configuration is JSON");
    let tables = tables.as_object_mut().expect("a configuration is a table of tables");
    tables.retain(|name, table| table.is_object() && !LATER.contains(&name.as_str()));
    // Of `timing` and `run`, the device depends only on these keys.
    let unit = config.timing.busy_unit;
    tables.insert("timing".into(), serde_json::to_value(unit).expect("a word"));
    if let Some(run) = tables.get_mut("run").and_then(|run| run.as_object_mut()) {
        run.retain(|name, _| name == "seed" || name == "data");
    }
    Some(serde_json::Value::Object(std::mem::take(tables)).to_string())
}

/// A preconditioned device, from which any run with the same [`start_key`] can start.
pub struct StartState {
    key: String,
    device: Functional,
}

impl StartState {
    /// Precondition the device of `config`.
    ///
    /// # Errors
    /// The device cannot be filled, `config` has no [`start_key`], or the caller has ended the preconditioning.
    pub fn new(config: &RunConfig, caller: &mut dyn Caller) -> Result<StartState, RunError> {
        let refused = |message: &str| RunError::Config(message.to_owned());
        let key = start_key(config).ok_or_else(|| refused("its runs cannot share a device"))?;
        let mut device = Functional::with_plugs(config, &Plugs::default());
        let ended = precondition(&mut device, config, caller);
        match ended {
            Ok(true) => Ok(StartState { key, device }),
            Ok(false) | Err(DeviceError::Interrupted) => Err(RunError::Interrupted),
            Err(error) => Err(refused(&error.to_string())),
        }
    }

    /// The device, for a run of `config`.
    ///
    /// # Errors
    /// The run starts from another device.
    pub(crate) fn into_device(self, config: &RunConfig) -> Result<Functional, RunError> {
        if start_key(config).as_ref() == Some(&self.key) {
            return Ok(self.device);
        }
        Err(RunError::Config("this run starts from another device".into()))
    }
}

/// Precondition `device`. False if the caller has ended it.
pub(crate) fn precondition(
    device: &mut Functional,
    config: &Config,
    caller: &mut dyn Caller,
) -> Result<bool, DeviceError> {
    let mut keep_going =
        |done, total| caller.progress(Stage::Precondition, done, Some(total)).is_continue();
    device.precondition(config, &mut keep_going)
}
