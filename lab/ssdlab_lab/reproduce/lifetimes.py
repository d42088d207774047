"""`python -m ssdlab_lab.reproduce.lifetimes`: how long data live, once for the papers of one group.

Three papers of one group use the same applications. How long the data of an application live must
not depend on the paper that runs it, so it is fitted once, to table 1 of invalidation-rate: how
many of the blocks written are 70 % and 90 % invalid at the end if nothing is collected. That table
involves requests alone: no device, no baseline and no proposed scheme. The papers print two sets of
statistics of the requests; the fit is to both at once.

How much is written and how journal and tables behave is the same for all applications, the live
share is that of each. The result is `papers/lifetimes.json`, which `calibrate` reads.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab import _core
from ssdlab.results import outputs
from ssdlab.traces.trace import Requests, Trace, generate
from ssdlab_lab.reproduce.calibration import Lifetimes, refused
from ssdlab_lab.reproduce.paper import SPARE, published
from ssdlab_lab.reproduce.papers import PAPERS
from ssdlab_lab.reproduce.requests import shares_invalid

FORMAT = 1
"""Version of the file."""
FILE = Path(__file__).parent / "papers/lifetimes.json"
COMMAND = "python -m ssdlab_lab.reproduce.lifetimes"
SETS = ("noc-copyback", "adaptive-channel")
"""Papers whose statistics of the requests are used; invalidation-rate prints those of the first."""
STATISTICS = {"invalidation-rate": "noc-copyback"}
"""Papers that use the statistics of another one."""
TABLE_1 = ("invalidation-rate", "table1_percent_of_blocks")
PLANES, BLOCK_PAGES = 16, 128
"""Planes and pages of a block in table 1."""
AGES = (70, 90)
"""Percent of the pages of a block that are invalid."""
DIVISOR = 4
"""The divisor of the devices whose capacity is written."""
LIVE = (0.15, 0.25, 0.4, 0.5, 0.6)
WRITTEN = (1.5,)
JOURNAL_RUNS = (0, 4096)
TABLE_SKEWS = (0.5,)
"""What is tried. Fits of single papers had tried more, and had all chosen these volumes and skews.
"""

Shares: TypeAlias = "tuple[float, float]"
"""Percent of the blocks written that are as invalid as `AGES`."""


@dataclass(frozen=True)
class CommonParameters:
    """What all applications have in common."""

    written: float
    journal_run: int
    table_skew: float


def invalid(
    name: str,
    set_: str,
    raw_bytes: int,
    live: float,
    volumes: Sequence[float],
    habits: CommonParameters,
) -> list[Shares]:
    """Shares of invalid blocks, percent, after the flash has been written this many times."""
    model = json.loads(_core.application(name.lower(), set_))
    share, size = (model["ops"][1][key] for key in ("share", "bytes"))
    counts = [round(times * raw_bytes / (share * size)) for times in volumes]
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
        requests = Trace(file).requests(limit=max(counts))
    shares = []
    for count in counts:
        part = Requests(
            **{key: getattr(requests, key)[:count] for key in Requests.__dataclass_fields__}
        )
        ages = [age / 100 for age in AGES]
        percents = shares_invalid(part, PLANES, BLOCK_PAGES, ages)
        shares.append((round(percents[0] or 0.0, 2), round(percents[1] or 0.0, 2)))
    return shares


def targets(name: str) -> tuple[float | None, ...]:
    """The published shares of an application; None where there are none."""
    table = published(TABLE_1[0])
    return tuple(table.row(TABLE_1[1], f"invalid_{age}", [name])[0] for age in AGES)


@dataclass(frozen=True)
class Fit:
    """The lifetimes of one application, with the shares of each set of statistics."""

    live: float
    common: CommonParameters
    shares: Mapping[str, Shares]

    def to_dict(self) -> dict[str, Any]:
        """Its part of the file."""
        return {"live": self.live, **asdict(self.common), "shares": dict(self.shares)}


def fitted(jobs: int) -> dict[str, Fit]:
    """The lifetimes nearest to table 1 under all sets together, by application."""
    names = tuple(dict.fromkeys(name for set_ in SETS for name in PAPERS[set_].workloads))
    having = {name: [set_ for set_ in SETS if name in PAPERS[set_].workloads] for name in names}
    commons = [CommonParameters(*values) for values in product(WRITTEN, JOURNAL_RUNS, TABLE_SKEWS)]
    points = [
        (name, set_, live, common)
        for name in names
        for set_ in having[name]
        for live in LIVE
        for common in commons
    ]

    def shares_at(point: tuple[str, str, float, CommonParameters]) -> Shares:
        name, set_, live, common = point
        raw = PAPERS[set_].flash.raw_bytes // DIVISOR
        return invalid(name, set_, raw, live, [common.written], common)[0]

    with ThreadPoolExecutor(jobs) as pool:
        shares = dict(zip(points, pool.map(shares_at, points), strict=True))

    def apart(name: str, live: float, common: CommonParameters) -> float:
        """Sum of the distances from table 1 over the sets, percentage points."""
        return sum(
            abs(target - share)
            for set_ in having[name]
            for target, share in zip(targets(name), shares[(name, set_, live, common)], strict=True)
            if target is not None
        )

    measured = [name for name in names if targets(name)[0] is not None]

    def best(common: CommonParameters) -> dict[str, float]:
        """The nearest live share of each application that table 1 has."""
        return {name: min(LIVE, key=lambda live: apart(name, live, common)) for name in measured}

    def total(common: CommonParameters) -> float:
        return sum(apart(name, live, common) for name, live in best(common).items())

    common = min(commons, key=total)
    lives = best(common)
    middle = sorted(lives.values())[len(lives) // 2]
    return {
        name: Fit(
            live,
            common,
            {set_: shares[(name, set_, live, common)] for set_ in having[name]},
        )
        for name in names
        for live in [lives.get(name, middle)]
    }


def to_json(fits: Mapping[str, Fit], date: str) -> str:
    """The text of the file."""
    head = {"format": FORMAT, "command": COMMAND, "ssdlab": _core.__version__, "date": date}
    values = {**head, "lifetimes": {name: fit.to_dict() for name, fit in fits.items()}}
    return json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def lifetimes_of(paper: str) -> dict[str, Lifetimes]:
    """The lifetimes of the workloads of a paper. Raises `ConfigError` without a usable file."""
    try:
        values = json.loads(FILE.read_text(encoding="utf-8"))
        if (values["format"], values["ssdlab"]) != (FORMAT, _core.__version__):
            raise refused(paper, f"needs lifetimes of this version ({COMMAND})")
        return {
            name: _of_paper(name, values["lifetimes"][name], STATISTICS.get(paper, paper))
            for name in PAPERS[paper].workloads
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise refused(paper, f"needs {FILE.name}, which cannot be read ({COMMAND})") from error


def _of_paper(name: str, fit: Mapping[str, Any], set_: str) -> Lifetimes:
    pairs = zip(targets(name), fit["shares"][set_], strict=True)
    seventy, ninety = [(target, float(share)) for target, share in pairs]
    keys = ("live", "written", "journal_run", "table_skew")
    return Lifetimes(**{key: fit[key] for key in keys}, invalid_70=seventy, invalid_90=ninety)


def main() -> None:
    """Fit the lifetimes and write the file."""
    date = datetime.now(timezone.utc).date().isoformat()
    text = to_json(fitted(2), date)
    outputs.write_all({FILE: outputs.text(text)}, force=True)
    print(f"{FILE}: commit it before a proposed scheme is run", file=sys.stderr)


if __name__ == "__main__":
    main()
