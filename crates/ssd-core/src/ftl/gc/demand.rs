//! How urgently a pool wants collection.

/// Whether a pool wants collection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Demand {
    /// Not now.
    None,
    /// When the concurrency rule allows, in the order of the queues.
    Background,
    /// A trigger's hard watermark: before host operations.
    Urgent,
    /// At the hard reserve: before host operations, regardless of the concurrency rule.
    Reserve,
}
