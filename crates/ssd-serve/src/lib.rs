//! ssd-serve: a simulated drive that other programs use, as a network block device (NBD).
//!
//! `nbd` is the protocol over bytes. `engine` is the drive: the machine, the data of its pages (`slots`, found through
//! `table`, and in `versions` which of them a power cut could bring back) and the `log` from which both are restored
//! after a kill. `disk` writes both, in its own thread. `state` is the folder that contains them. `connection` turns
//! what a client sends into requests to the drive, and `server` waits for the sockets of `listener` and for events, on
//! the clock of `pace`. `session` runs all of it in order, `view` shows the drive at a moment, and `life` counts what
//! it has done since it was first served. `why` runs what was served again, to find what a request waited for.

pub mod connection;
pub mod disk;
pub mod engine;
pub mod life;
pub mod listener;
pub mod log;
pub mod nbd;
pub mod pace;
pub mod server;
pub mod session;
pub mod slots;
pub mod state;
pub mod table;
pub mod versions;
pub mod view;
pub mod why;
