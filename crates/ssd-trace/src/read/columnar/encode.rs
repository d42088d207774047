//! Encodes requests into the bytes of one block.

use super::layout::{ALIGN, BlockHeader, MAX_BLOCK_REQUESTS, checksum};
use ssd_core::host::request::TimedRequest;

/// Appends the bytes of a block of `requests`, which are in order of arrival, to `bytes`.
///
/// Each column uses the smallest width that can represent all its values: no bytes if all are equal, four per request
/// if they are close together, eight otherwise. A value that does not fit thus costs its block 4 bytes per request, and
/// no value is ever truncated.
pub(crate) fn block(requests: &[TimedRequest], bytes: &mut Vec<u8>) {
    assert!((1..=MAX_BLOCK_REQUESTS).contains(&requests.len()));
    debug_assert!(requests.is_sorted_by_key(|timed| timed.at));
    let first = &requests[0];
    let (time_width, unit) = time_form(requests);
    let (sector_width, sector) = base_form(requests, |timed| timed.request.sector);
    let (length_width, length) = base_form(requests, length_of);
    let all_match = |matches: fn(&TimedRequest, &TimedRequest) -> bool| {
        requests.iter().all(|timed| matches(timed, first))
    };
    let volume_width = if all_match(|a, b| a.request.volume == b.request.volume) { 0 } else { 2 };
    let stream_width = if all_match(|a, b| a.request.stream == b.request.stream) { 0 } else { 1 };
    let flags_width = if all_match(|a, b| a.request.flags == b.request.flags) { 0 } else { 1 };
    // A base is set only if the column is empty, so that equal requests give equal bytes.
    let base = |width: u8, value: u16| if width == 0 { value } else { 0 };
    let header = BlockHeader {
        requests: requests.len() as u32,
        widths: [time_width, sector_width, length_width, volume_width, stream_width, flags_width],
        stream: base(stream_width, u16::from(first.request.stream)) as u8,
        flags: base(flags_width, u16::from(first.request.flags)) as u8,
        volume: base(volume_width, first.request.volume),
        time: first.at.0,
        unit,
        sector,
        length,
    };
    debug_assert!(header.check(0).is_ok());
    let start = bytes.len();
    bytes.extend_from_slice(&header.encode());
    bytes.extend_from_slice(&[0; 8]);
    let columns = bytes.len();
    let mut previous = first.at.0;
    column(bytes, time_width, requests, |timed| {
        let tick = (timed.at.0 - previous) / unit;
        previous = timed.at.0;
        tick
    });
    column(bytes, sector_width, requests, |timed| timed.request.sector - sector);
    column(bytes, length_width, requests, |timed| length_of(timed) - length);
    column(bytes, volume_width, requests, |timed| u64::from(timed.request.volume));
    column(bytes, stream_width, requests, |timed| u64::from(timed.request.stream));
    column(bytes, flags_width, requests, |timed| u64::from(timed.request.flags));
    assert_eq!(bytes.len() - columns, header.column_bytes());
    bytes.resize(columns + header.payload_bytes(), 0);
    let sum = checksum(&bytes[start..columns - 8], &bytes[columns..]);
    bytes[columns - 8..columns].copy_from_slice(&sum.to_le_bytes());
    debug_assert!((bytes.len() - start).is_multiple_of(ALIGN));
}

/// Returns sectors and operation in one number.
fn length_of(timed: &TimedRequest) -> u64 {
    u64::from(timed.request.sectors) << 2 | timed.request.op as u64
}

/// Appends one column.
fn column(
    bytes: &mut Vec<u8>,
    width: u8,
    requests: &[TimedRequest],
    mut value: impl FnMut(&TimedRequest) -> u64,
) {
    if width == 0 {
        return;
    }
    for timed in requests {
        let value = value(timed);
        debug_assert!(width == 8 || value >> (8 * u32::from(width)) == 0, "{value} in {width}");
        bytes.extend_from_slice(&value.to_le_bytes()[..usize::from(width)]);
    }
}

/// Returns width and base of a column of offsets.
fn base_form(requests: &[TimedRequest], value: impl Fn(&TimedRequest) -> u64) -> (u8, u64) {
    let (mut low, mut high) = (u64::MAX, 0);
    for timed in requests {
        let value = value(timed);
        (low, high) = (low.min(value), high.max(value));
    }
    assert!(low <= high);
    let top = u64::MAX - u64::from(u32::MAX);
    match high - low {
        0 => (0, low),
        1..=0xffff_ffff if low <= top => (4, low),
        _ => (8, 0),
    }
}

/// Returns width and unit of the time column: distances of successive arrivals, in a common unit if that saves bytes. A
/// clock of 100 ns or 1 us then needs four bytes where nanoseconds would need eight.
fn time_form(requests: &[TimedRequest]) -> (u8, u64) {
    let steps = || requests.windows(2).map(|pair| pair[1].at.0 - pair[0].at.0);
    let (mut low, mut high) = (u64::MAX, 0);
    for step in steps() {
        (low, high) = (low.min(step), high.max(step));
    }
    if low >= high {
        // All distances are equal, or there are none.
        return (0, high);
    }
    if high <= u64::from(u32::MAX) {
        return (4, 1);
    }
    let unit = steps().fold(0, common_divisor);
    debug_assert!(unit > 0 && high.is_multiple_of(unit));
    let fits = unit <= u64::from(u32::MAX) && high / unit <= u64::from(u32::MAX);
    if fits { (4, unit) } else { (8, 1) }
}

/// Returns the greatest common divisor, which is `b` if `a` is 0.
fn common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}
