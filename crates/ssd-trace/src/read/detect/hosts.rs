//! MSR Cambridge traces of several hosts, whose disk numbers count per host.

use super::File;
use super::refusal::Refusal;
use crate::read::commands::list;
use crate::read::formats::msr::{self, EACH_DISK};
use crate::read::formats::{Head, TraceFormat};
use crate::read::lines::{listed, shown};
use crate::read::readings::{Counts, Reading};

/// Most hosts that a message lists.
const LISTED: usize = 6;
/// Largest share of bad lines in such a file, per cent.
const BAD: u64 = 10;

impl File<'_> {
    /// The refusal of a file whose lines are of the format, but not all of the same host. `None` if they are of one
    /// host, if too many of them are bad, or if the name of a host is not UTF-8.
    pub(super) fn of_several_hosts(&self) -> Option<Refusal> {
        let how = self.how(TraceFormat::Msr).ok()?;
        let mut hosts: Vec<(&str, u64)> = Vec::new();
        let mut bad = 0;
        for line in self.head.lines {
            let head = Head { bytes: line, lines: &[line] };
            let counts: Counts = Reading::counts_of(TraceFormat::Msr, &how, &head)?;
            bad += counts.bad;
            if counts.requests() > 0 {
                let name = std::str::from_utf8(line.split(|&byte| byte == b',').nth(1)?).ok()?;
                match hosts.iter_mut().find(|(host, _)| *host == name) {
                    Some((_, records)) => *records += 1,
                    None => hosts.push((name, 1)),
                }
            }
        }
        // The last line may be cut.
        let is_cut = self.head.lines.last().is_some_and(|last| self.head.bytes.ends_with(last));
        let bad = bad.saturating_sub(u64::from(is_cut));
        if hosts.len() < 2 || bad * 100 > BAD * self.head.lines.len() as u64 {
            return None;
        }
        let few = || hosts.iter().take(LISTED);
        let names: Vec<String> = few().map(|(name, _)| shown(name.as_bytes())).collect();
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        if hosts.len() > LISTED {
            names.push("others");
        }
        let place = if self.whole { "" } else { " in its first lines" };
        let of_host = |&(name, records): &(&str, u64)| {
            let gives = format!("host {}, records{place}: {records}", shown(name.as_bytes()));
            Some((self.behind(&msr::of_host(name)?, ""), gives))
        };
        let [filter, columns, gives] = EACH_DISK;
        let each_disk = (self.behind(filter, columns), gives.to_owned());
        let choices: Vec<_> = few().filter_map(of_host).chain([each_disk]).collect();
        Some(Refusal::Filtered(format!(
            "it is an MSR Cambridge trace of the hosts {}, whose disk numbers count per host; {}",
            listed(&names),
            list(&choices, str::to_owned)
        )))
    }
}
