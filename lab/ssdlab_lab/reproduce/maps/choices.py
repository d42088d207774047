"""What is varied, what is held, and what counts as no change, fixed before the first run.

- Devices: those of the papers' main runs with fewer blocks. The host fills all that it sees, so
  that what is not live is spare: the flash does not know whether a page was never written or is
  not for the host. Parity counts as live.
- Requests: single pages, Zipf addresses, the same for all papers. The papers' own are marked.
- Load: how much of the time of the flash the requests of the host need, without collection. An
  update of a parity group needs two reads and two programs.
- Bursts: requests arrive at `BURST_RATE` times the rate that fills the flash, then pause, so that
  the mean load is `BURST_LOAD`.

Seen before: only runs of the baselines, for their durations.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple, TypeAlias

from ssdlab_lab.reproduce import scoring
from ssdlab_lab.reproduce.matrix import Scheme, Workload
from ssdlab_lab.reproduce.paper import Flash, Scale
from ssdlab_lab.reproduce.papers.adaptive_channel import paper as adaptive_channel
from ssdlab_lab.reproduce.papers.deferred_gc_raid import paper as deferred_gc_raid
from ssdlab_lab.reproduce.papers.invalidation_rate import paper as invalidation_rate
from ssdlab_lab.reproduce.papers.noc_copyback import paper as noc_copyback

NAME, TITLE = "maps", "Where the proposals of four papers help"
Keys: TypeAlias = "dict[str, object]"

INVALIDATION, NOC, ADAPTIVE, RAID = PAPERS = (
    "invalidation-rate",
    "noc-copyback",
    "adaptive-channel",
    "deferred-gc-raid",
)
DIVISORS = {INVALIDATION: 8, NOC: 8, ADAPTIVE: 16, RAID: 64}
"""Of the blocks of each plane of a paper's device: every map has at least 512 MiB of flash."""
QUICK_DIVISOR = 2
"""A quick study divides the blocks once more."""
LINES: dict[str, tuple[str, str]] = {
    INVALIDATION: (invalidation_rate.BBGC, invalidation_rate.PROPOSED),
    NOC: (noc_copyback.CONVENTIONAL, noc_copyback.PROPOSED),
    ADAPTIVE: (adaptive_channel.CONV_ALL, adaptive_channel.PROPOSED),
    RAID: (deferred_gc_raid.RAID, deferred_gc_raid.DGC),
}
"""Baseline and proposal. Of the baselines of adaptive-channel, that which collects as those of the
papers of the same group."""

LOAD, BURST = AXES = ("load", "burst")
"""The two maps of a paper: load by live share, and burst length by spare."""
LIVES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys((INVALIDATION, NOC, ADAPTIVE), (0.15, 0.25, 0.4, 0.6, 0.85)),
    RAID: (0.25, 0.4, 0.55, 0.7, 0.85),
}
"""Shares of the flash that hold live pages, in both maps; spare is the rest."""
LOADS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys((INVALIDATION, NOC, ADAPTIVE), (0.02, 0.05, 0.1, 0.2, 0.4, 0.6)),
    RAID: (0.0001, 0.001, 0.01, 0.03, 0.1, 0.3),
}
"""Loads of Poisson arrivals. The volumes of deferred-gc-raid load its 64 chips very little."""
BURSTS: tuple[float, ...] = (1, 16, 128, 1024, 8192)
"""Requests of a burst."""
BURST_LOAD = {INVALIDATION: 0.1, NOC: 0.1, ADAPTIVE: 0.1, RAID: 0.03}
BURST_RATE = 4
QUICK_LIVES, QUICK_LOADS, QUICK_BURSTS = slice(1, 4, 2), slice(0, 4, 3), slice(0, 4, 2)

REQUESTS: Keys = {
    "host.mode": "open",
    "workload.kind": "zipf",
    "workload.theta": 0.99,
    "workload.size": "4 KiB",
    "workload.read": 0.3,
    "precondition.fill": 1.0,
    "metrics.interval": "0 s",
}
READS = 0.3
PROGRAMMED, WARMUP = 1.25, 0.6
"""How often the requests of the host, with parity, program the flash, and the share of them that is
left out: by then collection has begun at every live share."""
SEEDS = (1, 2)
"""Requests and page errors differ between them, not between the two lines."""
BAND = scoring.BAND
"""A cell is better if its gain exceeds this with every seed, worse if it is below the inverse with
every seed, and no change otherwise."""
SUSTAINED = 1.05
"""A line does not sustain a load if it needs this many times the time of the arrivals."""
TAILS = {INVALIDATION: "longest", NOC: "longest", ADAPTIVE: "longest", RAID: "p99"}
"""What the papers report besides means, of reads and writes together here."""
QUICK = "Quick: half of the blocks, two values of each axis."


