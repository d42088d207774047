//! Which types may be fields of the report, and their forms in JSON.

use super::field::Kind;
use std::collections::BTreeMap;

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
