//! ssd-host: the host above the simulated drive. A file system, the store, its clients and CPUs, and the drive run on
//! one clock.
//!
//! [`fs`] is the file layer of the store; [`executor`] plays what it has noted; [`workload`] has the operations of the
//! clients; [`report`] the result; [`cut`] what a power cut takes.

pub mod cut;
pub mod executor;
pub mod fs;
pub mod report;
pub mod settings;
pub mod workload;

pub use executor::{HostError, Machine};
pub use report::{Origin, Outcome, simulate};
pub use settings::HostSettings;
