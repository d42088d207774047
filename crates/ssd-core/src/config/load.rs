//! From input to resolved config: layers are applied in order (default, preset, file, `--set`), then
//! values that depend on several keys are computed, then the cross checks run. All errors are reported
//! together.

use super::composed::{self, AnyKey, Composed, tables};
use super::draft::{Capacity, Draft, Pending};
use super::keys::policy::{
    CONCURRENCIES, ORDERS, PLACEMENTS, REDIRECTS, SEPARATIONS, TRIGGERS, VICTIMS,
};
use super::presets;
use super::tables::{Config, is_folder_name};
use super::terms::{self, Term};
use super::text::error::{ConfigError, Errors, SourcePos, did_you_mean, nearest, one_of};
use super::text::parse::{self, Node, RawValue};
use super::text::quantity::{by_letter, show_time};
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

/// Alternative keys: one layer may set only one of each pair.
const EITHER: [(&str, &str); 2] =
    [("device.over_provisioning", "device.user_capacity"), ("timing.transfer", "timing.bus_rate")];

/// The resolved config of `input`, or everything that is wrong with it.
///
/// # Errors
/// All errors at once, by file and line.
pub fn load<T: Composed>(input: &Input) -> Result<T, Vec<ConfigError>> {
    let mut errors = Errors::default();
    let (mut config, mut pending) = (T::default(), Pending::default());
    let mut draft = Draft { config: &mut config, pending: &mut pending };
    let file = input.file.as_ref().map(|(name, text)| {
        let layer = errors.layer(name);
        parse::document(layer, text, &mut errors)
    });
    let syntax_is_bad = errors.count() > 0;
    let command_line = errors.layer("--set");
    let sets = sets::<T>(&input.sets, SourcePos { layer: command_line, line: 0 }, &mut errors);
    apply_preset(&mut draft, &mut errors, input, file.as_deref().unwrap_or(&[]), &sets);
    if let Some((name, _)) = &input.file {
        let stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let stem = stem.strip_suffix(".toml").unwrap_or(stem);
        if is_folder_name(stem) {
            draft.config.run.name = stem.to_string();
        }
    }
    draft.pending.begin_user();
    for trees in [file.into_iter().collect(), sets] {
        apply_layer(&mut draft, &mut errors, &trees);
    }
    if !syntax_is_bad {
        finish(&mut draft, &mut errors);
    }
    if errors.count() == 0 { Ok(config) } else { Err(errors.into_sorted()) }
}

type Tree = Vec<(String, Node)>;

/// Every `--set` as a separate tree: "a.b" = 1 is { a = { b = 1 } }.
fn sets<T: Composed>(
    sets: &[(String, String)],
    place: SourcePos,
    errors: &mut Errors,
) -> Vec<Tree> {
    let mut trees = Vec::new();
    for (path, text) in sets {
        let path = path.trim();
        let is_text = path == "preset" || AnyKey::<T>::find(path).is_some_and(AnyKey::is_text);
        let parts: Vec<&str> = path.split('.').map(str::trim).collect();
        if parts.len() > 8 {
            let value = Node { place, literal: RawValue::Text(text.clone()) };
            errors.add(place, path, unknown::<T>(path, &value));
            continue;
        }
        let Some(mut node) = parse::set_value(place, path, text, is_text, errors) else {
            continue;
        };
        for part in parts[1..].iter().rev() {
            node = Node { place, literal: RawValue::Table(vec![((*part).to_string(), node)]) };
        }
        trees.push(vec![(parts[0].to_string(), node)]);
    }
    trees
}

/// Start from the preset that is named last: by the file, by the caller, by `--set`.
fn apply_preset<T: Composed>(
    draft: &mut Draft<'_, T>,
    errors: &mut Errors,
    input: &Input,
    file: &[(String, Node)],
    sets: &[Tree],
) {
    let by_file = read_preset(errors, file);
    let by_caller = input.preset.clone().map(|preset| (preset, SourcePos::NOWHERE));
    let by_set = sets.iter().filter_map(|tree| read_preset(errors, tree)).next_back();
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
    let tree = parse::document(layer, preset.text(), errors);
    apply_layer(draft, errors, &[tree]);
    draft.config.preset = Some(name.clone());
    // A folder of this name is possible everywhere.
    draft.config.run.name = name.replace(':', "-");
}

