//! The flash: geometry, times, and the flash with the legality of operations on it.

mod contents;
pub mod flash;
pub mod geometry;
mod group_lists;
pub mod interconnect;
pub mod nvram;
pub mod page_store;
pub(crate) mod read_errors;
mod sequences;
pub(crate) mod slices;
pub mod timing;
