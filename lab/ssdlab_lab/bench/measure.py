"""One case in one process: speed, memory, answer."""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ssdlab import _core

from .cases import CASES, Case, toml


@dataclass(frozen=True)
class Figures:
    """The results of one run of a case."""

    writes_per_cpu_s: float
    """Host writes per second of processor time, in the measured part."""
    wall_s: float
    """Wall time of the whole run, including preconditioning."""
    build_cpu_s: float
    """Processor time of preconditioning."""
    flash_ops_per_cpu_s: float
    amplification: float
    bytes_per_page: float
    """Bytes per physical page, as the simulator counts."""
    rss_bytes_per_page: float
    """Growth of the process per physical page."""
    peak_rss_bytes: int
    programs: int
    """Pages programmed in the measured part."""
    erases: int
    digest: str | None
    """Digest of all events; None without time."""

    def as_json(self) -> str:
        """Return one line."""
        return json.dumps(asdict(self))


def measure(case: Case) -> Figures:
    """Run the case in this process; raise `RuntimeError` if it does not reach its end."""
    config = _core.load(sets=[(key, toml(value)) for key, value in case.settings().items()])
    clock: list[tuple[int, int]] = []

    def progress(stage: str, completed: int, total: int | None) -> None:
        del total
        if stage == "workload":
            clock.append((completed, time.process_time_ns()))

    rss_before = _peak_rss()
    start, started_cpu = time.perf_counter(), time.process_time()
    finished = _core.run(config, progress=progress)
    wall, cpu = time.perf_counter() - start, time.process_time() - started_cpu
    if finished.ending != "completed":
        message = f"{case.name}: {finished.ending}: {finished.message}"
        raise RuntimeError(message)
    report = json.loads(finished.report)
    seconds = report["time"]["cpu"] * 1e-9
    writes = float(case.writes)
    if case.warmup:
        (first, start_ns), (last, end_ns) = next(c for c in clock if c[0] >= case.warmup), clock[-1]
        writes, seconds = float(last - first), (end_ns - start_ns) * 1e-9
    flash = report["flash"]
    programs = sum(flash["programs"].values())
    operations = programs + sum(flash["reads"].values()) + flash["erases"]
    measured = report["host"]["pages_written"]
    return Figures(
        writes_per_cpu_s=writes / seconds,
        wall_s=wall,
        build_cpu_s=cpu - report["time"]["cpu"] * 1e-9,
        flash_ops_per_cpu_s=operations / measured * writes / seconds,
        amplification=report["waf"]["total"],
        bytes_per_page=report["speed"]["bytes_per_page"],
        rss_bytes_per_page=(_peak_rss() - rss_before) / case.physical,
        peak_rss_bytes=_peak_rss(),
        programs=programs,
        erases=flash["erases"],
        digest=report["provenance"]["event_digest"],
    )


RESERVE = 2
"""Erased blocks at which collection goes before the host: the default."""


def expected_amplification(case: Case) -> tuple[float, float]:
    """Return bounds of WA, known without the timed machine, with 1.5 % on either side.

    With the host first, collection lags: it continues between `soft` and the reserve, so WA lies
    between what either gives without time. In a steady state that is the closed form; otherwise
    (the device was empty) the functional executor, which shares no event with the timed one.
    """
    if case.overwrite is not None:
        values = [case.mean_field(soft) for soft in (RESERVE, case.soft)]
    else:
        values = [
            measure(replace(case, functional=True, soft=soft)).amplification
            for soft in (RESERVE, case.soft)
        ]
    return 0.985 * min(values), 1.015 * max(values)


def _peak_rss() -> int:
    """Return the peak memory of this program, in bytes."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    # Elsewhere; on Linux it would count what ran in this process before.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    [name] = sys.argv[1:]
    sys.stdout.write(measure(next(case for case in CASES if case.name == name)).as_json() + "\n")
