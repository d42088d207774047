//! The functional executor against an FTL that shares no code with it: the same victims in the same
//! order, every page in the same place, the same write amplification, with and without wear levelling.

use crate::cases::cases;
use crate::oracle::naive_ftl::{NaiveFtl, Rule, Slc};
use crate::rig::{PAGE, device, free_blocks, victim, whole};
use proptest::prelude::*;
use ssd_core::config::{Config, Frontiers, PoolScope, RemapMode, SlcFull, SlcMode};
use ssd_core::ftl::Ftl;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::RemapCounts;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::units::Lpn;

#[derive(Clone, Copy, Debug)]
struct Case {
    shape: [u32; 3],
    blocks: u32,
    pages: u32,
    /// Blocks of a plane beyond the necessary ones.
    spare: u32,
    reserve: u32,
    soft: u32,
    hard: u32,
    /// Of wear levelling; 0: none.
    threshold: u32,
    rule: Rule,
    one_frontier: bool,
    by_erases: bool,
    seed: u64,
    trims: f64,
    copies: f64,
    /// Share of the writes and TRIMs that go to the first eighth of the pages.
    skew: f64,
    /// Bits of a cell, and the SLC blocks, if there are some.
    bits: u32,
    slc: Option<Slc>,
}

fn slc_blocks() -> impl Strategy<Value = (u32, Option<Slc>)> {
    let some = (2u32..=4, 0usize..3, 0usize..=100, any::<bool>());
    let some = some.prop_map(|(bits, fixed, percent, waits)| {
        (bits, Some(Slc { pages: 0, fixed, percent, waits }))
    });
    prop_oneof![Just((1, None)), some]
}

fn any_case() -> impl Strategy<Value = Case> {
    let shape = (1u32..=2, 1u32..=2, 1u32..=2).prop_map(|(a, b, c)| [a, b, c]);
    let rule = prop_oneof![Just(Rule::Greedy), Just(Rule::Fifo)];
    let levels = (1u32..=4, 0u32..=6, 0u32..=4, 0u32..=5, prop_oneof![Just(0u32), 1u32..=4]);
    let few = || prop_oneof![Just(0.0), 0.0f64..0.4];
    let rest = (few(), few(), prop_oneof![Just(0.0), 0.8f64..0.99], slc_blocks());
    (shape, 12u32..40, 1u32..=16, levels, rule, any::<[bool; 2]>(), any::<u64>(), rest).prop_map(
        |(
            shape,
            blocks,
            pages,
            (reserve, soft, spare, hard, threshold),
            rule,
            [one_frontier, by_erases],
            seed,
            (trims, copies, skew, (bits, slc)),
        )| {
            // A share of zero is no key, and an SLC block has whole pages.
            let slc = slc.filter(|slc| slc.fixed + slc.percent > 0);
            let slc = slc.map(|slc| Slc { pages: pages as usize, ..slc });
            let (pages, bits) = slc.map_or((pages, 1), |_| (pages * bits, bits));
            let (soft, hard) = (soft.min(blocks - 1), hard.min(blocks - 1));
            // A shared page stays on its plane, and one of several could be crowded.
            let shape = if copies > 0.0 { [1; 3] } else { shape };
            let case = Case {
                shape,
                blocks,
                pages,
                spare,
                reserve,
                soft,
                hard: hard.min(soft),
                threshold,
                rule,
                one_frontier: one_frontier && slc.is_none(),
                by_erases,
                seed,
                trims,
                copies,
                skew,
                bits,
                slc,
            };
            Case { blocks: blocks.max(reserve + spare + 7), ..case }
        },
    )
}

fn config(case: &Case) -> Config {
    let planes: u32 = case.shape.iter().product();
    // The frontiers, including that of wear levelling, the reserve, and one block to make progress with.
    let keep = case.reserve + 3 + u32::from(case.threshold > 0) + case.spare;
    let user = planes * (case.blocks - keep) * case.pages;
    let mut c = device(case.shape, case.blocks, case.pages, user);
    c.alloc.pool = PoolScope::Plane;
    c.alloc.frontiers = if case.one_frontier { Frontiers::Single } else { Frontiers::HostGc };
    (c.gc.reserve, c.gc.trigger) = (case.reserve, vec![free_blocks(u64::from(case.soft))]);
    c.gc.trigger[0].params.insert("hard".into(), Value::Int(u64::from(case.hard)));
    c.wear.static_threshold = case.threshold;
    c.gc.victim = victim(if case.rule == Rule::Greedy { "greedy" } else { "fifo" });
    c.wear.dynamic = case.by_erases;
    c.remap.mode = RemapMode::Share;
    (c.device.bits, c.device.word_line) = (case.bits, case.bits);
    if let Some(slc) = case.slc {
        c.slc.mode = match (slc.fixed, slc.percent) {
            (0, _) => SlcMode::Dynamic,
            (_, 0) => SlcMode::Static,
            _ => SlcMode::Hybrid,
        };
        // By hand: fewer blocks than the spare holds are no concern of the comparison.
        c.slc.static_bytes = slc.fixed as u64 * slc.pages as u64 * 2048 * u64::from(planes);
        c.slc.share = slc.percent as f64 / 100.0;
        c.slc.full = if slc.waits { SlcFull::Wait } else { SlcFull::Direct };
    }
    c
}

