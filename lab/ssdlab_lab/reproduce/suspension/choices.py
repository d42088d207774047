"""What is published of two evaluations of suspension, and what was chosen where it is not.

All was fixed before the first run of this study.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ssdlab_lab.reproduce.matrix import Scheme, Workload

NAME, TITLE = "suspension", "Suspended programs and erases: published and simulated"
BAND = 0.1
"""A simulated number agrees if it differs from the published one by at most this share."""
SEEDS, QUICK_SEEDS = (1, 2, 3), (1, 2)
QUICK = (
    "Quick: an emulated drive of 1/64 for 2 s instead of 40 s, 20,000 requests instead of 200,000,"
    " one load instead of four, a smaller device, one workload and one order for the answers of"
    " the"
    f" papers, and {len(QUICK_SEEDS)} seeds instead of {len(SEEDS)}."
)
Keys: TypeAlias = dict[str, object]

OFF, ON = "off", "on"

# ------------------------------------------------------------------------------------ the emulator

EMULATOR = "FEMU"
EMULATOR_SOURCE = "FEMU, pull request 204, 2026-09-14 (https://github.com/MoatLab/FEMU/pull/204)"
P50, P99, P99_99, MEAN = "read p50, us", "read p99, us", "read p99.99, us", "read mean, us"
READS, WRITES = "reads/s", "writes/s"
PUBLISHED: dict[str, dict[str, float]] = {
    P50: {OFF: 150, ON: 51},
    P99: {OFF: 55_837, ON: 140},
    P99_99: {OFF: 111_673, ON: 2_671},
    MEAN: {OFF: 1_295, ON: 55},
    READS: {OFF: 766, ON: 16_378},
    WRITES: {OFF: 8_329, ON: 8_195},
}
"""Of the emulator, without and with suspension."""
BLOCKS, QUICK_BLOCKS = 256, 32
"""Of each die, and pages of a block: the defaults of the emulator."""
SECONDS, QUICK_SECONDS = 40, 2
JOB = """\
[global]
filename=/dev/nvme0n1
ioengine=libaio
direct=1
bs=4k
time_based
runtime={seconds}

[reads]
rw=randread
iodepth=1

