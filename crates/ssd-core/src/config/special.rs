//! Keys with a special syntax: alternatives, lists, small tables.

use super::default::{BUS_RATE as DEFAULT_BUS_RATE, OVER_PROVISIONING as DEFAULT_OP};
use super::error::{Errors, did_you_mean, one_of};
use super::parse::{Node, Said};
use super::policy::TRIGGERS;
use super::print;
use super::quantity::{FREQUENCY, TIME, show_rate, show_size, show_time};
use super::read::{self, Span};
use super::resolve::{Capacity, Draft, Transfer};
use super::words::*;
use super::{Arrival, Config, SizeShare};

/// A key that is neither a number nor a word.
pub(crate) struct Special {
    /// Type, for the reference.
    pub(crate) form: &'static str,
    /// Default, where it is not what `show` prints of the default config.
    pub(crate) default: Option<&'static str>,
    /// Set it from the input, or report why not.
    pub(crate) read: fn(&mut Draft, &mut Errors, &str, &Node),
    /// As TOML; `None` if another key prints it.
    pub(crate) show: fn(&Config) -> Option<String>,
    /// The value is free text.
    pub(crate) text: bool,
    /// Accepted JSON types.
    pub(crate) types: &'static [&'static str],
}

const TEXT: &[&str] = &["string"];
const SIZE_TYPES: &[&str] = &["string", "integer"];
/// Longest time between or within arrivals: one year.
const MAX_TIME: u64 = 365 * 86_400 * 1_000_000_000;
/// Largest request.
const MAX_REQUEST: u64 = 1 << 30;

