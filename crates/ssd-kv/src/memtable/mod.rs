//! The latest writes in memory: a skip list that only grows.

mod iter;
mod list;

pub(crate) use iter::{EntryLocation, Locked, MemIter};

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
        self.find(key, sequence, |value| value.map(<[u8]>::to_vec))
    }

    /// As `get`, but passes the value to `on_value` in place. Writers wait until `on_value` returns.
    #[inline]
    pub(crate) fn find<T>(
        &self,
        key: &[u8],
        sequence: u64,
        on_value: impl FnOnce(Option<&[u8]>) -> T,
    ) -> Option<T> {
        let list = self.read();
        let node = list.at_or_after(key, Tag::seek(sequence));
        if node == START || list.key(node) != key {
            return None;
        }
        debug_assert!(list.tag(node).sequence() <= sequence, "a read sees nothing newer");
        match list.tag(node).kind() {
            Some(ValueKind::Value) => Some(on_value(Some(list.value(node)))),
            _ => Some(on_value(None)),
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
mod tests;
