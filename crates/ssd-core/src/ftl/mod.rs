//! Page decisions: where data go, what is valid, which block is collected.

pub mod blocks;
pub mod gc;
pub mod place;
