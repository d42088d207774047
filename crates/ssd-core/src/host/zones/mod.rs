//! Zones: their states in NVMe's zoned namespaces, the limits of open and active zones, and the status of each command.
//!
//! Source: NVM Express, Zoned Namespace Command Set 1.1. [`ZoneTable`] is that state machine. It knows neither flash
//! nor time. The standard leaves three points open, which are decided as follows. If a zone is opened at the limit, the
//! implicitly opened zone that was opened first is closed. A zone is full when its last write *completes*; until then a
//! further write is a zone boundary error. A finish or reset during a write of its zone is a command sequence error.

mod status;
mod table;

pub use status::ZoneStatus;
pub use table::{Limits, Zone, ZoneFailure, ZoneState, ZoneTable};
