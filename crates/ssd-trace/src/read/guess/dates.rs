//! Dates that a filter must rewrite: days of a spreadsheet, and dates without separators.

use super::columns::NamedColumn;
use super::table::{Change, Table};
use super::times::is_latency;

impl Table {
    /// Returns the change that makes times of the ticks that .NET counts since year 1. In nanoseconds, these would
    /// exceed 64 bits.
    pub(super) fn ticks(&self) -> Option<Change> {
        let is_tick = |cell: &str| {
            cell.parse().is_ok_and(|tick: u64| {
                (620_000_000_000_000_000..660_000_000_000_000_000).contains(&tick)
            })
        };
        let are_ticks = |at: usize| self.rows.rows.len() > 1 && self.rows.column(at).all(is_tick);
        if self.columns.time.as_ref().is_some_and(|time| !are_ticks(time.at)) {
            return None;
        }
        let tick_columns = || (0..self.rows.width()).filter(|&at| are_ticks(at));
        let at = tick_columns()
            .find(|&at| !is_latency(&self.names[at]))
            .or_else(|| tick_columns().next())?;
        let column = at + 1;
        Some(Change {
            message: format!(
                "its column {} seems to hold the ticks of .NET, of 100 ns since year 1; drop their first digit, so \
                 that they fit",
                self.shown_name(column)
            ),
            title: format!("${column} = ${column} \"_100ns\""),
            statement: format!("sub(/^6/, \"\", ${column})"),
            decimals: None,
        })
    }

    /// Returns the time from a spreadsheet's days since 1900: decimals between 2000 and 2099.
    pub(super) fn days(&self) -> Option<Change> {
        let NamedColumn { at, unit: None, .. } = self.columns.time.as_ref()? else { return None };
        let is_day = |cell: &str| {
            let decimals = cell.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            decimals > 4 && cell.parse().is_ok_and(|day: f64| (36526.0..73051.0).contains(&day))
        };
        let column = at + 1;
        (self.rows.rows.len() > 1 && self.rows.column(*at).all(is_day)).then(|| Change {
            message: format!(
                "its column {} seems to hold the days that a spreadsheet makes of dates; convert them to seconds",
                self.shown_name(column)
            ),
            title: format!("${column} = \"time_s\""),
            statement: format!("${column} *= 86400"),
            decimals: Some(9),
        })
    }

    /// Returns the time from dates of 14 digits, with or without decimals, such as 20231114135959.995.
    pub(super) fn packed_dates(&self) -> Option<Change> {
        let NamedColumn { at, unit: None, .. } = self.columns.time.as_ref()? else { return None };
        let is_packed = |cell: &str| {
            let (digits, rest) = cell.split_once('.').unwrap_or((cell, "0"));
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let part = |from: usize, values: std::ops::Range<u32>| {
                digits[from..from + 2].parse().is_ok_and(|value| values.contains(&value))
            };
            digits.len() == 14
                && is_number(digits)
                && is_number(rest)
                && part(0, 19..21)
                && part(4, 1..13)
                && part(6, 1..32)
                && part(8, 0..24)
                && part(10, 0..60)
                && part(12, 0..61)
        };
        let column = at + 1;
        let part = |from: usize| format!("substr(${column}, {from}, 2)");
        let date = format!("substr(${column}, 1, 4) \"-\" {} \"-\" {}", part(5), part(7));
        let time = format!("{} \":\" {} \":\" substr(${column}, 13)", part(9), part(11));
        (self.rows.rows.len() > 1 && self.rows.column(*at).all(is_packed)).then(|| Change {
            message: format!(
                "its column {} holds dates of digits only; insert the separators",
                self.shown_name(column)
            ),
            title: String::new(),
            statement: format!("${column} = {date} \"T\" {time}"),
            decimals: None,
        })
    }
}
