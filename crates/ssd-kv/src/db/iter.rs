//! Walks through the pairs of a store: of each key the newest version that is visible, if it has a
//! value.

use crate::error::{Error, Result};
use crate::format::key::{self, Tag, ValueKind};
use crate::merge::Merge;
use crate::version::Version;
use std::sync::Arc;

/// Every so many bytes read, the key there is sampled: files that cost many looks get compacted.
const SAMPLE: usize = 1 << 20;

/// A place among the pairs of a store as of one time. It keeps that state alive.
///
/// Forwards, the merge stands at the pair shown. Backwards, it stands before all versions of the key
/// shown, and the pair is kept here.
pub struct DbIter {
    merge: Merge,
    sequence: u64,
    version: Arc<Version>,
    forward: bool,
    valid: bool,
    /// Backwards the pair shown; forwards the user key to skip.
    key: Vec<u8>,
    value: Vec<u8>,
    /// Whether values are shown.
    values: bool,
    until_sample: usize,
}

impl DbIter {
    pub(super) fn new(merge: Merge, sequence: u64, version: Arc<Version>) -> DbIter {
        DbIter {
            merge,
            sequence,
            version,
            forward: true,
            valid: false,
            key: Vec::new(),
            value: Vec::new(),
            values: true,
            until_sample: SAMPLE,
        }
    }

    /// The same walk for those who read no values: they are not copied. All are then empty.
    #[must_use]
    pub fn without_values(self) -> DbIter {
        DbIter { values: false, ..self }
    }

    /// Whether it stands at a pair.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// The key there.
    ///
    /// # Panics
    /// If it stands at no pair.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        assert!(self.valid, "the iterator stands at no pair");
        if self.forward { key::user(self.merge.key()) } else { &self.key }
    }

    /// The value there.
    ///
    /// # Panics
    /// If it stands at no pair.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        assert!(self.valid, "the iterator stands at no pair");
        if self.forward && self.values { self.merge.value() } else { &self.value }
    }

    /// Give the value there to `f`. It is read where it lies, which `value` cannot do in memory that
    /// others write to.
    ///
    /// # Panics
    /// If it stands at no pair.
    pub fn with_value<T>(&self, f: impl FnOnce(&[u8]) -> T) -> T {
        assert!(self.valid, "the iterator stands at no pair");
        if self.forward && self.values { self.merge.source().with_value(f) } else { f(&self.value) }
    }

    /// The tag of the entry where the merge stands; counts what is read.
    fn entry(&mut self) -> Result<(Tag, ValueKind)> {
        let internal = self.merge.key();
        let bytes = internal.len() + self.merge.source().value_length();
        if bytes < self.until_sample {
            self.until_sample -= bytes;
        } else {
            self.until_sample = SAMPLE;
            self.version.sample_read(internal)?;
        }
        let tag = key::tag(internal);
        match tag.kind() {
            Some(kind) => Ok((tag, kind)),
            None => Err(Error::corrupt("iterator", 0, "an entry of an unknown kind")),
        }
    }

    /// Stand at the first pair.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged; the iterator then stands at no pair.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.start(true);
        self.merge.first()?;
        self.find_next(false)
    }

    /// Stand at the last pair.
    ///
    /// # Errors
    /// As `seek_to_first`.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.start(false);
        self.merge.last()?;
        self.find_previous()
    }

    /// Stand at the first pair whose key is not below `target`.
    ///
    /// # Errors
    /// As `seek_to_first`.
    pub fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.start(true);
        self.merge.seek(&key::internal(target, Tag::seek(self.sequence)))?;
        self.find_next(false)
    }

    fn start(&mut self, forward: bool) {
        self.valid = false;
        self.forward = forward;
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
        assert!(self.valid, "the iterator stands at no pair");
        self.valid = false;
        if self.forward {
            self.key.clear();
            self.key.extend_from_slice(key::user(self.merge.key()));
            self.merge.next()?;
        } else {
            // The merge stands before the entries of `key`: go into them, to be skipped.
            self.forward = true;
            if self.merge.valid() { self.merge.next()? } else { self.merge.first()? }
        }
        self.find_next(true)
    }

    /// From where the merge stands, the first key with a value; `skip`: not `self.key`.
    fn find_next(&mut self, mut skip: bool) -> Result<()> {
        while self.merge.valid() {
            let (tag, kind) = self.entry()?;
            let user = key::user(self.merge.key());
            if tag.sequence() <= self.sequence && !(skip && user <= self.key.as_slice()) {
                if kind == ValueKind::Value {
                    self.valid = true;
                    return Ok(());
                }
                // Deleted: so are all older versions.
                self.key.clear();
                self.key.extend_from_slice(user);
                skip = true;
            }
            self.merge.next()?;
        }
        Ok(())
    }

    /// Go to the pair before.
    ///
    /// # Errors
    /// As `seek_to_first`.
    ///
    /// # Panics
    /// If it stands at no pair.
    pub fn prev(&mut self) -> Result<()> {
        assert!(self.valid, "the iterator stands at no pair");
        self.valid = false;
        if self.forward {
            self.key.clear();
            self.key.extend_from_slice(key::user(self.merge.key()));
            self.forward = false;
            loop {
                self.merge.prev()?;
                if !self.merge.valid() || key::user(self.merge.key()) < self.key.as_slice() {
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
        while self.merge.valid() {
            let (tag, kind) = self.entry()?;
            if tag.sequence() <= self.sequence {
                let user = key::user(self.merge.key());
                if shown == ValueKind::Value && user < self.key.as_slice() {
                    break;
                }
                shown = kind;
                if kind == ValueKind::Value {
                    self.key.clear();
                    self.key.extend_from_slice(user);
                    if self.values {
                        self.value.clear();
                        let value = &mut self.value;
                        self.merge.source().with_value(|there| value.extend_from_slice(there));
                    }
                }
            }
            self.merge.prev()?;
        }
        self.valid = shown == ValueKind::Value;
        Ok(())
    }
}
