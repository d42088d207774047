//! Small policies against literal versions of their descriptions, on random views: triggers, concurrency rules,
//! placements, and the choice of a region.

use crate::cases::cases;
use crate::rig::named;
use proptest::prelude::*;
use ssd_core::ftl::gc::concurrency::{self, Concurrency, ConcurrencyPolicy as _, DeviceView};
use ssd_core::ftl::gc::trigger::{self, SpaceView, Trigger, TriggerPolicy as _};
use ssd_core::ftl::gc::{Demand, concurrency::LimitUnit};
use ssd_core::ftl::place::{self, Layout, Placement, PlacementPolicy as _, Planes};
use ssd_core::ftl::separation::{
    self, ClassBlocks, CollectedBlock, Ground, Separation, VictimScope,
};
use ssd_core::plug::{PolicySpec, Value};
use ssd_core::rng::Stream;
use ssd_core::units::{Lpn, Nanos, PlaneId, PoolId};

/// A pool of 20 blocks of 10 pages in a device of two.
fn any_view() -> impl Strategy<Value = SpaceView> {
    let idle = proptest::option::of(0u64..8);
    (0u32..=20, 0u64..=200, 0u64..=200, idle, any::<[bool; 2]>()).prop_map(
        |(free_blocks, used, others, idle, [read_waits, write_waits])| SpaceView {
            pool: PoolId(1),
            clock: 77,
            free_blocks,
            blocks: 20,
            pool_used_pages: used,
            pool_pages: 200,
            used_pages: used + others,
            pages: 400,
            idle_for: idle.map(Nanos),
            read_waits,
            write_waits,
        },
    )
}

fn any_trigger() -> impl Strategy<Value = PolicySpec> {
    let words = |words: &'static [&'static str]| proptest::sample::select(words);
    let all = (0u64..20, 0u64..20, 0u32..=20, words(&["any", "write"]), any::<bool>());
    (proptest::sample::select(trigger::ALL), all, words(&["device", "pool"])).prop_map(
        |(info, (soft, hard, at, by, idle), scope)| {
            let spec = PolicySpec::with_defaults(info);
            match info.name {
                "free-blocks" => spec.with("soft", Value::Int(soft)).with("hard", Value::Int(hard)),
                "idle" => spec.with("after", Value::Int(soft % 8)),
                "on-demand" => {
                    let spec = spec.with("soft", Value::Int(soft));
                    spec.with("by", Value::Word(by.into())).with("idle", Value::Bool(idle))
                }
                "used-space" => {
                    let spec = spec.with("at", Value::Real(f64::from(at) / 20.0));
                    spec.with("scope", Value::Word(scope.into()))
                }
                other => panic!("{other} has no literal version"),
            }
        },
    )
}

/// Whether a trigger holds, and ahead of the host; whether it still does when nothing is left to collect; the blocks
/// that may be opened before it holds, and the idle time that may make it hold.
type Answers = (bool, bool, bool, Option<u32>, Option<Nanos>);

fn literal_trigger(spec: &PolicySpec, view: &SpaceView) -> Answers {
    let free = u64::from(view.free_blocks);
    match spec.policy.as_str() {
        "free-blocks" => {
            let few = free <= spec.int("soft");
            (few, free <= spec.int("hard"), few, None, None)
        }
        "idle" => {
            let after = spec.int("after");
            let holds = view.idle_for.is_some_and(|idle| idle.0 >= after);
            (holds, false, false, None, Some(Nanos(after)))
        }
        "on-demand" => {
            let few = free <= spec.int("soft");
            let wanted = view.write_waits || (view.read_waits && spec.word("by") == "any");
            let rests = spec.flag("idle") && view.idle_for.is_some();
            let left = free.saturating_sub(spec.int("soft")) as u32;
            let after = spec.flag("idle").then_some(Nanos(0));
            (few && (wanted || rests), few && wanted, few, Some(left), after)
        }
        "used-space" => {
            let [used, all] = match spec.word("scope") {
                "pool" => [view.pool_used_pages, view.pool_pages],
                _ => [view.used_pages, view.pages],
            };
            let holds = 20 * used >= (spec.real("at") * 20.0).round() as u64 * all;
            (holds, false, holds, None, None)
        }
        other => panic!("{other} has no literal version"),
    }
}

