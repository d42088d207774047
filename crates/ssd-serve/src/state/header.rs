//! What a generation belongs to.

use super::{StateError, file_error};
use crate::life::Life;
use serde::{Deserialize, Serialize};
use ssd_core::config::digest;
use ssd_core::metrics::report::RESULTS_VERSION;
use ssd_trace::config::RunConfig;
use std::fs;
use std::path::Path;

/// The layout of the folder.
const FORM: u32 = 1;

/// What a generation belongs to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    form: u32,
    /// Its number.
    generation: u64,
    /// The results version of the simulator that runs the log.
    pub(crate) results: u64,
    /// The digest of the configuration.
    pub(crate) config: String,
    pub(crate) pages: u32,
    pub(crate) page_bytes: u32,
    /// What the drive had done when the generation began.
    #[serde(default)]
    pub(crate) life: Life,
}

impl Header {
    /// For a generation that begins now.
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
                "{}: the layout of the folder has version {}, this program has {FORM}: use the program that made it",
                path.display(),
                header.form
            )));
        }
        Ok(header)
    }
}
