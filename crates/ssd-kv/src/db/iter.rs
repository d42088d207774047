//! Iterates over the pairs of a store: for each key, the newest visible version, unless it is deleted.

use crate::error::{Error, Result};
use crate::format::key::{self, MAX_SEQUENCE, Tag, ValueKind};
use crate::format::order::Order;
use crate::memtable::EntryLocation;
use crate::merge::{LockedMerge, Merge};
use crate::version::Version;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// After about this many bytes read, a key is sampled: files that are searched often get compacted.
const SAMPLE: usize = 1 << 20;

/// A position among the pairs of a store at a point in time. It keeps that state alive.
pub struct DbIter {
    merge: Merge,
    walk: Walk,
}

/// Forwards, the merge stands at the current pair. Backwards, it stands before all versions of the current
/// key, and the pair is kept here.
struct Walk {
    sequence: u64,
    version: Arc<Version>,
    forward: bool,
    valid: bool,
    /// Backwards, the current pair; forwards, the user key to skip.
    key: Vec<u8>,
    /// Backwards, the location of the value if it is in a memtable; otherwise it is copied to `value`.
    spot: Option<EntryLocation>,
    value: Vec<u8>,
    /// A copy of the value at `spot`, for callers that need a reference.
    copy: OnceLock<Vec<u8>>,
    /// Whether values are read.
    values: bool,
    until_sample: usize,
    order: Order,
}

impl DbIter {
    pub(super) fn new(merge: Merge, sequence: u64, version: Arc<Version>, order: Order) -> DbIter {
        debug_assert!(sequence <= MAX_SEQUENCE, "a sequence number has 56 bits");
        debug_assert!(!merge.valid(), "an iterator begins at no pair");
        let walk = Walk {
            sequence,
            version,
            forward: true,
            valid: false,
            key: Vec::new(),
            spot: None,
            value: Vec::new(),
            copy: OnceLock::new(),
            values: true,
            until_sample: SAMPLE,
            order,
        };
        DbIter { merge, walk }
    }

    /// The same iterator without values, for callers that read none: they are not copied, and all are empty.
    #[must_use]
    pub fn without_values(mut self) -> DbIter {
        // In an order other than bytewise, the value contains the stored key.
        self.walk.values = self.walk.order != Order::Bytewise;
        self
    }

    /// The sortable form of a key, whose bytes sort in the order of the store. Bytewise, it is the key itself.
    ///
    /// # Errors
    /// The order has no place for it.
    pub fn sortable<'a>(&self, key: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        self.walk.order.sortable(key)
    }

    /// Check that the keys with a prefix are neighbours in the order of the store.
    ///
    /// # Errors
    /// They are not, because the order is not bytewise.
    pub fn check_prefix(&self, prefix: &[u8]) -> Result<()> {
        self.walk.order.check_prefix(prefix)
    }

    /// Lock the memtables for several moves. Until the result is dropped, writes to the store wait: its
    /// holder must not write.
    #[inline]
    pub fn lock(&mut self) -> LockedIter<'_> {
        LockedIter { merge: self.merge.lock(), walk: &mut self.walk }
    }

    /// Whether the iterator is at a pair.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.walk.valid
    }

    /// The current key.
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        match self.walk.order {
            Order::Bytewise => self.sortable_key(),
            order => order.pair(&[], self.stored_value()).0,
        }
    }

    fn sortable_key(&self) -> &[u8] {
        self.walk.check();
        debug_assert!(!self.walk.forward || self.merge.valid(), "forwards, it stands at the pair");
        if self.walk.forward { key::user(self.merge.key()) } else { &self.walk.key }
    }

    /// The current value.
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        match self.walk.order {
            Order::Bytewise => self.stored_value(),
            order => order.pair(&[], self.stored_value()).1,
        }
    }

    fn stored_value(&self) -> &[u8] {
        self.walk.check();
        debug_assert!(!self.walk.forward || self.merge.valid(), "forwards, it stands at the pair");
        match self.walk.spot {
            _ if self.walk.is_value_in_merge() => self.merge.value(),
            Some(spot) => self.walk.copy.get_or_init(|| self.merge.copied(spot)),
            None => &self.walk.value,
        }
    }

    /// Pass the current value to `f` in place. `value` cannot do so in memory that others write to.
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    pub fn with_value<T>(&self, f: impl FnOnce(&[u8]) -> T) -> T {
        if self.walk.valid && self.walk.is_value_in_merge() && self.walk.order == Order::Bytewise {
            self.merge.with_value(f)
        } else {
            f(self.value())
        }
    }

    /// Move to the first pair.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged; the iterator is then not at a pair.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.lock().seek_to_first()
    }

    /// Move to the last pair.
    ///
    /// # Errors
    /// As `seek_to_first`.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.lock().seek_to_last()
    }

    /// Move to the first pair whose key is not below `target`.
    ///
    /// # Errors
    /// As `seek_to_first`.
    pub fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.lock().seek(target)
    }

    /// Move to the next pair.
    ///
    /// # Errors
    /// As `seek_to_first`.
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    #[allow(clippy::should_implement_trait, reason = "it may fail, and goes both ways")]
    pub fn next(&mut self) -> Result<()> {
        self.lock().next()
    }

    /// Move to the previous pair.
    ///
    /// # Errors
    /// As `seek_to_first`.
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    pub fn prev(&mut self) -> Result<()> {
        self.lock().prev()
    }
}

