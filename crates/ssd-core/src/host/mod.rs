//! The host side: requests and completions, the `Device` trait, and the drivers over it.

pub(crate) mod ahead;
pub mod copy;
pub mod device;
pub mod drive;
mod error;
pub(crate) mod firmware;
pub(crate) mod link;
pub(crate) mod queues;
pub mod request;
pub mod source;
pub(crate) mod write_buffer;
pub mod zones;
