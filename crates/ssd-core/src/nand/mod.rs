//! The flash: geometry, times, and the media with the legality of operations on them.

pub mod geometry;
pub mod media;
pub(crate) mod read_errors;
pub mod timing;
