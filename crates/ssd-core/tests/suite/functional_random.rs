//! The functional executor against the timed machine in random configurations: with one-page requests, one at a time,
//! each pool collects the same blocks in the same order, and every page ends up in the same place.
//! (`functional_equals_timed` has the literal cases.)

use crate::cases::cases;
use crate::rig::PAGE;
use crate::rig::any_config::{RandomConfig, decided_alike};
use crate::rig::twins::{collected, settle, tally};
use proptest::prelude::*;
use ssd_core::config::Config;
use ssd_core::ftl::Ftl;
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos, PoolId};

/// The state in which a run begins.
#[derive(Clone, Copy, Debug)]
enum Start {
    Empty,
    /// This share filled, and overwritten that many times.
    Preconditioned(f64, f64),
    /// The same, from a snapshot.
    Snapshot(f64, f64),
}

#[derive(Clone, Debug)]
struct Case {
    config: RandomConfig,
    start: Start,
    requests: u32,
    /// Shares of TRIMs, and of writes of part of a page.
    trims: f64,
    parts: f64,
    /// A request comes when collection has ended, not when the previous request has.
    settles: bool,
}

fn any_case() -> impl Strategy<Value = Case> {
    let start = (0..3u8, 0.2f64..1.0, 0.0f64..2.0).prop_map(|(kind, fill, overwrite)| match kind {
        0 => Start::Empty,
        1 => Start::Preconditioned(fill, overwrite),
        _ => Start::Snapshot(fill, overwrite),
    });
    let few = || prop_oneof![Just(0.0), 0.0f64..0.4];
    (decided_alike(), start, 100..1500u32, few(), few(), any::<bool>()).prop_map(
        |(config, start, requests, trims, parts, settles)| Case {
            config,
            start,
            requests,
            trims,
            parts,
            settles,
        },
    )
}

/// Two thirds of the requests go to a quarter of the pages.
fn requests(case: &Case) -> Vec<Request> {
    let c = &case.config.0;
    let (mut rng, user) = (Stream::new(c.run.seed, "requests"), u64::from(c.device.user_pages));
    let fill = matches!(case.start, Start::Empty).then_some(0..user).into_iter().flatten();
    let mut all: Vec<Request> =
        fill.map(|lpn| Request::new(Op::Write, lpn * PAGE, PAGE as u32)).collect();
    for _ in 0..case.requests {
        let hot = rng.chance(0.66);
        let at = rng.below(if hot { user.div_ceil(4) } else { user }) * PAGE;
        all.push(if rng.chance(case.trims) {
            let most = (user * PAGE - at).min(3 * PAGE);
            Request::new(Op::Trim, at, 1 + rng.below(most) as u32)
        } else if rng.chance(case.parts) {
            let from = rng.below(PAGE);
            Request::new(Op::Write, at + from, 1 + rng.below(PAGE - from) as u32)
        } else {
            Request::new(Op::Write, at, PAGE as u32)
        });
    }
    all
}

/// An initial device; `None` if its pages find no room.
fn preconditioned(c: &Config, (fill, overwrite): (f64, f64)) -> Option<Functional> {
    let mut c = c.clone();
    (c.precondition.fill, c.precondition.overwrite) = (fill, overwrite);
    let mut device = Functional::new(&c, Ftl::new(&c));
    device.precondition(&c, &mut |_, _| true).is_ok().then_some(device)
}

fn snapshot(c: &Config, start: (f64, f64)) -> Option<DeviceSnapshot> {
    preconditioned(c, start).map(|device| {
        device.ftl.snapshot(device.sequence()).expect("nothing is under way without time")
    })
}

fn functional(c: &Config, start: Start) -> Option<Functional> {
    let device = match start {
        Start::Empty => Functional::new(c, Ftl::new(c)),
        Start::Preconditioned(fill, overwrite) => preconditioned(c, (fill, overwrite))?,
        Start::Snapshot(fill, overwrite) => {
            let snapshot = snapshot(c, (fill, overwrite))?;
            Functional::restore(c, &snapshot, &Default::default()).expect("the same device")
        }
    };
    let mut device = device.begin_run(c);
    device.record_victims();
    Some(device)
}

