//! From input to resolved config: layers are applied in order (default, preset, file, `--set`), then
//! values that depend on several keys are computed, then the cross checks run. All errors are reported
//! together.

use super::error::{ConfigError, Errors, SourcePos, did_you_mean, nearest, one_of};
use super::keys::{KEYS, Key, Num, SECTIONS, Slot};
use super::parse::{self, Node, Said};
use super::policy::{CONCURRENCIES, ORDERS, PLACEMENTS, TRIGGERS, VICTIMS};
use super::quantity::Decimal;
use super::{
    ArrivalKind, Config, DeviceConfig, HostMode, Origin, WorkloadKind, check, default, needs,
    presets, read, special,
};
use std::collections::BTreeMap;

/// All input to a run; each part overrides the one before it.
#[derive(Clone, Default, Debug)]
pub struct Input {
    /// Name of a preset to start from; overrides the one that the file names.
    pub preset: Option<String>,
    /// A TOML file: its name, for messages, and its text.
    pub file: Option<(String, String)>,
    /// Single keys with their values, in order ("gc.victim.policy", "fifo"), as after `--set`.
    pub sets: Vec<(String, String)>,
}

/// The user capacity as it was set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Capacity {
    OverProvisioning(Decimal),
    Bytes(u128),
}

impl Default for Capacity {
    fn default() -> Capacity {
        let ratio = Decimal::parse(default::OVER_PROVISIONING);
        Capacity::OverProvisioning(ratio.expect("the default is a number"))
    }
}

impl Capacity {
    /// User pages, rounded down; `None` if out of range.
    pub(crate) fn user_pages(self, device: &DeviceConfig) -> Option<u128> {
        match self {
            Capacity::OverProvisioning(ratio) => ratio.share_without(device.physical_pages()?),
            Capacity::Bytes(bytes) => Some(bytes / u128::from(device.page_bytes.max(1))),
        }
    }
}

/// The time of a page on the bus as it was set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transfer {
    Time(u64),
    /// Bytes a second.
    Rate(u64),
}

impl Default for Transfer {
    fn default() -> Transfer {
        let rate = super::quantity::RATE.read(default::BUS_RATE).map(|(n, _)| n as u64);
        Transfer::Rate(rate.expect("the default is a rate"))
    }
}

impl Transfer {
    /// Nanoseconds for a page, to the nearest.
    pub(crate) fn of_page(self, page_bytes: u32) -> u64 {
        match self {
            Transfer::Time(ns) => ns,
            Transfer::Rate(rate) => {
                let scaled = u128::from(page_bytes) * 1_000_000_000;
                ((scaled + u128::from(rate) / 2) / u128::from(rate)) as u64
            }
        }
    }
}

/// A config while its layers are applied.
pub(crate) struct Draft {
    pub(crate) config: Config,
    pub(crate) capacity: Capacity,
    pub(crate) transfer: Transfer,
    /// As set; otherwise it follows from the workload.
    pub(crate) host_mode: Option<HostMode>,
    /// Whether kind and interval of the arrivals were set.
    pub(crate) arrivals_said: (bool, bool),
    /// Where each key was last set, and in which step: 0 is the preset, 1 the file, then each `--set`.
    said: BTreeMap<String, (SourcePos, u32)>,
    step: u32,
}

