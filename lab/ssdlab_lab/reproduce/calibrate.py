"""`python -m ssdlab_lab.reproduce.calibrate PAPER`: fix synthetic requests before any result.

Two steps, neither of which involves the proposed scheme:

1. *Lifetimes*, which `lifetimes` has fitted once for all papers of the group.
2. *Arrivals*, by runs of the paper's baseline: the mean time between requests so that its mean
   write latency is the published one, for each size of the device and each reading of the paper on
   its own baseline; and the length of surges so that its longest is, on the small device. Under the
   other readings the longest latency is not fitted, so it tells them apart.

Entries of the file for the same version and baseline are kept, so that a reading can be added. The
results go into `calibration.json` in the folder of the paper. An interrupted calibration is resumed
by the same command and writes the same file.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab import _core
from ssdlab.errors import ConfigError
from ssdlab.results import outputs
from ssdlab_lab.reproduce.calibration import (
    AS_RUN,
    Arrivals,
    Calibration,
    Entry,
    Lifetimes,
    arrivals,
    device_of,
    entry_name,
    file_of,
    parsed,
)
from ssdlab_lab.reproduce.command import paper_of
from ssdlab_lab.reproduce.lifetimes import lifetimes_of
from ssdlab_lab.reproduce.matrix import Cell, Scheme
from ssdlab_lab.reproduce.paper import Flash, Scale, calibrated
from ssdlab_lab.reproduce.papers import READINGS
from ssdlab_lab.reproduce.readings import Reading, Readings, baseline_of, lives_of, read_so

TRIALS, CYCLES_TRIED = 8, 5
"""Most intervals tried per cycle, and most cycles."""
NEAR_MEAN, NEAR_LONGEST = 0.03, 0.25
"""How close is close enough."""
FARTHEST = 5.0
"""A step changes the cycle by at most this factor."""
LEAST_CYCLE, CYCLES = 128, 32
"""Requests of the shortest cycle, and how many cycles a run has at least: with fewer, seeds differ
too much."""
SEEDS = (1, 2)
"""Number of runs whose latencies are averaged."""
FIRST_CYCLE = 1024
FIRST_LOAD = 0.3
"""Share of the time for which the host keeps the busy units busy in the first trial."""
STEADY = ("SQLite", "Varmail")
"""Their requests arrive evenly, without surges."""

MeasuredShares = tuple[float, float]
"""Mean and longest write latency, ms."""
TriedPoints = dict[tuple[int, float], MeasuredShares]


class Progress:
    """What has been found so far, in a file."""

    def __init__(self, file: Path, date: str) -> None:
        self.file = file
        try:
            self.values: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.values = {"date": date, "ssdlab": _core.__version__, "found": {}}
        if self.values.get("ssdlab") != _core.__version__:
            raise ConfigError([f"{file}: begun by another version of ssdlab; delete it"])

    def once(self, key: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - JSON
        """The result of `make`, unless it is already known."""
        results = self.values["found"]
        if key not in results:
            results[key] = json.loads(json.dumps(make()))
            text = json.dumps(self.values, indent=1) + "\n"
            outputs.write_all({self.file: outputs.text(text)}, force=True)
            print(f"  {key}: {results[key]}", file=sys.stderr, flush=True)
        return results[key]


def first_interval_us(name: str, set_: str, flash: Flash) -> float:
    """The interval at which the host's pages take `FIRST_LOAD` of the time of the busy units."""
    ops = json.loads(_core.application(name.lower(), set_))["ops"]
    costs = zip(ops, (flash.read_us, flash.write_us), strict=False)
    busy = sum(op["share"] * op["bytes"] / flash.page_bytes * us for op, us in costs)
    return float(busy / flash.units / FIRST_LOAD)


