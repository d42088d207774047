//! `[alloc]` and `[gc]`.

use super::{Special, TEXT, entries, quoted, report, set_word};
use crate::config::keys::policy::TRIGGERS;
use crate::config::keys::show;
use crate::config::resolved::{Config, Frontiers, Word};
use crate::config::text::error::did_you_mean;
use crate::config::text::parse::Said;
pub(crate) static FRONTIERS: Special<Config> = Special {
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

pub(crate) static TRIGGER: Special<Config> = Special {
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
            config.gc.trigger.iter().map(|spec| show::policy(TRIGGERS, spec)).collect();
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

pub(crate) static BLOCKING: Special<Config> = Special {
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