fn read_preset(errors: &mut Errors, tree: &[(String, Node)]) -> Option<(String, SourcePos)> {
    let (_, node) = tree.iter().find(|(key, _)| key == "preset")?;
    if node.text().is_none() {
        let message = format!("found {}; expected the name of a preset", node.describe());
        errors.add(node.place, "preset", message);
    }
    node.text().map(|name| (name.to_string(), node.place))
}

/// Apply the trees of one layer, which must not contradict one another.
fn apply_layer<T: Composed>(draft: &mut Draft<'_, T>, errors: &mut Errors, trees: &[Tree]) {
    let mut places: BTreeMap<String, SourcePos> = BTreeMap::new();
    let steps = (draft.pending.take_steps(trees.len() as u32)..).zip(trees);
    for (step, (table, node)) in steps.flat_map(|(step, tree)| tree.iter().map(move |e| (step, e)))
    {
        if table == "preset" {
            continue;
        }
        if !tables::<T>().any(|(name, _)| name == table) {
            if draft.pending.in_preset() && T::TABLES.is_empty() {
                continue; // of a preset, for those who know it
            }
            unknown_table::<T>(errors, table, node);
            continue;
        }
        let RawValue::Table(entries) = &node.literal else {
            let message = format!("found {}; expected a table: [{table}]", node.describe());
            errors.add(node.place, table, message);
            continue;
        };
        for (name, value) in entries {
            let path = format!("{table}.{name}");
            match AnyKey::find(&path) {
                Some(key) => {
                    if let Some(message) = foreign_word::<T>(&path, value) {
                        errors.add(value.place, &path, message);
                        continue;
                    }
                    AnyKey::apply(key, draft, errors, value);
                    draft.pending.note(&path, value.place, step);
                    places.insert(path, value.place);
                }
                None => errors.add(value.place, &path, unknown::<T>(&path, value)),
            }
        }
    }
    for (left, right) in EITHER {
        if let (Some(&first), Some(&second)) = (places.get(left), places.get(right)) {
            let (place, key, before) =
                if second > first { (second, right, left) } else { (first, left, right) };
            let message = format!("{before} is set as well; keep one of them");
            errors.add(place, key, message);
        }
    }
    T::imply(draft, errors, &places);
}

/// Report a table that does not exist. If its keys are words of other tools, each key is reported.
fn unknown_table<T: Composed>(errors: &mut Errors, table: &str, node: &Node) {
    let path = |name: &str| format!("{table}.{name}");
    match &node.literal {
        RawValue::Table(entries)
            if entries
                .iter()
                .any(|(name, _)| !terms::of_key(T::VOCABULARIES, &path(name)).1.is_empty()) =>
        {
            for (name, value) in entries {
                errors.add(value.place, &path(name), unknown::<T>(&path(name), value));
            }
        }
        _ => errors.add(node.place, table, unknown::<T>(table, node)),
    }
}

/// The value here for a word of another tool that is the value of a key.
fn foreign_word<T: Composed>(path: &str, node: &Node) -> Option<String> {
    let word = node.text()?;
    let (tool, term) = terms::of_value(T::VOCABULARIES, path, word)?;
    Some(match term.key.split_once('=') {
        Some((key, value)) => {
            format!("{word:?} ({tool}) is {value:?} here: {}", node.setting(key, value))
        }
        None => format!("{word:?} ({tool}) has no word here: {}", term.note),
    })
}

