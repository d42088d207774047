//! The interconnect as a grid of slices, with contention: packets queue in each slice.
//!
//! A page is one packet. Each slice forwards packets in the order in which their first flits arrive, one
//! packet at a time and one flit per slice time; the first flit moves on at once, and the others follow. The
//! queue of a slice is unbounded. A packet that finds every slice free therefore takes the time of
//! [`through`](super::interconnect::through), and any other packet that time plus its waiting time.
//!
//! Decisions (the paper gives only a figure and the size, 16 x 8): the flash controllers are spread evenly
//! along one edge; the host side has one port for each task queue of each channel, spread evenly along the
//! opposite edge with ports of one kind next to each other; packets travel along their row first, then along
//! the column (XY routing), so there is no circular wait.

use super::interconnect::through;
use crate::config::{Config, InterconnectModel};
use crate::units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where a packet enters or leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Port {
    /// The flash controller of a channel.
    Controller(u32),
    /// On the host side, the port of a task queue of a channel.
    Queue { channel: u32, queue: usize },
}

/// Task queues of a channel.
const QUEUES: u32 = 4;
/// A packet that has passed its last slice.
const OUT: u32 = u32::MAX;

/// The first flit of a packet on its way, ordered by time; at one instant the packet that entered first comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Head {
    at: Nanos,
    number: u64,
    /// The slice that it reaches then.
    slice: u32,
    last: u32,
    /// When the packet would have arrived without any other packets.
    due: Nanos,
    owner: u32,
}

/// A packet that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ArrivedPacket {
    /// Who sent it.
    pub(crate) owner: u32,
    /// How long it waited for other packets, nanoseconds.
    pub(crate) waited_ns: u64,
}

/// All slices with the packets in them.
pub(crate) struct Slices {
    columns: u32,
    rows: u32,
    channels: u32,
    slice_ns: u64,
    packet_ns: u64,
    /// When each slice has forwarded everything that has reached it.
    free_at: Vec<Nanos>,
    heads: BinaryHeap<Reverse<Head>>,
    entered: u64,
}

impl Slices {
    /// From a resolved config; `None` unless it asks for slices.
    pub(crate) fn new(config: &Config) -> Option<Slices> {
        let net = &config.interconnect;
        (net.model == InterconnectModel::Slices).then(|| Slices {
            columns: net.columns,
            rows: net.rows,
            channels: config.device.channels,
            slice_ns: net.slice_ns,
            packet_ns: through(config, 1),
            free_at: vec![Nanos::ZERO; (net.columns * net.rows) as usize],
            heads: BinaryHeap::new(),
            entered: 0,
        })
    }

    /// The slice of a port: numbered row by row, from the edge of the flash controllers.
    fn slice(&self, port: Port) -> u32 {
        let spread =
            |n: u32, total: u32| (u64::from(n) * u64::from(self.columns) / u64::from(total)) as u32;
        match port {
            Port::Controller(channel) => spread(channel, self.channels),
            Port::Queue { channel, queue } => {
                let port = queue as u32 * self.channels + channel;
                (self.rows - 1) * self.columns + spread(port, QUEUES * self.channels)
            }
        }
    }

    /// The slice after `slice` on the way to `last`.
    fn next(&self, slice: u32, last: u32) -> u32 {
        let column = |slice: u32| slice % self.columns;
        if column(slice) < column(last) {
            slice + 1
        } else if column(slice) > column(last) {
            slice - 1
        } else if slice < last {
            slice + self.columns
        } else {
            slice - self.columns
        }
    }

    /// Time from one port to another without other packets, nanoseconds.
    pub(crate) fn alone_ns(&self, from: Port, to: Port) -> u64 {
        let (from, to) = (self.slice(from), self.slice(to));
        let columns = (from % self.columns).abs_diff(to % self.columns);
        let rows = (from / self.columns).abs_diff(to / self.columns);
        self.packet_ns + u64::from(columns + rows) * self.slice_ns
    }

    /// A page of `owner` enters.
    pub(crate) fn enter(&mut self, now: Nanos, owner: u32, from: Port, to: Port) {
        let due = Nanos(now.0 + self.alone_ns(from, to));
        let (slice, last) = (self.slice(from), self.slice(to));
        self.entered += 1;
        self.pass(Head { at: now, number: self.entered, slice, last, due, owner });
    }

    /// The time at which the first flit of a packet, which has reached a slice, reaches the next one.
    fn pass(&mut self, head: Head) {
        let free_at = &mut self.free_at[head.slice as usize];
        let start = head.at.max(*free_at);
        *free_at = Nanos(start.0 + self.packet_ns);
        let next = if head.slice == head.last {
            Head { at: *free_at, slice: OUT, ..head }
        } else {
            let slice = self.next(head.slice, head.last);
            Head { at: Nanos(start.0 + self.slice_ns), slice, ..head }
        };
        self.heads.push(Reverse(next));
    }

