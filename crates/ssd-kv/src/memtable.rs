//! The latest writes in memory: a skip list that only grows.
//!
//! Paper: Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees", CACM 1990. Nodes lie in
//! one vector of 32-bit words, key and value next to the links. Heights and the count of memory are
//! those of LevelDB (`db/skiplist.h`, `util/arena.cc`, release 1.23), so that equal writes fill equal
//! tables. The count determines when a table is full; it is not the memory that this one takes.

use crate::format::key::{self, Tag, ValueKind, compare_user};
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

const MAX_HEIGHT: usize = 12;
/// Words of a node before its key: lengths of key and value, tag (2). Its links lie before them, the
/// lowest one last, so that the key can be located without knowing the number of links.
const HEAD: usize = 4;
/// The node before all others; as a link, it means that no node follows.
const START: u32 = MAX_HEIGHT as u32;

/// A sorted set of changes. Readers may hold it while it grows.
pub(crate) struct MemTable {
    list: RwLock<SkipList>,
    /// The arena's count, readable without locking the list.
    usage: AtomicUsize,
}

struct SkipList {
    words: Vec<u32>,
    height: usize,
    random: u32,
    arena: Arena,
    /// The last node of each level, after which a key larger than all others is inserted.
    ends: [u32; MAX_HEIGHT],
}

/// LevelDB's count of its own memory.
struct Arena {
    usage: usize,
    place: usize,
    left: usize,
}

impl Arena {
    const BLOCK: usize = 4096;

    fn allocate(&mut self, bytes: usize) {
        debug_assert!(bytes > 0, "LevelDB counts no empty pieces");
        if bytes <= self.left {
            self.place += bytes;
            self.left -= bytes;
        } else if bytes > Arena::BLOCK / 4 {
            self.usage += bytes + 8;
        } else {
            self.usage += Arena::BLOCK + 8;
            self.place = bytes;
            self.left = Arena::BLOCK - bytes;
        }
        // Nothing is open before the first small piece.
        let open = self.place + self.left;
        debug_assert!(open == 0 || open == Arena::BLOCK, "the open block is used up to `place`");
        debug_assert!(self.usage >= open, "the open block is counted");
    }

    fn allocate_aligned(&mut self, bytes: usize) {
        let slop = self.place.next_multiple_of(8) - self.place;
        self.allocate(if bytes + slop <= self.left { bytes + slop } else { bytes });
        debug_assert!(self.place.is_multiple_of(8), "nodes end where the next one can begin");
    }

    fn node(&mut self, height: usize) {
        debug_assert!((1..=MAX_HEIGHT).contains(&height), "a node of {height} links");
        self.allocate_aligned(8 + 8 * height);
    }
}

impl MemTable {
    /// An empty memtable with room for about `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> MemTable {
        let mut words = Vec::with_capacity(capacity / 4 + 1024);
        words.resize(MAX_HEIGHT + HEAD, START);
        let mut arena = Arena { usage: 0, place: 0, left: 0 };
        arena.node(MAX_HEIGHT);
        let ends = [START; MAX_HEIGHT];
        let list = SkipList { words, height: 1, random: 0x5ead_beef, arena, ends };
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

impl SkipList {
    #[inline]
    fn next(&self, node: u32, level: usize) -> u32 {
        debug_assert!(node >= START && level < MAX_HEIGHT, "links lie before a node");
        self.words[node as usize - 1 - level]
    }

    #[inline]
    fn bytes(&self, word: usize, length: usize) -> &[u8] {
        &bytemuck::cast_slice(&self.words[word..])[..length]
    }

    #[inline]
    fn key(&self, node: u32) -> &[u8] {
        debug_assert!(node > START, "the start holds no entry");
        self.bytes(node as usize + HEAD, self.words[node as usize] as usize)
    }

    #[inline]
    fn value_length(&self, node: u32) -> usize {
        debug_assert!(node > START, "the start holds no entry");
        self.words[node as usize + 1] as usize
    }

    #[inline]
    fn value(&self, node: u32) -> &[u8] {
        debug_assert!(node > START, "the start holds no entry");
        let key = self.words[node as usize] as usize;
        &self.bytes(node as usize + HEAD, key + self.value_length(node))[key..]
    }

    /// Replace the contents of `out` by the internal key.
    #[inline]
    fn put_key(&self, node: u32, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.key(node));
        out.extend_from_slice(&self.tag(node).0.to_le_bytes());
    }

    #[inline]
    fn tag(&self, node: u32) -> Tag {
        debug_assert!(node > START, "the start holds no entry");
        let (low, high) = (self.words[node as usize + 2], self.words[node as usize + 3]);
        Tag(u64::from(high) << 32 | u64::from(low))
    }

