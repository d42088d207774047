//! Power cuts on devices with parity groups: a cut after each of many steps, and chips that fail with it.

use super::cuts::{Cuts, Load};
use super::device;
use super::runs::{Mix, Run};
use ssd_core::config::{ChipFailure, Config, DataMode, PowerCut};
use ssd_core::metrics::Measurements;
use ssd_core::metrics::report::Recovery;

/// A time that no run reaches.
pub(crate) const NEVER: u64 = 1 << 40;

/// Groups of `chips` chips, on as many channels, with 12 blocks of 8 pages each; a window of two copies.
pub(crate) fn groups(chips: u32) -> Config {
    let mut c = device([chips, 1, 1], 12, 8, 0);
    c.raid.group = chips;
    c.device.user_pages = 48 * (chips - 1);
    c.run.data = DataMode::Digest;
    c.power.cut = PowerCut::OnRequest;
    c.gc.window = 2;
    c
}

/// `config`, of which these chips fail.
pub(crate) fn failing(config: &Config, failures: &[(u32, u64)], spares: u32) -> Config {
    let mut c = config.clone();
    c.raid.fail = failures.iter().map(|&(chip, at_ns)| ChipFailure { chip, at_ns }).collect();
    c.raid.spares = spares;
    c
}

pub(crate) fn filled(config: &Config, load: Load) -> Cuts {
    Cuts::new(config, load, config.device.user_pages)
}

/// Cut power after each of these `steps` of a run. Returns the number of updates that did not count.
pub(crate) fn cut_everywhere(config: &Config, load: Load, steps: impl Iterator<Item = u64>) -> u64 {
    let mut undone = 0;
    for at in steps {
        let mut run = filled(config, load);
        undone += run.cut_after(at, &at).updates_undone;
        run.read_back();
    }
    undone
}

/// The mount after a cut at step `at` of a run in which no chip fails, and its end.
pub(crate) fn mount_at(config: &Config, load: Load, at: u64) -> (Recovery, u64) {
    let mut run = filled(config, load);
    let recovery = run.cut_after(at, &at);
    let end = recovery.cut_at + recovery.time;
    (recovery, end)
}

/// Cut power at each of these steps of a run; chip after chip fails during the mount, or just after it. Then cut again.
pub(crate) fn fail_everywhere(
    config: &Config,
    load: Load,
    steps: impl Iterator<Item = u64>,
    spares: u32,
) {
    let chips = config.device.channels * config.device.chips_per_channel;
    for at in steps {
        let (recovery, end) = mount_at(&failing(config, &[(0, NEVER)], spares), load, at);
        for chip in 0..chips {
            for fails_at in [recovery.cut_at + 1, end - 1, end + 1] {
                let what = (at, chip, fails_at - recovery.cut_at);
                let mut run = filled(&failing(config, &[(chip, fails_at)], spares), load);
                run.cut_after(at, &what);
                // From nothing done since the failure to much of the rebuild.
                run.cut_after(2 + (at * 7 + u64::from(chip) * 5) % 41, &(what, "again"));
                if at % 5 == 0 {
                    run.cut_after(15, &(what, "a third time"));
                }
                run.read_back();
            }
        }
    }
}

/// Checkpoints every `pages` pages written.
pub(crate) fn with_checkpoints(mut c: Config, pages: u64) -> Config {
    c.power.checkpoint_bytes = pages * 2048;
    c
}

/// Little NVRAM, whose records take long, so that TRIMs wait for checkpoints.
pub(crate) fn with_little_nvram(mut c: Config) -> Config {
    (c.power.nvram_bytes, c.power.nvram_ns) = (64, 4000);
    c
}

/// Run so many `requests` of `mix` on `config`, of which power is cut and two chips fail and are rebuilt. Returns what
/// has been measured.
pub(crate) fn storm(config: &Config, mix: Mix, requests: u64) -> Measurements {
    let mut run = Run::new(config, mix);
    run.run(requests);
    let m = run.end().measured().clone();
    let degraded = m.degraded.as_deref().expect("a chip has failed");
    let what = format!("seed {}: {:?}, {:?}, {degraded:?}", mix.seed, m.power, m.remap);
    assert!(m.power.cuts > requests / 500 && m.power.requests_repeated > m.power.cuts, "{what}");
    assert!(degraded.chips.len() == 2 && degraded.pages_left == 0, "{what}");
    assert!(degraded.pages_lost > 0 && m.gc.calls > 0, "{what}");
    assert!(m.recoveries.iter().any(|recovery| recovery.updates_undone > 0), "{what}");
    m
}