impl Draft {
    /// The first of `keys` that was set at all, and where; a table stands for its keys.
    pub(crate) fn first_said<'a>(&'a self, keys: &[&'a str]) -> Option<(&'a str, SourcePos)> {
        keys.iter().find_map(|key| {
            let inside = |said: &str| {
                said.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let said = self.said.iter().filter(|(said, _)| inside(said));
            said.max_by_key(|&(_, &(place, step))| (step, place))
                .map(|(key, (place, _))| (key.as_str(), *place))
        })
    }

    /// Where `key` was set by the user although none of the keys `of` was set after it.
    pub(crate) fn said_in_vain(&self, key: &str, of: &[&str]) -> Option<SourcePos> {
        let &(place, step) = self.said.get(key)?;
        let later = of.iter().filter_map(|key| self.said.get(*key)).any(|said| said.1 > step);
        (step > 0 && !later).then_some(place)
    }

    /// Set `key` to the value of `node`.
    pub(crate) fn say(&mut self, key: &'static Key, node: &Node, errors: &mut Errors) {
        apply_key(key, self, errors, node);
    }
}

/// Alternative keys: one layer may set only one of each pair.
const EITHER: [(&str, &str); 2] =
    [("device.over_provisioning", "device.user_capacity"), ("timing.transfer", "timing.bus_rate")];

/// The resolved config of `input`, or everything that is wrong with it.
///
/// # Errors
/// All errors at once, by file and line.
pub fn load(input: &Input) -> Result<Config, Vec<ConfigError>> {
    let mut errors = Errors::default();
    let mut draft = Draft {
        config: Config::default(),
        capacity: Capacity::default(),
        transfer: Transfer::default(),
        host_mode: None,
        arrivals_said: (false, false),
        said: BTreeMap::new(),
        step: 0,
    };
    let file = input.file.as_ref().map(|(name, text)| {
        let layer = errors.layer(name);
        parse::document(layer, text, &mut errors)
    });
    let syntax_is_bad = errors.len() > 0;
    let command_line = errors.layer("--set");
    let sets = sets(&input.sets, SourcePos { layer: command_line, line: 0 }, &mut errors);
    apply_preset(&mut draft, &mut errors, input, file.as_deref().unwrap_or(&[]), &sets);
    if let Some((name, _)) = &input.file {
        let stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let stem = stem.strip_suffix(".toml").unwrap_or(stem);
        if special::is_folder_name(stem) {
            draft.config.run.name = stem.to_string();
        }
    }
    draft.step = 1;
    for trees in [file.into_iter().collect(), sets] {
        apply_layer(&mut draft, &mut errors, &trees);
    }
    if !syntax_is_bad {
        finish(&mut draft, &mut errors);
    }
    if errors.len() == 0 { Ok(draft.config) } else { Err(errors.into_sorted()) }
}

type Tree = Vec<(String, Node)>;

/// Every `--set` as a separate tree: "a.b" = 1 is { a = { b = 1 } }.
fn sets(sets: &[(String, String)], place: SourcePos, errors: &mut Errors) -> Vec<Tree> {
    let mut trees = Vec::new();
    for (path, text) in sets {
        let path = path.trim();
        let is_text = path == "preset"
            || matches!(Key::find(path), Some(Key { slot: Slot::Special(s), .. }) if s.text);
        let parts: Vec<&str> = path.split('.').map(str::trim).collect();
        if parts.len() > 8 {
            errors.add(place, path, unknown(path));
            continue;
        }
        let Some(mut node) = parse::set_value(place, path, text, is_text, errors) else {
            continue;
        };
        for part in parts[1..].iter().rev() {
            node = Node { place, said: Said::Table(vec![((*part).to_string(), node)]) };
        }
        trees.push(vec![(parts[0].to_string(), node)]);
    }
    trees
}

/// Start from the preset that is named last: by the file, by the caller, by `--set`.
fn apply_preset(
    draft: &mut Draft,
    errors: &mut Errors,
    input: &Input,
    file: &[(String, Node)],
    sets: &[Tree],
) {
    let by_file = said_preset(errors, file);
    let by_caller = input.preset.clone().map(|preset| (preset, SourcePos::NOWHERE));
    let by_set = sets.iter().filter_map(|tree| said_preset(errors, tree)).next_back();
    let Some((name, place)) = by_set.or(by_caller).or(by_file) else {
        return;
    };
    let Some(preset) = presets::find(&name) else {
        let names = || presets::PRESETS.iter().map(|preset| preset.name);
        let (near, names) = (did_you_mean(&name, names()), one_of(names()));
        let message = format!("there is no preset {name:?}; expected {names}{near}");
        errors.add(place, "preset", message);
        return;
    };
    let layer = errors.layer(&format!("preset {name}"));
    let tree = parse::document(layer, preset.text, errors);
    apply_layer(draft, errors, &[tree]);
    draft.config.preset = Some(name.clone());
    draft.config.run.name = name;
}

fn said_preset(errors: &mut Errors, tree: &[(String, Node)]) -> Option<(String, SourcePos)> {
    let (_, node) = tree.iter().find(|(key, _)| key == "preset")?;
    if node.text().is_none() {
        let message = format!("found {}; expected the name of a preset", node.found());
        errors.add(node.place, "preset", message);
    }
    node.text().map(|name| (name.to_string(), node.place))
}

/// Apply the trees of one layer, which must not contradict one another.
fn apply_layer(draft: &mut Draft, errors: &mut Errors, trees: &[Tree]) {
    let mut said: BTreeMap<String, SourcePos> = BTreeMap::new();
    let steps = (draft.step..).zip(trees);
    draft.step += trees.len() as u32;
    for (step, (table, node)) in steps.flat_map(|(step, tree)| tree.iter().map(move |e| (step, e)))
    {
        if table == "preset" {
            continue;
        }
        if !SECTIONS.iter().any(|(name, _)| name == table) {
            errors.add(node.place, table, unknown(table));
            continue;
        }
        let Said::Table(entries) = &node.said else {
            let message = format!("found {}; expected a table: [{table}]", node.found());
            errors.add(node.place, table, message);
            continue;
        };
        for (name, value) in entries {
            let path = format!("{table}.{name}");
            match Key::find(&path) {
                Some(key) => {
                    apply_key(key, draft, errors, value);
                    draft.said.insert(path.clone(), (value.place, step));
                    said.insert(path, value.place);
                }
                None => errors.add(value.place, &path, unknown(&path)),
            }
        }
    }
    for (one, other) in EITHER {
        if let (Some(&first), Some(&second)) = (said.get(one), said.get(other)) {
            let (place, key, before) =
                if second > first { (second, other, one) } else { (first, one, other) };
            let message = format!("{before} is set as well; keep one of them");
            errors.add(place, key, message);
        }
    }
    implied_kind(draft, errors, &said);
}

/// A trace or a job file implies the kind of the workload.
fn implied_kind(draft: &mut Draft, errors: &mut Errors, said: &BTreeMap<String, SourcePos>) {
    let workload = &mut draft.config.workload;
    let kind = said.get("workload.kind");
    let (trace, job) = (said.get("workload.trace"), said.get("workload.job"));
    if let (Some(_), Some(&place)) = (trace, job) {
        errors.add(place, "workload.job", "a trace and a job file are both set; keep one of them");
    }
    for (key, file, implied) in
        [("workload.trace", trace, WorkloadKind::Trace), ("workload.job", job, WorkloadKind::Fio)]
    {
        match file {
            Some(&place) if kind.is_some() && workload.kind != implied => {
                let what = key.trim_start_matches("workload.");
                let message = format!("a {what} and another kind are both set; keep one of them");
                errors.add(place, key, message);
            }
            Some(_) => workload.kind = implied,
            None => {}
        }
    }
    // A later layer with another kind drops the file of an earlier layer.
    if workload.kind != WorkloadKind::Trace {
        workload.trace = None;
    }
    if workload.kind != WorkloadKind::Fio {
        workload.job = None;
    }
}

fn apply_key(key: &'static Key, draft: &mut Draft, errors: &mut Errors, node: &Node) {
    let config = &mut draft.config;
    let result = match &key.slot {
        Slot::Int { at, min, max } => read::int(node, *min, *max).map(|n| match at(config) {
            Num::U32(field) => *field = n as u32,
            Num::U64(field) => *field = n,
        }),
        Slot::Real { at, span } => read::real(node, *span).map(|x| *at(config) = x),
        Slot::Time { at, max } => read::time(node, *max).map(|ns| *at(config) = ns),
        Slot::Flag { at } => read::flag(node).map(|flag| *at(config) = flag),
        Slot::Word(slot) => {
            if let (Said::Table(table), true) = (&node.said, slot.policy) {
                return answer(key, draft, errors, node, table);
            }
            let words = slot.words.iter().map(|&(word, _)| word);
            read::word(node, words).map(|word| (slot.set)(config, word))
        }
        Slot::Policy { registry, at } => {
            let before = at(config).clone();
            if let Some(spec) = registry.read(errors, key.path, node, Some(&before)) {
                *at(config) = spec;
            }
            Ok(())
        }
        Slot::Special(special) => {
            (special.read)(draft, errors, key.path, node);
            Ok(())
        }
    };
    if let Err(message) = result {
        errors.add(node.place, key.path, message);
    }
}

/// `{ policy = "word" }` for a key whose policies have no parameters.
fn answer(
    key: &'static Key,
    draft: &mut Draft,
    errors: &mut Errors,
    node: &Node,
    table: &[(String, Node)],
) {
    if table.is_empty() {
        errors.add(node.place, key.path, "the policy is missing; expected { policy = \"...\" }");
    }
    for (name, value) in table {
        if name == "policy" && value.text().is_some() {
            apply_key(key, draft, errors, value);
        } else {
            let path = format!("{}.{name}", key.path);
            let message = format!("found {}; expected only policy = \"...\" here", value.found());
            errors.add(value.place, &path, message);
        }
    }
}

/// Why `path` is not a key, and which key may be meant.
fn unknown(path: &str) -> String {
    let sections = || SECTIONS.iter().map(|&(name, _)| name);
    let (section, name) = path.split_once('.').unwrap_or(("", path));
    if sections().any(|known| known == section) {
        let names = || Key::of_section(section).map(|key| key.parts().1);
        if let Some(near) = nearest(name, names()) {
            return format!("unknown key; did you mean {near:?}?");
        }
        return match elsewhere(name) {
            Some(other) => format!("unknown key; did you mean {other}?"),
            None => format!("unknown key; the keys of [{section}] are {}", one_of(names())),
        };
    }
    let table = if section.is_empty() { name } else { section };
    if let Some(near) = nearest(table, sections()) {
        return format!("unknown table; did you mean [{near}]?");
    }
    match elsewhere(name) {
        Some(other) => format!("unknown table or key; did you mean {other}?"),
        None => format!("unknown table or key; the tables are {}", one_of(sections())),
    }
}

/// The key of that name in any table.
fn elsewhere(name: &str) -> Option<&'static str> {
    KEYS.iter().find(|key| key.parts().1 == name).map(|key| key.path)
}

