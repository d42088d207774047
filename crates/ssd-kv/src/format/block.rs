//! Blocks: sorted entries with shared prefixes, and restarts with whole keys for binary search.
//!
//! Entry: shared length, further length, value length (varints), rest of the key, value. The block ends
//! with the offsets of the restarts (4 bytes each) and their number.

use super::coding::{fixed32, varint32};
use super::{Damage, key};
use crate::vfs::region::Piece;
use std::cmp::Ordering;

/// A block for reading.
#[derive(Clone)]
pub(crate) struct Block {
    data: Piece,
    /// Where the entries end and the restarts begin.
    limit: usize,
    restarts: usize,
}

impl Block {
    pub(crate) fn new(data: Piece) -> Result<Block, Damage> {
        let length = data.len();
        if length < 4 {
            return Err(Damage::at(0, "a block shorter than its number of restarts"));
        }
        let restarts = fixed32(&data, length - 4) as usize;
        if restarts > (length - 4) / 4 {
            return Err(Damage::at(length - 4, "more restarts than the block has room for"));
        }
        Ok(Block { limit: length - 4 - restarts * 4, restarts, data })
    }

    /// Bytes of memory that it takes.
    pub(crate) fn size(&self) -> usize {
        self.data.len()
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        debug_assert!(self.limit < self.data.len(), "a block ends with its restarts");
        &self.data
    }

    pub(crate) fn restarts(&self) -> usize {
        self.restarts
    }

    /// Where the entries that follow a restart end: at the next restart, or at the end of the entries.
    pub(crate) fn interval_end(&self, index: usize) -> Result<usize, Damage> {
        debug_assert!(index < self.restarts, "restart {index} of {}", self.restarts);
        if index + 1 < self.restarts { self.restart(index + 1) } else { Ok(self.limit) }
    }

    /// Where the entry at a restart begins.
    pub(crate) fn restart(&self, index: usize) -> Result<usize, Damage> {
        debug_assert!(index < self.restarts, "restart {index} of {}", self.restarts);
        let place = self.limit + index * 4;
        let offset = fixed32(&self.data, place) as usize;
        if offset > self.limit {
            return Err(Damage::at(place, "a restart beyond the entries"));
        }
        Ok(offset)
    }

    /// The head of the entry at `at`: shared, further and value length, and where the key begins.
    #[inline]
    fn head(&self, at: usize) -> Result<(usize, usize, usize, usize), Damage> {
        debug_assert!(at <= self.limit, "an entry at {at} of {}", self.limit);
        let data = &self.data[..self.limit];
        let bad = || Damage::at(at, "a bad entry");
        // Nearly always three lengths below 128: one check for the three.
        let (shared, further, value, start) = match data.get(at..at + 3) {
            Some(&[a, b, c]) if (a | b | c) < 0x80 => (a.into(), b.into(), c.into(), at + 3),
            _ => {
                let (shared, next) = varint32(data, at).ok_or_else(bad)?;
                let (further, next) = varint32(data, next).ok_or_else(bad)?;
                let (value, next) = varint32(data, next).ok_or_else(bad)?;
                (shared, further, value, next)
            }
        };
        debug_assert!(start <= self.limit, "a head beyond the entries");
        let (shared, further, value) = (shared as usize, further as usize, value as usize);
        if self.limit - start < further + value {
            return Err(bad());
        }
        Ok((shared, further, value, start))
    }

    /// The whole key at a restart.
    pub(crate) fn restart_key(&self, index: usize) -> Result<&[u8], Damage> {
        Ok(self.restart_pair(index)?.0)
    }

    /// The entry at a restart.
    pub(crate) fn restart_pair(&self, index: usize) -> Result<(&[u8], &[u8]), Damage> {
        let at = self.restart(index)?;
        let (shared, further, value, start) = self.head(at)?;
        if shared != 0 || further < 8 {
            return Err(Damage::at(at, "a restart whose key is not whole"));
        }
        let middle = start + further;
        Ok((&self.data[start..middle], &self.data[middle..middle + value]))
    }

    /// Whether the entry at a restart is the only one before the next restart.
    pub(crate) fn is_alone(&self, index: usize) -> bool {
        let next = self.interval_end(index);

        let end = self.restart(index).and_then(|at| self.head(at));
        end.map(|(_, further, value, start)| start + further + value) == next
    }
}

/// A position in a block of internal keys; beyond the last entry it is not valid.
pub(crate) struct BlockIter {
    block: Block,
    /// Offsets of the current entry (`limit` if there is none) and of the next one.
    at: usize,
    next: usize,
    restart: usize,
    key: Vec<u8>,
    value: (usize, usize),
    /// The least length of a key: 8 for internal keys, 0 for the plain keys of the metaindex.
    least: usize,
}

