//! Combinations that cannot work, with the numbers and a remedy. A check is skipped if one of its
//! keys already has an error.

use super::{Check, basis, check, power, raid, separation, sized, slc, zns};
use crate::config::tables::*;
use crate::config::text::quantity::{show_size, show_time};
use crate::config::words::Word;
use crate::ftl::gc::endless;
use std::cmp::Reverse;

/// Largest number of flash pages: higher page numbers represent writes in flight.
const MAX_PAGES: u128 = 1 << 31;
/// Largest number of busy units and channels together: resources of the event queue.
const MAX_RESOURCES: u64 = 4000;
/// The largest ratio of the 99th percentile of the firmware time to its median.
const MOST_TAIL: u64 = 1000;
/// Largest number of pages in an erase unit: valid counts have 16 bits.
const MAX_UNIT_PAGES: u64 = 32_767;

const GEOMETRY: &[&str] = &[
    "device.blocks_per_plane",
    "device.pages_per_block",
    "device.channels",
    "device.chips_per_channel",
    "device.planes_per_chip",
];

/// The checks of the tables.
pub(crate) const CHECKS: &[Check<Config>] = &[
    basis(GEOMETRY, too_many_pages),
    basis(
        &["raid.group", "device.channels", "device.chips_per_channel", "device.planes_per_chip"],
        raid::groups,
    ),
    basis(&["device.user_capacity", "device.over_provisioning", "device"], capacity),
    check(
        &[
            "raid.group",
            "alloc.placement",
            "alloc.pool",
            "alloc.erase_unit",
            "alloc.frontiers",
            "timing.multi_plane",
            "device.planes_per_chip",
        ],
        raid::places,
    ),
    check(&["remap.mode", "raid.group", "host.write_buffer_pages"], raid::copies),
    check(&["raid.group", "precondition.steady_state"], raid::start),
    check(&["controller.firmware_p99", "controller.firmware_p50"], firmware),
    check(&["raid.fail", "device.channels", "device.chips_per_channel"], raid::failures),
    check(
        &["raid.redirect", "raid.group", "gc.trigger", "timing.busy_unit", "device"],
        raid::redirection,
    ),
    check(&["gc.concurrency", "raid.group"], raid::rotation),
    check(
        &["power.cut", "raid.group", "power.buffer", "host.write_buffer_pages"],
        power::with_parity,
    ),
    check(&["power.cut", "wear.endurance"], power::with_endurance),
    check(&["power.cut", "run.mode"], power::without_time),
    check(
        &[
            "device.channels",
            "device.chips_per_channel",
            "device.planes_per_chip",
            "timing.busy_unit",
        ],
        too_many_units,
    ),
    check(
        &["alloc.erase_unit", "alloc.pool", "device.pages_per_block", "device"],
        erase_unit_too_large,
    ),
    sized(
        &["gc.reserve", "device", "alloc.pool", "alloc.erase_unit", "alloc.frontiers"],
        reserve_beyond_spare,
    ),
    check(&["alloc.separation", "alloc.frontiers"], separation::own_frontiers),
    sized(
        &["alloc.separation", "device", "gc.reserve", "alloc.pool"],
        separation::too_many_classes,
    ),
    check(
        &["alloc.separation", "raid.group", "power.cut", "precondition.steady_state"],
        separation::not_with,
    ),
    sized(
        &["gc.trigger", "device.blocks_per_plane", "alloc.pool", "alloc.erase_unit"],
        watermark_beyond_pool,
    ),
    sized(
        &["gc.trigger", "gc.victim", "precondition.fill", "gc", "device", "alloc", "run.seed"],
        collection_without_end,
    ),
    check(&["alloc.erase_unit", "alloc.placement"], superblock_placement),
    check(
        &[
            "timing.multi_plane",
            "timing.model",
            "timing.busy_unit",
            "alloc.pool",
            "device.planes_per_chip",
        ],
        multi_plane,
    ),
    check(&["timing.read_types", "device.bits"], |c| {
        types(c, "timing.read_types", &c.timing.read_types_ns)
    }),
    check(&["timing.program_types", "device.bits"], |c| {
        types(c, "timing.program_types", &c.timing.program_types_ns)
    }),
    check(&["device.word_line", "device.bits", "device.pages_per_block"], word_line),
    check(
        &["host.interface", "alloc.erase_unit", "alloc.pool", "device.planes_per_chip"],
        zns::superblocks,
    ),
    check(
        &[
            "host.interface",
            "raid.group",
            "power.cut",
            "remap.mode",
            "alloc.separation",
            "slc.mode",
            "wear.static_threshold",
            "wear.endurance",
            "host.write_buffer_pages",
            "precondition.steady_state",
            "precondition.snapshot",
        ],
        zns::not_with,
    ),
    check(&["zns.open", "zns.active"], zns::limits),
    sized(
        &["zns.units", "zns.open", "zns.active", "device", "alloc.pool", "alloc.erase_unit"],
        zns::room,
    ),
    sized(&["zns.units", "device", "alloc.pool", "alloc.erase_unit"], zns::too_many_pages),
    check(&["slc.mode", "device.bits"], slc::bits),
    check(&["slc.mode", "alloc.frontiers"], slc::frontiers),
    check(&["slc.mode", "raid.group", "power.cut", "alloc.separation", "gc.path"], slc::not_with),
    check(&["slc.fold", "run.mode"], slc::idle_without_time),
    check(&["slc.fold", "gc.trigger"], slc::two_idle_times),
    check(&["slc.path", "alloc.pool"], slc::path),
    sized(
        &["slc.static", "slc.mode", "device", "gc.reserve", "alloc.pool", "alloc.erase_unit"],
        slc::static_blocks,
    ),
    check(&["timing.partial", "timing.model"], partial_transfers),
    check(&["timing.suspend", "timing.model", "raid.fail"], suspension),
    check(&["gc.path", "alloc.pool"], copyback_pool),
    check(&["gc.blocking"], pages_of_a_block),
    check(&["gc.concurrency"], order_of_thetas),
    check(&["interconnect.slice_time"], no_slice_time),
    check(&["interconnect.rounding"], no_rounding),
    check(&["interconnect.model", "gc.path", "timing.model"], serial_only),
    sized(&["wear.factory_bad_blocks", "run.seed", "gc.reserve", "device"], too_many_bad_blocks),
    check(&["precondition.overwrite", "precondition.fill"], overwrite),
    check(&["run.mode"], without_time),
    check(&["metrics.tenants", "run.mode"], tenants),
];

