//! What must not change, or must change by a known factor, when a run is changed in a known way.

use crate::rig::{closed, device, free_blocks, host, named, victim, whole};
use ssd_core::config::{
    Config, Frontiers, GcPath, HostMode, InterconnectModel, PoolScope, TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::gc::trigger;
use ssd_core::ftl::gc::victim::ALL;
use ssd_core::host::device::Device;
use ssd_core::host::drive::drive;
use ssd_core::host::request::{Completion, Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};
use std::ops::ControlFlow;

/// A device of four planes in steady collection.
fn busy() -> Config {
    let mut c = device([2, 1, 2], 24, 8, 4 * 24 * 8 * 3 / 4);
    c.gc.reserve = 1;
    c.gc.trigger = vec![free_blocks(3)];
    (c.timing.command_ns, c.timing.sram_ns, c.controller.ecc_ns) = (3, 2, 9);
    c
}

fn filled(c: &Config, lpn_of: impl Fn(u32) -> u32) -> Ssd {
    let mut functional = Functional::new(c, Ftl::new(c));
    for lpn in 0..c.device.user_pages {
        functional.write(Lpn(lpn_of(lpn)), 0).expect("the user pages fit");
    }
    let sequence = functional.sequence();
    Ssd::new(c, functional.ftl, sequence)
}

/// Timed requests of one or two pages: half reads, some trims; `scale` multiplies the times.
fn requests(c: &Config, n: u64, scale: u64) -> Vec<TimedRequest> {
    let mut rng = Stream::new(77, "requests");
    let mut at = 0;
    (0..n)
        .map(|_| {
            // Multiples of 10, so that arrivals and completions coincide.
            at += rng.below(30) * 10;
            let op = [Op::Read, Op::Write, Op::Write, Op::Trim][rng.below(4) as usize];
            let lpn = rng.below(u64::from(c.device.user_pages) - 1) as u32;
            TimedRequest { at: Nanos(at * scale), request: whole(op, lpn, 1 + rng.below(2) as u32) }
        })
        .collect()
}

fn submit_all(ssd: &mut Ssd, requests: &[TimedRequest]) -> Vec<Completion> {
    for r in requests {
        ssd.submit(r.at, &r.request, None).unwrap();
    }
    let mut done = Vec::new();
    while ssd.outstanding() > 0 {
        ssd.run_until(Nanos::NEVER, &mut done).unwrap();
    }
    done
}

fn scaled(c: &Config, by: u64) -> Config {
    let mut c = c.clone();
    let t = &mut c.timing;
    for time in [
        &mut t.read_ns,
        &mut t.program_ns,
        &mut t.erase_ns,
        &mut t.transfer_ns,
        &mut t.command_ns,
        &mut t.sram_ns,
        &mut c.controller.ecc_ns,
        &mut c.interconnect.slice_ns,
        &mut c.interconnect.rounding_ns,
    ] {
        *time *= by;
    }
    for trigger in c.gc.trigger.iter_mut().filter(|t| t.policy == "idle") {
        let after = trigger.int("after") * by;
        trigger.params.insert("after".to_string(), Value::Int(after));
    }
    c
}

#[test]
fn times_scale_latencies_and_nothing_else() {
    for (i, info) in ALL.iter().enumerate() {
        let mut c = busy();
        c.gc.victim = victim(info.name);
        c.timing.model = [TimingModel::Pipelined, TimingModel::Serial][i % 2];
        if c.timing.model == TimingModel::Serial {
            // A path of whole slices, because 0.5 of one would be rounded.
            c.interconnect.model =
                [InterconnectModel::Formula, InterconnectModel::Slices][i / 2 % 2];
            (c.interconnect.flit_bits, c.interconnect.mean_path) = (512, 3.0);
            (c.gc.path, c.controller.page_error_probability) = (GcPath::Selective, 0.3);
        }
        if i % 3 == 0 {
            let idle = named(trigger::ALL, "idle").with("after", Value::Int(900));
            c.gc.trigger = vec![free_blocks(6), idle];
        }
        let run = |by: u64| {
            let c = scaled(&c, by);
            let mut ssd = filled(&c, |l| l);
            let done = submit_all(&mut ssd, &requests(&c, 2000, by));
            let latencies: Vec<_> = done.iter().map(|d| (d.id, (d.at - d.arrival).0)).collect();
            (latencies, ssd.measured().flash, ssd.measured().gc.calls)
        };
        let (once, flash, calls) = run(1);
        assert!(calls > 20, "{}: {calls}", info.name);
        for by in [3, 1000] {
            let (longer, flash_then, calls_then) = run(by);
            let expected: Vec<_> = once.iter().map(|&(id, ns)| (id, ns * by)).collect();
            assert_eq!(longer, expected, "{} x {by}", info.name);
            assert_eq!((flash_then, calls_then), (flash, calls));
        }
    }
}

/// Blocks that are never used change nothing: m more of them, and m more in reserve and watermark.
#[test]
fn blocks_held_back_change_nothing() {
    let policies = ["fifo", "cost-benefit", "greedy"];
    for (policy, exact) in policies.iter().zip([true, false, false]) {
        for frontiers in [Frontiers::Single, Frontiers::HostGc] {
            let run = |more: u32| {
                let mut c = device([1, 1, 1], 300 + more, 16, 260 * 16);
                // Erased blocks in the order of their erase, and no choice by block number.
                c.wear.dynamic = false;
                c.alloc.frontiers = frontiers;
                c.gc.victim = victim(policy);
                c.gc.reserve = 1 + more;
                c.gc.trigger = vec![free_blocks(u64::from(4 + more))];
                let mut f = Functional::new(&c, Ftl::new(&c));
                let mut rng = Stream::new(3, "shift");
                (0..260 * 16).for_each(|lpn| f.write(Lpn(lpn), 0).unwrap());
                (0..60_000).for_each(|_| f.write(Lpn(rng.below(260 * 16) as u32), 0).unwrap());
                f.tally
            };
            let base = run(0);
            for more in [1, 4, 9] {
                let shifted = run(more);
                if exact {
                    assert_eq!(shifted, base, "{policy} {frontiers:?} + {more}");
                }
                let ratio = shifted.gc_pages as f64 / base.gc_pages as f64;
                assert!((ratio - 1.0).abs() < 0.01, "{policy} {frontiers:?} + {more}: {ratio}");
            }
        }
    }
}

/// Under static placement the logical pages of one plane are interchangeable.
#[test]
fn relabelled_pages_behave_alike() {
    for info in ALL {
        let mut c = busy();
        c.gc.victim = victim(info.name);
        let (planes, user) = (4u32, c.device.user_pages);
        let per_plane = user / planes;
        // A bijection inside each class of `lpn % planes`.
        assert_eq!(user % planes, 0);
        let relabel = |lpn: u32| (lpn / planes * 31 + 5) % per_plane * planes + lpn % planes;
        let run = |relabelled: bool| {
            let name = |l: u32| if relabelled { relabel(l) } else { l };
            let mut ssd = filled(&c, name);
            let mut rng = Stream::new(6, "relabel");
            let requests = (0..3000).map(|_| {
                let op = [Op::Read, Op::Write, Op::Write, Op::Trim][rng.below(4) as usize];
                whole(op, name(rng.below(u64::from(user)) as u32), 1)
            });
            let done = closed(&mut ssd, 16, requests).unwrap();
            (done, ssd.measured().clone())
        };
        let (plain, relabelled) = (run(false), run(true));
        assert!(plain.1.gc.calls > 20, "{}: {}", info.name, plain.1.gc.calls);
        assert!(plain == relabelled, "{}: a name matters", info.name);
    }
}

struct List(std::vec::IntoIter<TimedRequest>);
impl Source for List {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        Ok(self.0.next())
    }
}

