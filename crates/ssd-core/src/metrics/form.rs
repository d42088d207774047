//! What the report consists of: sections, fields, their forms in JSON and their units.

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
