//! The skip list of a memtable: Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees", CACM 1990.
//!
//! Nodes lie in one vector of 32-bit words, key and short value next to the links. Long values lie in a second
//! vector: the nodes of a search then share cache lines and pages. Heights and the count of memory are those of
//! LevelDB (`db/skiplist.h`, `util/arena.cc`, release 1.23), so that equal writes fill equal tables. The count
//! determines when a table is full; it is not the memory that this one takes.

use crate::format::key::{Tag, compare_user};
use ssd_core::memory::{huge_capacity, prefetch};
use std::cmp::Ordering;

const MAX_HEIGHT: usize = 12;
/// Words of a node before its key: lengths of key and value, tag (2). Its links lie before them, the
/// lowest one last, so that the key can be located without knowing the number of links.
const HEAD: usize = 4;
/// The node before all others; as a link, it means that no node follows.
pub(super) const START: u32 = MAX_HEIGHT as u32;

/// A value of at least this many bytes is long: behind its key, the node has the position in `long_values` (2 words,
/// low one first) instead of the value.
pub(super) const LONG: usize = 512;
/// Bytes of a long value to prefetch; the processor detects the rest by itself.
const PREFETCHED: usize = 1024;
const CACHE_LINE: usize = 64;

pub(super) struct SkipList {
    words: Vec<u32>,
    long_values: Vec<u8>,
    height: usize,
    random: u32,
    pub(super) arena: Arena,
    /// The last node of each level, after which a key larger than all others is inserted.
    ends: [u32; MAX_HEIGHT],
}

/// LevelDB's count of its own memory.
pub(super) struct Arena {
    pub(super) usage: usize,
    place: usize,
    left: usize,
}

impl Arena {
    const BLOCK: usize = 4096;

    pub(super) fn allocate(&mut self, bytes: usize) {
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

    pub(super) fn allocate_aligned(&mut self, bytes: usize) {
        let slop = self.place.next_multiple_of(8) - self.place;
        self.allocate(if bytes + slop <= self.left { bytes + slop } else { bytes });
        debug_assert!(self.place.is_multiple_of(8), "nodes end where the next one can begin");
    }

    pub(super) fn node(&mut self, height: usize) {
        debug_assert!((1..=MAX_HEIGHT).contains(&height), "a node of {height} links");
        self.allocate_aligned(8 + 8 * height);
    }
}

impl SkipList {
    /// Empty, with room for about `capacity` bytes.
    pub(super) fn new(capacity: usize) -> SkipList {
        let mut words = Vec::with_capacity(capacity / 4 + 1024);
        words.resize(MAX_HEIGHT + HEAD, START);
        let mut arena = Arena { usage: 0, place: 0, left: 0 };
        arena.node(MAX_HEIGHT);
        let ends = [START; MAX_HEIGHT];
        let long_values = Vec::new();
        let list = SkipList { words, long_values, height: 1, random: 0x5ead_beef, arena, ends };
        debug_assert_eq!(list.next(START, 0), list.last(), "an empty list begins where it ends");
        list
    }

    #[inline]
    pub(super) fn next(&self, node: u32, level: usize) -> u32 {
        debug_assert!(node >= START && level < MAX_HEIGHT, "links lie before a node");
        self.words[node as usize - 1 - level]
    }

    #[inline]
    pub(super) fn bytes(&self, word: usize, length: usize) -> &[u8] {
        &bytemuck::cast_slice(&self.words[word..])[..length]
    }

    #[inline]
    pub(super) fn key(&self, node: u32) -> &[u8] {
        debug_assert!(node > START, "the start holds no entry");
        self.bytes(node as usize + HEAD, self.words[node as usize] as usize)
    }

    #[inline]
    pub(super) fn value_length(&self, node: u32) -> usize {
        debug_assert!(node > START, "the start holds no entry");
        self.words[node as usize + 1] as usize
    }

    #[inline]
    pub(super) fn value(&self, node: u32) -> &[u8] {
        debug_assert!(node > START, "the start holds no entry");
        let (key, length) = (self.words[node as usize] as usize, self.value_length(node));
        let data = node as usize + HEAD;
        if length < LONG {
            return &self.bytes(data, key + length)[key..];
        }
        let position = data + key.div_ceil(4);
        let (low, high) = (self.words[position], self.words[position + 1]);
        let begin = (u64::from(high) << 32 | u64::from(low)) as usize;
        debug_assert!(begin + length <= self.long_values.len(), "beyond the last long value");
        &self.long_values[begin..begin + length]
    }

