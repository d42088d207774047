//! Hooks of the core that a Python object may answer.
//!
//! [`asked`] implements a policy trait for a wrapper from the declaration of its hooks in the core. A hook that the
//! wrapper has as its own method is answered there. Any other is passed to the method of the object with its name, if
//! there is one and its answer can be checked by its type; otherwise it has its default. So a new hook reaches Python
//! without an edit here; one that names blocks or pools needs a method that checks them.

use super::{PyPolicy, Refusal, integer, shown};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use ssd_core::ftl::blocks::BlockTable;
use ssd_core::ftl::gc::concurrency::{DeviceView, LimitUnit};
use ssd_core::ftl::gc::trigger::SpaceView;
use ssd_core::ftl::separation::{ClassBlocks, CollectedBlock, VictimScope};
use ssd_core::rng::Stream;
use ssd_core::units::{BlockId, Lpn, Nanos, PoolId};

/// An argument of a hook.
pub(super) trait Argument {
    /// Its value in Python; `None`: the object does not get it.
    fn python(&self, py: Python<'_>, rng: &Py<PyAny>) -> PyResult<Option<Py<PyAny>>>;
}

macro_rules! numbers {
    ($($type:ty, $this:ident => $number:expr;)+) => {$(
        impl Argument for $type {
            fn python(&self, py: Python<'_>, _: &Py<PyAny>) -> PyResult<Option<Py<PyAny>>> {
                let $this = *self;
                Ok(Some($number.into_pyobject(py)?.into_any().unbind()))
            }
        }
    )+};
}

numbers! {
    u32, it => it;
    u64, it => it;
    BlockId, it => it.0;
    PoolId, it => it.0;
    Lpn, it => it.0;
    Nanos, it => it.0;
}

/// Arguments that the object has no use for, or sees through a view.
macro_rules! left_out {
    ($($type:ty),+) => {$(
        impl Argument for $type {
            fn python(&self, _: Python<'_>, _: &Py<PyAny>) -> PyResult<Option<Py<PyAny>>> {
                Ok(None)
            }
        }
    )+};
}

left_out!(
    &BlockTable,
    &mut dyn Iterator<Item = PoolId>,
    &CollectedBlock,
    &[ClassBlocks],
    VictimScope,
    &mut Vec<u8>,
    &mut &[u8],
    &mut Stream
);

impl Argument for &SpaceView {
    fn python(&self, py: Python<'_>, rng: &Py<PyAny>) -> PyResult<Option<Py<PyAny>>> {
        Ok(Some(Py::new(py, super::TriggerView::new(self, rng.clone_ref(py)))?.into_any()))
    }
}

impl Argument for &DeviceView {
    fn python(&self, py: Python<'_>, rng: &Py<PyAny>) -> PyResult<Option<Py<PyAny>>> {
        Ok(Some(Py::new(py, super::ConcurrencyView::new(self, rng.clone_ref(py)))?.into_any()))
    }
}

/// What a hook may answer.
pub(super) trait Answer: Sized {
    /// Whether the type determines which answers are allowed.
    const CHECKED: bool = true;