fn too_many_pages(config: &Config) -> Option<String> {
    let device = &config.device;
    let pages = device.physical_pages();
    if pages.is_some_and(|pages| pages <= MAX_PAGES) {
        return None;
    }
    let factors = [
        device.channels,
        device.chips_per_channel,
        device.planes_per_chip,
        device.blocks_per_plane,
        device.pages_per_block,
    ];
    let product = factors.map(|n| n.to_string()).join(" x ");
    let total = pages.map_or("too many".to_string(), |pages| pages.to_string());
    Some(format!(
        "{product} = {total} pages; the maximum is {MAX_PAGES}: use larger pages or fewer blocks"
    ))
}

fn too_many_units(config: &Config) -> Option<String> {
    let (units, channels) = (config.busy_units(), u64::from(config.device.channels));
    (units + channels > MAX_RESOURCES).then(|| {
        format!(
            "{units} busy units and {channels} channels; the maximum is {MAX_RESOURCES} together: \
             use fewer, or a larger timing.busy_unit"
        )
    })
}

fn erase_unit_too_large(config: &Config) -> Option<String> {
    let pages = config.pages_per_unit();
    (pages > MAX_UNIT_PAGES).then(|| {
        let planes = config.planes_per_pool();
        format!(
            "a superblock of {planes} planes has {pages} pages; the maximum is {MAX_UNIT_PAGES}: \
             use a smaller alloc.pool"
        )
    })
}

