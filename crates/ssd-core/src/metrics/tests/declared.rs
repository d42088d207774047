//! A section that is declared is counted, computed and described.

use crate::metrics::declare::section;
use crate::metrics::describe::describe;
use crate::metrics::field::{Kind, Unit};
use crate::metrics::inputs::Inputs;
use crate::metrics::report::Report;

/// A report of what an empty device measures when `gc.calls` is 7.
fn with_inputs(check: impl FnOnce(&Inputs<'_>)) {
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
    assert_eq!((double.unit, double.doc), (Unit::Duration, " Computed at the end,\n of calls.\n"));
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
