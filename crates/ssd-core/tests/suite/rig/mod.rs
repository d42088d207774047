//! Shared by the integration tests: small devices, random configs, and a closed loop that knows what every read must
//! return.

pub(crate) mod any_config;
mod any_slc;
pub(crate) mod cuts;
pub(crate) mod group_cuts;
pub(crate) mod history;
pub(crate) mod parity;
pub(crate) mod runs;
pub(crate) mod storm;
pub(crate) mod twins;

use ssd_core::config::{
    self, Config, DataMode, EraseUnit, Frontiers, Host, HostMode, Input, Kernel, PoolScope,
};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Completion, Op, Request};
use ssd_core::plug::{PolicyInfo, PolicySpec, Value};
use ssd_core::sim::functional::Functional;
use ssd_core::sim::logs::operations::OpRecord;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

/// Sectors of a page of the small devices.
pub(crate) const PAGE: u64 = 4;

/// The configuration with these settings, or what is wrong with it.
pub(crate) fn load(sets: &[(&str, &str)]) -> Result<Config, String> {
    let sets = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let loaded = config::load::<Kernel>(&Input { sets, ..Input::default() });
    loaded
        .map(|config| config.0)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// The policy called `name` with its defaults.
pub(crate) fn named(registry: &[&PolicyInfo], name: &str) -> PolicySpec {
    let info = registry.iter().find(|info| info.name == name).expect("a registered policy");
    PolicySpec::with_defaults(info)
}

/// Collect while `soft` or fewer blocks are erased.
pub(crate) fn free_blocks(soft: u64) -> PolicySpec {
    named(ssd_core::ftl::gc::trigger::ALL, "free-blocks").with("soft", Value::Int(soft))
}

/// Collect while this share of pages (of `scope`) is used.
pub(crate) fn used_space(at: f64, scope: &str) -> PolicySpec {
    named(ssd_core::ftl::gc::trigger::ALL, "used-space")
        .with("at", Value::Real(at))
        .with("scope", Value::Word(scope.to_string()))
}

pub(crate) fn victim(name: &str) -> PolicySpec {
    named(ssd_core::ftl::gc::victim::ALL, name)
}

/// A device with all pages of `c` written once, in order; audited at every instant from then on.
pub(crate) fn filled(c: &Config) -> Ssd {
    let mut functional = Functional::new(c, Ftl::new(c));
    functional.write_run(Lpn(0), c.device.user_pages, 0).expect("the user pages fit");
    let sequence = functional.sequence();
    let mut ssd = Ssd::new(c, functional.ftl, sequence);
    ssd.audit_every(1);
    ssd
}

/// A device of `channels * chips * planes` planes with 2 KiB pages and defaults otherwise.
pub(crate) fn device(shape: [u32; 3], blocks: u32, pages: u32, user_pages: u32) -> Config {
    let mut c = Config::default();
    let d = &mut c.device;
    [d.channels, d.chips_per_channel, d.planes_per_chip] = shape;
    (d.blocks_per_plane, d.pages_per_block, d.page_bytes) = (blocks, pages, 2048);
    d.user_pages = user_pages;
    c.precondition.fill = 0.0;
    c.metrics.interval_ns = 0;
    let t = &mut c.timing;
    (t.read_ns, t.program_ns, t.erase_ns) = (50, 500, 2000);
    (t.transfer_ns, t.command_ns, t.sram_ns) = (20, 0, 0);
    c
}

/// A device of two pools that is filled and overwritten, for tests of snapshots.
pub(crate) fn snapshot_shape(data: DataMode, superblocks: bool) -> Config {
    let mut c = device([2, 1, 2], 12, 8, 280);
    (c.run.data, c.alloc.pool) = (data, PoolScope::Channel);
    c.alloc.frontiers = Frontiers::HostGc;
    if superblocks {
        c.alloc.erase_unit = EraseUnit::Superblock;
        c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
        c.device.user_pages = 220;
    }
    (c.precondition.fill, c.precondition.overwrite) = (0.9, 2.0);
    c
}

/// The state of the device of `config` after its preconditioning.
pub(crate) fn preconditioned(config: &Config) -> DeviceSnapshot {
    let mut device = Functional::new(config, Ftl::new(config));
    assert_eq!(device.precondition(config, &mut |_, _| true), Ok(true));
    device.ftl.snapshot(device.sequence()).expect("at rest")
}

/// The device of `c` with its first `filled` pages written.
pub(crate) fn with_pages(c: &Config, filled: u32) -> Ssd {
    let mut functional = Functional::new(c, Ftl::new(c));
    for lpn in 0..filled {
        functional.write(Lpn(lpn), 0).expect("the user pages fit");
    }
    let sequence = functional.sequence();
    Ssd::new(c, functional.ftl, sequence)
}

/// Physical pages of a config.
pub(crate) fn pages_of(c: &Config) -> u32 {
    let d = &c.device;
    let planes = d.channels * d.chips_per_channel * d.planes_per_chip;
    planes * d.blocks_per_plane * d.pages_per_block
}

/// Whole pages `lpn..lpn + count`.
pub(crate) fn whole(op: Op, lpn: u32, count: u32) -> Request {
    Request::new(op, u64::from(lpn) * PAGE, count * PAGE as u32)
}

/// Run the device until everything submitted has completed.
pub(crate) fn finish<D: Device>(device: &mut D) -> Result<Vec<Completion>, DeviceError> {
    let mut all = Vec::new();
    loop {
        let before = all.len();
        if device.next_event().is_none() {
            return Ok(all);
        }
        device.run_until(Nanos::NEVER, &mut all)?;
        if all.len() == before {
            return Ok(all);
        }
    }
}

/// The operations that a device has logged, once it is at rest.
pub(crate) fn operations_of(ssd: &mut Ssd) -> Vec<OpRecord> {
    ssd.quiesce().expect("it comes to rest");
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    log
}

/// The latency of one request at a time.
pub(crate) fn alone<D: Device>(device: &mut D, request: Request) -> u64 {
    let at = device.now();
    device.submit(at, &request, None).expect("a valid request");
    let mut done = Vec::new();
    device.run_until(Nanos::NEVER, &mut done).expect("it completes");
    assert_eq!(done.len(), 1, "one request, one completion");
    assert_eq!(done[0].arrival, at);
    (done[0].at - at).0
}

/// `requests` in the closed loop at depth `depth`: completions in order.
pub(crate) fn closed<D: Device>(
    device: &mut D,
    depth: usize,
    requests: impl IntoIterator<Item = Request>,
) -> Result<Vec<Completion>, DeviceError> {
    let mut requests = requests.into_iter();
    let (mut all, mut inside) = (Vec::new(), 0);
    loop {
        while inside < depth {
            let Some(request) = requests.next() else { break };
            device.submit(device.now(), &request, None)?;
            inside += 1;
        }
        if inside == 0 {
            return Ok(all);
        }
        let before = all.len();
        device.run_until(Nanos::NEVER, &mut all)?;
        inside -= all.len() - before;
    }
}

/// Host settings of the drivers.
pub(crate) fn host(mode: HostMode, depth: u32) -> Host {
    Host { mode, queue_depth: depth, ..Config::default().host }
}
