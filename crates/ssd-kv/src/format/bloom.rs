//! Bloom filters as LevelDB writes them ("leveldb.BuiltinBloomFilter2").
//!
//! Double hashing: Kirsch and Mitzenmacher, "Less Hashing, Same Performance", ESA 2006.

use super::coding::fixed32;

/// LevelDB's hash function (`util/hash.cc`): similar to Murmur, the same on every machine.
pub(crate) fn hash(data: &[u8], seed: u32) -> u32 {
    const M: u32 = 0xc6a4_a793;
    let mut h = seed ^ (data.len() as u32).wrapping_mul(M);
    let words = data.chunks_exact(4);
    let rest = words.remainder();
    for word in words {
        h = h.wrapping_add(fixed32(word, 0)).wrapping_mul(M);
        h ^= h >> 16;
    }
    if !rest.is_empty() {
        for (i, &byte) in rest.iter().enumerate() {
            h = h.wrapping_add(u32::from(byte) << (8 * i));
        }
        h = h.wrapping_mul(M);
        h ^= h >> 24;
    }
    h
}

/// The hash of a key for `append` and `may_contain`.
pub(crate) fn key_hash(user_key: &[u8]) -> u32 {
    hash(user_key, 0xbc9f_1d34)
}

/// Append the filter of keys with these hashes, with the given number of bits per key.
pub(crate) fn append(out: &mut Vec<u8>, hashes: &[u32], bits_per_key: u32) {
    let probes = ((f64::from(bits_per_key) * 0.69) as u32).clamp(1, 30);
    let bytes = (hashes.len() * bits_per_key as usize).max(64).div_ceil(8);
    assert!(bits_per_key > 0, "a filter without bits denies every key");
    let start = out.len();
    assert!(bytes < 1 << 29, "positions of bits have 32 bits");
    out.resize(start + bytes, 0);
    let bits = bytes as u32 * 8;

    for &key in hashes {
        let (mut h, delta) = (key, key.rotate_right(17));
        for _ in 0..probes {
            let bit = h % bits;
            out[start + bit as usize / 8] |= 1 << (bit % 8);
            h = h.wrapping_add(delta);
        }
    }
    out.push(probes as u8);
    debug_assert!(hashes.iter().all(|&key| may_contain(&out[start..], key)), "a key is denied");
}

/// Whether the filter may contain a key with this hash; in doubt, true.
pub(crate) fn may_contain(filter: &[u8], key: u32) -> bool {
    let Some((&probes, array)) = filter.split_last() else { return false };
    if array.is_empty() {
        return false;
    }
    if probes > 30 {
        return true; // kept for encodings to come
    }
    let bits = array.len() as u32 * 8;

    let (mut h, delta) = (key, key.rotate_right(17));
    (0..probes).all(|_| {
        let bit = h % bits;
        h = h.wrapping_add(delta);
        array[bit as usize / 8] & 1 << (bit % 8) != 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of LevelDB's `hash_test.cc`.
    #[test]
    fn hashes_are_those_of_leveldb() {
        assert_eq!(hash(&[], 0xbc9f_1d34), 0xbc9f_1d34);
        assert_eq!(hash(&[0x62], 0xbc9f_1d34), 0xef13_45c4);
        assert_eq!(hash(&[0xc3, 0x97], 0xbc9f_1d34), 0x5b66_3814);
        assert_eq!(hash(&[0xe2, 0x99, 0xa5], 0xbc9f_1d34), 0x323c_078f);
        assert_eq!(hash(&[0xe1, 0x80, 0xb9, 0x32], 0xbc9f_1d34), 0xed21_633a);
    }

    #[test]
    fn members_are_found_and_few_others() {
        let hashes: Vec<u32> = (0..10_000_u32).map(|i| key_hash(&i.to_le_bytes())).collect();
        let mut filter = Vec::new();
        append(&mut filter, &hashes, 10);
        assert!(hashes.iter().all(|&h| may_contain(&filter, h)));
        let strangers = (10_000..20_000_u32).map(|i| key_hash(&i.to_le_bytes()));
        let wrong = strangers.filter(|&h| may_contain(&filter, h)).count();
        assert!(wrong < 200, "{wrong} of 10000 strangers let in; LevelDB's test allows 2 %");
    }
}
