//! Configurations composed of the kernel's tables and of tables that another crate declares.
//!
//! The kernel knows the tables that a device needs. A crate that adds a table declares its keys, needs and
//! checks in the same form and implements [`Composed`] for a struct with a [`Config`] in it: `load`, `to_toml`,
//! `schema` and the reference then treat both alike.

use super::checks::needs::{self, Need};
use super::checks::{self, Check};
use super::draft::{Draft, Pending};
use super::keys::{Key, Slot, Table};
use super::tables::{Config, DeviceFit, TABLES};
use super::terms::Vocabularies;
use super::text::error::{Errors, SourcePos};
use super::text::parse::Node;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

/// A configuration with the kernel's tables and others.
pub trait Composed: DerefMut<Target = Config> + Clone + Default + 'static {
    /// The others; they are shown before `[metrics]`.
    const TABLES: &'static [Table<Self>];
    /// When their keys have an effect.
    const NEEDS: &'static [Need<Self>];
    /// What must hold between their keys and any other.
    const CHECKS: &'static [Check<Self>];
    /// Words of other tools for keys of all tables.
    const VOCABULARIES: Vocabularies;
    /// Keys of the kernel whose default follows from these tables, with the words for it.
    const DEFAULTS: &'static [(&'static str, &'static str)];

    /// What a layer implies that has set the keys of `places`.
    fn imply(
        draft: &mut Draft<'_, Self>,
        errors: &mut Errors,
        places: &BTreeMap<String, SourcePos>,
    );

    /// Values that follow from several keys, after the last layer.
    fn follow(draft: &mut Draft<'_, Self>);
}

/// The kernel's tables alone. A preset may have others, which are skipped.
#[derive(Clone, Default, Debug)]
pub struct Kernel(pub Config);

impl Deref for Kernel {
    type Target = Config;
    fn deref(&self) -> &Config {
        &self.0
    }
}

impl DerefMut for Kernel {
    fn deref_mut(&mut self) -> &mut Config {
        &mut self.0
    }
}

impl Composed for Kernel {
    const TABLES: &'static [Table<Kernel>] = &[];
    const NEEDS: &'static [Need<Kernel>] = &[];
    const CHECKS: &'static [Check<Kernel>] = &[];
    const VOCABULARIES: Vocabularies = &[];
    const DEFAULTS: &'static [(&'static str, &'static str)] = &[];
    fn imply(_: &mut Draft<'_, Kernel>, _: &mut Errors, _: &BTreeMap<String, SourcePos>) {}
    fn follow(_: &mut Draft<'_, Kernel>) {}
}

/// A key, whoever declares it.
pub(crate) enum AnyKey<T: 'static> {
    Kernel(&'static Key<Config>),
    Other(&'static Key<T>),
}

/// `f` of a key, whoever declares it.
macro_rules! of_any {
    ($key:expr, $f:ident) => {
        match $key {
            AnyKey::Kernel(key) => $f(key),
            AnyKey::Other(key) => $f(key),
        }
    };
}
pub(crate) use of_any;

impl<T: 'static> Clone for AnyKey<T> {
    fn clone(&self) -> AnyKey<T> {
        *self
    }
}

impl<T: 'static> Copy for AnyKey<T> {}

fn path<C>(key: &Key<C>) -> &'static str {
    key.path
}

fn name<C>(key: &Key<C>) -> &'static str {
    key.parts().1
}

fn doc<C>(key: &Key<C>) -> &'static str {
    key.doc
}

fn is_text<C>(key: &Key<C>) -> bool {
    matches!(key.slot, Slot::Special(special) if special.text)
}

impl<T: Composed> AnyKey<T> {
    /// All keys, by table.
    pub(crate) fn all() -> impl Iterator<Item = AnyKey<T>> {
        tables::<T>().flat_map(|(table, _)| AnyKey::of_table(table))
    }

