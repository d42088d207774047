//! Every format on arbitrary and on damaged bytes: no panic, no endless reading, errors with a place.

use crate::cases::cases;
use crate::samples::{sample, samples};
use crate::workloads::{drain, workload};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use ssd_core::config::Word;
use ssd_trace::TraceSource;
use ssd_trace::config::{Fit, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::formats::Unit;
use ssd_trace::formats::{self, Cut, Format, ReadAs};

/// Cases of each property in the common tests, and in the ignored long ones.
const CASES: u32 = 300;
const MANY_CASES: u32 = 60_000;

/// Bytes that mean something to the parsers of text.
const SPECIAL: &[u8] = b"0 19,;.-:\n\r\t\0RWx#+\x80\xff";

/// Reads `bytes` in every way; an error names the file, and what is bad in it by line or record.
fn survives(bytes: &[u8], format: TraceFormat) {
    let plain = workload(WorkloadKind::Trace);
    let ways = [
        (false, false, 'Q', false),
        (true, true, 'Q', false),
        (true, false, 'C', false),
        (false, true, 'Q', true),
        (true, false, 'Q', true),
    ];
    for (skip_bad, dedup, action, sort) in ways {
        let fit = Fit::Compact;
        let options = Workload { format, skip_bad, dedup, action, sort, fit, ..plain.clone() };
        let read = TraceSource::read("t", bytes, &options, 4096, 1 << 20);
        if let Err(error) = read.map(|(mut source, _)| drain(&mut source)) {
            let place =
                ["t, line ", "t, record ", "t, request ", "t, byte ", "t: ", "t is of format "];
            let located = place.iter().any(|start| error.0.starts_with(start));
            assert!(located && error.0.len() < 2500, "{}", error.0);
            // Lines of their own are those of commands.
            let text = error.0.replace("\n  ", "");
            assert!(!text.chars().any(char::is_control), "{}", error.0);
        }
    }
}

/// Every parser, alone, on the lines of `bytes`, or its records: what is rejected is rejected at a
/// byte of it.
fn columns(bytes: &[u8]) {
    fn one<F: Format>(bytes: &[u8]) {
        for unit in [Unit::Sectors, Unit::Bytes, Unit::Pages(32)] {
            let mut parser = F::new(&ReadAs { unit, ..ReadAs::default() });
            let pieces: Vec<&[u8]> = match F::CUT {
                Cut::Lines => bytes.split(|&byte| byte == b'\n').collect(),
                Cut::Records(head) => {
                    let length = bytes.get(..head).and_then(|head| parser.length(head));
                    let whole = length.and_then(|length| bytes.get(..length));
                    vec![whole.unwrap_or_default(), &bytes[..bytes.len().min(head)]]
                }
            };
            for piece in pieces {
                if let Err(reject) = parser.parse(piece) {
                    assert!(reject.column <= piece.len(), "{reject:?} in {piece:?}");
                }
            }
        }
        assert!(F::understood(bytes) <= bytes.len());
    }
    one::<formats::alibaba::Parser>(bytes);
    one::<formats::biosnoop::Parser>(bytes);
    one::<formats::biotracer::Parser>(bytes);
    one::<formats::blkreplay::Parser>(bytes);
    one::<formats::blktrace::Parser>(bytes);
    one::<formats::block_event::Parser>(bytes);
    one::<formats::diskmon::Parser>(bytes);
    one::<formats::disksim::Parser>(bytes);
    one::<formats::etw::Parser>(bytes);
    one::<formats::fio_v2::Parser>(bytes);
    one::<formats::fio_v3::Parser>(bytes);
    one::<formats::fiu::Parser>(bytes);
    one::<formats::hfplayer::Parser>(bytes);
    one::<formats::libcachesim::Parser>(bytes);
    one::<formats::midas::Parser>(bytes);
    one::<formats::mqsim::Parser>(bytes);
    one::<formats::msr::Parser>(bytes);
    one::<formats::spc::Parser>(bytes);
    one::<formats::ssdsim::Parser>(bytes);
    one::<formats::systor17::Parser>(bytes);
    one::<formats::tencent::Parser>(bytes);
    one::<formats::tracepoint::Parser>(bytes);
    one::<formats::vscsi::Parser>(bytes);
    one::<formats::wiscsee::Parser>(bytes);
}

/// Runs `property` on `n` of `inputs`.
fn check<S: Strategy>(n: u32, inputs: &S, property: impl Fn(S::Value)) {
    let done = TestRunner::new(cases(n, 88)).run(inputs, |input| {
        property(input);
        Ok(())
    });
    done.unwrap();
}

/// All words of the config, `auto` too.
fn any_format() -> impl Strategy<Value = TraceFormat> {
    (0..TraceFormat::WORDS.len())
        .prop_map(|at| TraceFormat::from_word(TraceFormat::WORDS[at].0).unwrap())
}

/// Arbitrary bytes after nothing or after a good beginning.
fn any_bytes(cases: u32) {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..600),
        proptest::collection::vec(prop::sample::select(SPECIAL), 0..300),
    ];
    check(cases, &(any_format(), any::<bool>(), bytes), |(format, lead, bytes)| {
        let good = samples().into_iter().find(|sample| lead && sample.0 == format);
        let all = [good.map_or(Vec::new(), |sample| sample.1), bytes.clone()].concat();
        survives(&all, format);
        columns(&bytes);
    });
}

