//! Orders of keys. The engine compares keys bytewise. It reads a store in another order through sortable keys, whose
//! bytes sort in that order; each value then also contains the stored key.

use super::batch::{Change, WriteBatch};
use super::block::{Block, BlockIter};
use super::block_builder::BlockBuilder;
use super::coding::{prefixed, put_prefixed};
use super::edit::{COMPARATOR, Edit};
use super::key::{self, Tag, ValueKind};
use super::{Damage, idb};
use crate::error::{Error, Result};
use crate::vfs::region::Piece;
use std::borrow::Cow;

/// The name of the order of Chrome's IndexedDB.
const IDB: &str = "idb_cmp1";

/// The order of the keys of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// The order of bytes.
    #[default]
    Bytewise,
    /// The order of Chrome's IndexedDB, for reading only.
    Idb,
}

/// An internal key with a sortable user key.
type Internal = std::result::Result<Vec<u8>, &'static str>;

const NO_KEY: &str = "a key that idb_cmp1 does not order";

impl Order {
    /// The order that an edit names; `name` is the name of its manifest.
    pub(crate) fn of_edit(name: &str, edit: &Edit) -> Result<Option<Order>> {
        match edit.comparator.as_deref() {
            None => Ok(None),
            Some(COMPARATOR) => Ok(Some(Order::Bytewise)),
            Some(IDB) => Ok(Some(Order::Idb)),
            Some(other) => Err(Error::invalid(format!(
                "{name}: the keys are in the order {other:?}, expected {COMPARATOR:?} or, for reading only, {IDB:?}; \
                 nothing was changed"
            ))),
        }
    }

    /// Refuse to change a store in another order than the engine's; `name` is the name of its manifest.
    pub(crate) fn check_writable(self, name: &str) -> Result<()> {
        match self {
            Order::Bytewise => Ok(()),
            Order::Idb => Err(Error::invalid(format!(
                "{name}: the IndexedDB of a browser (its keys are in the order {IDB:?}) can be read, but not written \
                 or repaired; nothing was changed"
            ))),
        }
    }

    /// The sortable form of a key.
    pub(crate) fn sortable(self, user: &[u8]) -> Result<Cow<'_, [u8]>> {
        match self {
            Order::Bytewise => Ok(user.into()),
            Order::Idb => match idb::sortable(user) {
                Some(key) => Ok(key.into()),
                None => {
                    Err(Error::invalid(format!("{:?}: {NO_KEY}", user.escape_ascii().to_string())))
                }
            },
        }
    }

    /// Refuse a prefix that is no range of the order.
    pub(crate) fn check_prefix(self, prefix: &[u8]) -> Result<()> {
        if self == Order::Bytewise || prefix.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the keys that begin with {:?} are not neighbours in the order {IDB:?}: expected a start and a stop",
            prefix.escape_ascii().to_string()
        )))
    }

    fn internal(self, internal: &[u8]) -> Internal {
        debug_assert_eq!(self, Order::Idb, "other keys are sortable as they are");
        let user = idb::sortable(key::user(internal)).ok_or(NO_KEY)?;
        Ok(key::internal(&user, key::tag(internal)))
    }

    /// The key and the value of a pair from the sortable key and the value of the engine.
    #[inline]
    pub(crate) fn pair<'a>(self, key: &'a [u8], value: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        match self {
            Order::Bytewise => (key, value),
            Order::Idb => {
                let (stored, at) = prefixed(value, 0).expect("a value behind its key");
                (stored, &value[at..])
            }
        }
    }

    /// Make the keys of an edit sortable.
    pub(crate) fn sort_edit(self, edit: &mut Edit) -> std::result::Result<(), &'static str> {
        if self == Order::Bytewise {
            return Ok(());
        }
        for file in &mut edit.added {
            file.smallest = self.internal(&file.smallest)?;
            file.largest = self.internal(&file.largest)?;
        }
        // Nobody compacts this store.
        edit.compact_pointers.clear();
        Ok(())
    }

    /// The batch with sortable keys.
    pub(crate) fn sort_batch(self, batch: WriteBatch) -> std::result::Result<WriteBatch, Damage> {
        if self == Order::Bytewise {
            return Ok(batch);
        }
        if batch.sequence() == 0 {
            return Err(Damage::at(0, "a sequence number that is never given"));
        }
        let mut sorted = WriteBatch::new();
        for change in batch.changes().flatten() {
            let (Change::Put(user, _) | Change::Delete(user)) = change;
            let key = idb::sortable(user).ok_or(Damage::at(0, NO_KEY))?;
            match change {
                Change::Put(user, value) => sorted.put(&key, &value_with_key(user, value)),
                Change::Delete(_) => sorted.delete(&key),
            }
        }
        debug_assert_eq!(sorted.count(), batch.count(), "a decoded batch has whole changes");
        sorted.set_sequence(batch.sequence());
        Ok(sorted)
    }

    /// The block with sortable keys. Values of pairs get the stored key; an index block has no such values.
    pub(crate) fn sort_block(
        self,
        block: Block,
        is_index: bool,
    ) -> std::result::Result<Block, Damage> {
        if self == Order::Bytewise {
            return Ok(block);
        }
        let mut sorted = BlockBuilder::new(if is_index { 1 } else { 16 });
        let mut entries = BlockIter::new(block);
        let mut last: Option<Vec<u8>> = None;
        entries.first()?;
        while entries.valid() {
            let stored = entries.key();
            let key = self.internal(stored).map_err(|message| Damage::at(0, message))?;
            if last.as_ref().is_some_and(|last| key::compare(last, &key).is_ge()) {
                return Err(Damage::at(0, "keys out of order"));
            }
            let tag: Tag = key::tag(stored);
            if is_index || tag.kind() != Some(ValueKind::Value) {
                sorted.add(&key, entries.value());
            } else {
                sorted.add(&key, &value_with_key(key::user(stored), entries.value()));
            }
            last = Some(key);
            entries.next()?;
        }
        Block::new(Piece::from(sorted.finish().to_vec()))
    }
}

/// The stored key, preceded by its length, and then the value.
fn value_with_key(user: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(user.len() + value.len() + 5);
    put_prefixed(&mut out, user);
    out.extend_from_slice(value);
    out
}
