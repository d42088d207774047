"""What is run, and on what it is judged.

Chosen before any separation policy was run on these workloads:

- Device: one pool of 1,024 blocks of 256 pages, without time; collection keeps one block erased.
  The host sees 1 / (1 + OP) of the pages, fills them once, then writes the workload: four times
  the user pages before the measurement, twice in it.
- Victims: greedy, and cost-benefit with its default age.
- Workloads: single pages, uniform, Zipf and hot/cold. A line wins where its interval over seeds
  lies below those of all others that do not know the future.

Chosen before the runs with the future: its marks are the policy with as many classes as the
others, and with 24. No line may have an interval below that of the latter.

Chosen before the runs of traces:

- Recorded applications, and the stand-ins of MSR volumes written to files, shrunk to an eighth. The
  device is of the size of the pages that they touch, in 1,200 to 2,500 blocks.
- All pages are written once, in an order drawn by the seed. Then the trace runs in whole loops, in
  which its writes come to at least four times these pages before the measurement, and twice in it,
  as near as whole loops can be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ssdlab.config.resolve import load_config
from ssdlab.running.fitted import footprint_pages
from ssdlab.traces.trace import Trace
from ssdlab_lab.oracles.separated import best_split, zipf_rates
from ssdlab_lab.reproduce.matrix import Scheme, Workload

PRESET = "greedy-8ch"
BLOCKS, QUICK_BLOCKS, PAGES = 1024, 128, 256
SEEDS, QUICK_SEEDS = (1, 2, 3), (1, 2)
BEFORE, MEASURED = 4, 2
"""How often the user pages are written before the measurement, and in it."""
QUICK = (
    f"Quick: {QUICK_BLOCKS} blocks instead of {BLOCKS:,}, {len(QUICK_SEEDS)} seeds, the future with"
    " six classes only, no traces."
)

Keys: TypeAlias = Mapping[str, object]

ONE, APART = "one frontier", "host and copies"
FUTURE, BOUND = "future", "future, 24 classes"
CHAIN, REGIONS, ANY = "midas", "host-and-copies", "host-and-copies, any victim"
LINES: dict[str, Keys] = {
    ONE: {"alloc.frontiers": "single"},
    APART: {},
    **{
        name: {"alloc.separation": name}
        for name in (
            "two-regions",
            "dac",
            "fadac",
            REGIONS,
            CHAIN,
            "multilog",
            "sepbit",
            "sfs",
            "warcip",
            FUTURE,
        )
    },
    ANY: {"alloc.separation": {"policy": REGIONS, "victims": "any"}},
    BOUND: {"alloc.separation": {"policy": "future", "classes": 24}},
}
REAL = tuple(line for line in LINES if line not in (FUTURE, BOUND, ANY))
"""Those that a controller could follow. With these victims, `ANY` is `APART`."""
VICTIMS = ("greedy", "cost-benefit")
SPARES = (0.07, 0.14, 0.28)
USUAL = 0.14


def _hot(space: int) -> Keys:
    """Writes of which all but `space` percent go to `space` percent of the pages."""
    share = space / 100
    return {
        "workload.kind": "hot-cold",
        "workload.hot_space": share,
        "workload.hot_access": 1 - share,
    }


THETAS = {f"Zipf {theta:g}": theta for theta in (0.6, 0.8, 0.99, 1.0)}
HOT = {f"hot/cold {100 - space}/{space}": space for space in (20, 10, 5)}
WORKLOADS: dict[str, Keys] = {
    "uniform": {"workload.kind": "uniform"},
    **{name: {"workload.kind": "zipf", "workload.theta": theta} for name, theta in THETAS.items()},
    **{name: _hot(space) for name, space in HOT.items()},
}

TRACES = Path("traces")
APPLICATIONS = {
    "sqlite": 32,
    "varmail": 128,
    "dbench": 128,
    "mysql": 128,
    "cassandra": 128,
    "rocksdb": 128,
    "wiredtiger": 128,
}
"""Recorded traces, and the pages per block."""
RANGES = {"hm_0": 14.0, "stg_0": 10.8, "src2_0": 15.6, "rsrch_0": 16.9, "wdev_0": 16.9}
"""Volumes of the MSR traces, with the GB that their addresses span."""
VOLUMES = {"hm_0": 128, "stg_0": 128, "src2_0": 32, "rsrch_0": 32, "wdev_0": 64}
"""The pages per block for each."""
SHRUNK = 8
"""The divisor of the requests and addresses of a stand-in."""
PLAYED = (*APPLICATIONS, *VOLUMES)
"""All workloads that come from files."""


class Place(NamedTuple):
    """The source of a number, without the seed."""

    workload: str
    victims: str
    spare: float
    line: str
    device: str = ""
    """A device other than the usual one, for a cell of a public simulator."""


class ReplayedTrace(NamedTuple):
    """A trace as it is run."""

    file: Path
    pages: int
    """That it touches."""
    requests: int
    """The trace in a file. Raises `ConfigError` and `WorkloadError`."""
    before: int
    """Loops before the measurement."""
    measured: int

    @staticmethod
    def of(file: Path) -> ReplayedTrace:
        """That of a file. Raises `ConfigError` and `WorkloadError`."""
        info = Trace(file).info()
        keys = {"device.fit": "trace", "device.page_size": "4 KiB"}
        pages = footprint_pages(load_config(PRESET, trace=file, set=keys))
        per_loop = info.updates.page_writes / pages
        warmup, measured = (math.ceil(times / per_loop) for times in (BEFORE, MEASURED))
        return ReplayedTrace(file, pages, info.requests, warmup, measured)


class PublishedResult(NamedTuple):
    """A result of a public simulator."""

    waf: float
    simulator: str


OPENED, LARGE = "with open blocks", "2,048 blocks of 2,048 pages"
"""The device with as many blocks more as its classes have open, and that kept erased; and that of
a public simulator, with these blocks too."""
LONGER = "blocks of 512 pages, 3 of them left out"
"""That of MiDAS's simulator, which keeps four erased; open ones are part of the space."""
FIO = "2,048 blocks of 1,024 pages, 3 of them left out"
"""The device of the example of MiDAS's simulator."""
FIO_PAGES = 1_953_125
"""8 GB, which the simulator writes once before the file."""
FIO_REACH = 4 * 2**30 // 4096
"""Pages that the file writes: those of the 4 GiB of which its record speaks (Zenodo 10409599)."""
FIO_WRITES, FIO_COPIES = 54_237_899 - 1 - FIO_PAGES, 70_485_894
"""Of the file, as the simulator counts: its clock begins at 1. It made the copies in all."""
FILLED, FIO_SPARE = 1 / 0.875 - 1, 2048 * 1024 / FIO_PAGES - 1
SEPBIT, SSD_IQ = "SepBIT trace_replay, 1e4b664", "SSD-iq, 9aae7a3"
MIDAS = "MiDAS-Simulation, a226265"
CELLS: dict[Place, PublishedResult] = {
    **{
        Place("Zipf 0.99", "greedy", USUAL, line, OPENED): PublishedResult(waf, SEPBIT)
        for line, waf in {
            ONE: 6.213,
            APART: 4.537,
            "dac": 3.248,
            "fadac": 3.067,
            "multilog": 3.489,
            "sepbit": 3.417,
            "sfs": 3.732,
            "warcip": 4.240,
        }.items()
    },
    Place("Zipf 0.99", "greedy", USUAL, CHAIN, LONGER): PublishedResult(2.552, MIDAS),
    Place("Zipf 0.99", "cost-benefit", USUAL, CHAIN, LONGER): PublishedResult(2.553, MIDAS),
    Place("Zipf 1", "cost-benefit", FIO_SPARE, CHAIN, FIO): PublishedResult(
        1 + FIO_COPIES / FIO_WRITES, MIDAS
    ),
    Place("Zipf 0.99", "greedy", USUAL, REGIONS, OPENED): PublishedResult(4.537, SSD_IQ),
    Place("Zipf 0.99", "second-chance", USUAL, ANY, OPENED): PublishedResult(3.391, SSD_IQ),
    Place("hot/cold 90/10", "greedy", FILLED, ONE, LARGE): PublishedResult(5.112, SSD_IQ),
    Place("hot/cold 90/10", "greedy", FILLED, REGIONS, LARGE): PublishedResult(4.440, SSD_IQ),
    Place("hot/cold 90/10", "second-chance", FILLED, ANY, LARGE): PublishedResult(2.505, SSD_IQ),
}
"""Run once from the public source, with 1,024 segments of 256 pages whose open segments are not
part of the space, and of MiDAS of 512; those of the larger devices as published."""
OPTIMAL = ("hot/cold 90/10", FILLED, 1.985)
"""Published by SSD-iq as optimal, from a closed form."""
CLASSES = {ONE: 1, APART: 2, REGIONS: 2, ANY: 2}
"""Open blocks of a pool; others have six."""


