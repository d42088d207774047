//! What was acknowledged as durable survives any power cut.

use crate::rig::device;
use crate::rig::{
    self,
    cuts::{Cuts, Load},
};
use ssd_core::config::{
    BufferPower, BusyUnit, Config, DataMode, EraseUnit, Frontiers, GcPath, PoolScope, PowerCut,
    RemapMode, TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Op, Request};
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Nanos, PoolId};

/// Two planes of 16 blocks of 8 pages, and a window of two copies.
fn small() -> Config {
    let mut c = device([1, 2, 1], 16, 8, 150);
    c.run.data = DataMode::Digest;
    c.power.cut = PowerCut::OnRequest;
    c.gc.window = 2;
    c
}

/// Times in the SRAM: with a positive time a cut finds writes that are in the buffer and have not been acknowledged.
const SRAM: [u64; 2] = [0, 30];

/// Times to write a record: with a long time a cut finds TRIMs whose records have not been written.
const NVRAM: [u64; 2] = [500, 8000];

/// Cut power after each of the first `steps` steps of a run.
fn cut_everywhere(config: &Config, load: Load, filled: u32, steps: u64) {
    for at in 0..steps {
        let mut run = Cuts::new(config, load, filled);
        run.cut_after(at, &at);
        run.read_back();
    }
}

#[test]
fn a_cut_after_every_event_loses_no_acknowledged_page() {
    cut_everywhere(&small(), Load::MIXED, 150, 900);
}

#[test]
fn so_does_one_during_collection_that_follows_a_cut() {
    for first in (0..700).step_by(41) {
        for second in 0..120 {
            let mut run = Cuts::new(&small(), Load::MIXED, 150);
            run.cut_after(first, &first);
            run.cut_after(second, &(first, second));
        }
    }
}

/// Cut power during the run, and again after each step of the mount that changes the flash. Returns how many mounts
/// were cut off.
fn cut_inside_mounts(config: &Config, load: Load, filled: u32) -> u64 {
    let mut stopped = 0;
    for at in (0..900).step_by(3) {
        for steps in 0.. {
            let mut run = Cuts::new(config, load, filled);
            run.run(at);
            run.cut();
            let again = run.ssd.mount_in_part(steps).expect("it can be recovered");
            run.mount_and_judge(&(at, steps));
            if at % 9 == 0 {
                // A mount in two parts leaves a normal device.
                run.cut_after(25, &(at, steps, "later"));
            }
            if !again {
                break;
            }
            stopped += 1;
        }
    }
    stopped
}

#[test]
fn a_second_cut_inside_every_step_of_the_recovery_changes_nothing() {
    let stopped = cut_inside_mounts(&small(), Load::MIXED, 150);
    assert!(stopped > 30, "{stopped} mounts were cut off");
}

#[test]
fn a_volatile_buffer_loses_what_no_flush_has_covered_and_nothing_else() {
    for (sram_ns, nvram_ns) in SRAM.into_iter().zip(NVRAM) {
        let mut c = small();
        (c.host.write_buffer_pages, c.timing.sram_ns) = (6, sram_ns);
        c.power.nvram_ns = nvram_ns;
        cut_everywhere(&c, Load { flush: 8, fua: 15, ..Load::MIXED }, 150, 700);
    }
}

#[test]
fn a_protected_buffer_loses_nothing() {
    for sram_ns in SRAM {
        let mut c = small();
        (c.host.write_buffer_pages, c.timing.sram_ns) = (6, sram_ns);
        c.power.buffer = BufferPower::Protected;
        cut_everywhere(&c, Load { flush: 3, fua: 5, ..Load::MIXED }, 150, 700);
    }
}

#[test]
fn a_page_that_capacitors_have_saved_counts_once() {
    let mut c = small();
    c.host.write_buffer_pages = 6;
    c.power.buffer = BufferPower::Protected;
    let page = c.device.page_bytes / 512;
    for steps in 0..40 {
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        for lpn in 0..8 {
            let write = Request::new(Op::Write, u64::from(lpn * page), page);
            ssd.submit(Nanos(1 + u64::from(lpn)), &write, None).expect("it fits");
        }
        for _ in 0..steps {
            let Some(next) = ssd.next_event() else { break };
            ssd.run_until(next, &mut Vec::new()).expect("a sound run");
        }
        ssd.power_cut().expect("power can be cut");
        ssd.mount(false).expect("the device mounts");
        ssd.submit(ssd.now(), &Request::new(Op::Flush, 0, 0), None).expect("a flush");
        while let Some(next) = ssd.next_event() {
            ssd.run_until(next, &mut Vec::new()).expect("a sound run");
        }
        let counters = *ssd.snapshot().expect("it is at rest").counters();
        assert!(counters.clock <= counters.sequence, "after {steps} steps: {counters:?}");
    }
}

