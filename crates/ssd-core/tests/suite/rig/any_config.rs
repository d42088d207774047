//! Valid configs of small devices in any combination, drawn by proptest.

use super::any_slc::{reconcile_slc, slc_blocks};
use super::{device, free_blocks, named, pages_of, used_space};
use proptest::prelude::*;
use ssd_core::config::{
    Amount, Blocking, BlockingScope, BusyUnit, Config, DataMode, EraseUnit, Fold, Frontiers,
    GcPath, Granularity, Input, InterconnectModel, Kernel, PoolScope, PowerCut, Suspend,
    TimingModel, Word, load, to_toml,
};
use ssd_core::ftl::gc::{concurrency, trigger, victim};
use ssd_core::ftl::{place, separation};
use ssd_core::plug::{ParamKind, PolicyInfo, PolicySpec, Value};
use ssd_core::sched::order;

/// A drawn config; it prints as TOML, without the sections that do not matter here.
#[derive(Clone)]
pub(crate) struct RandomConfig(pub(crate) Config);

impl std::fmt::Debug for RandomConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = to_toml(&Kernel(self.0.clone()));
        let wanted = |s: &&str| {
            let sections = [
                "device",
                "timing",
                "interconnect",
                "alloc",
                "slc",
                "sched",
                "controller",
                "gc",
                "wear",
                "run",
            ];
            sections.iter().any(|name| {
                s.starts_with(&format!("{name}]")) || s.starts_with(&format!("{name}."))
            })
        };
        let sections = text.split("\n[").filter(wanted).map(|s| format!("[{}", s.trim_end()));
        f.write_str(&sections.collect::<Vec<_>>().join("\n"))
    }
}

/// How much room the drawn devices have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spare {
    /// As little as the frontiers and the reserve need, or 2 %, whichever is more.
    Tight,
    /// Any, down to what the config layer accepts.
    Any,
}

pub(super) fn word<W: Word + std::fmt::Debug>() -> impl Strategy<Value = W> + Clone {
    let all: Vec<W> = W::WORDS.iter().filter_map(|(w, _)| W::from_word(w)).collect();
    proptest::sample::select(all)
}

/// Any policy of a registry with some valid value for each of its parameters.
fn policy(registry: &'static [&'static PolicyInfo]) -> impl Strategy<Value = PolicySpec> {
    (0..registry.len(), 0.0..1.0f64, 0.0..1.0f64).prop_map(|(i, x, y)| {
        let mut spec = PolicySpec::with_defaults(registry[i]);
        for (n, p) in registry[i].params.iter().enumerate() {
            let at = if n % 2 == 0 { x } else { y };
            let value = match p.kind {
                ParamKind::Int(low, high) => Value::Int(low + (at * high.min(6) as f64) as u64),
                ParamKind::Ratio(low, high) => Value::Real((low + at * (high - low)).max(low)),
                ParamKind::Choice(words) => {
                    Value::Word(words[(at * words.len() as f64) as usize].to_string())
                }
                ParamKind::Time => Value::Int((at * 3000.0) as u64),
                ParamKind::Bool => Value::Bool(at < 0.5),
            };
            spec.params.insert(p.name.to_string(), value);
        }
        spec
    })
}

fn triggers() -> impl Strategy<Value = Vec<PolicySpec>> {
    let space = prop_oneof![
        (0u64..6, 0u64..4).prop_map(|(soft, hard)| {
            free_blocks(soft).with("hard", Value::Int(hard.min(soft)))
        }),
        (0.3f64..1.0, any::<bool>())
            .prop_map(|(at, pool)| used_space(at, if pool { "pool" } else { "device" })),
    ];
    let idle =
        (0u64..4000).prop_map(|after| named(trigger::ALL, "idle").with("after", Value::Int(after)));
    prop_oneof![
        4 => space.clone().prop_map(|t| vec![t]),
        1 => (space.clone(), space.clone()).prop_map(|(a, b)| vec![a, b]),
        1 => (space, idle.clone()).prop_map(|(a, b)| vec![a, b]),
        1 => idle.prop_map(|t| vec![t]),
    ]
}

