//! A version edit as bytes.

use super::super::coding::{put_prefixed, put_varint};
use super::super::key::MAX_SEQUENCE;
use super::super::names::MAX_NUMBER;
use super::{
    COMPACT_POINTER, COMPARATOR_TAG, DELETED_FILE, Edit, LAST_SEQUENCE, LEVELS, LOG_NUMBER,
    NEW_FILE, NEXT_FILE, PREVIOUS_LOG,
};

impl Edit {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(self.deleted.iter().all(|&(level, _)| level < LEVELS), "readers refuse the level");
        assert!(self.added.iter().all(|f| f.level < LEVELS), "readers refuse the level");
        assert!(self.last_sequence <= Some(MAX_SEQUENCE), "readers refuse the sequence number");
        let keys = self.added.iter().flat_map(|f| [&f.smallest, &f.largest]);
        assert!(keys.into_iter().all(|key| key.len() >= 8), "readers refuse the key");
        let pointers = self.compact_pointers.iter();
        assert!(pointers.into_iter().all(|(_, key)| key.len() >= 8), "readers refuse the key");
        if let Some(name) = &self.comparator {
            put_varint(&mut out, COMPARATOR_TAG.into());
            put_prefixed(&mut out, name.as_bytes());
        }
        let numbers = [
            (LOG_NUMBER, self.log_number),
            (PREVIOUS_LOG, self.previous_log),
            (NEXT_FILE, self.next_file),
            (LAST_SEQUENCE, self.last_sequence),
        ];
        for (tag, number) in numbers {
            if let Some(number) = number {
                put_varint(&mut out, tag.into());
                put_varint(&mut out, number);
            }
        }
        for (level, key) in &self.compact_pointers {
            put_varint(&mut out, COMPACT_POINTER.into());
            put_varint(&mut out, *level as u64);
            put_prefixed(&mut out, key);
        }
        let mut deleted = self.deleted.clone();
        deleted.sort_unstable();
        for (level, number) in deleted {
            put_varint(&mut out, DELETED_FILE.into());
            put_varint(&mut out, level as u64);
            put_varint(&mut out, number);
        }
        for file in &self.added {
            put_varint(&mut out, NEW_FILE.into());
            put_varint(&mut out, file.level as u64);
            put_varint(&mut out, file.number);
            put_varint(&mut out, file.size);
            put_prefixed(&mut out, &file.smallest);
            put_prefixed(&mut out, &file.largest);
        }
        debug_assert!(self.is_read_from(&out), "the manifest would tell something else");
        out
    }

    /// Whether reading `encoded` gives this edit; the order of deletions does not matter.
    fn is_read_from(&self, encoded: &[u8]) -> bool {
        if self.next_file > Some(MAX_NUMBER) {
            // A file has one of the highest possible numbers: a reader refuses it.
            return true;
        }
        let Ok(mut read) = Edit::decoded(encoded) else { return false };
        let mut deleted = self.deleted.clone();
        deleted.sort_unstable();
        let in_order = std::mem::replace(&mut read.deleted, self.deleted.clone()) == deleted;
        in_order && read == *self
    }
}