    /// The keys of one table.
    pub(crate) fn of_table(table: &str) -> impl Iterator<Item = AnyKey<T>> + Clone {
        let kernel = TABLES.iter().filter(move |kernel| kernel.name == table);
        let extension = T::TABLES.iter().filter(move |candidate| candidate.name == table);
        let kernel = kernel.flat_map(|table| table.keys).map(AnyKey::Kernel);
        kernel.chain(extension.flat_map(|table| table.keys).map(AnyKey::Other))
    }

    /// The key called `path`.
    pub(crate) fn find(path: &str) -> Option<AnyKey<T>> {
        let (table, _) = path.split_once('.')?;
        AnyKey::of_table(table).find(|key| key.path() == path)
    }

    /// "wear.dynamic".
    pub(crate) fn path(self) -> &'static str {
        of_any!(self, path)
    }

    /// Its name in its table.
    pub(crate) fn name(self) -> &'static str {
        of_any!(self, name)
    }

    /// Whether its value is free text.
    pub(crate) fn is_text(self) -> bool {
        of_any!(self, is_text)
    }

    /// Set it to the value of `node`, or report why not.
    pub(crate) fn apply(self, draft: &mut Draft<'_, T>, errors: &mut Errors, node: &Node) {
        match self {
            AnyKey::Kernel(key) => key.apply(&mut draft.kernel(), errors, node),
            AnyKey::Other(key) => key.apply(draft, errors, node),
        }
    }

    /// Its value as TOML; `None` if another key prints it or there is nothing to print.
    pub(crate) fn show(self, config: &T) -> Option<String> {
        match self {
            AnyKey::Kernel(key) => key.show(&**config),
            AnyKey::Other(key) => key.show(config),
        }
    }

    /// The default, for the reference and the schema.
    pub(crate) fn default_text(self) -> String {
        if let Some((_, words)) = T::DEFAULTS.iter().find(|(key, _)| *key == self.path()) {
            return (*words).to_string();
        }
        match self {
            AnyKey::Kernel(key) => key.default_text(&Config::default()),
            AnyKey::Other(key) => key.default_text(&T::default()),
        }
    }

    /// What it means, and what it needs to have an effect.
    pub(crate) fn meaning(self) -> String {
        let needs: Vec<&str> = match self {
            AnyKey::Kernel(key) => needs::of(needs::NEEDS, key.path).collect(),
            AnyKey::Other(key) => needs::of(T::NEEDS, key.path).collect(),
        };
        let doc = of_any!(self, doc);
        if needs.is_empty() {
            doc.to_string()
        } else {
            format!("{doc} Needs {}.", needs.join(" and "))
        }
    }
}

/// The tables with their meanings, in the order in which they are shown.
pub(crate) fn tables<T: Composed>() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    let (last, first) = TABLES.split_last().expect("the kernel has tables");
    let kernel = |table: &Table<Config>| (table.name, table.doc);
    let extension = T::TABLES.iter().map(|table| (table.name, table.doc));
    first.iter().map(kernel).chain(extension).chain([kernel(last)])
}

impl<T: Composed> Draft<'_, T> {
    /// The kernel's part of it.
    pub(crate) fn kernel(&mut self) -> Draft<'_, Config> {
        Draft { config: &mut **self.config, pending: &mut *self.pending }
    }
}

/// Reset keys without effect to their defaults, and report those that were set for nothing.
pub(crate) fn apply_needs<T: Composed>(draft: &mut Draft<'_, T>, errors: &mut Errors) {
    needs::apply(needs::NEEDS, Key::find, &Config::default(), &mut draft.kernel(), errors);
    let key = |path: &str| T::TABLES.iter().flat_map(|table| table.keys).find(|k| k.path == path);
    needs::apply(T::NEEDS, key, &T::default(), draft, errors);
}

/// Run all checks.
pub(crate) fn check<T: Composed>(config: &T, pending: &Pending, errors: &mut Errors) {
    let follows = config.device.fit == DeviceFit::Trace;
    let mut findings = checks::all(checks::rules::CHECKS, &**config, follows, pending, errors);
    findings.extend(checks::all(T::CHECKS, config, follows, pending, errors));
    for (place, key, message) in findings {
        errors.add(place, &key, message);
    }
}
