//! Words of other tools and of the field, each with the key that it corresponds to here.

mod simulators;

use simulators::{DISKSIM, FEMU, FLASHSIM, MQSIM, NVMEVIRT, SIMPLESSD, SSDSIM};
use ssd_core::config::terms::{Term, Vocabulary, absent, other, same};

pub(super) const VOCABULARIES: &[Vocabulary] = &[
    Vocabulary { tool: "data sheets and papers", terms: FIELD },
    Vocabulary { tool: "fio", terms: FIO },
    Vocabulary { tool: "MQSim", terms: MQSIM },
    Vocabulary { tool: "FEMU", terms: FEMU },
    Vocabulary { tool: "NVMeVirt", terms: NVMEVIRT },
    Vocabulary { tool: "SimpleSSD", terms: SIMPLESSD },
    Vocabulary { tool: "SSDSim", terms: SSDSIM },
    Vocabulary { tool: "DiskSim with the SSD extension", terms: DISKSIM },
    Vocabulary { tool: "FlashSim and EagleTree", terms: FLASHSIM },
];

const NO_WORKER: &str = "one stream of requests; its outstanding requests are host.queue_depth";
const TIMED_STOP: &str = "the time after which a closed loop stops, with its unit";

const OF_RAW: &str = "a share r of all flash there; write r / (1 - r)";
const FREE_BLOCKS: &str = "erased blocks of a pool, not a share of it";
const NO_HOST_STACK: &str =
    "there is no host with a page cache or an engine: requests reach the drive as they are";
const FIELD: &[Term] = &[
    same("op|OP ratio", "device.over_provisioning"),
    other("spare factor", "device.over_provisioning", OF_RAW),
    same(
        "device.size|capacity|drive capacity|ssd size|user size|logical capacity|NCAP|NSZE",
        "device.user_capacity",
    ),
    other(
        "raw capacity|physical capacity",
        "device.over_provisioning",
        "raw capacity follows from the geometry and is what over-provisioning is counted from",
    ),
    other(
        "dies|die count|luns|NAND targets",
        "device.chips_per_channel",
        "chips of one channel, not of the drive",
    ),
    same("dies per channel|chips|ways|ways per channel", "device.chips_per_channel"),
    same("planes|planes per die", "device.planes_per_chip"),
    same("blocks|blocks per die", "device.blocks_per_plane"),
    same("pages|page count", "device.pages_per_block"),
    other("block size|erase block size", "device.pages_per_block", "pages, not bytes"),
    same("page bytes|flash page|nand page size", "device.page_size"),
    other(
        "sector size|lba size|LBADS|lbaf",
        "workload.page_size",
        "only the unit of a trace's addresses; sectors have 512 bytes",
    ),
    same("tR|tREAD|read latency|read time", "timing.read"),
    same("tPROG|program latency|write latency|program time", "timing.program"),
    same("tBERS|tERASE|erase latency|erase time", "timing.erase"),
    same("tDMA|tXFER|transfer time", "timing.transfer"),
    other(
        "tWC|tRC",
        "timing.bus_rate",
        "the time of a byte there; write the rate, as in \"40 MB/s\" for 25 ns",
    ),
    same("bus speed|channel bandwidth|interface speed|ONFI|toggle rate", "timing.bus_rate"),
    other(
        "gc.threshold|gc low watermark|gc watermark|free block threshold",
        "gc.trigger.soft",
        FREE_BLOCKS,
    ),
    other("gc hard watermark|gc min free", "gc.reserve", FREE_BLOCKS),
    same(
        "gc.policy|victim selection|gc algorithm|victim policy|cleaning policy|eviction policy",
        "gc.victim",
    ),
    same("copyback", "gc.path"),
    same("wear leveling|wear levelling|dynamic wl", "wear.dynamic"),
    same("static wl|wl threshold|wear leveling threshold", "wear.static_threshold"),
    same("p/e cycles|cycles|nand endurance", "wear.endurance"),
    other(
        "dwpd",
        "wear.daily_writes",
        "drive writes a day there; write bytes a day, as in \"960 GB\"",
    ),
    other("tbw", "wear.daily_writes", "a sum over years there; write bytes a day"),
    same("bad blocks|initial bad blocks", "wear.factory_bad_blocks"),
    same("qd|queue depth|outstanding", "host.queue_depth"),
    other(
        "submission queues|io queues|num queues|nr_io_queues|number of queues",
        "host.queues",
        "queues by stream, which take turns; the outstanding requests are host.max_outstanding",
    ),
    same("write cache|dram cache|cache size|buffer size|VWC", "host.write_buffer_pages"),
    other("lanes|pcie|pcie gen", "host.link_rate", "the rate net of coding, as in \"3.5 GB/s\""),
    other(
        "mqes|sqsize|queue size|sq entries",
        "host.queue_depth",
        "NVMe counts the entries of a queue there, less 1; this key is the number of outstanding requests",
    ),
    other(
        "nlb|number of logical blocks",
        "workload.size",
        "NVMe counts the blocks of a request there, less 1; write the size, as in \"4 KiB\" for 7 blocks of 512 B",
    ),
    same("request size|io size|block length", "workload.size"),
    same("read ratio|read percentage|read share|read fraction", "workload.read"),
    other(
        "write ratio|write percentage|write share",
        "workload.read",
        "the share of reads: 1 less that of writes",
    ),
    same("trim ratio|discard ratio|deallocate", "workload.trim"),
    same("skew|zipf theta|zipfian|zipf exponent|zipf alpha", "workload.theta"),
    same("working set|footprint|wss", "workload.span"),
    other(
        "rate|iops|arrival rate",
        "workload.arrival.rate",
        "requests a second with the unit, as in \"20000 per s\"",
    ),
    same("interarrival|inter arrival time", "workload.arrival.interval"),
    same("access pattern|distribution|workload.type", "workload.kind"),
    same("number of requests|request count|io count|ops", "workload.requests"),
    same("warmup", "workload.warmup_requests"),
    same("streams|stream count|frontier|write frontiers", "alloc.frontiers"),
    other("superblock|superpage|line", "alloc.erase_unit", "write alloc.erase_unit=superblock"),
    same("hot cold separation|data separation", "alloc.separation"),
    other(
        "ruh|nruh|reclaim unit handles|fdp",
        "alloc.separation",
        "write alloc.separation=fdp; its parameters are the handles",
    ),
    same("parity group|stripe width", "raid.group"),
    same("utilization|utilisation|prefill|fill ratio", "precondition.fill"),
    absent("waf|write amplification|wa", "it is a result: `waf` of the report"),
    absent("mdts", "requests of any size are split into pages"),
    absent(
        "namespace|namespaces|nsid|partition",
        "the addresses of the drive are one space; volumes of a trace lie behind one another with workload.volume=all",
    ),
    same("slc cache|slc caching|pslc|turbowrite|write booster", "slc.mode"),
    other(
        "tlc|qlc|cell type|technology",
        "device.bits",
        "write the bits of a cell, as device.bits=3 for TLC; the times are in [timing]",
    ),
    same(
        "gc.victim=cb|gc.victim=costbenefit|gc.victim=cost benefit policy",
        "gc.victim=cost-benefit",
    ),
    same("gc.victim=greedy policy|gc.victim=min valid", "gc.victim=greedy"),
    same(
        "gc.victim=lru|gc.victim=round robin|gc.victim=oldest|gc.victim=circular",
        "gc.victim=fifo",
    ),
    same("gc.victim=cat", "gc.victim=cost-age-times"),
    same("gc.victim=d choice|gc.victim=dchoices|gc.victim=sampling", "gc.victim=d-choices"),
    same("timing.busy_unit=die|timing.busy_unit=lun", "timing.busy_unit=chip"),
    same("alloc.pool=die|alloc.pool=lun", "alloc.pool=chip"),
    same("alloc.pool=global", "alloc.pool=device"),
    same("workload.kind=random|workload.kind=rand", "workload.kind=uniform"),
    same("workload.kind=seq", "workload.kind=sequential"),
    same("workload.kind=zipfian", "workload.kind=zipf"),
    same("host.mode=closed loop|host.mode=qd", "host.mode=closed"),
    same("host.mode=open loop|host.mode=replay", "host.mode=open"),
];

