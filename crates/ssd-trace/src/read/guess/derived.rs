//! Columns from which a filter must derive a field: intervals between requests, minutes, parts of a time, flags of
//! discards, cylinders.

use super::Columns;
use super::columns::{NamedColumn, SECTOR_SIZES};
use super::names::{TIMES, letters_of, unit_of_time, with_letter_u, without_unit};
use super::table::{Change, Table};
use super::times::is_latency;
use super::values::LONGEST;
use crate::read::foreign::pattern::pattern;
use crate::read::formats::Head;
use crate::read::lines::listed;
use std::collections::BTreeSet;

/// Names of columns with the time since the previous request.
const INTERVALS: [&str; 24] = [
    "iat",
    "interarrival",
    "interarrivaltime",
    "arrivalinterval",
    "interval",
    "delta",
    "deltatime",
    "timedelta",
    "dt",
    "delay",
    "gap",
    "wait",
    "think",
    "thinktime",
    "timediff",
    "difftime",
    "timesinceprev",
    "timesinceprevious",
    "timesincelast",
    "timetonext",
    "arrivalgap",
    "intervaltime",
    "sleep",
    "step",
];
/// A unit of time that `--columns` does not support.
struct OtherUnit {
    suffixes: &'static [&'static str],
    message: &'static str,
    /// The conversion to seconds, in awk.
    conversion: &'static str,
    /// Decimals of these seconds. More decimals of jiffies would show awk's rounding.
    decimals: usize,
    /// It counts the ticks of a clock, so a column with its name has times.
    is_clock: bool,
}

const OTHER_UNITS: [OtherUnit; 6] = [
    OtherUnit {
        suffixes: &["ps", "psec", "picoseconds"],
        message: "picoseconds",
        conversion: "/= 1000000000000",
        decimals: 9,
        is_clock: false,
    },
    OtherUnit {
        suffixes: &["days", "day"],
        message: "days",
        conversion: "*= 86400",
        decimals: 9,
        is_clock: false,
    },
    OtherUnit {
        suffixes: &["minutes", "minute", "mins", "min"],
        message: "minutes",
        conversion: "*= 60",
        decimals: 9,
        is_clock: false,
    },
    OtherUnit {
        suffixes: &["hours", "hour"],
        message: "hours",
        conversion: "*= 3600",
        decimals: 9,
        is_clock: false,
    },
    OtherUnit {
        suffixes: &["jiffies", "jif"],
        message: "jiffies (taken as 4 ms, HZ=250)",
        conversion: "/= 250",
        decimals: 3,
        is_clock: true,
    },
    OtherUnit {
        suffixes: &["tsc", "cycles"],
        message: "processor cycles (taken as 2.5 GHz; use your own rate)",
        conversion: "/= 2500000000",
        decimals: 9,
        is_clock: true,
    },
];
/// Words next to a clock in the name of a time, in addition to [`TIMES`].
const CLOCK_WORDS: [&str; 6] = ["when", "submit", "issue", "begin", "at", "cpu"];
/// Parts of the names of addresses and lengths in blocks.
const BLOCKS: [&str; 7] = ["lba", "lbn", "block", "blk", "lpn", "page", "count"];

/// Units of addresses and lengths above a sector, with their bytes, binary and decimal.
const LARGE_UNITS: [(&str, u64, u64); 3] =
    [("1KiB", 1 << 10, 1000), ("1MiB", 1 << 20, 1_000_000), ("1GiB", 1 << 30, 1_000_000_000)];

/// A derivation of a field from the columns of a file.
pub(crate) struct Derivation {
    /// The reason, and what the filter does.
    pub(crate) message: String,
    /// The filter; `None` if awk would split the cells differently.
    pub(crate) filter: Option<String>,
}

impl Table {
    /// Derives the time from intervals, or from a unit that `--columns` does not support.
    fn time(&self) -> Option<Change> {
        if self.columns.time.is_some() {
            return None;
        }
        let interval = (1..).zip(&self.names).find_map(|(column, name)| {
            let unit = unit_of_time(name);
            let rest = unit.map_or(name.as_str(), |_| without_unit(name));
            if INTERVALS.contains(&letters_of(rest).as_str()) {
                let reason =
                    "seems to hold the time since the previous request, not the time of arrival";
                return Some(self.sum(column, reason));
            }
            let letters = letters_of(name);
            let is_time = |rest: &str| rest.is_empty() || TIMES.contains(&rest);
            // `min` alone more likely is a minimum, `day` a date, and `tps` a rate.
            let is_word = ["min", "day", "days", "ps", "tps"].contains(&letters.as_str());
            let ends = |end: &&str| !is_word && letters.strip_suffix(*end).is_some_and(is_time);
            let unit = OTHER_UNITS.into_iter().find(|unit| unit.suffixes.iter().any(ends));
            unit.map(|unit| self.in_seconds(column, &unit)).or_else(|| self.multiplied(column))
        });
        interval.or_else(|| self.clock_ticks())
    }