type Times = [u64; 7];

fn times() -> impl Strategy<Value = Times> {
    let usual = Just([50, 500, 2000, 20, 2, 3, 7]);
    let any = [0u64..80, 1u64..700, 0u64..3000, 0u64..40, 0u64..4, 0u64..5, 0u64..30];
    prop_oneof![usual.prop_map(Times::from), any]
}

fn geometry(spare: Spare) -> impl Strategy<Value = Config> {
    let least = match spare {
        Spare::Tight => 8u32,
        Spare::Any => 4,
    };
    ((1u32..=2, 1u32..=2, 1u32..=3), least..=20, 1u32..=8)
        .prop_map(|((a, b, c), blocks, pages)| device([a, b, c], blocks, pages, 1))
}

fn timing() -> impl Strategy<Value = (TimingModel, BusyUnit, Times, bool)> {
    (word(), word(), times(), any::<bool>())
}

fn allocation() -> impl Strategy<Value = (PolicySpec, Frontiers, PoolScope, EraseUnit)> {
    let frontiers = proptest::sample::select(vec![
        Frontiers::Single,
        Frontiers::HostGc,
        Frontiers::Streams(1),
        Frontiers::Streams(3),
    ]);
    (policy(place::ALL), frontiers, word(), word())
}

type Collection = (u32, Vec<PolicySpec>, PolicySpec, Amount, PolicySpec, Blocking, u32, GcPath);

fn collection() -> impl Strategy<Value = Collection> {
    let blocking = (word::<BlockingScope>(), word::<Granularity>())
        .prop_map(|(scope, granularity)| Blocking { scope, granularity });
    let path = prop_oneof![
        3 => Just(GcPath::Controller), 1 => Just(GcPath::Copyback), 2 => Just(GcPath::Selective)
    ];
    (
        1u32..=3,
        triggers(),
        policy(victim::ALL),
        word(),
        policy(concurrency::ALL),
        blocking,
        1u32..=4,
        path,
    )
}

/// What is suspended, how long that takes, and how often it may happen.
type Suspension = (Suspend, u64, u64, u32);

fn suspension() -> impl Strategy<Value = Suspension> {
    let some = (word(), 0u64..60, 0u64..30, 1u32..4);
    prop_oneof![2 => Just((Suspend::None, 0, 0, 1)), 1 => some]
}

/// Without suspensions the keys of their times have their defaults.
fn set_suspension(c: &mut Config, (suspend, suspend_ns, resume_ns, limit): Suspension) {
    let t = &mut c.timing;
    t.suspend = suspend;
    if suspend == Suspend::None {
        let off = Config::default().timing;
        (t.suspend_ns, t.resume_ns, t.suspend_limit) =
            (off.suspend_ns, off.resume_ns, off.suspend_limit);
    } else {
        (t.suspend_ns, t.resume_ns, t.suspend_limit) = (suspend_ns, resume_ns, limit);
    }
}

/// Types of pages, pages of each on a word line, and how much longer one takes than the type before.
fn page_types() -> impl Strategy<Value = (u32, u32, u64)> {
    let some = (1u32..=4, 1u32..=2, 0u64..300);
    prop_oneof![1 => Just((1, 1, 0)), 1 => some]
}

/// Types of so many bits, so many pages of each on a word line, and how much longer one takes than the type before.
/// Blocks have whole word lines.
pub(crate) fn set_types(c: &mut Config, (bits, of_each, longer): (u32, u32, u64)) {
    (c.device.bits, c.device.word_line) = (bits, bits * of_each);
    whole_word_lines(c);
    let t = &mut c.timing;
    (t.read_types_ns, t.program_types_ns) = (Vec::new(), Vec::new());
    if bits > 1 {
        t.read_types_ns = (0..u64::from(bits)).map(|n| t.read_ns + n * longer / 10).collect();
        t.program_types_ns =
            (0..u64::from(bits)).rev().map(|n| t.program_ns + n * longer).collect();
        let mean = |times: &[u64]| {
            (times.iter().sum::<u64>() + times.len() as u64 / 2) / times.len() as u64
        };
        (t.read_ns, t.program_ns) = (mean(&t.read_types_ns), mean(&t.program_types_ns));
    }
}

