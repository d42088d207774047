//! A literal comparison of two keys, field by field: a second implementation of the same rules.

use super::sortable;
use crate::cases::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Ordering;

/// A key of IndexedDB.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(f64),
    Date(f64),
    Text(Vec<u16>),
    Binary(Vec<u8>),
    List(Vec<Value>),
    Least,
}

/// What follows a prefix.
#[derive(Clone, Debug, PartialEq)]
enum Tail {
    Empty,
    /// A record, or what is stored next to one.
    Record(Value),
    /// The key of an index, a sequence number, and a primary key.
    Entry(Value, Option<(u64, Option<Value>)>),
    /// The kind of metadata, integers, a byte, strings.
    Metadata(u8, Vec<u64>, Option<u8>, Vec<Vec<u16>>),
    Scopes(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq)]
struct Key {
    ids: [u64; 3],
    tail: Tail,
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let more = value >> 7 > 0;
        out.push((value & 127) as u8 | if more { 128 } else { 0 });
        value >>= 7;
        if !more {
            return;
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u16]) {
    put_varint(out, text.len() as u64);
    text.iter().for_each(|unit| out.extend(unit.to_be_bytes()));
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Text(text) => {
            out.push(1);
            put_text(out, text);
        }
        Value::Date(number) => {
            out.push(2);
            out.extend(number.to_le_bytes());
        }
        Value::Number(number) => {
            out.push(3);
            out.extend(number.to_le_bytes());
        }
        Value::List(values) => {
            out.push(4);
            put_varint(out, values.len() as u64);
            values.iter().for_each(|value| put_value(out, value));
        }
        Value::Least => out.push(5),
        Value::Binary(bytes) => {
            out.push(6);
            put_varint(out, bytes.len() as u64);
            out.extend(bytes);
        }
    }
}

impl Key {
    fn stored(&self) -> Vec<u8> {
        let width = |id: u64| (64 - (id | 1).leading_zeros()).div_ceil(8) as u8;
        let [database, store, index] = self.ids.map(width);
        let mut out = vec![(database - 1) << 5 | (store - 1) << 2 | (index - 1)];
        for id in self.ids {
            out.extend(&id.to_le_bytes()[..width(id).into()]);
        }
        match &self.tail {
            Tail::Empty => {}
            Tail::Record(value) => put_value(&mut out, value),
            Tail::Entry(value, rest) => {
                put_value(&mut out, value);
                if let Some((sequence, primary)) = rest {
                    put_varint(&mut out, *sequence);
                    primary.iter().for_each(|value| put_value(&mut out, value));
                }
            }
            Tail::Metadata(kind, numbers, byte, texts) => {
                out.push(*kind);
                numbers.iter().for_each(|&number| put_varint(&mut out, number));
                out.extend(byte);
                texts.iter().for_each(|text| put_text(&mut out, text));
            }
            Tail::Scopes(bytes) => {
                out.push(50);
                out.extend(bytes);
            }
        }
        out
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Least => 0,
        Value::Number(_) => 1,
        Value::Date(_) => 2,
        Value::Text(_) => 3,
        Value::Binary(_) => 4,
        Value::List(_) => 5,
    }
}

fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) | (Value::Date(a), Value::Date(b)) => {
            a.partial_cmp(b).expect("numbers")
        }
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Binary(a), Value::Binary(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => {
            let different = a.iter().zip(b).map(|(a, b)| compare_values(a, b)).find(|o| o.is_ne());
            different.unwrap_or(a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn compare(a: &Key, b: &Key) -> Ordering {
    a.ids.cmp(&b.ids).then_with(|| match (&a.tail, &b.tail) {
        (Tail::Empty, Tail::Empty) => Ordering::Equal,
        (Tail::Empty, _) => Ordering::Less,
        (_, Tail::Empty) => Ordering::Greater,
        (Tail::Record(a), Tail::Record(b)) => compare_values(a, b),
        (Tail::Entry(a, after_a), Tail::Entry(b, after_b)) => {
            compare_values(a, b).then_with(|| match (after_a, after_b) {
                (Some((m, Some(a))), Some((n, Some(b)))) => compare_values(a, b).then(m.cmp(n)),
                // A sequence number counts among equal primary keys only.
                (a, b) => {
                    let has =
                        |rest: &Option<(u64, Option<Value>)>| matches!(rest, Some((_, Some(_))));
                    has(a).cmp(&has(b))
                }
            })
        }
        (Tail::Metadata(a, m, x, s), Tail::Metadata(b, n, y, t)) => (a, m, x, s).cmp(&(b, n, y, t)),
        (Tail::Scopes(a), Tail::Scopes(b)) => a.cmp(b),
        (Tail::Scopes(_), Tail::Metadata(b, ..)) => 50.cmp(b),
        (Tail::Metadata(a, ..), Tail::Scopes(_)) => a.cmp(&50),
        (a, b) => panic!("{a:?} and {b:?} after one prefix"),
    })
}

fn text() -> impl Strategy<Value = Vec<u16>> {
    vec(prop_oneof![Just(0_u16), Just(1), Just(0xff), Just(0x100), Just(0xffff), Just(0x61)], 0..4)
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(1.0),
        Just(-1.0),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MIN_POSITIVE / 2.0),
        any::<i16>().prop_map(f64::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        number().prop_map(Value::Number),
        number().prop_map(Value::Date),
        text().prop_map(Value::Text),
        vec(prop_oneof![Just(0_u8), Just(1), Just(255)], 0..4).prop_map(Value::Binary),
        Just(Value::Least),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| vec(inner, 0..3).prop_map(Value::List))
}

fn id() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1_u64), Just(2), Just(255), Just(256), Just(1 << 40), Just(i64::MAX as u64)]
}

