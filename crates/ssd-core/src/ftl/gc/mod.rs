//! Garbage collection as seven questions. Policies decide; the engine (`sim`) acts.

pub mod concurrency;
pub mod trigger;
pub mod victim;
