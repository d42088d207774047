"""`python -m ssdlab_lab.reproduce.calibrate PAPER`: fix synthetic requests before any result.

Two steps, neither of which involves the proposed scheme:

1. *Lifetimes*, from table 1 of invalidation-rate: how many of the blocks written are 70 % and 90 %
   invalid at the end of each trace if nothing is collected. How much is written and how journal and
   tables behave is the same for all workloads, the live share is that of each. Requests alone, no
   device.
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
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import product
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab import _core
from ssdlab.errors import ConfigError
from ssdlab.results import outputs
from ssdlab.traces.trace import Requests, Trace, generate
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
from ssdlab_lab.reproduce.matrix import Cell, Scheme
from ssdlab_lab.reproduce.paper import SPARE, Flash, Scale, calibrated, published
from ssdlab_lab.reproduce.papers import READINGS
from ssdlab_lab.reproduce.readings import Reading, Readings, baseline_of, lives_of, read_so
from ssdlab_lab.reproduce.requests import shares_invalid

TABLE_1 = ("invalidation-rate", "table1_percent_of_blocks")
PLANES, BLOCK_PAGES = 16, 128
"""Planes and pages of a block in table 1."""
SHARES = (0.7, 0.9)
LIFETIMES_DIVISOR = 4
"""The divisor of the device for lifetimes."""
LIVE = (0.15, 0.25, 0.4, 0.5, 0.6)
WRITTEN = (1.0, 1.5, 2.0, 3.0)
JOURNAL_RUNS = (0, 1024, 4096)
TABLE_SKEWS = (0.99, 0.5)
"""What is tried."""

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

Measured = tuple[float, float]
"""Mean and longest write latency, ms."""
Tried = dict[tuple[int, float], Measured]
Shares = tuple[float, float]


@dataclass(frozen=True)
class Common:
    """What all workloads have in common."""

    written: float
    journal_run: int
    table_skew: float


class Progress:
    """What has been found so far, in a file."""

    def __init__(self, file: Path, today: str) -> None:
        self.file = file
        try:
            self.values: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.values = {"date": today, "ssdlab": _core.__version__, "found": {}}
        if self.values.get("ssdlab") != _core.__version__:
            raise ConfigError([f"{file}: begun by another version of ssdlab; delete it"])

    def once(self, key: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - JSON
        """The result of `make`, unless it is already known."""
        found = self.values["found"]
        if key not in found:
            found[key] = json.loads(json.dumps(make()))
            text = json.dumps(self.values, indent=1) + "\n"
            outputs.write_all({self.file: outputs.text(text)}, force=True)
            print(f"  {key}: {found[key]}", file=sys.stderr, flush=True)
        return found[key]


def invalid(
    name: str, set_: str, raw_bytes: int, live: float, written: Sequence[float], habits: Common
) -> list[Shares]:
    """Shares of invalid blocks, percent, after the flash has been written this many times."""
    model = json.loads(_core.application(name.lower(), set_))
    share, size = (model["ops"][1][key] for key in ("share", "bytes"))
    counts = [round(times * raw_bytes / (share * size)) for times in written]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requests.ssdtrace"
        generate(
            f"app:{name.lower()}",
            file,
            bytes=round(raw_bytes * (1 - SPARE)) // 4096 * 4096,
            requests=max(counts),
            seed=1,
            set={
                "workload.set": set_,
                "workload.span": live / (1 - SPARE),
                "workload.journal_run": habits.journal_run,
                "workload.table_skew": habits.table_skew,
            },
        )
        every = Trace(file).requests(limit=max(counts))
    found = []
    for count in counts:
        part = Requests(
            **{key: getattr(every, key)[:count] for key in Requests.__dataclass_fields__}
        )
        both = shares_invalid(part, PLANES, BLOCK_PAGES, SHARES)
        found.append((round(both[0] or 0.0, 2), round(both[1] or 0.0, 2)))
    return found


def lifetimes(how: Readings, progress: Progress, jobs: int) -> dict[str, Lifetimes]:
    """The lifetimes of each workload, as close to table 1 as they get."""
    names, flash = how.paper.workloads, how.paper.flash
    raw = flash.raw_bytes // LIFETIMES_DIVISOR
    table = {
        name: tuple(published(TABLE_1[0]).row(TABLE_1[1], f"invalid_{at}", [name])[0] for at in at_)
        for name in names
        for at_ in [("70", "90")]
    }
    grid = [*product(names, JOURNAL_RUNS, TABLE_SKEWS, LIVE)]

    def one(at: tuple[str, int, float, float]) -> list[Shares]:
        name, run, skew, live = at
        key = f"lifetimes, {name}, run {run}, skew {skew:g}, live {live:g}"
        common = Common(0.0, run, skew)
        found = progress.once(
            key, lambda: invalid(name, how.paper.name, raw, live, WRITTEN, common)
        )
        return [tuple(both) for both in found]

    with ThreadPoolExecutor(jobs) as pool:
        made = dict(zip(grid, pool.map(one, grid), strict=True))

    def apart(name: str, shares: Shares) -> float:
        wanted = table[name]
        return sum(
            0.0 if want is None else abs(want - found)
            for want, found in zip(wanted, shares, strict=True)
        )

    def best(name: str, common: Common) -> float:
        """The live share that comes closest."""
        at = WRITTEN.index(common.written)
        key = (name, common.journal_run, common.table_skew)
        return min(LIVE, key=lambda live: apart(name, made[(*key, live)][at]))

    def shares(name: str, common: Common) -> Shares:
        at = WRITTEN.index(common.written)
        live = best(name, common)
        return made[(name, common.journal_run, common.table_skew, live)][at]

    every = [Common(*one) for one in product(WRITTEN, JOURNAL_RUNS, TABLE_SKEWS)]
    chosen = min(every, key=lambda common: sum(apart(name, shares(name, common)) for name in names))
    known = [name for name in names if table[name][0] is not None]
    middle = sorted(best(name, chosen) for name in known)[len(known) // 2]
    found = {}
    for name in names:
        live = best(name, chosen) if name in known else middle
        at = made[(name, chosen.journal_run, chosen.table_skew, live)]
        here = at[WRITTEN.index(chosen.written)]
        wanted = table[name]
        found[name] = Lifetimes(
            live=live,
            written=chosen.written,
            journal_run=chosen.journal_run,
            table_skew=chosen.table_skew,
            invalid_70=(wanted[0], here[0]),
            invalid_90=(wanted[1], here[1]),
        )
    return found


def first_interval_us(name: str, set_: str, flash: Flash) -> float:
    """The interval at which the host's pages take `FIRST_LOAD` of the time of the busy units."""
    ops = json.loads(_core.application(name.lower(), set_))["ops"]
    costs = zip(ops, (flash.read_us, flash.write_us), strict=False)
    busy = sum(op["share"] * op["bytes"] / flash.page_bytes * us for op, us in costs)
    return float(busy / flash.units / FIRST_LOAD)


