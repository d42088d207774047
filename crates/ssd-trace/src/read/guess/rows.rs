//! The rows of a table with unknown columns, and properties of its columns.

use super::LINES;
use super::names::{unit_named, volumes_named};
use crate::read::foreign::pattern::pattern;
use crate::read::formats::Head;
use crate::read::formats::mapping::{bytes_of, cells_of, date, stated_time, time, whole};
use crate::read::lines::listed;
use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Maximum number of columns of an examined table.
const COLUMNS: usize = 64;
/// Maximum number of volumes in the examined lines.
const VOLUME_COUNT: usize = 16;
/// Maximum number of events of a request, or of layers that it passes.
const MOST_EVENTS: usize = 6;
/// Words for the start of a request in columns of events.
pub(super) const STARTED: [&str; 14] = [
    "queue",
    "queued",
    "insert",
    "inserted",
    "issue",
    "issued",
    "dispatch",
    "dispatched",
    "submit",
    "submitted",
    "submission",
    "start",
    "started",
    "begin",
];
/// Words for the end of a request in columns of events.
pub(super) const ENDED: [&str; 8] =
    ["complete", "completed", "completion", "finish", "finished", "end", "ended", "done"];

/// Rows with the same number of cells.
pub(super) struct Rows {
    /// Lines above the first row.
    pub(super) above: usize,
    /// Column names; empty if there are none.
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Rows {
    /// Returns the rows of `head`; `None` unless at least half of its lines are rows.
    pub(super) fn of(head: &Head<'_>) -> Option<Rows> {
        Rows::cut(head, cells_of)
    }

    /// Like [`Rows::of`], with cells from `cut`.
    pub(super) fn cut(head: &Head<'_>, cut: impl Fn(&[u8]) -> Vec<String>) -> Option<Rows> {
        let lines = ended_lines(head);
        // The last comment may have the column names.
        let comments = lines.iter().take_while(|line| line.starts_with(b"#")).count();
        let before = comments.saturating_sub(1);
        let lines = &lines[before..];
        let cut_lines: Vec<Vec<String>> = lines.iter().take(LINES).map(|line| cut(line)).collect();
        let mut widths: BTreeMap<usize, usize> = BTreeMap::new();
        cut_lines.iter().for_each(|cells| *widths.entry(cells.len()).or_default() += 1);
        let (&width, _) = widths.iter().max_by_key(|(width, count)| (**count, **width))?;
        let above = before + cut_lines.iter().position(|cells| cells.len() == width)?;
        let lines = cut_lines.len();
        let mut rows: Vec<Vec<String>> =
            cut_lines.into_iter().filter(|cells| cells.len() == width).collect();
        let number = |cell: &String| cell.starts_with(|first: char| first.is_ascii_digit());
        let has_names = !rows.first()?.iter().any(number);
        let names = if has_names { rows.remove(0) } else { Vec::new() };
        ((3..=COLUMNS).contains(&width) && rows.len() > 1 && 2 * rows.len() >= lines)
            .then_some(Rows { above, names, rows })
    }

    /// Returns the rows among `lines` that have as many cells as the `names` above them.
    pub(super) fn below(names: &[String], lines: &[&[u8]]) -> Rows {
        let rows = lines.iter().map(|line| cells_of(line));
        let rows = rows.filter(|cells| cells.len() == names.len()).collect();
        Rows { above: 0, names: names.to_vec(), rows }
    }

    pub(super) fn width(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// Returns whether the column has one of the names `field_names`.
    pub(super) fn is_named(&self, at: usize, field_names: &[&str]) -> bool {
        self.names.get(at).is_some_and(|name| unit_named(name, field_names).is_some())
    }

    /// Returns the cells of a column in the first rows.
    pub(super) fn column(&self, at: usize) -> impl Iterator<Item = &str> {
        self.whole_column(at).take(LINES)
    }

    /// Returns the cells of a column in all rows.
    pub(super) fn whole_column(&self, at: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row[at].as_str())
    }

    /// Returns the number of distinct cells of a column in all rows.
    pub(super) fn distinct(&self, at: usize) -> usize {
        self.whole_column(at).collect::<BTreeSet<&str>>().len()
    }

    /// Returns the number of distinct pairs of cells of two columns in all rows. It exceeds the number of distinct
    /// cells of the first column if that does not determine the second.
    pub(super) fn distinct_pairs(&self, first: usize, second: usize) -> usize {
        let pairs = self.whole_column(first).zip(self.whole_column(second));
        pairs.collect::<BTreeSet<(&str, &str)>>().len()
    }

    /// Returns the whole numbers of a column if it has nothing else.
    pub(super) fn numbers(&self, at: usize) -> Option<Vec<u64>> {
        let number = |cell: &str| whole(cell.as_bytes(), "").ok().or_else(|| bytes_of(cell));
        self.column(at).map(number).collect()
    }

    pub(super) fn has_dates(&self, at: usize) -> bool {
        self.column(at).all(|cell| date(cell.as_bytes()).is_some())
    }

    /// Returns whether all times in a column state their units: dates, or durations such as 1.46s.
    pub(super) fn has_stated_times(&self, at: usize) -> bool {
        self.column(at).all(|cell| stated_time(cell.as_bytes()).is_some())
            && self.column(at).any(|cell| cell.bytes().any(|byte| byte.is_ascii_alphabetic()))
            || self.has_dates(at)
    }

    pub(super) fn has_times(&self, at: usize) -> bool {
        self.column(at).all(|cell| time(cell.as_bytes(), 1).is_ok())
    }

    /// Returns the values of a column, durations in nanoseconds; NaN for a cell that is not a number.
    pub(super) fn values(&self, at: usize) -> Vec<f64> {
        let value = |cell: &str| {
            let duration = || stated_time(cell.as_bytes()).map(|ns| ns as f64);
            let hexadecimal = || whole(cell.as_bytes(), "").ok().map(|number| number as f64);
            let number = cell.parse::<f64>().ok();
            number.or_else(duration).or_else(hexadecimal).unwrap_or(f64::NAN)
        };
        self.column(at).map(value).collect()
    }

    pub(super) fn has_decimals(&self, at: usize) -> bool {
        self.column(at).any(|cell| cell.contains('.'))
    }

    /// Returns whether a column has times in order that are not all equal.
    pub(super) fn ascends(&self, at: usize) -> bool {
        let times = self.values(at);
        (self.has_times(at) || self.has_stated_times(at))
            && times.is_sorted()
            && times.first() < times.last()
    }

    /// Returns whether a column numbers the rows.
    pub(super) fn is_count(&self, at: usize) -> bool {
        let numbers = self.numbers(at).unwrap_or_default();
        numbers.len() > 2 && numbers.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1))
    }

    /// Returns the column of volumes, by values such as sda, nvme0n1 and `8,16`, or else by its name; `used` are the
    /// columns of the other fields.
    pub(super) fn devices(&self, used: &[usize]) -> Option<usize> {
        let has_all = |at: usize, is: &dyn Fn(&str) -> bool| {
            let cells = self.cells_of_volumes(at, used).unwrap_or_default();
            !cells.is_empty() && cells.iter().all(|cell| is(cell))
        };
        let is_disk = |at: &usize| {
            has_all(*at, &|cell| DISK.is_match(cell)) || has_all(*at, &|cell| NUMBER.is_match(cell))
        };
        let is_named = |at: &usize| {
            volumes_named(&self.names).any(|(volume, _)| volume == *at) && has_all(*at, &is_plain)
        };
        let columns = 0..self.width();
        columns.clone().find(is_disk).or_else(|| columns.clone().find(is_named))
    }

    /// Returns a text about the `volume` that commands read, and about another column that it does not determine.
    pub(super) fn read_volumes(&self, volume: usize, used: &[usize]) -> String {
        let used: Vec<usize> = used.iter().copied().chain([volume]).collect();
        let is_part = |&column: &usize| self.distinct_pairs(volume, column) > self.distinct(volume);
        let note = self.other_volumes(&used).filter(is_part).map(|part| {
            format!(
                ", and {}, which may be parts of their names: to keep those apart, join the two columns first",
                self.values_of(part)
            )
        });
        format!("{}, which are read as volumes{}", self.values_of(volume), note.unwrap_or_default())
    }

    /// Returns the values of a column if they are as few as volumes and the column is not in `used`.
    fn cells_of_volumes(&self, at: usize, used: &[usize]) -> Option<BTreeSet<&str>> {
        let cells: BTreeSet<&str> = self.column(at).collect();
        let are_few = (2..=VOLUME_COUNT).contains(&cells.len());
        (are_few && !self.ascends(at) && !used.contains(&at)).then_some(cells)
    }

    /// Returns the first column whose values may be volumes.
    fn other_volumes(&self, used: &[usize]) -> Option<usize> {
        let is_name = |cell: &str| {
            let has = |kind: fn(&u8) -> bool| cell.bytes().any(|byte| kind(&byte));
            let is_value = stated_time(cell.as_bytes()).is_some() || bytes_of(cell).is_some();
            has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && !is_value
        };
        let looks = |&at: &usize| {
            let cells = self.cells_of_volumes(at, used).unwrap_or_default();
            // In many tables, the first column has the volumes.
            let may_be = |cell: &&str| is_plain(cell) && (at == 0 || is_name(cell));
            !cells.is_empty() && cells.iter().all(may_be)
        };
        // The minor number of a device follows its major number, which is constant.
        let is_minor = |&at: &usize| {
            let is_major = |cell: &str| MAJOR.is_match(cell);
            let cells = self.cells_of_volumes(at, used).unwrap_or_default();
            let are_minors = cells.iter().all(|cell| MINOR.is_match(cell));
            let is_behind_major = || {
                !used.contains(&(at - 1))
                    && self.distinct(at - 1) == 1
                    && self.column(at - 1).all(is_major)
            };
            at > 0 && !cells.is_empty() && are_minors && is_behind_major()
        };
        let columns = 0..self.width();
        self.devices(used)
            .or_else(|| columns.clone().find(looks))
            .or_else(|| columns.clone().find(is_minor))
    }

    /// Returns a text about a column that may have volumes, if any; `used` are the columns of the other fields.
    pub(super) fn unused_volumes(&self, used: &[usize]) -> Option<String> {
        let at = self.other_volumes(used)?;
        Some(format!(
            "{}, which may be volumes: to keep them apart, add ,volume={} to the columns",
            self.values_of(at),
            at + 1
        ))
    }

    /// Returns the start of a sentence with the number of distinct values of a column, and the values.
    fn values_of(&self, at: usize) -> String {
        let cells: BTreeSet<&str> = self.column(at).collect();
        let are_quoted = cells.iter().any(|cell| cell.contains(','));
        let shown = cells
            .iter()
            .map(|cell| if are_quoted { format!("\"{cell:.20}\"") } else { format!("{cell:.20}") });
        let shown: Vec<String> = shown.collect();
        format!("column {} has {} distinct values ({})", at + 1, shown.len(), listed(&shown))
    }

    /// Returns the words of a column in order of appearance.
    fn words_of(&self, at: usize) -> Vec<&str> {
        let mut distinct = BTreeSet::new();
        self.column(at).filter(|word| distinct.insert(*word)).collect()
    }

    /// Returns the words of a column, such as the layers that a request passes, if the rows of each word have the same
    /// requests, except for a few at the end.
    fn same_events(&self, at: usize, request: [usize; 3]) -> Option<Vec<&str>> {
        let words = self.words_of(at);
        let (first, later_words) =
            words.split_first().filter(|(_, later_words)| !later_words.is_empty())?;
        let is_plain = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let requests = |word: &str| {
            let rows = self.rows.iter().filter(|row| row[at] == word);
            rows.map(|row| request.map(|column| row[column].as_str())).collect::<Vec<_>>()
        };
        let of_first = requests(first);
        let is_same = |word: &&str| {
            let of_word = requests(word);
            let of_later: BTreeSet<&[&str; 3]> = of_word.iter().collect();
            let common = of_first.iter().filter(|request| of_later.contains(request)).count();
            let rest = (of_first.len() - common).max(of_word.len().saturating_sub(common));
            common > 2 && rest < 3
        };
        let are_few = words.len() <= MOST_EVENTS && words.iter().all(|word| is_plain(word));
        (are_few && later_words.iter().all(is_same)).then_some(words)
    }

    /// Returns what a mapping needs for a column of actions in the notation of blkparse, or of other events: a text for
    /// each event that may mark the request, or a single empty text without such a column. `place` returns the notation
    /// of its column; `op` is the column of operations. A column of a few words has events, too, if the rows of each
    /// word have the same requests; `request` are the columns of operation, address and length.
    pub(super) fn events(
        &self,
        op: Option<usize>,
        request: Option<[usize; 3]>,
        place: impl Fn(usize) -> String,
    ) -> Vec<String> {
        let distinct_cells = |at: usize| self.column(at).collect::<BTreeSet<&str>>();
        let is_action = |cell: &&str| cell.len() == 1 && "QMFGSRDCPUTIXABaf".contains(*cell);
        let is_event = |cell: &&str| {
            STARTED.iter().chain(&ENDED).any(|event| cell.eq_ignore_ascii_case(event))
        };
        let usable = |at: usize| {
            let cells = distinct_cells(at);
            let actions = ["Q", "D", "C"].into_iter().filter(|action| cells.contains(action));
            let actions: Vec<&str> = actions.collect();
            // The request of a completion may be in another event.
            let are_completions = actions == ["C"] && cells.len() > 1;
            if cells.iter().all(is_action) && actions.iter().any(|action| *action != "D") {
                return if are_completions { self.words_of(at) } else { actions };
            }
            let is_several = cells.len() > 1 && cells.iter().all(is_event);
            if is_several { self.words_of(at) } else { Vec::new() }
        };
        let columns = (0..self.width()).filter(|&at| Some(at) != op);
        let candidates =
            columns.clone().map(|at| (at, usable(at))).find(|(_, words)| !words.is_empty());
        let repeated = || {
            let request = request?;
            let mut free = columns.filter(|at| !request.contains(at));
            free.find_map(|at| Some((at, self.same_events(at, request)?)))
        };
        let Some((at, words)) = candidates.or_else(repeated) else { return vec![String::new()] };
        words.iter().map(|word| format!(",event={}:{word}", place(at))).collect()
    }
}