fn whole_word_lines(c: &mut Config) {
    let d = &mut c.device;
    d.pages_per_block = d.pages_per_block.next_multiple_of(d.word_line);
}

/// What is between flash controllers and host side.
type Between = (InterconnectModel, [u32; 4], f64, Option<u32>, f64, bool);

fn between() -> impl Strategy<Value = Between> {
    let errors = prop_oneof![2 => Just(0.0), 1 => Just(1.0), 2 => 0.0..1.0f64];
    // Flit width, slice time, columns and rows.
    let net = (1u32..20_000, 1u32..8, 1u32..6, 1u32..4).prop_map(|(a, b, c, d)| [a, b, c, d]);
    (word(), net, 1.0..9.0f64, proptest::option::of(1u32..4), errors, any::<bool>())
}

fn set_between(c: &mut Config, (model, net, mean_path, buffers, errors, host): Between) {
    let i = &mut c.interconnect;
    (i.model, i.mean_path, i.slice_ns) = (model, mean_path, u64::from(net[1]));
    [i.flit_bits, _, i.columns, i.rows] = net;
    (c.controller.buffers, c.controller.page_error_probability) = (buffers, errors);
    c.controller.traversals_host = u32::from(host);
}

/// Satisfy what the keys demand of each other.
fn reconcile(c: &mut Config) {
    whole_word_lines(c);
    if c.gc.path == GcPath::Copyback {
        c.alloc.pool = PoolScope::Plane;
    }
    if c.gc.blocking.granularity == Granularity::Page {
        c.gc.blocking.scope = BlockingScope::Block;
    }
    let rule = &mut c.gc.concurrency;
    if rule.policy == "adaptive" && rule.real("theta1") > rule.real("theta2") {
        let theta2 = rule.params["theta2"].clone();
        rule.params.insert("theta1".to_string(), theta2);
    }
    if c.gc.path == GcPath::Selective {
        (c.timing.model, c.timing.multi_plane) = (TimingModel::Serial, false);
    }
    if c.timing.model == TimingModel::Pipelined {
        c.interconnect.model = InterconnectModel::None;
    }
    if c.alloc.erase_unit == EraseUnit::Superblock {
        c.alloc.placement = named(place::ALL, "round-robin");
    }
    if c.timing.model == TimingModel::Serial && !c.timing.multi_plane {
        set_suspension(c, (Suspend::None, 0, 0, 1));
        c.timing.partial = false;
    }
    if c.timing.multi_plane {
        (c.timing.model, c.interconnect.model) = (TimingModel::Pipelined, InterconnectModel::None);
        c.timing.busy_unit = BusyUnit::Chip;
        c.device.planes_per_chip = c.device.planes_per_chip.max(2);
        if c.alloc.pool == PoolScope::Plane {
            c.alloc.pool = PoolScope::Chip;
        }
        c.gc.path = GcPath::Controller;
    }
}

/// Planes of a pool, and its erase units.
fn pool_shape(c: &Config) -> (u32, u32) {
    let d = &c.device;
    let planes = match c.alloc.pool {
        PoolScope::Plane => 1,
        PoolScope::Chip => d.planes_per_chip,
        PoolScope::Channel => d.planes_per_chip * d.chips_per_channel,
        PoolScope::Device => d.planes_per_chip * d.chips_per_channel * d.channels,
    };
    let superblock = c.alloc.erase_unit == EraseUnit::Superblock;
    let units = if superblock { d.blocks_per_plane } else { d.blocks_per_plane * planes };
    (planes, units)
}

