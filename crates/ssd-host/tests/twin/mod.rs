//! The host once more, from its rules alone: what the real one does is compared with it, request by request.

#![allow(unreachable_pub, reason = "a test includes this folder")]

mod directory;
mod files;
mod host;

pub use host::Host;