    /// Derives the time from clock ticks (`start_tsc`): the only unused column in order, with no other words in its
    /// name.
    fn clock_ticks(&self) -> Option<Change> {
        let Columns { op, offset, size, .. } = &self.columns;
        let used = [op.at, offset.at, size.at];
        let candidates = self.rows.other_times().into_iter().filter(|at| !used.contains(at));
        let [at] = candidates.collect::<Vec<usize>>()[..] else { return None };
        let name = self.names[at].to_ascii_lowercase();
        let words: Vec<&str> = name.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
        let clock = |word: &&str| {
            OTHER_UNITS.into_iter().find(|unit| unit.is_clock && unit.suffixes.contains(word))
        };
        let is_known = |word: &&str| {
            clock(word).is_some() || TIMES.contains(word) || CLOCK_WORDS.contains(word)
        };
        let unit = words.iter().find_map(clock).filter(|_| words.iter().all(is_known))?;
        Some(self.in_seconds(at + 1, &unit))
    }

    /// Derives the time from a column in another unit.
    fn in_seconds(&self, column: usize, unit: &OtherUnit) -> Change {
        Change {
            message: format!(
                "its column {} seems to hold {}, which is not a unit of --columns; convert them to seconds",
                self.shown_name(column),
                unit.message
            ),
            title: format!("${column} = \"time_s\""),
            statement: format!("${column} {}", unit.conversion),
            decimals: Some(unit.decimals),
        }
    }

    /// Derives the time from a column whose name states a multiple of a unit after a separator, as in `time_10us`. A
    /// number directly after letters names a clock or its width, as in `ts64_ns`.
    fn multiplied(&self, column: usize) -> Option<Change> {
        let name = with_letter_u(&self.names[column - 1]).to_ascii_lowercase();
        let stated = pattern(r"^(.*[^a-z\d])(10|100|1000)[^a-z\d]*([num]s)[^a-z\d]*$");
        let parts = stated.captures(&name)?;
        let (factor, unit) = (&parts[2], &parts[3]);
        TIMES.contains(&letters_of(&parts[1]).as_str()).then(|| Change {
            message: format!(
                "its column {} seems to count {factor} {unit}, which is not a unit of --columns; multiply it",
                self.shown_name(column)
            ),
            title: format!("${column} = \"time_{unit}\""),
            statement: format!("${column} *= {factor}"),
            decimals: Some(3),
        })
    }

    /// Derives the time as the sum of the intervals in a column.
    fn sum(&self, column: usize, reason: &str) -> Change {
        let name = unit_of_time(&self.names[column - 1])
            .map_or("time".to_owned(), |unit| format!("time_{unit}"));
        Change {
            message: format!(
                "its column {} {reason}; add up the intervals",
                self.shown_name(column)
            ),
            title: format!("${column} = \"{name}\""),
            statement: format!("t += ${column}; ${column} = t"),
            decimals: Some(9),
        }
    }

    /// Derives the time from columns with its whole units and with the rest.
    fn joined_time(&self) -> Option<Change> {
        let (integer, rest, digits) = self.parts()?;
        let unit = unit_of_time(&self.names[integer - 1])?;
        let time = self.columns.time.as_ref().map(|time| time.at + 1);
        if time.is_some_and(|time| time != integer && time != rest) {
            return None;
        }
        Some(Change {
            message: format!(
                "its columns {} and {} seem to hold parts of one time; join them",
                self.shown_name(integer),
                self.shown_name(rest)
            ),
            title: format!("${integer} = \"time_{unit}\"; ${rest} = \"rest\""),
            statement: format!("${integer} = sprintf(\"%d.%0{digits}d\", ${integer}, ${rest})"),
            decimals: Some(9),
        })
    }

