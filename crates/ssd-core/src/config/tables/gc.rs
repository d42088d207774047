//! `[gc]`: garbage collection: the seven decisions.

use super::prelude::*;

crate::config_table! {
    "Garbage collection: the seven decisions."
    Gc: gc in Config {
        reserve: int(1, 1 << 24) => reserve: u32 = 2,
            "Number of erased blocks of a pool at which its collection becomes foreground.";
        trigger: special(TRIGGER) => trigger: Vec<PolicySpec> = vec![default_spec(TRIGGERS, "free-blocks")],
            "When collection of a pool starts and stops. In a list, all triggers must hold.";
        victim: policy(VICTIMS) => victim: PolicySpec = default_spec(VICTIMS, "greedy"),
            "Which block is collected.";
        amount: answer() => amount: Amount = Amount::UntilSatisfied,
            "How many blocks are collected per trigger.";
        concurrency: policy(CONCURRENCIES) => concurrency: PolicySpec = default_spec(CONCURRENCIES, "unlimited"),
            "How many pools or channels are collected at once.";
        path: answer() => path: GcPath = GcPath::Controller,
            "Path of the copies.";
        blocking: special(BLOCKING) => blocking: Blocking = Blocking::default(),
            "What is closed to the host during collection: { scope, granularity }, or the scope alone.";
        window: int(1, 4096) => window: u32 = 1,
            "Copies of one job in flight.";
    }
}

/// `gc.blocking`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocking {
    /// What is closed to host operations.
    pub scope: BlockingScope,
    /// For how long.
    pub granularity: Granularity,
}

impl Default for Blocking {
    fn default() -> Blocking {
        Blocking { scope: BlockingScope::None, granularity: Granularity::Step }
    }
}

static TRIGGER: Special<Config> = Special {
    form: "trigger, or a list of triggers",
    default: None,
    read: |draft, errors, path, node| {
        let before = &draft.config.gc.trigger;
        let RawValue::List(items) = &node.literal else {
            let has_policy = match &node.literal {
                RawValue::Table(table) => table.iter().any(|(key, _)| key == "policy"),
                _ => true,
            };
            if !has_policy && before.len() > 1 {
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
        let errors_before = errors.count();
        let specs: Vec<_> =
            items.iter().filter_map(|item| TRIGGERS.read(errors, path, item, None)).collect();
        if errors.count() == errors_before {
            draft.config.gc.trigger = specs;
        }
    },
    show: |config| {
        let shown: Vec<String> =
            config.gc.trigger.iter().map(|spec| show::policy(TRIGGERS, spec)).collect();
        match &shown[..] {
            [text] => Some(text.clone()),
            texts => Some(format!("[{}]", texts.join(", "))),
        }
    },
    text: false,
    types: &["string", "object", "array"],
};

static BLOCKING: Special<Config> = Special {
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

fn only<T>(list: &[T]) -> Option<&T> {
    match list {
        [item] => Some(item),
        _ => None,
    }
}