/// User pages: `share` of what the reserve and the open blocks leave.
fn capacity(c: &mut Config, spare: Spare, share: f64) {
    let (planes, units) = pool_shape(c);
    let all = pages_of(c);
    let frontiers = c.alloc.classes().all + u32::from(!c.power.is_off());
    let open_on_each = if c.alloc.erase_unit == EraseUnit::Superblock { 1 } else { planes };
    let keep = match spare {
        Spare::Tight => frontiers * open_on_each + c.gc.reserve + 2,
        Spare::Any => c.gc.reserve.min(units - 1),
    };
    let most = match spare {
        Spare::Tight => (f64::from(all) / 1.02) as u32,
        Spare::Any => all - 1,
    };
    let user = (u64::from(all) * u64::from(units.saturating_sub(keep)) / u64::from(units)) as u32;
    let user = user.min(most);
    c.device.user_pages = ((f64::from(user) * share) as u32).clamp(1, all - 1);
    reconcile_slc(c);
}

/// Any valid config with this much room.
pub(crate) fn any_config(spare: Spare) -> impl Strategy<Value = RandomConfig> {
    let share = prop_oneof![3 => Just(1.0), 1 => 0.3f64..1.0];
    let flash = (suspension(), any::<bool>(), page_types(), slc_blocks());
    let rest = (policy(order::ALL), any::<bool>(), 0u64..1000, share, between(), flash);
    (geometry(spare), timing(), allocation(), collection(), rest)
        .prop_map(move |(mut c, t, a, g, (order, dynamic, seed, share, between, flash))| {
            let multi;
            (c.timing.model, c.timing.busy_unit, _, multi) = t;
            c.timing.multi_plane = multi && c.timing.busy_unit == BusyUnit::Chip;
            let w = &mut c.timing;
            [w.read_ns, w.program_ns, w.erase_ns, w.transfer_ns, w.command_ns, w.sram_ns, _] = t.2;
            c.controller.ecc_ns = t.2[6];
            (c.alloc.placement, c.alloc.frontiers, c.alloc.pool, c.alloc.erase_unit) = a;
            let gc = &mut c.gc;
            (gc.reserve, gc.trigger, gc.victim, gc.amount) = (g.0, g.1, g.2, g.3);
            (gc.concurrency, gc.blocking, gc.window, gc.path) = (g.4, g.5, g.6, g.7);
            (c.sched.order, c.wear.dynamic, c.run.seed) = (order, dynamic, seed);
            set_suspension(&mut c, flash.0);
            c.timing.partial = flash.1;
            set_types(&mut c, flash.2);
            c.slc = flash.3;
            set_between(&mut c, between);
            reconcile(&mut c);
            capacity(&mut c, spare, share);
            c
        })
        .prop_filter("the config layer refuses it", |c| is_valid(c).is_ok())
        .prop_map(RandomConfig)
}

/// Any valid config with little room that levels its wear all the time: pools of many planes, small reserves and
/// triggers, blocks that wear out in some. In half of them a copy takes long, so that much happens between the
/// beginning of a job and its first program.
pub(crate) fn levelled_config() -> impl Strategy<Value = RandomConfig> {
    use PoolScope::{Channel, Chip, Device, Plane};
    let pools = proptest::sample::select(vec![Plane, Chip, Channel, Device, Device, Device]);
    let endurance = prop_oneof![3 => Just(0u32), 1 => 4u32..40];
    let wear = (1u32..=2, endurance, 0.0f64..1.0, prop_oneof![3 => Just(0.0), 1 => 0.0f64..0.1]);
    let shape = (1u32..=2, 1u32..=2, 2u32..=4, 2u32..=6);
    let pace = (0u64..=2, prop_oneof![1 => Just(None), 1 => (500u64..20_000).prop_map(Some)]);
    (any_config(Spare::Tight), (pools, 1u32..=2, 0.5f64..1.0), wear, shape, pace)
        .prop_map(|(RandomConfig(mut c), (pool, reserve, share), wear, shape, (soft, ecc_ns))| {
            (c.alloc.pool, c.gc.reserve) = (pool, reserve);
            let d = &mut c.device;
            (d.channels, d.chips_per_channel, d.planes_per_chip, d.pages_per_block) = shape;
            // Whole word lines could make blocks larger, and larger blocks are levelled less often.
            if !d.pages_per_block.is_multiple_of(d.word_line) {
                set_types(&mut c, (1, 1, 0));
            }
            if c.gc.trigger.len() == 1 {
                c.gc.trigger = vec![free_blocks(soft)];
            }
            c.controller.ecc_ns = ecc_ns.unwrap_or(c.controller.ecc_ns);
            let w = &mut c.wear;
            (w.static_threshold, w.endurance, w.endurance_spread, w.factory_bad_blocks) = wear;
            if w.endurance == 0 {
                w.endurance_spread = 0.0;
            }
            reconcile(&mut c);
            capacity(&mut c, Spare::Tight, share);
            c
        })
        .prop_filter("the config layer refuses it", |c| is_valid(c).is_ok())
        .prop_map(RandomConfig)
}