/// Devices that differ in space, frontiers or the path of pages; each is cut after each of its steps.
fn shapes() -> Vec<(&'static str, Config)> {
    let mut all = Vec::new();
    let mut c = small();
    c.alloc.frontiers = Frontiers::Single;
    c.device.user_pages = 140;
    all.push(("shared frontiers", c));
    let mut c = small();
    (c.device.user_pages, c.gc.reserve, c.gc.window) = (190, 1, 4);
    all.push(("little room", c));
    let mut c = small();
    c.alloc.pool = PoolScope::Device;
    all.push(("one pool", c));
    let mut c = device([1, 2, 2], 12, 8, 200);
    (c.run.data, c.power.cut, c.gc.window) = (DataMode::Digest, PowerCut::OnRequest, 3);
    (c.alloc.pool, c.alloc.erase_unit) = (PoolScope::Device, EraseUnit::Superblock);
    c.alloc.placement = rig::named(ssd_core::ftl::place::ALL, "round-robin");
    all.push(("superblocks", c));
    let mut c = device([1, 2, 2], 12, 8, 230);
    (c.run.data, c.power.cut, c.gc.window) = (DataMode::Digest, PowerCut::OnRequest, 3);
    (c.alloc.pool, c.timing.busy_unit) = (PoolScope::Chip, BusyUnit::Chip);
    (c.timing.model, c.timing.multi_plane) = (TimingModel::Pipelined, true);
    all.push(("multi-plane programs", c));
    let mut c = small();
    c.gc.path = GcPath::Copyback;
    all.push(("copy-back", c));
    let mut c = small();
    (c.gc.path, c.gc.window) = (GcPath::Selective, 4);
    c.controller.page_error_probability = 0.3;
    all.push(("selective path", c));
    let mut c = small();
    c.wear.static_threshold = 1;
    all.push(("wear levelling", c));
    let mut c = small();
    c.alloc.frontiers = Frontiers::Streams(2);
    c.device.user_pages = 130;
    all.push(("streams", c));
    let mut c = small();
    c.gc.victim = rig::victim("fifo");
    all.push(("fully valid victims", c));
    all
}

#[test]
fn neither_does_a_device_of_another_shape() {
    for (name, config) in shapes() {
        cut_everywhere(&config, Load::MIXED, config.device.user_pages, 400);
        for first in (50..600).step_by(97) {
            for second in (0..90).step_by(2) {
                let mut run = Cuts::new(&config, Load::MIXED, config.device.user_pages);
                run.cut_after(first, &(name, first));
                run.cut_after(second, &(name, first, second));
                run.run(60);
            }
        }
    }
}

#[test]
fn random_cuts_in_a_long_run_lose_nothing() {
    let (mut given_up, mut erased) = (0, 0);
    for (name, config) in shapes() {
        let mut run = Cuts::new(&config, Load { seed: 3, ..Load::MIXED }, config.device.user_pages);
        let mut rng = Stream::new(5, "cuts");
        for cut in 0..150 {
            // Sometimes cut after cut, so that no collection finishes.
            let longest = if cut % 3 == 0 { 400 } else { 25 };
            erased += run.cut_after(rng.below(longest), &(name, cut)).erases;
            let pools = (0..run.ssd.core.ftl.geo.pools).map(PoolId);
            given_up += pools.filter(|&pool| run.ssd.core.ftl.space.spares(pool) == 0).count();
        }
        assert!(run.completed > 500, "{name}: {} requests completed", run.completed);
    }
    assert!(given_up > 50, "the block kept for recovery was needed {given_up} times");
    assert!(erased > 50, "{erased} blocks were erased by mounts");
}

/// Checkpoints every `pages` pages written, or only when the NVRAM is nearly full.
fn with_checkpoints(mut c: Config, pages: u64) -> Config {
    c.power.checkpoint_bytes = pages * 2048;
    c
}

#[test]
fn checkpoints_change_nothing_of_what_is_found() {
    for pages in [8, 40] {
        cut_everywhere(&with_checkpoints(small(), pages), Load::MIXED, 150, 800);
    }
    let load = Load { trim: 30, ..Load::MIXED };
    for (name, config) in shapes() {
        let config = with_checkpoints(config, 25);
        let mut run = Cuts::new(&config, load, config.device.user_pages);
        let (mut rng, mut found) = (Stream::new(9, "cuts"), 0);
        for cut in 0..150 {
            found += run.cut_after(rng.below(300), &(name, cut)).checkpoint_pages;
        }
        assert!(found > 0, "{name} has mounted with a checkpoint");
    }
}

