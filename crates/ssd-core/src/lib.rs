//! ssd-core: an exact, fast, deterministic simulator of a solid-state drive.
//!
//! The route of a request is the layout of this crate:
//! `host` (requests, drivers) -> `ftl` (map, place, gc) -> `sched` (order) -> `nand` (timing, flash)
//! -> `metrics`; `sim` owns all of them and time. The crate does no I/O and reads no clock.

#[cfg(test)]
#[path = "../../cases.rs"]
mod cases;
pub mod config;
pub mod ftl;
pub mod functional_run;
pub mod host;
mod id_set;
pub mod memory;
pub mod metrics;
pub mod nand;
pub mod plug;
pub mod rng;
pub mod sched;
pub mod sim;
pub mod units;
