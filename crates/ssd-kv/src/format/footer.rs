//! Locations of blocks: handles, and the 48 bytes at the end of a table.

use super::Damage;
use super::coding::{fixed64, put_varint, varint64};

/// Bytes after every block: kind of compression (1), masked CRC-32C of block and kind (4).
pub(crate) const TRAILER: usize = 5;
/// Size of the footer in bytes.
pub(crate) const FOOTER: usize = 48;
pub(crate) const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
/// Magic numbers of RocksDB: block-based tables (the oldest have LevelDB's number), plain tables, legacy plain tables,
/// cuckoo tables.
const ROCKSDB: [u64; 4] =
    [0x88e2_41b7_85f4_cff7, 0x8242_2296_63bf_9564, 0x4f34_18eb_7a8f_13b8, 0x9267_89d0_c5f1_7873];

/// Whether a table that ends with this number is RocksDB's.
pub(crate) fn is_rocksdb(magic: u64) -> bool {
    ROCKSDB.contains(&magic)
}

/// Offset and size of a block in its file in bytes, without its trailer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

impl Handle {
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        let start = out.len();
        put_varint(out, self.offset);
        put_varint(out, self.size);
        debug_assert_eq!(Handle::get(out, start), Some((self, out.len())), "another block");
    }

    /// The handle at `at`, and where it ends. Other bytes may follow.
    #[inline]
    pub(crate) fn get(data: &[u8], at: usize) -> Option<(Handle, usize)> {
        let (offset, at) = varint64(data, at)?;
        let (size, at) = varint64(data, at)?;
        Some((Handle { offset, size }, at))
    }
}

/// The end of a table: the handles of its metaindex and index.
pub(crate) struct Footer {
    pub(crate) metaindex: Handle,
    pub(crate) index: Handle,
}

impl Footer {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FOOTER);
        self.metaindex.put(&mut out);
        self.index.put(&mut out);
        assert!(out.len() <= FOOTER - 8, "two handles leave room for the magic number");
        out.resize(FOOTER - 8, 0);
        out.extend_from_slice(&MAGIC.to_le_bytes());
        let read = Footer::decoded(&out);
        assert!(
            read.is_ok_and(|f| f.metaindex == self.metaindex && f.index == self.index),
            "readers find other blocks"
        );
        out
    }

    /// # Panics
    /// If `bytes` is shorter than 48 bytes.
    pub(crate) fn decoded(data: &[u8]) -> Result<Footer, Damage> {
        assert_eq!(data.len(), FOOTER, "a footer has 48 bytes");
        if is_rocksdb(fixed64(data, FOOTER - 8)) {
            return Err(Damage::at(FOOTER - 8, "a table of RocksDB, by its magic number"));
        }
        if fixed64(data, FOOTER - 8) != MAGIC {
            return Err(Damage::at(FOOTER - 8, "not a table: the magic number is missing"));
        }
        let handles = Handle::get(data, 0)
            .and_then(|(metaindex, at)| Some((metaindex, Handle::get(data, at)?.0)));
        let (metaindex, index) = handles.ok_or(Damage::at(0, "bad handles in the footer"))?;
        Ok(Footer { metaindex, index })
    }
}
