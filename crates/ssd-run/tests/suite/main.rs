//! The integration tests of `ssd-run`: one binary, because each would compile and link the crate's generic code again.

mod energy;
mod failed_chip;
mod logs;
mod modes;
mod plugs;
mod push;
#[allow(dead_code, reason = "these tests use a part of it")]
#[path = "../../../ssd-core/tests/suite/rig/mod.rs"]
mod rig;
mod runs;
mod snapshot_start;
