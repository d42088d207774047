//! What the host sends and receives, the `Device` trait, and the drivers over it.

pub(crate) mod ahead;
pub mod device;
pub mod drive;
pub mod request;
