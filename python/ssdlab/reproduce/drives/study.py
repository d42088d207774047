"""The runs that are compared with what was published of named drives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from ssdlab.config.resolve import with_blocks_of
from ssdlab.reproduce.drives import choices, writes
from ssdlab.reproduce.drives.known import Drive, Load, drives, knee_of
from ssdlab.reproduce.matrix import Cell, Scheme, Workload
from ssdlab.reproduce.study import Study

Keys: TypeAlias = dict[str, object]
Place: TypeAlias = tuple[str, str, float]
"""Drive, kind of run, and where: used GiB, skew, active zones or requests a second."""

UNIFORM, ZIPF, RANKS, ZONES = "uniform", "zipf", "zipf by rank", "zones"
FULL, LOAD = "full size", "load"
ORDERS = {"shuffled": ZIPF, "by rank": RANKS}
"""Of the addresses of a Zipf workload, as `[published]` calls them."""
PAGE_BYTES = 4096
NO_TIME: Keys = {
    "run.mode": "functional",
    "host.link_rate": "unlimited",
    "host.write_buffer_pages": 0,
    "metrics.interval": "0 s",
}
FILLED: Keys = {"precondition.steady_state": "none", "precondition.fill": 1.0}


class Drives(Study[Place]):
    """What came out, by place."""

    name = choices.NAME
    smaller = (
        f"Quick: drives without time at a fourth of their size, {len(choices.QUICK_LOADS)} loads,"
        " no run at full size."
    )

    def waf(self, place: Place) -> float | None:
        """Write amplification of a run."""
        report = self.reports.get(place)
        return None if report is None else report.waf.total

    def loads(self, drive: str) -> list[Load]:
        """The loads that were run, in order."""
        rates = choices.QUICK_LOADS if self.quick else choices.LOADS
        found = []
        for rate in rates:
            report = self.reports.get((drive, LOAD, rate))
            latency = None if report is None else report.latency.write
            if latency is not None and latency.p50 is not None and latency.p99 is not None:
                found.append(Load(rate, float(latency.p50), float(latency.p99)))
        return found

    def knee(self, drive: str) -> tuple[float, float] | None:
        """The simulated knee, as `knee_of` says; None if loads are missing."""
        loads = self.loads(drive)
        whole = len(loads) == len(choices.LOADS)
        return knee_of(loads) if whole else None


def smaller(drive: Drive, quick: bool) -> Keys:
    """The drive without time."""
    pages = drive.config["device.pages_per_block"]
    return {**choices.SMALL, **({"device.pages_per_block": pages // 4} if quick else {})}


def small_pages(drive: Drive, quick: bool, spare: float) -> int:
    """User pages of that drive."""
    shape = drive.shape
    planes = drive.config["device.planes_per_chip"]
    raw = shape.units * shape.pages * 4 // planes // (4 if quick else 1)
    return int(raw / (1 + spare))


def share(drive: Drive, quick: bool) -> float:
    """Of the drive, which that without time is."""
    whole = float(drive.config["device.user_pages"])
    return small_pages(drive, quick, drive.over_provisioning) / whole


def places(quick: bool) -> Iterator[Place]:
    """All runs."""
    for name, drive in drives().items():
        yield from ((name, UNIFORM, at) for at in drive.uniform)
        yield from ((name, ORDERS[order], theta) for theta, order, _ in drive.zipf)
        yield from ((name, ZONES, active) for active in drive.zones)
        if drive.loads:
            rates = choices.QUICK_LOADS if quick else choices.LOADS
            yield from ((name, LOAD, rate) for rate in rates)
    if not quick:
        yield (choices.FULL, FULL, int(drives()[choices.FULL].user_gib))


def cell_of(place: Place, quick: bool, folder: Path) -> Cell:
    """The run of a place."""
    name, kind, at = place
    drive = drives()[name]
    title = f"{kind} {at:g}"
    if kind == LOAD:
        keys, work = timed(drive, int(at), quick)
    elif kind == FULL:
        keys, work = NO_TIME, lengths(drive.config["device.user_pages"], choices.FULL_WRITES)
    else:
        spare = drive.spare_at(at) if kind == UNIFORM else drive.over_provisioning
        little = quick or kind == RANKS
        keys = {**NO_TIME, **FILLED, **smaller(drive, little), "device.over_provisioning": spare}
        if kind in (ZONES, RANKS):
            work = trace_keys(place, quick, folder)
        else:
            work = lengths(small_pages(drive, quick, spare), None)
        if kind == ZIPF:
            work |= {"workload.kind": "zipf", "workload.theta": at}
    return Cell(Workload(title, "synthetic", work), Scheme(name, name, keys), choices.SEED)


def lengths(pages: int, times: float | None) -> Keys:
    """Writes before the measurement and in it, the same with `times`."""
    before, measured = (choices.BEFORE, choices.MEASURED) if times is None else (times, times)
    return {
        "workload.warmup_requests": int(before * pages),
        "workload.requests": int((before + measured) * pages),
    }


def timed(drive: Drive, rate: int, quick: bool) -> tuple[Keys, Keys]:
    """Device and requests of a load."""
    scale = choices.QUICK_SCALE if quick else choices.SCALE
    pages = drive.config["device.pages_per_block"] // scale
    before, measured = choices.SECONDS_BEFORE, choices.SECONDS
    device: Keys = {
        **with_blocks_of(pages, drive.config),
        "precondition.overwrite": choices.SETTLED,
        "metrics.interval": "0 s",
    }
    return device, {
        "host.mode": "open",
        "workload.read": choices.READS,
        "workload.arrival": {"kind": "poisson", "rate": f"{rate} per s"},
        "workload.warmup_requests": rate * before,
        "workload.requests": rate * (before + measured),
    }


def trace_file(place: Place, folder: Path) -> Path:
    """Where the writes of a place lie that no synthetic workload has."""
    name, kind, at = place
    words = f"{drives()[name].config.name} {kind} {at:g}"
    return folder / "traces" / f"{words.replace(' ', '-')}.{writes.FORMAT}.gz"


def parts_of(place: Place, quick: bool) -> tuple[int, int]:
    """Size of the writes of a place, and how many of them are the drive."""
    drive, ranks = drives()[place[0]], place[1] == RANKS
    pages = small_pages(drive, quick or ranks, drive.over_provisioning)
    size = PAGE_BYTES if ranks else choices.PART_BYTES
    return size, pages * PAGE_BYTES // size


def trace_keys(place: Place, quick: bool, folder: Path) -> Keys:
    """The writes of such a place."""
    return {
        "workload.trace": str(trace_file(place, folder)),
        "workload.format": writes.FORMAT,
        "workload.warmup_requests": choices.BEFORE * parts_of(place, quick)[1],
    }


def write_traces(quick: bool, folder: Path) -> None:
    """Write the traces that are missing."""
    for place in places(quick):
        name, kind, at = place
        file = trace_file(place, folder)
        if kind not in (ZONES, RANKS) or file.exists():
            continue
        size, parts = parts_of(place, quick)
        count = (choices.BEFORE + choices.MEASURED) * parts
        if kind == RANKS:
            which = writes.by_rank(at, parts, count, choices.SEED)
        else:
            length = round(choices.ZONE_BYTES * share(drives()[name], quick) / size)
            which = writes.parts(int(at), parts // length, length, count, choices.SEED)
        writes.write(file, which, size)
