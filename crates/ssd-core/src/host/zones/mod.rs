//! Zones: the states that NVMe's zoned namespaces give to zones, the limits of those that are open and active, and the
//! status of every command.
//!
//! Source: NVM Express, Zoned Namespace Command Set 1.1. [`ZoneTable`] is that state machine: it knows neither flash
//! nor time. Where the standard leaves a choice, decided: an implicitly opened zone is closed if another one is opened
//! at the limit, the one that was opened first; a zone is full when its last write *completes*, and until then a write
//! meets the zone's boundary; a finish or reset during a write of its zone is a command sequence error.

mod status;
mod table;

pub use status::ZoneStatus;
pub use table::{Limits, Zone, ZoneFailure, ZoneState, ZoneTable};
