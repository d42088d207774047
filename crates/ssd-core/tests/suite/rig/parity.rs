//! Small devices with parity groups, and storms over them.

use super::storm::{Storm, Weather};
use super::{device, free_blocks, named, pages_of};
use ssd_core::config::{
    Blocking, BlockingScope, BusyUnit, Config, DataMode, Granularity, LinkDuplex, TimingModel,
};
use ssd_core::ftl::gc::trigger;
use ssd_core::ftl::raid::redirect;
use ssd_core::metrics::Measurements;
use ssd_core::plug::{PolicySpec, Value};

/// Times of the paper on deferred GC (Liang et al., 2018), nanoseconds.
pub(crate) const READ: u64 = 25_000;
pub(crate) const PROGRAM: u64 = 200_000;
pub(crate) const ERASE: u64 = 1_500_000;

/// Times and busy units of the paper.
pub(crate) fn set_times(c: &mut Config) {
    let t = &mut c.timing;
    (t.model, t.busy_unit) = (TimingModel::Serial, BusyUnit::Chip);
    (t.read_ns, t.program_ns, t.erase_ns, t.transfer_ns) = (READ, PROGRAM, ERASE, 0);
}

/// A device of `shape` with groups of `group` chips and the paper's times; the host sees `stripes` stripes.
pub(crate) fn paper(shape: [u32; 3], group: u32, stripes: u32) -> Config {
    let mut c = device(shape, 40, 16, 1);
    c.raid.group = group;
    c.device.user_pages = stripes * c.data_pages_per_stripe() as u32;
    set_times(&mut c);
    c.gc.trigger = vec![free_blocks(3)];
    c
}

/// As [`paper`], with 20 blocks per plane, whose pages hold bytes.
pub(crate) fn with_bytes(shape: [u32; 3], group: u32, stripes: u32) -> Config {
    let mut c = paper(shape, group, stripes);
    (c.device.blocks_per_plane, c.run.data) = (20, DataMode::Bytes);
    c
}

pub(crate) fn on_demand(soft: u64, by: &str, idle: bool) -> PolicySpec {
    let spec = named(trigger::ALL, "on-demand").with("soft", Value::Int(soft));
    spec.with("by", Value::Word(by.to_string())).with("idle", Value::Bool(idle))
}

/// `groups` groups of `group` chips with the paper's times; a chip at its threshold collects in the path of requests.
pub(crate) fn baseline(groups: u32, group: u32, soft: u64) -> Config {
    let mut c = device([groups * group, 1, 1], 40, 16, 1);
    c.raid.group = group;
    c.device.user_pages = 470 * c.data_pages_per_stripe() as u32;
    set_times(&mut c);
    c.gc.trigger = vec![on_demand(soft, "any", false)];
    c.gc.blocking = Blocking { scope: BlockingScope::Plane, granularity: Granularity::Job };
    c
}

/// As [`baseline`], with redirection and deferred GC.
pub(crate) fn deferred(groups: u32, group: u32, soft: u64) -> Config {
    let mut c = baseline(groups, group, soft);
    c.gc.trigger = vec![on_demand(soft, "any", true)];
    c.raid.redirect = named(redirect::ALL, "deferred-gc").with("foreign", Value::Real(0.05));
    c
}

/// Storms of each depth over devices of several shapes, 3/4 full; `change` changes the configuration of a device by its
/// number, `check` gets the measurements. Those with bytes are pipelined, behind a link.
pub(crate) fn storms(
    depths: &[(usize, DataMode)],
    weather: Weather,
    change: impl Fn(&mut Config, u32),
    mut check: impl FnMut(&Measurements),
) {
    let shapes = [([4, 2, 1], 8), ([2, 2, 2], 4), ([2, 3, 1], 3), ([2, 1, 1], 2), ([4, 4, 1], 8)];
    for (number, (shape, group)) in (0..).zip(shapes) {
        for &(depth, data) in depths {
            let mut c = paper(shape, group, 1);
            (c.device.blocks_per_plane, c.device.pages_per_block) = (14, 8);
            let stripes = pages_of(&c) / (shape[0] * shape[1]) * 3 / 4;
            c.device.user_pages = stripes * c.data_pages_per_stripe() as u32;
            (c.run.data, c.run.seed) = (data, u64::from(number));
            c.gc.window = 1 + number % 3;
            if data == DataMode::Bytes {
                (c.timing.model, c.timing.transfer_ns) = (TimingModel::Pipelined, 3000);
                c.timing.partial = number % 2 == 0;
                (c.host.link_bytes_per_s, c.host.link_duplex) =
                    (Some(300_000_000), LinkDuplex::Half);
                c.controller.host_ecc_ns = 700;
            }
            change(&mut c, number);
            let mut storm = Storm::new(&c, Weather { depth, seed: u64::from(number), ..weather });
            storm.run().unwrap_or_else(|e| panic!("{shape:?}, depth {depth}: {e}"));
            check(storm.ssd.measured());
        }
    }
}
