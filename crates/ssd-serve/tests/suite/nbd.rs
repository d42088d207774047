//! The protocol, byte by byte as in its specification, and with random bytes.

use crate::cases::cases;
use crate::rig;
use proptest::prelude::*;
use ssd_serve::nbd::handshake::{
    Export, Handshake, HandshakeStatus, NegotiatedOptions, State, greeting,
};
use ssd_serve::nbd::reply::{Errno, Replies};
use ssd_serve::nbd::request::{Command, Request, parse};
use ssd_serve::nbd::{MAX_OPTION, ProtocolError};

const STRUCTURED: Replies = Replies { structured: true };
const SIMPLE: Replies = Replies { structured: false };

fn export() -> Export {
    rig::export(0x0102_0304_0506)
}

/// An option as a client sends it.
pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"IHAVEOPT".to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A name with its length.
pub(crate) fn named(name: &str) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes(), name.as_bytes()].concat()
}

/// A reply to an option as the server sends it.
fn reply(number: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x00, 0x03, 0xe8, 0x89, 0x04, 0x55, 0x65, 0xa9];
    bytes.extend(number.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// What a server answers to `said`, and the state of the handshake then; all of it must have been taken.
fn answers(said: &[&[u8]]) -> (Vec<u8>, HandshakeStatus) {
    let (export, mut state, mut out) = (export(), State::default(), Vec::new());
    let said = [&[0, 0, 0, 3], said.concat().as_slice()].concat();
    let (taken, standing) =
        Handshake::new(&export, &mut state).feed(&said, &mut out).expect("a sound client");
    assert_eq!(taken, said.len(), "something was left");
    (out, standing)
}

const INVALID: u32 = 0x8000_0003;

fn kinds(mut replies: &[u8]) -> Vec<u32> {
    let word = |at: usize, bytes: &[u8]| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut kinds = Vec::new();
    while !replies.is_empty() {
        kinds.push(word(12, replies));
        replies = &replies[20 + word(16, replies) as usize..];
    }
    kinds
}

#[test]
fn the_server_greets_as_specified() {
    assert_eq!(greeting(), b"NBDMAGICIHAVEOPT\x00\x03");
}

#[test]
fn a_modern_client_gets_size_and_flags() {
    let go = [&named("tiny")[..], &[0, 1, 0, 3]].concat();
    let set = [&named(""), &[0, 0, 0, 1][..], &named("base:allocation")].concat();
    let (out, standing) = answers(&[&option(8, &[]), &option(10, &set), &option(7, &go)]);
    let replies = [
        reply(8, 1, &[]),
        reply(10, 4, b"\x00\x00\x00\x01base:allocation"),
        reply(10, 1, &[]),
        reply(7, 3, &[0, 3, 0, 0, 0, 1, 0, 0, 0x10, 0, 2, 0, 0, 0]),
        reply(7, 3, &[0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0x05, 0xed]),
        reply(7, 1, &[]),
    ];
    assert_eq!(out, replies.concat());
    assert_eq!(
        standing,
        HandshakeStatus::Done(NegotiatedOptions { replies: STRUCTURED, block_status: true })
    );
}

#[test]
fn an_old_client_gets_size_flags_and_zeros() {
    let (export, mut state, mut out) = (export(), State::default(), Vec::new());
    let said = [&[0, 0, 0, 1][..], &option(1, b"tiny")].concat();
    let fed = Handshake::new(&export, &mut state).feed(&said, &mut out).expect("a sound client");
    assert_eq!(
        fed.1,
        HandshakeStatus::Done(NegotiatedOptions { replies: SIMPLE, block_status: false })
    );
    assert_eq!(out[..10], [0, 0, 1, 2, 3, 4, 5, 6, 0x05, 0xed]);
    assert_eq!(out[10..], [0; 124]);
    let (out, _) = answers(&[&option(1, b"")]);
    assert_eq!(out.len(), 10, "a client that does without zeros gets none");
}

#[test]
fn a_client_may_look_and_leave() {
    let info = [&named("")[..], &[0, 2, 0, 1, 0, 2]].concat();
    let (out, standing) = answers(&[&option(3, &[]), &option(6, &info), &option(2, &[])]);
    assert_eq!(kinds(&out), [2, 1, 3, 3, 3, 3, 1, 1]);
    assert!(out.windows(8).any(|seen| seen == b"\0\0\0\x04tiny"), "the list has the export");
    assert!(out.windows(9).any(|seen| seen == b"\0\x02a drive"), "the description was wanted");
    assert_eq!(standing, HandshakeStatus::Aborted);
}

#[test]
fn contexts_are_listed_and_replaced() {
    let query = |queries: &[&str]| {
        let count = (queries.len() as u32).to_be_bytes();
        let queries: Vec<Vec<u8>> = queries.iter().map(|query| named(query)).collect();
        [named("tiny"), count.to_vec(), queries.concat()].concat()
    };
    let structured = option(8, &[]);
    for (queries, listed) in [
        (&[][..], &[1, 4, 1][..]),
        (&["base:"], &[1, 4, 1]),
        (&["base:allocation", "qemu:"], &[1, 4, 1]),
        (&["qemu:dirty-bitmap"], &[1, 1]),
    ] {
        let (out, _) = answers(&[&structured, &option(9, &query(queries))]);
        assert_eq!(kinds(&out), listed, "{queries:?}");
    }
    let both = [option(10, &query(&["base:allocation"])), option(10, &query(&["base:"]))].concat();
    let go = option(7, &[&named("")[..], &[0, 0]].concat());
    let (_, standing) = answers(&[&structured, &both, &go]);
    assert_eq!(
        standing,
        HandshakeStatus::Done(NegotiatedOptions { replies: STRUCTURED, block_status: false })
    );
}

#[test]
fn a_bad_option_is_answered_and_the_handshake_goes_on() {
    let bad: [(u32, Vec<u8>, u32); 12] = [
        (3, vec![1], INVALID),
        (8, vec![1], INVALID),
        (10, [&named(""), &[0; 4][..]].concat(), INVALID), // Without structured replies.
        (9, vec![], INVALID),
        (7, vec![], INVALID),
        (7, vec![0, 0, 0, 9, b'x', 0, 0], INVALID), // The name is longer than the option.
        (7, [&named("tiny")[..], &[0, 2, 0, 1]].concat(), INVALID), // Fewer numbers than their count.
        (6, [&named("tiny")[..], &[0, 0, 7]].concat(), INVALID),    // Bytes behind it.
        (7, [&named("other")[..], &[0, 0]].concat(), 0x8000_0006),
        (5, vec![], 0x8000_0002),
        (11, vec![], 0x8000_0001),
        (77, b"what".to_vec(), 0x8000_0001),
    ];
    for (number, data, kind) in bad {
        let (out, standing) = answers(&[&option(number, &data), &option(3, &[])]);
        assert_eq!(kinds(&out), [kind, 2, 1], "option {number} with {data:?}");
        assert_eq!(standing, HandshakeStatus::Open);
    }
}

#[test]
fn who_speaks_no_nbd_is_cut_off() {
    let fed = |said: &[u8]| {
        let (export, mut state) = (export(), State::default());
        Handshake::new(&export, &mut state).feed(said, &mut Vec::new())
    };
    assert_eq!(fed(&[0, 0, 0, 7]), Err(ProtocolError::ClientFlags(7)));
    assert_eq!(fed(&[0, 0, 0, 0]), Err(ProtocolError::ClientFlags(0)));
    let http = u64::from_be_bytes(*b"GET / HT");
    assert_eq!(fed(b"\0\0\0\x03GET / HTTP/1.1"), Err(ProtocolError::OptionMagic(http)));
    let long = MAX_OPTION + 1;
    let said = [&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 7], &long.to_be_bytes()].concat();
    assert_eq!(fed(&said), Err(ProtocolError::OptionLength { option: 7, length: long }));
    let said = [&[0, 0, 0, 3][..], &option(1, b"other")].concat();
    assert_eq!(fed(&said), Err(ProtocolError::NoExport("other".into())));
    assert_eq!(parse(&[0x25, 0x60, 0x95, 0x14]), Err(ProtocolError::RequestMagic(0x2560_9514)));
}