proptest! {
    #![proptest_config(cases(4000, 71))]
    #[test]
    fn triggers_are_their_literal_versions(spec in any_trigger(), view in any_view()) {
        let policy = Trigger::build(&spec);
        let is: Answers = (
            policy.holds(&view),
            policy.urgent(&view),
            policy.outlasts(&view),
            policy.blocks_left(&view),
            policy.idle_after(),
        );
        prop_assert_eq!(is, literal_trigger(&spec, &view), "{:?} of {:?}", spec, view);
    }

    #[test]
    fn concurrency_rules_are_their_literal_versions(
        info in proptest::sample::select(concurrency::ALL),
        k in 1u64..9,
        (pools, channels) in (1u32..30, 1u32..20),
        used_pages in 0u64..=1000,
        up in any::<bool>(),
        idle in any::<bool>(),
    ) {
        let mut spec = PolicySpec::with_defaults(info);
        if matches!(info.name, "fixed" | "rotating") {
            spec = spec.with("k", Value::Int(k));
        }
        if info.name == "rotating" {
            spec = spec.with("idle", Value::Bool(idle));
        }
        if info.name == "adaptive" {
            let rounding = if up { "ceil" } else { "floor" };
            spec = spec.with("gmax", Value::Int(k - 1));
            spec = spec.with("rounding", Value::Word(rounding.into()));
        }
        let policy = Concurrency::build(&spec);
        let half = |of: u32| of / 2 + of % 2;
        let limit = match info.name {
            "fixed" | "rotating" => k as u32,
            "half" => half(pools),
            "unlimited" => pools,
            "adaptive" => {
                let most = if k == 1 { half(channels) } else { k as u32 - 1 };
                // From 50 % to 85 % of 1000 pages.
                let share = f64::from(most) * (used_pages as f64 - 500.0) / 350.0;
                let share = share.clamp(0.0, f64::from(most));
                if up { share.ceil() as u32 } else { share.floor() as u32 }
            }
            other => panic!("{other} has no literal version"),
        };
        let view = DeviceView { pools, channels, used_pages, pages: 1000 };
        let counted = match info.name {
            "adaptive" => LimitUnit::Channels,
            "rotating" => LimitUnit::Members,
            _ => LimitUnit::Pools,
        };
        prop_assert_eq!(
            (policy.limit(&view), policy.counted(), policy.binds_reserve(), policy.waits_until_idle()),
            (limit, counted, info.name == "rotating", info.name == "rotating" && idle),
            "{:?} of {:?}", spec, view
        );
    }
}

/// Operations on each busy unit.
struct Loads(Vec<u32>);

impl Planes for Loads {
    fn load(&self, plane: PlaneId) -> u32 {
        self.0[plane.at()]
    }

    fn demand(&self, _plane: PlaneId) -> Demand {
        Demand::None
    }

    fn collects(&self, _plane: PlaneId) -> bool {
        false
    }
}

#[test]
fn placements_are_their_literal_versions() {
    let mut rng = Stream::new(3, "placements");
    for shape in [[3, 2, 2], [4, 1, 1], [1, 2, 3], [1, 1, 1]] {
        let [channels, chips, planes] = shape;
        // Striping order: channels first, then chips, then planes.
        let in_turn = |(plane, chip): (u32, u32), channel: u32| {
            PlaneId((channel * chips + chip) * planes + plane)
        };
        let places = (0..planes).flat_map(|plane| (0..chips).map(move |chip| (plane, chip)));
        let order: Vec<PlaneId> =
            places.flat_map(|place| (0..channels).map(move |c| in_turn(place, c))).collect();
        for info in place::ALL {
            let mut policy =
                Placement::build(&PolicySpec::with_defaults(info), &Layout::new(shape));
            // The index in the order behind the last choice.
            let mut behind = 0;
            for number in 0..500 {
                let lpn = Lpn(rng.below(1000) as u32);
                let loads = Loads((0..order.len()).map(|_| rng.below(3) as u32).collect());
                let turns = |i: usize| (behind + i) % order.len();
                let at = match info.name {
                    "static" => lpn.0 as usize % order.len(),
                    "round-robin" => turns(0),
                    "least-busy" => {
                        let least = loads.0.iter().min().expect("planes");
                        let is_least = |&at: &usize| loads.0[order[at].at()] == *least;
                        (0..order.len()).map(turns).find(is_least).expect("one has the least")
                    }
                    other => panic!("{other} has no literal version"),
                };
                behind = (at + 1) % order.len();
                assert_eq!(policy.place(lpn, &loads), order[at], "{} {number}", info.name);
            }
        }
    }
}

/// Which of two regions is cleaned: the one with fewer valid pages in its best block, until a block's worth of invalid
/// pages has been gained, but not a region with fewer invalid pages than that.
#[test]
fn regions_are_cleaned_as_a_literal_version_does() {
    use separation::SeparationPolicy as _;
    const PAGES: u32 = 8;
    let ground = Ground {
        pages: 100,
        host_pages: 100,
        data_pages: 0,
        pages_per_block: PAGES,
        most_classes: 2,
        pools: 1,
        blocks_per_pool: 20,
        seed: 1,
    };
    let mut rng = Stream::new(7, "regions");
    let mut policy = Separation::build(&named(separation::ALL, "host-and-copies"), &ground);
    let (mut region, mut left, mut changes) = (0, 0, 0);
    for number in 0..5000 {
        let mut any = || {
            let sealed = rng.below(6) as u32;
            let invalid = if sealed > 0 { rng.below(24) } else { 0 };
            ClassBlocks { sealed, invalid, least_valid: rng.below(u64::from(PAGES)) as u32 }
        };
        let classes = [any(), any()];
        let rich = classes.map(|of| of.invalid >= u64::from(PAGES));
        let [host, copies] = classes.map(|of| of.least_valid);
        let better = match rich {
            [true, true] => usize::from(copies <= host),
            [false, true] => 1,
            _ => 0,
        };
        if left == 0 || !rich[region] {
            changes += u32::from(region != better);
            region = better;
        }
        let among = policy.victim_among(PoolId(0), &classes);
        let has_victims = classes[region].sealed > 0;
        let expected =
            if has_victims { VictimScope::Class(region as u32) } else { VictimScope::All };
        assert_eq!(among, expected, "{number}: {classes:?}, {left} to gain");
        let valid = classes[region].least_valid;
        let class = region as u32;
        policy.on_collect(&CollectedBlock { class, valid, opened: 0, clock: 9 });
        left = if left == 0 { PAGES } else { left }.saturating_sub(PAGES - valid);
    }
    assert!(changes > 500, "{changes} changes of the region");
}
