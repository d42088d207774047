//! The state of a victim policy in a snapshot: what the block table does not contain, as 64-bit words.

/// Append `words` to `bytes`.
pub(super) fn put(bytes: &mut Vec<u8>, words: impl IntoIterator<Item = u64>) {
    words.into_iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
}

/// Take `count` words from the front of `bytes`.
///
/// # Errors
/// `bytes` hold fewer words.
pub(super) fn take(bytes: &mut &[u8], count: usize) -> Result<Vec<u64>, String> {
    let (words, rest) = bytes
        .split_at_checked(count * size_of::<u64>())
        .ok_or("the state of its victim policy ends early")?;
    *bytes = rest;
    Ok(words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}
