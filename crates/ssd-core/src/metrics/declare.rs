//! How the report is declared: [`section!`] takes the fields of a section once, with their documentation,
//! unit and columns, and defines the counters, the serialised struct and its description ([`Section`]).
//!
//! Schema, documentation, Python types, the formatting of numbers and the columns of comparisons are derived
//! from the descriptions (`schema`, `describe`, `columns`). A counter that is reported as it is stands in
//! `counters`, a value computed at the end in `values`, next to its computation; `sums` are counters that
//! only enter values.

use super::columns::Column;
use super::counters::{CAUSES, Cause};
use std::collections::BTreeMap;

/// A part of the report.
#[derive(Debug)]
pub struct Section {
    /// Name of the type, in Rust and Python.
    pub name: &'static str,
    /// Its documentation, line by line.
    pub doc: &'static str,
    /// Its fields, in the order of `report.json`.
    pub fields: &'static [Field],
}

impl Section {
    /// Its fields, with those that stand in place of one.
    pub fn flat_fields(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.fields.iter().flat_map(|field| match field.kind {
            Kind::Section(inner) if field.serde.contains("flatten") => inner.fields,
            _ => std::slice::from_ref(field),
        })
    }
}

/// A field of a section.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name in `report.json`.
    pub name: &'static str,
    /// Definition, line by line.
    pub doc: &'static str,
    /// Its form in JSON.
    pub kind: Kind,
    /// What it is measured in.
    pub unit: Unit,
    /// Its columns in comparisons.
    pub columns: &'static [Column],
    /// How it is serialised, if not as its name and value.
    pub serde: &'static str,
}

impl Field {
    /// It is left out where there is no value.
    #[must_use]
    pub fn optional(&self) -> bool {
        self.serde.contains("skip_serializing_if")
    }
}

/// What a number is measured in, and so how it is printed (`numbers`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Pages, blocks, requests, or anything else that is counted; also what is no number.
    Number,
    /// Nanoseconds.
    Duration,
    /// Bytes.
    Size,
    /// Bytes a second.
    Bandwidth,
    /// Things a second.
    Rate,
    /// A share, 0 to 1.
    Percent,
    /// A pure number that is compared with 1.
    Ratio,
}

impl Unit {
    /// Name of the quantity, as in the functions of `numbers`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Number => "number",
            Unit::Duration => "duration",
            Unit::Size => "size",
            Unit::Bandwidth => "bandwidth",
            Unit::Rate => "rate",
            Unit::Percent => "percent",
            Unit::Ratio => "ratio",
        }
    }
}

