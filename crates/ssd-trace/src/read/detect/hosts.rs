//! MSR Cambridge traces of several hosts, each with its own disk numbers.

use super::File;
use super::refusal::Refusal;
use crate::read::commands::list;
use crate::read::formats::msr::{self, EACH_DISK};
use crate::read::formats::{Head, TraceFormat};
use crate::read::lines::{listed, shown};
use crate::read::readings::{Counts, Reading};
use std::collections::BTreeSet;

/// Maximum number of hosts in a message.
const LISTED: usize = 6;
/// Maximum share of bad lines in such a file, per cent.
const BAD: u64 = 10;

impl File<'_> {
    /// Returns a refusal if lines of the format have several hosts. Returns `None` if there is one host, too many lines
    /// are bad, or the name of a host is not UTF-8.
    pub(super) fn of_several_hosts(&self) -> Option<Refusal> {
        let read_as = self.read_as(TraceFormat::Msr).ok()?;
        let mut hosts: Vec<(&str, Vec<&[u8]>)> = Vec::new();
        let mut bad = 0;
        for &line in self.head.lines {
            let head = Head { bytes: line, lines: &[line] };
            let counts: Counts = Reading::counts_of(TraceFormat::Msr, &read_as, &head)?;
            bad += counts.bad;
            if counts.requests() > 0 {
                let name = std::str::from_utf8(line.split(|&byte| byte == b',').nth(1)?).ok()?;
                match hosts.iter_mut().find(|(host, _)| *host == name) {
                    Some((_, records)) => records.push(line),
                    None => hosts.push((name, vec![line])),
                }
            }
        }
        // The last line may be incomplete.
        let is_cut = self.head.lines.last().is_some_and(|last| self.head.bytes.ends_with(last));
        let bad = bad.saturating_sub(u64::from(is_cut));
        if hosts.len() < 2 || bad * 100 > BAD * self.head.lines.len() as u64 {
            return None;
        }
        let counts = |lines: &[&[u8]]| {
            Reading::counts_of(TraceFormat::Msr, &read_as, &Head { lines, ..*self.head })
        };
        let counts: Option<Vec<Counts>> = hosts.iter().map(|(_, lines)| counts(lines)).collect();
        let (counts, names) = (counts?, hosts.iter().map(|(name, _)| *name));
        let few = || names.clone().zip(&counts).take(LISTED);
        let shown_name = |name: &str| shown(name.as_bytes());
        let mut listed_names: Vec<String> = few().map(|(name, _)| shown_name(name)).collect();
        if hosts.len() > LISTED {
            listed_names.push("others".to_owned());
        }
        let listed_names: Vec<&str> = listed_names.iter().map(String::as_str).collect();
        let place = if self.is_whole { "" } else { ", in its first lines" };
        let disk = |line: &&[u8]| line.split(|&byte| byte == b',').nth(2).map(<[u8]>::to_vec);
        let disks = |name: &str| {
            let lines = hosts.iter().filter(|(host, _)| *host == name).flat_map(|(_, lines)| lines);
            lines.map(disk).collect::<BTreeSet<_>>().len()
        };
        let of_host = |(name, counts): (&str, &Counts)| {
            let gives = msr::of_disks(disks(name), *counts);
            let gives = format!("host {}: {gives}{place}", shown_name(name));
            Some((self.through_filter(&msr::of_host(name)?, ""), gives))
        };
        let [filter, columns, gives] = EACH_DISK;
        let sum = Counts::together(counts.iter()).summary();
        let each_disk = (self.through_filter(filter, columns), format!("{gives}: {sum}{place}"));
        let choices: Vec<_> = few().filter_map(of_host).chain([each_disk]).collect();
        Some(Refusal::Filtered(format!(
            "it is an MSR Cambridge trace of the hosts {}, whose disk numbers count per host; {}",
            listed(&listed_names),
            list(&choices, str::to_owned)
        )))
    }
}
