//! What an order sees of a busy unit: the heads of its queues, and whose turn it was.

/// Host reads.
pub const R_HOST: usize = 0;
/// Host writes.
pub const W_HOST: usize = 1;
/// GC reads.
pub const R_GC: usize = 2;
/// GC programs and erases.
pub const W_GC: usize = 3;

/// Queues of collection, as bits.
const GC: u8 = 1 << R_GC | 1 << W_GC;

/// What a unit started last: the queue, and how many of its operations in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Turn {
    queue: u8,
    taken: u8,
}

impl Turn {
    /// The queue; before the first operation, that of host reads.
    #[must_use]
    pub const fn queue(self) -> usize {
        self.queue as usize
    }

    /// How many of its operations have started in a row, at most 255.
    #[must_use]
    pub const fn taken(self) -> u8 {
        self.taken
    }

    /// An operation of `queue` starts.
    #[inline(always)]
    pub fn starts(&mut self, queue: usize) {
        debug_assert!(queue < 4, "there is no queue {queue}");
        let before = if self.queue() == queue { self.taken } else { 0 };
        *self = Turn { queue: queue as u8, taken: before.saturating_add(1) };
    }
}

/// The operations at the heads of the four queues of one busy unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Heads {
    present: u8,
    urgent: u8,
    age: [u64; 4],
    turn: Turn,
}

impl Heads {
    /// `queue` has a head that may start: queued as number `age` over the device (smaller is older),
    /// `urgent` if it belongs to foreground collection.
    #[inline(always)]
    pub fn set(&mut self, queue: usize, age: u64, urgent: bool) {
        self.present |= 1 << queue;
        self.urgent |= u8::from(urgent) << queue;
        self.age[queue] = age;
    }

    /// What the unit started last.
    #[inline(always)]
    pub fn set_turn(&mut self, turn: Turn) {
        self.turn = turn;
    }

    /// What the unit started last, if the order takes turns.
    #[must_use]
    pub const fn turn(&self) -> Turn {
        self.turn
    }

    /// Heads whose ages do not matter: `present` has a bit for each queue with a head. `urgent`: those of GC belong to
    /// foreground collection.
    pub(super) const fn without_ages(present: u8, urgent: bool) -> Heads {
        let urgent = if urgent { present & GC } else { 0 };
        Heads { age: [0; 4], present, urgent, turn: Turn { queue: 0, taken: 0 } }
    }

    /// Whether no queue has a head that may start.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Whether `queue` has a head that may start.
    #[inline(always)]
    #[must_use]
    pub const fn has(&self, queue: usize) -> bool {
        self.present >> queue & 1 == 1
    }

    /// The age of the head of `queue`.
    #[inline(always)]
    #[must_use]
    pub fn age(&self, queue: usize) -> Option<u64> {
        self.has(queue).then(|| self.age[queue])
    }

    /// Whether a GC head belongs to foreground collection.
    #[inline(always)]
    #[must_use]
    pub const fn gc_is_urgent(&self) -> bool {
        self.urgent & GC != 0
    }

    /// The first queue of `order` that has a head.
    #[inline(always)]
    #[must_use]
    pub fn first_of(&self, order: &[usize]) -> Option<usize> {
        order.iter().copied().find(|&q| self.has(q))
    }

    /// The queue with the oldest head among `queues`; at equal age, the first of them.
    #[inline(always)]
    #[must_use]
    pub fn oldest_of(&self, queues: &[usize]) -> Option<usize> {
        let ages = queues.iter().copied().filter_map(|q| self.age(q).map(|age| (age, q)));
        ages.min_by_key(|&(age, _)| age).map(|(_, q)| q)
    }
}
