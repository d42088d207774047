//! Where else could a page of a parity group be written? One file per redirection.

use crate::plug::PolicySpec;

/// A chip at this instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chip {
    /// Its number in striping order.
    pub number: u32,
    /// The parity group of chips that it belongs to.
    pub group: u32,
    /// Programs that may start before its trigger holds (C_r).
    pub left: u64,
    /// Programs that wait in its queue (C_w), and those planned if the policy counts them.
    pub waiting: u64,
    /// Whether a block of it is being collected.
    pub collects: bool,
    /// Estimated time at which all its work for the host is done (CT).
    pub completion_ns: u64,
    /// Estimated start of the next request for it that waits in the controller (AT).
    pub next_arrival_ns: u64,
    /// Its pages with data whose home is elsewhere.
    pub foreign: u64,
    /// Its pages.
    pub pages: u64,
}

/// A page that waits on a chip that has warned.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The parity group that its home chip belongs to.
    pub group: u32,
    /// The chips that hold a page of its group, or are about to.
    pub members: &'a [u32],
    /// How long a program takes.
    pub takes_ns: u64,
}

crate::plugs! {
    /// Which writes go to a chip other than their home, and to which.
    pub trait RedirectPolicy, redirect_hooks! {
        /// Whether to redirect writes from the chip `home`.
        fn warns(&self, home: &Chip) -> bool;

        /// The position in `chips` of the one that takes `write`; `None` if it stays.
        fn target(&self, write: &Write, chips: &[Chip]) -> Option<usize>;

        /// Whether `chip` may take a write that takes `takes_ns` from a chip of the parity group `group`, unless it
        /// holds a page of the write's own group.
        fn is_open(&self, chip: &Chip, group: u32, takes_ns: u64) -> bool {
            let _ = (chip, group, takes_ns);
            true
        }

        /// Whether programs of updates that read or wait for room count as waiting ([`Chip::waiting`]).
        fn counts_planned(&self) -> bool {
            false
        }
    }

    /// Every redirection, dispatched by `match`.
    // One line a policy, sorted by file name.
    pub enum Redirect = "redirection", build(spec: &PolicySpec) (spec) {
        deferred_gc DeferredGc,
        none NoRedirect,
    }
}
