//! LevelDB's layout: a block ends when it has reached its size; no padding.
//!
//! Source: google/leveldb `table/table_builder.cc`, release 1.23.

use super::Policy;

/// The layout of LevelDB.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stock;

impl Policy for Stock {}
