//! The orders of operations on a busy unit, one file each.

mod choices;
mod heads;

use crate::plug::PolicySpec;
pub use choices::Choices;
pub use heads::{Heads, R_GC, R_HOST, Turn, W_GC, W_HOST};

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

        /// Whether it looks at what the unit started last. If not, that is not recorded.
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
