//! Merges several sorted sequences into one.

use crate::error::Result;
use crate::format::key;
use crate::memtable::{EntryLocation, Locked, MemIter, MemTable};
use crate::table::TableIter;
use crate::version::LevelIter;
use std::cmp::Ordering;
use std::sync::Arc;

/// A sorted sequence of internal keys.
pub(crate) enum Source {
    Memory(MemIter),
    Table(Box<TableIter>),
    Level(Box<LevelIter>),
}

macro_rules! each {
    ($self:expr, $iter:ident => $memory:expr, $other:expr) => {
        match $self {
            Source::Memory($iter) => $memory,
            Source::Table($iter) => $other,
            Source::Level($iter) => $other,
        }
    };
}

impl Source {
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        each!(self, iter => iter.valid(), iter.valid())
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        debug_assert!(self.valid(), "no entry");
        each!(self, iter => iter.key(), iter.key())
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        debug_assert!(self.valid(), "no entry");
        each!(self, iter => iter.value(), iter.value())
    }

    /// The length of the value; the value itself is not read.
    #[inline]
    pub(crate) fn value_length(&self) -> usize {
        debug_assert!(self.valid(), "no entry");
        each!(self, iter => iter.value_length(), iter.value().len())
    }

    /// The value in place, without a copy.
    #[inline]
    fn value_in<'l>(&'l self, locked: &'l Locked<'_>) -> &'l [u8] {
        debug_assert!(self.valid(), "no entry");
        each!(self, iter => locked.value(iter.spot()), iter.value())
    }

    fn first(&mut self, locked: &Locked<'_>) -> Result<()> {
        each!(self, iter => { iter.first(locked); Ok(()) }, iter.first())
    }

    fn last(&mut self, locked: &Locked<'_>) -> Result<()> {
        each!(self, iter => { iter.last(locked); Ok(()) }, iter.last())
    }

    fn seek(&mut self, locked: &Locked<'_>, target: &[u8]) -> Result<()> {
        each!(self, iter => { iter.seek(locked, target); Ok(()) }, iter.seek(target))
    }

    #[inline]
    fn next(&mut self, locked: &Locked<'_>) -> Result<()> {
        debug_assert!(self.valid(), "a source that has ended goes no further");
        each!(self, iter => { iter.next(locked); Ok(()) }, iter.next())
    }

    fn prev(&mut self, locked: &Locked<'_>) -> Result<()> {
        debug_assert!(self.valid(), "a source that has ended goes no further");
        each!(self, iter => { iter.prev(locked); Ok(()) }, iter.prev())
    }

    /// The current table iterator, unless this is a memtable: for watchers of blocks.
    pub(crate) fn table(&self) -> Option<&TableIter> {
        match self {
            Source::Memory(_) => None,
            Source::Table(iter) => Some(iter),
            Source::Level(iter) => iter.table(),
        }
    }
}

/// The merged sequence. Among equal keys, the earlier source comes first.
pub(crate) struct Merge {
    tables: Vec<Arc<MemTable>>,
    order: Order,
}

/// The sources, and which of them is current.
struct Order {
    sources: Vec<Source>,
    /// Forwards: the valid sources as a heap, smallest key first. Backwards: only the current one.
    heap: Vec<u32>,
    forward: bool,
}

/// A merge that keeps the memtables locked for several moves.
pub(crate) struct LockedMerge<'a> {
    locked: Locked<'a>,
    order: &'a mut Order,
}

impl Merge {
    pub(crate) fn new(mut sources: Vec<Source>) -> Merge {
        let mut tables = Vec::new();
        for source in &mut sources {
            if let Source::Memory(iter) = source {
                iter.join(&mut tables);
            }
        }
        let heap = Vec::with_capacity(sources.len());
        Merge { tables, order: Order { sources, heap, forward: true } }
    }

