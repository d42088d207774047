//! `TIME_NS DEVICE SECTOR SECTORS TYPE`, the layout of SSDSim and MQSim.

use super::cursor::Cursor;
use super::{Line, Range, Reject, Unit, in_sectors};

/// Reads the three middle fields, in common with DiskSim: device, sector and length.
#[inline(always)]
pub(super) fn place(cursor: &mut Cursor<'_>, unit: Unit) -> Result<(u64, Range), Reject> {
    let device = cursor.value("the device number")?;
    cursor.gap("a blank after the device number")?;
    let range = cursor.sectors()?;
    cursor.gap("a blank after the number of sectors")?;
    Ok((device, unit.in_sectors(range)?))
}

/// Reads the five fields, and leaves the cursor after them.
#[inline(always)]
pub(super) fn record(cursor: &mut Cursor<'_>, unit: Unit, time_ns: u64) -> Result<Line, Reject> {
    let at_ns = if time_ns == 1 {
        let at_ns = cursor.value("the time, whole nanoseconds")?;
        cursor.gap("a blank after whole nanoseconds (decimals are DiskSim's milliseconds, or --time-unit s)")?;
        at_ns
    } else {
        let exact = "a time with no more decimals than its unit has in nanoseconds";
        let at_ns = cursor.decimal(time_ns, "the time", exact)?;
        cursor.gap("a blank after the time")?;
        at_ns
    };
    let (device, range) = place(cursor, unit)?;
    let op = cursor.op(b"1", b"0", "the type, 0 (write) or 1 (read)")?;
    in_sectors(at_ns, device, op, 0, range)
}
