//! The integration tests of `ssd-host`: one binary, because each would compile and link the crate's generic code again.

mod acknowledged;
mod call_by_call;
#[path = "../../../cases.rs"]
mod cases;
mod cuts;
mod device;
mod event_by_event;
mod file_layer;
mod machine;
mod report;
mod shared;
mod twin;
