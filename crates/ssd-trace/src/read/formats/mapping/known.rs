//! Formats that are tables with fixed columns, defined by a mapping.

use super::Mapping;
use super::lines::{Table, Units};
use crate::read::formats::{Format, FormatInfo, Line, ReadAs, Reject, TimeRule};
use std::marker::PhantomData;

/// Properties of such a format.
pub trait KnownFormat {
    /// Its description.
    const INFO: &'static FormatInfo;
    /// Its mapping, in the notation of `--columns`.
    const COLUMNS: &'static str;
    /// The column whose cells may contain blanks.
    const SPARE: Option<&'static str> = None;

    /// Start of lines that may precede the names.
    const PREAMBLE: Option<&'static str> = None;

    /// Whether a row of length 0 is not a request.
    const EMPTY: bool = false;

    /// Checks requirements on a line of a request or an event beyond those of the mapping.
    ///
    /// # Errors
    /// [`Reject`] says what was expected and where.
    fn check(_line: &[u8]) -> Result<(), Reject> {
        Ok(())
    }
}

/// The parser of such a format.
pub struct Mapped<K> {
    table: Table,
    format: PhantomData<K>,
}

impl<K: KnownFormat> Mapped<K> {
    fn with(time_ns: Option<u64>) -> Mapped<K> {
        let mut mapping = Mapping::parse(K::COLUMNS).expect("a constant");
        if let (TimeRule::Varies(_), Some(stated_ns), Some(column)) =
            (K::INFO.time, time_ns, &mut mapping.time)
        {
            column.unit = Some(stated_ns);
        }
        let units = Units { time_ns: None, bytes: 1 };
        let mut table = Table::new(mapping, units, K::SPARE);
        table.empty = K::EMPTY;
        Mapped { table, format: PhantomData }
    }
}

impl<K: KnownFormat> Default for Mapped<K> {
    fn default() -> Mapped<K> {
        Mapped::with(None)
    }
}

impl<K: KnownFormat> Format for Mapped<K> {
    const INFO: &'static FormatInfo = K::INFO;

    fn new(read_as: &ReadAs) -> Mapped<K> {
        Mapped::with(read_as.time_ns)
    }

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        if K::PREAMBLE.is_some_and(|preamble| line.starts_with(preamble.as_bytes())) {
            return Ok(Line::Header);
        }
        let parsed = self.table.parse(line)?;
        if !matches!(parsed, Line::Blank | Line::Header) {
            K::check(line)?;
        }
        Ok(parsed)
    }

    fn volume_name(&self, volume: u64) -> String {
        self.table.volume_name(volume)
    }

    fn understood(_line: &[u8]) -> usize {
        // A mapping partly accepts many lines of other formats.
        0
    }
}