fn timed(c: &Config, start: Start) -> Ssd {
    let room = "the functional one found room";
    match start {
        Start::Empty => Ssd::new(c, Ftl::new(c), 0),
        Start::Preconditioned(fill, overwrite) => {
            let device = preconditioned(c, (fill, overwrite)).expect(room);
            let sequence = device.sequence();
            Ssd::new(c, device.ftl, sequence)
        }
        Start::Snapshot(fill, overwrite) => {
            let snapshot = snapshot(c, (fill, overwrite)).expect(room);
            Ssd::restore(c, &snapshot).expect("the same device")
        }
    }
}

fn execute(f: &mut Functional, r: &Request) -> bool {
    if r.op == Op::Write {
        return f.write_request(r).is_ok();
    }
    let (first, end) = (r.sector.div_ceil(PAGE), (r.sector + u64::from(r.sectors)) / PAGE);
    f.trim_run(Lpn(first as u32), end.saturating_sub(first) as u32).is_ok()
}

fn submit(ssd: &mut Ssd, r: &Request) -> bool {
    ssd.submit(ssd.now(), r, None).expect("a valid request");
    let mut done = Vec::new();
    ssd.run_until(Nanos::NEVER, &mut done).is_ok() && done.len() == 1
}

fn compare(case: &Case) -> Result<bool, TestCaseError> {
    let c = &mut case.config.0.clone();
    c.metrics.op_log = true;
    let Some(mut f) = functional(c, case.start) else { return Ok(false) };
    let mut ssd = timed(c, case.start);
    ssd.audit_every(997);
    // A TRIM waits for nothing, and the class and plane of a write are determined when it arrives; neither may overtake
    // the collection before it.
    let settles =
        case.settles || ssd.core.ftl.separates() || c.alloc.placement.policy == "least-busy";
    let requests = requests(case);
    if ssd.core.ftl.separates() {
        prop_assert!(submit(&mut ssd, &Request::new(Op::Flush, 0, 0)));
    }
    if ssd.core.ftl.separates() || requests.first().is_none_or(|r| r.op != Op::Trim) {
        f.meet_demands();
    }
    for (at, r) in requests.iter().enumerate() {
        if settles || r.op == Op::Trim {
            settle(&mut ssd);
        }
        let (here, there) = (execute(&mut f, r), submit(&mut ssd, r));
        prop_assert_eq!(here, there, "request {} finds room in one of them", at);
        if !here {
            return Ok(true);
        }
    }
    settle(&mut ssd);
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    let (mut expected, mut victims) = (f.victims().to_vec(), collected(&ssd, &log));
    // Pools may collect at the same time.
    expected.sort_by_key(|&block| f.ftl.blocks.pool_of(block));
    victims.sort_by_key(|&block| f.ftl.blocks.pool_of(block));
    let differ = expected.iter().zip(&victims).position(|(a, b)| a != b);
    prop_assert_eq!(differ, None, "victims differ from there on, of {}", victims.len());
    prop_assert_eq!(expected.len(), victims.len());
    prop_assert_eq!(f.tally, tally(&ssd));
    prop_assert_eq!(&f.ftl.blocks.valid, &ssd.core.ftl.blocks.valid);
    prop_assert_eq!(&f.ftl.blocks.erases, &ssd.core.ftl.blocks.erases);
    for pool in (0..f.ftl.geo.pools).map(PoolId) {
        let free = |ftl: &Ftl| ftl.space.free_blocks(pool);
        prop_assert_eq!(free(&f.ftl), free(&ssd.core.ftl), "erased blocks of {:?}", pool);
    }
    for lpn in (0..c.device.user_pages).map(Lpn) {
        let place = |ftl: &Ftl| ftl.owners.committed(lpn);
        prop_assert_eq!(place(&f.ftl), place(&ssd.core.ftl), "the place of {:?}", lpn);
    }
    Ok(true)
}

proptest! {
    #![proptest_config(cases(400, 37))]
    #[test]
    fn it_is_the_timed_machine(case in any_case()) {
        prop_assume!(compare(&case)?);
    }
}

proptest! {
    #![proptest_config(cases(10_000, 38))]
    #[test]
    #[ignore = "long"]
    fn it_is_the_timed_machine_in_10_000_configurations(case in any_case()) {
        prop_assume!(compare(&case)?);
    }
}
