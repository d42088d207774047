//! The fixed parts of a trace file: file header, block header, checksum. `docs/trace-file.md` is the specification for
//! other programs; both must be changed together.

use crate::read::digest::Digest;
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::units::Nanos;

/// First bytes of every trace file. The first byte is not ASCII and the last two are a line end, so that text is never
/// mistaken for a trace file and a copy in text mode is detected.
pub const MAGIC: [u8; 8] = *b"\x89SSDTR\r\n";
/// Version of the layout, the only one that is written or read.
pub const VERSION: u32 = 1;
/// Bytes of the file header.
pub const HEADER_BYTES: usize = 128;
/// Bytes of a block header.
pub const BLOCK_HEADER_BYTES: usize = 64;
/// Maximum number of requests in a block. A reader needs memory for one block, 1.8 MB at this limit.
pub const MAX_BLOCK_REQUESTS: usize = 1 << 16;
/// Blocks and their columns end at a multiple of this many bytes from the start of the file.
pub(super) const ALIGN: usize = 64;
/// Bits of a length with its operation: 32 bits of sectors, 2 of [`Op`].
pub(super) const LENGTH_BITS: u32 = 34;

/// Unexpected content of a file.
pub(super) struct Fault {
    /// Bytes from the start of the file.
    pub(super) at: u64,
    /// Expected content.
    pub(super) expected: String,
    /// Actual content.
    pub(super) actual: String,
}

impl Fault {
    pub(super) fn new(
        at: u64,
        expected: impl Into<String>,
        actual: impl std::fmt::Display,
    ) -> Fault {
        Fault { at, expected: expected.into(), actual: actual.to_string() }
    }
}

/// Returns the checksum over `head` and then `body`, each padded with zero bytes to a multiple of 64 bytes.
///
/// It has eight lanes of 64-bit words, so that eight multiplications are in flight at once. Every step is a bijection
/// of the lane and of the word, as is the final fold of each lane. A change within one aligned 8-byte word is therefore
/// always detected, not only with high probability.
pub(super) fn checksum(head: &[u8], body: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut lanes = [0u64; 8];
    for (number, lane) in (1u64..).zip(&mut lanes) {
        *lane = FACTOR.wrapping_mul(number);
    }
    let mut take = |chunk: &[u8; 64]| {
        for (lane, word) in lanes.iter_mut().zip(chunk.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
        }
    };
    for part in [head, body] {
        let (chunks, rest) = part.as_chunks::<64>();
        chunks.iter().for_each(&mut take);
        if !rest.is_empty() {
            let mut padded = [0; 64];
            padded[..rest.len()].copy_from_slice(rest);
            take(&padded);
        }
    }
    lanes.iter().fold(FACTOR, |sum, lane| {
        let mixed = (sum ^ lane).wrapping_mul(FACTOR);
        mixed ^ mixed >> 32
    })
}

/// Returns a little-endian field at a fixed position.
pub(super) fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&bytes[at..at + N]);
    value
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(field(bytes, at))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(field(bytes, at))
}

/// Optional columns with values other than zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Columns {
    /// Some request has a volume other than 0.
    pub volume: bool,
    /// Some request has a stream other than 0.
    pub stream: bool,
    /// Some request has flags.
    pub flags: bool,
}

impl Columns {
    const fn bits(self) -> u32 {
        self.volume as u32 | (self.stream as u32) << 1 | (self.flags as u32) << 2
    }
}

/// Header of a trace file: what a program needs to know before it reads 10 GB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Length of the file with this header, bytes.
    pub file_bytes: u64,
    /// Requests.
    pub requests: u64,
    /// Requests by operation, in the order of [`Op::ALL`]; their sum is `requests`.
    pub by_op: [u64; 4],
    /// Blocks.
    pub blocks: u64,
    /// Arrival of the first request; 0 without requests.
    pub first: Nanos,
    /// Arrival of the last request; 0 without requests.
    pub last: Nanos,
    /// Lowest 512-byte sector that a request touches; 0 if none touches a sector.
    pub first_sector: u64,
    /// One more than the highest sector that a request touches; 0 if none touches a sector.
    pub end_sector: u64,
    /// Optional columns with values other than zero.
    pub columns: Columns,
    /// Digest of all requests in order: see [`Header::digest_hex`].
    pub digest: u64,
}

