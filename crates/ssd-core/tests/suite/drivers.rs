//! When requests arrive: the closed loop with its pauses and its end, and the open one.

use crate::rig::{alone, device, host, whole, with_pages};
use ssd_core::config::{BusyUnit, Config, Host, HostMode, TimingModel};
use ssd_core::host::device::Device;
use ssd_core::host::drive::{Progress, drive};
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Clients, Source, SourceError};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use std::ops::ControlFlow;

/// A read of one page takes 50 + 20.
const READ: u64 = 70;

struct Reads<'a>(std::iter::Copied<std::slice::Iter<'a, u64>>);

impl Source for Reads<'_> {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        let at = self.0.next().map(Nanos);
        Ok(at.map(|at| TimedRequest { at, request: whole(Op::Read, 0, 1) }))
    }
}

fn chip() -> Config {
    let mut c = device([1, 1, 1], 16, 8, 64);
    (c.timing.model, c.timing.busy_unit) = (TimingModel::Serial, BusyUnit::Chip);
    c.metrics.request_log = true;
    c
}

/// Arrivals and completions of reads that the source wants at these times, since the driver began; the device has
/// worked before.
fn driven(host: &Host, at: &[u64]) -> (Vec<u64>, Vec<u64>) {
    run(host, &mut Reads(at.iter().copied()))
}

/// Arrivals and completions of the requests of a source, since the driver began.
fn run(host: &Host, source: &mut dyn Source) -> (Vec<u64>, Vec<u64>) {
    let mut ssd = with_pages(&chip(), 8);
    alone(&mut ssd, whole(Op::Read, 0, 1));
    let start = ssd.now().0;
    assert_eq!(start, READ);
    ssd.drain_requests(&mut Vec::new());
    let go = &mut |_: &mut Ssd, _: &Progress| ControlFlow::Continue(());
    let outcome = drive(&mut ssd, host, source, go).expect("it runs");
    let mut log = Vec::new();
    ssd.drain_requests(&mut log);
    log.sort_by_key(|r| r.id);
    let n = log.len() as u64;
    assert_eq!((outcome.progress.submitted, outcome.progress.completed), (n, n));
    assert!(!outcome.interrupted);
    (
        log.iter().map(|r| r.arrival.0 - start).collect(),
        log.iter().map(|r| r.completion.0 - start).collect(),
    )
}

#[test]
fn a_request_of_the_closed_loop_arrives_a_pause_after_a_completion() {
    let mut closed = host(HostMode::Closed, 2);
    closed.think_time_ns = 30;
    let (arrivals, completions) = driven(&closed, &[0; 6]);
    assert_eq!(arrivals, [0, 0, 100, 170, 240, 310]);
    assert_eq!(completions, [70, 140, 210, 280, 350, 420]);
    // The last one arrives before the end, and completes after it.
    for (stop, expected) in [(240, 4), (241, 5)] {
        closed.stop_after_ns = stop;
        assert_eq!(driven(&closed, &[0; 6]).0.len(), expected, "until {stop}");
    }
    // Deeper than there are requests.
    assert_eq!(driven(&host(HostMode::Closed, 9), &[0; 3]).0, [0, 0, 0]);
}

#[test]
fn all_pause_together_after_so_many_requests() {
    let mut closed = host(HostMode::Closed, 2);
    (closed.think_time_ns, closed.think_every) = (1000, 3);
    let (arrivals, completions) = driven(&closed, &[0; 7]);
    assert_eq!(arrivals, [0, 0, 70, 1210, 1210, 1280, 2420]);
    assert_eq!(completions, [70, 140, 210, 1280, 1350, 1420, 2490]);
}

#[test]
fn the_open_loop_counts_from_where_it_began() {
    let at = [0, 10, 20, 500, 505];
    let (arrivals, completions) = driven(&host(HostMode::Open, 1), &at);
    assert_eq!((arrivals, completions), (at.to_vec(), vec![70, 140, 210, 570, 640]));
    // At most that many are inside: the others wait outside, and have arrived.
    let limited = Host { max_outstanding: 1, ..host(HostMode::Open, 1) };
    assert_eq!(driven(&limited, &at), (at.to_vec(), vec![70, 140, 210, 570, 640]));
}

/// Reads of one page at these times, each of a stream.
struct Tenants<'a>(std::slice::Iter<'a, (u64, u8)>);

impl Source for Tenants<'_> {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        let read = |stream| Request { stream, ..whole(Op::Read, 0, 1) };
        Ok(self.0.next().map(|&(at, stream)| TimedRequest { at: Nanos(at), request: read(stream) }))
    }
}

/// As `driven`, with several queues and so many outstanding requests.
fn by_turns(at: &[(u64, u8)], queues: u32, slots: u32) -> (Vec<u64>, Vec<u64>) {
    let host = Host { queues, max_outstanding: slots, ..host(HostMode::Open, 1) };
    run(&host, &mut Tenants(at.iter()))
}

