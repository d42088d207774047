//! The header of a generation: the drive, the program and the configuration that it belongs to.

use super::{StateError, file_error};
use crate::life::Life;
use serde::{Deserialize, Serialize};
use ssd_core::config::digest;
use ssd_core::metrics::report::RESULTS_VERSION;
use ssd_trace::config::RunConfig;
use std::fs;
use std::path::Path;

/// Version of the layout of the folder.
const FORM: u32 = 1;

/// The header of a generation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    form: u32,
    /// Number of the generation.
    generation: u64,
    /// The results version of the simulator that wrote the log, and that can replay it.
    pub(crate) results: u64,
    /// The digest of the configuration.
    pub(crate) config: String,
    pub(crate) pages: u32,
    pub(crate) page_bytes: u32,
    /// The counters of the drive when the generation began.
    #[serde(default)]
    pub(crate) life: Life,
}

impl Header {
    /// The header of a new generation.
    pub(crate) fn of(config: &RunConfig, generation: u64, life: Life) -> Header {
        Header {
            form: FORM,
            generation,
            results: RESULTS_VERSION,
            config: digest(config),
            pages: config.device.user_pages,
            page_bytes: config.device.page_bytes,
            life,
        }
    }

    /// The header in the file `path`.
    pub(crate) fn read(path: &Path) -> Result<Header, StateError> {
        let text = fs::read_to_string(path).map_err(file_error(path))?;
        let header: Result<Header, _> = serde_json::from_str(&text);
        let header = header.map_err(|e| StateError::Refused(format!("{}: {e}", path.display())))?;
        if header.form != FORM {
            return Err(StateError::Refused(format!(
                "{}: the layout of the folder has version {}, this program has {FORM}: use the program that created it",
                path.display(),
                header.form
            )));
        }
        Ok(header)
    }
}
