//! The latest writes in memory: a skip list that only grows.

mod iter;
mod list;

pub(crate) use iter::{Locked, MemIter, Spot};

use crate::format::key::{self, Tag, ValueKind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use list::{START, SkipList};

/// A sorted set of changes. Readers may hold it while it grows.
pub(crate) struct MemTable {
    list: RwLock<SkipList>,
    /// The arena's count, readable without locking the list.
    usage: AtomicUsize,
}

impl MemTable {
    /// An empty memtable with room for about `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> MemTable {
        let list = SkipList::new(capacity);
        let usage = AtomicUsize::new(list.arena.usage);
        MemTable { list: RwLock::new(list), usage }
    }

    fn read(&self) -> RwLockReadGuard<'_, SkipList> {
        self.list.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Add a change. No other change of this key may have the same sequence number.
    pub(crate) fn add(&self, key: &[u8], tag: Tag, value: &[u8]) {
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        list.add(key, tag, value);
        debug_assert!(list.arena.usage >= self.usage(), "memory is given back only as a whole");
        self.usage.store(list.arena.usage, Relaxed);
    }

    /// Memory in bytes by LevelDB's count.
    pub(crate) fn usage(&self) -> usize {
        self.usage.load(Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let list = self.read();
        debug_assert_eq!(list.next(START, 0) == START, list.last() == START, "both ends");
        list.next(START, 0) == START
    }

    /// The newest change of `key` not after `sequence`: a value, or None if the key was deleted.
    pub(crate) fn get(&self, key: &[u8], sequence: u64) -> Option<Option<Vec<u8>>> {
        let list = self.read();
        let node = list.at_or_after(key, Tag::seek(sequence));
        if node == START || list.key(node) != key {
            return None;
        }
        debug_assert!(list.tag(node).sequence() <= sequence, "a read sees nothing newer");
        match list.tag(node).kind() {
            Some(ValueKind::Value) => Some(Some(list.value(node).to_vec())),
            _ => Some(None),
        }
    }
}

/// The next entry to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor(u32);

impl MemTable {
    /// A cursor before the first change; None if there are no changes.
    pub(crate) fn begin(&self) -> Option<Cursor> {
        let first = self.read().next(START, 0);
        debug_assert!(first >= START, "a link before the first node");
        Some(Cursor(first)).filter(|p| p.0 != START)
    }

    /// Pass changes from `cursor` on to `f`, as internal key and value, until it breaks. Returns the cursor
    /// from which to continue.
    pub(crate) fn read_on<E>(
        &self,
        cursor: Cursor,
        mut f: impl FnMut(&[u8], &[u8]) -> Result<bool, E>,
    ) -> Result<Option<Cursor>, E> {
        let list = self.read();
        let (mut node, mut key) = (cursor.0, Vec::new());
        debug_assert!(cursor.0 > START, "a cursor at no entry");
        while node != START {
            list.put_key(node, &mut key);
            if !f(&key, list.value(node))? {
                return Ok(Some(Cursor(list.next(node, 0))).filter(|p| p.0 != START));
            }
            node = list.next(node, 0);
            debug_assert!(
                node == START || !list.before(node, key::user(&key), key::tag(&key)),
                "nodes ascend"
            );
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of all lengths around the limit, in any order, over a table that grows beyond its capacity.
    #[test]
    fn long_values_are_read_as_they_were_written() {
        let table = MemTable::new(1 << 12);
        let value = |i: u64| vec![i as u8; [0, 3, 511, 512, 513, 4096, 5001][i as usize % 7]];
        for i in (0..200).rev() {
            let key = format!("{:0width$}", i, width = 3 + i as usize % 5);
            let tag = Tag::new(i + 1, ValueKind::Value);
            table.add(key.as_bytes(), tag, &value(i));
        }
        for i in 0..200 {
            let key = format!("{:0width$}", i, width = 3 + i as usize % 5);
            assert_eq!(table.get(key.as_bytes(), i), None, "before it was written");
            assert_eq!(table.get(key.as_bytes(), 300), Some(Some(value(i))), "{key}");
        }
        let mut read = 0;
        let all = table.read_on(table.begin().unwrap(), |internal, shown| {
            read += 1;
            assert_eq!(shown, value(key::tag(internal).sequence() - 1));
            Ok::<_, ()>(true)
        });
        assert!(all.is_ok_and(|rest| rest.is_none()) && read == 200);
    }

    /// A search compares keys: their nodes lie close together, however long the values are.
    #[test]
    fn nodes_of_long_values_are_as_small_as_of_short_ones() {
        let words_with = |length: usize| {
            let table = MemTable::new(1 << 20);
            for i in 0..100 {
                table.add(format!("{i:03}").as_bytes(), Tag::seek(i + 1), &vec![7; length]);
            }
            table.read().words_in_use()
        };
        assert_eq!(words_with(4096), words_with(8));
    }

    /// Measured: `leveldb.approximate-memory-usage` of LevelDB 1.23 over the same changes.
    #[test]
    fn usage_is_counted_as_leveldb_does() {
        let table = MemTable::new(1 << 20);
        assert_eq!((table.usage(), table.is_empty()), (4104, true));
        assert!(table.begin().is_none());
        let mut grew = Vec::new();
        for i in 0..300 {
            let before = table.usage();
            table.add(
                format!("{i:03}").as_bytes(),
                Tag::seek(i + 1),
                &b"vvvvvvvvv"[..i as usize % 10],
            );
            if table.usage() > before {
                grew.push((i, table.usage()));
            }
        }
        assert_eq!(grew, [(102, 8208), (206, 12_312)]);
        assert!(!table.is_empty());
        assert!(table.begin().is_some());
    }
}
