//! Integers: little-endian, or in groups of 7 bits (varint); and the masked checksum.

/// Append `value` in groups of 7 bits, lowest first.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    let (start, original) = (out.len(), value);
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    debug_assert_eq!(out.len() - start, varint_length(original), "sizes are computed ahead");
}

/// Append the length of `bytes`, then `bytes`.
pub(crate) fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    debug_assert!(u32::try_from(bytes.len()).is_ok(), "lengths are read as 32 bits");
    let start = out.len();
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    debug_assert_eq!(prefixed(out, start), Some((bytes, out.len())), "readers find other bytes");
}

/// The number of bytes that `put_varint` writes for `value`.
pub(crate) fn varint_length(value: u64) -> usize {
    // The number of bits, divided by 7 and rounded up: 64 - zeros + 6.
    let length = (70 - (value | 1).leading_zeros() as usize) / 7;
    debug_assert!((1..=10).contains(&length), "{length} bytes of a varint");
    length
}

/// A varint of at most 32 bits at `at`, and where it ends.
#[inline]
pub(crate) fn varint32(data: &[u8], at: usize) -> Option<(u32, usize)> {
    let first = *data.get(at)?;
    if first < 0x80 {
        debug_assert_eq!(varint64(data, at), Some((first.into(), at + 1)), "the short way");
        return Some((u32::from(first), at + 1));
    }
    let (value, end) = varint64(data, at)?;
    if end - at > 5 {
        return None;
    }
    Some((u32::try_from(value).ok()?, end))
}

/// A varint of at most 64 bits at `at`, and where it ends.
pub(crate) fn varint64(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    for (i, &byte) in data.get(at..)?.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((value, at + i + 1));
        }
    }
    None
}

/// The bytes of the length-prefixed field at `at`, and where it ends.
pub(crate) fn prefixed(data: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let (length, start) = varint32(data, at)?;
    let end = start.checked_add(length as usize)?;
    Some((data.get(start..end)?, end))
}

/// # Panics
/// If there are fewer than 4 bytes at `at`.
#[inline]
pub(crate) fn fixed32(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().expect("4 bytes"))
}

/// # Panics
/// If there are fewer than 8 bytes at `at`.
#[inline]
pub(crate) fn fixed64(data: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(data[at..at + 8].try_into().expect("8 bytes"))
}

/// A checksum as files store it: a checksum of data that contains unmasked checksums is weak.
pub(crate) fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back() {
        for shift in 0..64 {
            for value in [(1_u64 << shift) - 1, 1 << shift, (1 << shift) + 1] {
                let mut out = Vec::new();
                put_varint(&mut out, value);
                assert_eq!(out.len(), varint_length(value));
                assert_eq!(varint64(&out, 0), Some((value, out.len())));
                assert_eq!(varint64(&out[..out.len() - 1], 0), None);
                let small = u32::try_from(value).ok().map(|v| (v, out.len()));
                assert_eq!(varint32(&out, 0), small);
            }
        }
    }

    /// The values of RFC 3720, appendix B.4, and one masked by LevelDB's `crc32c_test.cc` rule.
    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(masked(0), 0xa282_ead8);
    }
}
