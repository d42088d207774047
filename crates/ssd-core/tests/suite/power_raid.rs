//! Power cuts with parity groups: what was acknowledged as durable survives any cut, also if a chip fails with it.

use crate::rig::cuts::{Cuts, Load};
use crate::rig::device;
use ssd_core::config::{Config, DataMode, PowerCut};

/// Groups of `chips` chips, on as many channels, with 12 blocks of 8 pages each; a window of two copies.
fn groups(chips: u32) -> Config {
    let mut c = device([chips, 1, 1], 12, 8, 0);
    c.raid.group = chips;
    c.device.user_pages = 48 * (chips - 1);
    c.run.data = DataMode::Digest;
    c.power.cut = PowerCut::OnRequest;
    c.gc.window = 2;
    c
}

/// Cut power after each of the first `steps` steps of a run.
fn cut_everywhere(config: &Config, load: Load, steps: u64) {
    for at in 0..steps {
        let mut run = Cuts::new(config, load, config.device.user_pages);
        run.run(at);
        run.cut();
        run.mount_and_judge(&at);
        run.read_back();
    }
}

#[test]
fn a_cut_after_every_event_loses_no_acknowledged_page() {
    for chips in [3, 4] {
        cut_everywhere(&groups(chips), Load::MIXED, 700);
    }
}
