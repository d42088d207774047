//! Runs in which power is cut by the configuration: what was withdrawn comes again, and whole.

mod rig;

use rig::device;
use rig::runs::{Mix, Run};
use ssd_core::config::{BufferPower, Config, DataMode, PoolScope, PowerCut, RemapMode};

/// Two planes of one pool; power is cut at random.
fn small(mode: RemapMode) -> Config {
    let mut c = device([1, 2, 1], 16, 8, 150);
    c.run.data = DataMode::Bytes;
    c.alloc.pool = PoolScope::Device;
    c.gc.window = 2;
    c.remap.mode = mode;
    c.power.cut = PowerCut::Random(60_000);
    c
}

const MODES: [RemapMode; 3] = [RemapMode::Off, RemapMode::Share, RemapMode::Copy];

fn copies(mode: RemapMode) -> Mix {
    let copy = if mode == RemapMode::Off { 0 } else { Mix::ALL.copy };
    Mix { copy, ..Mix::ALL }
}

#[test]
fn what_a_cut_withdraws_comes_again_with_its_data() {
    for mode in MODES {
        for (pages, buffer) in
            [(0, BufferPower::Volatile), (6, BufferPower::Volatile), (6, BufferPower::Protected)]
        {
            let mut c = small(mode);
            (c.host.write_buffer_pages, c.power.buffer) = (pages, buffer);
            for cut in [PowerCut::Random(60_000), PowerCut::Every(25_000)] {
                c.power.cut = cut;
                let mut run = Run::new(&c, copies(mode));
                run.run(1500);
                let measured = run.end().measured().clone();
                let repeated = measured.power.requests_repeated;
                assert!(measured.power.cuts > 5, "{} cuts", measured.power.cuts);
                assert!(repeated > 15, "{mode:?}, {pages}: {repeated} repeated");
            }
        }
    }
}

#[test]
fn the_smallest_nvram_and_a_slow_one_hold_up_no_run() {
    for mode in MODES {
        for (bytes, nvram_ns) in [(64, 500), (128, 500), (4096, 8000)] {
            for buffer in [0, 6] {
                let mut c = small(mode);
                (c.power.nvram_bytes, c.power.nvram_ns) = (bytes, nvram_ns);
                c.host.write_buffer_pages = buffer;
                c.power.cut = PowerCut::Random(300_000);
                let mix = Mix { trim: 35, span: 20, depth: 12, ..copies(mode) };
                let mut run = Run::new(&c, mix);
                run.run(1500);
                let checkpoints = run.end().measured().power.checkpoints;
                assert!(bytes > 1000 || checkpoints > 10, "{bytes} B: {checkpoints} checkpoints");
            }
        }
    }
}