#[test]
fn records_go_with_a_checkpoint_and_trims_wait_for_room() {
    let mut c = small();
    c.power.nvram_bytes = 96;
    let load = Load { trim: 45, ..Load::MIXED };
    let mut waited = 0;
    for at in 0..700 {
        let mut run = Cuts::new(&c, load, 150);
        run.cut_after(at, &at);
        run.read_back();
        let power = run.ssd.measured().power;
        assert!(power.nvram_peak <= 96, "{power:?}");
        waited = waited.max(power.trims_waited);
    }
    assert!(waited > 3, "{waited} TRIMs waited for room");
    // Operations under way together have no order, but everything completed stays, in long runs as well.
    let mut run = Cuts::new(&c, Load { depth: 1, ..load }, 150);
    let mut rng = Stream::new(2, "cuts");
    for cut in 0..300 {
        run.cut_after(rng.below(200), &cut);
    }
    assert!(run.ssd.measured().power.checkpoints > 20);
}

const COPIES: Load = Load { copy: 35, ..Load::MIXED };
const MODES: [RemapMode; 2] = [RemapMode::Share, RemapMode::Copy];

/// A device that remaps, with one pool: a shared page stays in the pool of its source.
fn remaps(mut c: Config, mode: RemapMode) -> Config {
    (c.remap.mode, c.alloc.pool) = (mode, PoolScope::Device);
    c
}

#[test]
fn a_cut_after_every_event_loses_no_owner() {
    for mode in MODES {
        cut_everywhere(&remaps(small(), mode), COPIES, 150, 900);
    }
}

#[test]
fn so_does_one_during_collection_of_shared_pages_that_follows_a_cut() {
    for mode in MODES {
        for first in (0..700).step_by(61) {
            for second in 0..120 {
                let mut run = Cuts::new(&remaps(small(), mode), COPIES, 150);
                run.cut_after(first, &(mode, first));
                run.cut_after(second, &(mode, first, second));
            }
        }
    }
}

#[test]
fn a_second_cut_inside_every_step_of_the_recovery_of_owners_changes_nothing() {
    for mode in MODES {
        let stopped = cut_inside_mounts(&remaps(small(), mode), COPIES, 150);
        assert!(stopped > 10, "{mode:?}: {stopped} mounts were cut off");
    }
}

/// Every buffer, with and without checkpoints; buffers whose SRAM takes time, and those whose SRAM takes none.
fn kept_otherwise(mode: RemapMode) -> Vec<Config> {
    let buffers =
        [(0, BufferPower::Volatile), (6, BufferPower::Volatile), (6, BufferPower::Protected)];
    let mut all = Vec::new();
    for ((pages, buffer), interval) in buffers.into_iter().flat_map(|b| [(b, 0), (b, 8)]) {
        let mut c = with_checkpoints(remaps(small(), mode), interval);
        (c.host.write_buffer_pages, c.power.buffer) = (pages, buffer);
        // The other half of the cases of `owners_survive_with_a_write_buffer`.
        let at = usize::from(mode == RemapMode::Share);
        (c.timing.sram_ns, c.power.nvram_ns) = (SRAM[at], NVRAM[at]);
        all.push(c);
    }
    all
}

#[test]
fn owners_survive_with_every_buffer_and_checkpoints_and_cuts_inside_mounts() {
    let load = Load { flush: 8, fua: 15, ..COPIES };
    let mut stopped = 0;
    for mode in MODES {
        for mut config in kept_otherwise(mode) {
            cut_everywhere(&config, load, 150, 500);
            // With little room a mount has most to do.
            (config.device.user_pages, config.gc.reserve, config.gc.window) = (190, 1, 4);
            stopped += cut_inside_mounts(&config, load, 190);
        }
    }
    assert!(stopped > 100, "{stopped} mounts were cut off");
}

#[test]
fn owners_survive_with_the_smallest_nvram_and_with_checkpoints() {
    for bytes in [64, 96, 4096] {
        let mut c = remaps(small(), RemapMode::Share);
        (c.power.nvram_bytes, c.power.checkpoint_bytes) = (bytes, 0);
        for at in (0..800).step_by(2) {
            let mut run = Cuts::new(&c, COPIES, 150);
            run.cut_after(at, &(bytes, at));
            run.read_back();
            assert!(run.ssd.measured().power.nvram_peak <= bytes, "{bytes} B of NVRAM");
        }
        // One request at a time: everything completed stays, and nothing waits behind others.
        let mut run = Cuts::new(&c, Load { depth: 1, ..COPIES }, 150);
        let mut rng = Stream::new(7, "cuts");
        for cut in 0..300 {
            run.cut_after(rng.below(200), &(bytes, cut));
        }
        assert!(run.ssd.measured().power.checkpoints > 5, "{bytes} B: no checkpoint");
    }
    cut_everywhere(&with_checkpoints(remaps(small(), RemapMode::Share), 8), COPIES, 150, 800);
}

