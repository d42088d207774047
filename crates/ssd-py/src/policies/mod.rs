//! Policies written in Python, called through the traits of the core; their answers are checked here.
//!
//! A policy that raises or gives an answer that is not allowed leaves a fault, which ends the run. Until the core
//! checks for it, no policy is called again.

mod concurrency;
mod hooks;
mod placement;
mod separation;
mod trigger;
mod victim;
mod views;

pub(crate) use victim::VictimView;
pub(crate) use views::{ClassView, ConcurrencyView, TriggerView};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use ssd_core::config::Config;
use ssd_core::ftl::blocks::BlockTable;
use ssd_core::ftl::gc::concurrency::ConcurrencyPolicy;
use ssd_core::ftl::gc::trigger::TriggerPolicy;
use ssd_core::ftl::gc::victim::VictimPolicy;
use ssd_core::ftl::place::{Layout, PlacementPolicy};
use ssd_core::ftl::plugs::{Fault, Plugs, PolicyFactory};
use ssd_core::ftl::separation::{Ground, SeparationPolicy};
use ssd_core::nand::geometry::Geometry;
use ssd_core::units::PoolId;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The device of a run, as policies see it when they start.
#[pyclass(frozen, get_all, module = "ssdlab._core")]
pub(crate) struct DeviceInfo {
    /// Channels.
    channels: u32,
    /// Chips on each channel.
    chips_per_channel: u32,
    /// Planes in each chip.
    planes_per_chip: u32,
    /// Planes of the device.
    planes: u32,
    /// Pools: each collects by itself.
    pools: u32,
    /// Blocks (erase units) of each pool.
    blocks_per_pool: u32,
    /// Pages of each block (erase unit).
    pages_per_block: u32,
    /// Bytes of a page.
    page_bytes: u32,
    /// Pages that the host sees.
    user_pages: u32,
    /// Logical pages: those of the host and, after them, the parity of each group.
    logical_pages: u32,
    /// Every plane once, in striping order: channels vary fastest, then chips, then planes.
    striping: Vec<u32>,
    /// Seed of the run.
    seed: u64,
}

impl DeviceInfo {
    fn new(config: &Config) -> DeviceInfo {
        let (d, geo) = (&config.device, Geometry::new(config));
        let layout = Layout {
            channels: d.channels,
            chips_per_channel: d.chips_per_channel,
            planes_per_chip: d.planes_per_chip,
        };
        DeviceInfo {
            channels: d.channels,
            chips_per_channel: d.chips_per_channel,
            planes_per_chip: d.planes_per_chip,
            planes: layout.planes(),
            pools: geo.pools,
            blocks_per_pool: geo.blocks_per_pool,
            pages_per_block: geo.pages_per_block,
            page_bytes: d.page_bytes,
            user_pages: d.user_pages,
            logical_pages: geo.logical_pages,
            striping: (0..layout.planes()).map(|i| layout.striped(i).0).collect(),
            seed: config.run.seed,
        }
    }
}

/// What went wrong, shared by the policies of a run: the first fault counts.
#[derive(Default)]
struct FirstFault(Mutex<(Option<Fault>, Option<PyErr>)>);

impl FirstFault {
    fn keep(&self, fault: Fault, error: Option<PyErr>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0.is_none() {
            *state = (Some(fault), error);
        }
    }

