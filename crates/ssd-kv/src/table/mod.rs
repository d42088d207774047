//! Tables: sorted files of internal keys.

mod cache;
mod index;
mod iter;
mod reader;
mod writer;

pub(crate) use cache::Tables;
pub(crate) use iter::TableIter;
pub(crate) use reader::Table;
pub(crate) use writer::{Origin, TableOptions, TableWriter};