def search(
    run: Callable[[int, float], Measured],
    first: tuple[int, float],
    wanted: tuple[float, float | None],
    floor_ms: float,
    longest_cycle: int | None,
) -> tuple[int, float, Measured]:
    """Cycle and interval with those latencies, or the nearest; `floor_ms`: of an idle device.

    `longest_cycle`: requests of the longest cycle that may be tried; None if there are no surges.
    For each cycle the interval with the published mean is searched; then the cycle is changed in
    proportion to the deviation of the longest latency.
    """
    cycle, us = first
    tried: Tried = {}
    for _ in range(CYCLES_TRIED):
        us = _interval(run, tried, cycle, us, wanted[0], floor_ms)
        off = tried[(cycle, us)][1] / wanted[1] if wanted[1] and longest_cycle else 1.0
        if abs(math.log(off)) < math.log(1 + NEAR_LONGEST):
            break
        step = min(max(1 / off, 1 / FARTHEST), FARTHEST)
        cycle = max(min(round(cycle * step), longest_cycle or cycle), LEAST_CYCLE)
        if any(cycle == other for other, _ in tried):
            break

    def distance(found: Measured) -> float:
        far = 4.0 * abs(math.log(found[0] / wanted[0]))
        return far + (abs(math.log(found[1] / wanted[1])) if wanted[1] and longest_cycle else 0.0)

    (cycle, us), found = min(tried.items(), key=lambda one: distance(one[1]))
    return cycle, us, found