fn naive(case: &Case) -> NaiveFtl {
    let [channels, chips, planes] = case.shape.map(|n| n as usize);
    // Channels first, then chips, then planes.
    let order = (0..channels * chips * planes)
        .map(|i| {
            let (channel, chip, plane) = (i % channels, i / channels % chips, i / channels / chips);
            (channel * chips + chip) * planes + plane
        })
        .collect();
    let mut naive = NaiveFtl::new(order, case.blocks as usize, case.pages as usize, case.rule);
    (naive.one_frontier, naive.by_erases) = (case.one_frontier, case.by_erases);
    (naive.reserve, naive.soft) = (case.reserve as usize, case.soft as usize);
    (naive.hard, naive.threshold) = (case.hard as usize, case.threshold);
    naive.slc = case.slc;
    naive
}

/// Copy one page.
fn share(functional: &mut Functional, lpn: u32, source: u32) {
    let range = SourceRange { sector: u64::from(source) * PAGE, sectors: PAGE };
    let request = whole(Op::Copy, lpn, 1);
    let mut counts = RemapCounts::default();
    functional.copy(0, &request, &encode(&[range]), &mut counts).expect("a valid copy");
    assert_eq!(counts.shared + counts.unmapped, 1);
}

fn compare(case: &Case, steps: u32) {
    let c = config(case);
    let mut functional = Functional::new(&c, Ftl::new(&c));
    functional.record_victims();
    let mut naive = naive(case);
    let mut rng = Stream::new(case.seed, "naive");
    let user = c.device.user_pages;
    for step in 0..user + steps {
        let among = if rng.chance(case.skew) { (user / 8).max(1) } else { user };
        let lpn = if step < user { step } else { rng.below(u64::from(among)) as u32 };
        if step >= user && rng.chance(case.trims) {
            naive.trim(lpn);
            functional.trim(Lpn(lpn));
        } else if step >= user && rng.chance(case.copies) {
            let source = rng.below(u64::from(user)) as u32;
            if source != lpn {
                naive.share(lpn, source);
                share(&mut functional, lpn, source);
            }
        } else {
            naive.write(lpn);
            functional.write(Lpn(lpn), 0).expect("the naive one found room");
        }
    }
    let per_plane = case.blocks as usize;
    let victims: Vec<_> =
        functional.victims().iter().map(|b| (b.at() / per_plane, b.at() % per_plane)).collect();
    let differ = victims.iter().zip(&naive.victims).position(|(a, b)| a != b);
    assert_eq!(differ, None, "the victims differ from there on");
    assert_eq!(victims.len(), naive.victims.len());
    let t = functional.tally;
    assert_eq!((t.host_pages, t.gc_pages), (naive.host_programs, naive.gc_programs));
    assert_eq!((t.slc.folds, t.fold_pages), (naive.folds, naive.fold_programs));
    assert_eq!(t.slc.host_pages, naive.slc_programs);
    assert_eq!((t.levelled, t.wear_pages), (naive.levelled, naive.wear_programs));
    assert_eq!(functional.ftl.owners.valid_pages(), naive.valid_pages() as u64);
    assert_eq!(functional.ftl.owners.mapped(), naive.mapped() as u64);
    assert_eq!(functional.ftl.blocks.erases, naive.erases());
    let geo = &functional.ftl.geo;
    for lpn in 0..user {
        let place = functional.ftl.owners.committed(Lpn(lpn)).map(|ppn| {
            let (plane, place) = (geo.plane_of(ppn), geo.place(ppn));
            (plane.at(), place.block as usize, place.page as usize)
        });
        assert_eq!(place, naive.place(lpn), "LPN {lpn}");
    }
    functional.ftl.audit().unwrap();
}

proptest! {
    #![proptest_config(cases(150, 21))]
    #[test]
    fn it_is_the_naive_ftl(case in any_case()) {
        compare(&case, 2000);
    }
}

proptest! {
    #![proptest_config(cases(2000, 22))]
    #[test]
    #[ignore = "long"]
    fn it_is_the_naive_ftl_at_length(case in any_case()) {
        compare(&case, 5000);
    }
}
