//! Random cuts in long storms of writes, copies, TRIMs, reads and flushes, with every kind of buffer, little NVRAM,
//! records that take long to write, programs and erases that reads suspend, and pages of several types.

use crate::rig::any_config::set_types;
use crate::rig::runs::{Mix, Run};
use crate::rig::{device, victim};
use ssd_core::config::{
    BufferPower, BusyUnit, Config, DataMode, Frontiers, PoolScope, PowerCut, RemapMode, Suspend,
    TimingModel,
};
use ssd_core::ftl::gc::victim::ALL;

/// A record takes as long as in battery-backed memory, or longer than many programs.
const RECORDS: [u64; 2] = [500, 1_000_000];

fn sea(seed: u64) -> Config {
    let at = |each: u64, of: u64| (seed / each % of) as usize;
    let mut c = device([1, 2, 1], 16, 8, 170);
    c.run.data = DataMode::Bytes;
    c.alloc.pool = PoolScope::Device;
    c.gc.window = 1 + seed as u32 % 3;
    c.gc.victim = victim(ALL[seed as usize % ALL.len()].name);
    c.timing.model = [TimingModel::Serial, TimingModel::Pipelined][at(3, 2)];
    c.timing.busy_unit = [BusyUnit::Plane, BusyUnit::Chip][at(5, 2)];
    if c.timing.model == TimingModel::Pipelined {
        c.timing.suspend = [Suspend::None, Suspend::Both][at(8, 2)];
        c.timing.partial = at(5, 2) == 1;
    }
    if c.timing.suspend == Suspend::Both {
        (c.timing.suspend_ns, c.timing.resume_ns) = (30, 10);
    }
    set_types(&mut c, [(1, 1, 0), (2, 2, 400), (4, 1, 100)][at(2, 3)]);
    c.alloc.frontiers = [Frontiers::HostGc, Frontiers::Single][at(4, 2)];
    c.metrics.tenants = at(9, 2) == 1;
    c.remap.mode = [RemapMode::Share, RemapMode::Copy][at(1, 2)];
    (c.host.write_buffer_pages, c.power.buffer) =
        [(0, BufferPower::Volatile), (6, BufferPower::Volatile), (6, BufferPower::Protected)]
            [at(2, 3)];
    (c.power.nvram_bytes, c.power.nvram_ns) = (4096, RECORDS[at(6, 2)]);
    c.power.checkpoint_bytes = [0, 40 * 2048][at(7, 2)];
    // An erase waits for the records of all pages moved out of its block; cuts are spaced to leave time for those.
    c.power.cut = PowerCut::Random(20_000 + 40 * c.power.nvram_ns);
    c
}

fn storms(seeds: std::ops::Range<u64>, requests: u64) {
    for seed in seeds {
        let c = sea(seed);
        let mut run = Run::new(
            &c,
            Mix { seed, depth: 16, trim: 20, copy: 25, pages: 4, span: 120, ..Mix::ALL },
        );
        run.run(requests);
        let m = run.end().measured().clone();
        let programs = m.tenants.iter().flat_map(|tenants| {
            tenants.by_writer().flat_map(|(_, counts)| counts.programs).collect::<Vec<_>>()
        });
        let all = if c.metrics.tenants { m.flash.all_programs() } else { 0 };
        assert_eq!(programs.sum::<u64>(), all, "seed {seed}");
        let (power, remap) = (m.power, &m.remap);
        let changed = if c.remap.mode == RemapMode::Share { remap.shared } else { remap.copied };
        let what = format!("seed {seed}: {power:?}, {remap:?}");
        assert!(power.cuts > requests / 500 && power.requests_repeated > power.cuts, "{what}");
        assert!(changed > requests / 20 && m.gc.calls > requests / 50, "{what}");
        assert!(power.nvram_peak <= 4096, "{what}");
        let suspensions: u64 = m.flash.suspensions.iter().sum();
        let is_off = c.timing.suspend == Suspend::None;
        assert!(if is_off { suspensions == 0 } else { suspensions > requests / 50 }, "{what}");
    }
}

#[test]
fn random_cuts_in_storms_lose_nothing() {
    storms(0..12, 1500);
}

/// A million requests over 20 seeds.
#[test]
#[ignore = "long"]
fn random_cuts_in_storms_lose_nothing_at_length() {
    storms(0..20, 50_000);
}