class Place(NamedTuple):
    """One run."""

    paper: str
    axis: str
    """`LOAD` or `BURST`."""
    at: float
    """The load, or the requests of a burst."""
    live: float
    line: str
    seed: int


MODULES: dict[str, ModuleType] = {
    INVALIDATION: invalidation_rate,
    NOC: noc_copyback,
    ADAPTIVE: adaptive_channel,
    RAID: deferred_gc_raid,
}
"""Where the papers are described."""
SCHEMES = {
    paper: {
        scheme.name: scheme
        for scheme in module.schemes(Scale(False, DIVISORS[paper]))
        if scheme.name in LINES[paper]
    }
    for paper, module in MODULES.items()
}
"""The lines of the papers, whose user capacity is that of the place."""
UPDATE_US = 2 * (25 + 200)
"""Time of chips that the write of a page takes in a parity group."""


def flash_of(paper: str) -> Flash:
    """The flash of a paper's own device."""
    flash: Flash = MODULES[paper].FLASH
    return flash


def write_us(paper: str) -> float:
    """Time of a busy unit, or of several, that a page written by the host needs."""
    return UPDATE_US if paper == RAID else flash_of(paper).write_us


def interval_us(paper: str, load: float) -> float:
    """Mean time between requests at a load."""
    flash = flash_of(paper)
    return (READS * flash.read_us + (1 - READS) * write_us(paper)) / (flash.units * load)


def load_of(place: Place) -> float:
    """The mean load at a place."""
    return place.at if place.axis == LOAD else BURST_LOAD[place.paper]


def raw_pages(paper: str, quick: bool) -> int:
    """Pages of the flash."""
    flash = flash_of(paper)
    blocks = flash.blocks // DIVISORS[paper] // (QUICK_DIVISOR if quick else 1)
    return flash.planes * blocks * flash.pages


def requests_of(paper: str, quick: bool) -> int:
    """Requests of a run."""
    programs = 2 if paper == RAID else 1
    return round(PROGRAMMED * raw_pages(paper, quick) / programs / (1 - READS))


def scheme_of(place: Place, quick: bool) -> Scheme:
    """The device of a place."""
    divisor = DIVISORS[place.paper] * (QUICK_DIVISOR if quick else 1)
    schemes = MODULES[place.paper].schemes(Scale(quick=quick, divide_by=divisor))
    scheme = next(scheme for scheme in schemes if scheme.name == place.line)
    group = deferred_gc_raid.GROUP
    of_data = (group - 1) / group if place.paper == RAID else 1.0
    user = round(place.live * of_data * raw_pages(place.paper, quick))
    keys = {**scheme.keys, "device.user_capacity": f"{4 * user} KiB"}
    return Scheme(scheme.name, scheme.preset, keys)


def workload_of(place: Place, quick: bool) -> Workload:
    """The requests of a place."""
    mean = interval_us(place.paper, load_of(place))
    arrival: Keys = {"kind": "poisson", "interval": f"{round(1000 * mean)} ns"}
    if place.axis == BURST:
        within = interval_us(place.paper, BURST_RATE)
        pause = (mean - within) * place.at
        arrival = {
            "kind": "bursty",
            "interval": f"{round(1000 * within)} ns",
            "burst": round(place.at),
            "pause": f"{round(1000 * pause)} ns",
        }
    keys = {
        **REQUESTS,
        "workload.requests": requests_of(place.paper, quick),
        "workload.warmup_share": WARMUP,
        "workload.arrival": arrival,
    }
    title = f"{place.paper}, {place.axis} {place.at:g}, {100 * place.live:g} % live"
    return Workload(title, "synthetic", keys)


def values(paper: str, axis: str, quick: bool) -> tuple[float, ...]:
    """The columns of a map."""
    if axis == LOAD:
        return LOADS[paper][QUICK_LOADS] if quick else LOADS[paper]
    return BURSTS[QUICK_BURSTS] if quick else BURSTS


def lives(paper: str, quick: bool) -> tuple[float, ...]:
    """The rows of both maps."""
    return LIVES[paper][QUICK_LIVES] if quick else LIVES[paper]


def places(quick: bool) -> Iterator[Place]:
    """All runs."""
    for paper in PAPERS:
        for axis in AXES:
            for at in values(paper, axis, quick):
                for live in lives(paper, quick):
                    for line in LINES[paper]:
                        yield from (Place(paper, axis, at, live, line, seed) for seed in SEEDS)