/// A change of a good trace.
#[derive(Clone, Debug)]
enum Damage {
    /// Another byte.
    Byte(Index, u8),
    /// One bit.
    Bit(Index, u32),
    /// Bytes left out, from one place to another.
    Cut(Index, Index),
    /// Bytes once more.
    Twice(Index, Index),
}

impl Damage {
    fn any() -> impl Strategy<Value = Damage> {
        let byte = prop_oneof![prop::sample::select(SPECIAL), any::<u8>()];
        prop_oneof![
            4 => (any::<Index>(), byte).prop_map(|(at, byte)| Damage::Byte(at, byte)),
            2 => (any::<Index>(), 0..8u32).prop_map(|(at, bit)| Damage::Bit(at, bit)),
            1 => any::<(Index, Index)>().prop_map(|(from, to)| Damage::Cut(from, to)),
            1 => any::<(Index, Index)>().prop_map(|(from, to)| Damage::Twice(from, to)),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let range = |from: &Index, to: &Index, length| {
            let (a, b) = (from.index(length), to.index(length));
            a.min(b)..a.max(b)
        };
        let length = bytes.len();
        match self {
            _ if length == 0 => {}
            Damage::Byte(at, byte) => bytes[at.index(length)] = *byte,
            Damage::Bit(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Damage::Cut(from, to) => drop(bytes.drain(range(from, to, length))),
            Damage::Twice(from, to) => bytes.extend_from_within(range(from, to, length)),
        }
    }
}

/// Damaged samples, read as what they were and as whatever they seem to be.
fn damaged(cases: u32) {
    let changes = proptest::collection::vec(Damage::any(), 1..5);
    check(cases, &(0..samples().len(), changes, any::<bool>()), |(number, changes, same)| {
        let (format, mut bytes, _) = samples().swap_remove(number);
        for change in changes {
            change.apply(&mut bytes);
        }
        survives(&bytes, if same { format } else { TraceFormat::Auto });
        columns(&bytes);
    });
}

#[test]
fn any_bytes_are_read_or_refused() {
    any_bytes(CASES);
}

#[test]
fn damaged_traces_are_read_or_refused() {
    damaged(CASES);
}

#[test]
#[ignore = "a minute: part of `make test-all`"]
fn very_many_bytes_are_read_or_refused() {
    any_bytes(MANY_CASES);
    damaged(MANY_CASES);
}

/// No byte of a long useless file is looked at again and again.
#[test]
fn long_useless_files_come_to_an_end() {
    for byte in [0, 1, 2, b'\n', b' ', b'0', b'9', b',', 0xff] {
        let bytes = vec![byte; 1 << 20];
        for (word, ..) in TraceFormat::WORDS {
            survives(&bytes, TraceFormat::from_word(word).unwrap());
        }
    }
}

#[test]
fn every_cut_of_a_sample_is_read_or_refused() {
    for (format, bytes, _) in samples() {
        for end in 0..bytes.len() {
            survives(&bytes[..end], format);
        }
        columns(&sample(format).1);
    }
}
