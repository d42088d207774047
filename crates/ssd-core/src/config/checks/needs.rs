//! Keys that have an effect only with certain values of other keys. Otherwise they have their
//! defaults, so that equal runs have equal configs, and any other value is an error that states what
//! the key needs.

use crate::config::draft::Draft;
use crate::config::keys::Key;
use crate::config::tables::*;
use crate::config::text::error::{Errors, SourcePos};
use crate::config::text::parse;

/// What `keys` need to have an effect.
pub struct Need<C: 'static> {
    keys: &'static [&'static str],
    /// The keys that decide. If one of them is set in a later layer than a key, that key is dropped without
    /// an error, as an earlier trace is by a later kind of workload.
    switches: &'static [&'static str],
    met: fn(&C) -> bool,
    /// "host.link_rate", after "it needs".
    pub(crate) words: &'static str,
}

/// `keys` have an effect only if `met`, which depends on the keys `switches` and is called `words`.
pub const fn need<C>(
    keys: &'static [&'static str],
    switches: &'static [&'static str],
    met: fn(&C) -> bool,
    words: &'static str,
) -> Need<C> {
    Need { keys, switches, met, words }
}

/// In the order of the keys, except that a key that others need precedes them.
pub(crate) const NEEDS: &[Need<Config>] = &[
    need(
        &["device.bits", "device.word_line"],
        &["timing.read_types", "timing.program_types", "timing.read", "timing.program", "slc.mode"],
        |c| {
            let t = &c.timing;
            !(t.read_types_ns.is_empty() && t.program_types_ns.is_empty() && c.slc.is_off())
        },
        "timing.read_types, timing.program_types or an slc.mode",
    ),
    need(
        &["timing.suspend_time", "timing.resume_time", "timing.suspend_limit"],
        &["timing.suspend"],
        |c| c.timing.suspend != Suspend::None,
        "a timing.suspend",
    ),
    need(
        &[
            "interconnect.flit_bits",
            "interconnect.slice_time",
            "interconnect.columns",
            "interconnect.rows",
            "interconnect.mean_path",
            "interconnect.rounding",
            "controller.traversals_host",
        ],
        &["interconnect.model"],
        |c| c.interconnect.model != InterconnectModel::None,
        "an interconnect.model",
    ),
    need(
        &["zns.units", "zns.open", "zns.active"],
        &["host.interface"],
        Config::is_zoned,
        "host.interface = \"zns\"",
    ),
    need(
        &["gc.victim", "gc.trigger", "gc.amount"],
        &["host.interface"],
        |c| !c.is_zoned(),
        "host.interface = \"block\": a drive with zones collects nothing, and its host collects the zone \
         with the fewest live pages",
    ),
    need(
        &["host.think_every"],
        &["host.think_time"],
        |c| c.host.think_time_ns > 0,
        "host.think_time",
    ),
    need(
        &["host.queues"],
        &["host.mode", "host.max_outstanding"],
        |c| c.host.mode == HostMode::Open && c.host.max_outstanding > 0,
        "host.mode = \"open\" and a host.max_outstanding",
    ),
    need(
        &["host.link_duplex"],
        &["host.link_rate"],
        |c| c.host.link_bytes_per_s.is_some(),
        "host.link_rate",
    ),
    need(
        &["host.write_buffer_threshold"],
        &["host.write_buffer_pages"],
        |c| c.host.write_buffer_pages > 0,
        "host.write_buffer_pages",
    ),
    need(
        &[
            "raid.update",
            "raid.redirect",
            "raid.merge",
            "raid.read_buffer_pages",
            "raid.reads",
            "raid.fail",
        ],
        &["raid.group"],
        |c| c.raid.group > 0,
        "raid.group",
    ),
    need(
        &["raid.queue"],
        &["raid.redirect"],
        |c| c.raid.redirect.policy != "none",
        "a raid.redirect",
    ),
    need(&["raid.spares"], &["raid.fail"], |c| !c.raid.fail.is_empty(), "a raid.fail"),
    need(
        &["raid.rebuild_rate", "raid.rebuild_window", "raid.until_rebuilt"],
        &["raid.spares"],
        |c| c.raid.spares > 0,
        "raid.spares of at least 1: without a spare chip nothing is rebuilt",
    ),
    need(
        &["slc.read", "slc.program", "slc.fold", "slc.path", "slc.full"],
        &["slc.mode"],
        |c| !c.slc.is_off(),
        "an slc.mode",
    ),
    need(
        &["slc.static"],
        &["slc.mode"],
        |c| c.slc.mode.has_static(),
        "slc.mode = \"static\" or \"hybrid\"",
    ),
    need(
        &["slc.share"],
        &["slc.mode"],
        |c| c.slc.mode.has_share(),
        "slc.mode = \"dynamic\" or \"hybrid\"",
    ),
    need(
        &["slc.idle"],
        &["slc.fold", "slc.mode"],
        |c| !c.slc.is_off() && c.slc.fold == Fold::Idle,
        "slc.fold = \"idle\"",
    ),
    need(
        &["slc.endurance"],
        &["wear.endurance", "slc.mode"],
        |c| !c.slc.is_off() && c.wear.endurance > 0,
        "an slc.mode and wear.endurance",
    ),
    need(
        &["power.nvram", "power.nvram_time", "power.checkpoint", "power.buffer"],
        &["power.cut"],
        |c| !c.power.is_off(),
        "a power.cut",
    ),
    need(
        &["power.buffer"],
        &["host.write_buffer_pages"],
        |c| c.host.write_buffer_pages > 0,
        "host.write_buffer_pages",
    ),
    need(
        &["controller.retry_limit", "controller.retry_factor"],
        &["controller.retry_probability", "controller.retry_growth"],
        |c| c.controller.retry_probability > 0.0 || c.controller.retry_growth > 0.0,
        "controller.retry_probability or controller.retry_growth",
    ),
    need(
        &["wear.endurance_spread", "wear.daily_writes", "wear.warranty_years"],
        &["wear.endurance"],
        |c| c.wear.endurance > 0,
        "wear.endurance",
    ),
    need(
        &[
            "precondition.fill",
            "precondition.order",
            "precondition.overwrite",
            "precondition.steady_state",
        ],
        &["precondition.snapshot"],
        |c| c.precondition.snapshot.is_none(),
        "precondition.snapshot = \"none\"",
    ),
    need(
        &["precondition.order"],
        &["precondition.steady_state"],
        |c| c.precondition.steady_state == SteadyStart::None,
        "precondition.steady_state = \"none\"",
    ),
];

