//! The initial state of a device that is not preconditioned: a snapshot in a file or in memory.

use crate::caller::{Caller, Stage};
use crate::error::RunError;
use ssd_core::config::Config;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::sim::functional::Functional;
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