    /// Bring the first bytes of the value towards the cache.
    pub(super) fn prefetch_value(&self, node: u32) {
        let value = self.value(node);
        debug_assert!(value.len() >= LONG, "a short value arrives with its key");
        for at in (0..value.len().min(PREFETCHED)).step_by(CACHE_LINE) {
            prefetch(value, at);
        }
    }

    /// Replace the contents of `out` by the internal key.
    #[inline]
    pub(super) fn put_key(&self, node: u32, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.key(node));
        out.extend_from_slice(&self.tag(node).0.to_le_bytes());
        debug_assert_eq!(crate::format::key::tag(out), self.tag(node), "readers find another tag");
    }

    #[inline]
    pub(super) fn tag(&self, node: u32) -> Tag {
        debug_assert!(node > START, "the start holds no entry");
        let (low, high) = (self.words[node as usize + 2], self.words[node as usize + 3]);
        Tag(u64::from(high) << 32 | u64::from(low))
    }

    /// Whether the node comes before this key and tag.
    #[inline]
    pub(super) fn before(&self, node: u32, key: &[u8], tag: Tag) -> bool {
        match compare_user(self.key(node), key) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.tag(node) > tag,
        }
    }

    /// The last node of each level before key and tag.
    pub(super) fn path(&self, key: &[u8], tag: Tag) -> [u32; MAX_HEIGHT] {
        let last = self.ends[0];
        // Keys often come in order: then the search is one comparison.
        if last != START && self.before(last, key, tag) {
            return self.ends;
        }
        debug_assert!((1..=MAX_HEIGHT).contains(&self.height), "a list of {} levels", self.height);
        let mut path = [START; MAX_HEIGHT];
        let (mut node, mut level, mut bound) = (START, self.height - 1, START);
        loop {
            let next = self.next(node, level);
            if next != START && next != bound && self.before(next, key, tag) {
                node = next;
                continue;
            }
            // What was too far on one level is too far on the lower ones.
            bound = next;
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

    pub(super) fn at_or_after(&self, key: &[u8], tag: Tag) -> u32 {
        self.next(self.path(key, tag)[0], 0)
    }

    /// LevelDB's generator: Park and Miller, CACM 1988, with the multiplier 16807.
    pub(super) fn random(&mut self) -> u32 {
        const M: u64 = 0x7fff_ffff;
        let product = u64::from(self.random) * 16807;
        let folded = (product >> 31) + (product & M);
        self.random = (if folded > M { folded - M } else { folded }) as u32;
        debug_assert!((1..M).contains(&u64::from(self.random)), "at 0 and M it would stay");
        self.random
    }

    pub(super) fn add(&mut self, key: &[u8], tag: Tag, value: &[u8]) {
        debug_assert!(tag.kind().is_some(), "whoever reads tags from files refuses unknown kinds");
        let path = self.path(key, tag);
        debug_assert!(
            path[0] == START || self.before(path[0], key, tag),
            "the place of a key comes after smaller ones"
        );

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
        let is_long = value.len() >= LONG;
        let inside = if is_long { &[] } else { value };
        let data = self.words.len();
        self.words.resize(data + (key.len() + inside.len()).div_ceil(4), 0);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words[data..]);
        bytes[..key.len()].copy_from_slice(key);
        bytes[key.len()..key.len() + inside.len()].copy_from_slice(inside);
        if is_long {
            if self.long_values.is_empty() {
                // All that the table may need: untouched memory costs nothing, but growing costs a copy.
                self.long_values = huge_capacity(4 * self.words.capacity());
            }
            let begin = self.long_values.len() as u64;
            self.words.extend_from_slice(&[begin as u32, (begin >> 32) as u32]);
            self.long_values.extend_from_slice(value);
        }

        debug_assert!(self.key(node) == key && self.value(node) == value, "as they were given");
        debug_assert_eq!(self.tag(node), tag, "both halves in their places");
        let (last, ends) = (self.ends[0], &self.ends[..self.height]);
        debug_assert!(last == node || !self.before(last, key, tag), "the last key is the largest");
        debug_assert!(ends.iter().all(|&end| end != START), "a level in use has a last node");
        let unused = &self.ends[self.height..];
        debug_assert!(unused.iter().all(|&end| end == START), "a node of an unused level");
        let lower_first =
            |&[low, high]: &[u32; 2]| !self.before(low, self.key(high), self.tag(high));
        debug_assert!(ends.array_windows().all(lower_first), "a node is not on all its levels");
        debug_assert_eq!(self.next(last, 0), START, "nothing follows the last node");
    }

    #[cfg(test)]
    pub(super) fn words_in_use(&self) -> usize {
        self.words.len()
    }

    pub(super) fn last(&self) -> u32 {
        debug_assert_eq!(self.next(self.ends[0], 0), START, "nothing follows the last node");
        self.ends[0]
    }
}
