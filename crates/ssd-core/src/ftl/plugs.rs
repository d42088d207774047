//! External policies, which replace those that the configuration names.
//!
//! A policy keeps the state of one machine (an index, the next plane of a turn), and a run builds more than one
//! machine: one executor preconditions, another continues with its device. So the caller passes a factory, not a
//! policy, and every machine builds its own. An external policy can fail, but the policy interfaces cannot return an
//! error: a failed policy answers as if it had no opinion and leaves a [`Fault`], which the machine looks for after
//! every write or instant. Machines without external policies pay only for that check.

use super::blocks::BlockTable;
use super::gc::concurrency::{Concurrency, ConcurrencyPolicy};
use super::gc::trigger::{Trigger, TriggerPolicy};
use super::gc::victim::by_class::VictimsByClass;
use super::gc::victim::{Victim, VictimPolicy};
use super::place::{Layout, Placement, PlacementPolicy};
use super::separation::future::FutureWrites;
use super::separation::{self, Ground, Separation, SeparationPolicy};
use crate::config::Gc;
use crate::nand::page_store::PageStore;
use crate::plug::PolicySpec;
use crate::units::PoolId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why an external policy cannot continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The user interrupted it.
    Interrupted,
    /// It failed, or returned a value that is not allowed.
    Failed {
        /// Which policy, as "victim policy mine.Greedy".
        policy: String,
        /// The pool it was asked about, if any.
        pool: Option<PoolId>,
        /// What it did, and what is allowed.
        message: String,
    },
}

/// A factory of policies. `None`: use the policy that the configuration names.
pub trait PolicyFactory: Send + Sync {
    /// Prepare for a new machine: policies start afresh.
    fn begin(&self) {}

    /// A victim policy for devices shaped like `table`.
    fn victim(&self, table: &BlockTable) -> Option<Box<dyn VictimPolicy>> {
        let _ = table;
        None
    }

    /// The only trigger, which replaces all configured ones.
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

    /// A separation policy.
    fn separation(&self, ground: &Ground) -> Option<Box<dyn SeparationPolicy>> {
        let _ = ground;
        None
    }

    /// Start the separation policy afresh after a power cut.
    fn power_cut(&self) {}

    /// The first fault of any of them.
    fn fault(&self) -> Option<Fault> {
        None
    }

    /// The policies by the key that they replace ("gc.victim").
    fn names(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// Makes the store in which the pages of one machine keep their bytes.
pub type MakePageStore = dyn Fn() -> Box<dyn PageStore> + Send + Sync;

/// What a caller supplies for the machines of a run: a factory of external policies, a store of page contents.
#[derive(Clone, Default)]
pub struct Plugs {
    outside: Option<Arc<dyn PolicyFactory>>,
    page_store: Option<Arc<MakePageStore>>,
    foreseen: Option<Arc<FutureWrites>>,
}

impl std::fmt::Debug for Plugs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Plugs").field(&self.names()).finish()
    }
}

impl Plugs {
    /// Policies built by the factory `outside`.
    #[must_use]
    pub fn new(outside: Arc<dyn PolicyFactory>) -> Plugs {
        Plugs { outside: Some(outside), ..Plugs::default() }
    }

    /// As [`Plugs::new`], with a store for `run.data = "file"`.
    #[must_use]
    pub fn with_page_store(self, make: Arc<MakePageStore>) -> Plugs {
        assert!(self.page_store.is_none(), "two stores for the same pages");
        Plugs { page_store: Some(make), ..self }
    }

    /// With the writes that the host will make, for a separation policy that knows the future.
    #[must_use]
    pub fn foreseeing(self, foreseen: Arc<FutureWrites>) -> Plugs {
        assert!(self.foreseen.is_none(), "two futures of the same machine");
        Plugs { foreseen: Some(foreseen), ..self }
    }

    pub(crate) fn page_store(&self) -> Option<Box<dyn PageStore>> {
        self.page_store.as_ref().map(|make| make())
    }

    /// Whether there are external policies.
    #[inline(always)]
    #[must_use]
    pub fn any(&self) -> bool {
        self.outside.is_some()
    }

