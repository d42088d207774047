//! Garbage collection as seven questions. Policies answer them, the agenda combines the answers, and the machines
//! (`sim`) act.

pub mod agenda;
pub mod concurrency;
mod demand;
pub(crate) mod endless;
pub mod trigger;
pub mod unmet;
pub mod victim;

pub use demand::Demand;

use super::plugs::Plugs;
use crate::config::{Amount, Gc};
use trigger::{SpaceView, Trigger, TriggerPolicy};

/// The answers to "when" and "how much".
pub struct Demands {
    triggers: Vec<Trigger>,
    reserve: u32,
    /// How many blocks once triggered.
    pub amount: Amount,
}

impl Demands {
    /// From `[gc]`, or with the external trigger if there is one.
    #[must_use]
    pub fn new(gc: &Gc, plugs: &Plugs) -> Demands {
        assert!(!gc.trigger.is_empty() && gc.reserve > 0, "the config layer has checked both");
        Demands { triggers: plugs.triggers(gc), reserve: gc.reserve, amount: gc.amount }
    }

    /// The present demand of the pool in `view`.
    #[must_use]
    pub fn of(&self, view: &SpaceView) -> Demand {
        debug_assert!(view.used_pages <= view.pages, "the device overflows: {view:?}");
        debug_assert!(view.pool_used_pages <= view.pool_pages, "the pool overflows: {view:?}");
        debug_assert!(view.free_blocks <= view.blocks, "bad blocks are erased: {view:?}");
        debug_assert!(view.pool_used_pages <= view.used_pages, "a pool exceeds all: {view:?}");
        if view.free_blocks <= self.reserve {
            return Demand::Reserve;
        }
        if !self.triggers.iter().all(|t| t.holds(view)) {
            return Demand::None;
        }
        if self.triggers.iter().any(|t| t.urgent(view)) {
            Demand::Urgent
        } else {
            Demand::Background
        }
    }

    /// Whether the pool would still want collection in the state `best`, in which nothing is left to collect. A trigger
    /// that ends for a reason other than space (an idle time, an external policy) is assumed to end.
    #[must_use]
    pub fn outlast(&self, best: &SpaceView) -> bool {
        debug_assert!(best.free_blocks <= best.blocks, "bad blocks are erased: {best:?}");
        best.free_blocks <= self.reserve || self.triggers.iter().all(|t| t.outlasts(best))
    }

    /// Whether the answer may change with every page written, not only with every block opened.
    #[must_use]
    pub fn watches_pages(&self) -> bool {
        self.triggers.iter().any(TriggerPolicy::watches_pages)
    }

    /// Whether the answer may change because of events in other pools.
    #[must_use]
    pub fn watches_device(&self) -> bool {
        self.triggers.iter().any(TriggerPolicy::watches_device)
    }

    /// Whether the answer may change with every request that starts to wait.
    #[must_use]
    pub fn watches_requests(&self) -> bool {
        debug_assert!(!self.triggers.is_empty(), "nothing triggers");
        self.triggers.iter().any(TriggerPolicy::watches_requests)
    }

    /// Blocks that the pool of `view` may open before all triggers hold, if one of them knows it.
    #[must_use]
    pub fn blocks_left(&self, view: &SpaceView) -> Option<u32> {
        debug_assert!(view.free_blocks <= view.blocks, "{view:?}");
        self.triggers.iter().filter_map(|t| t.blocks_left(view)).max()
    }

    /// Whether there are device-wide triggers and all of them hold.
    #[must_use]
    pub fn device_holds(&self, view: &SpaceView) -> bool {
        debug_assert!(view.used_pages <= view.pages, "the device overflows: {view:?}");
        let mut watching = self.triggers.iter().filter(|t| t.watches_device()).peekable();
        watching.peek().is_some() && watching.all(|t| t.holds(view))
    }

    /// The longest idle time that a trigger waits for, if any does.
    #[must_use]
    pub fn idle_after(&self) -> Option<crate::units::Nanos> {
        self.triggers.iter().filter_map(TriggerPolicy::idle_after).max()
    }
}
