//! Doubts about a detected format: other formats that fit, contradicting names, other units of time.

use super::File;
use super::refusal::Refusal;
use crate::config::{TimeUnit, TraceUnit};
use crate::read::formats::mapping::{TIME_UNITS, cells_of};
use crate::read::formats::{self, Head, ReadAs, TimeRule, TraceFormat, Unit};
use crate::read::guess;
use crate::read::guess::numbers::Numbers;
use crate::read::lines::shown;
use crate::read::readings::{self, Reading, of_distinct_times};
use ssd_core::config::Word;
use ssd_core::units::SECTOR_BYTES;
use std::collections::BTreeSet;

/// Sectors in a block of 4 KiB, the block size of most file systems, which divides addresses in sectors.
const PAGE_SECTORS: u64 = 8;
/// Nanoseconds from 1970 to 2001. Calendar times are assumed to be later.
const CALENDAR_NS: u64 = 1_000_000_000_000_000_000;

/// Digits that spreadsheets preserve of a number.
const SPREADSHEET_DIGITS: usize = 15;
/// Minimum rows for zeros at the end of all numbers to be more than chance.
const LEAST_ROWS: usize = 8;
/// Number of requests of which, by chance, fewer than one begins at a multiple of its length in bytes.
const FEW_NATURAL: usize = 8;
/// Number of requests below which a sample is small.
pub(super) const FEW: u64 = 16;

