//! Files with correct checksums that no writer of ssdlab produces; a reader must not trust them.

use super::layout::{BLOCK_HEADER_BYTES, BlockHeader, Header, Summary, checksum};
use super::{HEADER_BYTES, Reader, encode};
use crate::cases::cases;
use proptest::prelude::*;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::Source;
use ssd_core::units::Nanos;
use std::io::Cursor;

fn timed(at: u64, op: Op, sector: u64, sectors: u32) -> TimedRequest {
    TimedRequest { at: Nanos(at), request: Request::new(op, sector, sectors) }
}

/// Returns all requests in `bytes`, or the error.
fn read(bytes: Vec<u8>) -> Result<Vec<TimedRequest>, String> {
    let mut reader = Reader::stream("x.ssdtrace", Cursor::new(bytes)).map_err(|error| error.0)?;
    let mut requests = Vec::new();
    loop {
        let before = requests.len();
        reader.fill(&mut requests, 1000).map_err(|error| error.0)?;
        if requests.len() == before {
            return Ok(requests);
        }
    }
}

/// Returns a file of one block with this header and these columns, and with a matching file header.
fn file(block: &BlockHeader, columns: &[u8], last: u64) -> Vec<u8> {
    let mut head = block.encode().to_vec();
    let sum = checksum(&head, columns);
    head.extend_from_slice(&sum.to_le_bytes());
    assert_eq!(head.len(), BLOCK_HEADER_BYTES);
    let requests = u64::from(block.requests);
    let header = Header {
        file_bytes: (HEADER_BYTES + head.len() + columns.len()) as u64,
        requests,
        by_op: [requests, 0, 0, 0],
        blocks: 1,
        first: Nanos(block.time.min(last)),
        last: Nanos(last),
        ..*Summary::new().header()
    };
    [&header.encode()[..], &head, columns].concat()
}

fn valid(requests: &[TimedRequest]) -> bool {
    requests.is_sorted_by_key(|timed| timed.at)
        && requests.iter().all(|timed| {
            let request = &timed.request;
            (request.sectors > 0 || request.op == Op::Flush)
                && request.sector.checked_add(u64::from(request.sectors)).is_some()
        })
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..10u64, any::<u64>(), (0..10u64).prop_map(|n| u64::MAX - n), Just(1 << 32)]
}

prop_compose! {
    fn block()(
        requests in 1..40u32,
        core in prop::array::uniform3(prop::sample::select(vec![0u8, 4, 8])),
        optional in prop::array::uniform3(any::<bool>()),
        bases in prop::array::uniform4(number()),
        volume in any::<u16>(),
    ) -> BlockHeader {
        let [v, s, f] = optional.map(u8::from);
        BlockHeader {
            requests,
            widths: [core[0], core[1], core[2], 2 * v, s, f],
            stream: 7,
            flags: 3,
            volume,
            time: bases[0],
            unit: bases[1],
            sector: bases[2],
            length: bases[3],
        }
    }
}

proptest! {
    #![proptest_config(cases(2000, 74))]

    #[test]
    fn a_forged_block_gives_possible_requests_or_an_error(
        block in block(), seed in any::<u64>(), small in any::<bool>(), last in number(),
    ) {
        let mut state = seed;
        let mut columns: Vec<u8> = (0..block.column_bytes()).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if small && state >> 60 != 0 { 0 } else { (state >> 56) as u8 }
        }).collect();
        // The reader refuses a first distance other than 0.
        columns[..usize::from(block.widths[0])].fill(0);
        columns.resize(block.payload_bytes(), 0);
        if let Ok(requests) = read(file(&block, &columns, last)) {
            prop_assert!(valid(&requests));
            prop_assert_eq!(requests.len(), block.requests as usize);
        }
    }

    #[test]
    fn any_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(read(bytes.clone()).is_err());
        // The same bytes after a valid beginning.
        let bytes = [&super::MAGIC[..], &1u32.to_le_bytes(), &128u32.to_le_bytes(), &bytes].concat();
        prop_assert!(read(bytes).is_err());
    }
}

#[test]
fn impossible_requests_of_a_forged_block_are_named() {
    let good = [timed(5, Op::Write, 8, 8), timed(9, Op::Read, 16, 8)];
    let mut bytes = Vec::new();
    encode::block(&good, &mut bytes);
    let head: &[u8; BLOCK_HEADER_BYTES] = bytes.first_chunk().unwrap();
    let block = BlockHeader::decode(head, 0).map_err(|fault| fault.expected).unwrap();
    let columns = &bytes[BLOCK_HEADER_BYTES..];
    assert_eq!(read(file(&block, columns, 9)).unwrap(), good);
    let cases = [
        // A write of no sectors.
        (BlockHeader { length: 0, widths: [0, 4, 0, 0, 0, 0], ..block }, "at least one sector"),
        (BlockHeader { sector: u64::MAX - 1, widths: [0, 0, 4, 0, 0, 0], ..block }, "2^64"),
        (BlockHeader { sector: u64::MAX - 1, ..block }, "cannot overflow"),
        (BlockHeader { unit: 0, widths: [4, 4, 4, 0, 0, 0], ..block }, "a unit of 1 to"),
        (BlockHeader { unit: u64::MAX, ..block }, "arrivals below 2^64"),
    ];
    for (forged, part) in cases {
        let columns = vec![0; forged.payload_bytes()];
        let error = read(file(&forged, &columns, 9)).unwrap_err();
        assert!(error.contains(part) && error.contains("x.ssdtrace, byte "), "{part}: {error}");
    }
    let error = read(file(&block, columns, 10)).unwrap_err();
    assert!(error.contains("2 requests up to 9 ns"), "{error}");
}