impl Header {
    /// Returns the digest as 16 hexadecimal digits. It covers every field of every request. For a trace without volumes
    /// and streams it equals the `trace_digest` of [`crate::TraceFacts`].
    #[must_use]
    pub fn digest_hex(&self) -> String {
        format!("{:016x}", self.digest)
    }

    /// Returns the bytes of the header.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        debug_assert_eq!(self.by_op.iter().sum::<u64>(), self.requests);
        assert!(self.first <= self.last && self.first_sector <= self.end_sector);
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(HEADER_BYTES as u32).to_le_bytes());
        let [read, write, trim, flush] = self.by_op;
        let words = [self.file_bytes, self.requests, read, write, trim, flush, self.blocks];
        let ranges = [self.first.0, self.last.0, self.first_sector, self.end_sector];
        for word in words.iter().chain(&ranges) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&u64::from(self.columns.bits()).to_le_bytes());
        bytes.extend_from_slice(&self.digest.to_le_bytes());
        let sum = checksum(&bytes, &[]);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let fixed: Result<[u8; HEADER_BYTES], _> = bytes.try_into();
        fixed.expect("16 bytes and 14 words make 128 bytes")
    }

    /// Decodes the first bytes of a file, which are fewer than a header only if the file is shorter.
    pub(super) fn decode(bytes: &[u8]) -> Result<Header, Fault> {
        let length = bytes.len().min(MAGIC.len());
        if length == 0 {
            return Err(Fault::new(0, "a trace file", "an empty file"));
        }
        if bytes[..length] != MAGIC[..length] {
            let actual = format!("\"{}\"", bytes[..length].escape_ascii());
            return Err(Fault::new(0, format!("\"{}\"", MAGIC.escape_ascii()), actual));
        }
        if bytes.len() >= 12 && u32_at(bytes, 8) != VERSION {
            return Err(Fault::new(8, format!("version {VERSION}"), u32_at(bytes, 8)));
        }
        if bytes.len() < HEADER_BYTES {
            let expected = format!("a header of {HEADER_BYTES} bytes");
            return Err(Fault::new(
                bytes.len() as u64,
                expected,
                format!("the end of the file after {} bytes", bytes.len()),
            ));
        }
        if u32_at(bytes, 12) as usize != HEADER_BYTES {
            let expected = format!("header length {HEADER_BYTES}");
            return Err(Fault::new(12, expected, u32_at(bytes, 12)));
        }
        let (sum, stored) = (checksum(&bytes[..120], &[]), u64_at(bytes, 120));
        if sum != stored {
            let actual = format!("{stored:016x}");
            return Err(Fault::new(120, format!("checksum {sum:016x} of the header"), actual));
        }
        let word = |index: usize| u64_at(bytes, 16 + 8 * index);
        let columns = word(11);
        let header = Header {
            file_bytes: word(0),
            requests: word(1),
            by_op: [word(2), word(3), word(4), word(5)],
            blocks: word(6),
            first: Nanos(word(7)),
            last: Nanos(word(8)),
            first_sector: word(9),
            end_sector: word(10),
            columns: Columns {
                volume: columns & 1 != 0,
                stream: columns & 2 != 0,
                flags: columns & 4 != 0,
            },
            digest: word(12),
        };
        header.check(columns).map(|()| header)
    }

    /// Checks that the numbers agree; they differ only after a faulty writer.
    fn check(&self, columns: u64) -> Result<(), Fault> {
        let sum = self.by_op.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        if sum != Some(self.requests) {
            let expected = "as many requests as there are reads, writes, trims and flushes";
            return Err(Fault::new(24, expected, self.requests));
        }
        let most = self.blocks.saturating_mul(MAX_BLOCK_REQUESTS as u64);
        if self.blocks > self.requests || self.requests > most {
            let expected = format!("blocks of 1 to {MAX_BLOCK_REQUESTS} requests");
            let actual = format!("{} blocks for {} requests", self.blocks, self.requests);
            return Err(Fault::new(64, expected, actual));
        }
        if self.first > self.last {
            let expected = format!("a last arrival not before the first, {} ns", self.first.0);
            return Err(Fault::new(80, expected, self.last.0));
        }
        if self.first_sector > self.end_sector {
            let expected = format!("an end not before the first sector, {}", self.first_sector);
            return Err(Fault::new(96, expected, self.end_sector));
        }
        if columns > 7 {
            return Err(Fault::new(104, "no columns but volume, stream and flags", columns));
        }
        Ok(())
    }
}

