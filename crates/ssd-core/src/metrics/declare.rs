//! How the report is declared: `section!` takes the fields of a section once, with their documentation,
//! unit and columns, and defines the counters, the serialised struct and its description (`form::Section`).
//!
//! Schema, documentation, Python types, the formatting of numbers and the columns of comparisons are derived
//! from the descriptions (`schema`, `describe`, `columns`). A counter that is reported as it is stands in
//! `counters`, a value computed at the end in `values`, next to its computation; `sums` are counters that
//! only enter values.

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
                $counter: <$ctype as $crate::metrics::form::Counter>::Reported [$($($cnote)*)?],
            )*
            $([$($fdoc)+] [$($($serde)*)?] $field: $type [$($($note)*)?],)*
        }
        impl $name {
            /// From what was measured.
            pub(in $crate::metrics) fn of($inputs: &$crate::metrics::build::Inputs<'_>) -> $name {
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
        impl $crate::metrics::form::Form for $name {
            const KIND: $crate::metrics::field::Kind =
                $crate::metrics::field::Kind::Words(&$name::WORDS);
        }
    };
}

pub(super) use {section, words};

#[cfg(test)]
#[allow(unreachable_pub, reason = "what `section!` declares is public in the report")]
mod tests {
    use crate::metrics::describe::describe;
    use crate::metrics::field::{Kind, Unit};
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