/// A request as a client sends it.
fn request(flags: u16, command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = vec![0x25, 0x60, 0x95, 0x13];
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

#[test]
fn requests_are_what_they_say() {
    let commands = [
        Command::Read,
        Command::Write,
        Command::Disconnect,
        Command::Flush,
        Command::Trim,
        Command::Cache,
        Command::WriteZeroes,
        Command::BlockStatus,
        Command::Unknown(8),
    ];
    for (number, command) in (0..).zip(commands) {
        let bytes = request(0x15, number, 0x0102_0304_0506_0708, u64::MAX - 1, u32::MAX);
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), Ok(None), "{cut} bytes of a request");
        }
        let whole = Request {
            flags: 0x15,
            command,
            cookie: 0x0102_0304_0506_0708,
            offset: u64::MAX - 1,
            length: u32::MAX,
        };
        assert_eq!(parse(&bytes), Ok(Some(whole)));
        assert_eq!(whole.data_follows(), if number == 1 { u32::MAX } else { 0 });
    }
}

#[test]
fn replies_are_written_as_specified() {
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        out
    };
    let cookie = 0x0102_0304_0506_0708;
    let simple = |error: u8| [0x67, 0x44, 0x66, 0x98, 0, 0, 0, error, 1, 2, 3, 4, 5, 6, 7, 8];
    let structured = |kind: [u8; 2], length: u8| {
        let [k, kk] = kind;
        [0x66, 0x8e, 0x33, 0xef, 0, 1, k, kk, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, length]
    };
    let fill = |data: &mut [u8]| {
        data.copy_from_slice(b"abc");
        Ok::<(), ()>(())
    };
    assert_eq!(written(&|out| SIMPLE.done(out, cookie)), simple(0));
    assert_eq!(written(&|out| SIMPLE.failed(out, cookie, Errno::NoSpace, "full")), simple(28));
    let data = written(&|out| SIMPLE.data(out, cookie, (9, 3), fill).unwrap());
    assert_eq!(data, [&simple(0)[..], b"abc"].concat());
    assert_eq!(written(&|out| STRUCTURED.done(out, cookie)), structured([0, 0], 0));
    let failed = written(&|out| STRUCTURED.failed(out, cookie, Errno::Invalid, "no"));
    assert_eq!(failed, [&structured([0x80, 1], 8)[..], &[0, 0, 0, 22, 0, 2], b"no"].concat());
    let data = written(&|out| STRUCTURED.data(out, cookie, (9, 3), fill).unwrap());
    let offset = [0, 0, 0, 0, 0, 0, 0, 9];
    assert_eq!(data, [&structured([0, 1], 11)[..], &offset, b"abc"].concat());
    let extents = written(&|out| STRUCTURED.extents(out, cookie, 1, &[(5, 0), (6, 3)]));
    let body = [0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 3];
    assert_eq!(extents, [&structured([0, 5], 20)[..], &body].concat());
    let failed = |out: &mut Vec<u8>| STRUCTURED.data(out, cookie, (9, 3), |_| Err(())).unwrap_err();
    assert!(written(&failed).is_empty(), "half a reply was left");
}