fn metadata(kind: u8, numbers: usize, byte: bool, texts: usize) -> impl Strategy<Value = Tail> {
    (vec(id(), numbers), 0_u8..4, vec(text(), texts)).prop_map(move |(numbers, last, texts)| {
        Tail::Metadata(kind, numbers, byte.then_some(last), texts)
    })
}

fn key() -> impl Strategy<Value = Key> {
    let of = |ids: [u64; 3]| move |tail| Key { ids, tail };
    let global = prop_oneof![
        (0_u8..7).prop_flat_map(|kind| metadata(kind, 0, false, 0)),
        vec(prop_oneof![Just(0_u8), Just(7)], 0..4).prop_map(Tail::Scopes),
        metadata(100, 1, false, 0),
        metadata(201, 0, false, 2),
    ];
    let database = prop_oneof![
        (0_u8..6).prop_flat_map(|kind| metadata(kind, 0, false, 0)),
        metadata(50, 1, true, 0),
        metadata(100, 2, true, 0),
        metadata(150, 1, false, 0),
        metadata(151, 2, false, 0),
        metadata(200, 0, false, 1),
        metadata(201, 1, false, 1),
    ];
    let record = prop_oneof![Just(Tail::Empty), value().prop_map(Tail::Record)];
    let rest = proptest::option::of((id(), proptest::option::of(value())));
    let entry = prop_oneof![
        Just(Tail::Empty),
        (value(), rest).prop_map(|(value, rest)| Tail::Entry(value, rest)),
    ];
    prop_oneof![
        global.prop_map(of([0, 0, 0])),
        (id(), database).prop_map(|(id, tail)| Key { ids: [id, 0, 0], tail }),
        (id(), id(), 1_u64..4, record).prop_map(|(a, b, c, tail)| Key { ids: [a, b, c], tail }),
        (1_u64..3, 1_u64..3, 1_u64..2, value())
            .prop_map(|(a, b, c, v)| Key { ids: [a, b, c], tail: Tail::Record(v) }),
        (1_u64..2, 1_u64..2, 30_u64..33, entry)
            .prop_map(|(a, b, c, tail)| Key { ids: [a, b, c], tail }),
    ]
}

proptest! {
    #![proptest_config(cases(512, 17))]

    #[test]
    fn sortable_keys_sort_as_the_literal_comparison(keys in vec(key(), 2..12)) {
        let sorted: Vec<Vec<u8>> = keys
            .iter()
            .map(|key| sortable(&key.stored()).unwrap_or_else(|| panic!("no place: {key:?}")))
            .collect();
        for (a, x) in keys.iter().zip(&sorted) {
            for (b, y) in keys.iter().zip(&sorted) {
                prop_assert_eq!(x.cmp(y), compare(a, b), "{:?}, {:?}", a, b);
            }
        }
    }

    #[test]
    fn any_bytes_are_a_key_or_none(bytes in vec(any::<u8>(), 0..40)) {
        let _ = sortable(&bytes);
    }
}

/// A record of database 1, store 1: prefix, then the key.
fn record(rest: &[u8]) -> Option<Vec<u8>> {
    sortable(&[&[0, 1, 1, 1], rest].concat())
}

#[test]
fn kinds_come_in_the_order_of_the_specification() {
    let number = [&[3_u8][..], &1e300_f64.to_le_bytes()].concat();
    let date = [&[2_u8][..], &(-1e300_f64).to_le_bytes()].concat();
    let (text, binary, list) = ([1, 0], [6, 0], [4, 0]);
    let in_order: [&[u8]; 6] = [&[5], &number, &date, &text, &binary, &list];
    let sorted = in_order.map(|key| record(key).expect("a key"));
    assert!(sorted.is_sorted_by(|a, b| a < b), "{sorted:?}");
}

#[test]
fn what_is_no_key_has_no_place() {
    let nan = [&[3_u8][..], &f64::NAN.to_le_bytes()].concat();
    let bad: [&[u8]; 8] =
        [&[7], &[1], &[1, 1, 0], &[6, 2, 0], &[3, 0, 0], &[4, 1], &[4, 200], &nan];
    assert!(bad.iter().all(|rest| record(rest).is_none()), "a key of damaged bytes");
    let prefixes: [&[u8]; 5] = [&[], &[0], &[0, 1, 1], &[0, 1, 1, 4], &[0, 0, 0, 0, 7]];
    assert!(prefixes.iter().all(|key| sortable(key).is_none()), "a key of a damaged prefix");
    // A negative id, and arrays that nest deeper than Chrome reads.
    assert_eq!(
        sortable(&[[0xe0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 1].as_slice(), &[5]].concat()),
        None
    );
    let nested = |depth: usize| [[4, 1].repeat(depth), vec![5]].concat();
    assert!(record(&nested(1999)).is_some());
    assert_eq!(record(&nested(20_000)), None);
}
