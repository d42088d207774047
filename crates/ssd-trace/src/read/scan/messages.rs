//! Messages about lines that cannot be used.

use super::{LISTED, Scan};
use crate::config::Workload;
use crate::read::commands::{command, filter_of, list, one_of, options_without, word};
use crate::read::formats::mapping::is_word;
use crate::read::formats::msr::{self, EACH_DISK};
use crate::read::formats::{self, Flaw, Format, Head, ReadAs, Reject, TraceFormat};
use crate::read::guess::words;
use crate::read::lines::{Pieces, shown};
use crate::read::readings::{BadLines, Counts, LONGEST_NS, Reading};
use crate::read::tally::Tally;
use ssd_core::config::Word;
use ssd_core::host::source::SourceError;
use ssd_core::metrics::numbers::count;

impl Scan<'_, '_> {
    /// Returns the message for a line whose bytes are no longer available.
    #[cold]
    pub(super) fn short(&self, noun: &str, number: u64, reject: &Reject) -> String {
        let text = format!("{}, {noun} {number}: expected {}", self.file, reject.expected);
        if self.skip_bad { text } else { format!("{text}; {}", self.skip_remedy()) }
    }

    /// Returns the error for a trace out of order; `first` is the message for the first such line.
    #[cold]
    pub(super) fn unsorted(&self, first: &str, tally: &Tally) -> SourceError {
        let (late, cut) = (&tally.late, tally.cut());
        let lateness = late.describe();
        let seams = late.seams().map_or(String::new(), |seams| format!("; {seams}"));
        if late.most_ns > LONGEST_NS {
            return SourceError(format!(
                "{first}; {lateness}, which is longer than traces are; correct the times, or {}{seams}{cut}",
                self.skip_remedy()
            ));
        }
        SourceError(format!(
            "{first}; {lateness}; to read all of them in order of time, set workload.sort = true (--sort); \
             workload.skip_bad = true would drop {}{seams}{cut}; to sort: {}",
            late.these(),
            command(self.file, &format!("{}--sort", options_without(self.workload, "")))
        ))
    }

    /// Returns the message for a bad line or record.
    #[cold]
    pub(super) fn message<P: Format, I: Pieces<P>>(
        &self,
        pieces: &I,
        bad: &[u8],
        reject: &Reject,
        tally: &Tally,
    ) -> String {
        let (file, place, noun, excerpt) = (self.file, pieces.place(), I::NOUN, I::shown(bad));
        let (expected, column) = (&reject.expected, reject.column + 1);
        let good = tally.chosen
            + tally.sorted
            + tally.header_lines
            + tally.other_events.iter().sum::<u64>();
        let is_other = || P::new(&ReadAs { action: 0, ..self.read_as.clone() }).parse(bad).is_err();
        // Column names may have been read as those of the format.
        if self.instead.is_some() || (good == 0 && tally.skipped_lines == 0 && is_other()) {
            let instead = self.instead.clone().or_else(|| self.format_of(bad));
            let instead = instead.map(|text| format!("read this file in another way: {text}"));
            let (title, form) = (P::INFO.title, P::INFO.form);
            let wrong =
                format!("expected {form}, found {excerpt}; at byte {column}, expected {expected}");
            if self.workload.format == TraceFormat::Auto {
                let columns = command(file, "--columns time=1:us,op=2,offset=3:512B,size=4");
                let instead = instead
                    .unwrap_or_else(|| format!("name the columns of the file, as in {columns}"));
                return format!(
                    "{file}, {place}: it matches no known format; for the nearest, {title}: {wrong}; correct the \
                     {noun}, or {instead}"
                );
            }
            let instead = instead
                .unwrap_or_else(|| "set workload.format to the format of the file".to_owned());
            return format!(
                "{file}, {place}: this is not {title}: {wrong}; give a trace of that format, plain or compressed, or \
                 {instead}"
            );
        }
        let zeros = if I::NOUN == "line" && bad.contains(&0) {
            " (with zero bytes, as a crash leaves them)"
        } else {
            ""
        };
        let text = format!(
            "{file}, {place}: expected {expected} at byte {column}, found {excerpt}{zeros}"
        );
        if matches!(reject.flaw, Flaw::Late | Flaw::OutOfRange) || self.skip_bad {
            return text;
        }
        if let Flaw::Host(hosts) = &reject.flaw {
            return format!(
                "{text}; {}",
                list(&self.of_hosts(hosts, tally, pieces.number()), str::to_owned)
            );
        }
        // A word at the end of the file may be incomplete, and then has another meaning.
        let mut choices = match &reject.flaw {
            Flaw::Operation(operation) if !pieces.is_unended() => self.meanings(operation),
            _ => Vec::new(),
        };
        if choices.is_empty() {
            let is_unsaid =
                matches!(&reject.flaw, Flaw::Operation(operation) if !is_word(operation));
            let unsaid =
                if is_unsaid { " (--columns cannot give a meaning to such a word)" } else { "" };
            return format!("{text}; correct the {noun}{unsaid}, or {}", self.skip_remedy());
        }
        choices.extend(self.skip_options());
        format!("{text}; correct the {noun}, or {}", one_of(file, &choices))
    }