impl Walk {
    #[inline]
    fn check(&self) {
        assert!(self.valid, "the iterator stands at no pair");
    }

    #[inline]
    fn is_value_in_merge(&self) -> bool {
        self.forward && self.values
    }
}

/// An iterator that keeps the memtables locked, which makes several moves cheaper.
pub struct LockedIter<'a> {
    merge: LockedMerge<'a>,
    walk: &'a mut Walk,
}

impl LockedIter<'_> {
    /// Whether the iterator is at a pair.
    #[must_use]
    #[inline]
    pub fn valid(&self) -> bool {
        self.walk.valid
    }

    /// The current key.
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    #[must_use]
    #[inline]
    pub fn key(&self) -> &[u8] {
        match self.walk.order {
            Order::Bytewise => self.sortable_key(),
            order => order.pair(&[], self.stored_value()).0,
        }
    }

    /// The sortable form of the current key, see [`DbIter::sortable`].
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    #[must_use]
    #[inline]
    pub fn sortable_key(&self) -> &[u8] {
        self.walk.check();
        debug_assert!(!self.walk.forward || self.merge.valid(), "forwards, it stands at the pair");
        if self.walk.forward { key::user(self.merge.key()) } else { &self.walk.key }
    }

    /// The current value, without a copy.
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    #[must_use]
    #[inline]
    pub fn value(&self) -> &[u8] {
        match self.walk.order {
            Order::Bytewise => self.stored_value(),
            order => order.pair(&[], self.stored_value()).1,
        }
    }

    #[inline]
    fn stored_value(&self) -> &[u8] {
        self.walk.check();
        debug_assert!(!self.walk.forward || self.merge.valid(), "forwards, it stands at the pair");
        match self.walk.spot {
            _ if self.walk.is_value_in_merge() => self.merge.value(),
            Some(spot) => self.merge.value_at(spot),
            None => &self.walk.value,
        }
    }

    /// Let the value of the entry at which the merge stands arrive while its key is copied.
    #[inline]
    fn prefetch_value(&self) {
        if self.walk.values {
            self.merge.prefetch_value();
        }
    }

    /// The tag of the entry at which the merge stands; counts the bytes read.
    fn entry(&mut self) -> Result<(Tag, ValueKind)> {
        debug_assert!(!self.walk.valid, "on the way to a pair, not at one");
        debug_assert!(self.merge.valid(), "an entry of a merge that has ended");
        debug_assert!(self.walk.until_sample <= SAMPLE, "samples come too rarely");
        let internal = self.merge.key();
        let bytes = internal.len() + self.merge.value_length();
        if bytes < self.walk.until_sample {
            self.walk.until_sample -= bytes;
        } else {
            self.walk.until_sample = SAMPLE;
            self.walk.version.sample_read(internal)?;
        }
        let tag = key::tag(internal);
        match tag.kind() {
            Some(kind) => Ok((tag, kind)),
            None => Err(Error::corrupt("iterator", 0, "an entry of an unknown kind")),
        }
    }

    /// As `DbIter::seek_to_first`.
    ///
    /// # Errors
    /// As there.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.start(true);
        self.merge.first()?;
        self.find_next(false)
    }

    /// As `DbIter::seek_to_last`.
    ///
    /// # Errors
    /// As there.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.start(false);
        self.merge.last()?;
        self.find_previous()
    }

    /// As `DbIter::seek`.
    ///
    /// # Errors
    /// As there.
    pub fn seek(&mut self, target: &[u8]) -> Result<()> {
        match self.walk.order {
            Order::Bytewise => self.seek_sortable(target),
            order => self.seek_sortable(&order.sortable(target)?),
        }
    }

    /// As `DbIter::seek`, with a sortable key.
    ///
    /// # Errors
    /// As `DbIter::seek`.
    pub fn seek_sortable(&mut self, target: &[u8]) -> Result<()> {
        self.start(true);
        self.merge.seek(&key::internal(target, Tag::seek(self.walk.sequence)))?;
        self.find_next(false)
    }

    fn start(&mut self, forward: bool) {
        self.walk.valid = false;
        self.walk.forward = forward;
    }

    /// As `DbIter::next`.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    #[allow(clippy::should_implement_trait, reason = "it may fail, and goes both ways")]
    pub fn next(&mut self) -> Result<()> {
        self.walk.check();
        debug_assert!(self.merge.valid() || !self.walk.forward, "forwards, it stands at the pair");
        let Walk { forward, sequence, until_sample, values, .. } = &mut *self.walk;
        if *forward && self.merge.next_value_in_memory(*sequence, until_sample, *values) {
            self.walk.valid = self.merge.valid();
            debug_assert!(
                !self.walk.valid || key::tag(self.merge.key()).sequence() <= self.walk.sequence,
                "a later write"
            );
            return Ok(());
        }
        self.walk.valid = false;
        if self.walk.forward {
            self.walk.key.clear();
            self.walk.key.extend_from_slice(key::user(self.merge.key()));
            self.merge.next()?;
        } else {
            // The merge stands before the entries of `key`: go into them, to be skipped.
            self.walk.forward = true;
            if self.merge.valid() { self.merge.next()? } else { self.merge.first()? }
        }
        self.find_next(true)
    }

    /// Move forwards from the merge's position to the first key with a value; with `skip`, not `self.walk.key`.
    fn find_next(&mut self, mut skip: bool) -> Result<()> {
        debug_assert!(self.walk.forward && !self.walk.valid, "forwards, from no pair");
        while self.merge.valid() {
            let (tag, kind) = self.entry()?;
            let user = key::user(self.merge.key());
            if tag.sequence() <= self.walk.sequence && !(skip && user <= self.walk.key.as_slice()) {
                if kind == ValueKind::Value {
                    self.walk.valid = true;
                    self.prefetch_value();
                    return Ok(());
                }
                // Deleted: so are all older versions.
                self.walk.key.clear();
                self.walk.key.extend_from_slice(user);
                skip = true;
            }
            self.merge.next()?;
        }
        Ok(())
    }

    /// As `DbIter::prev`.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If the iterator is not at a pair.
    pub fn prev(&mut self) -> Result<()> {
        self.walk.check();
        self.walk.valid = false;
        if self.walk.forward {
            debug_assert!(self.merge.valid(), "forwards, the merge is at the pair");
            self.walk.key.clear();
            debug_assert!(
                key::tag(self.merge.key()).sequence() <= self.walk.sequence,
                "a later write"
            );
            self.walk.key.extend_from_slice(key::user(self.merge.key()));
            self.walk.forward = false;
            loop {
                self.merge.prev()?;
                if !self.merge.valid() || key::user(self.merge.key()) < self.walk.key.as_slice() {
                    break;
                }
            }
        }
        self.find_previous()
    }

    /// Move backwards from the merge's position to the first key with a value. Its versions come oldest
    /// first: the last visible one counts.
    fn find_previous(&mut self) -> Result<()> {
        debug_assert!(!self.walk.forward && !self.walk.valid, "backwards, from no pair");
        let mut shown = ValueKind::Deletion;
        self.walk.copy.take();
        while self.merge.valid() {
            let (tag, kind) = self.entry()?;
            if tag.sequence() <= self.walk.sequence {
                let user = key::user(self.merge.key());
                if shown == ValueKind::Value && user < self.walk.key.as_slice() {
                    break;
                }
                shown = kind;
                if kind == ValueKind::Value {
                    self.walk.key.clear();
                    self.walk.key.extend_from_slice(user);
                    self.walk.spot = self.merge.spot().filter(|_| self.walk.values);
                    self.prefetch_value();
                    if self.walk.values && self.walk.spot.is_none() {
                        self.walk.value.clear();
                        self.walk.value.extend_from_slice(self.merge.value());
                    }
                }
            }
            self.merge.prev()?;
        }
        debug_assert!(self.walk.values || self.walk.spot.is_none(), "a value that nobody reads");
        self.walk.valid = shown == ValueKind::Value;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{Options, ReadOptions};
    use crate::vfs::MemoryVfs;
    use crate::{Db, Result};
    use std::sync::Arc;

    /// Forwards through one memtable, no key is copied to be compared with the next one.
    #[test]
    fn keys_in_one_memtable_are_compared_in_place() -> Result<()> {
        let options = Options { create_if_missing: true, ..Options::default() };
        let mut db = Db::open(Arc::new(MemoryVfs::default()), options)?;
        for i in 0..10 {
            db.put(&[i], &[i], false)?;
        }
        db.delete(&[4], false)?;
        db.put(&[6], b"again", false)?;
        let mut iter = db.iter(ReadOptions::default(), None)?;
        iter.seek(&[2])?;
        let mut keys = Vec::new();
        while iter.valid() {
            keys.push(iter.key()[0]);
            iter.next()?;
        }
        assert_eq!(keys, [2, 3, 5, 6, 7, 8, 9]);
        assert_eq!(iter.walk.key.capacity(), 0, "a key was copied");
        Ok(())
    }
}
