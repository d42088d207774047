//! The functional executor is the timed machine at queue depth 1 with whole-job collection that
//! closes the device: the same victims in the same order, the same counts, the same free blocks.

use crate::rig::twins::{collected, settle, tally, victim};
use crate::rig::{alone, device, free_blocks, named, used_space, whole};
use ssd_core::config::{
    Amount, Blocking, BlockingScope, BusyUnit, Config, EraseUnit, Frontiers, GcPath, Granularity,
    InterconnectModel, PoolScope, TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::gc::victim::ALL;
use ssd_core::ftl::separation;
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::nand::geometry::PageAddress;
use ssd_core::plug::{PolicySpec, Value};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::{Functional, Tally};
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{BlockId, Lpn, PlaneId};

/// What is written, or trimmed.
type Step = (bool, u32);

fn steps(c: &Config, n: usize, trims: f64) -> Vec<Step> {
    let mut rng = Stream::new(c.run.seed, "steps");
    let user = c.device.user_pages;
    let fill = (0..user).map(|lpn| (true, lpn));
    let random = (0..n).map(|_| {
        let write = !rng.chance(trims);
        // Two thirds of the accesses go to a quarter of the pages.
        let hot = rng.chance(0.66);
        (write, rng.below(u64::from(if hot { user / 4 } else { user })) as u32)
    });
    fill.chain(random).collect()
}

fn functional(c: &Config, steps: &[Step]) -> (Vec<BlockId>, Tally, Functional) {
    let mut f = Functional::new(c, Ftl::new(c));
    f.record_victims();
    for &(write, lpn) in steps {
        if write {
            f.write(Lpn(lpn), 0).expect("the device has room");
        } else {
            f.trim(Lpn(lpn));
        }
    }
    (f.victims().to_vec(), f.tally, f)
}

fn timed(c: &Config, steps: &[Step]) -> (Vec<BlockId>, Tally, Ssd, Vec<OpRecord>) {
    let c = logged(c);
    timed_on(Ssd::new(&c, Ftl::new(&c), 0), steps)
}

fn logged(c: &Config) -> Config {
    let mut c = c.clone();
    c.metrics.op_log = true;
    c
}

fn timed_on(mut ssd: Ssd, steps: &[Step]) -> (Vec<BlockId>, Tally, Ssd, Vec<OpRecord>) {
    ssd.audit_every(1009);
    for &(write, lpn) in steps {
        // A TRIM waits for nothing, and a write gets its class when it arrives; neither may overtake the collection
        // before it.
        if !write || ssd.core.ftl.separates() {
            settle(&mut ssd);
        }
        alone(&mut ssd, whole(if write { Op::Write } else { Op::Trim }, lpn, 1));
    }
    settle(&mut ssd);
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    let (victims, tally) = (collected(&ssd, &log), tally(&ssd));
    (victims, tally, ssd, log)
}

/// Both executors over the same steps.
fn compare(c: &Config, n: usize, trims: f64) {
    let steps = steps(c, n, trims);
    let (mut expected, tally, f) = functional(c, &steps);
    let (mut victims, counted, ssd, _) = timed(c, &steps);
    if c.alloc.placement.policy != "static" {
        // A write releases a page of another pool, and both may collect at once.
        expected.sort_by_key(|&b| f.ftl.blocks.pool_of(b));
        victims.sort_by_key(|&b| f.ftl.blocks.pool_of(b));
    }
    let name = format!(
        "{} {} {:?} {:?} {} {:?} {:?}",
        c.gc.victim.policy,
        c.alloc.separation.policy,
        c.alloc.frontiers,
        c.alloc.pool,
        c.alloc.placement.policy,
        c.gc.trigger.iter().map(|t| &t.policy).collect::<Vec<_>>(),
        c.gc.amount,
    );
    let differ = expected.iter().zip(&victims).position(|(a, b)| a != b);
    assert_eq!(differ, None, "{name}: victims differ from there on, {n} steps");
    assert_eq!(expected.len(), victims.len(), "{name}");
    assert_eq!(tally, counted, "{name}");
    assert!(tally.victims > 20, "{name}: hardly any collection: {tally:?}");
    assert_eq!(f.ftl.blocks.valid, ssd.core.ftl.blocks.valid, "{name}");
    assert_eq!(f.ftl.blocks.erases, ssd.core.ftl.blocks.erases, "{name}");
    let places = |ftl: &Ftl| {
        (0..c.device.user_pages).map(|l| ftl.owners.committed(Lpn(l))).collect::<Vec<_>>()
    };
    assert_eq!(places(&f.ftl), places(&ssd.core.ftl), "{name}");
}

fn base(shape: [u32; 3], pool: PoolScope, frontiers: Frontiers) -> Config {
    let mut c = device(shape, 24, 8, shape.iter().product::<u32>() * 24 * 8 * 7 / 10);
    (c.alloc.pool, c.alloc.frontiers) = (pool, frontiers);
    c.timing.busy_unit = BusyUnit::Plane;
    c.timing.sram_ns = 1;
    c.gc.reserve = 1;
    c.gc.blocking = Blocking { scope: BlockingScope::Device, granularity: Granularity::Job };
    c
}

const AMOUNTS: [Amount; 3] = [Amount::One, Amount::UntilSatisfied, Amount::AllCandidates];
const FRONTIERS: [Frontiers; 2] = [Frontiers::Single, Frontiers::HostGc];

fn triggers() -> Vec<Vec<PolicySpec>> {
    vec![
        vec![free_blocks(0)],
        vec![free_blocks(3)],
        vec![used_space(0.8, "pool")],
        vec![used_space(0.9, "pool"), free_blocks(4)],
    ]
}

#[test]
fn every_policy_over_one_pool() {
    for info in ALL {
        for frontiers in FRONTIERS {
            for trigger in triggers() {
                for amount in AMOUNTS {
                    let mut c = base([1, 1, 1], PoolScope::Plane, frontiers);
                    (c.gc.victim, c.gc.trigger, c.gc.amount) =
                        (victim(info.name), trigger.clone(), amount);
                    compare(&c, 1200, 0.0);
                }
            }
        }
    }
}

/// A timed run on a device that was written without time chooses the same victims as a functional run that continued.
#[test]
fn a_timed_run_goes_on_with_what_the_victim_policy_knows() {
    for info in ALL {
        let ages = ["seal", "invalidation"];
        let has_ages = info.params.iter().any(|param| param.name == "age");
        for age in if has_ages { &ages[..] } else { &ages[..1] } {
            let mut c = base([1, 1, 2], PoolScope::Chip, Frontiers::HostGc);
            (c.gc.victim, c.gc.trigger) = (victim(info.name), vec![free_blocks(3)]);
            if has_ages {
                c.gc.victim = c.gc.victim.with("age", Value::Word((*age).to_string()));
            }
            let c = logged(&c);
            let steps = steps(&c, 3000, 0.0);
            let (before, after) = steps.split_at(steps.len() - 1500);
            let (all, _, whole) = functional(&c, &steps);
            let (first, _, half) = functional(&c, before);
            let sequence = half.sequence();
            let (rest, _, ssd, _) = timed_on(Ssd::new(&c, half.ftl, sequence), after);
            assert!(first.len() > 50 && rest.len() > 50, "{}: hardly any collection", info.name);
            assert_eq!(all[first.len()..], rest, "{} {age}", info.name);
            assert_eq!(whole.ftl.blocks.valid, ssd.core.ftl.blocks.valid, "{} {age}", info.name);
        }
    }
}

/// A page whose plane has no room goes to the next plane of its unit, then to another unit.
#[test]
fn several_planes_of_a_unit_and_several_units_of_a_pool() {
    for shape in [[1, 1, 2], [1, 1, 3], [1, 1, 4], [1, 2, 2], [2, 1, 3]] {
        for (unit, soft) in [(BusyUnit::Chip, 2), (BusyUnit::Channel, 9), (BusyUnit::Plane, 2)] {
            for frontiers in FRONTIERS {
                let mut c = base(shape, PoolScope::Device, frontiers);
                (c.timing.busy_unit, c.gc.trigger) = (unit, vec![free_blocks(soft)]);
                compare(&c, 2500, 0.0);
            }
        }
    }
}

/// Random ties draw from the same stream in both.
#[test]
fn every_tie_rule_of_greedy() {
    for ties in ["lowest-id", "oldest", "random"] {
        for amount in AMOUNTS {
            let mut c = base([2, 1, 2], PoolScope::Channel, Frontiers::HostGc);
            c.gc.victim = victim("greedy").with("ties", Value::Word(ties.to_string()));
            (c.gc.trigger, c.gc.amount) = (vec![free_blocks(3)], amount);
            compare(&c, 2500, 0.0);
        }
    }
}

#[test]
fn every_policy_over_several_pools() {
    for (i, info) in ALL.iter().enumerate() {
        for (pool, shape) in [(PoolScope::Plane, [2, 1, 2]), (PoolScope::Channel, [2, 1, 2])] {
            for trigger in triggers() {
                let mut c = base(shape, pool, FRONTIERS[i % 2]);
                c.timing.busy_unit = [BusyUnit::Plane, BusyUnit::Chip][i % 2];
                c.timing.model = [TimingModel::Serial, TimingModel::Pipelined][i / 2 % 2];
                (c.gc.victim, c.gc.trigger) = (victim(info.name), trigger.clone());
                c.gc.amount = AMOUNTS[i % 3];
                compare(&c, 2500, 0.0);
            }
        }
    }
}

/// Paths, interconnect and errors take time but change no victim.
#[test]
fn every_path_over_the_interconnect() {
    for (i, path) in [GcPath::Controller, GcPath::Selective].into_iter().enumerate() {
        for model in [InterconnectModel::Formula, InterconnectModel::Slices] {
            let mut c = base([2, 1, 2], PoolScope::Channel, FRONTIERS[i]);
            (c.timing.model, c.timing.busy_unit) = (TimingModel::Serial, BusyUnit::Channel);
            (c.gc.path, c.interconnect.model, c.gc.window) = (path, model, 2);
            (c.controller.buffers, c.controller.page_error_probability) = (Some(1), 0.5);
            c.gc.trigger = vec![free_blocks(2)];
            compare(&c, 2500, 0.0);
        }
    }
}

#[test]
fn used_space_of_the_device() {
    for amount in AMOUNTS {
        let mut c = base([2, 1, 2], PoolScope::Device, Frontiers::HostGc);
        (c.gc.trigger, c.gc.amount) = (vec![used_space(0.85, "device")], amount);
        compare(&c, 2500, 0.0);
    }
}

/// Every pool is considered when the device begins to be too full, even those to which nothing is written.
#[test]
fn used_space_of_the_device_over_several_pools() {
    for (i, info) in ALL.iter().enumerate() {
        for (pool, shape) in [(PoolScope::Plane, [2, 1, 2]), (PoolScope::Channel, [3, 1, 2])] {
            let mut c = base(shape, pool, FRONTIERS[i % 2]);
            (c.gc.victim, c.gc.amount) = (victim(info.name), Amount::One);
            // Before a pool reaches its reserve, where it may collect at the same time as another.
            c.gc.trigger = vec![used_space(0.75, "device")];
            c.gc.concurrency =
                named(ssd_core::ftl::gc::concurrency::ALL, "fixed").with("k", Value::Int(1));
            compare(&c, 2500, 0.0);
        }
    }
}

/// How many of the erases in `log` begin before two pools collect at the same time.
fn before_two_at_once(ssd: &Ssd, log: &[OpRecord]) -> usize {
    let geo = &ssd.core.ftl.geo;
    let pool_of = |p: PageAddress| {
        let plane = (p.channel * geo.chips_per_channel + p.chip) * geo.planes_per_chip + p.plane;
        geo.pool_of(PlaneId(plane))
    };
    let mut log: Vec<_> = log.iter().filter(|r| r.cause == Cause::Gc).collect();
    log.sort_by_key(|r| (r.start, r.op == FlashOp::Erase));
    let (mut collects, mut erases) = (None, 0);
    for r in log {
        let pool = pool_of(r.place);
        if collects.is_some_and(|other| other != pool) {
            break;
        }
        let erase = r.op == FlashOp::Erase;
        collects = (!erase).then_some(pool);
        erases += usize::from(erase);
    }
    erases
}

/// A pool at its reserve collects at the same time as another one, and each sees what the copies of the other use.
/// Until then the victims are the same, except under a policy that orders the pools.
#[test]
fn used_space_of_the_device_until_two_pools_collect_at_once() {
    let mut apart = 0;
    let in_turn = ALL.iter().filter(|info| info.name != "invalidation-rate");
    for (i, info) in in_turn.enumerate() {
        for at in [0.6, 0.75, 0.85] {
            for (pool, shape) in [(PoolScope::Plane, [2, 1, 2]), (PoolScope::Channel, [3, 1, 2])] {
                let mut c = base(shape, pool, Frontiers::HostGc);
                c.gc.victim = victim(info.name);
                c.gc.trigger = vec![used_space(at, "device")];
                c.gc.amount = AMOUNTS[(i + usize::from(at > 0.8)) % 3];
                c.gc.concurrency =
                    named(ssd_core::ftl::gc::concurrency::ALL, "fixed").with("k", Value::Int(1));
                let steps = steps(&c, 1500, 0.0);
                let (expected, tally, _) = functional(&c, &steps);
                let (victims, counted, ssd, log) = timed(&c, &steps);
                let same = before_two_at_once(&ssd, &log).min(expected.len());
                let name = format!("{} {at} {pool:?} {:?}", info.name, c.gc.amount);
                assert_eq!(expected[..same], victims[..same], "{name}");
                if same == victims.len() {
                    assert_eq!(tally, counted, "{name}");
                } else {
                    assert!(counted.foreground > 0, "{name}: two pools at once");
                    apart += 1;
                }
            }
        }
    }
    assert_eq!(apart, 21, "runs in which two pools collect at once");
}

#[test]
fn every_separation() {
    for (i, info) in separation::ALL.iter().enumerate() {
        for (pool, shape) in [(PoolScope::Plane, [1, 1, 1]), (PoolScope::Channel, [2, 1, 2])] {
            for (name, trigger) in ["greedy", "cost-benefit"].into_iter().zip(triggers()) {
                let mut c = base(shape, pool, Frontiers::HostGc);
                (c.device.blocks_per_plane, c.device.user_pages) =
                    (48, shape.iter().product::<u32>() * 48 * 8 * 6 / 10);
                c.alloc.separation = named(separation::ALL, info.name);
                (c.gc.victim, c.gc.trigger) = (victim(name), trigger);
                c.gc.amount = AMOUNTS[i % 3];
                compare(&c, 4000, 0.0);
            }
        }
    }
}

/// Classes share superblocks of many planes and few pages.
#[test]
fn every_separation_on_superblocks() {
    for info in separation::ALL {
        let mut c = base([1, 1, 16], PoolScope::Channel, Frontiers::HostGc);
        let d = &mut c.device;
        (d.blocks_per_plane, d.pages_per_block, d.user_pages) = (48, 3, 16 * 48 * 3 * 6 / 10);
        c.alloc.erase_unit = EraseUnit::Superblock;
        c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
        c.alloc.separation = named(separation::ALL, info.name);
        (c.gc.victim, c.gc.trigger) = (victim("cost-benefit"), vec![free_blocks(2)]);
        compare(&c, 6000, 0.0);
    }
}

#[test]
fn superblocks() {
    for info in ALL {
        let mut c = base([2, 1, 2], PoolScope::Channel, Frontiers::HostGc);
        c.alloc.erase_unit = EraseUnit::Superblock;
        c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
        (c.gc.victim, c.gc.trigger) = (victim(info.name), vec![free_blocks(2)]);
        compare(&c, 4000, 0.0);
    }
}

#[test]
fn pages_placed_in_turn() {
    for info in ALL {
        let mut c = base([2, 1, 2], PoolScope::Plane, Frontiers::HostGc);
        c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
        (c.gc.victim, c.gc.trigger) = (victim(info.name), vec![free_blocks(2)]);
        compare(&c, 4000, 0.0);
    }
}

#[test]
fn blocks_collected_at_once() {
    for (i, trigger) in [free_blocks(2), used_space(0.9, "pool")].into_iter().enumerate() {
        for amount in AMOUNTS {
            let mut c = base([1, 1, 2], PoolScope::Plane, Frontiers::HostGc);
            let rates = victim("invalidation-rate");
            c.gc.victim = rates.with("fully_invalid", Value::Word("immediate".to_string()));
            (c.gc.trigger, c.gc.amount) = (vec![trigger.clone()], amount);
            compare(&c, 3000, [0.0, 0.3][i]);
        }
    }
}

/// Both machines collect blocks without valid pages before they level wear.
#[test]
fn blocks_collected_at_once_beside_wear_levelling() {
    for threshold in [1, 2, 4] {
        let mut c = base([1, 1, 2], PoolScope::Plane, Frontiers::HostGc);
        let rates = victim("invalidation-rate");
        c.gc.victim = rates.with("fully_invalid", Value::Word("immediate".to_string()));
        (c.gc.trigger, c.wear.static_threshold) = (vec![free_blocks(2)], threshold);
        compare(&c, 4000, 0.3);
    }
}

#[test]
fn with_trims() {
    for info in ALL {
        for amount in AMOUNTS {
            let mut c = base([1, 1, 2], PoolScope::Plane, Frontiers::HostGc);
            (c.gc.victim, c.gc.trigger, c.gc.amount) =
                (victim(info.name), vec![free_blocks(2)], amount);
            compare(&c, 3000, 0.2);
        }
    }
}
