//! The integration tests of `ssd-kv`: one binary, because each would compile and link the crate's generic code again.

mod bad_input;
mod bench;
#[path = "../../../cases.rs"]
mod cases;
mod choices;
mod damage;
mod faults;
mod foreign;
mod levels;
mod logs;
mod model;
mod paced;
mod policies;
mod read_only;
mod reuse;
mod rig;
mod salvage;
mod tables;
