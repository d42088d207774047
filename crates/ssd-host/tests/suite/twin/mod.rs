//! The host once more, from its rules alone: what the real one does is compared with it, request by request.

pub(crate) mod directory;
pub(crate) mod files;
pub(crate) mod host;
mod journal;
