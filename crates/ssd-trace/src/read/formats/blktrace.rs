//! Binary files of blktrace: one per CPU as written by blktrace (`sda.blktrace.0`; as for blkparse, any one of them
//! selects all), or merged (`blkparse -d`).
//!
//! Source: blktrace_api.h of the Linux kernel, `struct blk_io_trace`, version 7: 48 bytes and a tail of `pdu_len`
//! bytes, in the byte order of the recording machine, which the magic number shows. The time is in nanoseconds, the
//! sector has 512 bytes, the length is in bytes. Decided: actions and bits are translated to blkparse's letters and
//! then treated like those in [`super::block_event`]; notifications (names of processes, clock, messages) are not
//! events; a remap is an event of action A of the target device, and the cgroup bit is ignored. Version 8 has another
//! layout and is refused.

use super::block_event::{Rwbs, Verb};
use super::{
    Clock, Cut, Format, FormatInfo, Line, Range, ReadAs, Reject, TimeRule, TraceFormat, UnitRule,
    big_endian, little_endian,
};
use ssd_core::host::request::flags;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Blktrace,
    name: "blktrace",
    summary: "Binary files of blktrace.",
    title: "a binary file of blktrace",
    form: "records of 48 bytes and a tail, led by the magic number 0x65617407 in either byte order",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: true,
    units: "time in ns, address in 512 B sectors, length in bytes",
    clock: Clock::FirstRecord,
    volume: "MAJOR * 2^32 + MINOR",
    order: "ascending",
    source: "blktrace_api.h of the Linux kernel; blkparse(1)",
    traps: "each CPU has a separate file: NAME.blktrace.0 stands for all NAME.blktrace.N beside it, \
            merged by time; one action is used (workload.action); logs of stacked devices hold each request twice \
            (workload.dedup); lengths that are not a multiple of 512 B, which blkparse rounds down: \
            refused",
};

/// Bytes of a record without its tail.
const RECORD: usize = 48;
/// Magic number and version.
const MAGIC: u32 = 0x6561_7407;
/// Bit of an action for a tail that begins with the cgroup.
const CGROUP: u32 = 1 << 8;
/// Letters of the actions, from number 1.
const LETTERS: &[u8; 15] = b"QMFGSRDCPUUIXBA";
/// Numbers of the actions "abort" and "driver data", which blkparse does not print.
const SILENT: [u32; 2] = [16, 17];

/// Bits of an action, above its number.
mod bits {
    pub(super) const WRITE: u32 = 1 << 17;
    pub(super) const FLUSH: u32 = 1 << 18;
    pub(super) const SYNC: u32 = 1 << 19;
    pub(super) const PACKET: u32 = 1 << 25;
    pub(super) const NOTIFY: u32 = 1 << 26;
    pub(super) const AHEAD: u32 = 1 << 27;
    pub(super) const META: u32 = 1 << 28;
    pub(super) const DISCARD: u32 = 1 << 29;
    pub(super) const FUA: u32 = 1 << 31;
}

/// Offsets of the fields in a record.
mod at {
    pub(super) const TIME: usize = 8;
    pub(super) const SECTOR: usize = 16;
    pub(super) const BYTES: usize = 24;
    pub(super) const ACTION: usize = 28;
    pub(super) const DEVICE: usize = 36;
    pub(super) const TAIL: usize = 46;
}

/// The parser.
#[derive(Default)]
pub struct Parser {
    /// Letter of the chosen action.
    action: u8,
}

/// A record and its byte order.
struct Record<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl<'a> Record<'a> {
    /// Returns the record, or `None` without the magic number.
    fn of(bytes: &'a [u8]) -> Option<Record<'a>> {
        let magic = *bytes.first_chunk::<RECORD>()?.first_chunk::<4>()?;
        let big = magic == MAGIC.to_be_bytes();
        (big || magic == MAGIC.to_le_bytes()).then_some(Record { bytes, big })
    }

    /// Returns the field of `N` bytes at byte `at`.
    fn field<const N: usize>(&self, at: usize) -> u64 {
        if self.big {
            big_endian(&self.bytes[at..][..N])
        } else {
            little_endian(&self.bytes[at..][..N])
        }
    }

    fn length(&self) -> usize {
        RECORD + self.field::<2>(at::TAIL) as usize
    }

    /// Returns the letters of the operation, as printed by blkparse.
    fn rwbs(&self, action: u32) -> Rwbs {
        let verb = match action {
            _ if action & bits::DISCARD != 0 => Verb::Discard,
            _ if action & bits::WRITE != 0 => Verb::Write,
            _ if self.field::<4>(at::BYTES) > 0 => Verb::Read,
            _ => Verb::Zeroes,
        };
        let flags = [
            (bits::FLUSH, flags::PREFLUSH),
            (bits::FUA, flags::FUA),
            (bits::AHEAD, flags::AHEAD),
            (bits::SYNC, flags::SYNC),
            (bits::META, flags::META),
        ];
        let set = flags.iter().filter(|(bit, _)| action & bit != 0);
        Rwbs { verb, flags: set.fold(0, |mask, (_, flag)| mask | flag) }
    }
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;
    const CUT: Cut = Cut::Records(RECORD);

    fn new(read_as: &ReadAs) -> Parser {
        Parser { action: read_as.action }
    }

    fn length(&self, head: &[u8]) -> Option<usize> {
        Record::of(head).map(|record| record.length())
    }

    fn time(&self, bytes: &[u8]) -> u64 {
        Record::of(bytes).map_or(0, |record| record.field::<8>(at::TIME))
    }

    fn parse(&mut self, bytes: &[u8]) -> Result<Line, Reject> {
        let Some(record) = Record::of(bytes) else {
            let expected = "the magic number 0x65617407 (blktrace, version 7) in either byte order";
            return Err(Reject::new(expected, 0));
        };
        // Four bytes fit 32 bits.
        let action = record.field::<4>(at::ACTION) as u32;
        if action & bits::NOTIFY != 0 {
            return Ok(Line::Header);
        }
        let number = action & 0xffff & !CGROUP;
        if SILENT.contains(&number) {
            return Ok(Line::Header);
        }
        let letter = (number as usize).checked_sub(1).and_then(|at| LETTERS.get(at));
        let Some(&letter) = letter else {
            return Err(Reject::new("an action, 1 to 17", at::ACTION));
        };
        if letter != self.action {
            return Ok(Line::Other(letter));
        }
        let (rwbs, length) = (record.rwbs(action), record.field::<4>(at::BYTES));
        if action & bits::PACKET != 0 || (length == 0 && !rwbs.flushes()) {
            return Ok(Line::Dataless);
        }
        let device = record.field::<4>(at::DEVICE);
        let range = Range {
            start: record.field::<8>(at::SECTOR),
            length,
            start_at: at::SECTOR,
            length_at: at::BYTES,
        };
        let range = range.of_length_in_bytes()?;
        let volume = (device >> 20) << 32 | device & 0xf_ffff;
        rwbs.request(self.action, record.field::<8>(at::TIME), volume, range)
    }

    fn volume_name(&self, volume: u64) -> String {
        super::major_minor_name(volume)
    }
}
