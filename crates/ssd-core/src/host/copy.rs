//! The source ranges of a copy, like those of NVMe Copy: the request names the destination, its data the sources.

/// Consecutive sectors that are copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceRange {
    /// First 512-byte sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u64,
}

/// Bytes of a range in the data of a copy: two numbers, little endian.
const BYTES: usize = 16;

/// The ranges as the data of a request; they are copied to the destination one after the other.
#[must_use]
pub fn encode(ranges: &[SourceRange]) -> Vec<u8> {
    let numbers = ranges.iter().flat_map(|range| [range.sector, range.sectors]);
    numbers.flat_map(u64::to_le_bytes).collect()
}

/// The ranges in the data of a copy; `None` if it does not consist of whole ranges.
#[must_use]
pub fn decode(data: &[u8]) -> Option<Vec<SourceRange>> {
    let (numbers, rest) = data.as_chunks::<{ BYTES / 2 }>();
    let (pairs, odd) = numbers.as_chunks::<2>();
    let number = |bytes: [u8; BYTES / 2]| u64::from_le_bytes(bytes);
    let ranges = pairs
        .iter()
        .map(|&[sector, sectors]| SourceRange { sector: number(sector), sectors: number(sectors) });
    (rest.is_empty() && odd.is_empty()).then(|| ranges.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_found_again() {
        let ranges = [(0, 8), (u64::MAX, 1), (1 << 40, 0)];
        let ranges = ranges.map(|(sector, sectors)| SourceRange { sector, sectors });
        for count in 0..=ranges.len() {
            let data = encode(&ranges[..count]);
            assert_eq!(data.len(), count * BYTES);
            assert_eq!(decode(&data).as_deref(), Some(&ranges[..count]));
        }
        assert_eq!(decode(&[0; 24]), None);
        assert_eq!(decode(&[0; 7]), None);
    }
}