def search(
    run: Callable[[int, float], MeasuredShares],
    first: tuple[int, float],
    targets: tuple[float, float | None],
    floor_ms: float,
    longest_cycle: int | None,
) -> tuple[int, float, MeasuredShares]:
    """Cycle and interval with those latencies, or the nearest; `floor_ms`: of an idle device.

    `longest_cycle`: requests of the longest cycle that may be tried; None if there are no surges.
    For each cycle the interval with the published mean is searched; then the cycle is changed in
    proportion to the deviation of the longest latency.
    """
    cycle, us = first
    trials: TriedPoints = {}
    for _ in range(CYCLES_TRIED):
        us = _interval(run, trials, cycle, us, targets[0], floor_ms)
        ratio = trials[(cycle, us)][1] / targets[1] if targets[1] and longest_cycle else 1.0
        if abs(math.log(ratio)) < math.log(1 + NEAR_LONGEST):
            break
        step = min(max(1 / ratio, 1 / FARTHEST), FARTHEST)
        cycle = max(min(round(cycle * step), longest_cycle or cycle), LEAST_CYCLE)
        if any(cycle == trial_cycle for trial_cycle, _ in trials):
            break

    def distance(measured: MeasuredShares) -> float:
        distance = 4.0 * abs(math.log(measured[0] / targets[0]))
        return distance + (
            abs(math.log(measured[1] / targets[1])) if targets[1] and longest_cycle else 0.0
        )

    (cycle, us), measured = min(trials.items(), key=lambda trial: distance(trial[1]))
    return cycle, us, measured


def _interval(
    run: Callable[[int, float], MeasuredShares],
    trials: TriedPoints,
    cycle: int,
    us: float,
    wanted_ms: float,
    floor_ms: float,
) -> float:
    """The interval at which the mean is nearest, of those tried at this cycle.

    The excess over the floor falls with the interval: the interval is bracketed, then interpolated
    between logarithms.
    """

    def excess(mean_ms: float) -> float:
        return math.log(max(mean_ms - floor_ms, 0.002 * wanted_ms))

    aim = excess(wanted_ms)
    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None
    for _ in range(TRIALS):
        us = float(f"{us:.4g}")
        if (cycle, us) not in trials:
            trials[(cycle, us)] = run(cycle, us)
        mean = trials[(cycle, us)][0]
        if abs(mean / wanted_ms - 1) < NEAR_MEAN:
            break
        point = (math.log(us), excess(mean))
        if point[1] > aim:
            low = point
        else:
            high = point
        if low is None or high is None:
            step = 1.6 if abs(point[1] - aim) > 1 else 1.2
            us *= step if point[1] > aim else 1 / step
            continue
        share = (low[1] - aim) / (low[1] - high[1])
        us = math.exp(low[0] + min(max(share, 0.15), 0.85) * (high[0] - low[0]))
    of_cycle = {
        interval: measured
        for (trial_cycle, interval), measured in trials.items()
        if trial_cycle == cycle
    }
    return min(of_cycle, key=lambda interval: abs(math.log(of_cycle[interval][0] / wanted_ms)))