    #[inline]
    pub(crate) fn lock(&mut self) -> LockedMerge<'_> {
        LockedMerge { locked: Locked::new(&self.tables), order: &mut self.order }
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.order.valid()
    }

    /// Index of the current source.
    pub(crate) fn current(&self) -> usize {
        self.order.current()
    }

    #[inline]
    pub(crate) fn source(&self) -> &Source {
        self.order.source()
    }

    /// The source with this index.
    pub(crate) fn nth(&self, number: usize) -> &Source {
        debug_assert!(number < self.order.sources.len(), "there is no source {number}");
        &self.order.sources[number]
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.source().key()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.source().value()
    }

    /// A copy of the value at `spot`.
    pub(crate) fn copied(&self, spot: EntryLocation) -> Vec<u8> {
        Locked::new(&self.tables).value(spot).to_vec()
    }

    /// Pass the value to `f` in place, without a copy.
    #[inline]
    pub(crate) fn with_value<T>(&self, f: impl FnOnce(&[u8]) -> T) -> T {
        f(self.source().value_in(&Locked::new(&self.tables)))
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.lock().first()
    }

    /// Go to the next pair. The merge must be valid.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        self.lock().next()
    }
}

impl Order {
    #[inline]
    fn valid(&self) -> bool {
        !self.heap.is_empty()
    }

    #[inline]
    fn current(&self) -> usize {
        debug_assert!(self.valid(), "no pair");
        self.heap[0] as usize
    }

    #[inline]
    fn source(&self) -> &Source {
        debug_assert!(self.valid(), "no pair");
        &self.sources[self.heap[0] as usize]
    }

    #[inline]
    fn before(&self, a: u32, b: u32) -> bool {
        debug_assert_ne!(a, b, "a source is in the heap once");
        let order = key::compare(self.sources[a as usize].key(), self.sources[b as usize].key());
        order.then(a.cmp(&b)) == Ordering::Less
    }

    /// Whether the place of the heap and its children are in order.
    fn is_in_order(&self, at: usize) -> bool {
        let children = [2 * at + 1, 2 * at + 2].into_iter().filter_map(|i| self.heap.get(i));
        let valid = self.heap.get(at).is_none_or(|&i| self.sources[i as usize].valid());
        valid && children.into_iter().all(|&child| self.before(self.heap[at], child))
    }

    fn sift_down(&mut self, mut at: usize) {
        debug_assert!(at < self.heap.len(), "place {at} of {}", self.heap.len());
        loop {
            let left = 2 * at + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let child = if right < self.heap.len() && self.before(self.heap[right], self.heap[left])
            {
                right
            } else {
                left
            };
            if !self.before(self.heap[child], self.heap[at]) {
                return;
            }
            self.heap.swap(at, child);
            at = child;
        }
    }
    /// What must hold between moves.
    fn check(&self) {
        let most = if self.forward { self.sources.len() } else { 1 };
        debug_assert!(self.heap.len() <= most, "{} sources in a heap", self.heap.len());
        let once = |(at, i): (usize, &u32)| !self.heap[..at].contains(i);
        debug_assert!(self.heap.iter().enumerate().all(once), "a source is in the heap twice");
        debug_assert!(
            self.heap.iter().all(|&i| self.sources[i as usize].valid()),
            "a source that has ended is in the heap"
        );
        debug_assert!(
            !self.forward || self.heap.len() == self.sources.iter().filter(|s| s.valid()).count(),
            "a source is not in the heap"
        );
    }

    fn build_heap(&mut self) {
        self.forward = true;
        self.heap.clear();
        self.heap
            .extend((0..self.sources.len() as u32).filter(|&i| self.sources[i as usize].valid()));
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
        debug_assert!((0..self.heap.len()).all(|at| self.is_in_order(at)), "no heap");
        self.check();
    }

    fn pick_largest(&mut self) {
        self.forward = false;
        self.heap.clear();
        let valid = (0..self.sources.len() as u32).filter(|&i| self.sources[i as usize].valid());
        let largest = valid.reduce(|a, b| if self.before(a, b) { b } else { a });
        self.heap.extend(largest);
        let precedes = |i: u32| {
            Some(i) == largest
                || !self.sources[i as usize].valid()
                || largest.is_some_and(|largest| self.before(i, largest))
        };
        debug_assert!((0..self.sources.len() as u32).all(precedes), "a larger key is left out");
        self.check();
        debug_assert_eq!(
            self.heap.is_empty(),
            self.sources.iter().all(|source| !source.valid()),
            "it ends when all sources have ended"
        );
    }
}

