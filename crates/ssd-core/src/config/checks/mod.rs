//! What must hold between keys. `needs`: keys that have an effect only with certain values of others. `rules`:
//! combinations that cannot work, with the numbers and a remedy.

pub mod needs;
mod power;
mod raid;
pub(crate) mod rules;
mod separation;
mod slc;
mod zns;

use super::draft::Pending;
use super::text::error::{Errors, SourcePos};

/// Examines `keys`; an error is reported at the first of them that was set. A check is skipped if one of its
/// keys already has an error.
pub struct Check<C> {
    keys: &'static [&'static str],
    run: fn(&C) -> Option<String>,
    /// Later checks assume it and are skipped if it fails.
    basis: bool,
    /// It looks at the capacity: skipped as long as that has yet to follow from a trace (`device.fit`).
    sized: bool,
}

/// A check of `keys`.
pub const fn check<C>(keys: &'static [&'static str], run: fn(&C) -> Option<String>) -> Check<C> {
    Check { keys, run, basis: false, sized: false }
}

/// A check of `keys` that later checks assume.
pub const fn basis<C>(keys: &'static [&'static str], run: fn(&C) -> Option<String>) -> Check<C> {
    Check { keys, run, basis: true, sized: false }
}

/// A check of `keys` that looks at the capacity.
pub(crate) const fn sized<C>(
    keys: &'static [&'static str],
    run: fn(&C) -> Option<String>,
) -> Check<C> {
    Check { keys, run, basis: false, sized: true }
}

/// An error of a check: where, the key, the message.
pub(crate) type CheckError = (SourcePos, String, String);

/// Run all of `checks`. Errors of those that others assume are added at once, the rest returned. `follows`: the
/// capacity has yet to follow from a trace.
pub(crate) fn all<C>(
    checks: &[Check<C>],
    config: &C,
    follows: bool,
    pending: &Pending,
    errors: &mut Errors,
) -> Vec<CheckError> {
    let mut findings = Vec::new();
    for check in checks.iter().filter(|check| !(follows && check.sized)) {
        if check.keys.iter().any(|key| errors.touches(key)) {
            continue;
        }
        if let Some(message) = (check.run)(config) {
            let first_set = pending.first_set(check.keys);
            let (key, place) = first_set.unwrap_or((check.keys[0], SourcePos::NOWHERE));
            // The key in front of a message is not said again.
            let said = message.strip_prefix(key).and_then(|rest| rest.strip_prefix(' '));
            let message = said.map_or_else(|| message.clone(), str::to_string);
            if check.basis {
                errors.add(place, key, message);
            } else {
                findings.push((place, key.to_string(), message));
            }
        }
    }
    findings
}