impl BlockIter {
    pub(crate) fn new(block: Block) -> BlockIter {
        let at = block.limit;
        let (key, value) = (Vec::with_capacity(48), (0, 0));
        BlockIter { block, at, next: at, restart: 0, key, value, least: 8 }
    }

    /// An iterator over keys of any length; such a block cannot be searched.
    pub(crate) fn plain(block: Block) -> BlockIter {
        BlockIter { least: 0, ..BlockIter::new(block) }
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// Switch to another block, before its first entry.
    pub(crate) fn reset(&mut self, block: Block) {
        self.block = block;
        self.at = self.block.limit;
        self.next = self.at;
        // The key stays: its memory is used again but its bytes are not, since every move goes to a restart.
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        debug_assert!(self.at <= self.block.limit, "a place beyond the block");
        self.at < self.block.limit
    }

    /// The offset at which the current entry ends.
    pub(crate) fn entry_end(&self) -> usize {
        debug_assert!(self.valid(), "no entry");
        self.next
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        debug_assert!(self.valid(), "no entry");
        &self.key
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        debug_assert!(self.valid(), "no entry");
        debug_assert!(self.value.1 == self.next, "an entry ends with its value");
        &self.block.data[self.value.0..self.value.1]
    }

    fn go_to_restart(&mut self, index: usize) -> Result<(), Damage> {
        self.restart = index;
        self.next = self.block.restart(index)?;
        self.key.clear();
        Ok(())
    }

    /// Read the entry at `next`.
    #[inline]
    fn parse(&mut self) -> Result<(), Damage> {
        let at = self.next;
        self.at = at;
        if at >= self.block.limit {
            self.at = self.block.limit;
            return Ok(());
        }
        let (shared, further, value, start) = match self.block.head(at) {
            Ok(head) => head,
            Err(damage) => return self.damaged(damage),
        };
        if shared > self.key.len() || shared + further < self.least {
            return self.damaged(Damage::at(at, "a bad key"));
        }
        let middle = start + further;
        self.key.truncate(shared);
        self.key.extend_from_slice(&self.block.data[start..middle]);
        self.value = (middle, middle + value);
        self.next = middle + value;
        debug_assert!(at < self.next && self.next <= self.block.limit, "on, and in the block");
        debug_assert_eq!(self.key.len(), shared + further, "the lengths of the entry");
        debug_assert!(start >= at + 3, "an entry begins with three lengths");
        let begin = self.block.restart(self.restart);
        debug_assert!(begin.is_ok_and(|begin| begin <= at), "the entry is before its restart");

        Ok(())
    }

    fn damaged(&mut self, damage: Damage) -> Result<(), Damage> {
        self.at = self.block.limit;
        self.next = self.at;
        Err(damage)
    }

    pub(crate) fn first(&mut self) -> Result<(), Damage> {
        self.seek_to_restart(0)
    }

    pub(crate) fn last(&mut self) -> Result<(), Damage> {
        if self.block.restarts == 0 {
            self.at = self.block.limit;
            return Ok(());
        }
        self.go_to_restart(self.block.restarts - 1)?;
        self.parse()?;
        while self.next < self.block.limit {
            self.parse()?;
        }
        debug_assert!(!self.valid() || self.next == self.block.limit, "entries follow the last");
        Ok(())
    }

    /// Go to the entry at a restart; beyond the last restart there is none.
    pub(crate) fn seek_to_restart(&mut self, index: usize) -> Result<(), Damage> {
        if index >= self.block.restarts {
            self.at = self.block.limit;
            return Ok(());
        }
        self.go_to_restart(index)?;
        self.parse()
    }

    /// Go to the first entry not below `target`.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<(), Damage> {
        self.seek_among(target, 0, self.block.restarts)
    }

    /// As `seek`, if the keys of the restarts before `low` are known to be below the target, and
    /// those from `high` on above it.
    pub(crate) fn seek_among(
        &mut self,
        target: &[u8],
        low: usize,
        high: usize,
    ) -> Result<(), Damage> {
        if self.block.restarts == 0 {
            self.at = self.block.limit;
            return Ok(());
        }
        debug_assert!(low <= high && high <= self.block.restarts, "restarts {low} to {high}");
        debug_assert_eq!(self.least, 8, "only internal keys can be searched");
        // The last restart whose key is below the target, or the first one.
        let (mut low, mut high) = (low.saturating_sub(1), high.saturating_sub(1));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if key::compare(self.block.restart_key(middle)?, target) == Ordering::Less {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        self.go_to_restart(low)?;
        loop {
            self.parse()?;
            if !self.valid() || key::compare(&self.key, target) != Ordering::Less {
                return Ok(());
            }
        }
    }

    /// Go to the next entry. The position must be valid.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<(), Damage> {
        debug_assert!(self.valid(), "no entry");
        self.parse()
    }

