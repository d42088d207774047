//! ssd-run: composes a run from a configuration and drives it, for any front end.
//!
//! [`run`] opens the workload, finds the initial state of the device, drives the requests to their end and reports.
//! [`PullDriver`] is its middle part for a custom source; [`PushDriver`] is a device to which a client submits requests
//! and which returns their completions. A front end implements [`Caller`]: progress and interruption, a clock, and
//! where the logs go. The crate contains no model and reads no clock itself.
//!
//! ```
//! use ssd_core::config::{Input, load};
//! use ssd_core::metrics::summary;
//! use ssd_run::{Setup, Unattended, run};
//!
//! let text = "
//!     [device]
//!     channels = 2
//!     blocks_per_plane = 64
//!     [workload]
//!     requests = 2000
//! ";
//! let file = Some(("run.toml".to_owned(), text.to_owned()));
//! let config = load(&Input { file, ..Input::default() }).expect("a sound configuration");
//! let done = run(config, Setup::default(), &mut Unattended).expect("a run");
//! println!("{}", summary::text(&done.finished.report));
//! assert!(done.finished.report.completed);
//! ```

mod caller;
mod compose;
mod error;
pub mod excerpt;
pub mod fit;
mod foresee;
pub mod logs;
mod page_file;
mod pull;
mod push;
mod report;
mod start;
mod submission;
mod table;
mod workload;

pub use caller::{Caller, ClockReading, RunLog, Stage, Unattended};
pub use compose::{EndedRun, Setup, run};
pub use error::RunError;
pub use pull::PullDriver;
pub use push::{PushDriver, PushError, ZoneAnswer};
pub use report::{Circumstances, Ending, FinishedRun, report_of};
pub use start::{StartState, load_snapshot, start_key};
pub use submission::Submission;
pub use workload::open_workload;
