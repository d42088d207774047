//! The message about an archive of several files: the commands that choose one, each with its result.

use crate::read::commands::{list, with_name, word};
use crate::read::formats::{self, Head, ReadAs, TraceFormat};
use crate::read::guess;
use crate::read::readings::{Counts, Reading};
use crate::read::unpack::{AmbiguousArchive, Member, unpacked};
use std::io::Read;

/// Returns the message about the archive `file`.
pub(crate) fn choice(file: &str, several: &AmbiguousArchive) -> String {
    let AmbiguousArchive { command, selecting, unpack, members, is_more } = several;
    let mut shown: Vec<&Member> = members.iter().filter(|member| !member.is_document()).collect();
    if shown.is_empty() {
        shown = members.iter().collect();
    }
    let (selectable, unnamed): (Vec<&Member>, Vec<&Member>) =
        shown.iter().partition(|member| can_be_named(&member.name));
    let choice_of = |member: &Member| {
        let name = selecting(&member.name);
        let options_end = if name.starts_with('-') { "-- " } else { "" };
        let name = word_of_any(&name);
        let command = with_name(file, command);
        (format!("{command} {options_end}{name} | ssdlab trace info -"), gives(member))
    };
    let mut choices: Vec<(String, String)> = selectable.into_iter().map(choice_of).collect();
    if let Some(first) = unnamed.first() {
        let gives = format!("all files: no command selects {}", first.name.escape_debug());
        choices.push((with_name(file, unpack), gives));
    }
    let more = match shown.len() {
        _ if !is_more => String::new(),
        1 => "; the first is listed".to_owned(),
        count => format!("; the first {count} are listed"),
    };
    format!("{file}: {several}{more}; {}", list(&choices, str::to_owned))
}

/// Returns whether a command can contain the name: its bytes are known, and a shell passes all of them.
fn can_be_named(name: &str) -> bool {
    !name.contains([char::REPLACEMENT_CHARACTER, '\0']) && !name.ends_with('\n')
}

/// Returns `text` as one word of a shell. Control characters cannot be pasted, so printf writes them.
fn word_of_any(text: &str) -> String {
    if !text.contains(char::is_control) {
        return word(text);
    }
    let escape = |letter: char| match letter {
        '\\' => r"\\".to_owned(),
        '%' => "%%".to_owned(),
        _ if letter.is_control() => {
            letter.to_string().bytes().map(|byte| format!(r"\{byte:03o}")).collect()
        }
        _ => letter.to_string(),
    };
    let format: String = text.chars().map(escape).collect();
    let hyphen = if format.starts_with('-') { "-- " } else { "" };
    format!("\"$(printf {hyphen}{})\"", word(&format))
}

/// Returns what the member is, as far as its head shows it without doubt.
fn gives(Member { head, is_whole, .. }: &Member) -> String {
    let mut bytes = Vec::new();
    // The end of a packed member may be missing; the part before it is read.
    let read = unpacked(&head[..]).and_then(|mut plain| plain.read_to_end(&mut bytes));
    let is_whole = *is_whole && read.is_ok();
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    if !is_whole {
        lines.pop();
    }
    lines.retain(|line| !line.trim_ascii().is_empty());
    let place = if is_whole { "" } else { ", in its first lines" };
    match counts(&Head { bytes: &bytes, lines: &lines }) {
        Some((format, counts)) => format!("{format}{}{place}", counts.summary()),
        None if lines.is_empty() => "an empty file".to_owned(),
        None => "not certain from its first lines: the command lists the readings".to_owned(),
    }
}

/// Returns the format of `head`, if it has a name, and its counts; `None` in doubt.
fn counts(head: &Head<'_>) -> Option<(String, Counts)> {
    let shares = formats::detect(head);
    let alike: Vec<TraceFormat> =
        shares.iter().filter(|(_, share)| *share == 100).map(|(format, _)| *format).collect();
    if let [format] = alike[..] {
        let counts = Reading::counts_of(format, &ReadAs::default(), head)?;
        let name = formats::info(format)?.name;
        return (counts.requests() > 0).then(|| (format!("{name}: "), counts));
    }
    let mut readings = guess::of(head, b'Q');
    readings.truncate(2);
    let only = readings.pop().filter(|_| readings.is_empty() && alike.is_empty())?;
    only.counts.is_sound().then(|| (String::new(), only.counts))
}