/// Positions of numbers in a header, and their values.
type Numbers<'a> = &'a [(usize, u64)];

/// Headers with correct checksums whose numbers contradict each other. Only the header is read.
#[test]
fn a_header_that_contradicts_itself_is_named() {
    const REQUESTS: usize = 1;
    const TRIMS: usize = 4;
    const BLOCKS: usize = 6;
    let most = super::layout::MAX_BLOCK_REQUESTS as u64;
    let good = Header {
        requests: 2,
        by_op: [1, 1, 0, 0],
        blocks: 1,
        first: Nanos(5),
        last: Nanos(9),
        first_sector: 8,
        end_sector: 24,
        ..*Summary::new().header()
    };
    // Some of the numbers from byte 16 on are replaced.
    let opened = |forged: Numbers| {
        let mut bytes = good.encode().to_vec();
        for &(word, value) in forged {
            bytes[16 + 8 * word..24 + 8 * word].copy_from_slice(&value.to_le_bytes());
        }
        let sum = checksum(&bytes[..120], &[]);
        bytes[120..].copy_from_slice(&sum.to_le_bytes());
        Reader::stream("x.ssdtrace", Cursor::new(bytes)).map(drop).map_err(|error| error.0)
    };
    let full = [(REQUESTS, most), (TRIMS, most - 2)];
    for forged in [&[][..], &[(BLOCKS, 2)], &full] {
        assert_eq!(opened(forged), Ok(()), "{forged:?}");
    }
    let cases: [(Numbers, &str, &str); 7] = [
        (&[(REQUESTS, 3)], "byte 24", "as many requests as there are reads"),
        (&[(BLOCKS, 3)], "byte 64", "3 blocks for 2 requests"),
        (&[(BLOCKS, 0)], "byte 64", "0 blocks for 2 requests"),
        (&[(REQUESTS, most + 1), (TRIMS, most - 1)], "byte 64", "1 blocks for 65537 requests"),
        (&[(7, 10)], "byte 80", "not before the first, 10 ns"),
        (&[(9, 25)], "byte 96", "not before the first sector, 25"),
        (&[(11, 8)], "byte 104", "no columns but volume, stream and flags"),
    ];
    for (forged, place, part) in cases {
        let error = opened(forged).expect_err("it is refused");
        assert!(error.contains(place) && error.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_block_of_forged_size_allocates_nothing() {
    for requests in [0, (1 << 16) + 1, u32::MAX] {
        let block =
            BlockHeader { requests: 1, widths: [8, 8, 8, 2, 1, 1], ..BlockHeader::default() };
        let mut bytes = file(&block, &vec![0; block.payload_bytes()], 0);
        bytes[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&requests.to_le_bytes());
        let error = read(bytes).unwrap_err();
        assert!(error.contains("1 to 65536 requests"), "{error}");
    }
}

/// The examples of `docs/trace-file.md`, with which other implementations can be checked.
#[test]
fn the_checksum_is_the_documented_one() {
    assert_eq!(checksum(&[], &[]), EMPTY, "{:016x}", checksum(&[], &[]));
    assert_eq!(checksum(b"ssdlab", &[]), WORD, "{:016x}", checksum(b"ssdlab", &[]));
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(checksum(&bytes[..56], &bytes), LONG, "{:016x}", checksum(&bytes[..56], &bytes));
}

const EMPTY: u64 = 0xbe8e_1d4d_8cac_1fc6;
const WORD: u64 = 0xa76d_c267_362c_d306;
const LONG: u64 = 0x3b1d_2899_8e5f_94ac;

#[test]
fn the_smallest_columns_that_carry_a_block_are_taken() {
    let widths = |requests: &[TimedRequest]| {
        let mut bytes = Vec::new();
        encode::block(requests, &mut bytes);
        <[u8; 3]>::try_from(&bytes[4..7]).unwrap()
    };
    let write = |at, sector| timed(at, Op::Write, sector, 8);
    assert_eq!(widths(&[write(7, 1)]), [0, 0, 0]);
    assert_eq!(widths(&[write(0, 0), write(5, 8), write(10, 16)]), [0, 4, 0]);
    assert_eq!(widths(&[write(0, 0), write(5, 8), write(11, 16)]), [4, 4, 0]);
    // 10^6 seconds in units of 1 ms, then of 1 ns.
    let late = 1_000_000_000_000_000;
    assert_eq!(widths(&[write(0, 0), write(1_000_000, 0), write(late, 0)]), [4, 0, 0]);
    assert_eq!(widths(&[write(0, 0), write(1, 0), write(late, 0)]), [8, 0, 0]);
    assert_eq!(widths(&[write(0, 0), write(0, 1 << 32)]), [0, 8, 0]);
    assert_eq!(widths(&[write(0, 0), write(0, u64::from(u32::MAX))]), [0, 4, 0]);
    let long = timed(0, Op::Trim, 0, u32::MAX);
    assert_eq!(widths(&[write(0, 0), long]), [0, 0, 8]);
}