    /// The answer of `hook`.
    fn of(hook: &str, answer: &Bound<'_, PyAny>) -> Result<Self, Refusal>;
}

impl Answer for () {
    fn of(_: &str, _: &Bound<'_, PyAny>) -> Result<(), Refusal> {
        Ok(())
    }
}

impl Answer for bool {
    /// From Python or numpy: any other truthy value is likely to be a mistake.
    fn of(hook: &str, answer: &Bound<'_, PyAny>) -> Result<bool, Refusal> {
        let kind = answer.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        if answer.is_instance_of::<PyBool>() || kind == "bool" || kind == "bool_" {
            return answer.is_truthy().map_err(|_| Refusal::Wrong(format!("{hook} has no truth")));
        }
        Err(Refusal::Wrong(format!("{hook} gave {}: expected True or False", shown(answer))))
    }
}

impl Answer for Option<Nanos> {
    fn of(hook: &str, answer: &Bound<'_, PyAny>) -> Result<Option<Nanos>, Refusal> {
        if answer.is_none() {
            return Ok(None);
        }
        let expected = "a number of ns, or None";
        let ns = integer(hook, answer, expected)?;
        u64::try_from(ns)
            .map(|ns| Some(Nanos(ns)))
            .map_err(|_| Refusal::Wrong(format!("{hook} is {ns}: expected {expected}")))
    }
}

impl Answer for LimitUnit {
    fn of(hook: &str, answer: &Bound<'_, PyAny>) -> Result<LimitUnit, Refusal> {
        match answer.extract::<String>().as_deref() {
            Ok("pools") => Ok(LimitUnit::Pools),
            Ok("channels") => Ok(LimitUnit::Channels),
            Ok("members") => Ok(LimitUnit::Members),
            _ => {
                let value = shown(answer);
                let expected = "expected \"pools\", \"channels\" or \"members\"";
                Err(Refusal::Wrong(format!("{hook}() returned {value}: {expected}")))
            }
        }
    }
}

/// Blocks, pools and classes, and the state of a policy: whether such an answer is allowed depends on the state of the
/// device.
macro_rules! unchecked {
    ($($type:ty),+) => {$(
        impl Answer for $type {
            const CHECKED: bool = false;

            fn of(hook: &str, _: &Bound<'_, PyAny>) -> Result<$type, Refusal> {
                Err(Refusal::Wrong(format!("{hook}() is not asked of Python")))
            }
        }
    )+};
}

unchecked!(
    Option<BlockId>,
    Option<PoolId>,
    Option<u32>,
    Vec<BlockId>,
    Vec<ClassBlocks>,
    VictimScope,
    Result<(), String>
);

/// The answer of the object to `hook`, if it has a method of that name and has not failed.
pub(super) fn ask<T: Answer>(
    policy: &PyPolicy,
    rng: &Py<PyAny>,
    hook: &'static str,
    arguments: &[&dyn Argument],
) -> Option<T> {
    if !T::CHECKED || !policy.answers(hook) {
        return None;
    }
    policy.ask(None, |py| {
        let raised = |error| Refusal::Raised(hook, error);
        let mut values = Vec::new();
        for argument in arguments {
            values.extend(argument.python(py, rng).map_err(raised)?);
        }
        let tuple = PyTuple::new(py, values).map_err(raised)?;
        let answer = policy.object.bind(py).call_method1(hook, tuple).map_err(raised)?;
        T::of(hook, &answer)
    })
}

/// `trait_hooks!(asked, { Trait, Wrapper })`: see the head of this file. The trait must not be in scope.
macro_rules! asked {
    ({ $Trait:path, $Wrapper:ident } $($hooks:tt)*) => {
        $crate::policies::hooks::asked! { @next $Wrapper { $Trait } [] [] [] $($hooks)* }
    };
    (@next $Wrapper:ident { $Trait:path } [$($default:tt)*] [$($call:tt)*] [$($hook:tt)*]) => {
        const _: () = {
            #[allow(unused_imports, reason = "what the hooks of any trait may be given and answer")]
            use $crate::policies::hooks::types::*;
            /// Hooks for which the wrapper has no method: methods of the type itself come first.
            #[allow(dead_code, reason = "the wrapper answers some of them")]
            trait Default { $($default)* }
            impl Default for $Wrapper {}
            // Outside of the implementation, where its methods are not found.
            $($call)*
            impl $Trait for $Wrapper { $($hook)* }
        };
    };
    (@next $Wrapper:ident $names:tt [$($default:tt)*] [$($call:tt)*] [$($hook:tt)*] $(#[$meta:meta])*
     fn $name:ident(&self $(, $arg:ident : $type:ty)* $(,)?) $(-> $answer:ty)? ; $($rest:tt)*) => {
        $crate::policies::hooks::asked! { @next $Wrapper $names [$($default)*] [$($call)*
            fn $name(this: &$Wrapper $(, $arg: $type)*) $(-> $answer)? {
                this.$name($($arg),*)
            }
        ] [$($hook)*
            fn $name(&self $(, $arg: $type)*) $(-> $answer)? { $name(self $(, $arg)*) }
        ] $($rest)* }
    };
    (@next $Wrapper:ident $names:tt [$($default:tt)*] [$($call:tt)*] [$($hook:tt)*] $(#[$meta:meta])*
     fn $name:ident(&mut self $(, $arg:ident : $type:ty)* $(,)?) $(-> $answer:ty)? ; $($rest:tt)*) => {
        $crate::policies::hooks::asked! { @next $Wrapper $names [$($default)*] [$($call)*
            fn $name(this: &mut $Wrapper $(, $arg: $type)*) $(-> $answer)? {
                this.$name($($arg),*)
            }
        ] [$($hook)*
            fn $name(&mut self $(, $arg: $type)*) $(-> $answer)? { $name(self $(, $arg)*) }
        ] $($rest)* }
    };
    (@next $Wrapper:ident $names:tt [$($default:tt)*] [$($call:tt)*] [$($hook:tt)*] $(#[$meta:meta])*
     fn $name:ident(&self $(, $arg:ident : $type:ty)* $(,)?) $(-> $answer:ty)? { $($body:tt)* } $($rest:tt)*) => {
        $crate::policies::hooks::asked! { @next $Wrapper $names [$($default)*
            fn $name(&self $(, $arg: $type)*) $(-> $answer)?
            where Self: $crate::policies::hooks::Object
            {
                let (given, rng) = $crate::policies::hooks::Object::object(self);
                let answer = $crate::policies::hooks::ask(given, rng, stringify!($name), &[$(&$arg),*]);
                answer.unwrap_or_else(|| { $($body)* })
            }
        ] [$($call)*
            fn $name(this: &$Wrapper $(, $arg: $type)*) $(-> $answer)? {
                this.$name($($arg),*)
            }
        ] [$($hook)*
            fn $name(&self $(, $arg: $type)*) $(-> $answer)? { $name(self $(, $arg)*) }
        ] $($rest)* }
    };
    (@next $Wrapper:ident $names:tt [$($default:tt)*] [$($call:tt)*] [$($hook:tt)*] $(#[$meta:meta])*
     fn $name:ident(&mut self $(, $arg:ident : $type:ty)* $(,)?) $(-> $answer:ty)? { $($body:tt)* } $($rest:tt)*) => {
        $crate::policies::hooks::asked! { @next $Wrapper $names [$($default)*
            fn $name(&mut self $(, $arg: $type)*) $(-> $answer)?
            where Self: $crate::policies::hooks::Object
            {
                let (given, rng) = $crate::policies::hooks::Object::object(self);
                let answer = $crate::policies::hooks::ask(given, rng, stringify!($name), &[$(&$arg),*]);
                answer.unwrap_or_else(|| { $($body)* })
            }
        ] [$($call)*
            fn $name(this: &mut $Wrapper $(, $arg: $type)*) $(-> $answer)? {
                this.$name($($arg),*)
            }
        ] [$($hook)*
            fn $name(&mut self $(, $arg: $type)*) $(-> $answer)? { $name(self $(, $arg)*) }
        ] $($rest)* }
    };
}
pub(super) use asked;

/// The types in the declarations of the hooks, by their names in the core.
pub(super) mod types {
    pub(in crate::policies) use ssd_core::ftl::blocks::BlockTable;
    pub(in crate::policies) use ssd_core::ftl::gc::concurrency::{DeviceView, LimitUnit};
    pub(in crate::policies) use ssd_core::ftl::gc::trigger::SpaceView;
    pub(in crate::policies) use ssd_core::ftl::separation::{
        ClassBlocks, Classes, CollectedBlock, PageCopy, PageWrite, VictimScope,
    };
    pub(in crate::policies) use ssd_core::rng::Stream;
    pub(in crate::policies) use ssd_core::units::*;
}

/// A wrapper around a Python object.
pub(super) trait Object {
    /// The object, and its own random numbers.
    fn object(&self) -> (&PyPolicy, &Py<PyAny>);
}