fn report(errors: &mut Errors, path: &str, node: &Node, result: Result<(), String>) {
    if let Err(message) = result {
        errors.add(node.place, path, message);
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

pub(crate) static NAME: Special = Special {
    form: "string",
    default: Some("name of the file or of the preset, otherwise \"run\""),
    read: |draft, errors, path, node| {
        let result = read::text(node).and_then(|name| {
            if !is_folder_name(name) {
                let expected = "1 to 100 letters, digits, spaces and .-_+, not starting with a dot";
                return Err(format!("found {}; expected {expected}", node.found()));
            }
            draft.config.run.name = name.to_string();
            Ok(())
        });
        report(errors, path, node, result);
    },
    show: |config| Some(quoted(&config.run.name)),
    text: true,
    types: TEXT,
};

/// Whether `name` is a valid folder name on every system and contains no path.
pub(crate) fn is_folder_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_' | '+');
    (1..=100).contains(&name.len())
        && name.chars().all(fits)
        && !name.starts_with(['.', ' '])
        && !name.ends_with(['.', ' '])
}

pub(crate) static PAGE_SIZE: Special = Special {
    form: "size, 2 KiB to 64 KiB",
    default: None,
    read: |draft, errors, path, node| {
        let result = read::size(node, 2048, 65_536).and_then(|n| {
            if !n.is_power_of_two() {
                let found = node.found();
                return Err(format!("found {found}; expected 2, 4, 8, 16, 32 or 64 KiB"));
            }
            draft.config.device.page_bytes = n as u32;
            Ok(())
        });
        report(errors, path, node, result);
    },
    show: |config| Some(quoted(&show_size(u64::from(config.device.page_bytes)))),
    text: false,
    types: SIZE_TYPES,
};

pub(crate) static UNIT_PAGE: Special = Special {
    form: "size, 512 B to 1 MiB",
    default: None,
    read: |draft, errors, path, node| {
        let result = read::size(node, 512, 1 << 20).and_then(|n| {
            if !n.is_multiple_of(512) {
                return Err(format!("found {}; expected a multiple of 512 bytes", node.found()));
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

pub(crate) static OVER_PROVISIONING: Special = Special {
    form: "number above 0 and up to 100",
    default: Some(DEFAULT_OP),
    read: |draft, errors, path, node| {
        let ratio = read::decimal(node, Span::above(0.0, 100.0));
        let set = ratio.map(|ratio| draft.capacity = Capacity::OverProvisioning(ratio));
        report(errors, path, node, set);
    },
    show: |_| None,
    text: false,
    types: &["number"],
};

pub(crate) static USER_CAPACITY: Special = Special {
    form: "size",
    default: Some("from `over_provisioning`"),
    read: |draft, errors, path, node| {
        let set = read::bytes(node).map(|(n, _)| draft.capacity = Capacity::Bytes(n));
        report(errors, path, node, set);
    },
    show: |config| {
        let device = &config.device;
        Some(quoted(&show_size(u64::from(device.user_pages) * u64::from(device.page_bytes))))
    },
    text: false,
    types: SIZE_TYPES,
};

pub(crate) static TRANSFER: Special = Special {
    form: "time, at most 60 s",
    default: Some("from `bus_rate`"),
    read: |draft, errors, path, node| {
        let set = read::time(node, 60_000_000_000).map(|ns| draft.transfer = Transfer::Time(ns));
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&show_time(config.timing.transfer_ns))),
    text: false,
    types: TEXT,
};

pub(crate) static BUS_RATE: Special = Special {
    form: "rate",
    default: Some(DEFAULT_BUS_RATE),
    read: |draft, errors, path, node| {
        let set = read::rate(node).map(|rate| draft.transfer = Transfer::Rate(rate));
        report(errors, path, node, set);
    },
    show: |_| None,
    text: false,
    types: TEXT,
};

pub(crate) static LINK_RATE: Special = Special {
    form: "rate, or \"unlimited\"",
    default: None,
    read: |draft, errors, path, node| {
        let rate = match node.text() {
            Some("unlimited") => Ok(None),
            _ => read::rate(node).map(Some),
        };
        let set = rate.map(|rate| draft.config.host.link_bytes_per_s = rate);
        report(errors, path, node, set);
    },
    show: |config| {
        let rate = config.host.link_bytes_per_s;
        Some(quoted(&rate.map_or("unlimited".to_string(), show_rate)))
    },
    text: false,
    types: TEXT,
};

pub(crate) static BUFFERS: Special = Special {
    form: "whole number from 1 to 65536, or \"unlimited\"",
    default: None,
    read: |draft, errors, path, node| {
        let slots = match node.text() {
            Some("unlimited") => Ok(None),
            _ => read::int(node, 1, 65_536).map(|n| Some(n as u32)),
        };
        let slots = slots.map_err(|message| format!("{message}, or \"unlimited\""));
        let set = slots.map(|slots| draft.config.controller.buffers = slots);
        report(errors, path, node, set);
    },
    show: |config| {
        let slots = config.controller.buffers;
        Some(slots.map_or_else(|| quoted("unlimited"), |n| n.to_string()))
    },
    text: false,
    types: &["integer", "string"],
};

pub(crate) static HOST_MODE: Special = Special {
    form: "\"open\" or \"closed\"",
    default: Some(
        "closed for `uniform`, `zipf`, `hot-cold` and `sequential`, set by the job file for `fio`, otherwise open",
    ),
    read: |draft, errors, path, node| {
        let words = HostMode::WORDS.iter().map(|&(word, _)| word);
        let set = read::word(node, words).map(|word| draft.host_mode = HostMode::from_word(word));
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(config.host.mode.word())),
    text: false,
    types: TEXT,
};

pub(crate) static FRONTIERS: Special = Special {
    form: Frontiers::FORMS,
    default: None,
    read: |draft, errors, path, node| {
        let found = node.text().unwrap_or_default();
        let set = found.parse().map(|value| draft.config.alloc.frontiers = value);
        let near = || did_you_mean(found, ["single", "host+gc", "streams:4"]);
        let set =
            set.map_err(|expected: String| format!("found {}; {expected}{}", node.found(), near()));
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&config.alloc.frontiers.to_string())),
    text: false,
    types: TEXT,
};

pub(crate) static TRIGGER: Special = Special {
    form: "trigger, or a list of triggers",
    default: None,
    read: |draft, errors, path, node| {
        let before = &draft.config.gc.trigger;
        let Said::List(items) = &node.said else {
            let named = match &node.said {
                Said::Table(table) => table.iter().any(|(key, _)| key == "policy"),
                _ => true,
            };
            if !named && before.len() > 1 {
                let message = "there are several triggers; give the whole list";
                errors.add(node.place, path, message);
            } else if let Some(spec) = TRIGGERS.read(errors, path, node, only(before)) {
                draft.config.gc.trigger = vec![spec];
            }
            return;
        };
        if items.is_empty() {
            errors.add(node.place, path, "the list is empty; expected at least one trigger");
            return;
        }
        let errors_before = errors.len();
        let specs: Vec<_> =
            items.iter().filter_map(|item| TRIGGERS.read(errors, path, item, None)).collect();
        if errors.len() == errors_before {
            draft.config.gc.trigger = specs;
        }
    },
    show: |config| {
        let shown: Vec<String> =
            config.gc.trigger.iter().map(|spec| print::policy(TRIGGERS, spec)).collect();
        match &shown[..] {
            [one] => Some(one.clone()),
            all => Some(format!("[{}]", all.join(", "))),
        }
    },
    text: false,
    types: &["string", "object", "array"],
};

fn only<T>(list: &[T]) -> Option<&T> {
    match list {
        [one] => Some(one),
        _ => None,
    }
}

/// Entries of the table at `node`, each known by name; a string is short for `{ first = "..." }`.
fn entries<'n>(
    errors: &mut Errors,
    path: &str,
    node: &'n Node,
    names: &[&'static str],
) -> Vec<(String, &'n Node)> {
    let table = match &node.said {
        Said::Text(_) => return vec![(names[0].to_string(), node)],
        Said::Table(table) => table,
        _ => {
            let list = names.join(", ");
            let message = format!("found {}; expected a table of {list}", node.found());
            errors.add(node.place, path, message);
            return Vec::new();
        }
    };
    let mut known = Vec::new();
    for (key, value) in table {
        if names.contains(&key.as_str()) {
            known.push((key.clone(), value));
        } else {
            let near = did_you_mean(key, names.iter().copied());
            let expected = one_of(names.iter().copied());
            let message = format!("unknown key; expected {expected}{near}");
            errors.add(value.place, &format!("{path}.{key}"), message);
        }
    }
    known
}

fn set_word<T: Word>(field: &mut T, node: &Node) -> Result<(), String> {
    let word = read::word(node, T::WORDS.iter().map(|&(word, _)| word))?;
    *field = T::from_word(word).unwrap_or(*field);
    Ok(())
}

pub(crate) static BLOCKING: Special = Special {
    form: "scope, or { scope, granularity }",
    default: None,
    read: |draft, errors, path, node| {
        let blocking = &mut draft.config.gc.blocking;
        for (key, value) in entries(errors, path, node, &["scope", "granularity"]) {
            let set = match key.as_str() {
                "scope" => set_word(&mut blocking.scope, value),
                _ => set_word(&mut blocking.granularity, value),
            };
            report(errors, &format!("{path}.{key}"), value, set);
        }
    },
    show: |config| {
        let b = config.gc.blocking;
        let (scope, granularity) = (b.scope.word(), b.granularity.word());
        Some(format!("{{ scope = {scope:?}, granularity = {granularity:?} }}"))
    },
    text: false,
    types: &["string", "object"],
};

pub(crate) static SNAPSHOT: Special = Special {
    form: "path of a file, or \"none\"",
    default: Some("none"),
    read: |draft, errors, path, node| {
        let set = read::text(node).and_then(|file| {
            if file.is_empty() {
                return Err("found \"\"; expected the path of a snapshot, or \"none\"".to_string());
            }
            draft.config.precondition.snapshot = (file != "none").then(|| file.to_string());
            Ok(())
        });
        report(errors, path, node, set);
    },
    show: |config| config.precondition.snapshot.as_deref().map(quoted),
    text: true,
    types: TEXT,
};

/// A key that holds a path; with `none`, the word "none" stands for no path.
macro_rules! path_key {
    ($name:ident, $field:ident, $expected:literal, none: $none:literal) => {
        pub(crate) static $name: Special = Special {
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

pub(crate) static VOLUME: Special = Special {
    form: "whole number below 2^63, or \"none\"",
    default: Some("none: the trace has one volume"),
    read: |draft, errors, path, node| {
        if node.text() == Some("none") {
            draft.config.workload.volume = None;
            return;
        }
        let set = read::int(node, 0, i64::MAX as u64)
            .map(|volume| draft.config.workload.volume = Some(volume));
        report(errors, path, node, set);
    },
    show: |config| config.workload.volume.map(|volume| volume.to_string()),
    text: false,
    types: &["string", "integer"],
};

pub(crate) static WORKLOAD_SEED: Special = Special {
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

pub(crate) static ACTION: Special = Special {
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

pub(crate) static UNTIL: Special = Special {
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

pub(crate) static SIZES: Special = Special {
    form: "size, or a list of { size, weight }",
    default: None,
    read: |draft, errors, path, node| {
        let Said::List(items) = &node.said else {
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
        let before = errors.len();
        let shares: Vec<_> =
            items.iter().filter_map(|item| size_share(errors, path, item)).collect();
        if errors.len() == before {
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
            all => Some(format!("[{}]", all.iter().map(shown).collect::<Vec<_>>().join(", "))),
        }
    },
    text: false,
    types: &["string", "integer", "array"],
};

fn request_size(node: &Node) -> Result<u32, String> {
    let bytes = read::size(node, 512, MAX_REQUEST)?;
    if bytes % 512 != 0 {
        return Err(format!("found {}; expected a multiple of 512 B", node.found()));
    }
    Ok(bytes as u32)
}

fn size_share(errors: &mut Errors, path: &str, node: &Node) -> Option<SizeShare> {
    let before = errors.len();
    let mut share = SizeShare { bytes: 0, weight: 1.0 };
    for (key, value) in entries(errors, path, node, &["size", "weight"]) {
        let set = match key.as_str() {
            "size" => request_size(value).map(|bytes| share.bytes = bytes),
            _ => read::real(value, Span::above(0.0, 1e12)).map(|weight| share.weight = weight),
        };
        report(errors, &format!("{path}.{key}"), value, set);
    }
    if errors.len() == before && share.bytes == 0 {
        errors.add(
            node.place,
            path,
            "the size is missing; expected { size = \"4 KiB\", weight = 1 }",
        );
    }
    (errors.len() == before).then_some(share)
}

pub(crate) static ARRIVAL: Special = Special {
    form: "kind, or { kind, interval or rate, burst, pause }",
    default: None,
    read: |draft, errors, path, node| {
        let names = ["kind", "interval", "rate", "burst", "pause"];
        let said = entries(errors, path, node, &names);
        if ["interval", "rate"].iter().all(|name| said.iter().any(|(key, _)| key == name)) {
            let message = "both `interval` and `rate` are set; keep one of them";
            errors.add(node.place, path, message);
        }
        for (key, value) in said {
            let set = set_arrival(draft, &key, value);
            report(errors, &format!("{path}.{key}"), value, set);
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

fn set_arrival(draft: &mut Draft, key: &str, value: &Node) -> Result<(), String> {
    let arrival = &mut draft.config.workload.arrival;
    draft.arrivals_said.0 |= key == "kind";
    draft.arrivals_said.1 |= matches!(key, "interval" | "rate");
    match key {
        "kind" => set_word(&mut arrival.kind, value),
        "interval" => read::time(value, MAX_TIME).map(|ns| arrival.interval_ns = ns),
        "pause" => read::time(value, MAX_TIME).map(|ns| arrival.pause_ns = ns),
        "burst" => read::int(value, 1, 1 << 24).map(|n| arrival.burst = n as u32),
        _ => interval_of(value).map(|ns| arrival.interval_ns = ns),
    }
}

/// Mean interval of a rate of requests, to the nearest nanosecond.
fn interval_of(node: &Node) -> Result<u64, String> {
    let (per_1000_s, exact) = read::quantity(node, &FREQUENCY)?;
    if !exact || !(1..=1_000_000_000_000).contains(&per_1000_s) {
        let expected = "a rate from 0.001 to 1000000000 per s in steps of 0.001";
        return Err(format!("found {}; expected {expected}", node.found()));
    }
    let second = TIME.read("1000 s").map_or(0, |(ns, _)| ns);
    Ok(((second + per_1000_s / 2) / per_1000_s) as u64)
}