/// What `path` needs, in words.
pub(crate) fn of<C>(needs: &'static [Need<C>], path: &str) -> impl Iterator<Item = &'static str> {
    needs.iter().filter(move |need| need.keys.contains(&path)).map(|need| need.words)
}

/// Reset keys without effect to their defaults, and report those that were set for nothing. `find` finds a key.
pub(crate) fn apply<C: Clone + 'static>(
    needs: &[Need<C>],
    find: impl Fn(&str) -> Option<&'static Key<C>>,
    defaults: &C,
    draft: &mut Draft<'_, C>,
    errors: &mut Errors,
) {
    for need in needs {
        if (need.met)(draft.config) || need.switches.iter().any(|key| errors.touches(key)) {
            continue;
        }
        for path in need.keys {
            let key = find(path).expect("a key of the table");
            if errors.touches(path) || key.show(draft.config) == key.show(defaults) {
                continue;
            }
            match draft.pending.set_in_vain(path, need.switches) {
                Some(place) => {
                    let words = need.words;
                    errors.add(place, path, format!("has no effect here: it needs {words}"));
                }
                None => reset(key, defaults, draft, errors),
            }
        }
    }
}

/// Set `key` to its default, as if the input had done so.
fn reset<C: Clone>(key: &Key<C>, defaults: &C, draft: &mut Draft<'_, C>, errors: &mut Errors) {
    // A key that shows nothing by default has a word for it: the first one of what the reference says.
    let word = || format!("\"{}\"", key.word_for_nothing());
    let text = key.show(defaults).unwrap_or_else(word);
    let node = parse::set_value(SourcePos::NOWHERE, key.path, &text, false, errors);
    key.apply(draft, errors, &node.expect("a default is TOML"));
    assert_eq!(key.show(draft.config), key.show(defaults), "{} has its default", key.path);
}
