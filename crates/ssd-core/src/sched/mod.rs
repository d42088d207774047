//! The order of operations on a busy unit: a pure choice over its four queues.

pub mod order;