    fn fault(&self) -> Option<Fault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

/// Why an answer is none.
enum Refusal {
    /// Python raised, in the method of this name.
    Raised(&'static str, PyErr),
    /// The answer is not one of the allowed ones.
    Wrong(String),
}

/// One policy and what its hooks need.
#[derive(Clone)]
struct PyPolicy {
    object: Arc<Py<PyAny>>,
    /// Module and class.
    name: String,
    /// What it is, for messages.
    role: &'static str,
    trouble: Arc<FirstFault>,
    /// Hooks that were looked up, and whether the object has them.
    hooks: Arc<Mutex<BTreeMap<&'static str, bool>>>,
}

impl PyPolicy {
    /// Call the policy, unless a policy has failed before; a refusal becomes the fault of this policy.
    fn ask<T>(
        &self,
        pool: Option<PoolId>,
        question: impl FnOnce(Python<'_>) -> Result<T, Refusal>,
    ) -> Option<T> {
        if self.trouble.fault().is_some() {
            return None;
        }
        Python::attach(|py| match question(py) {
            Ok(answer) => Some(answer),
            Err(refusal) => {
                self.refuse(py, pool, refusal);
                None
            }
        })
    }

    fn refuse(&self, py: Python<'_>, pool: Option<PoolId>, refusal: Refusal) {
        let (message, error) = match refusal {
            Refusal::Raised(_, error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                self.trouble.keep(Fault::Interrupted, None);
                return;
            }
            Refusal::Raised(method, error) => (format!("{method}() raised {error}"), Some(error)),
            Refusal::Wrong(message) => (message, None),
        };
        let policy = format!("{} {}", self.role, self.name);
        self.trouble.keep(Fault::Failed { policy, pool, message }, error);
    }

    /// The answer of `method`.
    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &'static str,
        arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
    ) -> Result<Bound<'py, PyAny>, Refusal> {
        let raised = |error| Refusal::Raised(method, error);
        let arguments = arguments.into_pyobject(py).map_err(raised)?;
        self.object.bind(py).call_method1(method, arguments).map_err(raised)
    }

    /// Whether the policy has a method of this name.
    fn has(&self, method: &'static str) -> bool {
        Python::attach(|py| self.object.bind(py).hasattr(method)).unwrap_or(false)
    }

    /// As [`PyPolicy::has`], for a hook that is called often: looked up once.
    fn answers(&self, hook: &'static str) -> bool {
        let hooks = || self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let before = hooks().get(hook).copied();
        before.unwrap_or_else(|| {
            let has = self.has(hook);
            hooks().insert(hook, has);
            has
        })
    }

    /// The policy's own stream of random numbers, a `numpy.random.Generator`.
    fn random(&self, seed: u64, stream: u64) -> Option<Py<PyAny>> {
        self.ask(None, |py| {
            let make = || -> PyResult<Py<PyAny>> {
                let random = py.import("numpy.random")?;
                let bits = random.getattr("PCG64")?.call1(([seed, stream],))?;
                Ok(random.getattr("Generator")?.call1((bits,))?.unbind())
            };
            make().map_err(|error| Refusal::Raised("numpy.random.Generator", error))
        })
    }
}

/// `value` for a message: its text and its type.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let kind = value.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    let text = value.repr().map_or_else(|_| "...".into(), |text| text.to_string());
    let short: String = text.chars().take(60).collect();
    let dots = if short.len() < text.len() { "..." } else { "" };
    format!("{short}{dots} ({kind})")
}

/// `answer` as an integer: anything with `__index__`, except a bool.
fn integer(method: &str, answer: &Bound<'_, PyAny>, expected: &str) -> Result<i64, Refusal> {
    let number = if answer.is_instance_of::<PyBool>() { None } else { answer.extract().ok() };
    number.ok_or_else(|| {
        Refusal::Wrong(format!("{method}() returned {}: expected {expected}", shown(answer)))
    })
}

/// A policy from Python: the key of the configuration that it replaces, the object, its name.
pub(crate) type PolicyArgument = (String, Py<PyAny>, String);

/// The policies that a run takes from Python.
pub(crate) struct Policies {
    policies: BTreeMap<&'static str, PyPolicy>,
    device: Py<DeviceInfo>,
    seed: u64,
    trouble: Arc<FirstFault>,
    /// A machine has begun.
    begun: AtomicBool,
}

/// Keys whose policy an external one may replace, and what it then is.
const ROLES: [(&str, &str); 5] = [
    ("gc.victim", "victim policy"),
    ("gc.trigger", "trigger"),
    ("gc.concurrency", "concurrency rule"),
    ("alloc.placement", "placement"),
    ("alloc.separation", "separation policy"),
];

impl Policies {
    /// The policies `arguments`, if there are any, as plugs of the core.
    pub(crate) fn plugs(
        py: Python<'_>,
        config: &Config,
        arguments: Vec<PolicyArgument>,
    ) -> PyResult<(Option<Arc<Policies>>, Plugs)> {
        if arguments.is_empty() {
            return Ok((None, Plugs::default()));
        }
        if arguments.iter().any(|(key, ..)| key == "alloc.separation")
            && let Some(message) = config.cannot_separate()
        {
            return Err(crate::ConfigError::new_err((vec![message],)));
        }
        let policies = Arc::new(Policies::new(py, config, arguments)?);
        Ok((Some(policies.clone()), Plugs::new(policies)))
    }

