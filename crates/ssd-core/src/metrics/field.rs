//! What the report consists of: sections, fields, their kinds and units.

use super::column::Column;

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