impl LockedMerge<'_> {
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.order.valid()
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.order.source().key()
    }

    /// The length of the value; the value itself is not read.
    #[inline]
    pub(crate) fn value_length(&self) -> usize {
        self.order.source().value_length()
    }

    /// The value in place, without a copy.
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.order.source().value_in(&self.locked)
    }

    /// The location of the entry, if it is in a memtable: its value can be read there after further moves.
    #[inline]
    pub(crate) fn spot(&self) -> Option<EntryLocation> {
        match self.order.source() {
            Source::Memory(iter) => Some(iter.spot()),
            Source::Table(_) | Source::Level(_) => None,
        }
    }

    /// Bring the first bytes of the value towards the cache, if they are in a memtable.
    #[inline]
    pub(crate) fn prefetch_value(&self) {
        if let Source::Memory(iter) = self.order.source() {
            iter.prefetch_value(&self.locked);
        }
    }

    /// The value of the entry at `spot`.
    #[inline]
    pub(crate) fn value_at(&self, spot: EntryLocation) -> &[u8] {
        self.locked.value(spot)
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.order.heap.clear();
        for source in &mut self.order.sources {
            source.first(&self.locked)?;
        }
        self.order.build_heap();
        Ok(())
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        self.order.heap.clear();
        for source in &mut self.order.sources {
            source.last(&self.locked)?;
        }
        self.order.pick_largest();
        Ok(())
    }

    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.order.heap.clear();
        for source in &mut self.order.sources {
            source.seek(&self.locked, target)?;
        }
        self.order.build_heap();
        Ok(())
    }

    /// Go to the next pair. The merge must be valid.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        debug_assert!(self.valid(), "after the last pair nothing follows");
        if !self.order.forward {
            return self.turn_forward();
        }
        let current = self.order.current();
        if let Err(error) = self.order.sources[current].next(&self.locked) {
            self.order.heap.clear();
            return Err(error);
        }
        if !self.order.sources[current].valid() {
            self.order.heap.swap_remove(0);
        }
        if self.order.heap.len() > 1 {
            self.order.sift_down(0);
        }
        debug_assert!(self.order.is_in_order(0), "the smallest key comes first");
        self.order.check();
        Ok(())
    }

    /// Go to the next key with a value, as `MemIter::next_value`, if only a memtable has any entries left:
    /// its keys need not be copied to be compared. False otherwise: nothing has changed.
    #[inline]
    pub(crate) fn next_value_in_memory(
        &mut self,
        sequence: u64,
        left: &mut usize,
        prefetch: bool,
    ) -> bool {
        let (true, &[only]) = (self.order.forward, self.order.heap.as_slice()) else {
            return false;
        };
        debug_assert_eq!(
            self.order.sources.iter().filter(|source| source.valid()).count(),
            1,
            "sources outside the heap have ended"
        );
        let Source::Memory(iter) = &mut self.order.sources[only as usize] else { return false };
        if !iter.next_value(&self.locked, sequence, left, prefetch) {
            return false;
        }
        if !iter.valid() {
            self.order.heap.clear();
        }
        self.order.check();
        true
    }

    /// Move all other sources after the current key, then advance the current source.
    fn turn_forward(&mut self) -> Result<()> {
        debug_assert_eq!(self.order.heap.len(), 1, "backwards, only the current source is known");
        let current = self.order.current();
        debug_assert!(!self.order.forward, "a merge turns once");
        let at = self.key().to_vec();
        self.order.heap.clear();
        for (i, source) in self.order.sources.iter_mut().enumerate() {
            if i == current {
                source.next(&self.locked)?;
                continue;
            }
            source.seek(&self.locked, &at)?;
            if source.valid() && source.key() == at {
                source.next(&self.locked)?;
            }
        }
        self.order.build_heap();
        Ok(())
    }

    /// Go to the previous pair. The merge must be valid.
    pub(crate) fn prev(&mut self) -> Result<()> {
        debug_assert!(self.valid(), "the pair before none");
        let current = self.order.current();
        if self.order.forward {
            let at = self.key().to_vec();
            self.order.heap.clear();
            for (i, source) in self.order.sources.iter_mut().enumerate() {
                if i == current {
                    continue;
                }
                source.seek(&self.locked, &at)?;
                if source.valid() {
                    source.prev(&self.locked)?;
                } else {
                    source.last(&self.locked)?;
                }
            }
        }
        self.order.heap.clear();
        self.order.sources[current].prev(&self.locked)?;
        self.order.pick_largest();
        Ok(())
    }
}
