//! The executors: `functional` (page decisions only) and the timed machine.
//!
//! `sim` owns everything and time; `ftl`, `sched` and `nand` answer its questions and never call it.

mod admit;
mod array;
mod audit;
mod buffered_groups;
mod collect;
mod collector;
mod complete;
mod contents;
mod copies;
mod copy;
pub mod core;
mod crossing;
mod data;
mod dispatch;
mod finish;
pub(crate) mod front;
pub mod functional;
mod host_way;
mod instant;
mod join;
mod ledger;
pub mod logs;
mod multi_plane;
mod no_room;
pub mod power;
mod raid;
mod recording;
pub mod ssd;
mod start;
mod suspend;
mod waits;
mod wake;
mod work;
mod write_back;
pub mod zones;

pub use array::last_time;
