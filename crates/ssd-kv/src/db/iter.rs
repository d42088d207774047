//! Walks through the pairs of a store: of each key the newest version that is visible, if it has a
//! value.

use crate::error::{Error, Result};
use crate::format::key::{self, Tag, ValueKind};
use crate::memtable::Spot;
use crate::merge::{LockedMerge, Merge};
use crate::version::Version;
use std::sync::{Arc, OnceLock};

/// Every so many bytes read, the key there is sampled: files that cost many looks get compacted.
const SAMPLE: usize = 1 << 20;

/// A position among the pairs of a store as of one time. It keeps that state alive.
pub struct DbIter {
    merge: Merge,
    walk: Walk,
}

/// Forwards, the merge stands at the pair shown. Backwards, it stands before all versions of the key
/// shown, and the pair is kept here.
struct Walk {
    sequence: u64,
    version: Arc<Version>,
    forward: bool,
    valid: bool,
    /// Backwards the pair shown; forwards the user key to skip.
    key: Vec<u8>,
    /// Backwards, where the value lies in memory; elsewhere it is copied to `value`.
    spot: Option<Spot>,
    value: Vec<u8>,
    /// A copy of the value at `spot` for those who ask for a reference.
    copy: OnceLock<Vec<u8>>,
    /// Whether values are shown.
    values: bool,
    until_sample: usize,
}

impl DbIter {
    pub(super) fn new(merge: Merge, sequence: u64, version: Arc<Version>) -> DbIter {
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
        };
        DbIter { merge, walk }
    }

    /// The same walk for those who read no values: they are not copied. All are then empty.
    #[must_use]
    pub fn without_values(mut self) -> DbIter {
        self.walk.values = false;
        self
    }

    /// Several moves under one lock of what is in memory. Until the result is dropped, writes to the
    /// store wait: whoever holds it must not write.
    #[inline]
    pub fn lock(&mut self) -> LockedIter<'_> {
        LockedIter { merge: self.merge.lock(), walk: &mut self.walk }
    }

    /// Whether it stands at a pair.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.walk.valid
    }

    /// The key there.
    ///
    /// # Panics
    /// If it stands at no pair.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.walk.check();
        if self.walk.forward { key::user(self.merge.key()) } else { &self.walk.key }
    }

    /// The value there.
    ///
    /// # Panics
    /// If it stands at no pair.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.walk.check();
        match self.walk.spot {
            _ if self.walk.is_value_in_merge() => self.merge.value(),
            Some(spot) => self.walk.copy.get_or_init(|| self.merge.copied(spot)),
            None => &self.walk.value,
        }
    }

    /// Give the value there to `f`. It is read where it lies, which `value` cannot do in memory that
    /// others write to.
    ///
    /// # Panics
    /// If it stands at no pair.
    pub fn with_value<T>(&self, f: impl FnOnce(&[u8]) -> T) -> T {
        if self.walk.valid && self.walk.is_value_in_merge() {
            self.merge.with_value(f)
        } else {
            f(self.value())
        }
    }

    /// Stand at the first pair.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged; the iterator then stands at no pair.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.lock().seek_to_first()
    }

    /// Stand at the last pair.
    ///
    /// # Errors
    /// As `seek_to_first`.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.lock().seek_to_last()
    }

    /// Stand at the first pair whose key is not below `target`.
    ///
    /// # Errors
    /// As `seek_to_first`.
    pub fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.lock().seek(target)
    }

    /// Go to the next pair.
    ///
    /// # Errors
    /// As `seek_to_first`.
    ///
    /// # Panics
    /// If it stands at no pair.
    #[allow(clippy::should_implement_trait, reason = "it may fail, and goes both ways")]
    pub fn next(&mut self) -> Result<()> {
        self.lock().next()
    }

    /// Go to the pair before.
    ///
    /// # Errors
    /// As `seek_to_first`.
    ///
    /// # Panics
    /// If it stands at no pair.
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

/// An iterator that keeps what is in memory locked, which makes several moves cheaper.
pub struct LockedIter<'a> {
    merge: LockedMerge<'a>,
    walk: &'a mut Walk,
}

impl LockedIter<'_> {
    /// Whether it stands at a pair.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.walk.valid
    }

    /// The key there.
    ///
    /// # Panics
    /// If it stands at no pair.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.walk.check();
        if self.walk.forward { key::user(self.merge.key()) } else { &self.walk.key }
    }

    /// The value there. Nothing is copied.
    ///
    /// # Panics
    /// If it stands at no pair.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.walk.check();
        match self.walk.spot {
            _ if self.walk.is_value_in_merge() => self.merge.value(),
            Some(spot) => self.merge.value_at(spot),
            None => &self.walk.value,
        }
    }

    /// The tag of the entry where the merge stands; counts what is read.
    fn entry(&mut self) -> Result<(Tag, ValueKind)> {
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
    /// If it stands at no pair.
    #[allow(clippy::should_implement_trait, reason = "it may fail, and goes both ways")]
    pub fn next(&mut self) -> Result<()> {
        self.walk.check();
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

    /// From where the merge stands, the first key with a value; `skip`: not `self.walk.key`.
    fn find_next(&mut self, mut skip: bool) -> Result<()> {
        while self.merge.valid() {
            let (tag, kind) = self.entry()?;
            let user = key::user(self.merge.key());
            if tag.sequence() <= self.walk.sequence && !(skip && user <= self.walk.key.as_slice()) {
                if kind == ValueKind::Value {
                    self.walk.valid = true;
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
    /// If it stands at no pair.
    pub fn prev(&mut self) -> Result<()> {
        self.walk.check();
        self.walk.valid = false;
        if self.walk.forward {
            self.walk.key.clear();
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

    /// From where the merge stands backwards, the first key with a value. Its versions come oldest
    /// first: the last visible one counts.
    fn find_previous(&mut self) -> Result<()> {
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
                    if self.walk.values && self.walk.spot.is_none() {
                        self.walk.value.clear();
                        self.walk.value.extend_from_slice(self.merge.value());
                    }
                }
            }
            self.merge.prev()?;
        }
        self.walk.valid = shown == ValueKind::Value;
        Ok(())
    }
}