/// Any valid config with little room that separates pages; a third of them also level wear.
pub(crate) fn separated_config() -> impl Strategy<Value = RandomConfig> {
    separated_by(separation::ALL)
}

/// As [`separated_config`], with a policy of `registry`.
pub(crate) fn separated_by(
    registry: &'static [&'static PolicyInfo],
) -> impl Strategy<Value = RandomConfig> {
    let levels = prop_oneof![2 => Just(0u32), 1 => 1u32..4];
    let drawn = (any_config(Spare::Tight), policy(registry), 12u32..40, levels, 0.5f64..1.0);
    drawn
        .prop_map(|(RandomConfig(mut c), separation, blocks, threshold, share)| {
            (c.alloc.separation, c.alloc.frontiers) = (separation, Frontiers::HostGc);
            (c.device.blocks_per_plane, c.wear.static_threshold) = (blocks, threshold);
            capacity(&mut c, Spare::Tight, share);
            c
        })
        .prop_filter("the config layer refuses it", |c| is_valid(c).is_ok())
        .prop_map(RandomConfig)
}

/// Any valid config with superblocks of many planes and few pages; most separate pages into classes.
pub(crate) fn superblocks() -> impl Strategy<Value = RandomConfig> {
    let shape = (1u32..=2, 1u32..=2, 2u32..=16, 24u32..60, 1u32..=4);
    let pools =
        proptest::sample::select(vec![PoolScope::Chip, PoolScope::Channel, PoolScope::Device]);
    let separation = proptest::option::weighted(0.6, policy(separation::ALL));
    let drawn = (any_config(Spare::Tight), separation, shape, pools, 0.3f64..0.9);
    drawn
        .prop_map(|(RandomConfig(mut c), separation, shape, pool, share)| {
            if let Some(separation) = separation {
                (c.alloc.separation, c.alloc.frontiers) = (separation, Frontiers::HostGc);
            }
            (c.alloc.pool, c.alloc.erase_unit) = (pool, EraseUnit::Superblock);
            let d = &mut c.device;
            [d.channels, d.chips_per_channel, d.planes_per_chip] = [shape.0, shape.1, shape.2];
            (d.blocks_per_plane, d.pages_per_block) = (shape.3, shape.4);
            c.gc.path = GcPath::Controller;
            reconcile(&mut c);
            capacity(&mut c, Spare::Tight, share);
            c
        })
        .prop_filter("the config layer refuses it", |c| is_valid(c).is_ok())
        .prop_map(RandomConfig)
}

/// Any valid config with little room that separates pages and has power cuts.
pub(crate) fn separated_and_cut() -> impl Strategy<Value = RandomConfig> {
    let drawn = (any_config(Spare::Tight), policy(separation::ALL), 14u32..40, 0u32..4);
    drawn
        .prop_map(|(RandomConfig(mut c), separation, blocks, threshold)| {
            (c.alloc.separation, c.alloc.frontiers) = (separation, Frontiers::HostGc);
            (c.device.blocks_per_plane, c.wear.static_threshold) = (blocks, threshold);
            (c.power.cut, c.run.data) = (PowerCut::Random(40_000), DataMode::Bytes);
            capacity(&mut c, Spare::Tight, 1.0);
            c
        })
        .prop_filter("the config layer refuses it", |c| is_valid(c).is_ok())
        .prop_filter("too small for requests that overlap", |c| c.device.user_pages > 8)
        .prop_map(RandomConfig)
}

