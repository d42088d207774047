//! Internal keys: user key, then 8 bytes `sequence << 8 | kind`, little-endian.
//!
//! Order: user keys bytewise ascending; entries of the same user key newest first.

use super::coding::fixed64;
use std::cmp::Ordering;

/// The largest sequence number: 56 bits.
pub(crate) const MAX_SEQUENCE: u64 = (1 << 56) - 1;

/// Whether an entry sets or deletes its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Deletion = 0,
    Value = 1,
}

/// Sequence number and kind in one number; larger is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(pub(crate) u64);

impl Tag {
    pub(crate) fn new(sequence: u64, kind: ValueKind) -> Tag {
        debug_assert!(sequence <= MAX_SEQUENCE, "a sequence number has 56 bits");
        Tag(sequence << 8 | kind as u64)
    }

    /// The tag to seek with for the newest entry not after `sequence`.
    pub(crate) fn seek(sequence: u64) -> Tag {
        Tag::new(sequence, ValueKind::Value)
    }

    pub(crate) fn sequence(self) -> u64 {
        self.0 >> 8
    }

    /// `None` for an unknown kind.
    pub(crate) fn kind(self) -> Option<ValueKind> {
        match self.0 & 0xff {
            0 => Some(ValueKind::Deletion),
            1 => Some(ValueKind::Value),
            _ => None,
        }
    }
}

pub(crate) fn internal(user: &[u8], tag: Tag) -> Vec<u8> {
    let mut key = Vec::with_capacity(user.len() + 8);
    key.extend_from_slice(user);
    key.extend_from_slice(&tag.0.to_le_bytes());
    debug_assert_eq!(self::tag(&key), tag, "readers find another tag");
    key
}

/// The user key of an internal key. Readers refuse keys that are too short.
#[inline]
pub(crate) fn user(internal: &[u8]) -> &[u8] {
    debug_assert!(internal.len() >= 8, "an internal key ends in a tag");
    &internal[..internal.len() - 8]
}

#[inline]
pub(crate) fn tag(internal: &[u8]) -> Tag {
    debug_assert!(internal.len() >= 8, "an internal key ends in a tag");
    Tag(fixed64(internal, internal.len() - 8))
}

/// Compares bytewise, eight bytes at a time: most keys are short, and calls of `memcmp` are not free.
#[inline]
pub(crate) fn compare_user(a: &[u8], b: &[u8]) -> Ordering {
    let mut left = a.chunks_exact(8);
    let mut right = b.chunks_exact(8);
    for (x, y) in left.by_ref().zip(right.by_ref()) {
        if x != y {
            let word = |s: &[u8]| u64::from_be_bytes(s.try_into().expect("8 bytes"));
            let order = word(x).cmp(&word(y));
            debug_assert_eq!(order, a.cmp(b), "big-endian words sort like their bytes");
            return order;
        }
    }
    // Where all whole words are equal, at most seven bytes and the lengths decide.
    let common = a.len().min(b.len()) & !7;
    let order = a[common..].cmp(&b[common..]);
    debug_assert_eq!(order, a.cmp(b), "all before is equal");
    order
}

/// Length of the common prefix of two keys.
#[inline]
pub(crate) fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(8).zip(b.chunks_exact(8)).take_while(|(x, y)| x == y).count();
    let rest = a[words * 8..].iter().zip(&b[words * 8..]).take_while(|(x, y)| x == y).count();
    let shared = words * 8 + rest;
    debug_assert_eq!(a[..shared], b[..shared], "shared");
    debug_assert!(a.get(shared) != b.get(shared) || a.len().min(b.len()) == shared, "and no more");
    shared
}

/// Order of internal keys.
#[inline]
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    compare_user(user(a), user(b)).then_with(|| tag(b).cmp(&tag(a)))
}

/// A short key at least `last` and below `next`, by LevelDB's rule. Both are internal keys.
pub(crate) fn separator(last: &[u8], next: &[u8]) -> Vec<u8> {
    debug_assert!(compare(last, next).is_lt(), "nothing lies between keys out of order");
    let (start, limit) = (user(last), user(next));
    let shared = shared_prefix(start, limit);
    if shared < start.len().min(limit.len()) {
        let byte = start[shared];
        if byte < 0xff && byte + 1 < limit[shared] {
            let mut short = start[..=shared].to_vec();
            short[shared] += 1;
            if short.len() < start.len() {
                // Before all entries of its user key, so also before those that come later.
                let short = internal(&short, Tag::seek(MAX_SEQUENCE));
                assert!(compare(last, &short).is_lt() && compare(&short, next).is_lt(), "between");
                return short;
            }
        }
    }
    last.to_vec()
}

/// A short key at least `last`, by LevelDB's rule.
pub(crate) fn successor(last: &[u8]) -> Vec<u8> {
    let start = user(last);
    if let Some(i) = start.iter().position(|&b| b != 0xff)
        && i + 1 < start.len()
    {
        let mut short = start[..=i].to_vec();
        short[i] += 1;
        let short = internal(&short, Tag::seek(MAX_SEQUENCE));
        assert!(compare(last, &short).is_lt(), "after the last key");
        return short;
    }
    last.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(256, 91))]

        #[test]
        fn short_keys_lie_between(a in "[ab\u{ff}]{0,12}", b in "[abc]{0,12}", s in 1_u64..9, t in 1_u64..9) {
            let a = internal(a.as_bytes(), Tag::seek(s));
            let b = internal(b.as_bytes(), Tag::seek(t));
            prop_assert_eq!(
                compare_user(user(&a), user(&b)),
                user(&a).cmp(user(&b))
            );
            if compare(&a, &b) == Ordering::Less {
                let middle = separator(&a, &b);
                prop_assert!(compare(&a, &middle) != Ordering::Greater);
                prop_assert!(compare(&middle, &b) == Ordering::Less);
            }
            prop_assert!(compare(&a, &successor(&a)) != Ordering::Greater);
        }
    }
}