fn capacity(config: &Config) -> Option<String> {
    let device = &config.device;
    let physical = device.physical_pages()?;
    if device.user_pages == 0 {
        let least = match config.data_pages_per_stripe() {
            1 => "one page".to_string(),
            pages => format!("one stripe of parity groups, {pages} pages"),
        };
        return Some(format!("the user capacity is less than {least}: increase it"));
    }
    // Groups that do not divide the chips have no parity that could be counted.
    if u128::from(config.logical_pages()) < physical || raid::groups(config).is_some() {
        return None;
    }
    let page = u128::from(device.page_bytes);
    let raw = show_size(u64::try_from(physical * page).unwrap_or(u64::MAX));
    let parity = if config.raid.group > 0 { " and its parity" } else { "" };
    Some(format!(
        "the user capacity{parity} must be less than the raw capacity, {raw} ({physical} pages): \
         garbage collection needs spare pages"
    ))
}

fn reserve_beyond_spare(config: &Config) -> Option<String> {
    let (spare, units) = (config.spare_units_per_pool(), config.units_per_pool());
    let (reserve, frontiers) = (config.gc.reserve, config.alloc.classes().all);
    (u64::from(reserve) > spare).then(|| {
        let user = units - spare;
        let remedy = if spare == 0 {
            "raise device.over_provisioning, or use a larger alloc.pool".to_string()
        } else {
            format!(
                "lower gc.reserve to at most {spare}, raise device.over_provisioning, or use a \
                 larger alloc.pool"
            )
        };
        format!(
            "the device could never collect: user data fill {user} of the {units} erase units of a pool, \
             which leaves {spare} spare for a gc.reserve of {reserve} (and for {frontiers} open on \
             each plane); {remedy}"
        )
    })
}

fn watermark_beyond_pool(config: &Config) -> Option<String> {
    let units = config.units_per_pool();
    for spec in config.gc.trigger.iter().filter(|spec| spec.policy == "free-blocks") {
        for name in ["soft", "hard"] {
            let level = spec.int(name);
            if level >= units {
                return Some(format!(
                    "the trigger free-blocks with {name} = {level} would always collect: a pool \
                     has {units} erase units; use a smaller value"
                ));
            }
        }
    }
    None
}

impl Config {
    /// Notes to print before a run begins.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        endless::of(self).map(|collection| collection.warning()).into_iter().collect()
    }
}

fn collection_without_end(config: &Config) -> Option<String> {
    // A configuration that an earlier check refuses describes no device that could be examined.
    let refused = [reserve_beyond_spare, watermark_beyond_pool, erase_unit_too_large];
    if refused.iter().any(|check| check(config).is_some()) {
        return None;
    }
    let collection = endless::of(config).filter(endless::EndlessCollection::is_refused)?;
    Some(collection.refusal(&config.gc.victim.policy))
}

fn superblock_placement(config: &Config) -> Option<String> {
    let alloc = &config.alloc;
    let placement = &alloc.placement.policy;
    // Parity groups refuse superblocks themselves (`raid::places`): they need another placement.
    let superblocks = alloc.erase_unit == EraseUnit::Superblock && config.raid.group == 0;
    (superblocks && placement != "round-robin").then(|| {
        format!(
            "superblocks are filled plane after plane and need alloc.placement = \
             \"round-robin\"; it is {placement:?}"
        )
    })
}