    /// Prepare for a new machine.
    pub fn begin(&self) {
        if let Some(outside) = &self.outside {
            outside.begin();
        }
    }

    /// Power has been cut.
    pub(crate) fn power_cut(&self) {
        debug_assert!(self.outside.is_some() == self.any(), "half of an external policy");
        if let Some(outside) = &self.outside {
            outside.power_cut();
        }
    }

    /// The first fault of any external policy.
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        self.outside.as_ref()?.fault()
    }

    /// The external policies by the key that they replace.
    #[must_use]
    pub fn names(&self) -> BTreeMap<String, String> {
        let names = self.outside.as_ref().map(|outside| outside.names()).unwrap_or_default();
        debug_assert!(names.keys().all(|key| key.contains('.')), "{names:?}: not by their keys");
        names
    }

    /// The external policies as the end of a sentence; empty without any.
    #[must_use]
    pub(crate) fn mention(&self) -> String {
        let names = self.names();
        let listed: Vec<String> = names.iter().map(|(key, name)| format!("{key} {name}")).collect();
        let several = if listed.len() == 1 { "y" } else { "ies" };
        if listed.is_empty() {
            String::new()
        } else {
            format!(", or check its external polic{several} ({})", listed.join(", "))
        }
    }

    pub(crate) fn victim(&self, spec: &PolicySpec, table: &BlockTable) -> Victim {
        assert!(!table.is_empty(), "a victim policy without blocks");
        let outside = self.outside.as_ref().and_then(|outside| outside.victim(table));
        outside.map_or_else(|| Victim::build(spec, table), Victim::External)
    }

    /// `spec`, unless an external policy replaces it.
    pub(crate) fn built_in_victim(&self, spec: &PolicySpec) -> Option<PolicySpec> {
        (!self.names().contains_key("gc.victim")).then(|| spec.clone())
    }

    /// The policy of [`Plugs::victim`] or, with `classes`, one policy for all blocks and one for each class.
    pub(crate) fn victim_by_class(
        &self,
        spec: &PolicySpec,
        table: &BlockTable,
        classes: Option<u32>,
    ) -> Victim {
        debug_assert!(classes.is_none() || !table.origins.is_empty(), "blocks have no classes");
        let Some(classes) = classes else { return self.victim(spec, table) };
        let by_class = VictimsByClass::new(classes, table, |table| self.victim(spec, table));
        Victim::External(Box::new(by_class))
    }

    pub(crate) fn triggers(&self, gc: &Gc) -> Vec<Trigger> {
        // All triggers must hold. An empty list would always hold, and collection would never stop.
        assert!(!gc.trigger.is_empty(), "no trigger is configured");
        match self.outside.as_ref().and_then(|outside| outside.trigger()) {
            Some(trigger) => vec![Trigger::External(trigger)],
            None => gc.trigger.iter().map(Trigger::build).collect(),
        }
    }

    pub(crate) fn concurrency(&self, spec: &PolicySpec) -> Concurrency {
        let outside = self.outside.as_ref().and_then(|outside| outside.concurrency());
        outside.map_or_else(|| Concurrency::build(spec), Concurrency::External)
    }

    pub(crate) fn placement(&self, spec: &PolicySpec, layout: &Layout) -> Placement {
        let outside = self.outside.as_ref().and_then(|outside| outside.placement(layout));
        outside.map_or_else(|| Placement::build(spec, layout), Placement::External)
    }

    /// The policy that separates pages, if one does, and its name.
    pub(crate) fn separation(
        &self,
        spec: &PolicySpec,
        ground: &Ground,
    ) -> Option<(String, Separation)> {
        let outside = self.outside.as_ref().and_then(|outside| outside.separation(ground));
        if let Some(policy) = outside {
            let name = self.names().remove("alloc.separation");
            return Some((name.unwrap_or("external".into()), Separation::External(policy)));
        }
        separation::separates(spec).then(|| {
            let policy = match (Separation::build(spec, ground), &self.foreseen) {
                (Separation::Future(policy), Some(foreseen)) => {
                    Separation::Future(policy.foreseeing(Arc::clone(foreseen)))
                }
                (policy, _) => policy,
            };
            (spec.policy.clone(), policy)
        })
    }
}
