//! What every plug (policy file) declares, and how it receives its parameters.
//!
//! A plug file declares one [`PolicyInfo`]; config, CLI, docs and Python list it from there. The
//! config layer checks names and parameters against it and hands the plug its resolved [`Params`].

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name, summary, source and parameters of one policy.
#[derive(Debug)]
pub struct PolicyInfo {
    /// Name in the config, lower case with hyphens.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Authors, title, venue, year; section or equation.
    pub paper: &'static str,
    /// Its parameters, in the order in which they are shown.
    pub params: &'static [ParamInfo],
}

/// One parameter of a policy.
#[derive(Debug)]
pub struct ParamInfo {
    /// Key in the policy's table.
    pub name: &'static str,
    /// Type and allowed range.
    pub kind: ParamKind,
    /// Default as it would be written in the config; `None`: no default, it must be given.
    pub default: Option<&'static str>,
    /// What it means, with its unit.
    pub doc: &'static str,
}

/// Type and allowed range of a parameter.
#[derive(Debug)]
pub enum ParamKind {
    /// Integer in `min..=max`.
    Int(u64, u64),
    /// Number in `min..=max`.
    Ratio(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A time with a unit ("5 ms"), in nanoseconds once resolved.
    Time,
    /// true or false.
    Bool,
}

/// A resolved parameter value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// true or false.
    Bool(bool),
    /// Integer, or a time in nanoseconds.
    Int(u64),
    /// Ratio.
    Real(f64),
    /// A word.
    Word(String),
}

/// The resolved parameters of one policy: every declared one is present.
pub type Params = BTreeMap<String, Value>;

/// A policy by name with its resolved parameters, as in the resolved config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicySpec {
    /// The policy's name.
    pub policy: String,
    /// Its parameters, defaults filled in.
    #[serde(flatten)]
    pub params: Params,
}

impl PolicySpec {
    /// `name` with the defaults that `info` declares; parameters without a default are left out.
    #[must_use]
    pub fn with_defaults(info: &PolicyInfo) -> PolicySpec {
        let mut params = Params::new();
        for p in info.params {
            if let Some(text) = p.default {
                params.insert(p.name.to_string(), default_value(&p.kind, text));
            }
        }
        PolicySpec { policy: info.name.to_string(), params }
    }

    /// The same with parameter `key` set (builder form for code and tests).
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> PolicySpec {
        self.params.insert(key.to_string(), value);
        self
    }

    /// Integer parameter (or time in nanoseconds).
    ///
    /// # Panics
    /// If it is absent or of another type: the config layer has checked both.
    #[must_use]
    pub fn int(&self, key: &str) -> u64 {
        match self.params.get(key) {
            Some(Value::Int(n)) => *n,
            other => panic!("{}.{key}: expected an integer, found {other:?}", self.policy),
        }
    }

    /// Ratio parameter.
    ///
    /// # Panics
    /// If it is absent or of another type: the config layer has checked both.
    #[must_use]
    pub fn real(&self, key: &str) -> f64 {
        match self.params.get(key) {
            Some(Value::Real(x)) => *x,
            Some(Value::Int(n)) => *n as f64,
            other => panic!("{}.{key}: expected a number, found {other:?}", self.policy),
        }
    }

    /// Word parameter.
    ///
    /// # Panics
    /// If it is absent or of another type: the config layer has checked both.
    #[must_use]
    pub fn word(&self, key: &str) -> &str {
        match self.params.get(key) {
            Some(Value::Word(w)) => w,
            other => panic!("{}.{key}: expected a word, found {other:?}", self.policy),
        }
    }

    /// Boolean parameter.
    ///
    /// # Panics
    /// If it is absent or of another type: the config layer has checked both.
    #[must_use]
    pub fn flag(&self, key: &str) -> bool {
        match self.params.get(key) {
            Some(Value::Bool(b)) => *b,
            other => panic!("{}.{key}: expected true or false, found {other:?}", self.policy),
        }
    }
}

fn default_value(kind: &ParamKind, text: &str) -> Value {
    let parsed = match kind {
        ParamKind::Int(..) | ParamKind::Time => text.parse().ok().map(Value::Int),
        ParamKind::Ratio(..) => text.parse().ok().map(Value::Real),
        ParamKind::Choice(words) => words.contains(&text).then(|| Value::Word(text.to_string())),
        ParamKind::Bool => text.parse().ok().map(Value::Bool),
    };
    parsed.unwrap_or_else(|| panic!("default {text:?} does not fit {kind:?}"))
}

