//! Triggers in Python, and which answers are allowed.

use super::hooks::{Answer, Object, asked};
use super::views::TriggerView;
use super::{PyPolicy, Refusal};
use pyo3::prelude::*;
use ssd_core::ftl::gc::trigger::SpaceView;
use ssd_core::units::Nanos;

/// A trigger in Python.
pub(super) struct Trigger {
    policy: PyPolicy,
    rng: Py<PyAny>,
    has_urgent: bool,
    watches_pages: bool,
    watches_device: bool,
    watches_requests: bool,
    idle_after: Option<Nanos>,
}

impl Trigger {
    pub(super) fn new(policy: PyPolicy, rng: Py<PyAny>) -> Trigger {
        let answer = policy.ask(None, |py| {
            let attribute = |name: &'static str| -> Result<Option<Bound<'_, PyAny>>, Refusal> {
                let value = policy.object.bind(py).getattr_opt(name);
                Ok(value.map_err(|e| Refusal::Raised(name, e))?.filter(|value| !value.is_none()))
            };
            let flag = |name, default| attribute(name)?.map_or(Ok(default), |v| bool::of(name, &v));
            let idle =
                attribute("idle_after_ns")?.map(|v| Answer::of("idle_after_ns", &v)).transpose()?;
            let watches = [
                flag("watches_pages", true)?,
                flag("watches_device", false)?,
                flag("watches_requests", false)?,
            ];
            Ok((watches, idle.flatten()))
        });
        let ([watches_pages, watches_device, watches_requests], idle_after) =
            answer.unwrap_or_default();
        let has_urgent = policy.has("urgent");
        Trigger {
            policy,
            rng,
            has_urgent,
            watches_pages,
            watches_device,
            watches_requests,
            idle_after,
        }
    }

    fn ask(&self, method: &'static str, view: &SpaceView) -> bool {
        let answer = self.policy.ask(Some(view.pool), |py| {
            let view = TriggerView::new(view, self.rng.clone_ref(py));
            bool::of(method, &self.policy.call(py, method, (view,))?)
        });
        answer.unwrap_or(false)
    }
}

/// Hooks with names or checks of their own.
impl Trigger {
    fn holds(&self, view: &SpaceView) -> bool {
        self.ask("wants", view)
    }

    fn urgent(&self, view: &SpaceView) -> bool {
        self.has_urgent && self.ask("urgent", view)
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
    fn object(&self) -> (&PyPolicy, &Py<PyAny>) {
        (&self.policy, &self.rng)
    }
}

ssd_core::trigger_hooks!(asked, { ssd_core::ftl::gc::trigger::TriggerPolicy, Trigger });