/// Why `path` is not a key, and which key may be meant. `node` has the value of `path`.
fn unknown<T: Composed>(path: &str, node: &Node) -> String {
    let sections = || tables::<T>().map(|(name, _)| name);
    let (section, name) = path.split_once('.').unwrap_or(("", path));
    let (word, meanings) = terms::of_key(T::VOCABULARIES, path);
    if meanings.iter().any(|(_, term)| Some(term.key) != find_key::<T>(name)) {
        return format!("unknown key; {}", explained::<T>(word, &meanings, node));
    }
    if sections().any(|candidate| candidate == section) {
        let names = || AnyKey::<T>::of_table(section).map(AnyKey::name);
        if let Some(near) = nearest(name, names()) {
            return format!("unknown key; did you mean {near:?}?");
        }
        return match find_key::<T>(name) {
            Some(suggestion) => format!("unknown key; did you mean {suggestion}?"),
            None => format!("unknown key; the keys of [{section}] are {}", one_of(names())),
        };
    }
    if let Some(replacement) = find_key::<T>(name) {
        return format!("unknown table or key; did you mean {replacement}?");
    }
    let table = if section.is_empty() { name } else { section };
    if let Some(near) = nearest(table, sections()) {
        return format!("unknown table; did you mean [{near}]?");
    }
    match terms::nearest_word(T::VOCABULARIES, name) {
        Some(word) => {
            let explanation = explained::<T>(word, &terms::of_key(T::VOCABULARIES, word).1, node);
            format!("unknown table or key; did you mean {word:?}? {explanation}")
        }
        None => format!("unknown table or key; the tables are {}", one_of(sections())),
    }
}

/// `"iodepth" (fio) is host.queue_depth here: --set host.queue_depth=32`
fn explained<T: Composed>(word: &str, terms: &[(String, &Term)], node: &Node) -> String {
    let meaning = |(tool, term): &(String, &Term)| match (term.key, term.note, &node.literal) {
        ("", note, _) => format!("{word:?} ({tool}) has no key here: {note}"),
        (key, "", RawValue::Table(_) | RawValue::List(_)) => {
            format!("{word:?} ({tool}) is {key} here")
        }
        (key, "", literal) => {
            let value =
                if let RawValue::Text(text) = literal { text.clone() } else { node.describe() };
            format!("{word:?} ({tool}) is {key} here{}", setting::<T>(key, &value, node))
        }
        (key, note, _) => format!("{word:?} ({tool}) is {key} here: {note}"),
    };
    terms.iter().map(meaning).collect::<Vec<_>>().join("; or ")
}

/// The text to paste that sets `key` to `value`, or to what it may mean, behind a colon; or why the key has no such
/// value.
fn setting<T: Composed>(key: &str, value: &str, node: &Node) -> String {
    let Some(reason) = refusal::<T>(key, value) else {
        return format!(": {}", node.setting(key, value));
    };
    let sizes = by_letter(value).into_iter().flatten().map(|size| size.replace(' ', ""));
    let sizes = sizes.filter(|size| refusal::<T>(key, size).is_none());
    let settings: Vec<String> = sizes.map(|size| node.setting(key, &size)).collect();
    if settings.is_empty() { format!("; {reason}") } else { format!(": {}", settings.join(" or ")) }
}

/// Why the key `key` does not take `value`, whatever the other keys are.
fn refusal<T: Composed>(key: &str, value: &str) -> Option<String> {
    let mut errors = Errors::default();
    let place = SourcePos { layer: errors.layer("--set"), line: 0 };
    let (mut config, mut pending) = (T::default(), Pending::default());
    let mut draft = Draft { config: &mut config, pending: &mut pending };
    let trees = sets::<T>(&[(key.to_owned(), value.to_owned())], place, &mut errors);
    apply_layer(&mut draft, &mut errors, &trees);
    errors.into_sorted().into_iter().next().map(|error| error.message)
}

/// The key of that name in any table.
fn find_key<T: Composed>(name: &str) -> Option<&'static str> {
    AnyKey::<T>::all().find(|key| key.name() == name).map(AnyKey::path)
}

