//! Read views: sequence numbers that compactions must respect.

use crate::format::key::MAX_SEQUENCE;
use crate::vfs::memory::locked;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Sequence numbers of the read views that exist, each with their number.
#[derive(Default)]
pub(super) struct ReadViews(Mutex<BTreeMap<u64, usize>>);

impl ReadViews {
    /// The oldest sequence number.
    pub(super) fn oldest(&self) -> Option<u64> {
        let counts = locked(&self.0);
        debug_assert!(counts.values().all(|&views| views > 0), "what nobody holds is forgotten");
        counts.keys().next().copied()
    }
}

/// The state of a store at a point in time. It is released when it is dropped.
pub struct ReadView {
    views: Arc<ReadViews>,
    sequence: u64,
}

impl ReadView {
    pub(super) fn new(shared: &Arc<ReadViews>, sequence: u64) -> ReadView {
        debug_assert!(sequence <= MAX_SEQUENCE, "a sequence number has 56 bits");
        let mut views = locked(&shared.0);
        debug_assert!(views.keys().all(|&earlier| earlier <= sequence), "a view of the past");
        *views.entry(sequence).or_default() += 1;
        drop(views);
        ReadView { views: shared.clone(), sequence }
    }

    /// The sequence number of the last change that it contains.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn is_of(&self, views: &Arc<ReadViews>) -> bool {
        Arc::ptr_eq(&self.views, views)
    }
}

impl Drop for ReadView {
    fn drop(&mut self) {
        let mut counts = locked(&self.views.0);
        debug_assert!(counts.contains_key(&self.sequence), "a view is counted until it is dropped");
        if let Some(count) = counts.get_mut(&self.sequence) {
            debug_assert!(*count > 0, "a view is released once");
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.sequence);
            }
        }
    }
}
