//! Placements in Python, and which answers are allowed.

use super::hooks::{Object, asked};
use super::{PyPolicy, Refusal, integer};
use numpy::PyArray1;
use pyo3::prelude::*;
use ssd_core::ftl::place::Planes;
use ssd_core::units::{Lpn, PlaneId};

/// A placement in Python.
pub(super) struct Placement {
    policy: PyPolicy,
    rng: Py<PyAny>,
    planes: u32,
}

impl Placement {
    pub(super) fn new(policy: PyPolicy, rng: Py<PyAny>, planes: u32) -> Placement {
        Placement { policy, rng, planes }
    }
}

impl Placement {
    fn place(&mut self, lpn: Lpn, planes: &dyn Planes) -> PlaneId {
        let answer = self.policy.ask(None, |py| {
            let loads = (0..self.planes).map(|p| i64::from(planes.load(PlaneId(p)))).collect();
            let loads = PyArray1::from_vec(py, loads);
            let answer = self.policy.call(py, "place", (lpn.0, loads))?;
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
    fn object(&self) -> (&PyPolicy, &Py<PyAny>) {
        (&self.policy, &self.rng)
    }
}

ssd_core::placement_hooks!(asked, { ssd_core::ftl::place::PlacementPolicy, Placement });
