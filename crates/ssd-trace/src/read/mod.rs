//! Trace files in: from the bytes of a file to the requests of a device.

mod blkparse_report;
pub mod columnar;
pub(crate) mod copies;
mod detect;
mod digest;
mod doubles;
pub(crate) mod estimate;
pub mod facts;
pub(crate) mod fit;
pub(crate) mod footprint;
pub mod formats;
pub mod info;
pub(crate) mod input;
pub(crate) mod kept;
mod lines;
mod order;
pub(crate) mod page_runs;
mod page_set;
pub mod raw;
mod reading;
mod records;
pub mod replay;
pub(crate) mod scan;
mod sort;
pub(crate) mod tally;
mod unit;
mod volumes;