#[test]
fn owners_survive_with_a_write_buffer() {
    for buffer in [BufferPower::Volatile, BufferPower::Protected] {
        for (mode, sram_ns) in MODES.into_iter().zip(SRAM) {
            let mut c = remaps(small(), mode);
            (c.host.write_buffer_pages, c.power.buffer, c.timing.sram_ns) = (6, buffer, sram_ns);
            cut_everywhere(&c, Load { flush: 8, fua: 15, ..COPIES }, 150, 700);
        }
    }
}

#[test]
fn random_cuts_in_a_long_run_lose_no_owner() {
    for (name, config) in shapes() {
        for (mode, pages) in [(RemapMode::Share, 0), (RemapMode::Share, 40), (RemapMode::Copy, 0)] {
            let mut config = config.clone();
            config.remap.mode = mode;
            config.alloc.pool = PoolScope::Device;
            config.power.checkpoint_bytes = pages * 2048;
            let load = Load { seed: 4, ..COPIES };
            let mut run = Cuts::new(&config, load, config.device.user_pages);
            let mut rng = Stream::new(6, "cuts");
            for cut in 0..150 {
                let longest = if cut % 3 == 0 { 400 } else { 25 };
                run.cut_after(rng.below(longest), &(name, mode, cut));
            }
            assert!(run.completed > 500, "{name}: {} requests completed", run.completed);
        }
    }
}

/// One pool of few long blocks: a checkpoint, of one page, ends in the middle of a collection.
fn long_blocks(mode: RemapMode, window: u32) -> Config {
    let mut c = device([1, 1, 1], 9, 32, 190);
    (c.run.data, c.power.cut, c.gc.window) = (DataMode::Digest, PowerCut::OnRequest, window);
    (c.remap.mode, c.power.nvram_bytes) = (mode, 64);
    c
}

/// Cuts during collections that use the block kept for recovery, soon after a checkpoint that was written meanwhile.
/// Returns their number.
fn cut_after_checkpoints_without_kept_block(config: &Config, seed: u64) -> u64 {
    let copy = if config.remap.mode == RemapMode::Off { 0 } else { 30 };
    let load = Load { seed, copy, trim: 25, ..Load::MIXED };
    let mut run = Cuts::new(config, load, config.device.user_pages);
    let (mut rng, mut found) = (Stream::new(seed, "cuts"), 0);
    for cut in 0..60 {
        let mut before = run.ssd.measured().power.checkpoints;
        for _ in 0..rng.below(if cut % 3 == 0 { 300 } else { 40 }) {
            run.step();
            let now = run.ssd.measured().power.checkpoints;
            if now > before && run.ssd.core.ftl.space.spares(PoolId(0)) == 0 {
                found += 1;
                run.run(rng.below(3));
                break;
            }
            before = now;
        }
        run.cut();
        run.mount_and_judge(&(config.remap.mode, config.gc.window, seed, cut));
    }
    found
}

#[test]
fn a_checkpoint_in_the_collection_that_uses_the_kept_block_leaves_room_for_the_next() {
    for mode in [RemapMode::Off, RemapMode::Share, RemapMode::Copy] {
        for window in [1, 3] {
            let config = long_blocks(mode, window);
            let found: u64 =
                (0..60).map(|seed| cut_after_checkpoints_without_kept_block(&config, seed)).sum();
            assert!(found > 20, "{mode:?}: {found} checkpoints without a kept block");
        }
    }
}

#[test]
fn a_device_that_starts_from_a_snapshot_keeps_its_owners_through_cuts() {
    for (mode, buffer) in [(RemapMode::Share, 0), (RemapMode::Copy, 0), (RemapMode::Share, 6)] {
        for at in (0..600).step_by(29) {
            let mut config = remaps(small(), mode);
            config.host.write_buffer_pages = buffer;
            let load = Load { flush: if buffer > 0 { 8 } else { 0 }, ..COPIES };
            let mut run = Cuts::new(&config, load, 150);
            run.run(at);
            if at % 2 == 0 {
                run.cut();
                run.mount_and_judge(&(mode, at, "before"));
            }
            run.through_a_snapshot(&config);
            run.cut();
            run.mount_and_judge(&(mode, at));
            run.cut_after(at / 2, &(mode, at, "after"));
            run.read_back();
        }
    }
}