/// Declares one kind of policy: the trait with its hooks, and the files of its folder that implement it.
///
/// The trait, the registry `ALL`, and an enum all come from this one declaration; the enum dispatches every hook by
/// `match` to the policies of the folder and to an external one. A new policy is a file and its line here. A new hook
/// is a method of the trait, with a default; `#[inline]` on a hook also applies to its dispatch. The macro named after
/// the trait gives the hooks to other kinds of policies (those in Python), so their types are written as in
/// `crate::units`, without a path.
///
/// A file contains `pub const INFO: PolicyInfo` and `pub struct Policy` with a function `build`, whose parameters
/// follow the name of the enum, with their types and without.
#[macro_export]
macro_rules! plugs {
    (
        $(#[$about:meta])*
        pub trait $Trait:ident, $exported:ident! { $($hooks:tt)* }

        $(#[$title:meta])*
        pub enum $Plug:ident = $what:literal, build $parameters:tt $arguments:tt {
            $($file:ident $Variant:ident,)+
        }
    ) => {
        $(pub mod $file;)+

        $(#[$about])*
        #[allow(
            unused_attributes,
            clippy::inline_fn_without_body,
            reason = "of a hook without a default, `inline` is meant for the dispatch"
        )]
        pub trait $Trait: Send { $($hooks)* }

        $(#[$title])*
        pub enum $Plug {
            $(#[doc = stringify!($file)] $Variant($file::Policy),)+
            /// An external policy (Python).
            External(Box<dyn $Trait>),
        }

        /// Registry entries of all policies, sorted by name.
        pub const ALL: &[&$crate::plug::PolicyInfo] = &[$(&$file::INFO),+];

        impl $Plug {
            $crate::plug_build! { $what $Plug $parameters $arguments $($file $Variant)+ }
        }

        $crate::plug_dispatch! { $Trait $Plug ($($Variant)+) [] $($hooks)* }
        $crate::plug_hooks! { ($) $exported $($hooks)* }
    };
}

/// A macro that hands the hooks to another: `victim_hooks!(then, arguments)` is `then! { arguments hooks }`.
#[doc(hidden)]
#[macro_export]
macro_rules! plug_hooks {
    (($d:tt) $exported:ident $($hooks:tt)*) => {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $exported {
            ($d then:ident, $d arguments:tt) => { $d then! { $d arguments $($hooks)* } };
        }
    };
}

/// The function that builds a policy by its name.
#[doc(hidden)]
#[macro_export]
macro_rules! plug_build {
    ($what:literal $Plug:ident ($spec:ident : $type:ty $(, $more:ident : $other:ty)*) $arguments:tt
     $($file:ident $Variant:ident)+) => {
        /// The policy that `spec` names.
        ///
        /// # Panics
        /// If the name is unknown: the config layer has checked it.
        #[must_use]
        pub fn build($spec: $type $(, $more: $other)*) -> $Plug {
            $(if $spec.policy == $file::INFO.name {
                return $Plug::$Variant($file::Policy::build $arguments);
            })+
            panic!("{} {:?} is not in the registry", $what, $spec.policy)
        }
    };
}

/// The hooks of a trait, one by one, as dispatch to the variants of an enum.
#[doc(hidden)]
#[macro_export]
macro_rules! plug_dispatch {
    ($Trait:ident $Plug:ident $variants:tt [$($done:tt)*]) => {
        impl $Trait for $Plug { $($done)* }
    };
    ($Trait:ident $Plug:ident $variants:tt $done:tt
     $(#[$meta:meta])*
     fn $hook:ident(&self $(, $arg:ident : $type:ty)* $(,)?) $(-> $answer:ty)? ; $($rest:tt)*) => {
        $crate::plug_dispatch! { @hook $Trait $Plug $variants $done (self) ($($arg),*)
            [$(#[$meta])* fn $hook(&self $(, $arg: $type)*) $(-> $answer)?] $hook $($rest)* }
    };
    ($Trait:ident $Plug:ident $variants:tt $done:tt
     $(#[$meta:meta])*
     fn $hook:ident(&mut self $(, $arg:ident : $type:ty)* $(,)?) $(-> $answer:ty)? ; $($rest:tt)*) => {
        $crate::plug_dispatch! { @hook $Trait $Plug $variants $done (self) ($($arg),*)
            [$(#[$meta])* fn $hook(&mut self $(, $arg: $type)*) $(-> $answer)?] $hook $($rest)* }
    };
    // A default belongs to the trait; the dispatch is that of a hook without one.
    ($Trait:ident $Plug:ident $variants:tt $done:tt
     $(#[$meta:meta])*
     fn $hook:ident $arguments:tt $(-> $answer:ty)? { $($default:tt)* } $($rest:tt)*) => {
        $crate::plug_dispatch! { $Trait $Plug $variants $done
            $(#[$meta])* fn $hook $arguments $(-> $answer)? ; $($rest)* }
    };
    (@hook $Trait:ident $Plug:ident ($($Variant:ident)+) [$($done:tt)*] ($me:tt) $arguments:tt
     [$($head:tt)*] $hook:ident $($rest:tt)*) => {
        $crate::plug_dispatch! { $Trait $Plug ($($Variant)+) [$($done)*
            $($head)* {
                match $me {
                    $($Plug::$Variant(p) => p.$hook $arguments,)+
                    $Plug::External(p) => p.$hook $arguments,
                }
            }
        ] $($rest)* }
    };
}