def seeds(quick: bool) -> tuple[int, ...]:
    """The seeds of the repetitions."""
    return QUICK_SEEDS if quick else SEEDS


def lines(quick: bool) -> tuple[str, ...]:
    """The lines that are run: a small device cannot hold 10 or 24 blocks open."""
    omitted = (ANY, BOUND, CHAIN) if quick else (ANY,)
    return tuple(line for line in LINES if line not in omitted)


def mark(quick: bool) -> str:
    """The line against which the others are measured."""
    return FUTURE if quick else BOUND


def shape(place: Place, quick: bool) -> tuple[int, int]:
    """Blocks of the device of a place, and pages of each."""
    if quick:
        return QUICK_BLOCKS, PAGES
    shapes = {LARGE: (2048, 2048), LONGER: (BLOCKS, 2 * PAGES), FIO: (2048, 1024)}
    return shapes.get(place.device, (BLOCKS, PAGES))


def user_pages(place: Place, quick: bool) -> int:
    """Pages that the host sees."""
    blocks, pages = shape(place, quick)
    return int(blocks * pages / (1 + place.spare))


def _of_shape(place: Place, quick: bool) -> Keys:
    blocks, pages = shape(place, quick)
    open_blocks = 1 + CLASSES.get(place.line, 6) // 2
    extra = {OPENED: open_blocks, LARGE: open_blocks, LONGER: -3, FIO: -3}.get(place.device, 0)
    return {
        "device.blocks_per_plane": blocks + extra,
        "device.pages_per_block": pages,
        "device.user_capacity": f"{4 * user_pages(place, quick)} KiB",
    }


