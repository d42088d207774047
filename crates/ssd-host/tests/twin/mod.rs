//! The host once more, from its rules alone: what the real one does is compared with it, request by request.

#![allow(unreachable_pub, reason = "a test includes this folder")]
#![allow(dead_code, reason = "each test uses its part")]

pub mod directory;
pub mod files;
pub mod host;
mod journal;