#[test]
fn queues_take_turns_for_the_slots_of_the_device() {
    // Requests are numbered as the device takes them. The first is alone; when it ends, at 70, all others wait. A
    // request that arrives at the instant of a completion waits in its queue like the others.
    let at = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 2), (140, 1), (900, 0)];
    let (arrivals, completions) = by_turns(&at, 3, 1);
    assert_eq!(arrivals, [0, 4, 5, 1, 140, 2, 3, 900]);
    assert_eq!(completions, [70, 140, 210, 280, 350, 420, 490, 970]);
    // Streams 0 and 2 share a queue of two.
    assert_eq!(by_turns(&at, 2, 1).0, [0, 4, 1, 140, 2, 3, 5, 900]);
    // Without a wait, and with one tenant, several queues are as one.
    let times = at.map(|(at, _)| at);
    assert_eq!(by_turns(&at, 3, 100), driven(&host(HostMode::Open, 1), &times));
    let alone = times.map(|at| (at, 7));
    let single = Host { max_outstanding: 2, ..host(HostMode::Open, 1) };
    assert_eq!(by_turns(&alone, 5, 2), driven(&single, &times));
}

#[test]
fn a_tenant_of_large_requests_gets_as_many_turns_as_one_of_small_ones() {
    // 32 pages against one: bytes 32 to 1, requests 1 to 1.
    let both = |n: u64| (0..n).map(|i| (i, (i % 4 == 0) as u8)).collect::<Vec<_>>();
    struct Sizes(Vec<(u64, u8)>);
    impl Source for Sizes {
        fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
            let request = |(at, stream)| TimedRequest {
                at: Nanos(at),
                request: Request { stream, ..whole(Op::Read, 0, if stream == 1 { 32 } else { 1 }) },
            };
            Ok((!self.0.is_empty()).then(|| request(self.0.remove(0))))
        }
    }
    let host = Host { queues: 2, max_outstanding: 4, ..host(HostMode::Open, 1) };
    let mut ssd = with_pages(&chip(), 32);
    let go = &mut |_: &mut Ssd, _: &Progress| ControlFlow::Continue(());
    drive(&mut ssd, &host, &mut Sizes(both(400)), go).expect("it runs");
    let mut log = Vec::new();
    ssd.drain_requests(&mut log);
    log.sort_by_key(|r| r.id);
    // While both queues have requests, which is until the hundred large ones have been taken.
    let large: Vec<usize> = (0..log.len()).filter(|&i| log[i].pages == 32).collect();
    assert_eq!(large.len(), 100);
    assert!(large.iter().zip(large.iter().skip(1)).skip(2).all(|(a, b)| b - a == 2), "{large:?}");
}

/// A client that issues three reads, each `pause` after the previous one has been answered, and meant to issue it
/// `early` before.
struct ThinkTimeClient {
    pause: u64,
    early: u64,
    left: u32,
    answered: bool,
    asks_at: Option<u64>,
}

impl Source for ThinkTimeClient {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        unreachable!("a driver with a clock serves the clients")
    }

    fn clients(&mut self) -> Option<&mut dyn Clients> {
        Some(self)
    }
}

impl Clients for ThinkTimeClient {
    fn arrive(&mut self, now: Nanos) -> Result<Option<TimedRequest>, SourceError> {
        if std::mem::take(&mut self.answered) && self.left > 0 {
            self.asks_at = Some(now.0 + self.pause);
        }
        let Some(at) = self.asks_at.take_if(|at| *at <= now.0) else { return Ok(None) };
        self.left -= 1;
        let request = whole(Op::Read, 0, 1);
        Ok(Some(TimedRequest { at: Nanos(at.saturating_sub(self.early)), request }))
    }

    fn due(&mut self) -> Option<Nanos> {
        self.asks_at.map(Nanos)
    }

    fn completed(&mut self, number: u64) {
        assert_eq!(number, u64::from(2 - self.left), "one at a time, numbered from 0");
        self.answered = true;
    }
}

#[test]
fn clients_are_served_when_they_ask_and_hear_of_answers() {
    // Whatever the configuration of the host is.
    for mode in [HostMode::Open, HostMode::Closed] {
        let served = |pause, early| {
            let thinker =
                ThinkTimeClient { pause, early, left: 3, answered: false, asks_at: Some(0) };
            run(&host(mode, 1), &mut { thinker })
        };
        let ends = vec![READ, 2 * READ + 30, 3 * READ + 60];
        assert_eq!(served(30, 0), (vec![0, READ + 30, 2 * READ + 60], ends));
        // Latencies count from the intended arrival.
        let ends = vec![READ, 2 * READ, 3 * READ];
        assert_eq!(served(0, 10), (vec![0, READ - 10, 2 * READ - 10], ends));
    }
}
