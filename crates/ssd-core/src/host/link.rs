//! The serial link between host and device: transfers cross it one at a time, at its rate.

use crate::config::LinkDuplex;
use crate::units::Nanos;

const NS_PER_S: u64 = 1_000_000_000;

/// Direction of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    /// Data of a write.
    Device = 0,
    /// Data of a read.
    Host = 1,
}

/// When a direction is free: `rest / rate` nanoseconds after `free_at`.
#[derive(Clone, Copy, Default)]
struct Direction {
    free_at: Nanos,
    rest: u64,
}

/// A link that serves transfers in the order in which they are requested.
pub(crate) struct Link {
    bytes_per_s: u64,
    duplex: LinkDuplex,
    directions: [Direction; 2],
    /// When the write admitted last begins to cross.
    pub(crate) write_from: Nanos,
}

impl Link {
    /// An idle link with a rate of `bytes_per_s`, at least 1.
    pub(crate) fn new(bytes_per_s: u64, duplex: LinkDuplex) -> Link {
        assert!(bytes_per_s > 0, "the config layer has checked the rate");
        Link { bytes_per_s, duplex, directions: [Direction::default(); 2], write_from: Nanos::ZERO }
    }

    /// Transfer `bytes`, at most 64 KiB, `toward` one side as soon as the link is free, not before `now`.
    /// Returns when they begin to cross it and when the last of them has crossed.
    ///
    /// Consecutive transfers lose no time to rounding.
    pub(crate) fn carry(&mut self, now: Nanos, toward: Destination, bytes: u64) -> (Nanos, Nanos) {
        assert!(bytes <= 1 << 16, "{bytes} bytes are more than a page");
        let shared = self.duplex == LinkDuplex::Half;
        let way = &mut self.directions[if shared { 0 } else { toward as usize }];
        if way.free_at < now {
            *way = Direction { free_at: now, rest: 0 };
        }
        let begin = way.next_whole();
        let scaled = bytes * NS_PER_S + way.rest;
        way.free_at = Nanos(way.free_at.0.saturating_add(scaled / self.bytes_per_s));
        way.rest = scaled % self.bytes_per_s;
        let end = way.next_whole();
        assert!(now <= begin && begin <= end, "data cross the link backwards");
        (begin, end)
    }
}

impl Direction {
    /// The first whole nanosecond at which it is free.
    fn next_whole(self) -> Nanos {
        Nanos(self.free_at.0.saturating_add(u64::from(self.rest > 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_apart_or_shared() {
        for (duplex, read_ends) in [(LinkDuplex::Full, 500), (LinkDuplex::Half, 1500)] {
            let mut link = Link::new(1_000_000_000, duplex);
            assert_eq!(link.carry(Nanos(0), Destination::Device, 1000), (Nanos(0), Nanos(1000)));
            let (begin, end) = link.carry(Nanos(0), Destination::Host, 500);
            assert_eq!((begin.0, end.0), (read_ends - 500, read_ends));
            assert_eq!(link.carry(Nanos(7000), Destination::Host, 1), (Nanos(7000), Nanos(7001)));
        }
    }

    #[test]
    fn no_time_is_lost_or_won_by_rounding() {
        let mut link = Link::new(3_000_000_000, LinkDuplex::Full);
        let mut end = Nanos::ZERO;
        for _ in 0..3000 {
            end = link.carry(Nanos(0), Destination::Host, 100).1;
        }
        assert_eq!(end, Nanos(100_000));
        assert_eq!(link.carry(Nanos(200_000), Destination::Host, 100).1, Nanos(200_034));
    }
}