/// What follows from several keys; then the cross checks.
fn finish(draft: &mut Draft, errors: &mut Errors) {
    let config = &mut draft.config;
    config.timing.transfer_ns = draft.transfer.of_page(config.device.page_bytes);
    let origin = config.workload.kind.origin();
    config.host.mode = draft.host_mode.unwrap_or(match origin {
        Origin::Trace | Origin::Application(_) | Origin::Volume(_) => HostMode::Open,
        Origin::Shares | Origin::Jobs => HostMode::Closed,
    });
    if !matches!(origin, Origin::Trace | Origin::Shares) {
        let arrival = &mut config.workload.arrival;
        if !draft.arrivals_said.0 {
            arrival.kind = ArrivalKind::Model;
        }
        if !draft.arrivals_said.1 {
            // 0: as recorded.
            let like = config.workload.like.is_some();
            arrival.interval_ns = if like { 0 } else { default::MODEL_INTERVAL_NS };
        }
    }
    // A capacity that does not fit is reported by the checks, from `draft.capacity`.
    let pages = draft.capacity.user_pages(&config.device);
    config.device.user_pages = pages.map_or(0, |pages| u32::try_from(pages).unwrap_or(u32::MAX));
    missing_parameters(draft, errors);
    needs::apply(draft, errors);
    check::all(draft, errors);
}

fn missing_parameters(draft: &Draft, errors: &mut Errors) {
    let gc = &draft.config.gc;
    let mut policies = vec![
        ("alloc.placement", PLACEMENTS, &draft.config.alloc.placement),
        ("sched.order", ORDERS, &draft.config.sched.order),
        ("gc.victim", VICTIMS, &gc.victim),
        ("gc.concurrency", CONCURRENCIES, &gc.concurrency),
    ];
    policies.extend(gc.trigger.iter().map(|spec| ("gc.trigger", TRIGGERS, spec)));
    for (path, registry, spec) in policies {
        let place = draft.first_said(&[path]).map_or(SourcePos::NOWHERE, |(_, place)| place);
        for param in registry.missing(spec) {
            let path = format!("{path}.{}", param.name);
            if !errors.touches(&path) {
                let message = format!("policy {:?} needs it: {}", spec.policy, param.doc);
                errors.add(place, &path, message);
            }
        }
    }
}