    fn new(py: Python<'_>, config: &Config, arguments: Vec<PolicyArgument>) -> PyResult<Policies> {
        let trouble = Arc::new(FirstFault::default());
        let role = |role_key: &str| ROLES.into_iter().find(|(key, _)| *key == role_key);
        let policies = arguments
            .into_iter()
            .filter_map(|(key, object, name)| {
                let (key, role) = role(&key)?;
                let (object, trouble) = (Arc::new(object), trouble.clone());
                Some((key, PyPolicy { object, name, role, trouble, hooks: Arc::default() }))
            })
            .collect();
        let device = Py::new(py, DeviceInfo::new(config))?;
        let begun = AtomicBool::new(false);
        Ok(Policies { policies, device, seed: config.run.seed, trouble, begun })
    }

    /// The exception behind the fault that ended the run.
    pub(crate) fn exception(&self) -> Option<PyErr> {
        self.trouble.0.lock().unwrap_or_else(PoisonError::into_inner).1.take()
    }

    /// The policy that replaces the one of `key`, with its random numbers.
    fn policy_of(&self, key: &'static str) -> Option<(PyPolicy, Py<PyAny>)> {
        let policy = self.policies.get(key)?;
        let stream = ROLES.iter().position(|(k, _)| *k == key)? as u64;
        let random = policy.random(self.seed, stream);
        Some((policy.clone(), random.unwrap_or_else(|| Python::attach(|py| py.None()))))
    }
}

impl PolicyFactory for Policies {
    fn begin(&self) {
        let mut started: Vec<&PyPolicy> = Vec::new();
        if self.begun.swap(true, Ordering::Relaxed) {
            // What a separation policy knows of pages stays with the device.
            started.extend(self.policies.get("alloc.separation"));
        }
        for policy in self.policies.values() {
            // One object may have several roles; it starts once.
            if started.iter().any(|previous| previous.object.is(&*policy.object))
                || !policy.has("start")
            {
                continue;
            }
            policy.ask(None, |py| policy.call(py, "start", (&self.device,)).map(|_| ()));
            started.push(policy);
        }
    }

    fn victim(&self, table: &BlockTable) -> Option<Box<dyn VictimPolicy>> {
        let (policy, random) = self.policy_of("gc.victim")?;
        Some(Box::new(victim::Victim::new(policy, random, table)))
    }

    fn trigger(&self) -> Option<Box<dyn TriggerPolicy>> {
        let (policy, random) = self.policy_of("gc.trigger")?;
        Some(Box::new(trigger::Trigger::new(policy, random)))
    }

    fn concurrency(&self) -> Option<Box<dyn ConcurrencyPolicy>> {
        let (policy, random) = self.policy_of("gc.concurrency")?;
        Some(Box::new(concurrency::Concurrency::new(policy, random)))
    }

    fn placement(&self, layout: &Layout) -> Option<Box<dyn PlacementPolicy>> {
        let (policy, random) = self.policy_of("alloc.placement")?;
        Some(Box::new(placement::Placement::new(policy, random, layout.planes())))
    }

    fn separation(&self, ground: &Ground) -> Option<Box<dyn SeparationPolicy>> {
        let (policy, random) = self.policy_of("alloc.separation")?;
        Some(Box::new(separation::Separation::new(policy, random, ground)))
    }

    fn power_cut(&self) {
        let Some(policy) =
            self.policies.get("alloc.separation").filter(|policy| policy.has("start"))
        else {
            return;
        };
        policy.ask(None, |py| policy.call(py, "start", (&self.device,)).map(|_| ()));
    }

    fn fault(&self) -> Option<Fault> {
        self.trouble.fault()
    }

    fn names(&self) -> BTreeMap<String, String> {
        self.policies
            .iter()
            .map(|(key, policy)| ((*key).to_string(), policy.name.clone()))
            .collect()
    }
}
