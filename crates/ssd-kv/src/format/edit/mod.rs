//! Version edits: the records of a manifest. Each describes a change of the set of files.

mod decode;
mod encode;

/// The number of levels of a store.
pub(crate) const LEVELS: usize = 7;
/// The name of the only key order that is supported.
pub(crate) const COMPARATOR: &str = "leveldb.BytewiseComparator";

/// What is wrong with an edit that RocksDB wrote.
pub(crate) const ROCKSDB_TAG: &str = "a tag of RocksDB's manifests";

const COMPARATOR_TAG: u32 = 1;
const LOG_NUMBER: u32 = 2;
const NEXT_FILE: u32 = 3;
const LAST_SEQUENCE: u32 = 4;
const COMPACT_POINTER: u32 = 5;
const DELETED_FILE: u32 = 6;
const NEW_FILE: u32 = 7;
const PREVIOUS_LOG: u32 = 9;

/// A table as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewFile {
    pub(crate) level: usize,
    pub(crate) number: u64,
    pub(crate) size: u64,
    pub(crate) smallest: Vec<u8>,
    pub(crate) largest: Vec<u8>,
}

/// A change of the set of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) comparator: Option<String>,
    pub(crate) log_number: Option<u64>,
    pub(crate) previous_log: Option<u64>,
    pub(crate) next_file: Option<u64>,
    pub(crate) last_sequence: Option<u64>,
    pub(crate) compact_pointers: Vec<(usize, Vec<u8>)>,
    /// Level and number.
    pub(crate) deleted: Vec<(usize, u64)>,
    pub(crate) added: Vec<NewFile>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_come_back() {
        let edit = Edit {
            comparator: Some(COMPARATOR.to_owned()),
            log_number: Some(1 << 50),
            previous_log: None,
            next_file: Some(3),
            last_sequence: Some(500),
            compact_pointers: vec![(3, b"k2345678".to_vec())],
            deleted: vec![(2, 9), (4, 7)],
            added: vec![NewFile {
                level: 6,
                number: 12,
                size: 1 << 40,
                smallest: b"a1234567".to_vec(),
                largest: b"zz1234567".to_vec(),
            }],
        };
        let bytes = edit.encoded();
        assert_eq!(Edit::decoded(&bytes), Ok(edit));
        for cut in 1..bytes.len() {
            // A shorter edit is damaged, or is the edit of fewer fields; it never causes a panic.
            let _ = Edit::decoded(&bytes[..cut]);
        }
        assert!(Edit::decoded(&[8]).is_err());
    }
}
