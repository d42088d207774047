//! Reading memtables in order.

use super::MemTable;
use super::list::{LONG, START, SkipList};
use crate::format::key::{self, ValueKind, compare_user};
use std::cell::OnceCell;
use std::sync::{Arc, OnceLock, RwLockReadGuard};

/// The location of an entry, valid as long as its memtable lives: entries do not move.
#[derive(Clone, Copy)]
pub(crate) struct EntryLocation {
    /// Index of the table in `Locked`.
    table: usize,
    node: u32,
}

type Lock<'a> = OnceCell<RwLockReadGuard<'a, SkipList>>;

/// The memtables that a merge reads. Each is locked at its first use, until this value is dropped:
/// locking for every pair costs more than reading the pair.
pub(crate) struct Locked<'a> {
    tables: &'a [Arc<MemTable>],
    /// A store has at most two: the one that it writes to and a full one.
    few: [Lock<'a>; 2],
    /// Only repair has more.
    more: OnceCell<Box<[Lock<'a>]>>,
}

impl<'a> Locked<'a> {
    #[inline]
    pub(crate) fn new(tables: &'a [Arc<MemTable>]) -> Locked<'a> {
        Locked { tables, few: [const { OnceCell::new() }; 2], more: OnceCell::new() }
    }

    #[inline]
    fn list(&self, number: usize) -> &SkipList {
        debug_assert!(number < self.tables.len(), "a table of another merge");
        let lock = match self.few.get(number) {
            Some(lock) => lock,
            None => {
                &self.more.get_or_init(|| self.tables.iter().map(|_| Lock::new()).collect())[number]
            }
        };
        lock.get_or_init(|| self.tables[number].read())
    }

    /// The value of the entry at `spot`.
    #[inline]
    pub(crate) fn value(&self, spot: EntryLocation) -> &[u8] {
        self.list(spot.table).value(spot.node)
    }
}

/// A position in a memtable. It holds a copy of its key, because the table may grow between two moves.
pub(crate) struct MemIter {
    table: Arc<MemTable>,
    /// Index of the table in `Locked`.
    number: usize,
    node: u32,
    key: Vec<u8>,
    value_length: usize,
    /// A copy of the value, for callers that need a reference.
    value: OnceLock<Vec<u8>>,
}

impl MemIter {
    pub(crate) fn new(table: Arc<MemTable>) -> MemIter {
        let (key, value) = (Vec::new(), OnceLock::new());
        MemIter { table, number: 0, node: START, key, value_length: 0, value }
    }

    /// Become one of the tables of a merge.
    pub(crate) fn join(&mut self, tables: &mut Vec<Arc<MemTable>>) {
        assert!(!self.valid(), "a position, and values at it, are those of one merge");
        self.number = tables.len();
        tables.push(self.table.clone());
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.node != START
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        debug_assert!(self.valid(), "no entry");
        &self.key
    }

    /// The table must not be in a `Locked` of this thread.
    pub(crate) fn value(&self) -> &[u8] {
        debug_assert!(self.valid(), "no entry");
        self.value.get_or_init(|| self.table.read().value(self.node).to_vec())
    }

    #[inline]
    pub(crate) fn value_length(&self) -> usize {
        debug_assert!(self.valid(), "no entry");
        self.value_length
    }

    /// Bring the first bytes of a long value towards the cache. A short one arrives with its key.
    #[inline]
    pub(crate) fn prefetch_value(&self, locked: &Locked<'_>) {
        if self.value_length() >= LONG {
            locked.list(self.number).prefetch_value(self.node);
        }
    }

    #[inline]
    pub(crate) fn spot(&self) -> EntryLocation {
        debug_assert!(self.valid(), "no entry");
        EntryLocation { table: self.number, node: self.node }
    }

    #[inline]
    fn go(&mut self, locked: &Locked<'_>, to: impl FnOnce(&SkipList, u32) -> u32) {
        let list = locked.list(self.number);
        debug_assert!(
            Arc::ptr_eq(&locked.tables[self.number], &self.table),
            "another merge's lock"
        );
        self.node = to(list, self.node);
        self.value.take();
        if self.node != START {
            debug_assert!(self.node > START, "a node before the first");
            list.put_key(self.node, &mut self.key);
            self.value_length = list.value_length(self.node);
        }
    }

    pub(crate) fn first(&mut self, locked: &Locked<'_>) {
        self.go(locked, |list, _| list.next(START, 0));
    }

    pub(crate) fn last(&mut self, locked: &Locked<'_>) {
        self.go(locked, |list, _| list.last());
    }

    pub(crate) fn seek(&mut self, locked: &Locked<'_>, target: &[u8]) {
        let (user, tag) = (key::user(target), key::tag(target));
        self.go(locked, |list, _| list.at_or_after(user, tag));
        debug_assert!(
            !self.valid() || key::compare(&self.key, target).is_ge(),
            "a seek ends at its target or after it"
        );
    }

    #[inline]
    pub(crate) fn next(&mut self, locked: &Locked<'_>) {
        debug_assert!(self.valid(), "after the last entry nothing follows");
        let before = cfg!(debug_assertions).then(|| self.key.clone());
        self.go(locked, |list, node| list.next(node, 0));
        // A damaged log may hold a change twice.
        let ascends = |key: &Vec<u8>| key::compare(key, &self.key).is_le();
        debug_assert!(!self.valid() || before.as_ref().is_none_or(ascends), "entries ascend");
    }

    /// Go to the next key with a value at `sequence`, as far as the entries passed take less than `left`
    /// bytes, which are then counted, and prefetch the value if `prefetch`. False if they take more, or are
    /// damaged: nothing has changed.
    pub(crate) fn next_value(
        &mut self,
        locked: &Locked<'_>,
        sequence: u64,
        left: &mut usize,
        prefetch: bool,
    ) -> bool {
        debug_assert!(self.valid(), "after the last entry nothing follows");
        let list = locked.list(self.number);
        let (mut skip, mut node, mut rest) = (self.node, self.node, *left);
        loop {
            node = list.next(node, 0);
            if node == START {
                break;
            }
            let (key, tag) = (list.key(node), list.tag(node));
            let bytes = key.len() + 8 + list.value_length(node);
            if bytes >= rest {
                return false;
            }
            rest -= bytes;
            if tag.sequence() > sequence || compare_user(key, list.key(skip)).is_eq() {
                continue;
            }
            match tag.kind() {
                Some(ValueKind::Value) => break,
                Some(ValueKind::Deletion) => skip = node,
                None => return false,
            }
        }
        debug_assert!(
            node == START || compare_user(list.key(node), list.key(self.node)).is_gt(),
            "the next key is another one"
        );
        *left = rest;
        self.go(locked, |_, _| node);
        if prefetch && node != START {
            self.prefetch_value(locked);
        }
        true
    }

    pub(crate) fn prev(&mut self, locked: &Locked<'_>) {
        debug_assert!(self.valid(), "the entry before none");
        let after = cfg!(debug_assertions).then(|| self.key.clone());
        self.go(locked, |list, node| list.path(list.key(node), list.tag(node))[0]);
        let descends = |key: &Vec<u8>| key::compare(key, &self.key).is_ge();
        debug_assert!(!self.valid() || after.as_ref().is_none_or(descends), "entries ascend");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::key::Tag;

    /// Against the changes in order: versions, deletions and changes that come later.
    #[test]
    fn the_next_value_is_the_newest_visible_one_of_the_next_key() {
        let table = Arc::new(MemTable::new(1 << 12));
        let changes = [
            ("a", 1, Some("old")),
            ("a", 5, Some("new")),
            ("b", 2, Some("x")),
            ("b", 6, None),
            ("c", 3, None),
            ("d", 4, Some("d")),
            ("d", 9, None),
            ("e", 8, Some("late")),
            ("f", 7, Some("")),
        ];
        for (key, sequence, value) in changes {
            let kind = if value.is_some() { ValueKind::Value } else { ValueKind::Deletion };
            let tag = Tag::new(sequence, kind);
            table.add(key.as_bytes(), tag, value.unwrap_or_default().as_bytes());
        }
        let tables = [table.clone()];
        let locked = Locked::new(&tables);
        for (sequence, expected) in [(7, "a d f"), (9, "a e f"), (5, "a b d"), (1, "a")] {
            let mut iter = MemIter::new(table.clone());
            iter.seek(&locked, &crate::format::key::internal(b"a", Tag::seek(sequence)));
            let (mut keys, mut left) = (Vec::new(), 1000);
            while iter.valid() {
                keys.push(
                    String::from_utf8_lossy(crate::format::key::user(iter.key())).into_owned(),
                );
                assert_eq!(iter.value_length(), locked.value(iter.spot()).len());
                let (node, before) = (iter.node, left);
                let mut none = 9;
                if !iter.next_value(&locked, sequence, &mut none, true) {
                    assert_eq!((iter.node, none), (node, 9), "nothing has changed");
                    assert!(iter.next_value(&locked, sequence, &mut left, true) && left < before);
                }
            }
            assert_eq!(keys.join(" "), expected, "at sequence number {sequence}");
        }
    }
}
