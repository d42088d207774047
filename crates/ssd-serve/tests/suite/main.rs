//! The integration tests of `ssd-serve`: one binary, because each would compile and link the crate's generic code
//! again.

#[path = "../../../cases.rs"]
mod cases;
mod disk;
mod engine;
mod life;
mod nbd;
mod pace;
#[path = "../../../resident.rs"]
mod resident;
mod rig;
mod server;
mod session;
mod state;
mod storm;
mod view;
mod why;
