//! Scheduling on a busy unit: a pure choice among the heads of its four queues.

pub mod order;
