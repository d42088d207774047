//! Separation policies in Python, and which answers are allowed.

use super::hooks::{Object, asked};
use super::{Given, Refusal, integer};
use pyo3::prelude::*;
use ssd_core::ftl::separation::{Classes, Collected, Copied, Ground, Written};

/// A separation policy in Python.
pub(super) struct Separation {
    given: Given,
    rng: Py<PyAny>,
    classes: Classes,
}

impl Separation {
    /// A policy that has said how many classes there are; if what it says is not allowed, with two that it is never
    /// asked about.
    pub(super) fn new(given: Given, rng: Py<PyAny>, ground: &Ground) -> Separation {
        let asked = given.ask(None, |py| {
            let number = |name: &'static str, least: u32, most: u32| {
                let raised = |error| Refusal::Raised(name, error);
                let value = given.object.bind(py).getattr(name).map_err(raised)?;
                let expected = format!("a number of classes, {least} to {most}");
                let found = integer(name, &value, &expected)?;
                let inside = u32::try_from(found).ok().filter(|n| (least..=most).contains(n));
                let wrong = || Refusal::Wrong(format!("{name} is {found}: expected {expected}"));
                inside.ok_or_else(wrong)
            };
            let all = number("classes", 1, ground.most_classes)?;
            Ok(Classes { host: number("host_classes", 0, all - 1)?, all })
        });
        Separation { given, rng, classes: asked.unwrap_or(Classes { host: 0, all: 2 }) }
    }

    fn classes(&self) -> Classes {
        self.classes
    }

    /// The answer to a question about a page.
    fn class(
        &self,
        method: &'static str,
        least: u32,
        ask: impl FnOnce(Python<'_>) -> Result<Bound<'_, PyAny>, Refusal>,
    ) -> u32 {
        let most = self.classes.all - 1;
        let answer = self.given.ask(None, |py| {
            let answer = ask(py)?;
            let expected = format!("a class, {least} to {most}");
            let class = integer(method, &answer, &expected)?;
            let inside = u32::try_from(class).ok().filter(|class| (least..=most).contains(class));
            let wrong = || format!("{method}() returned class {class}: expected {expected}");
            inside.ok_or_else(|| Refusal::Wrong(wrong()))
        });
        answer.unwrap_or(least)
    }

    fn of_write(&mut self, page: &Written) -> u32 {
        let (replaces, age) =
            (page.replaces.and_then(|old| old.class), page.replaces.map(|old| old.age));
        let asked = (page.lpn.0, page.stream, page.pages, replaces, age, page.clock);
        self.class("of_write", 0, |py| self.given.call(py, "of_write", asked))
    }

    fn of_copy(&mut self, page: &Copied) -> u32 {
        let asked = (page.lpn.0, page.class, page.clock);
        self.class("of_copy", self.classes.host, |py| self.given.call(py, "of_copy", asked))
    }

    fn on_collect(&mut self, block: &Collected) {
        if self.given.answers("on_collect") {
            let told = (block.class, block.valid, block.opened, block.clock);
            self.given.ask(None, |py| self.given.call(py, "on_collect", told).map(|_| ()));
        }
    }
}

impl Object for Separation {
    fn object(&self) -> (&Given, &Py<PyAny>) {
        (&self.given, &self.rng)
    }
}

ssd_core::separation_hooks!(asked, { ssd_core::ftl::separation::SeparationPolicy, Separation });