    /// When a packet next reaches a slice, or leaves the last one.
    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heads.peek().map(|Reverse(head)| head.at)
    }

    /// Advance to `now`, up to the next packet that arrives.
    pub(crate) fn advance(&mut self, now: Nanos) -> Option<ArrivedPacket> {
        while self.next_time() == Some(now) {
            let Reverse(head) = self.heads.pop().expect("seen");
            if head.slice == OUT {
                assert!(head.at >= head.due, "a packet was faster than light");
                return Some(ArrivedPacket {
                    owner: head.owner,
                    waited_ns: (head.at - head.due).0,
                });
            }
            self.pass(head);
        }
        None
    }

    /// Packets inside.
    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn config(columns: u32, rows: u32, channels: u32) -> Config {
        let mut c = Config::default();
        c.device.channels = channels;
        let net = &mut c.interconnect;
        (net.model, net.columns, net.rows) = (InterconnectModel::Slices, columns, rows);
        c
    }

    fn all_ports(channels: u32) -> Vec<Port> {
        let queue = |i: u32| Port::Queue { channel: i / QUEUES, queue: (i % QUEUES) as usize };
        let controllers = (0..channels).map(Port::Controller);
        controllers.chain((0..QUEUES * channels).map(queue)).collect()
    }

    /// Every packet in `sent` (time, from, to), by its arrival, with its waiting time.
    fn run(slices: &mut Slices, sent: &[(u64, Port, Port)]) -> Vec<(u64, u64)> {
        let mut arrived = vec![(0, 0); sent.len()];
        let mut left = sent.iter().enumerate().peekable();
        loop {
            let next = left.peek().map(|(_, s)| Nanos(s.0));
            let Some(now) = [slices.next_time(), next].into_iter().flatten().min() else {
                assert_eq!(slices.len(), 0);
                return arrived;
            };
            while let Some(a) = slices.advance(now) {
                arrived[a.owner as usize] = (now.0, a.waited_ns);
            }
            while let Some((i, &(_, from, to))) = left.next_if(|(_, s)| s.0 == now.0) {
                slices.enter(now, i as u32, from, to);
            }
        }
    }

    #[test]
    fn alone_a_page_takes_what_the_formula_says_on_paths_of_every_length() {
        for (columns, rows, channels) in [(16, 8, 8), (1, 1, 1), (5, 3, 7), (2, 9, 64), (16, 8, 16)]
        {
            let c = config(columns, rows, channels);
            let mut lengths = std::collections::BTreeSet::new();
            let ports = all_ports(channels);
            let mut slices = Slices::new(&c).expect("slices");
            let mut now = 0;
            for (&from, &to) in ports.iter().flat_map(|a| ports.iter().map(move |b| (a, b))) {
                // Count the slices by walking.
                let (mut slice, last) = (slices.slice(from), slices.slice(to));
                let mut passed = 1;
                while slice != last {
                    slice = slices.next(slice, last);
                    passed += 1;
                }
                lengths.insert(passed);
                let expected = through(&c, passed);
                assert_eq!(slices.alone_ns(from, to), expected);
                let mut formula = c.clone();
                formula.interconnect.model = InterconnectModel::Formula;
                formula.interconnect.mean_path = passed as f64;
                assert_eq!(super::super::interconnect::formula_ns(&formula), expected);
                now += 10_000_000;
                let got = run(&mut slices, &[(now, from, to)]);
                assert_eq!(got, [(now + expected, 0)], "{from:?} to {to:?}");
            }
            if (columns, channels) == (16, 16) {
                assert_eq!(lengths.len() as u32, columns + rows - 1, "every length there is");
            }
        }
    }

    #[test]
    fn two_packets_over_one_slice_wait_in_the_order_in_which_they_reach_it() {
        let c = config(16, 8, 8);
        let mut slices = Slices::new(&c).expect("slices");
        let port = Port::Queue { channel: 0, queue: 0 };
        // From columns 0 and 2 to column 0: the second packet reaches it two slices later.
        let sent = [(0, Port::Controller(0), port), (0, Port::Controller(1), port)];
        let (first, second) = (through(&c, 8), through(&c, 10));
        let waits = 8192 * 87 - 2 * 87;
        assert_eq!(run(&mut slices, &sent), [(first, 0), (second + waits, waits)]);
        // The packet that enters first is the second to reach the slice where they meet.
        let mut slices = Slices::new(&c).expect("slices");
        let sent = [(0, Port::Controller(1), port), (87, Port::Controller(0), port)];
        let waits = 8192 * 87 - 87;
        assert_eq!(run(&mut slices, &sent), [(second + waits, waits), (87 + first, 0)]);
    }

    #[test]
    fn under_load_pages_take_longer_and_slices_never_forward_two_at_once() {
        let c = config(16, 8, 8);
        let ports = all_ports(8);
        let mut rng = Stream::new(1, "load");
        let mut mean = Vec::new();
        for pause in [40_000_000u64, 1_000_000, 100_000, 10_000] {
            let mut slices = Slices::new(&c).expect("slices");
            let mut at = 0;
            let sent: Vec<_> = (0..2000)
                .map(|_| {
                    at += rng.below(2 * pause);
                    let channel = rng.below(8) as usize;
                    let queue =
                        Port::Queue { channel: channel as u32, queue: rng.below(4) as usize };
                    let up = (at, ports[channel], queue);
                    if rng.chance(0.5) { up } else { (at, up.2, up.1) }
                })
                .collect();
            let done = run(&mut slices, &sent);
            for (&(at, from, to), &(end, waited)) in sent.iter().zip(&done) {
                assert_eq!(end, at + slices.alone_ns(from, to) + waited);
            }
            // The busiest slice has forwarded its packets one after the other.
            let busiest = slices.free_at.iter().map(|t| t.0).max().expect("slices");
            assert!(busiest <= done.iter().map(|d| d.0).max().expect("packets"));
            mean.push(done.iter().map(|d| d.1).sum::<u64>() / 2000);
        }
        assert!(mean.windows(2).all(|m| m[0] < m[1]), "{mean:?}");
        assert!(mean[0] < 20_000, "hardly any load: {mean:?}");
    }
}
