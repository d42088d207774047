//! The executors: `functional` (page decisions only) and the timed machine.
//!
//! `sim` owns everything and time; `ftl`, `sched` and `nand` answer its questions and never call it.

pub mod functional;