impl File<'_> {
    /// Returns whether the file begins with column names of another format and another meaning.
    pub(super) fn names_contradict(&self, format: TraceFormat, read_as: &ReadAs) -> bool {
        !guess::is_own_line(format, read_as, self.head)
            && !guess::of(self.head, self.workload.action as u8).is_empty()
    }

    /// Refuses a detected format if the numbers of the file more likely have other units.
    pub(super) fn numbers_are_certain(
        &self,
        format: TraceFormat,
        read_as: &ReadAs,
    ) -> Result<(), Refusal> {
        if read_as.time_ns.is_some() {
            return Ok(());
        }
        // The last line may be incomplete.
        let few = self.head.lines.len().div_ceil(2);
        let few = Head { lines: &self.head.lines[..few], ..*self.head };
        let first = || Reading::of(String::new(), format, read_as, &few)?.counts.first_ns;
        match format {
            TraceFormat::Tencent if first().is_some_and(|first| first < CALENDAR_NS) => {
                let message = "the columns are those of Tencent's traces, whose times are seconds since 1970, but the \
                            times of this file would be before 2001";
                let swapped = TIME_UNITS.iter().rev().filter_map(|(unit, _)| {
                    let columns = "op=4,offset=2:512B,size=3:512B,volume=5,read=1,write=0";
                    self.with_columns(&format!("time=1:{unit},{columns}"))
                });
                let readings = self.in_units(format).into_iter().chain(swapped);
                Err(self.doubt(message, of_distinct_times(readings.collect())))
            }
            TraceFormat::Alibaba => self.microseconds_are_certain(read_as, first()),
            TraceFormat::BlockEvent => self.sectors_are_certain(read_as),
            TraceFormat::Fiu => self.fiu_units_are_certain(read_as),
            TraceFormat::Biosnoop => self.biosnoop_sectors_are_certain(read_as),
            TraceFormat::Diskmon => self
                .pace_is_certain(format, read_as)
                .and_then(|()| self.diskmon_sectors_are_certain(read_as)),
            TraceFormat::Midas => {
                self.pace_is_certain(format, read_as)?;
                self.addresses_are_certain(read_as)
            }
            TraceFormat::Spc => {
                self.seconds_are_certain(read_as)?;
                let in_bytes = "time=5:s,op=4,offset=2:B,size=3:B,volume=1";
                self.addresses_are_sectors(format, read_as, (1, in_bytes))
            }
            TraceFormat::Blkreplay => {
                let in_bytes = "separator=semicolon,time=1:s,op=4,offset=2:B,size=3:B";
                self.addresses_are_sectors(format, read_as, (1, in_bytes))
            }
            TraceFormat::Disksim => self.milliseconds_are_certain(read_as),
            _ => self.pace_is_certain(format, read_as),
        }
    }

    /// Refuses Alibaba's columns if their times, microseconds since 1970, would be before 2001.
    fn microseconds_are_certain(
        &self,
        read_as: &ReadAs,
        first_ns: Option<u64>,
    ) -> Result<(), Refusal> {
        let Some(first_ns) = first_ns.filter(|&first_ns| first_ns < CALENDAR_NS) else {
            return Ok(());
        };
        let (message, units) = match calendar_unit(first_ns / 1000) {
            Some(unit) => {
                (format!("as {unit} since 1970 its times would be recent dates"), vec![unit, "us"])
            }
            None => (
                "the times of this file would be before 2001".to_owned(),
                vec!["us", "ms", "ns", "s"],
            ),
        };
        let reading = |unit: &str| match unit {
            "us" => self.as_format(TraceFormat::Alibaba, read_as),
            _ => self.with_columns(&format!("time=5:{unit},op=2,offset=3,size=4,volume=1")),
        };
        let readings = of_distinct_times(units.into_iter().filter_map(reading).collect());
        let message = format!(
            "the columns are those of Alibaba's traces, whose times are microseconds since 1970, but {message}"
        );
        Err(self.doubt(message, readings))
    }

    /// Refuses output of blkparse if its lengths are more likely bytes, which `blkparse -f` can also print (`%N`).
    fn sectors_are_certain(&self, read_as: &ReadAs) -> Result<(), Refusal> {
        let action = self.workload.action;
        let range = |line: &&[u8]| {
            let cells = cells_of(line);
            // ssdlab itself writes sectors.
            let is_chosen = cells.get(5)?.chars().eq([action])
                && cells.get(8)? == "+"
                && cells.last()? != "[ssdlab]";
            let range = (cells.get(7)?.parse().ok()?, cells.get(9)?.parse().ok()?);
            is_chosen.then_some(range)
        };
        let columns = format!(
            "separator=blanks,time=4:s,op=7,offset=8:512B,size=10:B,volume=1,event=6:{action}"
        );
        let ranges = self.head.lines.iter().filter_map(range).collect();
        self.lengths_are_certain(TraceFormat::BlockEvent, read_as, ranges, &columns)
    }

    /// Refuses DiskMon's columns if the lengths are more likely bytes.
    fn diskmon_sectors_are_certain(&self, read_as: &ReadAs) -> Result<(), Refusal> {
        let range = |line: &&[u8]| {
            let cells = cells_of(line);
            Some((cells.get(5)?.parse().ok()?, cells.get(6)?.parse().ok()?))
        };
        let columns = "time=2:s,op=5,offset=6:512B,size=7:B,volume=4";
        let ranges = self.head.lines.iter().filter_map(range).collect();
        self.lengths_are_certain(TraceFormat::Diskmon, read_as, ranges, columns)
    }

    /// Refuses a format with lengths in sectors if the lengths in `ranges` are more likely bytes, as in `columns`: all
    /// would be multiples of 256 KiB, but few requests begin at a multiple of their length or at the end of another
    /// request.
    fn lengths_are_certain(
        &self,
        format: TraceFormat,
        read_as: &ReadAs,
        mut ranges: Vec<(u64, u64)>,
        columns: &str,
    ) -> Result<(), Refusal> {
        ranges.retain(|&(_, length)| length > 0);
        let ends: BTreeSet<u64> =
            ranges.iter().map(|(start, length)| start.wrapping_add(*length)).collect();
        let is_natural =
            |&(start, length): &(u64, u64)| start.is_multiple_of(length) || ends.contains(&start);
        let are_bytes = ranges.iter().all(|(_, length)| length.is_multiple_of(SECTOR_BYTES));
        let natural = ranges.iter().filter(|range| is_natural(range)).count();
        if ranges.len() < 2 || !are_bytes || FEW_NATURAL * natural >= ranges.len().max(FEW as usize)
        {
            return Ok(());
        }
        let (title, source) = match format {
            TraceFormat::BlockEvent => ("blkparse", " (blkparse -f with %N)"),
            _ => (formats::info(format).map_or("", |info| info.title), ""),
        };
        let message = format!(
            "the columns are those of {title}, whose lengths are in sectors, but all of these are multiples of 512, so \
             they may be bytes{source}"
        );
        let in_bytes = self.with_columns(columns);
        Err(self
            .doubt(message, in_bytes.into_iter().chain(self.as_format(format, read_as)).collect()))
    }

    /// Refuses output of biosnoop if all addresses look like bytes; biosnoop prints sectors.
    fn biosnoop_sectors_are_certain(&self, read_as: &ReadAs) -> Result<(), Refusal> {
        let mut rows = self.head.lines.iter().map(|line| cells_of(line));
        let names = rows.next().unwrap_or_default();
        // The names of processes may contain blanks, so columns are counted from the end.
        let place = |name: &str| Some(names.len() - names.iter().position(|cell| cell == name)?);
        let [Some(op), Some(offset), Some(size), Some(volume)] =
            ["T", "SECTOR", "BYTES", "DISK"].map(place)
        else {
            return Ok(());
        };
        let range = |cells: Vec<String>| -> Option<(u64, u64)> {
            let from_end = |place: usize| cells.get(cells.len().checked_sub(place)?)?.parse().ok();
            Some((from_end(offset)?, from_end(size)?)).filter(|&(_, size)| size > 0)
        };
        let (starts, sizes) = rows.filter_map(range).unzip();
        if !(Numbers { starts, sizes }).has_addresses_in_bytes(SECTOR_BYTES * SECTOR_BYTES) {
            return Ok(());
        }
        let in_bytes = self.with_columns(&format!(
            "separator=blanks,skip=1,time=1:s,op=-{op},offset=-{offset}:B,size=-{size}:B,volume=-{volume}"
        ));
        let message = "the columns are those of biosnoop, whose addresses are sectors, but all of its addresses are \
                    multiples of 512, as those in bytes are";
        let detected = self.as_format(TraceFormat::Biosnoop, read_as);
        Err(self.doubt(message, in_bytes.into_iter().chain(detected).collect()))
    }

    /// Returns whether all addresses in this column are multiples of `unit`.
    fn addresses_are_multiples(&self, column: usize, unit: u64) -> bool {
        let address = |line: &&[u8]| cells_of(line).get(column)?.parse().ok();
        let addresses: Vec<u64> = self.head.lines.iter().filter_map(address).collect();
        addresses.iter().all(|address| address.is_multiple_of(unit))
            && addresses.iter().any(|&address| address > 0)
    }

    /// Refuses a format with addresses in sectors, in the column at `place`, if all of them look like bytes, as in
    /// `columns`.
    fn addresses_are_sectors(
        &self,
        format: TraceFormat,
        read_as: &ReadAs,
        (place, columns): (usize, &str),
    ) -> Result<(), Refusal> {
        if self.head.lines.len() < 3 || !self.addresses_are_multiples(place, SECTOR_BYTES) {
            return Ok(());
        }
        let in_bytes = self.with_columns(columns).filter(|reading| reading.counts.is_sound());
        let Some(in_bytes) = in_bytes else { return Ok(()) };
        let detected = self.as_format(format, read_as);
        let message = format!(
            "the columns are those of {}, whose addresses are sectors, but all of its addresses are multiples of 512, \
             as those in bytes are",
            formats::info(format).map_or("", |info| info.title)
        );
        Err(self.doubt(message, [in_bytes].into_iter().chain(detected).collect()))
    }

    /// Returns the number that divides all addresses of MiDAS's columns, and the unit that it suggests; `None` if they
    /// look like pages.
    fn other_addresses(&self) -> Option<(u64, &'static str)> {
        let range = |line: &&[u8]| {
            let cells = cells_of(line);
            let range: (u64, u64) = (cells.get(2)?.parse().ok()?, cells.get(3)?.parse().ok()?);
            Some(range)
        };
        let ranges: Vec<(u64, u64)> = self.head.lines.iter().filter_map(range).collect();
        let starts: BTreeSet<u64> = ranges.iter().map(|(start, _)| *start).collect();
        let ends_at_start = |(start, bytes): &(u64, u64)| {
            let pages = bytes.div_ceil(PAGE_SECTORS * SECTOR_BYTES);
            pages > 0 && starts.contains(&start.saturating_add(pages))
        };
        if ranges.iter().any(ends_at_start) {
            return None;
        }
        if self.addresses_are_multiples(2, SECTOR_BYTES) {
            return Some((SECTOR_BYTES, "bytes"));
        }
        let are_sectors =
            self.head.lines.len() >= 3 && self.addresses_are_multiples(2, PAGE_SECTORS);
        are_sectors.then_some((PAGE_SECTORS, "sectors"))
    }

    /// Returns readings of MiDAS's columns with times in `time` and addresses in each of these units.
    fn in_units_of_address(&self, time: &str, units: &[&str]) -> Vec<Reading> {
        let codes = "read=0,write=1,discard=3";
        let in_unit = |unit: &&str| {
            self.with_columns(&format!("time=1:{time},op=2,offset=3:{unit},size=4:B,{codes}"))
        };
        units.iter().filter_map(in_unit).collect()
    }

    /// Refuses MiDAS's columns if all addresses look like bytes or sectors; the format has pages.
    fn addresses_are_certain(&self, read_as: &ReadAs) -> Result<(), Refusal> {
        let Some((unit, like)) = self.other_addresses() else { return Ok(()) };
        let alternatives = self.in_units_of_address("s", &["B", "512B"]);
        let detected = self.as_format(TraceFormat::Midas, read_as);
        let message = format!(
            "the columns are those of MiDAS's traces, whose addresses count pages of 4 KiB, but all addresses of this \
             file are multiples of {unit}, as those in {like} mostly are"
        );
        Err(self.doubt(message, detected.into_iter().chain(alternatives).collect()))
    }

    /// Returns the reading as `format`, the detected format.
    pub(super) fn as_format(&self, format: TraceFormat, read_as: &ReadAs) -> Option<Reading> {
        Reading::of(format!("--format {}", format.word()), format, read_as, self.head)
    }

    /// Returns the reading as a table with these columns.
    pub(super) fn with_columns(&self, columns: &str) -> Option<Reading> {
        guess::reading(columns, self.head, self.workload.action as u8)
    }

    /// Returns the note about the meaning of a detected format: of its times, if these are completions, or of its
    /// codes, if it consists only of numbers, because other programs use the same columns with the opposite meaning.
    pub(super) fn meaning_of(&self, format: TraceFormat) -> Option<String> {
        let codes = match format {
            TraceFormat::Disksim => "an odd flag is a read, an even one a write",
            TraceFormat::Ssdsim => "1 is a read, 0 a write",
            TraceFormat::Midas => "0 is a read, 1 a write, 3 a TRIM",
            TraceFormat::Tencent => "0 is a read, 1 a write",
            TraceFormat::Biosnoop => {
                return Some(format!("{}: its times are those of completions", self.name));
            }
            _ => return None,
        };
        let info = formats::info(format)?;
        Some(format!(
            "{}: its lines have only numbers, which are read as {}: {}; {codes}; if they mean something else, name \
             the columns (--columns)",
            self.name, info.title, info.form
        ))
    }

    /// Returns the note about a column in which a spreadsheet may have replaced the last digits of long numbers by 0.
    /// Times of coarser clocks have still more zeros.
    pub(super) fn cut_digits(&self) -> Option<String> {
        // The last line may be incomplete.
        let lines = &self.head.lines[..self.head.lines.len().saturating_sub(1)];
        let rows: Vec<Vec<String>> = lines.iter().map(|line| cells_of(line)).collect();
        let width = rows.last()?.len();
        let cut = |at: usize| {
            let cells = || rows.iter().filter_map(|row| row.get(at));
            // The first cell may be a name.
            let cells: Vec<&String> =
                cells().skip(usize::from(cells().count() > LEAST_ROWS)).collect();
            let digits = cells.first()?.len();
            // A single 0 comes from a clock of 10 us.
            let zeros =
                "0".repeat(digits.checked_sub(SPREADSHEET_DIGITS).filter(|&zeros| zeros > 1)?);
            let is_cut = |cell: &&String| {
                cell.len() == digits
                    && cell.bytes().all(|byte| byte.is_ascii_digit())
                    && cell.ends_with(&zeros)
            };
            let more = format!("0{zeros}");
            (cells.len() >= LEAST_ROWS
                && cells.iter().all(is_cut)
                && !cells.iter().all(|cell| cell.ends_with(&more)))
            .then(|| (at + 1, zeros))
        };
        let (column, zeros) = (0..width).find_map(cut)?;
        Some(format!(
            "{}: all numbers in column {column} end in {zeros}, perhaps because a spreadsheet kept only \
             {SPREADSHEET_DIGITS} digits; if so, use the original file",
            self.name
        ))
    }

    /// Chooses among several formats that fit: the only one with requests, or else an error that lists the result of
    /// each.
    #[cold]
    pub(super) fn alike(
        &self,
        first: &[u8],
        alike: &[TraceFormat],
    ) -> Result<TraceFormat, Refusal> {
        let reading = |&format: &TraceFormat| {
            let read_as = self.read_as(format).ok()?;
            Some((format, self.as_format(format, &read_as)?))
        };
        let (formats, mut readings): (Vec<TraceFormat>, Vec<Reading>) =
            alike.iter().filter_map(reading).unzip();
        if let [format] = formats[..] {
            return Ok(format);
        }
        // Some published copies are in bytes; other numbers are rarely all multiples of 512.
        if self.workload.unit == TraceUnit::Auto {
            let in_bytes = formats.iter().filter(|&&format| formats::unit_varies(format));
            let in_bytes = in_bytes.filter_map(|&format| {
                let read_as = ReadAs { unit: Unit::Bytes, ..self.read_as(format).ok()? };
                let options = format!("--format {} --unit bytes", format.word());
                Reading::of(options, format, &read_as, self.head)
            });
            readings.extend(in_bytes.filter(|reading| reading.counts.bad == 0));
        }
        // Copies from other simulators have other units of time.
        if let Some(&format) = formats.iter().find(|&&format| varies(format)) {
            let in_units =
                ["100ns", "us"].into_iter().filter_map(|unit| self.in_unit(format, unit));
            readings.extend(of_distinct_times(in_units.collect()));
        }
        // No device has the numbers of an implausible reading.
        if readings.iter().any(|reading| reading.counts.is_plausible()) {
            readings.retain(|reading| reading.counts.is_plausible());
        }
        let is_listed = |format: &&TraceFormat| {
            readings.iter().any(|reading| reading.options.split(' ').nth(1) == Some(format.word()))
        };
        let quoted: Vec<String> =
            formats.iter().filter(is_listed).map(|format| format!("{:?}", format.word())).collect();
        if readings.is_empty() {
            return Err(self.unknown(first));
        }
        let message = format!(
            "its first lines may be of format {} (workload.format; it begins with {})",
            quoted.join(" or "),
            shown(first)
        );
        Err(Refusal::Doubt(message, readings::all_choices(readings, self.is_whole)))
    }

    /// Returns a refusal if the file fits a format only with another unit of time.
    #[cold]
    pub(super) fn other_times(&self, first: &[u8]) -> Option<Refusal> {
        if self.workload.time_unit != TimeUnit::Auto {
            return None;
        }
        let varies = formats::ALL.iter().filter(|info| varies(info.format));
        // MQSim's traces do not state the unit of time, so MQSim comes first; an equal reading as DiskSim is omitted.
        let mut varies: Vec<TraceFormat> = varies.map(|info| info.format).collect();
        varies.sort_by_key(|&format| format != TraceFormat::Mqsim);
        let mut readings: Vec<Reading> =
            varies.into_iter().flat_map(|format| self.in_units_of_time(format)).collect();
        readings.retain(|reading| reading.counts.is_possible());
        (!readings.is_empty()).then(|| {
            let message = format!(
                "its first lines match no known format in its usual unit of time (it begins with {})",
                shown(first)
            );
            self.doubt(message, readings)
        })
    }

    /// Like [`File::in_units`]; for MiDAS, readings with addresses in other units come first if the addresses suggest
    /// them.
    fn in_units_of_time(&self, format: TraceFormat) -> Vec<Reading> {
        let own = self.in_units(format);
        let addresses =
            (format == TraceFormat::Midas && !own.is_empty()).then(|| self.other_addresses());
        let Some((_, like)) = addresses.flatten() else { return own };
        let units: &[&str] = if like == "bytes" { &["B", "512B"] } else { &["512B"] };
        let times = TIME_UNITS.iter().rev();
        let alternatives =
            times.flat_map(|(time, _)| self.in_units_of_address(time, units)).collect();
        of_distinct_times(alternatives).into_iter().chain(own).collect()
    }

    /// Returns the readings of a format with each unit of time.
    fn in_units(&self, format: TraceFormat) -> Vec<Reading> {
        let units = TIME_UNITS.iter().rev().filter_map(|(name, _)| self.in_unit(format, name));
        of_distinct_times(units.collect())
    }

    /// Returns the reading of a format with this unit of time.
    pub(super) fn in_unit(&self, format: TraceFormat, unit: &str) -> Option<Reading> {
        let &(_, ns) = TIME_UNITS.iter().find(|(name, _)| *name == unit)?;
        let read_as = ReadAs { time_ns: Some(ns), ..self.read_as(format).ok()? };
        let options = format!("--format {} --time-unit {unit}", format.word());
        Reading::of(options, format, &read_as, self.head)
    }
}

/// Returns whether files of the format have times in different units.
fn varies(format: TraceFormat) -> bool {
    formats::info(format).is_some_and(|info| matches!(info.time, TimeRule::Varies(_)))
}

/// Returns the unit, seconds or milliseconds, in which a time since 1970 is between 2001 and 2096.
fn calendar_unit(time: u64) -> Option<&'static str> {
    match time {
        1_000_000_000..4_000_000_000 => Some("s"),
        1_000_000_000_000..4_000_000_000_000 => Some("ms"),
        _ => None,
    }
}
