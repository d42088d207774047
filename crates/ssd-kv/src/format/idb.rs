//! The order `idb_cmp1` of Chrome's IndexedDB stores, as keys whose bytes sort in it.
//!
//! A key begins with a prefix: database, object store and index, each an integer of as many bytes as the first byte
//! says. The prefix decides what follows: metadata begin with a byte for their type, records and index entries with an
//! IndexedDB key. Fields are compared one after the other. `sortable` encodes each field so that its bytes compare as
//! the field does, and so that no encoded field is a prefix of another: integers are big-endian, strings are
//! terminated, and numbers have their sign flipped.
//!
//! Keys are equal in `idb_cmp1` if their sortable forms are equal, even if their bytes differ (0.0 and -0.0; the
//! sequence number of an index entry without a primary key). A key without a sortable form has no place in the order.

/// The greatest depth of nested arrays, as in Chrome's own reader.
const MOST_NESTED: u32 = 2000;
/// The lowest id of an index; lower ids denote records and what is stored next to them.
const FIRST_INDEX: u64 = 30;

/// The form of `key` whose bytes sort as `idb_cmp1` sorts; None if `key` is no key.
pub(crate) fn sortable(key: &[u8]) -> Option<Vec<u8>> {
    let mut rest = KeyReader(key);
    let mut out = Vec::with_capacity(key.len() + 24);
    let widths = rest.byte()?;
    let [database, store, index] = [(widths >> 5) + 1, (widths >> 2 & 7) + 1, (widths & 3) + 1]
        .map(|width| rest.little_endian(width.into()));
    let (database, store, index) = (database?, store?, index?);
    for id in [database, store, index] {
        put_integer(&mut out, id);
    }
    match (database, store, index) {
        (0, ..) => global_metadata(&mut rest, &mut out)?,
        (_, 0, _) => database_metadata(&mut rest, &mut out)?,
        // A key that ends after the prefix sorts first.
        (_, _, 1..=3 | FIRST_INDEX..) if rest.0.is_empty() => out.push(0),
        (_, _, 1..=3) => {
            out.push(1);
            idb_key(&mut rest, &mut out, MOST_NESTED)?;
        }
        (_, _, FIRST_INDEX..) => {
            out.push(1);
            index_entry(&mut rest, &mut out)?;
        }
        _ => return None,
    }
    debug_assert!(out.len() > 24, "a prefix and what follows it");
    Some(out)
}

/// The part of a key that is still to be read.
struct KeyReader<'a>(&'a [u8]);

impl<'a> KeyReader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// An integer of this many bytes; `None` if it is negative.
    fn little_endian(&mut self, width: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(self.take(width)?);
        Some(u64::from_le_bytes(bytes)).filter(|&value| i64::try_from(value).is_ok())
    }

    /// An integer with seven bits per byte.
    fn varint(&mut self) -> Option<u64> {
        let (value, end) = super::coding::varint64(self.0, 0)?;
        self.take(end)?;
        i64::try_from(value).ok().map(|_| value)
    }

    /// Bytes that follow their count, which is in units of `unit` bytes.
    fn counted(&mut self, unit: usize) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?.checked_mul(unit)?;
        self.take(length)
    }
}

fn put_integer(out: &mut Vec<u8>, value: u64) {
    debug_assert!(i64::try_from(value).is_ok(), "a negative id");
    out.extend_from_slice(&value.to_be_bytes());
}

/// Append bytes so that a prefix of them sorts before them: two zeros end them, and 255 follows a zero within them.
fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(255);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The rest of a key for metadata of the whole store.
fn global_metadata(rest: &mut KeyReader<'_>, out: &mut Vec<u8>) -> Option<()> {
    let kind = rest.byte()?;
    out.push(kind);
    match kind {
        // One key each, whatever follows.
        0..7 => {}
        // Locks and undo logs of transactions.
        50 => out.extend_from_slice(rest.0),
        // Free ids of databases.
        100 => put_integer(out, rest.varint()?),
        // Names of databases: origin and name.
        201 => {
            put_bytes(out, rest.counted(2)?);
            put_bytes(out, rest.counted(2)?);
        }
        _ => return None,
    }
    Some(())
}

/// The rest of a key for metadata of a database.
fn database_metadata(rest: &mut KeyReader<'_>, out: &mut Vec<u8>) -> Option<()> {
    let kind = rest.byte()?;
    out.push(kind);
    match kind {
        // One key each, whatever follows.
        0..6 => {}
        // Metadata of an object store.
        50 => {
            put_integer(out, rest.varint()?);
            out.push(rest.byte()?);
        }
        // Metadata of an index.
        100 => {
            put_integer(out, rest.varint()?);
            put_integer(out, rest.varint()?);
            out.push(rest.byte()?);
        }
        // Free ids of object stores, and of indexes.
        150 => put_integer(out, rest.varint()?),
        151 => {
            put_integer(out, rest.varint()?);
            put_integer(out, rest.varint()?);
        }
        // Names of object stores, and of indexes.
        200 => put_bytes(out, rest.counted(2)?),
        201 => {
            put_integer(out, rest.varint()?);
            put_bytes(out, rest.counted(2)?);
        }
        _ => return None,
    }
    Some(())
}

/// The rest of an index entry: key, primary key, sequence number. It is stored with the sequence number second.
fn index_entry(rest: &mut KeyReader<'_>, out: &mut Vec<u8>) -> Option<()> {
    idb_key(rest, out, MOST_NESTED)?;
    let sequence = if rest.0.is_empty() { 0 } else { rest.varint()? };
    if rest.0.is_empty() {
        out.push(0);
        return Some(());
    }
    out.push(1);
    idb_key(rest, out, MOST_NESTED)?;
    put_integer(out, sequence);
    Some(())
}

/// A key of IndexedDB. Kinds sort in the order of the specification, not by the bytes that encode them.
fn idb_key(rest: &mut KeyReader<'_>, out: &mut Vec<u8>, nested: u32) -> Option<()> {
    let kind = rest.byte()?;
    let place = [6, 3, 2, 1, 5, 0, 4];
    out.push(*place.get(usize::from(kind))?);
    match kind {
        0 | 5 => {}
        1 => put_bytes(out, rest.counted(2)?),
        2 | 3 => put_number(out, f64::from_le_bytes(rest.take(8)?.try_into().ok()?))?,
        4 => {
            let nested = nested.checked_sub(1)?;
            for _ in 0..rest.varint()? {
                out.push(1);
                idb_key(rest, out, nested)?;
            }
            out.push(0);
        }
        6 => put_bytes(out, rest.counted(1)?),
        _ => return None,
    }
    Some(())
}

/// A number; `None` for NaN, which has no place in the order.
fn put_number(out: &mut Vec<u8>, number: f64) -> Option<()> {
    if number.is_nan() {
        return None;
    }
    // Both zeros are one number.
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    let turned = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&turned.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests;