    /// Whether the node comes before this key and tag.
    #[inline]
    fn before(&self, node: u32, key: &[u8], tag: Tag) -> bool {
        match compare_user(self.key(node), key) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.tag(node) > tag,
        }
    }

    /// The last node of each level before key and tag.
    fn path(&self, key: &[u8], tag: Tag) -> [u32; MAX_HEIGHT] {
        let last = self.ends[0];
        // Keys often come in order: then the search is one comparison.
        if last != START && self.before(last, key, tag) {
            return self.ends;
        }
        let mut path = [START; MAX_HEIGHT];
        let (mut node, mut level, mut known) = (START, self.height - 1, START);
        loop {
            let next = self.next(node, level);
            if next != START && next != known && self.before(next, key, tag) {
                node = next;
                continue;
            }
            // What was too far on one level is too far on those below.
            known = next;
            path[level] = node;
            if level == 0 {
                debug_assert!(
                    next == START || !self.before(next, key, tag),
                    "the path ends too early"
                );
                debug_assert!(
                    node == START || self.before(node, key, tag),
                    "the path ends too late"
                );
                return path;
            }
            level -= 1;
        }
    }

    fn at_or_after(&self, key: &[u8], tag: Tag) -> u32 {
        self.next(self.path(key, tag)[0], 0)
    }

    /// LevelDB's generator: Park and Miller, CACM 1988, with the multiplier 16807.
    fn random(&mut self) -> u32 {
        const M: u64 = 0x7fff_ffff;
        let product = u64::from(self.random) * 16807;
        let folded = (product >> 31) + (product & M);
        self.random = (if folded > M { folded - M } else { folded }) as u32;
        debug_assert!((1..M).contains(&u64::from(self.random)), "at 0 and M it would stay");
        self.random
    }

    fn add(&mut self, key: &[u8], tag: Tag, value: &[u8]) {
        debug_assert!(tag.kind().is_some(), "whoever reads tags from files refuses unknown kinds");
        let path = self.path(key, tag);
        let mut height = 1;
        while height < MAX_HEIGHT && self.random().is_multiple_of(4) {
            height += 1;
        }
        self.height = self.height.max(height);
        let length = |n: usize| crate::format::coding::varint_length(n as u64) + n;
        self.arena.allocate(length(key.len() + 8) + length(value.len()));
        self.arena.node(height);

        let node = self.words.len() + height;
        let node = u32::try_from(node).expect("batches are bounded");
        for level in (0..height).rev() {
            self.words.push(self.next(path[level], level));
        }
        for (level, &before) in path.iter().enumerate().take(height) {
            self.words[before as usize - 1 - level] = node;
        }
        let head = [key.len() as u32, value.len() as u32, tag.0 as u32, (tag.0 >> 32) as u32];
        self.words.extend_from_slice(&head);
        for level in 0..height {
            if self.next(node, level) == START {
                self.ends[level] = node;
            }
        }
        let data = self.words.len();
        self.words.resize(data + (key.len() + value.len()).div_ceil(4), 0);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words[data..]);
        bytes[..key.len()].copy_from_slice(key);
        bytes[key.len()..key.len() + value.len()].copy_from_slice(value);

        debug_assert!(self.key(node) == key && self.value(node) == value, "as they were given");
        debug_assert_eq!(self.tag(node), tag, "both halves in their places");
        let (last, ends) = (self.ends[0], &self.ends[..self.height]);
        debug_assert!(last == node || !self.before(last, key, tag), "the last key is the largest");
        debug_assert!(ends.iter().all(|&end| end != START), "a level in use has a last node");
        debug_assert_eq!(self.next(last, 0), START, "nothing follows the last node");
    }

    fn last(&self) -> u32 {
        debug_assert_eq!(self.next(self.ends[0], 0), START, "nothing follows the last node");
        self.ends[0]
    }
}

/// The next entry to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor(u32);

impl MemTable {
    /// A cursor before the first change; None if there are no changes.
    pub(crate) fn begin(&self) -> Option<Cursor> {
        Some(Cursor(self.read().next(START, 0))).filter(|p| p.0 != START)
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

/// The location of an entry, valid as long as its memtable lives: entries do not move.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
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
    pub(crate) fn value(&self, spot: Spot) -> &[u8] {
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

    #[inline]
    pub(crate) fn spot(&self) -> Spot {
        debug_assert!(self.valid(), "no entry");
        Spot { table: self.number, node: self.node }
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
        self.go(locked, |list, node| list.next(node, 0));
    }

    /// Go to the next key with a value at `sequence`, as far as the entries passed take less than `left`
    /// bytes, which are then counted. False if they take more, or are damaged: nothing has changed.
    pub(crate) fn next_value(
        &mut self,
        locked: &Locked<'_>,
        sequence: u64,
        left: &mut usize,
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
        true
    }

    pub(crate) fn prev(&mut self, locked: &Locked<'_>) {
        debug_assert!(self.valid(), "the entry before none");
        self.go(locked, |list, node| list.path(list.key(node), list.tag(node))[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                if !iter.next_value(&locked, sequence, &mut none) {
                    assert_eq!((iter.node, none), (node, 9), "nothing has changed");
                    assert!(iter.next_value(&locked, sequence, &mut left) && left < before);
                }
            }
            assert_eq!(keys.join(" "), expected, "at sequence number {sequence}");
        }
    }
}