/// Returns the lines of `head` except a last line without a newline, which may be incomplete.
pub(super) fn ended_lines<'a>(head: &Head<'a>) -> &'a [&'a [u8]] {
    match head.lines {
        [lines @ .., last] if lines.len() > 1 && head.bytes.ends_with(last) => lines,
        lines => lines,
    }
}

/// Names of disks, letters of drives, and host, channel, target and LUN of SCSI.
static DISK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:(?:/dev/)?(?:(?:sd|hd|vd|xvd)[a-z]{1,2}|(?:nvme\d+n|dm-|md|mmcblk|nbd|rbd|loop|disk|[an]?da)\d+)",
        r"|[A-Z]:\\?|\d+:\d+:\d+:\d+)$"
    ))
});
/// Linux's device numbers, such as `8,16`, of disks, loops, mapped devices, memory cards and virtual disks.
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!("^(?:{MAJORS})[,:](?:{MINORS})$")));
const MAJORS: &str = "[789]|11|31|43|6[5-9]|7[01]|12[89]|13[0-5]|179|202|230|25[2-9]";
const MINORS: &str = "0|[1-9][0-9]{0,2}";
/// Such a major number in a separate column, and a minor number in the next.
static MAJOR: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("^(?:{MAJORS})$")));
static MINOR: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("^(?:{MINORS})$")));

/// Returns whether a cell may be the name of a volume: it has neither blanks nor the `.` and `,` of numbers.
fn is_plain(cell: &str) -> bool {
    cell.bytes().all(|byte| byte.is_ascii_graphic() && !b".,".contains(&byte))
}
