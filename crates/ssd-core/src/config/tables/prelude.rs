//! What the files of the tables need to declare keys.

pub(super) use super::{Config, words::*};
pub(super) use crate::config::draft::{self, Capacity, Transfer};
pub(super) use crate::config::keys::policy::{
    CONCURRENCIES, ORDERS, PLACEMENTS, REDIRECTS, Registry, SEPARATIONS, TRIGGERS, VICTIMS,
};
pub(super) use crate::config::keys::syntax::{SIZE_TYPES, TEXT, entries, quoted, report, set_word};
pub(super) use crate::config::keys::{Special, show};
pub(super) use crate::config::text::error::did_you_mean;
pub(super) use crate::config::text::parse::RawValue;
pub(super) use crate::config::text::quantity::{show_rate_or_unlimited, show_size, show_time};
pub(super) use crate::config::text::read::{self, Span};
pub(super) use crate::config::words::Word;
pub(super) use crate::plug::PolicySpec;
pub(super) use serde::{Deserialize, Serialize};

pub(super) const MILLISECOND: u64 = 1_000_000;
pub(super) const MINUTE: u64 = 60_000_000_000;
pub(super) const YEAR: u64 = 365 * 24 * 60 * MINUTE;
pub(super) const SHARE: Span = Span::closed(0.0, 1.0);

/// Of a key that is newer than the first reports: a configuration that does not set it keeps its digest.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn is_off(flag: &bool) -> bool {
    !flag
}

/// The policy called `name` with its defaults.
pub(super) fn default_spec(registry: Registry, name: &str) -> PolicySpec {
    PolicySpec::with_defaults(registry.find(name).expect("a default policy exists"))
}
