//! The orders of operations on a busy unit, one file each.

use crate::plug::PolicySpec;

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

/// What a unit has started last: the queue, and how many operations of it in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Turn {
    queue: u8,
    taken: u8,
}

impl Turn {
    /// The queue. Before the first operation: that of host reads.
    #[must_use]
    pub const fn queue(self) -> usize {
        self.queue as usize
    }

    /// How many operations of it have started in a row, at most 255.
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

    /// What the unit has started last.
    #[inline(always)]
    pub fn set_turn(&mut self, turn: Turn) {
        self.turn = turn;
    }

    /// What the unit has started last, if the order takes turns.
    #[must_use]
    pub const fn turn(&self) -> Turn {
        self.turn
    }

    /// Heads of which the ages do not matter: `present` has a bit for each queue that has one. `urgent`: those of GC
    /// belong to foreground collection.
    const fn without_ages(present: u8, urgent: bool) -> Heads {
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

    /// The queue with the oldest head among `queues`; at equal age the one named first.
    #[inline(always)]
    #[must_use]
    pub fn oldest_of(&self, queues: &[usize]) -> Option<usize> {
        let ages = queues.iter().copied().filter_map(|q| self.age(q).map(|age| (age, q)));
        ages.min_by_key(|&(age, _)| age).map(|(_, q)| q)
    }
}

crate::plugs! {
    /// Which queue's head starts on an idle busy unit.
    pub trait OrderPolicy, order_hooks! {
        /// Index into `heads` of a queue with a head. At least one head is present.
        #[inline(always)]
        fn pick(&self, heads: &Heads) -> usize;

        /// Whether it compares the ages of heads. If not, they are 0.
        #[inline]
        fn compares_ages(&self) -> bool {
            true
        }

        /// Whether it looks at what the unit has started last. If not, that is not recorded.
        #[inline]
        fn takes_turns(&self) -> bool {
            false
        }
    }

    /// Every order, dispatched by `match`.
    // One line a policy, sorted by file name.
    pub enum Order = "order", build(spec: &PolicySpec) (spec) {
        fifo Fifo,
        gc_first GcFirst,
        host_first HostFirst,
        read_first ReadFirst,
        round_robin RoundRobin,
    }
}

/// What an order that compares no ages and takes no turns picks, for every combination of heads.
pub struct Choices([u8; 32]);

impl Choices {
    /// Those of `order`; none if it compares ages or takes turns.
    #[must_use]
    pub fn of(order: &Order) -> Option<Choices> {
        if order.compares_ages() || order.takes_turns() {
            return None;
        }
        let mut choices = Choices([0; 32]);
        for present in 1..16 {
            for urgent in [false, true] {
                let queue = order.pick(&Heads::without_ages(present, urgent));
                assert!(present >> queue & 1 == 1, "the order picked queue {queue}, without head");
                choices.0[Choices::at(present.into(), urgent)] = queue as u8;
            }
        }
        choices.check_that_others_do_not_matter();
        Some(choices)
    }

    #[inline(always)]
    fn at(present: u32, urgent: bool) -> usize {
        (present & 15 | u32::from(urgent) << 4) as usize
    }

    /// Of queues with heads, as bits of `present`, which goes first. `urgent`: a head of GC belongs to
    /// foreground collection.
    #[inline(always)]
    #[must_use]
    pub fn pick(&self, present: u32, urgent: bool) -> usize {
        debug_assert!(0 < present && present < 16, "{present:b} are no queues");
        self.0[Choices::at(present, urgent)].into()
    }

    /// A queue that is picked is so without a host queue that was not. So whether a host queue has an operation that
    /// may start need not be known before it is picked.
    fn check_that_others_do_not_matter(&self) {
        for present in 1..16u32 {
            for (urgent, host) in [(false, R_HOST), (false, W_HOST), (true, R_HOST), (true, W_HOST)]
            {
                let (picked, less) = (self.pick(present, urgent), present & !(1 << host));
                let same = less == 0 || self.pick(less, urgent) == picked;
                assert!(picked == host || same, "without {host}, {present:b} gives another queue");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(ages: [Option<u64>; 4], urgent: usize) -> Heads {
        let mut heads = Heads::default();
        for (queue, age) in ages.into_iter().enumerate() {
            if let Some(age) = age {
                heads.set(queue, age, queue == urgent);
            }
        }
        heads
    }

    #[test]
    fn every_order_picks_a_queue_that_has_a_head() {
        for info in ALL {
            let order = Order::build(&PolicySpec::with_defaults(info));
            for mask in 1usize..16 {
                for urgent in 0..5 {
                    let age = |q: usize| (mask >> q & 1 == 1).then_some(9 - q as u64);
                    let heads = heads(std::array::from_fn(age), urgent);
                    assert!(heads.has(order.pick(&heads)), "{} {mask}", info.name);
                }
            }
        }
    }

    #[test]
    fn orders_do_what_their_names_say() {
        let pick = |name: &str, heads: &Heads| {
            let info = ALL.iter().find(|i| i.name == name).expect("known order");
            Order::build(&PolicySpec::with_defaults(info)).pick(heads)
        };
        let all = heads([Some(4), Some(3), Some(2), Some(1)], 9);
        assert_eq!(pick("fifo", &all), W_GC);
        assert_eq!(pick("gc-first", &all), W_GC);
        assert_eq!(pick("host-first", &all), R_HOST);
        assert_eq!(pick("read-first", &all), R_HOST);
        let no_read = heads([None, Some(1), Some(2), Some(3)], 9);
        assert_eq!(pick("host-first", &no_read), W_HOST);
        assert_eq!(pick("read-first", &no_read), W_HOST);
        let urgent = heads([None, Some(1), Some(2), None], R_GC);
        assert_eq!(pick("host-first", &urgent), R_GC);
        let tie = heads([None, None, Some(5), Some(5)], 9);
        assert_eq!(pick("fifo", &tie), W_GC);
    }
}