def arrivals_of(
    readings: Readings,
    scheme: Scheme,
    scale: Scale,
    name: str,
    lives: Lifetimes,
    neighbour: Arrivals | None,
    reading: Reading,
) -> Arrivals:
    """The arrivals of a workload for which the baseline is as published.

    The surges are those of `neighbour`, found on another baseline: they belong to the workload,
    unless the reading fixes their number. The longest latency is then not fitted.
    """
    flash, mean, longest = (
        readings.paper.flash,
        readings.paper.load[1][name],
        readings.longest.get(name),
    )
    assert mean is not None, "a workload without a published mean write"

    def run(cycle: int, us: float) -> MeasuredShares:
        trial = Arrivals(cycle, us, (mean, mean), (longest, 0.0))
        workload = read_so(calibrated(name, readings.paper, scale, lives, trial), reading)
        latencies = []
        for seed in SEEDS:
            cell = Cell(workload, scheme, seed)
            write = ssdlab.run(cell.config, progress=False).latency.write
            assert write.mean is not None, f"{cell.title}: no write"
            assert write.max is not None, "a mean without a longest"
            latencies.append((write.mean / 1e6, write.max / 1e6))
        middle = math.fsum(middle_ms for middle_ms, _ in latencies) / len(latencies)
        longest_ms = math.exp(
            math.fsum(math.log(longest) for _, longest in latencies) / len(latencies)
        )
        return float(f"{middle:.5g}"), float(f"{longest_ms:.5g}")

    requests = calibrated(
        name, readings.paper, scale, lives, Arrivals(1, 1.0, (mean, mean), (longest, 0.0))
    ).keys["workload.requests"]
    assert isinstance(requests, int), "a number of requests"
    first = (FIRST_CYCLE, first_interval_us(name, readings.paper.name, flash))
    if neighbour is not None:
        cycle = neighbour.cycle if reading.phases is None else requests // reading.phases
        _, us, measured = search(
            run, (cycle, neighbour.interval_us), (mean, None), flash.write_us / 1e3, None
        )
        return Arrivals(cycle, us, (mean, measured[0]), (longest, measured[1]))
    targets = (mean, longest)
    cap = None if name in STEADY else max(requests // CYCLES, LEAST_CYCLE)
    cycle, us, measured = search(run, first, targets, flash.write_us / 1e3, cap)
    return Arrivals(cycle, us, (mean, measured[0]), (longest, measured[1]))


def calibrate(
    source: Readings,
    file: Path,
    date: str,
    jobs: int,
    readings: bool,
    full: bool,
    anew: bool = False,
) -> Calibration:
    """Determine everything that is open, and write it into `file`.

    Entries of `file` for this version, the same lifetimes and the same baseline are kept unless
    `anew` is set.
    """
    lifetimes_by_name = lifetimes_of(source.paper.name)
    part = file.with_suffix(".part.json")
    earlier = None if anew else _before(source, file, lifetimes_by_name)
    progress = Progress(part, date if earlier is None else earlier.date)
    quick = Scale(quick=True)
    plan: list[tuple[Scale, Reading]] = [(quick, Reading(AS_RUN))]
    plan += (
        [(quick, reading) for reading in source.several if reading.arrivals_of is None]
        if readings
        else []
    )
    plan += [(Scale(quick=False), Reading(AS_RUN))] if full else []
    plan += [
        (Scale(quick=False), reading)
        for reading in source.several
        if readings and full and reading.whole and reading.arrivals_of is None
    ]
    entries: dict[str, Entry] = {}
    for scale, reading in plan:
        scheme = baseline_of(source, reading, scale)
        title = entry_name(scale.divisor, reading.name)
        entry = None if earlier is None else earlier.entries.get(title)
        if entry is not None and entry.checked and entry.device == device_of(scheme):
            entries[title] = entry
            continue

        def fitted(name: str, scheme: Scheme = scheme, scale: Scale = scale,
                reading: Reading = reading, title: str = title) -> Arrivals:  # fmt: skip
            lives = lives_of(lifetimes_by_name[name], reading)
            first = entries.get(entry_name(quick.divisor, AS_RUN))
            neighbour = None if first is None else first.arrivals[name]
            make = lambda: asdict(  # noqa: E731
                arrivals_of(source, scheme, scale, name, lives, neighbour, reading)
            )
            return arrivals(progress.once(f"{title}, {name}", make))

        with ThreadPoolExecutor(jobs) as pool:
            by_workload = dict(
                zip(source.paper.workloads, pool.map(fitted, source.paper.workloads), strict=True)
            )
        entries[title] = Entry(device_of(scheme), by_workload)
    calibration = Calibration(
        source.paper.name, _core.__version__, progress.values["date"], lifetimes_by_name, entries
    )
    outputs.write_all({file: outputs.text(calibration.to_json())}, force=True)
    part.unlink(missing_ok=True)
    return calibration


def _before(
    readings: Readings, file: Path, lifetimes_by_name: Mapping[str, Lifetimes]
) -> Calibration | None:
    """The calibration in `file`, if it is of this version and has these lifetimes."""
    try:
        calibration = parsed(readings.paper.name, file.read_text(encoding="utf-8"))
    except (OSError, ConfigError):
        return None
    return calibration if calibration.lifetimes == lifetimes_by_name else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Calibrate the requests of a paper."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paper")
    parser.add_argument("--out", type=Path, help="the file, if not that of the project")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--main", action="store_true", help="without the other readings")
    parser.add_argument("--anew", action="store_true", help="keep nothing that is in the file")
    parser.add_argument("--quick", action="store_true", help="the small device only")
    options = parser.parse_args(arguments)
    try:
        paper = paper_of(options.paper)
        readings = READINGS[paper.name]
        if not readings.longest:
            raise ConfigError([f"{paper.name}: it needs no calibration"])
        date = datetime.now(timezone.utc).date().isoformat()
        file = options.out or file_of(paper.name)
        calibrate(
            readings, file, date, options.jobs, not options.main, not options.quick, options.anew
        )
    except ConfigError as error:
        sys.exit(str(error))
    print(f"{file}: commit it before the proposed scheme is run")


if __name__ == "__main__":
    main()
