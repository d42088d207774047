//! The counters that the simulator increments during a run. Those of a section of the report are declared
//! with it (`report`).

pub use super::cause::{CAUSES, Cause};
pub use super::in_system::RequestsInSystem;
pub use super::parts::{PartSums, Parts};
pub use super::report::controller::{BufferCounts, ControllerCounts};
pub use super::report::energy::WorkTimes;
pub use super::report::flash::FlashCounts;
pub use super::report::gc::{GcCounts, MoveCounts, VictimCounts, WearCounts};
pub use super::report::host::HostCounts;
pub use super::report::power::PowerCounts;
pub use super::report::raid::RaidCounts;
pub use super::report::remap::RemapCounts;
pub use super::report::slc::SlcCounts;
pub use super::report::zones::ZoneCounts;