    /// Derives the length from the end if no column has a length. The end is the last sector or byte, or the next one.
    fn lengths(&self) -> Option<Change> {
        let Columns { offset, size, is_end, .. } = &self.columns;
        if !is_end || !self.is_plain(offset.at) || !self.is_plain(size.at) {
            return None;
        }
        let (starts, ends) = (self.rows.numbers(offset.at)?, self.rows.numbers(size.at)?);
        let lengths = starts
            .iter()
            .zip(&ends)
            .map(|(start, end)| end.checked_sub(*start).filter(|&length| length <= LONGEST));
        let lengths: Vec<u64> = lengths.collect::<Option<Vec<u64>>>()?;
        let is_even = |length: &u64| length.is_multiple_of(2);
        // Lengths are rarely odd, and never 0.
        let is_last =
            lengths.contains(&0) || !lengths.iter().any(|length| is_even(length) || *length == 1);
        let is_certain = is_last || lengths.iter().all(is_even);
        let [address, length] = match offset.unit.or(size.unit) {
            Some("512B") => ["lba", "sectors"],
            Some("4KiB") => ["page", "pages"],
            Some("1KiB") => ["offset_kib", "size_kib"],
            Some("1MiB") => ["offset_mib", "size_mib"],
            Some("1GiB") => ["offset_gib", "size_gib"],
            _ => ["offset", "size"],
        };
        let (start, end) = (offset.at + 1, size.at + 1);
        Some(Change {
            message: format!(
                "its column {} seems to hold the end of a request; subtract the start from it{}",
                self.shown_name(end),
                if is_last {
                    ", and add 1, since the end belongs to the request"
                } else if is_certain {
                    ""
                } else {
                    " (and add 1 if the end belongs to the request)"
                }
            ),
            title: format!("${start} = \"{address}\"; ${end} = \"{length}\""),
            statement: format!("${end} = ${end} - ${start}{}", if is_last { " + 1" } else { "" }),
            decimals: Some(0),
        })
    }

    /// Derives addresses and lengths in bytes from decimals in larger units.
    fn whole_sectors(&self) -> Option<Change> {
        let Columns { offset, size, is_end, .. } = &self.columns;
        let in_bytes = |column: &NamedColumn| {
            let (_, bytes, decimal) =
                LARGE_UNITS.into_iter().find(|(unit, ..)| Some(*unit) == column.unit)?;
            let has_decimals = self.rows.column(column.at).any(|cell| cell.contains('.'));
            let are_sectors = |bytes: u64| {
                self.rows.column(column.at).all(|cell| {
                    let sectors = cell.parse::<f64>().unwrap_or(f64::NAN) * bytes as f64 / 512.0;
                    (sectors - sectors.round()).abs() < 1e-6
                })
            };
            let bytes = if !are_sectors(bytes) && are_sectors(decimal) { decimal } else { bytes };
            has_decimals.then_some((column.at + 1, bytes))
        };
        let columns: Vec<(usize, u64)> = [offset, size].into_iter().filter_map(in_bytes).collect();
        let (first, bytes) = columns.first().filter(|_| !is_end)?;
        let join = |text: &dyn Fn(&(usize, u64)) -> String| {
            columns.iter().map(text).collect::<Vec<_>>().join("; ")
        };
        Some(Change {
            message: format!(
                "its column {} has decimals; convert it to bytes, in whole sectors ({bytes} bytes to a unit)",
                self.shown_name(*first)
            ),
            title: join(&|(column, _)| {
                let name = if *column == offset.at + 1 { "byteoffset" } else { "bytes" };
                format!("${column} = \"{name}\"")
            }),
            statement: join(&|(column, bytes)| {
                format!("${column} = int(${column} * {bytes} / 512 + 0.5) * 512")
            }),
            decimals: Some(0),
        })
    }

    /// Derives addresses and lengths in bytes from blocks of several sizes, which a column states.
    fn blocks_of_several_sizes(&self) -> Option<Change> {
        let Columns { offset, size, is_end, .. } = &self.columns;
        let sector_size = self.column_named(&SECTOR_SIZES)?;
        // Linux counts sectors of 512 B regardless of the block size.
        let counts_blocks = |column: &NamedColumn| {
            let is_named = BLOCKS.iter().any(|name| column.letters.contains(name));
            is_named && !column.letters.contains("sector") && self.is_plain(column.at)
        };
        let sizes: BTreeSet<u64> = self.rows.numbers(sector_size - 1)?.into_iter().collect();
        let are_sizes =
            sizes.iter().all(|size| (512..=1 << 20).contains(size) && size.is_power_of_two());
        if *is_end || sizes.len() < 2 || !are_sizes || !self.is_plain(sector_size - 1) {
            return None;
        }
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        let (start, length) = (offset.at + 1, size.at + 1);
        (counts_blocks(offset) && counts_blocks(size) && length != sector_size).then(|| Change {
            message: format!(
                "its column {} has the sizes of the blocks, {} bytes; multiply addresses and lengths by them",
                self.shown_name(sector_size),
                listed(&sizes)
            ),
            title: format!("${start} = \"byteoffset\"; ${length} = \"bytes\""),
            statement: format!("${start} *= ${sector_size}; ${length} *= ${sector_size}"),
            decimals: Some(0),
        })
    }

