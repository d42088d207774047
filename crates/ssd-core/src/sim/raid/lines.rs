//! Which updates want a group: they stand in a line, first come first served, and the first one has locked the group,
//! or will when its data have arrived.
//!
//! The first update of a line is found by its group in a hash table of chains: a search tree took a tenth of an update.
//! Nothing depends on the order of the chains.

use crate::ftl::raid::GroupId;
use crate::units::UpdateSlot;

/// Where an update stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    group: GroupId,
    is_first: bool,
    /// The update behind it.
    successor: UpdateSlot,
    /// For a first update, the last in its line.
    last: UpdateSlot,
    /// For a first update, the next in its chain.
    beside: UpdateSlot,
}

/// The lines of all groups that are wanted.
#[derive(Debug)]
pub(super) struct Lines {
    /// First updates, by the hash of their groups' numbers.
    chains: Vec<UpdateSlot>,
    places: Vec<Place>,
    count: usize,
}

impl Lines {
    pub(super) fn new() -> Lines {
        Lines { chains: vec![UpdateSlot::NONE; 64], places: Vec::new(), count: 0 }
    }

    #[inline]
    fn chain_of(&self, group: GroupId) -> usize {
        debug_assert!(self.chains.len().is_power_of_two(), "{} chains", self.chains.len());
        let mixed = group.0.wrapping_mul(0x9E37_79B1);
        (mixed >> (32 - self.chains.len().trailing_zeros())) as usize
    }

    /// The first in the line of `group`, if any.
    #[inline]
    pub(super) fn first(&self, group: GroupId) -> Option<UpdateSlot> {
        debug_assert!(self.count <= self.places.len(), "{} lines", self.count);
        let mut at = self.chains[self.chain_of(group)];
        while at != UpdateSlot::NONE {
            let place = &self.places[at.at()];
            if place.group == group {
                return Some(at);
            }
            at = place.beside;
        }
        None
    }

    /// Whether `update` is the first in its line.
    #[inline]
    pub(super) fn is_first(&self, update: UpdateSlot) -> bool {
        debug_assert!(update.at() < self.places.len(), "{update:?} has never stood in line");
        self.places[update.at()].is_first
    }

    /// Append `update` to the line of `group`.
    pub(super) fn enter(&mut self, update: UpdateSlot, group: GroupId) {
        let none = UpdateSlot::NONE;
        let first = self.first(group);
        let (is_first, last) = (first.is_none(), update);
        let place = Place { group, is_first, successor: none, last, beside: none };
        if update.at() == self.places.len() {
            self.places.push(place);
        }
        assert!(update.at() < self.places.len(), "{update:?} leaves out others");
        self.places[update.at()] = place;
        match first {
            None => {
                self.put_first(update);
                self.count += 1;
                if self.count * 2 > self.chains.len() {
                    self.grow();
                }
            }
            Some(first) => {
                let last = std::mem::replace(&mut self.places[first.at()].last, update);
                assert_ne!(last, update, "{update:?} stands behind itself");
                self.places[last.at()].successor = update;
            }
        }
    }

    /// Remove `update`, the first in its line. Returns the new first one.
    pub(super) fn leave(&mut self, update: UpdateSlot) -> Option<UpdateSlot> {
        let Place { group, is_first, successor, last, beside } = self.places[update.at()];
        assert!(is_first, "{update:?} leaves from the middle of its line");
        let chain = self.chain_of(group);
        if self.chains[chain] == update {
            self.chains[chain] = beside;
        } else {
            let mut at = self.chains[chain];
            while self.places[at.at()].beside != update {
                at = self.places[at.at()].beside;
            }
            self.places[at.at()].beside = beside;
        }
        self.places[update.at()].is_first = false;
        if successor == UpdateSlot::NONE {
            debug_assert_eq!(last, update, "{update:?} is followed by nobody");
            self.count -= 1;
            return None;
        }
        let place = &mut self.places[successor.at()];
        (place.is_first, place.last) = (true, last);
        self.put_first(successor);
        Some(successor)
    }

    /// The update behind `first`, the first in its line.
    pub(super) fn second(&self, first: UpdateSlot) -> Option<UpdateSlot> {
        debug_assert!(self.is_first(first), "{first:?} is not first");
        let second = self.places[first.at()].successor;
        (second != UpdateSlot::NONE).then_some(second)
    }

    /// Remove the update behind `first`, the first in its line.
    pub(super) fn leave_second(&mut self, first: UpdateSlot) {
        let second = self.second(first).expect("someone stands behind it");
        let successor = self.places[second.at()].successor;
        let place = &mut self.places[first.at()];
        place.successor = successor;
        if place.last == second {
            place.last = first;
        }
    }