/// The time of a page of an unknown type is the mean of the types. Of `read` and `read_types` the one set in the later
/// layer counts, as of `program` and `program_types`. A later `device.bits = 1` gives all pages the mean.
fn settle_types(config: &mut Config, pending: &Pending, errors: &mut Errors) {
    let t = &mut config.timing;
    for (key, types_key, ns, types) in [
        ("timing.read", "timing.read_types", &mut t.read_ns, &mut t.read_types_ns),
        ("timing.program", "timing.program_types", &mut t.program_ns, &mut t.program_types_ns),
    ] {
        if pending.is_later(key, types_key) {
            types.clear();
        }
        if types.is_empty() {
            continue;
        }
        let n = types.len() as u64;
        let mean = (types.iter().sum::<u64>() + n / 2) / n;
        if let Some(place) = pending.set_beside(key, types_key)
            && *ns != mean
        {
            let message = format!(
                "found {}, but the mean of {types_key} is {}: keep one of them",
                show_time(*ns),
                show_time(mean)
            );
            errors.add(place, key, message);
        }
        *ns = mean;
        if pending.is_later("device.bits", types_key) && config.device.bits == 1 {
            types.clear();
        }
    }
}

/// What follows from several keys; then the cross checks.
fn finish<T: Composed>(draft: &mut Draft<'_, T>, errors: &mut Errors) {
    let Draft { config, pending } = draft.kernel();
    config.timing.transfer_ns = pending.transfer.of_page(config.device.page_bytes);
    config.device.word_line = pending.word_line.unwrap_or(config.device.bits);
    settle_types(config, pending, errors);
    // A capacity that does not fit is reported by the checks: 0 or more than any device has.
    let pages = pending
        .capacity
        .user_pages(config.device.physical_pages(), config.device.page_bytes)
        .map(|pages| whole_stripes(config, pending.capacity, pages))
        .unwrap_or(u128::MAX);
    config.device.user_pages = u32::try_from(pages).unwrap_or(u32::MAX);
    T::follow(draft);
    missing_parameters(draft, errors);
    composed::apply_needs(draft, errors);
    composed::check(draft.config, draft.pending, errors);
}

/// The pages of the host out of `pages`, which are those of the host and of parity if they follow from
/// over-provisioning: with parity only whole stripes are used.
fn whole_stripes(config: &Config, capacity: Capacity, pages: u128) -> u128 {
    if config.raid.group < 2 {
        return pages;
    }
    let data = u128::from(config.data_pages_per_stripe());
    let stripe = match capacity {
        Capacity::OverProvisioning(_) => u128::from(config.chips()),
        Capacity::Bytes(_) => data,
    };
    assert!(
        data <= stripe || config.chips() < u64::from(config.raid.group),
        "more data than pages"
    );
    pages / stripe.max(1) * data
}

fn missing_parameters<T: Composed>(draft: &Draft<'_, T>, errors: &mut Errors) {
    let gc = &draft.config.gc;
    let mut policies = vec![
        ("alloc.placement", PLACEMENTS, &draft.config.alloc.placement),
        ("alloc.separation", SEPARATIONS, &draft.config.alloc.separation),
        ("raid.redirect", REDIRECTS, &draft.config.raid.redirect),
        ("sched.order", ORDERS, &draft.config.sched.order),
        ("gc.victim", VICTIMS, &gc.victim),
        ("gc.concurrency", CONCURRENCIES, &gc.concurrency),
    ];
    policies.extend(gc.trigger.iter().map(|spec| ("gc.trigger", TRIGGERS, spec)));
    for (path, registry, spec) in policies {
        let place = draft.pending.first_set(&[path]).map_or(SourcePos::NOWHERE, |(_, place)| place);
        for param in registry.missing(spec) {
            let path = format!("{path}.{}", param.name);
            if !errors.touches(&path) {
                let message = format!("policy {:?} needs it: {}", spec.policy, param.doc);
                errors.add(place, &path, message);
            }
        }
    }
}
