//! Parity groups combined with any other feature: collection, failures, reads that avoid collection, turns,
//! redirection, streams, classes of pages, links, wear levelling, copies. Every read is right and every group is whole
//! at every audit, and the remaining state can be stored and restored.

use crate::rig;
use crate::rig::any_config::{is_valid, set_types};
use crate::rig::named;
use crate::rig::parity::paper;
use crate::rig::storm::{Storm, Weather};
use ssd_core::config::{
    Amount, Blocking, BlockingScope, BusyUnit, ChipFailure, Config, DataMode, Frontiers, GcPath,
    Granularity, GroupReads, InterconnectModel, LinkDuplex, ParityUpdate, RemapMode, TimingModel,
    Word,
};
use ssd_core::ftl::gc::{concurrency, trigger, victim};
use ssd_core::ftl::raid::redirect;
use ssd_core::ftl::separation;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::plug::{PolicyInfo, PolicySpec, Value};
use ssd_core::rng::Stream;
use ssd_core::sched::order;
use ssd_core::sim::ssd::Ssd;

/// Draws answers.
struct Draw(Stream);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn often(&mut self, share: f64) -> bool {
        self.0.chance(share)
    }

    fn any_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn word<W: Word + Copy>(&mut self) -> W {
        let (word, _) = self.any_of(W::WORDS);
        W::from_word(word).expect("a word of its own")
    }

    fn policy(&mut self, registry: &[&PolicyInfo]) -> PolicySpec {
        PolicySpec::with_defaults(self.any_of(registry))
    }

    fn triggers(&mut self) -> Vec<PolicySpec> {
        let soft = Value::Int(self.below(4));
        let on_demand = named(trigger::ALL, "on-demand")
            .with("soft", soft.clone())
            .with("by", Value::Word(self.any_of(&["any", "write"]).to_string()))
            .with("idle", Value::Bool(self.often(0.5)));
        let free = named(trigger::ALL, "free-blocks").with("soft", soft);
        let used = named(trigger::ALL, "used-space").with("at", Value::Real(0.8));
        let idle = named(trigger::ALL, "idle").with("after", Value::Int(self.below(400_000)));
        match self.below(5) {
            0 => vec![free],
            1 => vec![used, idle],
            2 => vec![on_demand, idle],
            _ => vec![on_demand],
        }
    }
}

