//! The unit of addresses and lengths in a file.

use super::{MAX_TRANSFER_SECTORS, Range, Reject};

/// The unit of a trace whose format leaves it open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// 512 bytes.
    #[default]
    Sectors,
    /// One byte.
    Bytes,
    /// Pages of this many sectors.
    Pages(u32),
}

impl Unit {
    /// Returns the unit of a column as a mapping states it.
    pub(crate) fn word_of_table(self) -> String {
        match self {
            Unit::Bytes => "B".to_owned(),
            Unit::Sectors | Unit::Pages(_) => format!("{}B", self.bytes_of_table()),
        }
    }

    /// Returns the bytes per unit of a column without a stated unit; the default is bytes.
    pub(crate) fn bytes_of_table(self) -> u64 {
        match self {
            Unit::Bytes => 1,
            Unit::Sectors => 512,
            Unit::Pages(sectors) => 512 * u64::from(sectors),
        }
    }

    /// Converts `range` to sectors.
    #[inline(always)]
    pub(crate) fn in_sectors(self, range: Range) -> Result<Range, Reject> {
        match self {
            Unit::Sectors if range.length > MAX_TRANSFER_SECTORS => {
                let expected = "a length of at most 2097152 sectors (1 GiB; is it another unit? \
                                workload.unit says which)";
                Err(Reject::new(expected, range.length_at))
            }
            Unit::Sectors => Ok(range),
            Unit::Bytes => range.of_bytes(),
            Unit::Pages(sectors) => {
                let times = |value: u64, at: usize| {
                    let product = value.checked_mul(u64::from(sectors));
                    product.ok_or_else(|| Reject::new("pages below sector 2^64", at))
                };
                let start = times(range.start, range.start_at)?;
                Ok(Range { start, length: times(range.length, range.length_at)?, ..range })
            }
        }
    }
}