/// Summarises requests in a [`Header`].
pub(crate) struct Summary {
    header: Header,
    digest: Digest,
}

impl Summary {
    /// Creates the summary of no requests.
    pub(crate) const fn new() -> Summary {
        let columns = Columns { volume: false, stream: false, flags: false };
        Summary {
            header: Header {
                file_bytes: HEADER_BYTES as u64,
                requests: 0,
                by_op: [0; 4],
                blocks: 0,
                first: Nanos(0),
                last: Nanos(0),
                first_sector: 0,
                end_sector: 0,
                columns,
                digest: Digest::new().value(),
            },
            digest: Digest::new(),
        }
    }

    /// Adds a request that is not earlier than those before it and ends below sector 2^64.
    pub(crate) fn add(&mut self, timed: &TimedRequest) {
        let (header, request) = (&mut self.header, &timed.request);
        debug_assert!(timed.at >= header.last, "requests come in order of arrival");
        if header.requests == 0 {
            header.first = timed.at;
        }
        header.last = timed.at;
        header.requests += 1;
        header.by_op[request.op as usize] += 1;
        let sectors = u64::from(request.sectors);
        if sectors > 0 {
            let untouched = header.end_sector == 0;
            let lowest = if untouched { request.sector } else { header.first_sector };
            header.first_sector = lowest.min(request.sector);
            header.end_sector = header.end_sector.max(request.sector + sectors);
        }
        header.columns.volume |= request.volume != 0;
        header.columns.stream |= request.stream != 0;
        header.columns.flags |= request.flags != 0;
        self.digest.add(timed);
        header.digest = self.digest.value();
    }

    /// Adds a block of `bytes` bytes, its header included, whose requests have been added.
    pub(crate) fn add_block(&mut self, bytes: usize) {
        debug_assert!(bytes.is_multiple_of(ALIGN));
        self.header.blocks += 1;
        self.header.file_bytes += bytes as u64;
    }

    /// Returns the header of all added requests.
    pub(crate) const fn header(&self) -> &Header {
        &self.header
    }
}

/// The header of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct BlockHeader {
    /// Number of requests, at least 1.
    pub(super) requests: u32,
    /// Bytes per request in each column: 0, 4 or 8 for time, sector and length, 0 or 2 for volume, 0 or 1 for stream
    /// and flags.
    pub(super) widths: [u8; 6],
    /// Stream of all requests if its width is 0.
    pub(super) stream: u8,
    /// Flags of all requests if their width is 0.
    pub(super) flags: u8,
    /// Volume of all requests if its width is 0.
    pub(super) volume: u16,
    /// Arrival of the first request, nanoseconds.
    pub(super) time: u64,
    /// Nanoseconds per unit of the time column; the distance of successive arrivals if its width is 0.
    pub(super) unit: u64,
    /// Added to every value of the sector column.
    pub(super) sector: u64,
    /// Added to every value of the length column.
    pub(super) length: u64,
}

/// Widths that each column may have.
const WIDTHS: [(&str, &[u8]); 6] = [
    ("time", &[0, 4, 8]),
    ("sector", &[0, 4, 8]),
    ("length", &[0, 4, 8]),
    ("volume", &[0, 2]),
    ("stream", &[0, 1]),
    ("flags", &[0, 1]),
];

impl BlockHeader {
    /// Returns the bytes of the columns without padding.
    pub(super) fn column_bytes(&self) -> usize {
        self.widths.iter().map(|width| usize::from(*width)).sum::<usize>() * self.requests as usize
    }

    /// Returns the bytes of the columns with the padding after them.
    pub(super) fn payload_bytes(&self) -> usize {
        self.column_bytes().next_multiple_of(ALIGN)
    }

    /// Returns the bytes before the checksum.
    pub(super) fn encode(&self) -> [u8; BLOCK_HEADER_BYTES - 8] {
        let mut bytes = [0; BLOCK_HEADER_BYTES - 8];
        bytes[0..4].copy_from_slice(&self.requests.to_le_bytes());
        bytes[4..10].copy_from_slice(&self.widths);
        (bytes[10], bytes[11]) = (self.stream, self.flags);
        bytes[12..14].copy_from_slice(&self.volume.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.time.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.unit.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.sector.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.length.to_le_bytes());
        let payload = self.payload_bytes() as u64;
        bytes[48..56].copy_from_slice(&payload.to_le_bytes());
        bytes
    }

