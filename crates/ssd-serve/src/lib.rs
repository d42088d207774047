//! ssd-serve: a simulated drive as a network block device (NBD) that other programs use.
//!
//! - `nbd` encodes and decodes the protocol.
//! - `engine` is the drive: the machine, the data of its pages, and the log.
//! - `slots` stores the data of pages, `table` maps each page to its slot, and `versions` keeps older data that a power
//!   cut could bring back.
//! - `log` records the requests, from which machine and data are restored after a kill.
//! - `disk` writes data and log to files, in its own thread. `state` is the folder with these files.
//! - `connection` translates between the bytes of a client and requests to the drive.
//! - `server` waits for the sockets of `listener` and for events of the drive, on the clock of `pace`.
//! - `session` runs a server from its start to the drive at rest.
//! - `view` reports the present state of the drive, and `life` its counters since it was first served.
//! - `why` replays the log to find what a request waited for.

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