/// The form of a field in JSON.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An integer from 0.
    Count,
    /// A floating-point number.
    Number,
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// An object of any form: the configuration.
    Free,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A value, or `null`.
    Nullable(&'static Kind),
    /// A list of values.
    List(&'static Kind),
    /// An object with any keys.
    Map(&'static Kind),
    /// An object with these fields.
    Section(&'static Section),
}

/// A type that may be a field of the report.
pub trait Form {
    /// Its form.
    const KIND: Kind;
}

macro_rules! forms {
    ($($type:ty => $kind:expr),+ $(,)?) => { $(impl Form for $type { const KIND: Kind = $kind; })+ };
}
forms! {
    u32 => Kind::Count,
    u64 => Kind::Count,
    f64 => Kind::Number,
    String => Kind::Text,
    bool => Kind::Flag,
    serde_json::Value => Kind::Free,
}
impl<T: Form> Form for Option<T> {
    const KIND: Kind = Kind::Nullable(&T::KIND);
}
impl<T: Form> Form for Vec<T> {
    const KIND: Kind = Kind::List(&T::KIND);
}
impl Form for BTreeMap<Cause, u64> {
    const KIND: Kind = Kind::Section(&Section {
        name: "Counts",
        doc: "A count by cause.",
        fields: &by_cause(Kind::Count, Unit::Number),
    });
}
impl Form for BTreeMap<Cause, Option<f64>> {
    const KIND: Kind = Kind::Section(&Section {
        name: "Ratios",
        doc: "A ratio by cause.",
        fields: &by_cause(Kind::Nullable(&Kind::Number), Unit::Ratio),
    });
}

/// A field for every cause.
const fn by_cause(kind: Kind, unit: Unit) -> [Field; CAUSES] {
    let mut fields = [Field { name: "", doc: "", kind, unit, columns: &[], serde: "" }; CAUSES];
    let mut at = 0;
    while at < CAUSES {
        (fields[at].name, fields[at].doc) = (Cause::WORDS[at], Cause::DOCS[at]);
        at += 1;
    }
    fields
}
impl<T: Form> Form for BTreeMap<String, T> {
    const KIND: Kind = Kind::Map(&T::KIND);
}
impl<T: Form> Form for BTreeMap<u16, T> {
    const KIND: Kind = Kind::Map(&T::KIND);
}
impl<T: Form> Form for BTreeMap<u8, T> {
    const KIND: Kind = Kind::Map(&T::KIND);
}

/// A type of counters, and what the report shows of them.
pub trait Counter {
    /// Type of the field of the report.
    type Reported: Form;
    /// Its value.
    fn reported(&self) -> Self::Reported;
}

impl Counter for u64 {
    type Reported = u64;
    fn reported(&self) -> u64 {
        *self
    }
}

impl Counter for [u64; CAUSES] {
    type Reported = BTreeMap<Cause, u64>;
    fn reported(&self) -> BTreeMap<Cause, u64> {
        Cause::ALL.iter().map(|&cause| (cause, self[cause.at()])).collect()
    }
}

/// Declare a section of the report, in one of three ways: `fields` that others fill in; `values`, each with
/// the expression that computes it; or `counters` and `sums`, then `values`.
///
/// After its type a field may have notes in brackets: its [`Unit`], then its columns in comparisons.
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
            pub(in $crate::metrics) fn of($inputs: &$crate::metrics::build::Inputs<'_>) -> $name {
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
                $counter: <$ctype as $crate::metrics::declare::Counter>::Reported [$($($cnote)*)?],
            )*
            $([$($fdoc)+] [$($($serde)*)?] $field: $type [$($($note)*)?],)*
        }
        impl $name {
            /// From what was measured.
            pub(in $crate::metrics) fn of($inputs: &$crate::metrics::build::Inputs<'_>) -> $name {
                $($setup)*
                $name {
                    $($counter: $crate::metrics::declare::Counter::reported(
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
            pub const SECTION: &'static $crate::metrics::declare::Section =
                &$crate::metrics::declare::Section {
                    name: stringify!($name),
                    doc: concat!($($doc, "\n"),+),
                    fields: &[$($crate::metrics::declare::Field {
                        name: stringify!($field),
                        doc: concat!($($fdoc, "\n"),+),
                        kind: <$type as $crate::metrics::declare::Form>::KIND,
                        unit: section!(@unit $($note)*),
                        columns: section!(@columns $($note)*),
                        serde: stringify!($($serde)*),
                    }),*],
                };
        }
        impl $crate::metrics::declare::Form for $name {
            const KIND: $crate::metrics::declare::Kind =
                $crate::metrics::declare::Kind::Section($name::SECTION);
        }
    };

    (@unit) => { $crate::metrics::declare::Unit::Number };
    (@unit $unit:ident $($column:tt)*) => { $crate::metrics::declare::Unit::$unit };
    (@columns $($unit:ident)?) => { &[] };
    (@columns $unit:ident, $($column:expr),+) => {{
        #[allow(unused_imports, reason = "no section has columns of all roles")]
        use $crate::metrics::columns::{fact, measure, paged, ranked, shown, subject};
        &[$($column),+]
    }};
}

/// Declare an enum whose variants are words in reports and logs.
macro_rules! words {
    (
        $(#[$meta:meta])* pub enum $name:ident $(by default $default:ident)? {
            $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+
        }
        impl $name {
            /// All of them, in the order of their discriminants.
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];
            /// Their names, in the same order.
            pub const WORDS: [&'static str; $name::ALL.len()] = [$($word),+];
            /// Their definitions, in the same order.
            pub const DOCS: [&'static str; $name::ALL.len()] = [$(concat!($($doc),+)),+];
            /// Name in reports and logs.
            #[must_use]
            pub const fn name(self) -> &'static str {
                $name::WORDS[self as usize]
            }
        }
        $(impl Default for $name {
            fn default() -> $name {
                $name::$default
            }
        })?
        impl $crate::metrics::declare::Form for $name {
            const KIND: $crate::metrics::declare::Kind =
                $crate::metrics::declare::Kind::Words(&$name::WORDS);
        }
    };
}

pub(super) use {section, words};

#[cfg(test)]
#[allow(unreachable_pub, reason = "what `section!` declares is public in the report")]
mod tests {
    use super::*;
    use crate::metrics::describe::describe;
    use crate::metrics::report::Report;

    /// A report of what an empty device measures when `gc.calls` is 7.
    fn with_inputs(check: impl FnOnce(&crate::metrics::build::Inputs<'_>)) {
        let mut measured = crate::metrics::Measurements::new(crate::units::Nanos::ZERO, false);
        measured.gc.calls = 7;
        check(&crate::metrics::tests::inputs(&measured));
    }

    section! {
        /// An example.
        ///
        /// With more to say.
        pub struct Example;
        /// Its counters.
        counters ExampleCounts in gc {
            /// Reported as it is.
            calls: u64 [Number, fact("example_calls")],
        }
        sums {
            /// Not reported.
            hidden: u64,
        }
        values(inputs) {
            let gc = &inputs.measured.gc;
        } {
            /// Computed at the end,
            /// of calls.
            double: Option<u64> [Duration] = Some(2 * gc.calls),
        }
    }

    #[test]
    fn a_counter_that_is_declared_is_counted_reported_and_described() {
        let counts = ExampleCounts { calls: 1, hidden: 2 };
        assert_eq!((counts.calls, counts.hidden), (1, 2));
        with_inputs(|inputs| {
            let json = serde_json::to_string(&Example::of(inputs)).unwrap();
            assert_eq!(json, r#"{"calls":7,"double":14}"#);
        });
        let names: Vec<&str> = Example::SECTION.fields.iter().map(|field| field.name).collect();
        assert_eq!(names, ["calls", "double"]);
        let [calls, double] = Example::SECTION.fields else { panic!("two fields") };
        assert_eq!((calls.unit, calls.columns[0].name), (Unit::Number, "example_calls"));
        assert!(matches!(double.kind, Kind::Nullable(Kind::Count)) && double.columns.is_empty());
        assert_eq!(
            (double.unit, double.doc),
            (Unit::Duration, " Computed at the end,\n of calls.\n")
        );
    }

    #[test]
    fn every_field_of_the_report_is_defined_once_and_in_a_described_section() {
        let described = describe();
        let sections = described["sections"].as_array().unwrap();
        assert_eq!(sections[0]["name"], Report::SECTION.name);
        for section in sections {
            for field in section["fields"].as_array().unwrap() {
                let (name, doc) = (&field["name"], field["doc"].as_str().unwrap());
                let whole = doc.ends_with(['.', ')']) || doc.ends_with('`');
                assert!(whole && !doc.starts_with(' '), "{name} of {}: {doc:?}", section["name"]);
                if field["kind"][0] == "section" {
                    let known = sections.iter().any(|one| one["name"] == field["kind"][1]);
                    assert!(known, "{name}: {} is not described", field["kind"]);
                }
            }
        }
        let flat = sections.iter().find(|section| section["name"] == "Waf").unwrap();
        let names: Vec<&str> =
            flat["fields"].as_array().unwrap().iter().filter_map(|f| f["name"].as_str()).collect();
        assert_eq!(names[..3], ["total", "host", "gc"], "the ratios by cause stand in the section");
    }
}
