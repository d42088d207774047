//! Commands to paste, in messages.

use crate::config::{TimeUnit, TraceUnit, Workload};
use crate::read::formats::TraceFormat;
use crate::read::unpack::encoding_of;
use crate::read::volumes::Chosen;
use ssd_core::config::Word;
use std::fmt::Display;

/// `text` as one word of a shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// `file`, as messages call it, as a word of a command.
fn path(file: &str) -> String {
    word(if file == "standard input" { "-" } else { file })
}

/// The command that reads `file` with `options`.
pub(crate) fn command(file: &str, options: &str) -> String {
    format!("ssdlab trace info {} {options}", path(file))
}

/// The options that set the keys of `workload` other than `key`, each followed by a blank, for a command that also
/// sets `key`.
pub(crate) fn given(workload: &Workload, key: &str) -> String {
    let Workload { format, columns, unit, time_unit, action, volume, sort, .. } = workload;
    let volume = match Chosen::of(*volume) {
        Chosen::One(volume) => Some(volume),
        _ => None,
    };
    let set = |name: &str, value: &dyn Display| format!("--set workload.{name}={value}");
    let all = [
        ("format", (*format != TraceFormat::Auto).then(|| format!("--format {}", format.word()))),
        ("columns", columns.as_ref().map(|columns| format!("--columns {}", word(columns)))),
        ("unit", (*unit != TraceUnit::Auto).then(|| format!("--unit {}", unit.word()))),
        (
            "time_unit",
            (*time_unit != TimeUnit::Auto).then(|| format!("--time-unit {}", time_unit.word())),
        ),
        ("action", (*action != 'Q').then(|| set("action", action))),
        ("volume", volume.map(|volume| set("volume", &volume))),
        ("sort", sort.then(|| "--sort".to_owned())),
    ];
    let kept = all.into_iter().filter(|(name, _)| *name != key);
    kept.filter_map(|(_, option)| Some(option? + " ")).collect()
}

/// `text` with the name of the file in place of the word FILE. A filter of FILE reads the unpacked file.
pub(crate) fn with_name(file: &str, text: &str) -> String {
    let name = path(file);
    let word = |word: &str| match word.split_once("FILE") {
        Some((before, mark @ ("" | "," | ";"))) if before.is_empty() || before.ends_with('=') => {
            format!("{before}{name}{mark}")
        }
        _ => word.to_owned(),
    };
    let of_unpacked = || {
        let (before, after) = text.split_once(" FILE | ")?;
        let starts = FILTERS.iter().filter_map(|tool| before.rfind(&format!(": {tool} ")));
        let (before, filter) = before.split_at(starts.max()? + 2);
        let unpacking = unpacking_of(file)?;
        Some(format!("{before}{unpacking} | {} | {after}", filter.trim_end_matches(" <")))
    };
    let text = of_unpacked().unwrap_or_else(|| text.to_owned());
    text.split(' ').map(word).collect::<Vec<String>>().join(" ")
}

/// The programs of filters.
const FILTERS: [&str; 6] = ["awk", "sed", "perl", "jq", "grep", "tr"];
/// Commands that unpack files with these ends of their names.
const UNPACK: [(&str, &str); 6] = [
    (".gz", "gzip -dc"),
    (".xz", "xz -dc"),
    (".bz2", "bzip2 -dc"),
    (".zst", "zstd -dc"),
    (".lz4", "lz4 -dc"),
    (".zip", "unzip -p"),
];

/// The command that writes `file` as plain text, if it is packed or UTF-16.
fn unpacking_of(file: &str) -> Option<String> {
    let by_name = UNPACK.iter().find(|(end, _)| file.ends_with(end));
    let unpack = by_name.map(|(_, unpack)| (*unpack).to_owned()).or_else(|| {
        let encoding = encoding_of(file)?;
        Some(format!("iconv -f {encoding} -t UTF-8"))
    })?;
    Some(format!("{unpack} {}", path(file)))
}

/// A `filter` of FILE as a command for `file`, which is unpacked first if it is packed.
pub(crate) fn filter_of(file: &str, filter: &str) -> String {
    match unpacking_of(file) {
        Some(unpacking) => {
            let filter = filter.trim_end_matches(" FILE").trim_end_matches(" <");
            format!("{unpacking} | {filter}")
        }
        None => with_name(file, filter),
    }
}

/// The words that introduce a list of commands.
const SAY: &str = "choose one of these commands";

/// `message` for a trace that is being merged: the options of a merge apply to all of its traces.
pub(crate) fn of_merge(message: &str) -> String {
    message.replace(
        SAY,
        "a merge reads all of its files with the same options: if no options suit all of them, convert this \
         file first (ssdlab trace convert FILE OUT), with the options of one of these commands",
    )
}

/// The list of commands at the end of `message`, changed to read the output of `filter` instead of the file.
pub(crate) fn behind(file: &str, filter: &str, message: &str) -> Option<String> {
    let (_, list) = message.split_once(SAY)?;
    let (own, piped) = (command(file, ""), format!("{filter} | ssdlab trace info - "));
    Some(format!("{SAY}{}", list.replace(&format!("\n  {own}"), &format!("\n  {piped}"))))
}

/// The end of a message: the commands that settle a doubt, one per line, each with what it would read.
pub(crate) fn one_of(file: &str, choices: &[(String, String)]) -> String {
    let line =
        |(options, gives): &(String, String)| format!("\n  {}  # {gives}", command(file, options));
    format!("{SAY}:{}", choices.iter().map(line).collect::<String>())
}
