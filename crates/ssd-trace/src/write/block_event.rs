//! Block-event text in the form that `blkparse` prints and [`crate::read::formats::block_event`] reads.
//!
//! `MAJ,MIN CPU SEQ TIME PID ACTION RWBS SECTOR + N [COMM]`, times in nanoseconds.
//! Source: blkparse(1); `blk_fill_rwbs` of the Linux kernel for the letters.
//!
//! Carries all operations, parts of copies (letter C), exact arrivals, and the flags of [`flags`]. Cannot carry: reads
//! and writes of more than 1 GiB (ssdlab's parser refuses them), a flush with an address, volume, stream, unknown
//! flags, or a preflush on a flush.

use super::text::{Form, put};
use crate::read::formats::MAX_TRANSFER_SECTORS;
use ssd_core::host::request::{Op, Request, flags};

/// Flags that have a letter in RWBS.
const LETTERS: u8 =
    flags::FUA | flags::SYNC | flags::META | flags::PREFLUSH | flags::AHEAD | flags::COPY;

/// Block-event text of device 8,0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockEvent {
    action: char,
}

impl BlockEvent {
    /// Returns a writer of events of action `action`: Q (queued), D (issued) or C (completed), as in `workload.action`.
    /// Returns `None` for any other letter.
    #[must_use]
    pub const fn new(action: char) -> Option<BlockEvent> {
        if matches!(action, 'Q' | 'D' | 'C') { Some(BlockEvent { action }) } else { None }
    }
}

impl Form for BlockEvent {
    const NAME: &'static str = "block-event text";
    const UNIT_NS: u64 = 1;

    fn cannot_carry(&self, request: &Request) -> Option<&'static str> {
        let Request { op, sector, sectors, .. } = *request;
        match op {
            Op::Read | Op::Write if u64::from(sectors) > MAX_TRANSFER_SECTORS => {
                Some("has no reads and writes above 2097152 sectors (1 GiB)")
            }
            Op::Flush if sector != 0 || sectors != 0 => Some("has no flush of an address"),
            _ => None,
        }
    }

    fn would_forget(&self, request: &Request) -> Option<&'static str> {
        if request.volume != 0 || request.stream != 0 {
            return Some("has no volumes and streams");
        }
        let preflush = request.op == Op::Flush && request.flags & flags::PREFLUSH != 0;
        let unknown = request.flags & !LETTERS != 0;
        if unknown {
            return Some("has no letter for one of its flags");
        }
        if request.flags & flags::COPY != 0 && !matches!(request.op, Op::Read | Op::Write) {
            return Some("has copies of reads and writes only");
        }
        preflush.then_some("has no preflush on a flush")
    }

    fn line(&self, number: u64, time: u64, request: &Request, text: &mut Vec<u8>) -> bool {
        let (seconds, nanos) = (time / 1_000_000_000, time % 1_000_000_000);
        put!(text, "8,0 0 {number} {seconds}.{nanos:09} 0 {} ", self.action);
        let transfers = matches!(request.op, Op::Read | Op::Write);
        let has = |flag: u8| request.flags & flag != 0 && (transfers || flag != flags::COPY);
        // The first F means preflush, so a flush has it before its own F.
        if has(flags::PREFLUSH) || request.op == Op::Flush {
            text.push(b'F');
        }
        text.push([b'R', b'W', b'D', b'F'][request.op as usize]);
        for (flag, letter) in [
            (flags::COPY, b'C'),
            (flags::FUA, b'F'),
            (flags::AHEAD, b'A'),
            (flags::SYNC, b'S'),
            (flags::META, b'M'),
        ] {
            if has(flag) {
                text.push(letter);
            }
        }
        put!(text, " {} + {} [ssdlab]\n", request.sector, request.sectors);
        true
    }
}
