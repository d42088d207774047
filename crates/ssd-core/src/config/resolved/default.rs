//! The default of every key: a small modern drive and uniformly random 4 KiB writes.
//!
//! Times and bus are those of the TLC device shipped with MQSim (FAST 2018): read 75 us, program
//! 750 us, erase 3.8 ms, 333 MT/s at 8 bit. Geometry and policies are our own choice: 4 GiB raw,
//! greedy. The interconnect, if enabled, is that of the noc-copyback paper (Electronics 13:4838,
//! section 4.1).

use super::*;
use crate::plug::PolicyInfo;

/// Mean time between the requests of an application: a thousand per second, which most devices can serve.
pub(crate) const MODEL_INTERVAL_NS: u64 = 1_000_000;
impl Default for Config {
    fn default() -> Config {
        let mut config = Config {
            preset: None,
            run: Run { seed: 1, mode: Mode::Timed, data: DataMode::None, name: "run".to_string() },
            device: DeviceConfig {
                channels: 8,
                chips_per_channel: 4,
                planes_per_chip: 1,
                blocks_per_plane: 256,
                pages_per_block: 128,
                page_bytes: 4096,
                user_pages: 0,
            },
            timing: Timing {
                model: TimingModel::Pipelined,
                busy_unit: BusyUnit::Chip,
                read_ns: 75_000,
                program_ns: 750_000,
                erase_ns: 3_800_000,
                transfer_ns: 0,
                command_ns: 0,
                sram_ns: 0,
                multi_plane: false,
            },
            interconnect: interconnect(),
            host: host(),
            alloc: Alloc {
                placement: named(crate::ftl::place::ALL, "static"),
                frontiers: Frontiers::HostGc,
                pool: PoolScope::Plane,
                erase_unit: EraseUnit::Block,
            },
            sched: Sched { order: named(crate::sched::order::ALL, "host-first") },
            controller: Controller {
                ecc_ns: 0,
                host_ecc_ns: 0,
                retry_probability: 0.0,
                retry_growth: 0.0,
                retry_limit: 5,
                retry_factor: 1.0,
                buffers: None,
                page_error_probability: 0.0,
                traversals_host: 1,
            },
            gc: gc(),
            wear: Wear {
                dynamic: true,
                static_threshold: 0,
                endurance: 0,
                endurance_spread: 0.0,
                factory_bad_blocks: 0.0,
            },
            precondition: Precondition {
                fill: 1.0,
                order: FillOrder::Sequential,
                overwrite: 0.0,
                steady_state: SteadyStart::None,
                snapshot: None,
            },
            workload: workload(),
            metrics: Metrics { interval_ns: 100_000_000, op_log: false, request_log: false },
        };
        config.device.user_pages = Capacity::default()
            .user_pages(&config.device)
            .and_then(|pages| u32::try_from(pages).ok())
            .expect("the default device has a capacity");
        config.timing.transfer_ns = Transfer::default().of_page(config.device.page_bytes);
        config
    }
}

fn interconnect() -> Interconnect {
    Interconnect {
        model: InterconnectModel::None,
        flit_bits: 4,
        slice_ns: 87,
        columns: 16,
        rows: 8,
        mean_path: 13.5,
        rounding_ns: 1,
    }
}

fn host() -> Host {
    Host {
        mode: HostMode::Closed,
        queue_depth: 32,
        think_time_ns: 0,
        think_every: 1,
        stop_after_ns: 0,
        max_outstanding: 0,
        link_bytes_per_s: None,
        link_duplex: LinkDuplex::Full,
        write_buffer_pages: 0,
        write_buffer_threshold: 0.5,
    }
}

fn gc() -> Gc {
    Gc {
        reserve: 2,
        trigger: vec![named(crate::ftl::gc::trigger::ALL, "free-blocks")],
        victim: named(crate::ftl::gc::victim::ALL, "greedy"),
        amount: Amount::UntilSatisfied,
        concurrency: named(crate::ftl::gc::concurrency::ALL, "unlimited"),
        path: GcPath::Controller,
        blocking: Blocking { scope: BlockingScope::None, granularity: Granularity::Step },
        window: 1,
    }
}

// Keys that are newer than the first reports. A configuration that does not set them keeps its digest, so
// each has a default function.

pub(super) const fn unit() -> TraceUnit {
    TraceUnit::Auto
}

pub(super) fn is_unit(said: &TraceUnit) -> bool {
    *said == unit()
}

pub(super) const fn unit_page() -> u32 {
    4096
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn is_unit_page(said: &u32) -> bool {
    *said == unit_page()
}

pub(super) const fn max_bad() -> f64 {
    0.01
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) fn is_max_bad(said: &f64) -> bool {
    said.to_bits() == max_bad().to_bits()
}

fn workload() -> Workload {
    Workload {
        kind: WorkloadKind::Uniform,
        trace: None,
        format: TraceFormat::Auto,
        volume: None,
        action: 'Q',
        from_ns: 0,
        until_ns: None,
        fit: Fit::None,
        loops: 1,
        time_scale: 1.0,
        unit: unit(),
        page_bytes: unit_page(),
        sort: false,
        skip_bad: false,
        max_bad: max_bad(),
        dedup: false,
        set: ParameterSet::AdaptiveChannel,
        like: None,
        msr: None,
        job: None,
        requests: 100_000,
        seed: None,
        sizes: vec![SizeShare { bytes: 4096, weight: 1.0 }],
        read: 0.0,
        trim: 0.0,
        theta: 0.99,
        hot_space: 0.1,
        hot_access: 0.9,
        span: 1.0,
        arrival: Arrival {
            kind: ArrivalKind::Poisson,
            interval_ns: 100_000,
            burst: 1,
            pause_ns: 0,
        },
        warmup_requests: 0,
    }
}

/// The policy called `name` with its defaults.
fn named(registry: &[&PolicyInfo], name: &str) -> PolicySpec {
    let info = registry.iter().find(|info| info.name == name).expect("a default policy exists");
    PolicySpec::with_defaults(info)
}
