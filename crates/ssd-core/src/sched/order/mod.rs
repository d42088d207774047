//! Who goes first? One file per order.

use crate::plug::{PolicyInfo, PolicySpec};

/// Host reads.
pub const R_HOST: usize = 0;
/// Host writes.
pub const W_HOST: usize = 1;
/// GC reads.
pub const R_GC: usize = 2;
/// GC programs and erases.
pub const W_GC: usize = 3;

/// The oldest operation of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Position in the order in which operations were queued over the device; smaller is older.
    pub age: u64,
    /// Belongs to foreground collection: the pool is at its reserve.
    pub urgent: bool,
}

/// Heads of the four queues of one busy unit, indexed by `R_HOST`, `W_HOST`, `R_GC`, `W_GC`; `None`
/// where a queue is empty or may not start now.
pub type Heads = [Option<Head>; 4];

/// Which queue's head starts on an idle busy unit.
pub trait OrderPolicy {
    /// Index into `heads` of a queue with a head. At least one head is present.
    fn pick(&self, heads: &Heads) -> usize;
}

/// The first queue of `order` that has a head.
pub(crate) fn first_of(heads: &Heads, order: &[usize]) -> Option<usize> {
    order.iter().copied().find(|&q| heads[q].is_some())
}

/// The queue with the oldest head among `queues`; at equal age the one named first.
pub(crate) fn oldest_of(heads: &Heads, queues: &[usize]) -> Option<usize> {
    queues
        .iter()
        .copied()
        .filter_map(|q| heads[q].map(|h| (h.age, q)))
        .min_by_key(|&(age, _)| age)
        .map(|(_, q)| q)
}

/// Whether a GC head belongs to foreground collection.
pub(crate) fn gc_is_urgent(heads: &Heads) -> bool {
    [W_GC, R_GC].iter().any(|&q| heads[q].is_some_and(|h| h.urgent))
}

macro_rules! orders {
    ($($file:ident $variant:ident),+ $(,)?) => {
        $(pub mod $file;)+

        /// Every order, dispatched by `match`.
        pub enum Order {
            $(#[doc = stringify!($file)] $variant($file::Policy),)+
            /// A policy from outside the crate (Python).
            External(Box<dyn OrderPolicy>),
        }

        /// What the policies say of themselves, sorted by name.
        pub const ALL: &[&PolicyInfo] = &[$(&$file::INFO),+];

        impl Order {
            /// The policy that `spec` names.
            ///
            /// # Panics
            /// If the name is unknown: the config layer has checked it.
            #[must_use]
            pub fn build(spec: &PolicySpec) -> Order {
                $(if spec.policy == $file::INFO.name {
                    return Order::$variant($file::Policy::build(spec));
                })+
                panic!("order {:?} is not in the registry", spec.policy)
            }
        }

        impl OrderPolicy for Order {
            #[inline]
            fn pick(&self, heads: &Heads) -> usize {
                match self {
                    $(Order::$variant(p) => p.pick(heads),)+
                    Order::External(p) => p.pick(heads),
                }
            }
        }
    };
}

// One line a policy, sorted by file name.
orders! {
    fifo Fifo,
    gc_first GcFirst,
    host_first HostFirst,
    read_first ReadFirst,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(age: u64) -> Option<Head> {
        Some(Head { age, urgent: false })
    }

    #[test]
    fn every_order_picks_a_queue_that_has_a_head() {
        for info in ALL {
            let order = Order::build(&PolicySpec::with_defaults(info));
            for mask in 1usize..16 {
                for urgent in [false, true] {
                    let heads: Heads = std::array::from_fn(|q| {
                        (mask >> q & 1 == 1).then_some(Head { age: 9 - q as u64, urgent })
                    });
                    assert!(heads[order.pick(&heads)].is_some(), "{} {mask}", info.name);
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
        let heads = [head(4), head(3), head(2), head(1)];
        assert_eq!(pick("fifo", &heads), W_GC);
        assert_eq!(pick("gc-first", &heads), W_GC);
        assert_eq!(pick("host-first", &heads), R_HOST);
        assert_eq!(pick("read-first", &heads), R_HOST);
        let no_read = [None, head(1), head(2), head(3)];
        assert_eq!(pick("host-first", &no_read), W_HOST);
        assert_eq!(pick("read-first", &no_read), W_HOST);
        let urgent = [None, head(1), Some(Head { age: 2, urgent: true }), None];
        assert_eq!(pick("host-first", &urgent), R_GC);
        let tie = [None, None, head(5), head(5)];
        assert_eq!(pick("fifo", &tie), W_GC);
    }
}
