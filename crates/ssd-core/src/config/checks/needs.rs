//! Keys that have an effect only with certain values of other keys. Otherwise they have their
//! defaults, so that equal runs have equal configs, and any other value is an error that states what
//! the key needs.

use crate::config::draft::Draft;
use crate::config::keys::Key;
use crate::config::resolved::*;
use crate::config::text::error::{Errors, SourcePos};
use crate::config::text::parse;

/// What `keys` need to have an effect.
pub(crate) struct Need {
    keys: &'static [&'static str],
    /// The keys that decide. If one of them is set in a later layer than a key, that key is dropped without
    /// an error, as an earlier trace is by a later kind of workload.
    of: &'static [&'static str],
    met: fn(&Config) -> bool,
    /// "host.link_rate", after "it needs".
    pub(crate) words: &'static str,
}

const fn need(
    keys: &'static [&'static str],
    of: &'static [&'static str],
    met: fn(&Config) -> bool,
    words: &'static str,
) -> Need {
    Need { keys, of, met, words }
}

const KIND: &[&str] = &["workload.kind", "workload.trace", "workload.job"];
const FILES: &[&str] =
    &["workload.kind", "workload.trace", "workload.job", "workload.msr", "workload.like"];

/// In the order of the keys, except that a key that others need precedes them.
const NEEDS: &[Need] = &[
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
        &["host.think_every"],
        &["host.think_time"],
        |c| c.host.think_time_ns > 0,
        "host.think_time",
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
        &["controller.retry_limit", "controller.retry_factor"],
        &["controller.retry_probability", "controller.retry_growth"],
        |c| c.controller.retry_probability > 0.0 || c.controller.retry_growth > 0.0,
        "controller.retry_probability or controller.retry_growth",
    ),
    need(
        &["wear.endurance_spread"],
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
    need(
        &["workload.like"],
        KIND,
        |c| matches!(c.workload.kind.origin(), Origin::Application(_)),
        "a workload.kind of \"app:...\"",
    ),
    need(
        &["workload.msr"],
        KIND,
        |c| matches!(c.workload.kind.origin(), Origin::Volume(_)),
        "a workload.kind of \"msr:...\"",
    ),
    need(
        &["workload.format"],
        FILES,
        |c| c.workload.kind == WorkloadKind::Trace || c.workload.like.is_some(),
        "workload.trace or workload.like",
    ),
    need(
        &[
            "workload.volume",
            "workload.action",
            "workload.from",
            "workload.until",
            "workload.unit",
            "workload.sort",
            "workload.skip_bad",
            "workload.dedup",
        ],
        FILES,
        |c| replays(&c.workload) || c.workload.like.is_some(),
        "workload.trace, workload.like or workload.msr",
    ),
    need(
        &["workload.page_size"],
        &["workload.unit"],
        |c| c.workload.unit == TraceUnit::Pages,
        "workload.unit = \"pages\"",
    ),
    need(
        &["workload.max_bad"],
        &["workload.skip_bad"],
        |c| c.workload.skip_bad,
        "workload.skip_bad = true",
    ),
    need(
        &["workload.fit", "workload.loops", "workload.time_scale"],
        FILES,
        |c| replays(&c.workload),
        "workload.trace or workload.msr",
    ),
    need(
        &["workload.set"],
        FILES,
        |c| matches!(c.workload.kind.origin(), Origin::Application(_)) && c.workload.like.is_none(),
        "a workload.kind of \"app:...\" without workload.like",
    ),
    need(
        &["workload.size", "workload.read", "workload.trim"],
        KIND,
        |c| matches!(c.workload.kind.origin(), Origin::Shares | Origin::Trace),
        "a workload.kind of uniform, zipf, hot-cold or sequential",
    ),
    need(
        &["workload.requests"],
        KIND,
        |c| c.workload.kind.origin() != Origin::Jobs,
        "a synthetic workload other than fio",
    ),
    need(&["workload.seed"], FILES, |c| !replays(&c.workload), "synthetic requests"),
    need(
        &["workload.theta"],
        KIND,
        |c| c.workload.kind == WorkloadKind::Zipf,
        "workload.kind = \"zipf\"",
    ),
    need(
        &["workload.hot_space", "workload.hot_access"],
        KIND,
        |c| c.workload.kind == WorkloadKind::HotCold,
        "workload.kind = \"hot-cold\"",
    ),
];

/// Whether recorded requests are replayed.
fn replays(workload: &Workload) -> bool {
    workload.kind == WorkloadKind::Trace
        || (workload.msr.is_some() && matches!(workload.kind.origin(), Origin::Volume(_)))
}

/// What `path` needs, in words.
pub(crate) fn of(path: &str) -> impl Iterator<Item = &'static str> {
    NEEDS.iter().filter(move |need| need.keys.contains(&path)).map(|need| need.words)
}

/// Reset keys without effect to their defaults, and report those that were set for nothing.
pub(crate) fn apply(draft: &mut Draft<'_, Config>, errors: &mut Errors) {
    let defaults = Config::default();
    for need in NEEDS {
        if (need.met)(draft.config) || need.of.iter().any(|key| errors.touches(key)) {
            continue;
        }
        for path in need.keys {
            let key = Key::find(path).expect("a key of the table");
            if errors.touches(path) || key.show(draft.config) == key.show(&defaults) {
                continue;
            }
            match draft.pending.said_in_vain(path, need.of) {
                Some(place) => {
                    let words = need.words;
                    errors.add(place, path, format!("has no effect here: it needs {words}"));
                }
                None => reset(key, &defaults, draft, errors),
            }
        }
    }
}

/// Set `key` to its default, as if the input had done so.
fn reset(
    key: &'static Key<Config>,
    defaults: &Config,
    draft: &mut Draft<'_, Config>,
    errors: &mut Errors,
) {
    // A key that shows nothing by default holds a path or a number that may be "none".
    let text = key.show(defaults).unwrap_or_else(|| "\"none\"".to_string());
    let node = parse::set_value(SourcePos::NOWHERE, key.path, &text, false, errors);
    key.apply(draft, errors, &node.expect("a default is TOML"));
    assert_eq!(key.show(draft.config), key.show(defaults), "{} has its default", key.path);
}
