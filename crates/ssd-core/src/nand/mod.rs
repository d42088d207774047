//! The flash: geometry, times, and the media with the legality of operations on them.

pub mod contents;
pub mod geometry;
pub mod interconnect;
pub mod media;
pub(crate) mod read_errors;
pub(crate) mod slices;
pub mod timing;