#[test]
fn the_driver_adds_nothing() {
    let mut c = busy();
    (c.timing.command_ns, c.timing.sram_ns, c.controller.ecc_ns) = (0, 10, 0);
    let requests = requests(&c, 5000, 1);
    let mut direct = filled(&c, |l| l);
    submit_all(&mut direct, &requests);
    let mut driven = filled(&c, |l| l);
    let go = &mut |_: &mut Ssd, _: &_| ControlFlow::Continue(());
    let mut source = List(requests.clone().into_iter());
    let end = drive(&mut driven, &host(HostMode::Open, 1), &mut source, go).unwrap();
    assert_eq!((end.progress.completed, end.interrupted), (5000, false));
    assert_eq!(driven.event_digest(), direct.event_digest());
    assert_eq!(driven.measured(), direct.measured());
    // Nor does stepping in short stretches of time.
    let mut stepped = filled(&c, |l| l);
    for r in &requests {
        stepped.submit(r.at, &r.request, None).unwrap();
    }
    let mut done = Vec::new();
    let mut limit = 0;
    while stepped.outstanding() > 0 {
        limit += 97;
        while stepped.next_event().is_some_and(|t| t.0 <= limit) {
            stepped.run_until(Nanos(limit), &mut done).unwrap();
        }
    }
    assert_eq!(stepped.event_digest(), direct.event_digest());
    assert_eq!(done.len(), 5000);
    // The closed loop equals submitting by hand.
    let writes: Vec<Request> = requests.iter().map(|r| r.request).collect();
    let mut by_hand = filled(&c, |l| l);
    closed(&mut by_hand, 7, writes).unwrap();
    let mut by_driver = filled(&c, |l| l);
    let mut source = List(requests.into_iter());
    drive(&mut by_driver, &host(HostMode::Closed, 7), &mut source, go).unwrap();
    assert_eq!(by_driver.event_digest(), by_hand.event_digest());
}