/// Options, valid and invalid, and rubbish.
fn client_bytes() -> impl Strategy<Value = Vec<u8>> {
    let data = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just([&named("tiny")[..], &[0, 0]].concat()),
        Just([&named(""), &[0, 0, 0, 1][..], &named("base:allocation")].concat()),
    ];
    let options = (0u32..13, data).prop_map(|(number, data)| option(number, &data));
    let piece = prop_oneof![
        8 => options,
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    (0u32..5, prop::collection::vec(piece, 0..6))
        .prop_map(|(flags, pieces)| [flags.to_be_bytes().to_vec(), pieces.concat()].concat())
}

/// Everything that results from `said`, given in pieces of `step` bytes.
fn served(said: &[u8], step: usize) -> (Vec<u8>, Result<HandshakeStatus, ProtocolError>) {
    let (export, mut state, mut out) = (export(), State::default(), Vec::new());
    let (mut held, mut standing) = (Vec::new(), HandshakeStatus::Open);
    for piece in said.chunks(step) {
        held.extend(piece);
        match Handshake::new(&export, &mut state).feed(&held, &mut out) {
            Err(error) => return (out, Err(error)),
            Ok((taken, now)) => {
                held.drain(..taken);
                standing = now;
            }
        }
        if standing != HandshakeStatus::Open {
            break;
        }
    }
    (out, Ok(standing))
}

proptest! {
    #![proptest_config(cases(2000, 11))]

    #[test]
    fn any_client_is_answered_alike_however_its_bytes_come(said in client_bytes(), step in 1usize..40) {
        let whole = served(&said, usize::MAX);
        prop_assert_eq!(served(&said, step), whole.clone());
        // An answer is no longer than the properties of the export allow.
        let options = said.len() / 16 + 1;
        prop_assert!(whole.0.len() <= options * 400 + 134);
    }

    #[test]
    fn any_bytes_are_a_request_or_refused(said in prop::collection::vec(any::<u8>(), 0..40)) {
        match parse(&said) {
            Ok(None) => prop_assert!(said.len() < 28),
            Ok(Some(_)) => prop_assert!(said.len() >= 28),
            Err(_) => prop_assert!(said[..4] != [0x25, 0x60, 0x95, 0x13]),
        }
    }
}
