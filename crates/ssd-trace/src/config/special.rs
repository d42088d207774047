//! Keys of `[workload]` with a special syntax.

use super::{AllVolumes, Arrival, ArrivalKind, RunConfig, SizeShare, VolumeKey};
use crate::read::formats::Mapping;
use ssd_core::config::Word;
use ssd_core::config::draft::Draft;
use ssd_core::config::keys::Special;
use ssd_core::config::keys::syntax::{SIZE_TYPES, TEXT, entries, quoted, report, set_word};
use ssd_core::config::text::error::Errors;
use ssd_core::config::text::parse::{Node, RawValue};
use ssd_core::config::text::quantity::{FREQUENCY, TIME, show_size, show_time};
use ssd_core::config::text::read::{self, Span};

/// Longest time between or within arrivals: one year.
const MAX_TIME: u64 = 365 * 86_400 * 1_000_000_000;
/// Largest request.
const MAX_REQUEST: u64 = 1 << 30;
pub(super) static UNIT_PAGE: Special<RunConfig> = Special {
    form: "size, 512 B to 1 MiB",
    default: None,
    read: |draft, errors, path, node| {
        let result = read::block_size(node, 512, 1 << 20).and_then(|n| {
            if !n.is_multiple_of(512) {
                return Err(format!("found {}; expected a multiple of 512 bytes", node.describe()));
            }
            draft.config.workload.page_bytes = n as u32;
            Ok(())
        });
        report(errors, path, node, result);
    },
    show: |config| Some(quoted(&show_size(u64::from(config.workload.page_bytes)))),
    text: false,
    types: SIZE_TYPES,
};

/// A key for a path; with `none`, the word "none" means no path.
macro_rules! path_key {
    ($name:ident, $field:ident, $expected:literal, none: $none:literal) => {
        pub(super) static $name: Special<RunConfig> = Special {
            form: "string",
            default: Some("none"),
            read: |draft, errors, path, node| {
                let set = read::text(node).and_then(|said| {
                    if said.is_empty() {
                        return Err(concat!("found \"\"; expected ", $expected).to_string());
                    }
                    let none = $none && said == "none";
                    draft.config.workload.$field = (!none).then(|| said.to_string());
                    Ok(())
                });
                report(errors, path, node, set);
            },
            show: |config| config.workload.$field.as_deref().map(quoted),
            text: true,
            types: TEXT,
        };
    };
}

path_key!(TRACE, trace, "a path, or \"-\"", none: false);
path_key!(MSR, msr, "the path of a folder, or \"none\"", none: true);
path_key!(JOB, job, "a path", none: false);
path_key!(LIKE, like, "a path, or \"none\"", none: true);

pub(super) static COLUMNS: Special<RunConfig> = Special {
    form: "columns, or \"none\"",
    default: Some("none: those of the format"),
    read: |draft, errors, path, node| {
        let set = read::text(node).and_then(|text| {
            if text == "none" {
                draft.config.workload.columns = None;
                return Ok(());
            }
            Mapping::parse(text)?;
            draft.config.workload.columns = Some(text.to_string());
            Ok(())
        });
        report(errors, path, node, set);
    },
    show: |config| config.workload.columns.as_deref().map(quoted),
    text: true,
    types: TEXT,
};

pub(super) static VOLUME: Special<RunConfig> = Special {
    form: "whole number below 2^63, \"all\" or \"none\"",
    default: Some("none: the trace has one volume"),
    read: |draft, errors, path, node| {
        if node.text() == Some("none") {
            draft.config.workload.volume = None;
            return;
        }
        if node.text() == Some("all") {
            draft.config.workload.volume = Some(VolumeKey::Every(AllVolumes::All));
            return;
        }
        let set = read::int(node, 0, i64::MAX as u64)
            .map(|volume| draft.config.workload.volume = Some(VolumeKey::One(volume)));
        report(errors, path, node, set);
    },
    show: |config| {
        config.workload.volume.map(|volume| match volume {
            VolumeKey::One(number) => number.to_string(),
            VolumeKey::Every(AllVolumes::All) => quoted("all"),
        })
    },
    text: false,
    types: &["string", "integer"],
};

