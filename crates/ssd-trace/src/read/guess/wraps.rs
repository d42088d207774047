//! Clocks that wrap around, and the filter that adds the lost periods.

use super::rows::{Rows, ended_lines};
use super::table::Change;
use crate::read::foreign::awk;
use crate::read::formats::mapping::{Place, separated, separated_by};
use crate::read::formats::{Head, Mapping};
use crate::read::lines::shown;

/// Nanoseconds of a day.
const DAY_NS: u64 = 86_400_000_000_000;

/// Requests are late by less than the period of a clock divided by this number.
const LATE: f64 = 100.0;

/// A clock that starts again at 0.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    /// All times are below this.
    period: u64,
    message: &'static str,
    added: &'static str,
    decimals: usize,
}

impl Rows {
    /// Returns the clock of the times in a column, in units of `unit_ns`, if they jump back like a wrapping clock.
    pub(super) fn clock_that_wraps(&self, at: usize, unit_ns: Option<u64>) -> Option<Clock> {
        let times = self.values(at);
        let (message, added, decimals) = ("a 32-bit clock does when it wraps around", "2^32", 0);
        let of_32_bits = Clock { period: 1 << 32, message, added, decimals };
        let (message, added, decimals) = ("the time of day does at midnight", "a day", 9);
        let of_day = |ns: u64| Clock { period: DAY_NS / ns, message, added, decimals };
        let wraps = |clock: &Clock| {
            let period = clock.period as f64;
            let is_jump = |pair: &[f64]| pair[0] > period / 4.0 * 3.0 && pair[1] < period / 4.0;
            times.windows(2).any(is_jump)
                && times.iter().all(|time| (0.0..period).contains(time))
                && (clock.decimals > 0 || !self.has_decimals(at))
        };
        [Some(of_32_bits), unit_ns.map(of_day)].into_iter().flatten().find(wraps)
    }
}

impl Clock {
    /// Returns the change that adds the period after each jump in the column `at`, which messages call `name`.
    pub(super) fn change(self, at: usize, name: &str) -> Change {
        let Clock { period, message, added, decimals } = self;
        let (column, half) = (at + 1, period / 2);
        Change {
            message: format!(
                "its column {name} jumps back, as {message}; add {added} after each jump"
            ),
            title: String::new(),
            statement: format!(
                "if (p - ${column} > {half}) w += {period}; if (w > 0 && ${column} - p > {half}) w -= {period}; p = \
                 ${column}; ${column} += w"
            ),
            decimals: Some(decimals),
        }
    }

    /// Returns the times of a column after that change.
    fn unwrapped(self, times: &[f64]) -> Vec<f64> {
        let (period, half) = (self.period as f64, self.period as f64 / 2.0);
        let (mut before, mut added) = (0.0, 0.0);
        let times_unwrapped = times.iter().map(|&time| {
            if before - time > half {
                added += period;
            } else if added > 0.0 && time - before > half {
                added -= period;
            }
            before = time;
            time + added
        });
        times_unwrapped.collect()
    }
}

/// A table with unwrapped times, and the filter that unwraps them.
pub(crate) struct UnwrappedTable {
    pub(crate) message: String,
    pub(crate) filter: String,
    /// Lines of the table.
    pub(crate) lines: Vec<String>,
}

/// Returns the table in `head` with unwrapped times in the column that `mapping` names, if its clock wraps.
pub(crate) fn unwrapped(head: &Head<'_>, mapping: &Mapping) -> Option<UnwrappedTable> {
    let time = mapping.time.as_ref()?;
    let lines = ended_lines(head);
    let separator = mapping.separator.or_else(|| Some(separated(lines.last()?)?.0))?;
    let below = Head { lines: head.lines.get(mapping.skip..)?, ..*head };
    let rows = Rows::cut(&below, |line| separated_by(line, separator))?;
    let above = mapping.skip + rows.above;
    let at = match &time.place {
        Place::Numbered(column) => usize::try_from(*column).ok()?.checked_sub(1)?,
        Place::Named(name) => rows.names.iter().position(|candidate| candidate == name)?,
        Place::Bytes(..) => return None,
    };
    let clock = rows.clock_that_wraps(at, time.unit).filter(|_| at < rows.width())?;
    let name = rows.names.get(at).map_or(format!("{}", at + 1), |name| shown(name.as_bytes()));
    let Change { message, title, statement, decimals } = clock.change(at, &name);
    let names = above + usize::from(!rows.names.is_empty());
    let table = awk::Table { separator, lines, names };
    let filter = table.filter(&title, &statement, decimals)?;
    let times: Vec<f64> = rows.whole_column(at).map(|cell| cell.parse().unwrap_or(0.0)).collect();
    let unwrapped = clock.unwrapped(&times);
    // A request may be slightly late. Numbers without any order jump back, too.
    let most = clock.period as f64 / LATE;
    if unwrapped.windows(2).any(|pair| pair[0] - pair[1] > most) {
        return None;
    }
    let joined = |cells: &[String]| cells.join(&char::from(separator).to_string());
    let above = lines[..above].iter().map(|line| String::from_utf8_lossy(line).into_owned());
    let title = Some(joined(&rows.names)).filter(|names| !names.is_empty());
    let body = rows.rows.iter().zip(unwrapped).map(|(row, time)| {
        let mut row = row.clone();
        row[at] = format!("{time:.decimals$}", decimals = clock.decimals);
        joined(&row)
    });
    let lines = above.chain(title).chain(body).collect();
    Some(UnwrappedTable { message, filter, lines })
}
