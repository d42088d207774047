//! A cache that evicts the least recently used entry. Deterministic: equal calls give equal contents.

/// Entries with a key of two numbers and a weight; the total weight is bounded.
pub(crate) struct Lru<V> {
    capacity: usize,
    weight: usize,
    slots: Vec<Slot<V>>,
    free: Vec<u32>,
    /// The first slot of each chain; their number is a power of two.
    chains: Vec<u32>,
    newest: u32,
    oldest: u32,
}

struct Slot<V> {
    key: (u64, u64),
    value: Option<V>,
    weight: usize,
    chain: u32,
    newer: u32,
    older: u32,
}

const NONE: u32 = u32::MAX;

impl<V: Clone> Lru<V> {
    pub(crate) fn new(capacity: usize) -> Lru<V> {
        let (slots, free, chains) = (Vec::new(), Vec::new(), vec![NONE; 64]);
        Lru { capacity, weight: 0, slots, free, chains, newest: NONE, oldest: NONE }
    }

    fn chain_of(&self, key: (u64, u64)) -> usize {
        debug_assert!(self.chains.len().is_power_of_two(), "the mask below is all ones");
        let mixed = (key.0.rotate_left(32) ^ key.1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.chains.len() - 1)
    }

    fn find(&self, key: (u64, u64)) -> Option<u32> {
        let mut at = self.chains[self.chain_of(key)];
        while at != NONE {
            let slot = &self.slots[at as usize];
            debug_assert!(slot.value.is_some(), "a free slot is in a chain");
            if slot.key == key {
                return Some(at);
            }
            at = slot.chain;
        }
        None
    }

    /// The entry of `key`, which becomes the most recently used.
    pub(crate) fn get(&mut self, key: (u64, u64)) -> Option<V> {
        let at = self.find(key)?;
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
        debug_assert_eq!(self.newest, at, "the used entry is the newest");
        debug_assert!(self.slots[at as usize].value.is_some(), "free slots are in no chain");
        self.slots[at as usize].value.clone()
    }

    /// Add an entry, or replace that of `key`; evicts the least recently used ones until the weights fit.
    pub(crate) fn insert(&mut self, key: (u64, u64), value: V, weight: usize) {
        self.remove(key);
        debug_assert!(self.find(key).is_none(), "a key has one entry");
        let at = self.free.pop().unwrap_or(self.slots.len() as u32);
        assert!(at != NONE, "slots have 32 bits, and one number means none");
        let slot = Slot { key, value: Some(value), weight, chain: NONE, newer: NONE, older: NONE };
        if at as usize == self.slots.len() {
            self.slots.push(slot);
        } else {
            debug_assert!(self.slots[at as usize].value.is_none(), "a slot in use is given again");
            self.slots[at as usize] = slot;
        }
        self.weight += weight;
        if self.slots.len() > self.chains.len() {
            self.grow();
        } else {
            self.enchain(at);
        }
        self.link(at);
        while self.weight > self.capacity && self.oldest != NONE {
            let oldest = self.slots[self.oldest as usize].key;
            self.remove(oldest);
        }
        let fits = weight <= self.capacity;
        debug_assert_eq!(self.find(key).is_some(), fits, "the newest entry goes last");
        self.check();
    }

    /// What must hold between calls, as far as it costs nothing.
    fn check(&self) {
        assert!(self.chains.len().is_power_of_two(), "the mask is all ones");
        assert!(self.slots.len() <= self.chains.len(), "chains are short");
        assert!(self.free.len() <= self.slots.len(), "a slot is free twice");
        let end = |at: u32| self.slots.get(at as usize);
        assert!(
            end(self.newest).is_none_or(|slot| slot.newer == NONE),
            "the newest has a newer one"
        );
        assert!(
            end(self.oldest).is_none_or(|slot| slot.older == NONE),
            "the oldest has an older one"
        );
        let is_empty = self.slots.len() == self.free.len();
        assert_eq!(self.oldest == NONE, is_empty, "slots are in use or free");
        assert_eq!(self.newest == NONE, is_empty, "both ends of the order of use");
        assert!(!is_empty || self.weight == 0, "{} left of nothing", self.weight);
        assert!(self.weight <= self.capacity, "{} of {}", self.weight, self.capacity);
    }

    pub(crate) fn remove(&mut self, key: (u64, u64)) {
        let Some(at) = self.find(key) else { return };
        let next = self.slots[at as usize].chain;
        let chain = self.chain_of(key);
        if self.chains[chain] == at {
            self.chains[chain] = next;
        } else {
            let mut before = self.chains[chain];
            while self.slots[before as usize].chain != at {
                before = self.slots[before as usize].chain;
            }
            self.slots[before as usize].chain = next;
        }
        self.unlink(at);
        assert!(self.weight >= self.slots[at as usize].weight, "an entry was counted");
        self.weight -= self.slots[at as usize].weight;
        debug_assert!(self.slots[at as usize].value.is_some(), "a slot is freed once");
        debug_assert!(self.find(key).is_none(), "a key has two entries");
        self.slots[at as usize].value = None;
        self.free.push(at);
    }

    /// Total weight of the entries.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    fn enchain(&mut self, at: u32) {
        let chain = self.chain_of(self.slots[at as usize].key);
        debug_assert_ne!(self.chains[chain], at, "a chain of one slot would be endless");
        self.slots[at as usize].chain = self.chains[chain];
        self.chains[chain] = at;
    }

    fn grow(&mut self) {
        self.chains = vec![NONE; self.chains.len() * 2];
        for at in 0..self.slots.len() {
            if self.slots[at].value.is_some() {
                self.enchain(at as u32);
            }
        }
        assert!(self.slots.len() <= self.chains.len(), "chains are short");
    }

    fn link(&mut self, at: u32) {
        debug_assert_ne!(self.newest, at, "linked twice");
        self.slots[at as usize].older = self.newest;
        self.slots[at as usize].newer = NONE;
        match self.newest {
            NONE => self.oldest = at,
            newest => self.slots[newest as usize].newer = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let (newer, older) = (self.slots[at as usize].newer, self.slots[at as usize].older);
        debug_assert!(newer != NONE || self.newest == at, "only the newest has no newer one");
        debug_assert!(older != NONE || self.oldest == at, "only the oldest has no older one");
        match newer {
            NONE => self.newest = older,
            slot => self.slots[slot as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            slot => self.slots[slot as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(256, 93))]

        /// Against a list in order of use.
        #[test]
        fn forgets_the_oldest(calls in proptest::collection::vec((0_u64..40, 0_u8..3, 1_usize..5), 0..400)) {
            let mut lru = Lru::new(60);
            let mut model: Vec<(u64, usize)> = Vec::new();
            for (key, call, weight) in calls {
                let place = model.iter().position(|e| e.0 == key);
                match call {
                    0 => {
                        lru.insert((key, 1), weight, weight);
                        if let Some(i) = place { model.remove(i); }
                        model.push((key, weight));
                        while model.iter().map(|e| e.1).sum::<usize>() > 60 { model.remove(0); }
                    }
                    1 => {
                        prop_assert_eq!(lru.get((key, 1)), place.map(|i| model[i].1));
                        if let Some(i) = place { let e = model.remove(i); model.push(e); }
                    }
                    _ => {
                        lru.remove((key, 1));
                        if let Some(i) = place { model.remove(i); }
                    }
                }
                prop_assert_eq!(lru.weight(), model.iter().map(|e| e.1).sum::<usize>());
            }
        }
    }
}
