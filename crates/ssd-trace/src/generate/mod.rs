//! Generators of requests: synthetic workloads, applications, stand-ins for recorded volumes, fio jobs.

pub mod app;
pub(crate) mod copies;
pub mod fio;
pub mod keys;
pub(crate) mod like;
pub mod stand_in;
pub mod synthetic;
