//! Triggers, concurrency rules and placements: what they see, and which answers are allowed.

use super::hooks::{Answer, Object, asked};
use super::{Given, Refusal, integer};
use numpy::PyArray1;
use pyo3::prelude::*;
use ssd_core::ftl::gc::concurrency::DeviceView;
use ssd_core::ftl::gc::trigger::SpaceView;
use ssd_core::ftl::place::Planes;
use ssd_core::units::{Lpn, Nanos, PlaneId};

/// One pool and the device, as a trigger sees them.
#[pyclass(frozen, get_all, module = "ssdlab._core")]
pub(crate) struct TriggerView {
    /// The pool.
    pool: u32,
    /// Host pages bound so far.
    clock: u64,
    /// Erased blocks of the pool.
    free_blocks: u32,
    /// Blocks of the pool.
    blocks: u32,
    /// Pages of the pool that are not erased.
    pool_used_pages: u64,
    /// Pages of the pool.
    pool_pages: u64,
    /// Pages of the device that are not erased.
    used_pages: u64,
    /// Pages of the device.
    pages: u64,
    /// How long no host operation has waited or run in the pool, ns; None while one does, and for
    /// triggers without `idle_after_ns`.
    idle_ns: Option<u64>,
    /// A read of the host waits for the pool; for triggers without `watches_requests` always True.
    read_waits: bool,
    /// The same of a write.
    write_waits: bool,
    /// The policy's own random numbers.
    rng: Py<PyAny>,
}

impl TriggerView {
    pub(super) fn new(view: &SpaceView, rng: Py<PyAny>) -> TriggerView {
        TriggerView {
            pool: view.pool.0,
            clock: view.clock,
            free_blocks: view.free_blocks,
            blocks: view.blocks,
            pool_used_pages: view.pool_used_pages,
            pool_pages: view.pool_pages,
            used_pages: view.used_pages,
            pages: view.pages,
            idle_ns: view.idle_for.map(|idle| idle.0),
            read_waits: view.read_waits,
            write_waits: view.write_waits,
            rng,
        }
    }
}

/// The device, as a concurrency rule sees it.
#[pyclass(frozen, get_all, module = "ssdlab._core")]
pub(crate) struct ConcurrencyView {
    /// Pools of the device.
    pools: u32,
    /// Channels of the device.
    channels: u32,
    /// Pages that are not erased.
    used_pages: u64,
    /// All pages.
    pages: u64,
    /// The policy's own random numbers.
    rng: Py<PyAny>,
}

impl ConcurrencyView {
    pub(super) fn new(view: &DeviceView, rng: Py<PyAny>) -> ConcurrencyView {
        let DeviceView { pools, channels, used_pages, pages } = *view;
        ConcurrencyView { pools, channels, used_pages, pages, rng }
    }
}

/// A trigger in Python.
pub(super) struct Trigger {
    given: Given,
    rng: Py<PyAny>,
    has_urgent: bool,
    watches_pages: bool,
    watches_device: bool,
    watches_requests: bool,
    idle_after: Option<Nanos>,
}

impl Trigger {
    pub(super) fn new(given: Given, rng: Py<PyAny>) -> Trigger {
        let asked = given.ask(None, |py| {
            let told = |name: &'static str| -> Result<Option<Bound<'_, PyAny>>, Refusal> {
                let value = given.object.bind(py).getattr_opt(name);
                Ok(value.map_err(|e| Refusal::Raised(name, e))?.filter(|value| !value.is_none()))
            };
            let flag = |name, default| told(name)?.map_or(Ok(default), |v| bool::of(name, &v));
            let idle =
                told("idle_after_ns")?.map(|v| Answer::of("idle_after_ns", &v)).transpose()?;
            let watches = [
                flag("watches_pages", true)?,
                flag("watches_device", false)?,
                flag("watches_requests", false)?,
            ];
            Ok((watches, idle.flatten()))
        });
        let ([watches_pages, watches_device, watches_requests], idle_after) =
            asked.unwrap_or_default();
        let has_urgent = given.has("urgent");
        Trigger {
            given,
            rng,
            has_urgent,
            watches_pages,
            watches_device,
            watches_requests,
            idle_after,
        }
    }

