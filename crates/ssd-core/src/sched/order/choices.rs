//! The picks of an order as a table, so that a dispatch need not call the order.

use super::{Heads, Order, OrderPolicy, R_HOST, W_HOST};

/// The picks, for every combination of heads, of an order that compares no ages and takes no turns.
pub struct Choices([u8; 32]);

impl Choices {
    /// The choices of `order`; `None` if it compares ages or takes turns.
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

    /// Which of the queues with heads, as bits of `present`, goes first. `urgent`: a head of GC belongs to foreground
    /// collection.
    #[inline(always)]
    #[must_use]
    pub fn pick(&self, present: u32, urgent: bool) -> usize {
        debug_assert!(0 < present && present < 16, "{present:b} are no queues");
        self.0[Choices::at(present, urgent)].into()
    }

    /// Check that a queue that is picked is also picked without a host queue that was not. So whether a host queue has
    /// an operation that may start need not be known before it is picked.
    fn check_that_others_do_not_matter(&self) {
        for present in 1..16u32 {
            for (urgent, host) in [(false, R_HOST), (false, W_HOST), (true, R_HOST), (true, W_HOST)]
            {
                let (picked, less) = (self.pick(present, urgent), present & !(1 << host));
                let is_same = less == 0 || self.pick(less, urgent) == picked;
                assert!(
                    picked == host || is_same,
                    "without {host}, {present:b} gives another queue"
                );
            }
        }
    }
}