/// Any valid config for which docs/model.md says that the timed machine, given one-page requests one at a time, decides
/// as functional mode does.
pub(crate) fn decided_alike() -> impl Strategy<Value = RandomConfig> {
    let spare = prop_oneof![Just(Spare::Tight), Just(Spare::Any)];
    let separation = proptest::option::weighted(0.25, policy(separation::ALL));
    let shape = (1u32..=3, 1u32..=2, 1u32..=4, 10u32..30, 1u32..=8);
    let levels = prop_oneof![3 => Just(0u32), 1 => 1u32..5];
    let share = prop_oneof![2 => Just(1.0), 1 => 0.5f64..1.0];
    let drawn = spare.prop_flat_map(|spare| (Just(spare), any_config(spare)));
    let gc = (0u64..20, 0u64..6, any::<bool>());
    (drawn, separation, shape, (levels, share), gc)
        .prop_map(|((spare, RandomConfig(mut c)), separation, shape, (levels, share), gc)| {
            let d = &mut c.device;
            [d.channels, d.chips_per_channel, d.planes_per_chip] = [shape.0, shape.1, shape.2];
            (d.blocks_per_plane, d.pages_per_block) = (shape.3, shape.4);
            c.wear.static_threshold = levels;
            c.gc.blocking =
                Blocking { scope: BlockingScope::Device, granularity: Granularity::Job };
            c.gc.victim = super::twins::in_pages(c.gc.victim);
            c.gc.trigger.retain(|trigger| trigger.policy != "idle");
            c.slc.fold = Fold::Full;
            if c.gc.trigger.is_empty() || gc.2 {
                let hard = Value::Int(gc.1.min(gc.0));
                c.gc.trigger = vec![free_blocks(gc.0).with("hard", hard)];
            }
            if let Some(separation) = separation {
                (c.alloc.separation, c.alloc.frontiers) = (separation, Frontiers::HostGc);
                c.device.blocks_per_plane += 16;
            }
            reconcile(&mut c);
            let superblock = c.alloc.erase_unit == EraseUnit::Superblock;
            // A policy that separates sees victims in the order in which pools collect.
            let separates = c.alloc.separation.policy != "none";
            if superblock || separates || c.gc.trigger.iter().any(is_over_the_device) {
                (c.alloc.pool, c.gc.path) = (PoolScope::Device, GcPath::Controller);
            }
            if c.alloc.pool != PoolScope::Device && !superblock {
                c.alloc.placement = named(place::ALL, "static");
            }
            // Several pools that collect at once each decide for themselves, unless a rule or random numbers join them.
            c.gc.concurrency = named(concurrency::ALL, "unlimited");
            let draws = ["random", "d-choices"].contains(&c.gc.victim.policy.as_str())
                || c.gc.victim.params.get("ties") == Some(&Value::Word("random".to_string()));
            if draws && c.alloc.pool != PoolScope::Device {
                c.gc.victim = super::victim("greedy");
            }
            // With several copies under way their programs may change places.
            if pool_shape(&c).0 > 1 || c.gc.path != GcPath::Controller || levels > 0 {
                c.gc.window = 1;
            }
            capacity(&mut c, spare, share);
            c
        })
        .prop_filter("the config layer refuses it", |c| is_valid(c).is_ok())
        .prop_map(RandomConfig)
}

fn is_over_the_device(trigger: &PolicySpec) -> bool {
    trigger.params.get("scope") == Some(&Value::Word("device".to_string()))
}

/// The verdict of the config layer on `c`.
pub(crate) fn is_valid(c: &Config) -> Result<Config, String> {
    let file = Some(("any.toml".to_string(), to_toml(&Kernel(c.clone()))));
    load::<Kernel>(&Input { file, ..Input::default() })
        .map(|config| config.0)
        .map_err(|errors| errors.iter().map(|e| format!("{e}\n")).collect())
}