def _of_trace(place: Place, played: Mapping[str, ReplayedTrace]) -> Keys:
    pages = played[place.workload].pages
    per_block = {**APPLICATIONS, **VOLUMES}[place.workload]
    return {
        "device.blocks_per_plane": math.ceil(pages * (1 + place.spare) / per_block),
        "device.pages_per_block": per_block,
        "device.user_capacity": f"{4 * pages} KiB",
        "precondition.order": "random",
    }


def scheme_of(place: Place, quick: bool, played: Mapping[str, ReplayedTrace]) -> Scheme:
    """The device of a place; `played` has the traces."""
    keys: Keys = {
        "run.mode": "functional",
        "device.channels": 1,
        "device.chips_per_channel": 1,
        "device.planes_per_chip": 1,
        "device.page_size": "4 KiB",
        "gc.victim": place.victims,
        "gc.trigger": {"policy": "free-blocks", "soft": 1, "hard": 0},
        "gc.reserve": 1,
        "precondition.fill": 1.0,
        **(_of_trace(place, played) if place.workload in PLAYED else _of_shape(place, quick)),
        **LINES[place.line],
    }
    device = f", {place.device}" if place.device else ""
    name = f"{place.line}{device}, {place.victims}, {100 * place.spare:g} %"
    return Scheme(name, PRESET, keys)


def workload_of(place: Place, quick: bool, played: Mapping[str, ReplayedTrace]) -> Workload:
    """The writes of a place; `played` has the traces."""
    if place.workload in PLAYED:
        replay = played[place.workload]
        of_trace: Keys = {
            "workload.trace": str(replay.file),
            "workload.fit": "compact",
            "workload.whole_pages": True,
            "workload.loops": replay.before + replay.measured,
            "workload.warmup_requests": replay.before * replay.requests,
        }
        return Workload(place.workload, "recorded", of_trace)
    pages = user_pages(place, quick)
    if place.device == FIO:
        of_file: Keys = {
            **WORKLOADS[place.workload],
            "workload.span": FIO_REACH / FIO_PAGES,
            "workload.read": 0.0,
            "workload.size": "4 KiB",
            "workload.requests": FIO_WRITES,
        }
        return Workload(f"{place.workload} over 4 GiB", "synthetic", of_file)
    keys = {
        **WORKLOADS[place.workload],
        "workload.read": 0.0,
        "workload.size": "4 KiB",
        "workload.requests": (BEFORE + MEASURED) * pages,
        "workload.warmup_requests": BEFORE * pages,
    }
    return Workload(f"{place.workload}, {100 * place.spare:g} %", "synthetic", keys)


def groups(quick: bool) -> dict[str, tuple[str, ...]]:
    """The workloads of each table and picture."""
    return {"synthetic": (*WORKLOADS,)} | ({} if quick else {"traces": PLAYED})


def workloads(quick: bool) -> tuple[str, ...]:
    """All of them."""
    return sum(groups(quick).values(), ())


def places(quick: bool) -> Iterator[Place]:
    """All runs of one seed."""
    for workload in workloads(quick):
        for victims in VICTIMS:
            for spare in SPARES:
                yield from (Place(workload, victims, spare, line) for line in lines(quick))
    known = (*lines(quick), ANY)
    yield from (place for place in CELLS if place.line in known)


@cache
def closed_form(workload: str, spare: float, pages: int | None = None) -> float:
    """With a pool for each rate of the workload, infinitely many blocks, and the best split.

    `pages`: those that the host sees, unless the device is the usual one.
    """
    if workload in HOT:
        share = HOT[workload] / 100
        return best_split([share, 1 - share], [1 - share, share], 1 + spare)
    page_count = pages or int(BLOCKS * PAGES / (1 + spare))
    return best_split(*zipf_rates(page_count, THETAS.get(workload, 0.0)), 1 + spare)