fn multi_plane(config: &Config) -> Option<String> {
    // Parity groups refuse it themselves (`raid::places`): they need the opposite.
    if !config.timing.multi_plane || config.raid.group > 0 {
        return None;
    }
    let mut needs = Vec::new();
    if config.timing.model != TimingModel::Pipelined {
        needs.push("timing.model = \"pipelined\"");
    }
    if config.timing.busy_unit != BusyUnit::Chip {
        needs.push("timing.busy_unit = \"chip\"");
    }
    if config.alloc.pool == PoolScope::Plane {
        needs.push("alloc.pool = \"chip\" or larger");
    }
    if config.device.planes_per_chip < 2 {
        needs.push("device.planes_per_chip of at least 2");
    }
    (!needs.is_empty()).then(|| format!("multi-plane programs need {}", needs.join(" and ")))
}

fn types(config: &Config, key: &str, times: &[u64]) -> Option<String> {
    let (found, bits) = (times.len(), config.device.bits as usize);
    (!times.is_empty() && found != bits).then(|| {
        format!("{key} has {found} times; expected {bits}, one for each of device.bits = {bits}")
    })
}

fn word_line(config: &Config) -> Option<String> {
    let &DeviceConfig { bits, word_line, pages_per_block, .. } = &config.device;
    if word_line % bits > 0 {
        return Some(format!(
            "a word line of {word_line} pages cannot have as many of each type; expected a multiple of \
             device.bits = {bits}"
        ));
    }
    let fewer = pages_per_block / word_line * word_line;
    (fewer != pages_per_block).then(|| {
        let below = if fewer > 0 { format!("{fewer} or ") } else { String::new() };
        format!(
            "{pages_per_block} pages of a block are no whole number of word lines of {word_line} pages; expected \
             device.pages_per_block = {below}{}",
            fewer + word_line
        )
    })
}

fn partial_transfers(config: &Config) -> Option<String> {
    (config.timing.partial && config.timing.model == TimingModel::Serial).then(|| {
        "partial transfers need timing.model = \"pipelined\": in the serial model a page crosses as a whole".to_string()
    })
}

fn suspension(config: &Config) -> Option<String> {
    if config.timing.suspend == Suspend::None {
        return None;
    }
    if config.timing.model == TimingModel::Serial {
        return Some(
            "suspension needs timing.model = \"pipelined\": in the serial model, array, SRAM and transfer are one \
             time"
                .to_string(),
        );
    }
    (!config.raid.fail.is_empty()).then(|| {
        "the operations of a chip that fails cannot be suspended yet: use timing.suspend = \"none\", or no raid.fail"
            .to_string()
    })
}

fn copyback_pool(config: &Config) -> Option<String> {
    (config.gc.path == GcPath::Copyback && config.planes_per_pool() > 1).then(|| {
        "copy-back stays inside a plane, but free blocks are shared among several: set \
         alloc.pool = \"plane\" or gc.path = \"controller\""
            .to_string()
    })
}

fn pages_of_a_block(config: &Config) -> Option<String> {
    let blocking = config.gc.blocking;
    (blocking.granularity == Granularity::Page && blocking.scope != BlockingScope::Block).then(|| {
        format!(
            "granularity \"page\" opens a block page by page and needs scope \"block\"; it is {:?}",
            blocking.scope.word()
        )
    })
}

fn order_of_thetas(config: &Config) -> Option<String> {
    let rule = &config.gc.concurrency;
    if rule.policy != "adaptive" {
        return None;
    }
    let (low, high) = (rule.real("theta1"), rule.real("theta2"));
    (low > high).then(|| format!("theta1 = {low} is more than theta2 = {high}: swap them"))
}

fn no_slice_time(config: &Config) -> Option<String> {
    (config.interconnect.slice_ns == 0)
        .then(|| "a flit takes at least 1 ns from slice to slice".to_string())
}

fn no_rounding(config: &Config) -> Option<String> {
    (config.interconnect.rounding_ns == 0)
        .then(|| "times are multiples of at least 1 ns".to_string())
}