    fn asked(&self, method: &'static str, view: &SpaceView) -> bool {
        let answer = self.given.ask(Some(view.pool), |py| {
            let view = TriggerView::new(view, self.rng.clone_ref(py));
            bool::of(method, &self.given.call(py, method, (view,))?)
        });
        answer.unwrap_or(false)
    }
}

/// Hooks with names or checks of their own.
impl Trigger {
    fn holds(&self, view: &SpaceView) -> bool {
        self.asked("wants", view)
    }

    fn urgent(&self, view: &SpaceView) -> bool {
        self.has_urgent && self.asked("urgent", view)
    }

    /// Something other than space may end it.
    #[allow(clippy::unused_self, reason = "a hook")]
    fn outlasts(&self, _best: &SpaceView) -> bool {
        false
    }

    fn watches_pages(&self) -> bool {
        self.watches_pages
    }

    fn watches_device(&self) -> bool {
        self.watches_device
    }

    fn watches_requests(&self) -> bool {
        self.watches_requests
    }

    fn idle_after(&self) -> Option<Nanos> {
        self.idle_after
    }
}

impl Object for Trigger {
    fn object(&self) -> (&Given, &Py<PyAny>) {
        (&self.given, &self.rng)
    }
}

ssd_core::trigger_hooks!(asked, { ssd_core::ftl::gc::trigger::TriggerPolicy, Trigger });

/// A concurrency rule in Python.
pub(super) struct Concurrency {
    given: Given,
    rng: Py<PyAny>,
}

impl Concurrency {
    pub(super) fn new(given: Given, rng: Py<PyAny>) -> Concurrency {
        Concurrency { given, rng }
    }
}

impl Concurrency {
    fn limit(&self, view: &DeviceView) -> u32 {
        let answer = self.given.ask(None, |py| {
            let rng = self.rng.clone_ref(py);
            let view = ConcurrencyView::new(view, rng);
            let answer = self.given.call(py, "limit", (view,))?;
            let expected = "a number of pools, 0 or more";
            let limit = integer("limit", &answer, expected)?;
            if limit < 0 {
                let what = format!("limit() returned {limit}: expected {expected}");
                return Err(Refusal::Wrong(what));
            }
            Ok(u32::try_from(limit).unwrap_or(u32::MAX))
        });
        answer.unwrap_or(0)
    }
}

impl Object for Concurrency {
    fn object(&self) -> (&Given, &Py<PyAny>) {
        (&self.given, &self.rng)
    }
}

ssd_core::concurrency_hooks!(asked, { ssd_core::ftl::gc::concurrency::ConcurrencyPolicy, Concurrency });

/// A placement in Python.
pub(super) struct Placement {
    given: Given,
    rng: Py<PyAny>,
    planes: u32,
}

impl Placement {
    pub(super) fn new(given: Given, rng: Py<PyAny>, planes: u32) -> Placement {
        Placement { given, rng, planes }
    }
}

impl Placement {
    fn place(&mut self, lpn: Lpn, planes: &dyn Planes) -> PlaneId {
        let answer = self.given.ask(None, |py| {
            let loads = (0..self.planes).map(|p| i64::from(planes.load(PlaneId(p)))).collect();
            let loads = PyArray1::from_vec(py, loads);
            let answer = self.given.call(py, "place", (lpn.0, loads))?;
            let expected = format!("a plane, 0 to {}", self.planes - 1);
            let plane = integer("place", &answer, &expected)?;
            let inside = u32::try_from(plane).ok().filter(|plane| *plane < self.planes);
            let wrong = || format!("place() returned plane {plane}: expected {expected}");
            inside.map(PlaneId).ok_or_else(|| Refusal::Wrong(wrong()))
        });
        answer.unwrap_or(PlaneId(0))
    }
}

impl Object for Placement {
    fn object(&self) -> (&Given, &Py<PyAny>) {
        (&self.given, &self.rng)
    }
}

ssd_core::placement_hooks!(asked, { ssd_core::ftl::place::PlacementPolicy, Placement });
