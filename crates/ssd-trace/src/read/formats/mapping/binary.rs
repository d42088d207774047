//! Fixed binary records according to a mapping.

use super::lines::{Units, flush, request};
use super::ops::Meaning;
use super::{Mapping, Operation, Place, Size};
use crate::read::formats::cursor::TOO_LATE;
use crate::read::formats::{Line, Range, Reject};
use ssd_core::host::request::Op;

/// Returns the number at a place, and its position.
fn number(record: &[u8], place: &Place, expected: &'static str) -> Result<(u64, usize), Reject> {
    let Place::Bytes(kind, at) = place else { unreachable!("the mapping was checked") };
    if record.len() < at + kind.bytes() {
        return Err(Reject::new("a whole record", record.len()));
    }
    match kind.read(record, *at) {
        Some(value) => Ok((value, *at)),
        None => Err(Reject::new(format!("{expected}, a number that is not negative"), *at)),
    }
}

/// Reads one record.
pub(crate) fn parse(mapping: &Mapping, units: Units, record: &[u8]) -> Result<Line, Reject> {
    let (op, flags) = match &mapping.op {
        Operation::Constant(op) => (*op, 0),
        Operation::Column(place) => {
            let (value, at) = number(record, place, "the operation")?;
            match mapping.words.meaning(value.to_string().as_bytes()) {
                Some(Meaning::Request(op, flags)) => (op, flags),
                Some(Meaning::Ignored) => return Ok(Line::Other(b'?')),
                None => {
                    let expected = format!(
                        "an operation (numbers need their meaning, such as read=0,write=1), found {value}"
                    );
                    return Err(Reject::new(expected, at));
                }
            }
        }
    };
    let at_ns = match &mapping.time {
        None => 0,
        Some(column) => {
            let (value, at) = number(record, &column.place, "the time")?;
            let Some(unit) = column.unit.or(units.time_ns) else {
                return Err(Reject::new(
                    "a unit for the time, such as time=u64@0:us or --time-unit us",
                    at,
                ));
            };
            value.checked_mul(unit).ok_or_else(|| Reject::new(TOO_LATE, at))?
        }
    };
    let volume = match &mapping.volume {
        None => 0,
        Some(place) => number(record, place, "the volume")?.0,
    };
    if op == Op::Flush {
        return Ok(flush(at_ns, volume, flags));
    }
    let (start, start_at) = number(record, &mapping.offset.place, "the offset")?;
    let (length, length_at) = match &mapping.size {
        Size::Constant(bytes) => (*bytes, start_at),
        Size::Column(column) => number(record, &column.place, "the size")?,
    };
    request(
        mapping,
        units,
        (at_ns, volume, op, flags),
        Range { start, length, start_at, length_at },
    )
}
