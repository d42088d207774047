//! Whether a write may proceed, and what it waits for.

/// Background work for which writes wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// A full memtable is not yet in a table.
    pub full: bool,
    /// Tables on level 0.
    pub level0: usize,
}

/// Whether the next write can proceed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Yes,
    /// It should wait briefly, once, so that compaction keeps up.
    Slow,
    /// It must wait for background work.
    Wait,
    /// The memtable is full, and another one can be begun.
    Switch,
}
