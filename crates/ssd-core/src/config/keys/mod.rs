//! What a key is: how it is declared (`declare`), read (`apply`) and printed (`show`). `syntax` helps keys with
//! a syntax of their own; `policy` reads policies with their parameters.

mod apply;
mod declare;
pub mod policy;
pub(crate) mod show;
pub mod syntax;

use super::draft::Draft;
use super::text::error::Errors;
use super::text::parse::Node;
use super::text::read::Span;
use crate::plug::PolicySpec;
use policy::Registry;

/// One key.
pub struct Key<C: 'static> {
    /// "device.channels".
    pub path: &'static str,
    /// Allowed values and where they are stored.
    pub slot: Slot<C>,
    /// Meaning.
    pub doc: &'static str,
}

/// A table of the configuration.
pub struct Table<C: 'static> {
    /// "workload".
    pub name: &'static str,
    /// Meaning.
    pub doc: &'static str,
    /// Its keys, in the order in which they are shown.
    pub keys: &'static [Key<C>],
}

/// An unsigned field.
pub enum Num<'c> {
    /// 32 bits.
    U32(&'c mut u32),
    /// 64 bits.
    U64(&'c mut u64),
}

/// A field for whole numbers.
pub trait IntegerField {
    /// The field with its width.
    fn num(&mut self) -> Num<'_>;
}

impl IntegerField for u32 {
    fn num(&mut self) -> Num<'_> {
        Num::U32(self)
    }
}

impl IntegerField for u64 {
    fn num(&mut self) -> Num<'_> {
        Num::U64(self)
    }
}

/// The allowed values of a key, and the field it sets.
pub enum Slot<C: 'static> {
    /// A whole number.
    Int {
        /// The field.
        at: fn(&mut C) -> Num<'_>,
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A number.
    Real {
        /// The field.
        at: fn(&mut C) -> &mut f64,
        /// Allowed values.
        span: Span,
    },
    /// A time up to `max` nanoseconds.
    Time {
        /// The field.
        at: fn(&mut C) -> &mut u64,
        /// The longest, nanoseconds.
        max: u64,
    },
    /// true or false.
    Flag {
        /// The field.
        at: fn(&mut C) -> &mut bool,
    },
    /// One of a few words.
    Word(WordSlot<C>),
    /// A policy.
    Policy {
        /// The policies.
        registry: Registry,
        /// The field.
        at: fn(&mut C) -> &mut PolicySpec,
    },
    /// A key with a special syntax.
    Special(&'static Special<C>),
}

/// A [`Slot::Word`] without its type.
pub struct WordSlot<C> {
    /// Every word with its meaning.
    pub words: &'static [(&'static str, &'static str)],
    /// Set the field to a word.
    pub set: fn(&mut C, &str),
    /// The word of the field.
    pub get: fn(&C) -> &'static str,
    /// `{ policy = "word" }` is equivalent.
    pub policy: bool,
}

/// A key that is neither a number nor a word.
pub struct Special<C> {
    /// Type, for the reference.
    pub form: &'static str,
    /// Default, where it is not what `show` prints of the default config: a word, a colon and what it means.
    pub default: Option<&'static str>,
    /// Set it from the input, or report why not.
    pub read: fn(&mut Draft<'_, C>, &mut Errors, &str, &Node),
    /// As TOML; `None` if another key prints it.
    pub show: fn(&C) -> Option<String>,
    /// The value is free text.
    pub text: bool,
    /// Accepted JSON types.
    pub types: &'static [&'static str],
}

impl<C> Key<C> {
    /// Table and name.
    pub(crate) fn parts(&self) -> (&'static str, &'static str) {
        self.path.split_once('.').expect("a key stands in a table")
    }

    /// The word with which a key that shows nothing is set back to that.
    pub(crate) fn word_for_nothing(&self) -> &'static str {
        let Slot::Special(Special { default: Some(default), .. }) = self.slot else {
            unreachable!("{} shows its default", self.path);
        };
        default.split_once(':').map_or(default, |(word, _)| word)
    }
}
