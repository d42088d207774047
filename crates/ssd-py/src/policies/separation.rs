//! Separation policies in Python, and which answers are allowed.

use super::hooks::{Object, asked};
use super::{ClassView, PyPolicy, Refusal, integer, shown};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use ssd_core::ftl::separation::{
    ClassBlocks, Classes, CollectedBlock, Ground, PageCopy, PageWrite, VictimScope,
};
use ssd_core::units::PoolId;

/// A separation policy in Python.
pub(super) struct Separation {
    policy: PyPolicy,
    rng: Py<PyAny>,
    classes: Classes,
}

impl Separation {
    /// A policy that has stated its number of classes; if that is not allowed, with two, which are never used.
    pub(super) fn new(policy: PyPolicy, rng: Py<PyAny>, ground: &Ground) -> Separation {
        let answer = policy.ask(None, |py| {
            let number = |name: &'static str, least: u32, most: u32| {
                let raised = |error| Refusal::Raised(name, error);
                let value = policy.object.bind(py).getattr(name).map_err(raised)?;
                let expected = format!("a number of classes, {least} to {most}");
                let count = integer(name, &value, &expected)?;
                let inside = u32::try_from(count).ok().filter(|n| (least..=most).contains(n));
                let wrong = || Refusal::Wrong(format!("{name} is {count}: expected {expected}"));
                inside.ok_or_else(wrong)
            };
            let all = number("classes", 1, ground.most_classes)?;
            Ok(Classes { host: number("host_classes", 0, all - 1)?, all })
        });
        Separation { policy, rng, classes: answer.unwrap_or(Classes { host: 0, all: 2 }) }
    }

    fn classes(&self) -> Classes {
        self.classes
    }

    /// The answer for the class of a page.
    fn class(
        &self,
        method: &'static str,
        least: u32,
        ask: impl FnOnce(Python<'_>) -> Result<Bound<'_, PyAny>, Refusal>,
    ) -> u32 {
        let most = self.classes.all - 1;
        let answer = self.policy.ask(None, |py| {
            let answer = ask(py)?;
            let class = integer(method, &answer, &format!("a class, {least} to {most}"))?;
            self.inside(method, class, least)
        });
        answer.unwrap_or(least)
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        let (replaces, age) =
            (page.replaces.and_then(|old| old.class), page.replaces.map(|old| old.age));
        let arguments = (page.lpn.0, page.stream, page.pages, replaces, age, page.clock);
        self.class("of_write", 0, |py| self.policy.call(py, "of_write", arguments))
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        let arguments = (page.lpn.0, page.class, page.clock);
        self.class("of_copy", self.classes.host, |py| self.policy.call(py, "of_copy", arguments))
    }

    fn on_collect(&mut self, block: &CollectedBlock) {
        if self.policy.answers("on_collect") {
            let arguments = (block.class, block.valid, block.opened, block.clock);
            self.policy.ask(None, |py| self.policy.call(py, "on_collect", arguments).map(|_| ()));
        }
    }

    /// Classes of the policy below `least` are not allowed.
    fn inside(&self, method: &str, class: i64, least: u32) -> Result<u32, Refusal> {
        let most = self.classes.all - 1;
        let inside = u32::try_from(class).ok().filter(|class| (least..=most).contains(class));
        let expected = format!("a class, {least} to {most}");
        let wrong = || format!("{method}() returned class {class}: expected {expected}");
        inside.ok_or_else(|| Refusal::Wrong(wrong()))
    }

    fn names_victims(&self) -> bool {
        self.policy.answers("victim_among")
    }

    /// `None`, a class, or `("oldest", class)`.
    fn victim_among(&mut self, pool: PoolId, classes: &[ClassBlocks]) -> VictimScope {
        let method = "victim_among";
        let choice = self.policy.ask(Some(pool), |py| {
            let views: Vec<ClassView> = classes.iter().map(ClassView::new).collect();
            let answer = self.policy.call(py, method, (pool.0, views))?;
            if answer.is_none() {
                return Ok(VictimScope::All);
            }
            let wrong = || {
                let text = shown(&answer);
                let expected = "expected None, a class, or (\"oldest\", class)";
                Refusal::Wrong(format!("{method}() returned {text}: {expected}"))
            };
            let class = |class: &Bound<'_, PyAny>| {
                self.inside(method, integer(method, class, "a class").map_err(|_| wrong())?, 0)
            };
            let Ok(pair) = answer.cast::<PyTuple>() else {
                return Ok(VictimScope::Class(class(&answer)?));
            };
            let oldest = pair.len() == 2
                && pair.get_item(0).is_ok_and(|word| word.eq("oldest").unwrap_or(false));
            let second = pair.get_item(1).ok().filter(|_| oldest).ok_or_else(wrong)?;
            Ok(VictimScope::Oldest(class(&second)?))
        });
        choice.unwrap_or(VictimScope::All)
    }

    /// What `save()` of the object returns, with its length; nothing without that method.
    fn save(&self, bytes: &mut Vec<u8>) {
        let state: Option<Vec<u8>> = self
            .policy
            .answers("save")
            .then(|| {
                self.policy.ask(None, |py| {
                    let raised = |error| Refusal::Raised("save", error);
                    let answer =
                        self.policy.object.bind(py).call_method0("save").map_err(raised)?;
                    let state = answer.cast::<PyBytes>().map_err(|_| {
                        Refusal::Wrong(format!(
                            "save() returned {}: expected bytes",
                            shown(&answer)
                        ))
                    })?;
                    Ok(state.as_bytes().to_vec())
                })
            })
            .flatten();
        let state = state.unwrap_or_default();
        bytes.extend_from_slice(&(state.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&state);
    }

    /// Those bytes are given to `load(bytes)` of the object, if it has that method.
    fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        let short = || "what its separation policy knows ends early".to_string();
        let (length, rest) = bytes.split_first_chunk().ok_or_else(short)?;
        let (state, rest) = usize::try_from(u64::from_le_bytes(*length))
            .ok()
            .and_then(|length| rest.split_at_checked(length))
            .ok_or_else(short)?;
        *bytes = rest;
        if self.policy.answers("load") && !state.is_empty() {
            let call_load = |py: Python<'_>| {
                self.policy.call(py, "load", (PyBytes::new(py, state),)).map(|_| ())
            };
            self.policy.ask(None, call_load);
        }
        Ok(())
    }
}

impl Object for Separation {
    fn object(&self) -> (&PyPolicy, &Py<PyAny>) {
        (&self.policy, &self.rng)
    }
}

ssd_core::separation_hooks!(asked, { ssd_core::ftl::separation::SeparationPolicy, Separation });
