//! ssd-serve: a simulated drive that programs use, as a network block device (NBD).
//!
//! `nbd` is the protocol over bytes.

pub mod nbd;