pub(super) static WORKLOAD_SEED: Special<RunConfig> = Special {
    form: "whole number below 2^63, or \"run\"",
    default: Some("run: that of the run"),
    read: |draft, errors, path, node| {
        if node.text() == Some("run") {
            draft.config.workload.seed = None;
            return;
        }
        let set = read::int(node, 0, i64::MAX as u64)
            .map_err(|message| format!("{message}, or \"run\""))
            .map(|seed| draft.config.workload.seed = Some(seed));
        report(errors, path, node, set);
    },
    show: |config| config.workload.seed.map(|seed| seed.to_string()),
    text: false,
    types: &["string", "integer"],
};

/// Longest gap within a train: a gap of 1 ms or more ends it.
const LONGEST_TRAIN_GAP: u64 = 999_999;

pub(super) static TRAIN_GAP: Special<RunConfig> = Special {
    form: "time below 1 ms",
    default: None,
    read: |draft, errors, path, node| {
        let set = read::time(node, MAX_TIME).and_then(|ns| {
            if ns > LONGEST_TRAIN_GAP {
                return Err(format!("found {}; expected a time below 1 ms", node.describe()));
            }
            draft.config.workload.train_gap_ns = ns;
            Ok(())
        });
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&show_time(config.workload.train_gap_ns))),
    text: false,
    types: TEXT,
};

pub(super) static ACTION: Special<RunConfig> = Special {
    form: "\"Q\", \"D\" or \"C\"",
    default: None,
    read: |draft, errors, path, node| {
        let set = read::word(node, ["Q", "D", "C"].into_iter()).map(|word| {
            draft.config.workload.action = word.chars().next().unwrap_or('Q');
        });
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&config.workload.action.to_string())),
    text: false,
    types: TEXT,
};

pub(super) static UNTIL: Special<RunConfig> = Special {
    form: "time, or \"end\"",
    default: None,
    read: |draft, errors, path, node| {
        if node.text() == Some("end") {
            draft.config.workload.until_ns = None;
            return;
        }
        let set = read::time(node, 100 * MAX_TIME);
        let set = set.map(|ns| draft.config.workload.until_ns = Some(ns));
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&config.workload.until_ns.map_or("end".to_string(), show_time))),
    text: false,
    types: TEXT,
};

pub(super) static SIZES: Special<RunConfig> = Special {
    form: "size, or a list of { size, weight }",
    default: None,
    read: |draft, errors, path, node| {
        let RawValue::List(items) = &node.literal else {
            match request_size(node) {
                Ok(bytes) => {
                    draft.config.workload.sizes = vec![SizeShare { bytes, weight: 1.0 }];
                }
                Err(message) => errors.add(node.place, path, message),
            }
            return;
        };
        if items.is_empty() {
            errors.add(node.place, path, "the list is empty; expected at least one size");
            return;
        }
        let before = errors.count();
        let shares: Vec<_> =
            items.iter().filter_map(|item| size_share(errors, path, item)).collect();
        if errors.count() == before {
            draft.config.workload.sizes = shares;
        }
    },
    show: |config| {
        let shown = |s: &SizeShare| {
            let size = show_size(u64::from(s.bytes));
            format!("{{ size = {size:?}, weight = {:?} }}", s.weight)
        };
        match &config.workload.sizes[..] {
            [SizeShare { bytes, weight }] if weight.to_bits() == 1f64.to_bits() => {
                Some(quoted(&show_size(u64::from(*bytes))))
            }
            items => Some(format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", "))),
        }
    },
    text: false,
    types: &["string", "integer", "array"],
};

fn request_size(node: &Node) -> Result<u32, String> {
    let bytes = read::block_size(node, 512, MAX_REQUEST)?;
    if bytes % 512 != 0 {
        return Err(format!("found {}; expected a multiple of 512 B", node.describe()));
    }
    Ok(bytes as u32)
}

