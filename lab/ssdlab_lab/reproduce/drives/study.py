"""The runs that are compared with what was published of named drives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ssdlab.config.resolve import whole_word_lines, with_blocks_of
from ssdlab.drives.measurements import RANKS, UNIFORM, ZIPF, ZONES, Load, knee_of
from ssdlab_lab.reproduce.drives import choices, sustained, writes
from ssdlab_lab.reproduce.drives.known import Drive, drives
from ssdlab_lab.reproduce.matrix import Cell, Scheme, Workload
from ssdlab_lab.reproduce.study import Study

Keys: TypeAlias = dict[str, object]
Place: TypeAlias = tuple[str, str, float]
"""Drive, kind of run, and where: fill, skew, active zones or requests a second."""

FULL, LOAD = "full size", "load"
PAGE_BYTES = 4096
NO_TIME: Keys = {"run.mode": "functional", "metrics.interval": "0 s"}
FILLED: Keys = {"precondition.steady_state": "none", "precondition.fill": 1.0}


@dataclass(frozen=True)
class Drives(Study[Place]):
    """What came out, by place."""

    of: Mapping[str, Drive] = field(default_factory=drives)
    """The drives by name."""

    name = choices.NAME
    smaller = (
        "Quick: drives without time at a fourth of their size, few loads, no run at full size."
    )

    def waf(self, place: Place) -> float | None:
        """Write amplification of a run."""
        report = self.reports.get(place)
        return None if report is None else report.waf.total

    def loads(self, drive: Drive) -> list[Load]:
        """The loads that were run, in order."""
        loads = []
        for rate in rates(drive, self.quick):
            report = self.reports.get((drive.name, LOAD, rate))
            latency = None if report is None else report.latency.write
            if latency is not None and latency.p50 is not None and latency.p99 is not None:
                loads.append(Load(rate, float(latency.p50), float(latency.p99)))
        return loads

    def course(self, drive: Drive) -> sustained.Course | None:
        """The simulated sustained write; None if there is none."""
        report = self.reports.get((drive.name, sustained.NAME, 1.0))
        return None if report is None else sustained.course(drive, report)

    def knee(self, drive: Drive) -> tuple[float, float] | None:
        """The simulated knee, as `knee_of` says; None if loads are missing."""
        loads = self.loads(drive)
        is_complete = not self.quick and len(loads) == len(rates(drive, False))
        return knee_of(loads) if is_complete else None


def rates(drive: Drive, quick: bool) -> list[float]:
    """The loads to run for a drive: around its knee, and the measured loads below it."""
    rates_below = [load.rate for load in drive.measured.below_knee]
    if quick or drive.knee is None:
        return sorted({*rates_below, *([drive.loads[-1].rate] if drive.loads else [])})
    middle, steps = drive.knee[0], choices.AROUND
    low, high = (middle * (1 + steps[end] / 100) for end in (0, -1))
    if drive.busy is not None and not low < drive.busy < high:
        middle, steps = drive.busy, tuple(choices.AROUND_BUSY)
    rates_around = [middle * (1 + step / 100) for step in steps]
    return sorted({*rates_below, *(round(rate, -2) for rate in rates_around)})


def smaller(drive: Drive, quick: bool) -> Keys:
    """The drive without time."""
    pages = whole_word_lines(drive.config["device.pages_per_block"] // 4, drive.config)
    return {**choices.SMALL, **({"device.pages_per_block": pages} if quick else {})}


def small_pages(drive: Drive, quick: bool, spare: float) -> int:
    """User pages of that drive."""
    shape = drive.shape
    planes = drive.config["device.planes_per_chip"]
    raw = shape.units * shape.pages * 4 // planes // (4 if quick else 1)
    return int(raw / (1 + spare))


def share(drive: Drive, quick: bool) -> float:
    """Of the drive, which that without time is."""
    user_pages = float(drive.config["device.user_pages"])
    return small_pages(drive, quick, drive.over_provisioning) / user_pages


def places(drives_by_name: Mapping[str, Drive], quick: bool) -> Iterator[Place]:
    """All runs."""
    for name, drive in drives_by_name.items():
        yield from ((name, point.workload, point.at) for point in drive.measured.wafs)
        yield from ((name, LOAD, rate) for rate in rates(drive, quick))
        if drive.measured.sustained:
            yield (name, sustained.NAME, 1.0)
    if not quick and choices.FULL in drives_by_name:
        yield (choices.FULL, FULL, 1.0)


def cell_of(drive: Drive, place: Place, quick: bool, folder: Path) -> Cell:
    """The run of a place."""
    name, kind, parameter = place
    title = f"{kind} {parameter:g}"
    if kind == LOAD:
        keys, work = timed(drive, parameter, quick)
    elif kind == sustained.NAME:
        keys, work = sustained.keys(drive, quick)
    elif kind == FULL:
        keys, work = NO_TIME, lengths(drive.config["device.user_pages"], choices.FULL_WRITES)
    else:
        spare = drive.spare_at(parameter) if kind == UNIFORM else drive.over_provisioning
        is_small = quick or kind == RANKS
        keys = {**NO_TIME, **FILLED, **smaller(drive, is_small), "device.over_provisioning": spare}
        if kind in (ZONES, RANKS):
            work = trace_keys(drive, place, quick, folder)
        else:
            work = lengths(small_pages(drive, quick, spare), None)
        if kind == ZIPF:
            work |= {"workload.kind": "zipf", "workload.theta": parameter}
    return Cell(Workload(title, "synthetic", work), Scheme(name, name, keys), choices.SEED)


def lengths(pages: int, times: float | None) -> Keys:
    """Writes before the measurement and in it, the same with `times`."""
    warmup, measured = (choices.BEFORE, choices.MEASURED) if times is None else (times, times)
    return {
        "workload.warmup_requests": int(warmup * pages),
        "workload.requests": int((warmup + measured) * pages),
    }


def timed(drive: Drive, rate: float, quick: bool) -> tuple[Keys, Keys]:
    """Device and requests of a load."""
    scale = choices.QUICK_SCALE if quick else choices.SCALE
    pages = whole_word_lines(drive.config["device.pages_per_block"] // scale, drive.config)
    warmup, measured = choices.SECONDS_BEFORE, choices.SECONDS
    device: Keys = {
        **with_blocks_of(pages, drive.config),
        "precondition.overwrite": choices.SETTLED,
        "metrics.interval": "0 s",
    }
    return device, {
        "host.mode": "open",
        "workload.read": choices.READS,
        "workload.arrival": {"kind": "poisson", "rate": f"{rate:.15g} per s"},
        "workload.warmup_requests": round(rate * warmup),
        "workload.requests": round(rate * (warmup + measured)),
    }


def trace_file(drive: Drive, place: Place, folder: Path) -> Path:
    """Where the writes of a place lie that no synthetic workload has."""
    _, kind, parameter = place
    words = f"{drive.config.name} {kind} {parameter:g}"
    return folder / "traces" / f"{words.replace(' ', '-')}.{writes.FORMAT}.gz"


def parts_of(drive: Drive, place: Place, quick: bool) -> tuple[int, int]:
    """Size of the writes of a place, and how many of them are the drive."""
    ranks = place[1] == RANKS
    pages = small_pages(drive, quick or ranks, drive.over_provisioning)
    size = PAGE_BYTES if ranks else choices.PART_BYTES
    return size, pages * PAGE_BYTES // size


def trace_keys(drive: Drive, place: Place, quick: bool, folder: Path) -> Keys:
    """The writes of such a place."""
    return {
        "workload.trace": str(trace_file(drive, place, folder)),
        "workload.format": writes.FORMAT,
        "workload.warmup_requests": choices.BEFORE * parts_of(drive, place, quick)[1],
    }


def write_traces(drives_by_name: Mapping[str, Drive], quick: bool, folder: Path) -> None:
    """Write the traces that are missing."""
    for place in places(drives_by_name, quick):
        name, kind, parameter = place
        drive = drives_by_name[name]
        file = trace_file(drive, place, folder)
        if kind not in (ZONES, RANKS) or file.exists():
            continue
        size, parts = parts_of(drive, place, quick)
        count = (choices.BEFORE + choices.MEASURED) * parts
        if kind == RANKS:
            positions = writes.by_rank(parameter, parts, count, choices.SEED)
        else:
            length = round(choices.ZONE_BYTES * share(drive, quick) / size)
            positions = writes.parts(int(parameter), parts // length, length, count, choices.SEED)
        writes.write(file, positions, size)
