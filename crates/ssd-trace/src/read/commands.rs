//! Commands in messages, ready to paste.

use crate::config::{TimeUnit, TraceUnit, Workload};
use crate::read::formats::TraceFormat;
use crate::read::unpack::Encoding;
use crate::read::volumes::VolumeSelection;
use ssd_core::config::Word;
use std::fmt::Display;
use std::fs::File;
use std::io::Read as _;

/// Returns `text` as one word of a shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The name of standard input in messages.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// Returns `file`, a name from messages, as a word of a command that is no option and no awk assignment.
fn path(file: &str) -> String {
    if file == STANDARD_INPUT {
        return "-".to_owned();
    }
    let is_bare = file.starts_with('-') || (file.contains('=') && !file.contains('/'));
    word(&format!("{}{file}", if is_bare { "./" } else { "" }))
}

/// Returns the command that reads `file` with `options`; dots stand for the command that writes standard input.
pub(crate) fn command(file: &str, options: &str) -> String {
    let input = if file == STANDARD_INPUT { "... | " } else { "" };
    format!("{input}ssdlab trace info {} {options}", path(file))
}

/// Returns the options that set the keys of `workload` other than `key`, each followed by a blank, for a command that
/// also sets `key`.
pub(crate) fn options_without(workload: &Workload, key: &str) -> String {
    let Workload { format, columns, unit, time_unit, action, volume, sort, skip_bad, .. } =
        workload;
    let volume = match VolumeSelection::of(*volume) {
        VolumeSelection::One(volume) => Some(volume.to_string()),
        VolumeSelection::All => Some("all".to_owned()),
        VolumeSelection::Only | VolumeSelection::Each => None,
    };
    let set = |name: &str, value: &dyn Display| format!("--set workload.{name}={value}");
    let options = [
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
        ("skip_bad", skip_bad.then(|| set("skip_bad", skip_bad))),
    ];
    let remaining = options.into_iter().filter(|(name, _)| *name != key);
    remaining.filter_map(|(_, option)| Some(option? + " ")).collect()
}

/// Returns `options` with `--sort`, which is added unless it is present.
pub(crate) fn sorted(options: &str) -> String {
    let sort = if options.split(' ').any(|option| option == "--sort") { "" } else { " --sort" };
    format!("{options}{sort}")
}

/// Returns `text` with the name of the file instead of the word FILE.
pub(crate) fn with_name(file: &str, text: &str) -> String {
    let name = path(file);
    let word = |word: &str| match word.split_once("FILE") {
        Some((before, mark @ ("" | "," | ";"))) if before.is_empty() || before.ends_with('=') => {
            format!("{before}{name}{mark}")
        }
        _ => word.to_owned(),
    };
    text.split(' ').map(word).collect::<Vec<String>>().join(" ")
}

/// First bytes of packed files, and the commands that unpack them.
const UNPACK: [(&[u8], &str); 6] = [
    (b"\x1f\x8b", "gzip -dc <"),
    (b"\xfd7zXZ\0", "xz -dc <"),
    (b"BZh", "bzip2 -dc <"),
    (b"\x28\xb5\x2f\xfd", "zstd -dc <"),
    (b"\x04\x22\x4d\x18", "lz4 -dc <"),
    (b"PK\x03\x04", "unzip -p"),
];
/// Bytes of a file that [`unpacking_of`] reads to recognise its packing: the head of a tar archive.
const HEAD: usize = 512;
/// Position of the magic of a tar archive.
const TAR: std::ops::Range<usize> = 257..262;

/// Returns the command that writes `file` as plain text, if it is packed or UTF-16.
fn unpacking_of(file: &str) -> Option<String> {
    // A pipe can be read only once.
    std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    let mut head = Vec::new();
    File::open(file).ok()?.take(HEAD as u64).read_to_end(&mut head).ok()?;
    let is_tar = head.get(TAR).is_some_and(|mark| mark == b"ustar")
        || [".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst"]
            .iter()
            .any(|end| file.ends_with(end));
    let command = if is_tar {
        "tar -xOf".to_owned()
    } else if let Some((_, unpack)) = UNPACK.iter().find(|(mark, _)| head.starts_with(mark)) {
        (*unpack).to_owned()
    } else {
        let encoding = match Encoding::of(&head)? {
            _ if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") => "UTF-16",
            Encoding::Little => "UTF-16LE",
            Encoding::Big => "UTF-16BE",
        };
        format!("iconv -f {encoding} -t UTF-8")
    };
    Some(format!("{command} {}", path(file)))
}

/// Returns the `filters` of FILE as a pipeline for `file`, which is unpacked first if necessary.
pub(crate) fn filter_of<'a>(file: &str, filters: impl Iterator<Item = &'a str>) -> String {
    // Dots stand for the command that writes standard input.
    let producer = (file == STANDARD_INPUT).then(|| "...".to_owned());
    let mut command = producer.or_else(|| unpacking_of(file)).unwrap_or_default();
    for filter in filters {
        command = if command.is_empty() {
            with_name(file, filter)
        } else {
            let filter = filter.replacen(" < FILE", "", 1).replacen(" FILE", "", 1);
            format!("{command} | {filter}")
        };
    }
    command
}

/// The introductions of a list of commands, and of a single command.
const SAY: [&str; 2] = ["choose one of these commands", "use this command"];

/// Returns `message` for a trace in a merge, whose options apply to all of its traces.
pub(crate) fn of_merge(message: &str) -> String {
    let many = "a merge reads all of its files with the same options: if no options suit all of them, convert this \
                file first (ssdlab trace convert FILE OUT), as one of these commands reads it";
    message
        .replace(SAY[0], many)
        .replace(SAY[1], &many.replace("one of these commands", "this command"))
}

/// Bytes from which a list of commands is too long: the last ones, the least likely, are omitted.
const LONG_LIST: usize = 3000;
/// Number of commands that are listed at any length.
const FEWEST: usize = 2;

/// Returns the end of a message: the commands that settle a doubt, one per line, each with its result. `command` builds
/// them from options.
pub(crate) fn list(choices: &[(String, String)], command: impl Fn(&str) -> String) -> String {
    let mut lines = String::new();
    let line = |(options, gives): &(String, String)| format!("\n  {}  # {gives}", command(options));
    for (at, line) in choices.iter().map(line).enumerate() {
        if at >= FEWEST && lines.len() + line.len() > LONG_LIST {
            break;
        }
        lines += &line;
    }
    format!("{}:{lines}", SAY[usize::from(choices.len() == 1)])
}

/// Returns the [`list`] of commands that read `file`.
pub(crate) fn one_of(file: &str, choices: &[(String, String)]) -> String {
    list(choices, |options| command(file, options))
}

#[cfg(test)]
mod tests {
    use super::{FEWEST, list};

    #[test]
    fn long_commands_are_listed_as_far_as_they_can_be_read() {
        let listed = |bytes: usize, choices: usize| {
            let all = vec![("x".repeat(bytes), "1 read".to_owned()); choices];
            list(&all, str::to_owned).lines().count() - 1
        };
        assert_eq!(listed(100, 20), 20);
        assert_eq!(listed(670, 6), 4);
        assert_eq!(listed(5000, 6), FEWEST);
        assert_eq!(listed(5000, 1), 1);
    }
}