    /// Decodes the header from its bytes, which start `at` bytes into the file. Afterwards `requests` and `widths` are
    /// in range, so that [`BlockHeader::payload_bytes`] may be allocated; nothing else is checked.
    pub(super) fn decode(bytes: &[u8; BLOCK_HEADER_BYTES], at: u64) -> Result<BlockHeader, Fault> {
        let header = BlockHeader {
            requests: u32_at(bytes, 0),
            widths: field(bytes, 4),
            stream: bytes[10],
            flags: bytes[11],
            volume: u16::from_le_bytes(field(bytes, 12)),
            time: u64_at(bytes, 16),
            unit: u64_at(bytes, 24),
            sector: u64_at(bytes, 32),
            length: u64_at(bytes, 40),
        };
        if !(1..=MAX_BLOCK_REQUESTS).contains(&(header.requests as usize)) {
            let expected = format!("a block of 1 to {MAX_BLOCK_REQUESTS} requests");
            return Err(Fault::new(at, expected, header.requests));
        }
        for (place, (&width, (name, allowed))) in (4..).zip(header.widths.iter().zip(WIDTHS)) {
            if !allowed.contains(&width) {
                let expected = format!("{allowed:?} bytes a request in the {name} column");
                return Err(Fault::new(at + place, expected, width));
            }
        }
        if bytes[14..16] != [0, 0] {
            return Err(Fault::new(at + 14, "two zero bytes", format!("{:?}", &bytes[14..16])));
        }
        let (payload, stored) = (header.payload_bytes() as u64, u64_at(bytes, 48));
        if payload != stored {
            return Err(Fault::new(at + 48, format!("{payload} bytes of columns"), stored));
        }
        Ok(header)
    }

    /// Checks that a reader's arithmetic with the bases fits 64 bits; the requests are checked as they are read.
    pub(super) fn check(&self, at: u64) -> Result<(), Fault> {
        let [time, sector, length, ..] = self.widths;
        let steps = u64::from(self.requests) - 1;
        let (unit_fits, expected) = match time {
            0 => {
                let end = self.unit.checked_mul(steps).and_then(|span| span.checked_add(self.time));
                (end.is_some(), "arrivals below 2^64 ns")
            }
            4 => (self.unit > 0 && self.unit <= u64::from(u32::MAX), "a unit of 1 to 2^32 - 1 ns"),
            _ => (self.unit == 1, "a unit of 1 ns for a time column of 8 bytes"),
        };
        if !unit_fits {
            return Err(Fault::new(at + 24, expected, self.unit));
        }
        let top = u64::MAX - u64::from(u32::MAX);
        for (place, width, base, name) in
            [(32, sector, self.sector, "sector"), (40, length, self.length, "length")]
        {
            if (width == 8 && base != 0) || (width == 4 && base > top) {
                let expected = format!("a {name} base that cannot overflow ({width}-byte column)");
                return Err(Fault::new(at + place, expected, base));
            }
        }
        Ok(())
    }
}

impl BlockHeader {
    /// Returns whether every possible content of the columns decodes to valid requests. A false negative only costs a
    /// check of each request. The header must have passed [`BlockHeader::check`].
    pub(super) fn is_always_possible(&self) -> bool {
        let [time, sector, length, ..] = self.widths;
        let most = u64::from(u32::MAX);
        let span = u128::from(self.requests) * u128::from(self.unit) * u128::from(most);
        let time_fits = match time {
            0 => true,
            4 => u128::from(self.time) + span <= u128::from(u64::MAX),
            _ => false,
        };
        let sector_fits = sector <= 4 && self.sector <= u64::MAX - 2 * most;
        let lengths = match length {
            0 => self.length,
            4 => self.length.saturating_add(most),
            _ => u64::MAX,
        };
        time_fits && sector_fits && self.length >= 3 && lengths >> LENGTH_BITS == 0
    }
}

/// Returns the operation in the low two bits of a length.
#[inline(always)]
pub(super) const fn op_of(length: u64) -> Op {
    match length & 3 {
        0 => Op::Read,
        1 => Op::Write,
        2 => Op::Trim,
        _ => Op::Flush,
    }
}
