//! Why a flash operation happened, and what is counted by cause.

use super::field::{Field, Kind, Section, Unit};
use super::form::{Counter, Form};
use super::words::words;
use std::collections::BTreeMap;

words! {
    /// Why a flash operation happened.
    pub enum Cause {
        /// A host request.
        Host = "host",
        /// Garbage collection.
        Gc = "gc",
        /// The rest of a page (or stripe) of which the host writes only a part.
        Rmw = "rmw",
        /// Static wear levelling.
        Wear = "wear",
        /// Parity of a RAID group.
        Parity = "parity",
        /// The device's own metadata.
        Metadata = "metadata",
        /// Remapping of pages by their owner.
        Remap = "remap",
        /// A page of a parity group that is computed from the others, for a read of the host.
        Reconstruct = "reconstruct",
        /// A page that a failed chip held, for the spare.
        Rebuild = "rebuild",
        /// Folding of SLC blocks.
        Fold = "fold",
    }
}

/// Number of causes.
pub const CAUSES: usize = Cause::ALL.len();

impl Cause {
    /// As an index into the arrays of [`FlashCounts`].
    #[inline(always)]
    #[must_use]
    pub const fn at(self) -> usize {
        self as usize
    }
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

impl Counter for [u64; CAUSES] {
    type Reported = BTreeMap<Cause, u64>;
    fn reported(&self) -> BTreeMap<Cause, u64> {
        Cause::ALL.iter().map(|&cause| (cause, self[cause.at()])).collect()
    }
}

impl Cause {
    /// Why a sealed block is collected, for wear levelling or not.
    #[inline]
    #[must_use]
    pub fn of_job(levels: bool, is_slc: bool) -> Cause {
        match (levels, is_slc) {
            (true, _) => Cause::Wear,
            (false, true) => Cause::Fold,
            (false, false) => Cause::Gc,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_distinct_names_and_stand_in_order() {
        for (i, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(cause.at(), i);
            let json = serde_json::to_string(cause).unwrap();
            assert_eq!(json, format!("\"{}\"", cause.name()), "one name everywhere");
        }
    }
}