#[test]
fn a_seed_gives_one_run() {
    let run = |seed: u64| {
        let mut c = busy();
        (c.gc.victim, c.run.seed) = (victim("random"), seed);
        let mut ssd = filled(&c, |l| l);
        submit_all(&mut ssd, &requests(&c, 3000, 1));
        ssd.event_digest()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2), "the victims follow from the seed");
    // Contents and logs only observe.
    let with = |change: &dyn Fn(&mut Config)| {
        let mut c = busy();
        change(&mut c);
        let mut ssd = filled(&c, |l| l);
        submit_all(&mut ssd, &requests(&c, 2000, 1))
            .iter()
            .map(|d| (d.id, d.at))
            .collect::<Vec<_>>()
    };
    let plain = with(&|_| ());
    assert_eq!(with(&|c| c.run.data = ssd_core::config::DataMode::Digest), plain);
    assert_eq!(with(&|c| c.metrics.op_log = true), plain);
}

#[test]
fn sequential_overwrites_cost_nothing() {
    for info in ALL {
        // These choose among blocks that are not the oldest, which may include a live one.
        if ["random", "d-choices"].contains(&info.name) {
            continue;
        }
        for pool in [PoolScope::Plane, PoolScope::Device] {
            let mut c = device([1, 1, 2], 20, 8, 2 * 14 * 8);
            (c.alloc.pool, c.gc.victim) = (pool, victim(info.name));
            (c.gc.reserve, c.gc.trigger) = (1, vec![free_blocks(2)]);
            let mut ssd = filled(&c, |l| l);
            let user = c.device.user_pages;
            let requests = (0..user * 10).map(|i| whole(Op::Write, i % user, 1));
            closed(&mut ssd, 8, requests).unwrap();
            let m = &ssd.measured();
            assert_eq!(m.flash.all_programs(), m.host.pages_written, "{} {pool:?}", info.name);
            assert!(m.gc.calls > 100);
        }
    }
}

#[test]
fn the_plain_loop_agrees_with_the_full_one() {
    // Only the full loop asks an order that takes turns.
    for order in ssd_core::sched::order::ALL.iter().filter(|order| order.name != "round-robin") {
        for (window, command_ns, partial) in [(1, 0, false), (1, 3, true), (3, 3, true)] {
            let mut c = device([2, 2, 1], 24, 8, 4 * 24 * 8 * 3 / 4);
            c.sched.order = named(ssd_core::sched::order::ALL, order.name);
            (c.gc.reserve, c.gc.trigger, c.gc.window) = (1, vec![free_blocks(3)], window);
            (c.timing.command_ns, c.timing.sram_ns) = (command_ns, 2);
            let run = |full: bool| {
                let mut ssd = filled(&c, |l| l);
                assert!(!full || ssd.use_full_loop(), "{}: it would be used anyway", order.name);
                ssd.audit_every(if full { 0 } else { 7 });
                let mut requests = requests(&c, 4000, 1);
                for timed in requests.iter_mut().step_by(3) {
                    timed.request.sectors -= u32::from(partial);
                }
                submit_all(&mut ssd, &requests);
                ssd.quiesce().unwrap();
                (ssd.event_digest(), ssd.erases(), ssd.measured().clone())
            };
            let plain = run(false);
            assert!(plain.2.gc.calls > 20, "{}: {:?}", order.name, plain.2.gc);
            assert!(plain == run(true), "{}, window {window}: the loops differ", order.name);
        }
    }
}

/// The plain loop knows neither types of pages nor parts of pages: such a device must not run in it.
#[test]
fn what_the_plain_loop_leaves_out_runs_in_the_full_one() {
    for (bits, partial) in [(1, false), (2, false), (1, true)] {
        let run = |full: bool| {
            let mut c = device([2, 2, 1], 24, 8, 4 * 24 * 8 * 3 / 4);
            (c.gc.reserve, c.gc.trigger) = (1, vec![free_blocks(3)]);
            (c.timing.partial, c.device.bits, c.device.word_line) = (partial, bits, bits);
            if bits == 2 {
                c.timing.read_types_ns = vec![c.timing.read_ns - 20, c.timing.read_ns + 20];
                c.timing.program_types_ns =
                    vec![c.timing.program_ns - 200, c.timing.program_ns + 200];
            }
            let mut ssd = filled(&c, |l| l);
            let plain = full && ssd.use_full_loop();
            let mut requests = requests(&c, 4000, 1);
            for timed in requests.iter_mut().step_by(3) {
                timed.request.sectors -= 1;
            }
            submit_all(&mut ssd, &requests);
            ((ssd.event_digest(), ssd.erases(), ssd.measured().clone()), plain)
        };
        let ((by_itself, _), (full, plain)) = (run(false), run(true));
        assert_eq!(plain, bits == 1 && !partial, "{bits} bits, partial {partial}");
        assert!(by_itself == full, "{bits} bits, partial {partial}: the loops differ");
    }
}
