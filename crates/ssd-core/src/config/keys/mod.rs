//! The keys: where each stands (`table`), how it is read (`apply`) and printed (`show`). Keys with a syntax of
//! their own are in `special`, policies with their parameters in `policy`.

mod apply;
pub(crate) mod policy;
mod show;
pub(crate) mod special;
pub(crate) mod table;

use super::draft::Draft;
use super::text::error::Errors;
use super::text::parse::Node;
use super::text::read::Span;
use crate::plug::PolicySpec;
use policy::Registry;

/// One key.
pub(crate) struct Key<C: 'static> {
    /// "device.channels".
    pub(crate) path: &'static str,
    /// Allowed values and where they are stored.
    pub(crate) slot: Slot<C>,
    /// Meaning.
    pub(crate) doc: &'static str,
}

/// An unsigned field.
pub(crate) enum Num<'c> {
    /// 32 bits.
    U32(&'c mut u32),
    /// 64 bits.
    U64(&'c mut u64),
}

/// The allowed values of a key, and the field it sets.
pub(crate) enum Slot<C: 'static> {
    /// A whole number.
    Int { at: fn(&mut C) -> Num<'_>, min: u64, max: u64 },
    /// A number.
    Real { at: fn(&mut C) -> &mut f64, span: Span },
    /// A time up to `max` nanoseconds.
    Time { at: fn(&mut C) -> &mut u64, max: u64 },
    /// true or false.
    Flag { at: fn(&mut C) -> &mut bool },
    /// One of a few words.
    Word(WordSlot<C>),
    /// A policy.
    Policy { registry: Registry, at: fn(&mut C) -> &mut PolicySpec },
    /// A key with a special syntax.
    Special(&'static Special<C>),
}

/// A [`Slot::Word`] without its type.
pub(crate) struct WordSlot<C> {
    pub(crate) words: &'static [(&'static str, &'static str)],
    pub(crate) set: fn(&mut C, &str),
    pub(crate) get: fn(&C) -> &'static str,
    /// `{ policy = "word" }` is equivalent.
    pub(crate) policy: bool,
}

/// A key that is neither a number nor a word.
pub(crate) struct Special<C> {
    /// Type, for the reference.
    pub(crate) form: &'static str,
    /// Default, where it is not what `show` prints of the default config.
    pub(crate) default: Option<&'static str>,
    /// Set it from the input, or report why not.
    pub(crate) read: fn(&mut Draft<'_, C>, &mut Errors, &str, &Node),
    /// As TOML; `None` if another key prints it.
    pub(crate) show: fn(&C) -> Option<String>,
    /// The value is free text.
    pub(crate) text: bool,
    /// Accepted JSON types.
    pub(crate) types: &'static [&'static str],
}

impl<C> Key<C> {
    /// Table and name.
    pub(crate) fn parts(&self) -> (&'static str, &'static str) {
        self.path.split_once('.').expect("a key stands in a table")
    }
}
