//! The columns of a snapshot: plain arrays, in memory and little endian in its file form.

use std::mem::size_of;

/// A number of a column.
pub(super) trait Word: Copy {
    /// Append `values` to `out`.
    fn put(values: &[Self], out: &mut Vec<u8>);
    /// Append the values in `bytes`, whole ones, to `out`.
    fn get(bytes: &[u8], out: &mut Vec<Self>);
}

macro_rules! words {
    ($($t:ty)+) => {$(
        impl Word for $t {
            fn put(values: &[$t], out: &mut Vec<u8>) {
                values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
            }

            fn get(bytes: &[u8], out: &mut Vec<$t>) {
                let (values, rest) = bytes.as_chunks::<{ size_of::<$t>() }>();
                assert!(rest.is_empty(), "columns are read in whole words");
                out.extend(values.iter().map(|value| <$t>::from_le_bytes(*value)));
            }
        }
    )+};
}
words!(u8 u16 u32 u64);

/// A sink of encoded bytes, written piece by piece.
pub(super) type Sink<'a, E> = dyn FnMut(&[u8]) -> Result<(), E> + 'a;
/// Fill the whole of a piece, or fail.
pub(super) type Fill<'a, E> = dyn FnMut(&mut [u8]) -> Result<(), E> + 'a;

/// Values encoded or decoded at once.
const PIECE: usize = 1 << 15;

fn encode<T: Word, E>(values: &[T], sink: &mut Sink<'_, E>) -> Result<(), E> {
    let mut buffer = Vec::with_capacity(PIECE * size_of::<T>());
    for piece in values.chunks(PIECE) {
        buffer.clear();
        T::put(piece, &mut buffer);
        assert_eq!(buffer.len(), size_of_val(piece));
        sink(&buffer)?;
    }
    Ok(())
}

/// The next `bytes` bytes as values. Memory grows with the bytes that exist, whatever `bytes` claims.
fn decode<T: Word, E>(bytes: u64, fill: &mut Fill<'_, E>) -> Result<Vec<T>, E> {
    assert!(bytes.is_multiple_of(size_of::<T>() as u64), "a column of {bytes} bytes");
    let (mut values, mut left) = (Vec::new(), bytes);
    let mut buffer = vec![0; PIECE * size_of::<T>()];
    while left > 0 {
        let now = left.min(buffer.len() as u64) as usize;
        fill(&mut buffer[..now])?;
        T::get(&buffer[..now], &mut values);
        left -= now as u64;
    }
    assert_eq!(size_of_val(&values[..]) as u64, bytes, "a column was read in part");
    Ok(values)
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident: $t:ty,)+) => {
        /// The state of a device at rest, as columns.
        #[derive(Clone, PartialEq, Default)]
        pub(in crate::ftl) struct Columns {
            $($(#[$doc])* pub(in crate::ftl) $name: Vec<$t>,)+
        }

        impl Columns {
            /// Name and size in bytes of each, in the order of the file; optional columns only if they hold something.
            pub(super) fn sizes(&self) -> Vec<(String, u64)> {
                let mut all =
                    vec![$((stringify!($name).to_string(), size_of_val(&self.$name[..]) as u64)),+];
                all.retain(|(name, bytes)| !OPTIONAL.contains(&name.as_str()) || *bytes > 0);
                all
            }

            /// All of them, one after the other.
            pub(super) fn encode<E>(&self, sink: &mut Sink<'_, E>) -> Result<(), E> {
                $(encode(&self.$name, sink)?;)+
                Ok(())
            }

            /// Decode the column `name` of `bytes` bytes; `None` if there is none of that name and word size.
            pub(super) fn decode<E>(
                &mut self,
                name: &str,
                bytes: u64,
                fill: &mut Fill<'_, E>,
            ) -> Result<Option<()>, E> {
                match name {
                    $(stringify!($name) if bytes % size_of::<$t>() as u64 == 0 => {
                        self.$name = decode(bytes, fill)?;
                        Ok(Some(()))
                    })+
                    _ => Ok(None),
                }
            }
        }
    };
}

/// The column that only version 2 has.
pub(super) const OWNERS: &str = "owners";
/// Columns that only some devices have: those that share or separate pages, that have superblocks or SLC blocks, or
/// whose victim policy has state of its own.
const OPTIONAL: [&str; 8] =
    [OWNERS, "host_turns", "class", "opened_at", "separation", "victim", "slc", "slc_erases"];

columns! {
    /// LPN in the out-of-band area of each page; `u32::MAX` where none is programmed.
    lpn: u32,
    /// Whether each page is valid, 64 in a word.
    valid: u64,
    /// Pages programmed in each flash block, by erase unit, then by plane of its pool.
    programmed: u16,
    /// State of each erase unit, as numbered by [`BlockState`](crate::ftl::blocks::BlockState).
    state: u8,
    /// Erases of each erase unit.
    erases: u32,
    /// Position of each erase unit in the order of sealing.
    seal_order: u64,
    /// Position of each erased unit in the order of opening; 0 if it is not erased.
    free_order: u32,
    /// Open block of each frontier and the pages left in it on its plane, in pairs.
    frontiers: u32,
    /// For each pool and stream, the number of its open superblocks, then these, oldest first.
    open_superblocks: u32,
    /// With superblocks, for each frontier that the host may fill: the plane, in striping order, that takes its next
    /// page. Left out if it is the first one everywhere.
    host_turns: u32,
    /// Whether a block of each pool has been opened since collection last considered it.
    opened: u8,
    /// Whether a block of each pool has been erased since wear levelling last considered it; meaningless on a
    /// device that does not level.
    level_due: u8,
    /// Admission number of the data in each page, if kept.
    sequence: u64,
    /// Digest of the data in each page, if kept.
    digest: u64,
    /// The pages that hold bytes, ascending: page number, then its bytes, if kept.
    contents: u8,
    /// The owners of every page that has others than the LPN in its out-of-band area, ascending: page in the upper
    /// half, LPN in the lower.
    owners: u64,
    /// The frontier for which each erase unit was last opened, if pages are separated.
    class: u8,
    /// Likewise, the clock of separation when each erase unit was last opened.
    opened_at: u64,
    /// Likewise, that clock and the state of the policy.
    separation: u8,
    /// State of the victim policy that the other columns do not contain.
    victim: u8,
    /// Whether each erase unit is an SLC block. Left out if none is.
    slc: u8,
    /// Erases of each erase unit that ended its use as an SLC block. Left out if there were none.
    slc_erases: u32,
}
