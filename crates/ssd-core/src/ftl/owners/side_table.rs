//! The further owners of pages: pairs of a page and an LPN, in order.
//!
//! The pairs are stored in short pieces: a search finds the piece by its first pair, then the pair in it, and a change
//! moves no more than one piece. The pairs of a block are a range. An owner takes at most 16 bytes unless there are
//! only a few (tested).

use crate::units::{Lpn, Ppn};

/// Most pairs of a piece.
const MOST: usize = 128;
/// A piece of fewer pairs joins its neighbour if both fit into three quarters of a piece.
const FEW: usize = MOST / 4;
/// Pairs for which a full piece makes room.
const STEP: usize = 8;

/// Pairs of page and LPN.
#[derive(Clone, Default)]
pub(super) struct SideTable {
    /// No piece is empty.
    pieces: Vec<Vec<u64>>,
    len: usize,
}

fn key(page: Ppn, lpn: Lpn) -> u64 {
    debug_assert!(page != Ppn::NONE && lpn != Lpn::NONE, "a pair of {page:?} and {lpn:?}");
    u64::from(page.0) << 32 | u64::from(lpn.0)
}

fn pair(key: u64) -> (Ppn, Lpn) {
    (Ppn((key >> 32) as u32), Lpn(key as u32))
}

impl SideTable {
    /// Pairs.
    pub(super) fn len(&self) -> u64 {
        debug_assert_eq!(self.len == 0, self.pieces.is_empty(), "{} pairs", self.len);
        self.len as u64
    }

    /// The piece that contains `key` or would contain it, and its index there; no piece if there are none.
    #[inline]
    fn find(&self, key: u64) -> Option<(usize, Result<usize, usize>)> {
        let piece = self.pieces.partition_point(|piece| piece[0] <= key).saturating_sub(1);
        debug_assert!(piece == 0 || self.pieces[piece][0] <= key, "{key:x} is before its piece");
        Some((piece, self.pieces.get(piece)?.binary_search(&key)))
    }

    /// `lpn` owns `page`, too.
    pub(super) fn insert(&mut self, page: Ppn, lpn: Lpn) {
        let key = key(page, lpn);
        self.len += 1;
        let Some((at, place)) = self.find(key) else {
            self.pieces.push(vec![key]);
            return;
        };
        let place = place.expect_err("an owner owns a page once");
        let piece = &mut self.pieces[at];
        if piece.len() == piece.capacity() {
            piece.reserve_exact(STEP);
        }
        piece.insert(place, key);
        debug_assert!(piece.is_sorted(), "{page:?} and {lpn:?} are out of order");
        debug_assert!(piece.len() <= MOST + 1, "a piece of {} pairs", piece.len());
        if piece.len() > MOST {
            let second = piece.split_off(MOST / 2);
            piece.shrink_to(MOST / 2 + STEP);
            self.pieces.insert(at + 1, second);
        }
    }

    /// Remove `lpn` from the owners of `page`. Returns whether it was one.
    pub(super) fn remove(&mut self, page: Ppn, lpn: Lpn) -> bool {
        let Some((at, Ok(place))) = self.find(key(page, lpn)) else { return false };
        let piece = &mut self.pieces[at];
        debug_assert!(self.len > 0, "{page:?} has an owner, and no page has");
        piece.remove(place);
        self.len -= 1;
        if piece.len() + 2 * STEP < piece.capacity() {
            piece.shrink_to(piece.len() + STEP);
        }
        if piece.len() < FEW {
            self.join(at);
            if self.pieces.capacity() > 2 * self.pieces.len() {
                self.pieces.shrink_to(self.pieces.len() * 3 / 2);
            }
        }
        true
    }

    /// Merge the piece `at`, of few pairs, into a neighbour with room for it.
    fn join(&mut self, at: usize) {
        debug_assert!(self.pieces[at].len() < FEW, "a piece with room for itself");
        if self.pieces[at].is_empty() {
            self.pieces.remove(at);
            return;
        }
        let fits = |first: usize| {
            let neighbours = self.pieces.get(first..first + 2);
            neighbours.is_some_and(|two| two[0].len() + two[1].len() <= MOST - FEW)
        };
        let first = if fits(at) {
            at
        } else if at > 0 && fits(at - 1) {
            at - 1
        } else {
            return;
        };
        let second = self.pieces.remove(first + 1);
        self.pieces[first].reserve_exact(second.len());
        self.pieces[first].extend(second);
        debug_assert!(self.pieces[first].is_sorted(), "pieces are out of order");
        debug_assert!(self.pieces[first].len() <= MOST, "a piece is too long");
    }

