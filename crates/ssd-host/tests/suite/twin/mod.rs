//! The host written again, from its rules alone: the real one is compared with it, request by request.

pub(crate) mod directory;
pub(crate) mod files;
pub(crate) mod host;
mod journal;