    fn put_first(&mut self, update: UpdateSlot) {
        let chain = self.chain_of(self.places[update.at()].group);
        debug_assert!(self.places[update.at()].is_first, "{update:?} is not first");
        self.places[update.at()].beside = std::mem::replace(&mut self.chains[chain], update);
    }

    #[cold]
    fn grow(&mut self) {
        let firsts: Vec<UpdateSlot> = self.firsts().collect();
        assert_eq!(firsts.len(), self.count, "lines have been lost");
        self.chains = vec![UpdateSlot::NONE; self.chains.len() * 2];
        firsts.into_iter().for_each(|update| self.put_first(update));
    }

    /// The first update of every line.
    pub(super) fn firsts(&self) -> impl Iterator<Item = UpdateSlot> + '_ {
        debug_assert!(self.count * 2 <= self.chains.len() + 2, "{} lines", self.count);
        self.chains.iter().flat_map(|&first| self.follow(first, |place| place.beside))
    }

    /// The line that `first` begins.
    pub(super) fn line(&self, first: UpdateSlot) -> impl Iterator<Item = UpdateSlot> + '_ {
        debug_assert!(self.is_first(first), "{first:?} is not first");
        self.follow(first, |place| place.successor)
    }

    fn follow(
        &self,
        from: UpdateSlot,
        next: impl Fn(&Place) -> UpdateSlot,
    ) -> impl Iterator<Item = UpdateSlot> {
        debug_assert!(from == UpdateSlot::NONE || from.at() < self.places.len(), "{from:?} is new");
        let to_option = |at: UpdateSlot| (at != UpdateSlot::NONE).then_some(at);
        std::iter::successors(to_option(from), move |at| to_option(next(&self.places[at.at()])))
    }

    /// Check that every line is of one group, and ends with the update that its first one names.
    pub(super) fn audit(&self) -> Result<(), String> {
        let (mut lines, mut misplaced) = (0, 0);
        for first in self.firsts() {
            let Place { group, last, is_first, .. } = self.places[first.at()];
            let (of_group, ends) = self.line(first).fold((true, first), |(is_of_group, _), at| {
                (is_of_group && self.places[at.at()].group == group, at)
            });
            if !of_group || ends != last || !is_first || self.first(group) != Some(first) {
                return Err(format!(
                    "the line of {group:?} is not one, or does not end at {last:?}"
                ));
            }
            misplaced += self.line(first).skip(1).filter(|&at| self.is_first(at)).count();
            lines += 1;
        }
        if lines != self.count || misplaced > 0 {
            return Err(format!(
                "{lines} lines, {} counted, {misplaced} firsts behind",
                self.count
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, VecDeque};

    #[test]
    fn lines_are_queues_by_group() {
        let mut rng = crate::rng::Stream::new(7, "lines");
        let (mut lines, mut naive) = (Lines::new(), BTreeMap::<u32, VecDeque<u32>>::new());
        let (mut free, mut used) = (Vec::new(), 0);
        for step in 0..20_000u32 {
            let fills = rng.below(100) < if step / 2_000 % 2 == 0 { 70 } else { 30 };
            let group = rng.below(300) as u32 * 1_000;
            if fills {
                let slot = free.pop().unwrap_or_else(|| {
                    used += 1;
                    used - 1
                });
                lines.enter(UpdateSlot(slot), GroupId(group));
                naive.entry(group).or_default().push_back(slot);
            } else if let Some(line) = naive.get_mut(&group).filter(|line| line.len() > 1)
                && rng.below(4) == 0
            {
                let (first, second) = (line[0], line.remove(1).expect("two stand in line"));
                assert_eq!(lines.second(UpdateSlot(first)), Some(UpdateSlot(second)));
                lines.leave_second(UpdateSlot(first));
                free.push(second);
            } else if let Some(line) = naive.get_mut(&group) {
                let slot = line.pop_front().expect("a line has someone in it");
                assert!(lines.is_first(UpdateSlot(slot)));
                let next = lines.leave(UpdateSlot(slot));
                assert_eq!(next, line.front().copied().map(UpdateSlot));
                free.push(slot);
                if line.is_empty() {
                    naive.remove(&group);
                }
            }
            let first = naive.get(&group).map(|line| UpdateSlot(line[0]));
            assert_eq!(lines.first(GroupId(group)), first);
            if step % 500 == 0 {
                lines.audit().unwrap();
                assert_eq!(lines.firsts().count(), naive.len());
            }
        }
    }
}