    /// Derives the address from cylinder, head and sector.
    fn geometry(&self) -> Option<Change> {
        let [cylinder, head, sector] = [&["cylinder", "cyl"][..], &["head"], &["sector", "sec"]]
            .map(|field_names| self.column_named(field_names));
        let (cylinder, head, sector) = (cylinder?, head?, sector?);
        if self.columns.offset.at + 1 != sector {
            return None;
        }
        Some(Change {
            message: "its addresses are cylinders, heads and sectors; calculate sectors from them (255 heads and 63 \
                   sectors a track here; use those of the disk)"
                .to_owned(),
            title: format!("${sector} = \"lba\"; ${head} = \"h\"; ${cylinder} = \"c\""),
            statement: format!("${sector} += (${cylinder} * 255 + ${head}) * 63 - 1"),
            decimals: Some(0),
        })
    }

    /// Returns the column of whole units of a time, the column of the rest, and the digits of the rest. The names of
    /// these columns differ only in their units.
    fn parts(&self) -> Option<(usize, usize, usize)> {
        let Table { names, rows, .. } = self;
        let stem = |at: usize| letters_of(without_unit(&names[at]));
        let exponent = |at: usize| -> Option<usize> {
            let units = [("s", 9), ("ms", 6), ("us", 3), ("ns", 0)];
            let own = unit_of_time(&names[at])?;
            units.into_iter().find(|(unit, _)| *unit == own).map(|(_, exponent)| exponent)
        };
        let digits = |integer: usize, rest: usize| exponent(integer)?.checked_sub(exponent(rest)?);
        let is_rest = |at: usize, digits: usize| {
            let cells: Vec<u64> = rows.numbers(at).unwrap_or_default();
            let is_below = |&cell: &u64| cell < 10u64.pow(digits as u32);
            !cells.is_empty() && digits > 0 && cells.iter().all(is_below)
        };
        let candidates =
            (0..names.len()).filter(|&at| exponent(at).is_some() && !is_latency(&names[at]));
        candidates.into_iter().find_map(|integer| {
            let rest = (0..names.len()).find(|&at| {
                stem(at) == stem(integer)
                    && digits(integer, at).is_some_and(|digits| is_rest(at, digits))
            })?;
            rows.numbers(integer)?;
            Some((integer + 1, rest + 1, digits(integer, rest)?))
        })
    }
}

/// Returns the filter for a table that lacks a field but has columns from which it can be derived.
pub(crate) fn of(head: &Head<'_>) -> Option<Derivation> {
    changed(head, |table| {
        let derivations = [
            Table::joined_time,
            Table::days,
            Table::ticks,
            Table::packed_dates,
            Table::time,
            Table::discards,
            Table::discards_by_word,
            Table::geometry,
            Table::lengths,
            Table::whole_sectors,
            Table::blocks_of_several_sizes,
        ];
        derivations.into_iter().find_map(|derive| derive(table))
    })
}

/// Returns the filter for a table whose times are all equal, if they may be intervals.
pub(crate) fn of_constant_time(head: &Head<'_>) -> Option<Derivation> {
    changed(head, |table| {
        let at = table.columns.time.as_ref()?.at;
        let first: f64 = table.rows.column(at).next()?.parse().ok()?;
        // Calendar times in whole seconds may be equal in many rows.
        (first > 0.0 && first < 1e9).then(|| {
            let reason =
                "has the same number in all rows, perhaps the time since the previous request";
            table.sum(at + 1, reason)
        })
    })
}

/// Returns the derivation for the change that `derive` finds in the table in `head`.
fn changed(head: &Head<'_>, derive: impl FnOnce(&Table) -> Option<Change>) -> Option<Derivation> {
    let table = Table::of(head)?;
    let change = derive(&table)?;
    let filter = table.filter(head, &change);
    Some(Derivation { message: change.message, filter })
}