    /// Go to the previous entry. The position must be valid.
    pub(crate) fn prev(&mut self) -> Result<(), Damage> {
        debug_assert!(self.valid(), "no entry");
        let old = self.at;
        // `restart` may lag behind after `next`: find the last restart before the entry.
        let mut low = 0;
        let mut high = self.block.restarts;
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.block.restart(middle)? < old {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == 0 {
            self.at = self.block.limit;
            return Ok(());
        }
        self.go_to_restart(low - 1)?;
        loop {
            self.parse()?;
            debug_assert!(self.at < old, "the previous entry begins before");
            if self.next >= old || !self.valid() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::block_builder::BlockBuilder;
    use super::*;
    use crate::format::key::{Tag, internal};

    fn block(count: u32, interval: usize) -> Block {
        let mut builder = BlockBuilder::new(interval);
        for i in 0..count {
            let key = internal(format!("key{:04}", i * 2).as_bytes(), Tag::seek(7));
            let size = builder.size_with(&key, &[7; 3]);
            builder.add(&key, &[7; 3]);
            assert_eq!(size, builder.size());
        }
        Block::new(Piece::from(builder.finish().to_vec())).expect("a good block")
    }

    #[test]
    fn both_ways_and_seeks() {
        for (count, interval) in [(0, 1), (1, 16), (100, 1), (100, 16), (33, 16)] {
            let mut iter = BlockIter::new(block(count, interval));
            let mut forward = Vec::new();
            iter.first().expect("good");
            while iter.valid() {
                forward.push(iter.key().to_vec());
                iter.next().expect("good");
            }
            assert_eq!(forward.len(), count as usize);
            iter.last().expect("good");
            for key in forward.iter().rev() {
                assert_eq!(iter.key(), key);
                iter.prev().expect("good");
            }
            assert!(!iter.valid());
            for i in 0..count * 2 + 2 {
                iter.seek(&internal(format!("key{i:04}").as_bytes(), Tag::seek(9))).expect("good");
                let expected = forward.get(i.div_ceil(2) as usize);
                assert_eq!(iter.valid().then(|| iter.key().to_vec()).as_ref(), expected);
            }
        }
    }

    /// Short lengths, and lengths of three bytes, in each of the three fields.
    #[test]
    fn lengths_of_more_than_one_byte_are_read() {
        let (b, c) = ("b".repeat(20_000), "c".repeat(20_000));
        let [bc, bd, bdc, bec] =
            ["1", "2", "2+", "3+"].map(|end| b.clone() + &end.replace('+', &c));
        let users = ["a", &b, &bc, &bd, &bdc, &bec, &c, "d"];
        let long = [7; 20_000];
        let values: [&[u8]; 8] = [&[], &[], &long, &[1], &long, &[1], &long, &long];
        let mut builder = BlockBuilder::new(16);
        for (user, value) in users.iter().zip(values) {
            let key = internal(user.as_bytes(), Tag::seek(7));
            let size = builder.size_with(&key, value);
            builder.add(&key, value);
            assert_eq!(size, builder.size());
        }
        let block = Block::new(Piece::from(builder.finish().to_vec())).expect("a good block");
        let mut iter = BlockIter::new(block);
        iter.first().expect("good");
        for (user, value) in users.iter().zip(values) {
            let key = internal(user.as_bytes(), Tag::seek(7));
            assert_eq!((iter.key(), iter.value()), (&key[..], value));
            iter.next().expect("good");
        }
        assert!(!iter.valid());
    }

    /// Entries before the target's restart are not read.
    #[test]
    fn a_seek_reads_from_the_last_restart_before_its_target() {
        let good = block(100, 16);
        let mut data = good.data.to_vec();
        // The second entry: neither it nor what follows up to the next restart can be read.
        let second = good.head(0).map(|(_, further, value, start)| start + further + value);
        data[second.expect("good")..][..3].fill(0xff);
        let mut iter = BlockIter::new(Block::new(Piece::from(data)).expect("a good trailer"));
        let key = |i: u32| internal(format!("key{i:04}").as_bytes(), Tag::seek(9));
        assert!(iter.seek(&key(2)).is_err());
        for i in (40..200).step_by(2) {
            iter.seek(&key(i)).expect("good");
            assert_eq!(key::user(iter.key()), format!("key{i:04}").as_bytes());
        }
    }
}
