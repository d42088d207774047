//! Policies from outside of the crate, in the place of those that the configuration names.
//!
//! Policies keep state that belongs to one machine (an index, the next plane of a turn), and a run
//! builds more than one: an executor preconditions, another one goes on with its device. So not
//! policies are handed in but their maker, which is asked anew by every machine. A policy from outside
//! can fail, and its questions have no place for an error: it then answers as if it had no opinion and
//! leaves a [`Fault`], which the machine looks for after every write or instant. Machines without such
//! policies pay for none of this but the look.

use super::blocks::BlockTable;
use super::gc::concurrency::{Concurrency, ConcurrencyPolicy};
use super::gc::trigger::{Trigger, TriggerPolicy};
use super::gc::victim::{Victim, VictimPolicy};
use super::place::{Layout, Placement, PlacementPolicy};
use crate::config::Gc;
use crate::plug::PolicySpec;
use crate::units::PoolId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a policy from outside cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The user interrupted it.
    Interrupted,
    /// It failed, or answered what it must not.
    Failed {
        /// Which policy, as "victim policy mine.Greedy".
        who: String,
        /// The pool it was asked about, if it was asked about one.
        pool: Option<PoolId>,
        /// What it did, and what is allowed.
        what: String,
    },
}

/// Makes policies. `None`: the configuration names the policy.
pub trait Outside: Send + Sync {
    /// A machine is about to be built: policies begin anew.
    fn begin(&self) {}

    /// A victim policy for devices shaped like `table`.
    fn victim(&self, table: &BlockTable) -> Option<Box<dyn VictimPolicy>> {
        let _ = table;
        None
    }

    /// The one trigger, in the place of all that are configured.
    fn trigger(&self) -> Option<Box<dyn TriggerPolicy>> {
        None
    }

    /// A concurrency rule.
    fn concurrency(&self) -> Option<Box<dyn ConcurrencyPolicy>> {
        None
    }

    /// A placement.
    fn placement(&self, layout: &Layout) -> Option<Box<dyn PlacementPolicy>> {
        let _ = layout;
        None
    }

    /// The first fault of any of them.
    fn fault(&self) -> Option<Fault> {
        None
    }

    /// The policies by the key that they stand in for ("gc.victim").
    fn names(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// The maker of the policies from outside, if there are any.
#[derive(Clone, Default)]
pub struct Plugs(Option<Arc<dyn Outside>>);

impl std::fmt::Debug for Plugs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Plugs").field(&self.names()).finish()
    }
}

impl Plugs {
    /// Policies made by `outside`.
    #[must_use]
    pub fn new(outside: Arc<dyn Outside>) -> Plugs {
        Plugs(Some(outside))
    }

    /// Whether there are policies from outside.
    #[inline(always)]
    #[must_use]
    pub fn any(&self) -> bool {
        self.0.is_some()
    }

    /// A machine is about to be built.
    pub fn begin(&self) {
        if let Some(outside) = &self.0 {
            outside.begin();
        }
    }

    /// The first fault of any policy from outside.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        self.0.as_ref()?.fault()
    }

    /// The policies from outside by the key that they stand in for.
    #[must_use]
    pub fn names(&self) -> BTreeMap<String, String> {
        self.0.as_ref().map(|outside| outside.names()).unwrap_or_default()
    }

    /// The policies from outside as the end of a sentence; empty without any.
    #[must_use]
    pub(crate) fn mention(&self) -> String {
        let names = self.names();
        let listed: Vec<String> = names.iter().map(|(key, name)| format!("{key} {name}")).collect();
        let several = if listed.len() == 1 { "y" } else { "ies" };
        if listed.is_empty() {
            String::new()
        } else {
            format!(", or look at its polic{several} from outside ({})", listed.join(", "))
        }
    }

    pub(crate) fn victim(&self, spec: &PolicySpec, table: &BlockTable) -> Victim {
        let outside = self.0.as_ref().and_then(|outside| outside.victim(table));
        outside.map_or_else(|| Victim::build(spec, table), Victim::External)
    }

    pub(crate) fn triggers(&self, gc: &Gc) -> Vec<Trigger> {
        match self.0.as_ref().and_then(|outside| outside.trigger()) {
            Some(trigger) => vec![Trigger::External(trigger)],
            None => gc.trigger.iter().map(Trigger::build).collect(),
        }
    }

    pub(crate) fn concurrency(&self, spec: &PolicySpec) -> Concurrency {
        let outside = self.0.as_ref().and_then(|outside| outside.concurrency());
        outside.map_or_else(|| Concurrency::build(spec), Concurrency::External)
    }

    pub(crate) fn placement(&self, spec: &PolicySpec, layout: &Layout) -> Placement {
        let outside = self.0.as_ref().and_then(|outside| outside.placement(layout));
        outside.map_or_else(|| Placement::build(spec, layout), Placement::External)
    }
}
