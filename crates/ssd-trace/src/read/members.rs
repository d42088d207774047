//! The message about an archive of several files: the commands that choose one, each with what it would read.

use crate::read::commands::{list, with_name};
use crate::read::formats::{self, Head, ReadAs, TraceFormat};
use crate::read::guess;
use crate::read::readings::{Counts, Reading};
use crate::read::unpack::{Member, Several, unpacked};
use std::io::Read;

/// The message about the archive `file`.
pub(crate) fn choice(file: &str, several: &Several) -> String {
    let Several { command, members, is_more } = several;
    let of = |member: &Member| {
        // Nobody can paste a control character, which would also break the line.
        let plain = |letter: char| if letter.is_control() { '?' } else { letter };
        let name: String = member.name.chars().map(plain).collect();
        let name = name.replace('\'', r"'\''");
        let unpack = format!("{} '{name}' | ssdlab trace info -", with_name(file, command));
        (unpack, gives(member))
    };
    let traces = members.iter().filter(|member| !member.is_document());
    let mut choices: Vec<(String, String)> = traces.map(of).collect();
    if choices.is_empty() {
        choices = members.iter().map(of).collect();
    }
    let more = if *is_more { ", here the first" } else { "" };
    format!("{file}: {several}{more}; {}", list(&choices, str::to_owned))
}

/// What the member is, as far as its beginning tells without a doubt.
fn gives(Member { head, is_whole, .. }: &Member) -> String {
    let mut bytes = Vec::new();
    // The end of a packed member may be cut; what precedes it is read.
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
        None => "a file whose first lines leave doubts".to_owned(),
    }
}

/// The format of `head`, if it has a name, and its counts; `None` if there is a doubt.
fn counts(head: &Head<'_>) -> Option<(String, Counts)> {
    let shares = formats::detect(head);
    let alike: Vec<TraceFormat> =
        shares.iter().filter(|(_, share)| *share == 100).map(|(format, _)| *format).collect();
    if let [format] = alike[..] {
        let counts = Reading::counts_of(format, &ReadAs::default(), head)?;
        let name = formats::info(format)?.name;
        return (counts.requests() > 0).then(|| (format!("{name}: "), counts));
    }
    let mut named = guess::of(head, b'Q');
    named.truncate(2);
    let only = named.pop().filter(|_| named.is_empty() && alike.is_empty())?;
    only.counts.is_sound().then(|| (String::new(), only.counts))
}
