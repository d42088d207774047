//! `TIME_NS DEVICE SECTOR SECTORS TYPE`, as SSDSim and MQSim share it.

use super::cursor::Cursor;
use super::{Line, Range, Reject, in_sectors};
use ssd_core::host::request::Op;

/// Column names of the three middle fields, shared with DiskSim: device, sector, length.
#[inline(always)]
pub(super) fn place(cursor: &mut Cursor<'_>) -> Result<(u64, Range), Reject> {
    let device = cursor.value("the device number")?;
    cursor.gap("a blank after the device number")?;
    let start_at = cursor.at;
    let start = cursor.value("the first sector")?;
    cursor.gap("a blank after the first sector")?;
    let length_at = cursor.at;
    let length = cursor.value("the number of sectors")?;
    cursor.gap("a blank after the number of sectors")?;
    Ok((device, Range { start, length, start_at, length_at }))
}

/// The five fields; the cursor stands behind them. `None`: the line is blank.
#[inline(always)]
pub(super) fn record(cursor: &mut Cursor<'_>) -> Result<Option<Line>, Reject> {
    cursor.blanks();
    if cursor.is_end() {
        return Ok(None);
    }
    let at_ns = cursor.value("the time, whole nanoseconds")?;
    cursor.gap("a blank after whole nanoseconds (decimals are DiskSim's milliseconds)")?;
    let (device, range) = place(cursor)?;
    let op = match cursor.peek() {
        Some(b'0') => Op::Write,
        Some(b'1') => Op::Read,
        _ => return Err(Reject::new("the type, 0 (write) or 1 (read)", cursor.at)),
    };
    cursor.at += 1;
    in_sectors(at_ns, device, op, 0, range).map(Some)
}
