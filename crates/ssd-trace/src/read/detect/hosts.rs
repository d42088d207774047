//! MSR Cambridge traces of several hosts, whose disk numbers count per host.

use super::File;
use super::refusal::Refusal;
use crate::read::commands::list;
use crate::read::formats::{Head, TraceFormat};
use crate::read::lines::shown;
use crate::read::readings::Reading;

/// Most hosts that a message lists.
const LISTED: usize = 6;

impl File<'_> {
    /// The refusal of a file in which every line is of the format, but not every one of the same host.
    pub(super) fn of_several_hosts(&self) -> Option<Refusal> {
        let how = self.how(TraceFormat::Msr).ok()?;
        let mut hosts: Vec<(&str, u64)> = Vec::new();
        for line in self.head.lines {
            let counts =
                Reading::counts_of(TraceFormat::Msr, &how, &Head { bytes: line, lines: &[line] })?;
            if counts.bad > 0 {
                return None;
            }
            if counts.requests() > 0 {
                let name = std::str::from_utf8(line.split(|&byte| byte == b',').nth(1)?).ok()?;
                match hosts.iter_mut().find(|(host, _)| *host == name) {
                    Some((_, records)) => *records += 1,
                    None => hosts.push((name, 1)),
                }
            }
        }
        let names: Vec<&str> = hosts.iter().take(LISTED).map(|&(name, _)| name).collect();
        let (last, others) = names.split_last().filter(|(_, others)| !others.is_empty())?;
        let more = if hosts.len() > LISTED { " and others" } else { "" };
        let what = format!(
            "it is an MSR Cambridge trace of the hosts {} and {}{more}, whose disk numbers count per host",
            others.iter().map(|name| shown(name.as_bytes())).collect::<Vec<_>>().join(", "),
            shown(last.as_bytes()),
        );
        let of = if self.whole { "" } else { " in its first lines" };
        let one = |&(name, records): &(&str, u64)| {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            let name: String =
                name.chars().map(|letter| if is_plain(letter) { letter } else { '.' }).collect();
            let command = self.behind(&format!("grep -aE '^[0-9]+,{name},' FILE"), "");
            (command, format!("host {name}, records{of}: {records}"))
        };
        let apart = self.behind(
            r"sed -E 's/^([0-9]+,[^,]*),([0-9]+),/\1-\2,/' FILE",
            "--columns time=1:100ns,op=3,offset=4:B,size=5:B,volume=2",
        );
        let apart = (apart, "all hosts, each disk a volume of its own".to_owned());
        let choices: Vec<_> = hosts.iter().take(LISTED).map(one).chain([apart]).collect();
        Some(Refusal::Filtered(format!("{what}; {}", list(&choices, str::to_owned))))
    }
}
