//! Snapshots: sequence numbers that compactions must respect.

use crate::vfs::memory::locked;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Sequence numbers of the snapshots that are held, with how often each.
#[derive(Default)]
pub(super) struct Snapshots(Mutex<BTreeMap<u64, usize>>);

impl Snapshots {
    /// The oldest one.
    pub(super) fn oldest(&self) -> Option<u64> {
        locked(&self.0).keys().next().copied()
    }
}

/// The state of a store at one time. It is released when it is dropped.
pub struct Snapshot {
    held: Arc<Snapshots>,
    sequence: u64,
}

impl Snapshot {
    pub(super) fn new(held: &Arc<Snapshots>, sequence: u64) -> Snapshot {
        *locked(&held.0).entry(sequence).or_default() += 1;
        Snapshot { held: held.clone(), sequence }
    }

    /// Number of the last change it holds.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn is_of(&self, snapshots: &Arc<Snapshots>) -> bool {
        Arc::ptr_eq(&self.held, snapshots)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut held = locked(&self.held.0);
        if let Some(count) = held.get_mut(&self.sequence) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.sequence);
            }
        }
    }
}