/// The configuration of number `seed`, if the config layer accepts it.
fn drawn(seed: u64) -> Option<Config> {
    let mut draw = Draw(Stream::new(seed, "any parity"));
    let shapes = [
        ([4, 2, 1], 8),
        ([4, 2, 1], 4),
        ([4, 2, 1], 2),
        ([2, 2, 2], 4),
        ([3, 2, 1], 3),
        ([2, 1, 3], 2),
        ([1, 4, 1], 2),
    ];
    let (shape, group) = draw.any_of(&shapes);
    let mut c = paper(shape, group, 1);
    (c.device.blocks_per_plane, c.device.pages_per_block) = (16, 4 + draw.below(6) as u32);
    let stripes = rig::pages_of(&c) / (shape[0] * shape[1]) * (5 + draw.below(3) as u32) / 10;
    c.device.user_pages = stripes * c.data_pages_per_stripe() as u32;
    (c.run.seed, c.run.data) = (seed, draw.any_of(&[DataMode::Digest, DataMode::Bytes]));
    let t = &mut c.timing;
    (t.model, t.busy_unit) = (draw.word::<TimingModel>(), draw.word::<BusyUnit>());
    (t.transfer_ns, t.command_ns) = (draw.below(4_000), draw.below(2) * 300);
    t.multi_plane = shape[2] > 1 && t.model == TimingModel::Pipelined && draw.often(0.5);
    c.alloc.frontiers = draw.any_of(&[
        Frontiers::HostGc,
        Frontiers::HostGc,
        Frontiers::Streams(1),
        Frontiers::Streams(3),
    ]);
    (c.gc.victim, c.gc.trigger) = (draw.policy(victim::ALL), draw.triggers());
    (c.gc.window, c.gc.amount) = (1 + draw.below(3) as u32, draw.word::<Amount>());
    let turns = named(concurrency::ALL, "rotating").with("k", Value::Int(1 + draw.below(2)));
    let turns = turns.with("idle", Value::Bool(draw.often(0.5)));
    let other = draw.policy(concurrency::ALL);
    c.gc.concurrency = if draw.often(0.5) { turns } else { other };
    c.gc.blocking =
        Blocking { scope: draw.word::<BlockingScope>(), granularity: draw.word::<Granularity>() };
    c.gc.path = draw.any_of(&[GcPath::Controller, GcPath::Copyback]);
    (c.sched.order, c.wear.static_threshold) = (draw.policy(order::ALL), 3 * draw.below(2) as u32);
    (c.raid.update, c.raid.reads) = (draw.word::<ParityUpdate>(), draw.word::<GroupReads>());
    c.raid.read_buffer_pages = draw.below(3) as u32 * 4;
    c.raid.queue = draw.any_of(&[1, 20]);
    if draw.often(0.4) {
        c.raid.redirect = named(redirect::ALL, "deferred-gc")
            .with("foreign", Value::Real(0.05))
            .with("planned", Value::Bool(draw.often(0.5)));
    }
    if draw.often(0.4) {
        let chips = u64::from(shape[0] * shape[1]);
        let failures = 1 + draw.below(2);
        let all = (0..failures).map(|i| ChipFailure {
            chip: draw.below(chips) as u32,
            at_ns: draw.below(20_000_000) + i * 60_000_000,
        });
        c.raid.fail = all.collect();
        c.raid.spares = draw.below(3) as u32;
        c.raid.rebuild_window = 1 + draw.below(6) as u32;
        c.raid.rebuild_rate = draw.often(0.3).then_some(5_000_000);
    }
    if draw.often(0.4) {
        (c.host.link_bytes_per_s, c.host.link_duplex) =
            (Some(300_000_000), draw.word::<LinkDuplex>());
        c.controller.host_ecc_ns = draw.below(2) * 700;
        c.controller.retry_probability = draw.any_of(&[0.0, 0.1]);
    }
    set_way(&mut c, &mut Draw(Stream::new(seed, "way")));
    set_buffer(&mut c, &mut Draw(Stream::new(seed, "buffer")));
    separate(&mut c, &mut Draw(Stream::new(seed, "separation")));
    set_pages(&mut c, &mut Draw(Stream::new(seed, "pages")));
    c.raid.merge = Draw(Stream::new(seed, "merge")).often(0.5);
    set_copies(&mut c, &mut Draw(Stream::new(seed, "copies")));
    is_valid(&c).is_ok().then_some(c)
}

/// Half of the devices without a write buffer take copies.
fn set_copies(c: &mut Config, draw: &mut Draw) {
    if c.host.write_buffer_pages == 0 && draw.often(0.5) {
        c.remap.mode = draw.any_of(&[RemapMode::Share, RemapMode::Share, RemapMode::Copy]);
    }
}

/// A third of the devices separate pages, with more blocks than they would have otherwise.
fn separate(c: &mut Config, draw: &mut Draw) {
    if !draw.often(0.35) {
        return;
    }
    c.alloc.frontiers = Frontiers::HostGc;
    c.alloc.separation = draw.policy(separation::ALL);
    if c.alloc.separation.policy == "fdp" && draw.often(0.5) {
        let word = Value::Word("persistently".to_string());
        c.alloc.separation = c.alloc.separation.clone().with("isolation", word);
    }
    c.device.blocks_per_plane += c.alloc.classes().all;
}

/// Half of the devices that allow it copy on the selective path, some of them over an interconnect.
fn set_way(c: &mut Config, draw: &mut Draw) {
    if c.timing.model != TimingModel::Serial || draw.often(0.5) {
        return;
    }
    (c.gc.path, c.timing.multi_plane) = (GcPath::Selective, false);
    c.interconnect.model = draw.word::<InterconnectModel>();
    (c.interconnect.flit_bits, c.interconnect.slice_ns) = (64 + draw.below(4_000) as u32, 2);
    c.controller.buffers = draw.any_of(&[None, Some(1), Some(3)]);
    c.controller.page_error_probability = draw.any_of(&[0.0, 0.5]);
    c.controller.traversals_host = draw.below(2) as u32;
}