    /// Returns the commands that read the records of each of the `hosts`, or of all; the records before this `line`
    /// belong to the first.
    fn of_hosts(&self, hosts: &[Box<str>], tally: &Tally, line: u64) -> Vec<(String, String)> {
        // The disks of one host, or of all hosts, are numbered again.
        let workload =
            Workload { format: TraceFormat::Auto, volume: None, ..self.workload.clone() };
        let command = |filter: &str, options: &str| {
            let options = format!("{} {}", options_without(&workload, ""), options);
            let filter = filter_of(self.file, [filter].into_iter());
            format!("{filter} | ssdlab trace info - {}", options.trim()).trim_end().to_owned()
        };
        let of_host = |(at, host): (usize, &str)| {
            let gives = if at == 0 {
                let above = if tally.apart.is_empty() {
                    Counts::from(&tally.shape)
                } else {
                    Counts::together(tally.apart.values())
                };
                let above = msr::of_disks(tally.volumes.count(), above);
                format!("{above}, above this line")
            } else {
                format!("from line {} on", count(line))
            };
            let gives = format!("host {}: {gives}", shown(host.as_bytes()));
            Some((command(&msr::of_host(host)?, ""), gives))
        };
        let [filter, columns, gives] = EACH_DISK;
        let each_disk = (command(filter, columns), gives.to_owned());
        hosts.iter().map(AsRef::as_ref).enumerate().filter_map(of_host).chain([each_disk]).collect()
    }

    /// Returns the options that choose one of the first volumes, or all, each with its result.
    #[cold]
    pub(super) fn of_volumes(
        &self,
        tally: &Tally,
        name: &dyn Fn(u64) -> String,
    ) -> Vec<(String, String)> {
        let options = options_without(self.workload, "volume");
        let of_volume = |(volume, records): (u64, u64)| {
            let name = Some(name(volume)).filter(|name| *name != volume.to_string());
            let name = name.map_or(String::new(), |name| format!("{name:.60}: "));
            let gives = tally.apart.get(&volume).map(Counts::summary);
            let gives = gives.unwrap_or_else(|| format!("records: {}", count(records)));
            (format!("{options}--set workload.volume={volume}"), format!("{name}{gives}"))
        };
        let choices = tally.volumes.all().take(LISTED).map(of_volume);
        let of_all = |volumes: usize| {
            let sum = Counts::together(tally.apart.values());
            let gives =
                if sum.requests() == 0 { String::new() } else { format!(": {}", sum.summary()) };
            let meaning =
                format!("all {volumes}, their addresses one after another on one drive{gives}");
            (format!("{options}--set workload.volume=all"), meaning)
        };
        let count =
            Some(tally.volumes.count()).filter(|&choice_of_all| choice_of_all > 1).map(of_all);
        choices.chain(count).collect()
    }

    /// Returns the options that give an unknown `operation` a meaning, the likeliest first.
    fn meanings(&self, operation: &str) -> Vec<(String, String)> {
        let Some(columns) = &self.read_as.columns else { return Vec::new() };
        let choice = |key: &str, meaning: String| {
            let columns = columns.text_meaning(key, operation)?;
            Some((
                format!(
                    "{}--columns {}",
                    options_without(self.workload, "columns"),
                    word(&columns)
                ),
                meaning,
            ))
        };
        let mut keys = words::meanings_of(operation);
        if !keys.contains(&"ignore") {
            keys.push("ignore");
        }
        let meaning_of = |key: &str| match key {
            "ignore" => "if such lines are not requests".to_owned(),
            verb => format!("if it means {verb}"),
        };
        keys.into_iter().filter_map(|key| choice(key, meaning_of(key))).collect()
    }

    /// Returns the options that skip bad lines, and their effect; `None` if most lines are bad.
    fn skip_options(&self) -> Option<(String, String)> {
        let (BadLines::Few(skipping) | BadLines::Many(skipping)) = &self.skipping else {
            return None;
        };
        let options = format!("{}{skipping}", options_without(self.workload, ""));
        Some((options, "to count and skip such lines".to_owned()))
    }

    /// Returns the command for the format of this line, if only one format fits.
    fn format_of(&self, line: &[u8]) -> Option<String> {
        let head = Head { bytes: line, lines: &[line] };
        let detected = formats::detect(&head);
        let mut formats = detected
            .into_iter()
            .filter(|&(format, share)| share == 100 && format != TraceFormat::Table);
        let (format, _) = formats.next()?;
        let read_as = ReadAs { columns: None, time_ns: None, ..self.read_as.clone() };
        let gives = Reading::counts_of(format, &read_as, &head)?.summary();
        let choice = (format!("--format {}", format.word()), format!("this line: {gives}"));
        let text = format!("the line looks like one of format {}; ", format.word());
        formats.next().is_none().then(|| text + &one_of(self.file, &[choice]))
    }

    /// Returns the command that skips bad lines. If there are many, the columns or the format may be wrong.
    fn skip_remedy(&self) -> String {
        let doubt = |share: &str| match &self.read_as.columns {
            Some(_) => format!("give other columns ({share} lines do not fit these)"),
            None => format!("give another format ({share} lines do not fit this one)"),
        };
        let Some((options, _)) = self.skip_options() else { return doubt("most") };
        let is_in_doubt = matches!(self.skipping, BadLines::Many(_));
        let doubt = if is_in_doubt { doubt("many") + ", or " } else { String::new() };
        format!("{doubt}count and skip such lines: {}", command(self.file, &options))
    }
}

/// Returns why an event before an earlier one at `latest` is not used.
#[cold]
pub(super) fn late(latest: u64) -> Reject {
    let expected = format!("a time not before that of an event above it ({latest} ns)");
    Reject { flaw: Flaw::Late, ..Reject::new(expected, 0) }
}
