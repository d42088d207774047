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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from ssdlab.oracles.separated import best_split, zipf_rates
from ssdlab.reproduce.matrix import Scheme, Workload

PRESET = "greedy-8ch"
BLOCKS, QUICK_BLOCKS, PAGES = 1024, 128, 256
SEEDS, QUICK_SEEDS = (1, 2, 3), (1, 2)
BEFORE, MEASURED = 4, 2
"""Times the user pages that are written before the measurement, and in it."""
QUICK = (
    f"Quick: {QUICK_BLOCKS} blocks instead of {BLOCKS:,}, {len(QUICK_SEEDS)} seeds, the future with"
    " six classes only."
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
REAL = tuple(line for line in LINES if line not in (FUTURE, BOUND))
"""Those that a controller could follow."""
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


class Place(NamedTuple):
    """Where a number comes from, without the seed."""

    workload: str
    victims: str
    spare: float
    line: str
    device: str = ""
    """Another one than usual: of a cell of a public simulator."""


class Published(NamedTuple):
    """A result of a public simulator."""

    waf: float
    simulator: str


OPENED, LARGE = "with open blocks", "2,048 blocks of 2,048 pages"
"""The device with as many blocks more as its classes have open, and that kept erased; and that of
a public simulator."""
LONGER = "blocks of 512 pages, 3 of them left out"
"""That of MiDAS's simulator, which keeps four erased; open ones are part of the space."""
FILLED = 1 / 0.875 - 1
SEPBIT, SSD_IQ = "SepBIT trace_replay, 1e4b664", "SSD-iq, 9aae7a3"
MIDAS = "MiDAS-Simulation, a226265"
CELLS: dict[Place, Published] = {
    **{
        Place("Zipf 0.99", "greedy", USUAL, line, OPENED): Published(waf, SEPBIT)
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
    Place("Zipf 0.99", "greedy", USUAL, CHAIN, LONGER): Published(2.552, MIDAS),
    Place("Zipf 0.99", "cost-benefit", USUAL, CHAIN, LONGER): Published(2.553, MIDAS),
    Place("Zipf 0.99", "greedy", USUAL, REGIONS, OPENED): Published(4.537, SSD_IQ),
    Place("Zipf 0.99", "second-chance", USUAL, ANY, OPENED): Published(3.391, SSD_IQ),
    Place("hot/cold 90/10", "greedy", FILLED, ONE, LARGE): Published(5.112, SSD_IQ),
    Place("hot/cold 90/10", "greedy", FILLED, REGIONS, LARGE): Published(4.440, SSD_IQ),
    Place("hot/cold 90/10", "second-chance", FILLED, ANY, LARGE): Published(2.505, SSD_IQ),
}
"""Run once from the public source, with 1,024 segments of 256 pages whose open segments are not
part of the space, and of MiDAS of 512; those of the large
device as published."""
OPTIMAL = ("hot/cold 90/10", FILLED, 1.985)
"""Published by SSD-iq as optimal, from a closed form."""
CLASSES = {ONE: 1, APART: 2, REGIONS: 2, ANY: 2}
"""Open blocks of a pool; others have six."""


def seeds(quick: bool) -> tuple[int, ...]:
    """Of the repetitions."""
    return QUICK_SEEDS if quick else SEEDS


def lines(quick: bool) -> tuple[str, ...]:
    """Those that are run: a small device cannot hold 10 or 24 blocks open."""
    return tuple(line for line in LINES if not (quick and line in (BOUND, CHAIN)))


def mark(quick: bool) -> str:
    """The line by which the others are measured."""
    return FUTURE if quick else BOUND


def shape(place: Place, quick: bool) -> tuple[int, int]:
    """Blocks of the device of a place, and pages of each."""
    if quick:
        return QUICK_BLOCKS, PAGES
    known = {LARGE: (2048, 2048), LONGER: (BLOCKS, 2 * PAGES)}
    return known.get(place.device, (BLOCKS, PAGES))


def user_pages(place: Place, quick: bool) -> int:
    """Pages that the host sees."""
    blocks, pages = shape(place, quick)
    return int(blocks * pages / (1 + place.spare))


def scheme_of(place: Place, quick: bool) -> Scheme:
    """The device of a place."""
    blocks, pages = shape(place, quick)
    extra = {OPENED: 1 + CLASSES.get(place.line, 6) // 2, LONGER: -3}.get(place.device, 0)
    keys: Keys = {
        "run.mode": "functional",
        "device.channels": 1,
        "device.chips_per_channel": 1,
        "device.planes_per_chip": 1,
        "device.blocks_per_plane": blocks + extra,
        "device.pages_per_block": pages,
        "device.page_size": "4 KiB",
        "device.user_capacity": f"{4 * user_pages(place, quick)} KiB",
        "gc.victim": place.victims,
        "gc.trigger": {"policy": "free-blocks", "soft": 1, "hard": 0},
        "gc.reserve": 1,
        "precondition.fill": 1.0,
        **LINES[place.line],
    }
    device = f", {place.device}" if place.device else ""
    name = f"{place.line}{device}, {place.victims}, {100 * place.spare:g} %"
    return Scheme(name, PRESET, keys)


def workload_of(place: Place, quick: bool) -> Workload:
    """The writes of a place."""
    pages = user_pages(place, quick)
    keys = {
        **WORKLOADS[place.workload],
        "workload.read": 0.0,
        "workload.size": "4 KiB",
        "workload.requests": (BEFORE + MEASURED) * pages,
        "workload.warmup_requests": BEFORE * pages,
    }
    return Workload(f"{place.workload}, {100 * place.spare:g} %", "synthetic", keys)


def places(quick: bool) -> Iterator[Place]:
    """All runs of one seed."""
    for workload in WORKLOADS:
        for victims in VICTIMS:
            for spare in SPARES:
                yield from (Place(workload, victims, spare, line) for line in lines(quick))
    yield from CELLS


def closed_form(workload: str, spare: float) -> float:
    """With a pool for each rate of the workload, infinitely many blocks, and the best split."""
    if workload in HOT:
        share = HOT[workload] / 100
        return best_split([share, 1 - share], [1 - share, share], 1 + spare)
    pages = int(BLOCKS * PAGES / (1 + spare))
    return best_split(*zipf_rates(pages, THETAS.get(workload, 0.0)), 1 + spare)