fn size_share(errors: &mut Errors, path: &str, node: &Node) -> Option<SizeShare> {
    let before = errors.count();
    let mut share = SizeShare { bytes: 0, weight: 1.0 };
    for (key, value) in entries(errors, path, node, &["size", "weight"]) {
        let set = match key.as_str() {
            "size" => request_size(value).map(|bytes| share.bytes = bytes),
            _ => read::real(value, Span::above(0.0, 1e12)).map(|weight| share.weight = weight),
        };
        report(errors, &format!("{path}.{key}"), value, set);
    }
    if errors.count() == before && share.bytes == 0 {
        errors.add(
            node.place,
            path,
            "the size is missing; expected { size = \"4 KiB\", weight = 1 }",
        );
    }
    (errors.count() == before).then_some(share)
}

pub(super) static ARRIVAL: Special<RunConfig> = Special {
    form: "kind, or { kind, interval or rate, burst, pause }",
    default: None,
    read: |draft, errors, path, node| {
        let names = ["kind", "interval", "rate", "burst", "pause"];
        let fields = entries(errors, path, node, &names);
        if ["interval", "rate"].iter().all(|name| fields.iter().any(|(key, _)| key == name)) {
            let message = "both `interval` and `rate` are set; keep one of them";
            errors.add(node.place, path, message);
        }
        for (key, value) in &fields {
            let set = set_arrival(draft, key, value);
            report(errors, &format!("{path}.{key}"), value, set);
        }
        let names = |name| fields.iter().any(|(key, _)| key == name);
        let arrival = &mut draft.config.workload.arrival;
        // Another kind resets the bursts of an earlier layer, as another workload kind drops its trace.
        if names("kind") && arrival.kind != ArrivalKind::Bursty {
            let default = Arrival::default();
            arrival.burst = if names("burst") { arrival.burst } else { default.burst };
            arrival.pause_ns = if names("pause") { arrival.pause_ns } else { default.pause_ns };
        }
    },
    show: |config| {
        let Arrival { kind, interval_ns, burst, pause_ns } = config.workload.arrival;
        let (kind, interval, pause) = (kind.word(), show_time(interval_ns), show_time(pause_ns));
        Some(format!(
            "{{ kind = {kind:?}, interval = {interval:?}, burst = {burst}, pause = {pause:?} }}"
        ))
    },
    text: false,
    types: &["string", "object"],
};

fn set_arrival(draft: &mut Draft<'_, RunConfig>, key: &str, value: &Node) -> Result<(), String> {
    let arrival = &mut draft.config.workload.arrival;
    match key {
        "kind" => draft.pending.note_part("workload.arrival.kind"),
        "interval" | "rate" => draft.pending.note_part("workload.arrival.interval"),
        _ => {}
    }
    match key {
        "kind" => set_word(&mut arrival.kind, value),
        "interval" => read::time(value, MAX_TIME).map(|ns| arrival.interval_ns = ns),
        "pause" => read::time(value, MAX_TIME).map(|ns| arrival.pause_ns = ns),
        "burst" => read::int(value, 1, 1 << 24).map(|n| arrival.burst = n as u32),
        _ => interval_of(value).map(|ns| arrival.interval_ns = ns),
    }
}

/// Returns the mean interval at a rate of requests, rounded to nanoseconds.
fn interval_of(node: &Node) -> Result<u64, String> {
    let (per_1000_s, exact) = read::quantity(node, &FREQUENCY)?;
    if !exact || !(1..=1_000_000_000_000).contains(&per_1000_s) {
        let expected = "a rate from 0.001 to 1000000000 per s in steps of 0.001";
        return Err(format!("found {}; expected {expected}", node.describe()));
    }
    let second = TIME.read("1000 s").map_or(0, |(ns, _)| ns);
    Ok(((second + per_1000_s / 2) / per_1000_s) as u64)
}
