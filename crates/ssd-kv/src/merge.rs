//! One sorted sequence out of several.

use crate::error::Result;
use crate::format::key;
use crate::memtable::MemIter;
use crate::table::TableIter;
use crate::version::LevelIter;
use std::cmp::Ordering;

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
        each!(self, iter => iter.key(), iter.key())
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        each!(self, iter => iter.value(), iter.value())
    }

    /// The length of the value, which is not touched.
    #[inline]
    pub(crate) fn value_length(&self) -> usize {
        each!(self, iter => iter.value_length(), iter.value().len())
    }

    /// Give the value to `f` where it lies.
    #[inline]
    pub(crate) fn with_value<T>(&self, f: impl FnOnce(&[u8]) -> T) -> T {
        each!(self, iter => iter.with_value(f), f(iter.value()))
    }

    fn first(&mut self) -> Result<()> {
        each!(self, iter => { iter.first(); Ok(()) }, iter.first())
    }

    fn last(&mut self) -> Result<()> {
        each!(self, iter => { iter.last(); Ok(()) }, iter.last())
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        each!(self, iter => { iter.seek(target); Ok(()) }, iter.seek(target))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        each!(self, iter => { iter.next(); Ok(()) }, iter.next())
    }

    fn prev(&mut self) -> Result<()> {
        each!(self, iter => { iter.prev(); Ok(()) }, iter.prev())
    }

    /// The table iterator at work, if it is no memtable: for those who watch blocks.
    pub(crate) fn table(&self) -> Option<&TableIter> {
        match self {
            Source::Memory(_) => None,
            Source::Table(iter) => Some(iter),
            Source::Level(iter) => iter.table(),
        }
    }
}

/// The merged sequence. Of equal keys the earlier source comes first.
pub(crate) struct Merge {
    sources: Vec<Source>,
    /// Forwards: the valid sources as a heap, smallest key first. Backwards: only the current one.
    heap: Vec<u32>,
    forward: bool,
}

impl Merge {
    pub(crate) fn new(sources: Vec<Source>) -> Merge {
        Merge { heap: Vec::with_capacity(sources.len()), sources, forward: true }
    }

    pub(crate) fn valid(&self) -> bool {
        !self.heap.is_empty()
    }

    /// Number of the current source.
    pub(crate) fn current(&self) -> usize {
        self.heap[0] as usize
    }

    #[inline]
    pub(crate) fn source(&self) -> &Source {
        &self.sources[self.heap[0] as usize]
    }

    /// The source of this number.
    pub(crate) fn nth(&self, number: usize) -> &Source {
        &self.sources[number]
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.source().key()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.source().value()
    }

    #[inline]
    fn before(&self, a: u32, b: u32) -> bool {
        let order = key::compare(self.sources[a as usize].key(), self.sources[b as usize].key());
        order.then(a.cmp(&b)) == Ordering::Less
    }

    fn sift_down(&mut self, mut at: usize) {
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

    fn build_heap(&mut self) {
        self.forward = true;
        self.heap.clear();
        self.heap
            .extend((0..self.sources.len() as u32).filter(|&i| self.sources[i as usize].valid()));
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
    }

    fn pick_largest(&mut self) {
        self.forward = false;
        self.heap.clear();
        let valid = (0..self.sources.len() as u32).filter(|&i| self.sources[i as usize].valid());
        let largest = valid.reduce(|a, b| if self.before(a, b) { b } else { a });
        self.heap.extend(largest);
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.heap.clear();
        for source in &mut self.sources {
            source.first()?;
        }
        self.build_heap();
        Ok(())
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        self.heap.clear();
        for source in &mut self.sources {
            source.last()?;
        }
        self.pick_largest();
        Ok(())
    }

    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.heap.clear();
        for source in &mut self.sources {
            source.seek(target)?;
        }
        self.build_heap();
        Ok(())
    }

    /// Go on. The place must be valid.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if !self.forward {
            return self.turn_forward();
        }
        let current = self.current();
        if let Err(error) = self.sources[current].next() {
            self.heap.clear();
            return Err(error);
        }
        if !self.sources[current].valid() {
            self.heap.swap_remove(0);
        }
        if self.heap.len() > 1 {
            self.sift_down(0);
        }
        Ok(())
    }

    /// All other sources go after the current key, then the current one goes on.
    fn turn_forward(&mut self) -> Result<()> {
        let current = self.current();
        let at = self.key().to_vec();
        self.heap.clear();
        for (i, source) in self.sources.iter_mut().enumerate() {
            if i == current {
                source.next()?;
                continue;
            }
            source.seek(&at)?;
            if source.valid() && source.key() == at {
                source.next()?;
            }
        }
        self.build_heap();
        Ok(())
    }

    /// Go back. The place must be valid.
    pub(crate) fn prev(&mut self) -> Result<()> {
        let current = self.current();
        if self.forward {
            let at = self.key().to_vec();
            self.heap.clear();
            for (i, source) in self.sources.iter_mut().enumerate() {
                if i == current {
                    continue;
                }
                source.seek(&at)?;
                if source.valid() {
                    source.prev()?;
                } else {
                    source.last()?;
                }
            }
        }
        self.heap.clear();
        self.sources[current].prev()?;
        self.pick_largest();
        Ok(())
    }
}
