//! The executors: `functional` (page decisions only) and the timed machine.
//!
//! `sim` owns everything and time; `ftl`, `sched` and `nand` answer its questions and never call it.

pub(crate) mod admit;
mod bus;
mod collect;
mod complete;
mod content;
mod crossing;
mod dispatch;
mod event;
pub mod functional;
mod held;
mod host_way;
pub mod log;
mod op;
pub mod request;
pub mod ssd;
mod turn;
pub mod unit;
mod wake;
mod write_back;