[writes]
rw=randwrite
iodepth=16
numjobs=4
"""
"""The load, as a job file of fio."""
EMULATED = (
    "Published: 8 channels of 8 dies, read 40 us, program 200 us, erase 2 ms, suspension 10 us;"
    " over-provisioning 25 %; two sequential passes, then random reads of 4 KiB at depth 1 for 40 s"
    " beside four jobs of random writes at depth 16.",
    "Taken from the documentation and source of the emulator: 256 blocks of 256 pages of 4 KiB on"
    " each die and no transfer times (its defaults); a line of one block on every die is collected"
    " as a whole; host and copies share one open line, which goes round the dies; collection starts"
    " when a quarter of the lines or fewer are erased, and takes the line with the fewest valid"
    " pages, but none of which less than an eighth is invalid.",
    'Chosen here: `sched.order = "gc-first"`, because the emulator books a whole collection at the'
    " moment it starts, ahead of every later operation of the host; `list-order` at 1/8 for the"
    " victim, because a line is collected as soon as an eighth of it is invalid; as many copies in"
    " flight as the simulator has (4,096); no limit of suspensions that would matter (1,000) and no"
    " time to resume, since the emulator has neither; the state after one sequential pass, since"
    " the second replaces every page of the first in the same order. Guest and emulator take no"
    " time here.",
    "Not published: whether the writes per second are those of one job or of all four. They are"
    " compared as those of all. A count that speaks for one job: a line of which an eighth is"
    " invalid has 224 valid pages on a die, so its collection takes 224 x 240 us + 2 ms = 55.8 ms,"
    " the published p99, and frees 32 pages of the die, which take 6.4 ms to write. So 64 dies"
    " sustain about 32,900 writes a second, a quarter of which is 8,230.",
    "Expected before the first run: agreement without suspension, where a read waits for flash;"
    " with it the median only, since by the emulator's own rules a read that suspends takes 40 us"
    " + 10 us whatever its die does, so that a p99 of 140 us and a p99.99 of 2,671 us hold time of"
    " the guest and of the emulator, which has none here.",
)
"""Where the keys of the emulated drive come from."""


def emulated(line: str, quick: bool) -> Scheme:
    """The emulated drive, with suspension or without."""
    blocks = QUICK_BLOCKS if quick else BLOCKS
    keys: Keys = {
        "device.channels": 8,
        "device.chips_per_channel": 8,
        "device.blocks_per_plane": blocks,
        "device.pages_per_block": blocks,
        "device.page_size": "4 KiB",
        "device.over_provisioning": 0.25,
        "timing.model": "pipelined",
        "timing.busy_unit": "chip",
        "timing.read": "40 us",
        "timing.program": "200 us",
        "timing.erase": "2 ms",
        "timing.transfer": "0 ns",
        "alloc.placement": "round-robin",
        "alloc.frontiers": "single",
        "alloc.pool": "device",
        "alloc.erase_unit": "superblock",
        "gc.trigger": {"policy": "free-blocks", "soft": blocks // 4, "hard": 0},
        "gc.victim": {"policy": "list-order", "ratio": 0.125},
        "gc.window": 4096,
        "sched.order": "gc-first",
        "precondition.fill": 1.0,
        "metrics.interval": "0 s",
    }
    if line == ON:
        keys |= {
            "timing.suspend": "both",
            "timing.suspend_time": "10 us",
            "timing.resume_time": "0 ns",
            "timing.suspend_limit": 1000,
        }
    return Scheme(line, PRESET, keys)


# ----------------------------------------------------------------------------------- the simulation

PAPER = "FAST '12"
PAPER_SOURCE = (
    "Wu and He, Reducing SSD Read Latency via NAND Flash Program and Erase Suspension, FAST '12"
)
PRESET = "greedy-8ch"
OVER_PRIORITY, OVER_FIFO, MORE_WRITE = (
    "reads, over read priority",
    "reads, over first come",
    "writes, over read priority",
)
PAPER_PUBLISHED: dict[str, float] = {OVER_PRIORITY: -0.505, OVER_FIFO: -0.754}
"""Changes of the mean latency on average over the traces and both kinds of flash."""
MOST_WRITE = 0.04
"""Published bound of the rise of writes."""
FLASHES: dict[str, tuple[int, int, int]] = {"SLC": (25, 200, 1_500), "MLC": (75, 750, 3_800)}
"""Read, program and erase, in microseconds."""
LOADS, QUICK_LOADS = (0.1, 0.2, 0.3, 0.4), (0.3,)
"""Share of the time of a chip that the operations of the host take, without collection."""
READ_SHARE = 0.7
REQUESTS, QUICK_REQUESTS = 200_000, 20_000
CHIPS = 32
FIFO, PRIORITY, SUSPENDED, ALONE = "first come", "read priority", "suspension", "reads alone"
LINES: dict[str, Keys] = {
    FIFO: {"sched.order": "fifo"},
    PRIORITY: {"sched.order": "read-first"},
    SUSPENDED: {"sched.order": "read-first", "timing.suspend": "both"},
    ALONE: {"sched.order": "read-first"},
}
SIMULATED = (
    "Published (abstract): on average over its traces, on SLC and MLC, suspension lowers the mean"
    " latency of reads by 50.5 % against read priority and by 75.4 % against first come, first"
    " served, and raises that of writes by less than 4 %; without suspension, programs and erases"
    " double the latency of reads on average, and suspension comes close to removing that.",
    "Not available here: the text of the paper, and so its drive, its times and its traces. Chosen"
    " here: `greedy-8ch`, 32 chips, of which 80 % of the user space is written once and overwritten"
    " twice; the times of deferred-gc-raid as SLC (25 us, 200 us, 1.5 ms) and the default times as"
    " MLC (75 us, 750 us, 3.8 ms); the default times of suspension (20 us to suspend, 5 us to"
    " resume, at most 10 times); 70 % reads, Poisson arrivals on uniform pages of 4 KiB, at rates"
    " at which reads and programs of the host alone take 10, 20, 30 and 40 % of the time of a chip."
    " The result is the mean over all eight cells, as the paper averages its traces. Reads alone:"
    " the same reads at the same rate without any write.",
)
"""Where the keys of the simulated drive come from."""


def simulated(flash: str, line: str) -> Scheme:
    """The simulated drive with a kind of flash."""
    read, program, erase = FLASHES[flash]
    keys: Keys = {
        "timing.model": "pipelined",
        "timing.read": f"{read} us",
        "timing.program": f"{program} us",
        "timing.erase": f"{erase} us",
        "precondition.fill": 0.8,
        "precondition.overwrite": 2.0,
        "metrics.interval": "0 s",
        **LINES[line],
    }
    return Scheme(line, PRESET, keys)


def requests(flash: str, load: float, line: str, quick: bool) -> Workload:
    """Requests at a load; their reads without the writes for the line of reads alone."""
    read, program, _ = FLASHES[flash]
    mean_us = READ_SHARE * read + (1 - READ_SHARE) * program
    interval_us = mean_us / (load * CHIPS)
    part = READ_SHARE if line == ALONE else 1.0
    number = QUICK_REQUESTS if quick else REQUESTS
    keys: Keys = {
        "host.mode": "open",
        "workload.kind": "uniform",
        "workload.read": READ_SHARE / part,
        "workload.span": 0.8,
        "workload.requests": round(number * part),
        "workload.arrival.interval": f"{interval_us / part:.3f} us",
    }
    return Workload(f"{flash}, load {load:g}", "synthetic", keys)


class Place(NamedTuple):
    """What a run is of."""

    part: str
    """`EMULATOR`, `PAPER` or `SCHEMES`."""
    case: str
    """The flash of `PAPER`, the workload of `SCHEMES`."""
    load: float
    line: str
    seed: int


def seeds(quick: bool) -> tuple[int, ...]:
    """Seeds of the repetitions; requests and initial state differ between them."""
    return QUICK_SEEDS if quick else SEEDS


def loads(quick: bool) -> tuple[float, ...]:
    """Loads of the simulated drive."""
    return QUICK_LOADS if quick else LOADS