const FIO: &[Term] = &[
    same("iodepth", "host.queue_depth"),
    same("bs|blocksize", "workload.size"),
    other(
        "bsrange|bssplit|bs_unaligned|bs_is_seq_rand",
        "workload.size",
        "a list of { size, weight }",
    ),
    other(
        "rw|readwrite",
        "workload.kind",
        "randwrite is workload.kind=uniform, write is workload.kind=sequential; for reads add workload.read=1, for \
         randrw workload.read=50%, for randtrim workload.trim=1",
    ),
    other("rwmixread", "workload.read", "a percentage there; write it with its sign, as in 70%"),
    other("rwmixwrite", "workload.read", "the share of reads, 100 % less that of writes"),
    other(
        "size|filesize|io_size",
        "workload.span",
        "the share of the drive that is addressed; the size of a request is workload.size",
    ),
    same("number_ios", "workload.requests"),
    same("randseed", "workload.seed"),
    other("runtime|timeout|time_based", "host.stop_after", TIMED_STOP),
    same("thinktime", "host.think_time"),
    same("thinktime_blocks", "host.think_every"),
    other(
        "random_distribution",
        "workload.kind",
        "zipf:1.1 is workload.kind=zipf with workload.theta=1.1; random is workload.kind=uniform",
    ),
    other(
        "rate_iops|rate_iops_min",
        "workload.arrival.rate",
        "needs host.mode=open and the unit, as in \"20000 per s\"",
    ),
    other(
        "read_iolog|replay_file",
        "workload.trace",
        "the file; `list formats` names those of fio's I/O logs",
    ),
    same("loops", "workload.loops"),
    other("ramp_time", "workload.warmup_requests", "requests, not a time"),
    other("numjobs|jobs|nrfiles|thread", "host.queue_depth", NO_WORKER),
    absent(
        "ioengine|direct|buffered|invalidate|fsync|fdatasync|sync|end_fsync|iodepth_batch|hipri|gtod_reduce",
        NO_HOST_STACK,
    ),
    absent(
        "filename|directory|fallocate|overwrite_file",
        "the drive is the one that is configured",
    ),
    other(
        "norandommap|randrepeat|refill_buffers",
        "workload.seed",
        "requests are drawn with this seed, with repetition",
    ),
    other(
        "offset|offset_increment",
        "workload.span",
        "the share of the drive that is addressed, from its start",
    ),
    same("jobfile", "workload.job"),
];
