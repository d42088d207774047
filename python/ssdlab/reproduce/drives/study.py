"""The runs that are compared with what was published of named drives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from ssdlab.reproduce.drives import choices, zones
from ssdlab.reproduce.drives.known import Drive, Load, drives, knee_of
from ssdlab.reproduce.matrix import Cell, Scheme, Workload
from ssdlab.reproduce.study import Study

Keys: TypeAlias = dict[str, object]
Place: TypeAlias = tuple[str, str, float]
"""Drive, kind of run, and where: used GiB, skew, active zones or requests a second."""

UNIFORM, ZIPF, ZONES, FULL, LOAD = "uniform", "zipf", "zones", "full size", "load"
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
        yield from ((name, ZIPF, theta) for theta in {theta for theta, _, _ in drive.zipf})
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
        pages = small_pages(drive, quick, spare)
        keys = {**NO_TIME, **FILLED, **smaller(drive, quick), "device.over_provisioning": spare}
        work = lengths(pages, None)
        if kind == ZIPF:
            work |= {"workload.kind": "zipf", "workload.theta": at}
        if kind == ZONES:
            work = trace_keys(drive, int(at), quick, folder)
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
    scale = choices.QUICK_SCALE if quick else choices.TIMED_SCALE
    pages = drive.config["device.pages_per_block"] // scale
    before, measured = choices.SECONDS_BEFORE, choices.SECONDS
    device: Keys = {
        "device.pages_per_block": pages,
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


def trace_file(drive: Drive, active: int, folder: Path) -> Path:
    """Where the writes to zones lie."""
    return folder / "traces" / f"{drive.config.name}-{active}.{zones.FORMAT}.gz"


def part_counts(drive: Drive, quick: bool) -> tuple[int, int, int]:
    """Zones, parts of a zone, and parts of the drive without time."""
    pages = small_pages(drive, quick, drive.over_provisioning)
    of_zone = choices.ZONE_BYTES * share(drive, quick) / choices.PART_BYTES
    length = round(of_zone)
    parts = pages * 4096 // choices.PART_BYTES
    return parts // length, length, parts


def trace_keys(drive: Drive, active: int, quick: bool, folder: Path) -> Keys:
    """The writes to zones."""
    _, _, parts = part_counts(drive, quick)
    return {
        "workload.trace": str(trace_file(drive, active, folder)),
        "workload.format": zones.FORMAT,
        "workload.warmup_requests": choices.BEFORE * parts,
    }


def write_traces(quick: bool, folder: Path) -> None:
    """Write the traces that are missing."""
    for drive in drives().values():
        for active in drive.zones:
            file = trace_file(drive, active, folder)
            if not file.exists():
                count, length, parts = part_counts(drive, quick)
                writes = (choices.BEFORE + choices.MEASURED) * parts
                zones.write(file, zones.parts(active, count, length, writes, choices.SEED))
