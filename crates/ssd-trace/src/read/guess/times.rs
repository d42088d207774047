//! The columns of a table with times.

use super::names::{LATENCIES, TIMES, letters_of, unit_of_time, without_unit};
use super::rows::{ENDED, Rows, STARTED};
use crate::read::foreign::pattern::pattern;
use crate::read::formats::mapping::time_unit;

/// Parts of unknown names that suggest times.
const LIKE_TIMES: [&str; 4] = ["time", "stamp", "when", "clock"];
/// Minimum number of rows that show whether a column is nearly in order.
const ORDERED: usize = 10;

/// A column of times with its possible units, the likeliest first.
pub(super) struct Times {
    pub(super) at: usize,
    pub(super) units: Vec<&'static str>,
    /// The times are out of order, so the requests must be sorted.
    pub(super) sort: bool,
}

impl Rows {
    /// Returns the possible units of the times in a column, the likeliest first; "" stands for dates.
    pub(super) fn units_of(&self, at: usize) -> Vec<&'static str> {
        if let Some(unit) = self.names.get(at).and_then(|name| unit_of_time(name))
            && self.has_times(at)
        {
            return vec![unit];
        }
        if self.has_stated_times(at) {
            return vec![""];
        }
        if !self.has_times(at) {
            return vec!["s", "ms", "us", "100ns", "ns", ""];
        }
        let first = self.values(at).into_iter().fold(f64::INFINITY, f64::min);
        // Times since 1970, or since 1601 in Windows, show their unit.
        let units: &[&str] = match (self.has_decimals(at), first) {
            (true, 1e9..4e9) => &["s"],
            (true, 1e12..4e12) => &["ms"],
            (true, 1e15..4e15) => &["us"],
            (true, _) => &["s", "ms", "us"],
            (false, 1.2e17..=2.0e17) => &["100ns"],
            // Ticks of .NET since year 1, which exceed 64 bits in nanoseconds.
            (false, 6.2e17..=6.6e17) => &[],
            (false, 1e18..) => &["ns"],
            (false, 1e15..=1e16) => &["us", "ns"],
            (false, 1e12..=1e13) => &["ms", "us", "ns"],
            (false, 1e9..=4e9) => &["s", "us", "ns"],
            (false, _) if at == 0 && self.has_msr_columns() => &["100ns", "us", "ms", "ns", "s"],
            (false, _) => &["us", "ms", "ns", "s"],
        };
        units.to_vec()
    }

    /// Returns whether the columns match MSR traces: time, host, disk, operation, offset, size and latency.
    fn has_msr_columns(&self) -> bool {
        let is_operation =
            |cell: &str| ["read", "write"].iter().any(|verb| cell.eq_ignore_ascii_case(verb));
        self.width() == 7
            && self.numbers(1).is_none()
            && self.numbers(2).is_some()
            && self.column(3).all(is_operation)
    }

    /// Returns the column of times, if there is one. With `sort`, it is the first column if all its times differ, in
    /// any order.
    pub(super) fn time(&self, sort: bool) -> Option<Times> {
        let columns = 0..self.width();
        if let Some(at) = columns.clone().find(|&at| self.has_dates(at)) {
            return Some(Times { at, units: self.units_of(at), sort });
        }
        let mut candidates: Vec<usize> = columns.filter(|&at| self.ascends(at)).collect();
        if candidates.iter().any(|&at| !self.is_count(at)) {
            candidates.retain(|&at| !self.is_count(at));
        }
        let with_name = candidates.iter().find(|&&at| self.is_named(at, &TIMES));
        let is_decimal = |at: &&usize| self.has_decimals(**at) && self.has_times(**at);
        // Addresses in order look like times, but state no unit.
        let with_name =
            with_name.or_else(|| candidates.iter().find(|&&at| self.has_stated_times(at)));
        let with_name = with_name.or_else(|| candidates.iter().find(is_decimal));
        let with_name = with_name.or_else(|| candidates.iter().find(|&&at| self.has_times(at)));
        let at = if sort { 0 } else { *with_name.or(candidates.first())? };
        let mut times = self.values(at);
        times.sort_by(f64::total_cmp);
        if sort && !(self.has_times(at) && times.is_sorted_by(|a, b| a < b)) {
            return None;
        }
        Some(Times { at, units: self.units_of(at), sort })
    }

    /// Returns the columns of unknown name that may have times because their values are in order. Durations and ends of
    /// requests are returned only if there are no others.
    pub(super) fn other_times(&self) -> Vec<usize> {
        let columns = (0..self.width()).filter(|&at| self.has_dates(at) || self.ascends(at));
        let candidates = columns.filter(|&at| !self.is_count(at) && !self.names[at].is_empty());
        let (ends, starts): (Vec<usize>, Vec<usize>) = candidates.partition(|&at| self.is_end(at));
        if starts.is_empty() { ends } else { starts }
    }

    /// Returns whether the name of a column in order means durations or ends. A column named queue has the times at
    /// which requests were queued if there is a column with times of a later step.
    pub(super) fn is_end(&self, at: usize) -> bool {
        let is_before = |later_column: usize| {
            self.values(at)
                .iter()
                .zip(self.values(later_column))
                .all(|(time, later)| *time <= later)
        };
        let is_later = |later_column: usize| {
            later_column != at
                && is_step(&self.names[later_column])
                && self.ascends(later_column)
                && is_before(later_column)
        };
        let is_arrival = || is_step(&self.names[at]) && (0..self.width()).any(is_later);
        is_latency(&self.names[at]) && !is_arrival()
    }

    /// Returns whether at least nine in ten numbers of a column are above the previous one, and its name suggests
    /// times.
    fn nearly_ascends(&self, at: usize) -> bool {
        let (name, times) = (&self.names[at], self.values(at));
        let steps = times.windows(2).filter(|pair| pair[0] < pair[1]).count();
        let is_nearly = times.len() >= ORDERED && 10 * steps >= 9 * (times.len() - 1);
        let letters = letters_of(name);
        let is_like_time = LIKE_TIMES.iter().any(|part| letters.contains(part));
        self.has_times(at) && is_nearly && is_like_time && !is_latency(name)
    }

    /// Returns the columns with times of another step of each request, such as `dispatch_us`, if `chosen`, in `unit`,
    /// has the name of a step, such as `submit_us`. A column of the same times in another unit, or from another origin,
    /// does not count.
    pub(super) fn other_steps(&self, chosen: usize, unit: Option<&str>) -> Vec<usize> {
        if !is_step(&self.names[chosen]) {
            return Vec::new();
        }
        let scale =
            |unit: Option<&str>| unit.map_or(Some(1.0), |unit| Some(time_unit(unit)? as f64));
        let Some(own) = scale(unit) else { return Vec::new() };
        let times = self.values(chosen);
        let is_other = |&at: &usize| {
            if at == chosen || !is_step(&self.names[at]) || !self.mostly_ascends(at) {
                return false;
            }
            let unit_of_step = unit_of_time(&self.names[at]);
            let (Some(scale_of_step), true) =
                (scale(unit_of_step), unit_of_step.is_some() == unit.is_some())
            else {
                return false;
            };
            let steps = self.values(at);
            let apart =
                times.iter().zip(&steps).map(|(time, step)| step * scale_of_step - time * own);
            let low = apart.clone().fold(f64::INFINITY, f64::min);
            let high = apart.fold(f64::NEG_INFINITY, f64::max);
            // The last digits of the same times may be rounded.
            let digit = |at: usize, unit: f64| unit / 10f64.powi(self.decimals(at) as i32);
            high - low > 1.5 * digit(chosen, own).max(digit(at, scale_of_step))
        };
        (0..self.width()).filter(is_other).collect()
    }

    /// Returns whether at least three in four times of a column are not below the previous one, unlike durations.
    fn mostly_ascends(&self, at: usize) -> bool {
        let times = self.values(at);
        let steps = times.windows(2).filter(|pair| pair[0] <= pair[1]).count();
        self.has_times(at) && times.first() < times.last() && 4 * (steps + 1) >= 3 * times.len()
    }

    /// Returns the maximum number of decimals in a column.
    fn decimals(&self, at: usize) -> usize {
        let decimals = |cell: &str| cell.split_once('.').map_or(0, |(_, part)| part.len());
        self.column(at).map(decimals).max().unwrap_or(0)
    }

    /// Returns the columns of numbers out of order that have the name of arrivals or ends of requests, with a unit, or
    /// that are nearly in order.
    pub(super) fn unordered_times(&self) -> Vec<usize> {
        let is_arrival = |name: &str| {
            // A queue may be a duration.
            let is_queue = is_word(name, &["queue"]);
            let is_known =
                is_word(name, &TIMES) || is_word(name, &STARTED) || is_word(name, &ENDED);
            letters_of(without_unit(name)).is_empty() || is_known && !is_queue
        };
        let is_time = |at: &usize| {
            let name = &self.names[*at];
            let is_number = self.has_times(*at) && self.distinct(*at) > 1;
            let has_unit = unit_of_time(name).is_some() && is_arrival(name) && is_number;
            (has_unit || self.nearly_ascends(*at)) && !self.ascends(*at)
        };
        (0..self.width()).filter(is_time).collect()
    }

    /// Returns a column that looks like times of day or dates in an unsupported notation.
    pub(super) fn unread_times(&self) -> Option<usize> {
        let looks = |cell: &str| {
            let marks = cell.bytes().filter(|byte| matches!(byte, b':' | b'/')).count();
            marks >= 2 && cell.bytes().all(|byte| b"0123456789:/., -".contains(&byte))
        };
        let unread = |&at: &usize| self.column(at).all(looks);
        (0..self.width()).find(unread).filter(|_| self.time(false).is_none())
    }

    /// Returns the columns that look like times of day, perhaps with dates.
    pub(super) fn clock_times(&self) -> Vec<usize> {
        // Between colons, PCI addresses have other numbers, and Ethernet addresses have more numbers.
        let day = r"([a-z]{3,9}[ ,.]+|[\d/.-]+[ T,]+)*";
        let zone = r"( ?(am|pm|z|utc|gmt|[+-]\d\d:?\d\d|\d{4}))*";
        let clock = format!(r"(?i)^(\d{{8}}T\d{{6}}|{day}\d{{1,2}}:\d\d:\d\d)([.,]\d+)?{zone}$");
        let clock = pattern(&clock);
        let is_clock = |at: &usize| {
            self.distinct(*at) > 2 && self.column(*at).all(|cell| clock.is_match(cell))
        };
        (0..self.width()).filter(is_clock).collect()
    }
}

/// Returns whether a name means a step of requests, such as `submit_us` and `dispatch_time_us`.
fn is_step(name: &str) -> bool {
    let has_unit = unit_of_time(name).is_some();
    let letters = letters_of(if has_unit { without_unit(name) } else { name });
    let word = ["timestamp", "time", "ts"].iter().find_map(|end| letters.strip_suffix(end));
    STARTED.contains(&word.unwrap_or(&letters))
}

/// Returns whether a name without its unit is one of `words`.
fn is_word(name: &str, words: &[&str]) -> bool {
    words.contains(&letters_of(without_unit(name)).as_str())
}

/// Returns whether a column of this name has durations or the ends of requests.
pub(crate) fn is_latency(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.any(|word| LATENCIES.iter().any(|part| word.starts_with(part)))
}