fn serial_only(config: &Config) -> Option<String> {
    if config.timing.model == TimingModel::Serial {
        return None;
    }
    let crosses = config.interconnect.model != InterconnectModel::None;
    let subject = match (crosses, config.gc.path == GcPath::Selective) {
        (false, false) => return None,
        (true, false) => "an interconnect needs",
        (false, true) => "the selective path needs",
        (true, true) => "an interconnect and the selective path need",
    };
    Some(format!(
        "{subject} timing.model = \"serial\", in which a task holds its busy unit while its page crosses"
    ))
}

fn too_many_bad_blocks(config: &Config) -> Option<String> {
    // Nothing to check without bad blocks; what `reserve_beyond_spare` refuses has been reported.
    if config.wear.factory_bad_blocks <= 0.0 || reserve_beyond_spare(config).is_some() {
        return None;
    }
    let bad = config.bad_units_by_pool();
    let (pool, &most) = bad.iter().enumerate().max_by_key(|&(pool, n)| (n, Reverse(pool)))?;
    let (units, spare) = (config.units_per_pool(), config.spare_units_per_pool());
    (spare < most + u64::from(config.gc.reserve)).then(|| {
        format!(
            "{most} of the {units} erase units of pool {pool} would be bad (run.seed = {}) and user \
             data fill {}, which leaves too few for a gc.reserve of {}: use a smaller share, raise \
             device.over_provisioning, or use a larger alloc.pool",
            config.run.seed,
            units - spare,
            config.gc.reserve
        )
    })
}

fn firmware(config: &Config) -> Option<String> {
    let controller = &config.controller;
    let (p50, p99) = (controller.firmware_p50_ns, controller.firmware_p99_ns);
    (p99 < p50 || p99 > MOST_TAIL * p50).then(|| {
        format!(
            "the 99th percentile is {}, the median {}; expected a percentile from {} to {}: set both \
             firmware_p50 and firmware_p99, which may be equal",
            show_time(p99),
            show_time(p50),
            show_time(p50),
            show_time(MOST_TAIL * p50)
        )
    })
}

fn overwrite(config: &Config) -> Option<String> {
    let precondition = &config.precondition;
    (precondition.fill <= 0.0 && precondition.overwrite > 0.0)
        .then(|| "there are no filled pages to overwrite: set precondition.fill".to_string())
}

fn tenants(config: &Config) -> Option<String> {
    (config.metrics.tenants && config.run.mode == Mode::Functional).then(|| {
        "functional mode does not count by volume and stream: set run.mode = \"timed\", or metrics.tenants = false"
            .to_string()
    })
}

fn without_time(config: &Config) -> Option<String> {
    let (host, controller) = (&config.host, &config.controller);
    let on = [
        ("host.write_buffer_pages", host.write_buffer_pages > 0),
        ("host.link_rate", host.link_bytes_per_s.is_some()),
        ("host.queues", host.queues > 1),
        ("raid.merge", config.raid.merge),
        ("raid.read_buffer_pages", config.raid.read_buffer_pages > 0),
        ("raid.reads", config.raid.reads != GroupReads::Home),
        ("raid.fail", !config.raid.fail.is_empty()),
        ("controller.host_ecc_time", controller.host_ecc_ns > 0),
        ("controller.metadata_time", controller.metadata_ns > 0),
        ("controller.retry_probability", controller.retry_probability > 0.0),
        ("controller.retry_growth", controller.retry_growth > 0.0),
        ("energy.read", config.energy.read_uw > 0),
        ("energy.program", config.energy.program_uw > 0),
        ("energy.erase", config.energy.erase_uw > 0),
        ("energy.bus", config.energy.bus_uw > 0),
        ("energy.idle", config.energy.idle_uw > 0),
    ];
    let on: Vec<&str> = on.iter().filter(|(_, on)| *on).map(|&(key, _)| key).collect();
    (config.run.mode == Mode::Functional && !on.is_empty()).then(|| {
        format!(
            "functional mode has no time, so {} would have no effect: remove it, or set \
             run.mode = \"timed\"",
            on.join(", ")
        )
    })
}
