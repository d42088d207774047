//! How the report is declared: `section!` takes the fields of a section once, with their documentation,
//! unit and columns, and defines the counters, the serialised struct and its description (`form::Section`).
//!
//! Schema, documentation, Python types, the formatting of numbers and the columns of comparisons are derived
//! from the descriptions (`schema`, `describe`, `columns`). A counter that is reported as it is stands in
//! `counters`, a value computed at the end in `values`, next to its computation; `sums` are counters that
//! only enter values. Where values are computed, `Inputs` (`metrics::inputs`) is in scope.

/// Declare a section of the report, in one of three ways: `fields` that others fill in; `values`, each with
/// the expression that computes it; or `counters` and `sums`, then `values`.
///
/// After its type a field may have notes in brackets: its `Unit`, then its columns in comparisons.
macro_rules! section {
    (
        $(#[doc = $doc:literal])+ pub struct $name:ident;
        fields { $(
            $(#[doc = $fdoc:literal])+ $(#[serde($($serde:tt)*)])?
            $field:ident: $type:ty $([$($note:tt)*])?,
        )* }
    ) => { section! { @report [$($doc)+] $name $(
        [$($fdoc)+] [$($($serde)*)?] $field: $type [$($($note)*)?],
    )* } };

    (
        $(#[doc = $doc:literal])+ pub struct $name:ident;
        values($inputs:ident) { $($setup:tt)* } { $(
            $(#[doc = $fdoc:literal])+ $(#[serde($($serde:tt)*)])?
            $field:ident: $type:ty $([$($note:tt)*])? = $value:expr,
        )* }
    ) => {
        section! { @report [$($doc)+] $name $(
            [$($fdoc)+] [$($($serde)*)?] $field: $type [$($($note)*)?],
        )* }
        impl $name {
            /// From what was measured.
            pub(in $crate::metrics) fn of($inputs: &Inputs<'_>) -> $name {
                $($setup)*
                $name { $($field: $value,)* }
            }
        }
    };

    (
        $(#[doc = $doc:literal])+ pub struct $name:ident;
        $(#[doc = $about:literal])+ counters $counts:ident in $place:ident { $(
            $(#[doc = $cdoc:literal])+ $(#[serde($($cserde:tt)*)])?
            $counter:ident: $ctype:ty $([$($cnote:tt)*])?,
        )* }
        sums { $($(#[doc = $sdoc:literal])+ $sum:ident: $stype:ty,)* }
        values($inputs:ident) { $($setup:tt)* } { $(
            $(#[doc = $fdoc:literal])+ $(#[serde($($serde:tt)*)])?
            $field:ident: $type:ty $([$($note:tt)*])? = $value:expr,
        )* }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $counts {
            $($(#[doc = $cdoc])+ pub $counter: $ctype,)*
            $($(#[doc = $sdoc])+ pub $sum: $stype,)*
        }
        section! { @report [$($doc)+] $name
            $(
                [$($cdoc)+] [$($($cserde)*)?]
                $counter: <$ctype as $crate::metrics::form::Counter>::Reported [$($($cnote)*)?],
            )*
            $([$($fdoc)+] [$($($serde)*)?] $field: $type [$($($note)*)?],)*
        }
        impl $name {
            /// From what was measured.
            pub(in $crate::metrics) fn of($inputs: &Inputs<'_>) -> $name {
                $($setup)*
                $name {
                    $($counter: $crate::metrics::form::Counter::reported(
                        &$inputs.measured.$place.$counter,
                    ),)*
                    $($field: $value,)*
                }
            }
        }
    };

    (@report [$($doc:literal)+] $name:ident $(
        [$($fdoc:literal)+] [$($serde:tt)*] $field:ident: $type:ty [$($note:tt)*],
    )*) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($(#[doc = $fdoc])+ #[serde($($serde)*)] pub $field: $type,)*
        }
        impl $name {
            /// Its description.
            pub const SECTION: &'static $crate::metrics::field::Section =
                &$crate::metrics::field::Section {
                    name: stringify!($name),
                    doc: concat!($($doc, "\n"),+),
                    fields: &[$($crate::metrics::field::Field {
                        name: stringify!($field),
                        doc: concat!($($fdoc, "\n"),+),
                        kind: <$type as $crate::metrics::form::Form>::KIND,
                        unit: section!(@unit $($note)*),
                        columns: section!(@columns $($note)*),
                        serde: stringify!($($serde)*),
                    }),*],
                };
        }
        impl $crate::metrics::form::Form for $name {
            const KIND: $crate::metrics::field::Kind =
                $crate::metrics::field::Kind::Section($name::SECTION);
        }
    };

    (@unit) => { $crate::metrics::field::Unit::Number };
    (@unit $unit:ident $($column:tt)*) => { $crate::metrics::field::Unit::$unit };
    (@columns $($unit:ident)?) => { &[] };
    (@columns $unit:ident, $($column:expr),+) => {{
        #[allow(unused_imports, reason = "no section has columns of all roles")]
        use $crate::metrics::column::{fact, measure, paged, ranked, shown, subject};
        &[$($column),+]
    }};
}

pub(super) use section;