    /// The pairs of the pages `from..end`, in order.
    #[inline]
    pub(super) fn range(&self, from: Ppn, end: Ppn) -> impl Iterator<Item = (Ppn, Lpn)> + '_ {
        debug_assert!(from <= end, "pages from {from:?} to {end:?}");
        let (from, end) = (u64::from(from.0) << 32, u64::from(end.0) << 32);
        let (piece, place) = match self.find(from) {
            Some((piece, place)) => (piece, place.unwrap_or_else(|place| place)),
            None => (0, 0),
        };
        let pieces = self.pieces[piece..].iter().enumerate();
        let keys = pieces.flat_map(move |(i, keys)| &keys[if i == 0 { place } else { 0 }..]);
        keys.take_while(move |&&key| key < end).map(|&key| pair(key))
    }

    /// All pairs, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = (Ppn, Lpn)> + '_ {
        self.pieces.iter().flatten().map(|&key| pair(key))
    }

    /// The further owners of `page`, in order.
    #[inline]
    pub(super) fn lpns(&self, page: Ppn) -> impl Iterator<Item = Lpn> + '_ {
        self.range(page, Ppn(page.0 + 1)).map(|(_, lpn)| lpn)
    }

    /// Take the further owners of `page`, leaving none.
    pub(super) fn take_all(&mut self, page: Ppn) -> Vec<Lpn> {
        let owners: Vec<Lpn> = self.lpns(page).collect();
        for &lpn in &owners {
            self.remove(page, lpn);
        }
        debug_assert!(self.lpns(page).next().is_none(), "{page:?} keeps an owner");
        debug_assert!(owners.is_sorted_by(|a, b| a < b), "owners of {page:?} are out of order");
        owners
    }

    /// Bytes held.
    pub(super) fn bytes_held(&self) -> usize {
        let pairs: usize = self.pieces.iter().map(Vec::capacity).sum();
        debug_assert!(pairs >= self.len, "{} pairs in room for {pairs}", self.len);
        pairs * size_of::<u64>() + self.pieces.capacity() * size_of::<Vec<u64>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use std::collections::BTreeSet;

    #[test]
    fn it_is_an_ordered_set_of_pairs() {
        for seed in 1..=8 {
            let mut rng = Stream::new(seed, "side table");
            let (mut table, mut naive) = (SideTable::default(), BTreeSet::new());
            for step in 0..6000u64 {
                let (page, lpn) = (Ppn(rng.below(300) as u32), Lpn(rng.below(9) as u32));
                // Grows, then shrinks to nothing.
                if rng.below(6000) >= step {
                    if naive.insert((page, lpn)) {
                        table.insert(page, lpn);
                    }
                } else if rng.below(8) == 0 {
                    let lpns: Vec<Lpn> = naive
                        .range((page, Lpn(0))..(Ppn(page.0 + 1), Lpn(0)))
                        .map(|&(_, lpn)| lpn)
                        .collect();
                    assert_eq!(table.take_all(page), lpns);
                    naive.retain(|&(other, _)| other != page);
                } else {
                    assert_eq!(table.remove(page, lpn), naive.remove(&(page, lpn)));
                }
                let end = Ppn(page.0 + rng.below(40) as u32);
                let expected = naive.range((page, Lpn(0))..(end, Lpn(0))).copied();
                assert!(table.range(page, end).eq(expected), "seed {seed}, step {step}");
                assert_eq!(table.len(), naive.len() as u64);
            }
            assert!(table.all().eq(naive.iter().copied()));
            assert!(table.pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= MOST));
        }
    }

    #[test]
    fn an_owner_takes_at_most_16_bytes() {
        for ascending in [true, false] {
            let mut rng = Stream::new(7, "side table");
            let (mut table, mut pairs) = (SideTable::default(), Vec::new());
            for i in 0..20_000u32 {
                let page = if ascending { i } else { rng.below(1 << 30) as u32 };
                table.insert(Ppn(page), Lpn(i));
                pairs.push((Ppn(page), Lpn(i)));
            }
            while pairs.len() > 200 {
                let bytes = table.bytes_held() as f64 / pairs.len() as f64;
                assert!(bytes <= 16.0, "{bytes} bytes an owner with {}", pairs.len());
                let (page, lpn) = pairs.swap_remove(rng.below(pairs.len() as u64) as usize);
                assert!(table.remove(page, lpn));
            }
        }
    }
}