/// Two of five devices have a write buffer.
fn set_buffer(c: &mut Config, draw: &mut Draw) {
    if draw.often(0.4) {
        c.host.write_buffer_pages = draw.any_of(&[1, 2, 7, 30, 200]);
        c.host.write_buffer_threshold = draw.any_of(&[0.0, 0.4, 1.0]);
    }
}

/// Most devices whose blocks have whole word lines have types of pages; half of the pipelined ones transfer parts.
fn set_pages(c: &mut Config, draw: &mut Draw) {
    let bits = 1 + draw.below(4) as u32;
    if c.device.pages_per_block.is_multiple_of(bits) {
        set_types(c, (bits, 1, 100_000));
    }
    c.timing.partial = c.timing.model == TimingModel::Pipelined && draw.often(0.5);
    c.metrics.tenants = draw.often(0.5);
}

/// What a run has met.
#[derive(Default, Debug)]
struct EventCounts {
    runs: u64,
    lost: u64,
    reconstructed: u64,
    rebuilt: u64,
    redirected: u64,
    restored: u64,
    selective: u64,
    buffered: u64,
    separated: u64,
    merged: u64,
    shared: u64,
    copied: u64,
}

fn run(seed: u64, met: &mut EventCounts) {
    let Some(c) = drawn(seed) else { return };
    let weather = Weather {
        requests: 400,
        depth: 1 + (seed % 48) as usize,
        seed,
        audit: 1 + seed % 9,
        mix: [35, 12, 2],
        pause: [0, 4_000, 200_000][(seed % 3) as usize],
    };
    let mut storm = Storm::new(&c, weather);
    storm.copies = if c.remap.mode == RemapMode::Off { 0 } else { 40 };
    let ended = match storm.run() {
        Ok(()) => true,
        Err(DeviceError::DataLost { .. }) if c.raid.fail.len() > 1 => false,
        // A shared page stays on the chip of its source, which may be crowded.
        Err(e @ DeviceError::NoSpace { .. }) if c.remap.mode == RemapMode::Share => {
            storm.gave_up(&e);
            false
        }
        Err(e) => panic!("seed {seed}: {e}\n{c:?}"),
    };
    let m = storm.ssd.measured();
    met.runs += 1;
    met.shared += m.remap.shared;
    met.copied += m.remap.copied;
    met.buffered += m.buffer.evicted;
    met.selective += u64::from(c.gc.path == GcPath::Selective);
    met.separated += u64::from(storm.ssd.core.ftl.separates());
    met.merged += m.raid.merged;
    met.lost += u64::from(!ended);
    met.reconstructed += m.raid.reconstructed;
    met.rebuilt += m.degraded.as_ref().map_or(0, |d| d.rebuilt);
    met.redirected += m.raid.redirected;
    if ended
        && storm.ssd.empty_buffer().is_ok()
        && storm.ssd.quiesce().is_ok()
        && let Ok(stored) = storm.ssd.snapshot()
    {
        let again = Ssd::restore(&c, &stored).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        again.audit().unwrap_or_else(|e| panic!("seed {seed}, restored: {e}"));
        let stored_again = again.snapshot().expect("at rest");
        assert_eq!(stored_again.digest(), stored.digest(), "seed {seed}");
        met.restored += 1;
    }
}

#[test]
fn every_answer_is_right_whatever_else_is_answered() {
    let mut met = EventCounts::default();
    // In addition to the first ones, those that have found something.
    (0..400).chain([1661, 2358]).for_each(|seed| run(seed, &mut met));
    let least = met.runs.min(met.restored).min(met.redirected).min(met.rebuilt);
    assert!(
        least > 20
            && met.selective.min(met.separated) > 10
            && met.buffered > 10_000
            && met.merged > 20
            && met.shared.min(met.copied) > 300
            && met.reconstructed > 100,
        "{met:?}"
    );
}

#[test]
#[ignore = "minutes"]
fn every_answer_is_right_at_length() {
    let mut met = EventCounts::default();
    (1000..6000).for_each(|seed| run(seed, &mut met));
    assert!(met.lost > 10, "{met:?}");
}