def _interval(
    run: Callable[[int, float], Measured],
    tried: Tried,
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
        if (cycle, us) not in tried:
            tried[(cycle, us)] = run(cycle, us)
        mean = tried[(cycle, us)][0]
        if abs(mean / wanted_ms - 1) < NEAR_MEAN:
            break
        at = (math.log(us), excess(mean))
        if at[1] > aim:
            low = at
        else:
            high = at
        if low is None or high is None:
            step = 1.6 if abs(at[1] - aim) > 1 else 1.2
            us *= step if at[1] > aim else 1 / step
            continue
        share = (low[1] - aim) / (low[1] - high[1])
        us = math.exp(low[0] + min(max(share, 0.15), 0.85) * (high[0] - low[0]))
    of_cycle = {at: found for (other, at), found in tried.items() if other == cycle}
    return min(of_cycle, key=lambda at: abs(math.log(of_cycle[at][0] / wanted_ms)))


def arrivals_of(
    how: Readings,
    scheme: Scheme,
    scale: Scale,
    name: str,
    lived: Lifetimes,
    near: Arrivals | None,
    of: Reading,
) -> Arrivals:
    """The arrivals of a workload for which the baseline is as published.

    The surges are those of `near`, found on another baseline: they belong to the workload, unless
    the reading fixes their number. The longest latency is then not fitted.
    """
    flash, mean, longest = how.paper.flash, how.paper.load[1][name], how.longest.get(name)
    assert mean is not None, "a workload without a published mean write"

    def run(cycle: int, us: float) -> Measured:
        at = Arrivals(cycle, us, (mean, mean), (longest, 0.0))
        workload = read_so(calibrated(name, how.paper, scale, lived, at), of)
        found = []
        for seed in SEEDS:
            cell = Cell(workload, scheme, seed)
            write = ssdlab.run(cell.config, progress=False).latency.write
            assert write.mean is not None, f"{cell.title}: no write"
            assert write.max is not None, "a mean without a longest"
            found.append((write.mean / 1e6, write.max / 1e6))
        middle = math.fsum(one for one, _ in found) / len(found)
        most = math.exp(math.fsum(math.log(one) for _, one in found) / len(found))
        return float(f"{middle:.5g}"), float(f"{most:.5g}")

    requests = calibrated(
        name, how.paper, scale, lived, Arrivals(1, 1.0, (mean, mean), (longest, 0.0))
    ).keys["workload.requests"]
    assert isinstance(requests, int), "a number of requests"
    first = (FIRST_CYCLE, first_interval_us(name, how.paper.name, flash))
    if near is not None:
        cycle = near.cycle if of.phases is None else requests // of.phases
        _, us, found = search(
            run, (cycle, near.interval_us), (mean, None), flash.write_us / 1e3, None
        )
        return Arrivals(cycle, us, (mean, found[0]), (longest, found[1]))
    wanted = (mean, longest)
    cap = None if name in STEADY else max(requests // CYCLES, LEAST_CYCLE)
    cycle, us, found = search(run, first, wanted, flash.write_us / 1e3, cap)
    return Arrivals(cycle, us, (mean, found[0]), (longest, found[1]))


def calibrate(
    how: Readings,
    file: Path,
    today: str,
    jobs: int,
    readings: bool,
    full: bool,
    anew: bool = False,
) -> Calibration:
    """Determine everything that is open, and write it into `file`.

    Entries of `file` for this version and the same baseline are kept unless `anew` is set.
    """
    part = file.with_suffix(".part.json")
    before = None if anew else _before(how, file)
    progress = Progress(part, today if before is None else before.date)
    lived = lifetimes(how, progress, jobs) if before is None else dict(before.lifetimes)
    quick = Scale(quick=True)
    plan: list[tuple[Scale, Reading]] = [(quick, Reading(AS_RUN))]
    plan += [(quick, one) for one in how.several if one.arrivals_of is None] if readings else []
    plan += [(Scale(quick=False), Reading(AS_RUN))] if full else []
    entries: dict[str, Entry] = {}
    for scale, reading in plan:
        scheme = baseline_of(how, reading, scale)
        title = entry_name(scale.divisor, reading.name)
        known = None if before is None else before.entries.get(title)
        if known is not None and known.checked and known.device == device_of(scheme):
            entries[title] = known
            continue

        def one(name: str, scheme: Scheme = scheme, scale: Scale = scale, of: Reading = reading,
                title: str = title) -> Arrivals:  # fmt: skip
            lives = lives_of(lived[name], of)
            first = entries.get(entry_name(quick.divisor, AS_RUN))
            near = None if first is None else first.arrivals[name]
            make = lambda: asdict(  # noqa: E731
                arrivals_of(how, scheme, scale, name, lives, near, of)
            )
            return arrivals(progress.once(f"{title}, {name}", make))

        with ThreadPoolExecutor(jobs) as pool:
            found = dict(zip(how.paper.workloads, pool.map(one, how.paper.workloads), strict=True))
        entries[title] = Entry(device_of(scheme), found)
    done = Calibration(how.paper.name, _core.__version__, progress.values["date"], lived, entries)
    outputs.write_all({file: outputs.text(done.to_json())}, force=True)
    part.unlink(missing_ok=True)
    return done


def _before(how: Readings, file: Path) -> Calibration | None:
    """The calibration in `file`, if it is of this version and has all workloads."""
    try:
        found = parsed(how.paper.name, file.read_text(encoding="utf-8"))
    except (OSError, ConfigError):
        return None
    return found if {*how.paper.workloads} <= {*found.lifetimes} else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Calibrate the requests of a paper."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paper")
    parser.add_argument("--out", type=Path, help="the file, if not that of the project")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--main", action="store_true", help="without the other readings")
    parser.add_argument("--anew", action="store_true", help="keep nothing that is in the file")
    parser.add_argument("--quick", action="store_true", help="the small device only")
    said = parser.parse_args(arguments)
    try:
        paper = paper_of(said.paper)
        how = READINGS[paper.name]
        if not how.longest:
            raise ConfigError([f"{paper.name}: it needs no calibration"])
        today = datetime.now(timezone.utc).date().isoformat()
        file = said.out or file_of(paper.name)
        calibrate(how, file, today, said.jobs, not said.main, not said.quick, said.anew)
    except ConfigError as error:
        sys.exit(str(error))
    print(f"{file}: commit it before the proposed scheme is run")


if __name__ == "__main__":
    main()
