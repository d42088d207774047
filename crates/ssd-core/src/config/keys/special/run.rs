//! `[run]`, `[host]`, `[controller]` and `[precondition]`: names, limits that may be absent.

use super::{Special, TEXT, quoted, report};
use crate::config::resolved::{Config, HostMode, Word};
use crate::config::text::quantity::show_rate;
use crate::config::text::read;
pub(crate) static NAME: Special<Config> = Special {
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

pub(crate) static LINK_RATE: Special<Config> = Special {
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

pub(crate) static BUFFERS: Special<Config> = Special {
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

pub(crate) static HOST_MODE: Special<Config> = Special {
    form: "\"open\" or \"closed\"",
    default: Some(
        "closed for `uniform`, `zipf`, `hot-cold` and `sequential`, set by the job file for `fio`, otherwise open",
    ),
    read: |draft, errors, path, node| {
        let words = HostMode::WORDS.iter().map(|&(word, _)| word);
        let set = read::word(node, words).map(|word| {
            draft.config.host.mode = HostMode::from_word(word).unwrap_or(HostMode::Open);
        });
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(config.host.mode.word())),
    text: false,
    types: TEXT,
};

pub(crate) static SNAPSHOT: Special<Config> = Special {
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
