//! Recovers the pairs that a damaged table still proves.
//!
//! The checksum of a block shows only that some byte changed, not which one: without it, no pair of the
//! block can be distinguished from one that was never written, so all of them are lost. (LevelDB's repair
//! checks no checksums and keeps all pairs, right or wrong.) A writer with bad memory may leave a block with
//! a right checksum but wrong keys. In such a block, the pairs between two restarts do not depend on the
//! others: those that are in order, and within the bounds in the index, are kept.
//!
//! A damaged index still leads to blocks, each of which has its own checksum. Bytes that no index entry
//! covers are reported.

use crate::error::Result;
use crate::format::Damage;
use crate::format::block::{Block, BlockIter};
use crate::format::footer::Handle;
use crate::format::key;
use crate::options::ReadOptions;
use crate::table::Table;

/// Internal keys and values, in the order of the file.
pub(super) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

pub(super) const READ: ReadOptions = ReadOptions { verify_checksums: true, fill_cache: false };

/// Consecutive entries in order, or the reason why they are damaged.
type Interval = std::result::Result<Entries, Damage>;

/// A data block in an index: its keys are above `after` and at most `last`.
pub(super) struct IndexedBlock {
    pub(super) handle: Handle,
    after: Vec<u8>,
    last: Vec<u8>,
}

/// The data blocks that the index of a table names, in the order of the file, and the damage of the index.
/// Without `trusted`, the keys of the index do not bound the blocks.
pub(super) fn listed(table: &Table, trusted: bool) -> (Vec<IndexedBlock>, Option<Damage>) {
    let index = table.index().block();
    let (mut entries, damage) = entries_until_damage(index);
    if damage.is_some() || !trusted {
        // Restarts lead beyond the damage, and may be damaged themselves.
        entries
            .extend((0..index.restarts()).flat_map(|at| interval(index, at).unwrap_or_default()));
    }
    let mut blocks = Vec::<IndexedBlock>::new();
    for (last, value) in entries {
        let Some((handle, _)) = Handle::get(&value, 0) else { continue };
        let after = blocks.last().map(|block| block.last.clone()).unwrap_or_default();
        blocks.push(IndexedBlock { handle, after, last });
    }
    if damage.is_some() || !trusted {
        for block in &mut blocks {
            (block.after, block.last) = (Vec::new(), Vec::new());
        }
    }
    blocks.sort_by_key(|block| (block.handle.offset, block.handle.size));
    blocks.dedup_by_key(|block| block.handle);
    debug_assert!(
        trusted || blocks.iter().all(|block| block.after.is_empty() && block.last.is_empty()),
        "a damaged index bounds nothing"
    );
    (blocks, damage)
}

/// The entries of a block, in order, and the damage that ends them, if any.
fn entries_until_damage(block: &Block) -> (Entries, Option<Damage>) {
    let mut entries = Entries::new();
    let mut iter = BlockIter::new(block.clone());
    let mut result = iter.first();
    while result.is_ok() && iter.valid() {
        entries.push((iter.key().to_vec(), iter.value().to_vec()));
        result = iter.next();
    }
    (entries, result.err())
}

/// The intervals between restarts of a data block, each one sound or damaged.
pub(super) fn intervals(table: &Table, listed: &IndexedBlock) -> Result<Vec<Interval>> {
    let block = table.block(listed.handle, READ)?;
    let within = |entries: &Entries| {
        let (first, last) = (&entries[0].0, &entries[entries.len() - 1].0);
        let above = listed.after.is_empty() || key::compare(&listed.after, first).is_lt();
        above && (listed.last.is_empty() || key::compare(last, &listed.last).is_le())
    };
    let mut intervals: Vec<Interval> = Vec::new();
    for restart in 0..block.restarts() {
        let disorder = Damage::at(block.restart(restart).unwrap_or(0), "keys out of order");
        match interval(&block, restart) {
            Ok(entries) if entries.is_empty() => {}
            Ok(entries) if within(&entries) => intervals.push(Ok(entries)),
            Ok(_) => intervals.push(Err(disorder)),
            Err(damage) => intervals.push(Err(damage)),
        }
    }
    drop_disorder(&mut intervals);
    Ok(intervals)
}

/// If an interval does not come before the next one, either may be wrong: both are lost.
fn drop_disorder(intervals: &mut [Interval]) {
    let mut wrong = Vec::new();
    let mut before: Option<(usize, &[u8])> = None;
    for (i, entries) in intervals.iter().enumerate() {
        let Ok(entries) = entries else { continue };
        debug_assert!(!entries.is_empty(), "an interval without entries is left out");
        let (first, last) = (&entries[0].0, &entries[entries.len() - 1].0);
        debug_assert!(key::compare(first, last).is_le(), "intervals are in order inside");
        if let Some((j, end)) = before
            && key::compare(end, first).is_ge()
        {
            wrong.extend([i, j]);
        }
        before = Some((i, last));
    }
    for i in wrong {
        intervals[i] = Err(Damage::at(0, "keys out of order between restarts"));
    }
}

/// The entries from a restart to the next one, all whole and in order.
fn interval(block: &Block, restart: usize) -> Interval {
    let (start, end) = (block.restart(restart)?, block.interval_end(restart)?);
    debug_assert!(start <= block.size() && end <= block.size(), "an interval beyond the block");
    let mut entries = Entries::new();
    let mut iter = BlockIter::new(block.clone());
    if start == end {
        return Ok(entries);
    }
    iter.seek_to_restart(restart)?;
    while iter.valid() && iter.entry_end() <= end {
        let last = entries.last().map(|(key, _)| key.as_slice()).unwrap_or_default();
        if !follows(last, iter.key()) {
            return Err(Damage::at(start, "keys out of order or of an unknown kind"));
        }
        entries.push((iter.key().to_vec(), iter.value().to_vec()));
        if iter.entry_end() == end {
            return Ok(entries);
        }
        iter.next()?;
    }
    Err(Damage::at(start, "a restart inside an entry"))
}

/// Whether an entry is of a known kind and comes after the previous one, which is empty for the first.
pub(super) fn follows(last: &[u8], internal: &[u8]) -> bool {
    let is_ordered = last.is_empty() || key::compare(last, internal).is_lt();
    is_ordered && key::tag(internal).kind().is_some()
}
