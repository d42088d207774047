//! Concurrency rules in Python, and which answers are allowed.

use super::hooks::{Object, asked};
use super::views::ConcurrencyView;
use super::{PyPolicy, Refusal, integer};
use pyo3::prelude::*;
use ssd_core::ftl::gc::concurrency::DeviceView;

/// A concurrency rule in Python.
pub(super) struct Concurrency {
    policy: PyPolicy,
    rng: Py<PyAny>,
}

impl Concurrency {
    pub(super) fn new(policy: PyPolicy, rng: Py<PyAny>) -> Concurrency {
        Concurrency { policy, rng }
    }
}

impl Concurrency {
    fn limit(&self, view: &DeviceView) -> u32 {
        let answer = self.policy.ask(None, |py| {
            let rng = self.rng.clone_ref(py);
            let view = ConcurrencyView::new(view, rng);
            let answer = self.policy.call(py, "limit", (view,))?;
            let expected = "a number of pools, 0 or more";
            let limit = integer("limit", &answer, expected)?;
            if limit < 0 {
                let message = format!("limit() returned {limit}: expected {expected}");
                return Err(Refusal::Wrong(message));
            }
            Ok(u32::try_from(limit).unwrap_or(u32::MAX))
        });
        answer.unwrap_or(0)
    }
}

impl Object for Concurrency {
    fn object(&self) -> (&PyPolicy, &Py<PyAny>) {
        (&self.policy, &self.rng)
    }
}

ssd_core::concurrency_hooks!(asked, { ssd_core::ftl::gc::concurrency::ConcurrencyPolicy, Concurrency });
