"""The results of remapcom's reproduction, compared with the published numbers."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab import _core
from ssdlab.results.intervals import Ratio, paired_ratio
from ssdlab_lab.reproduce.folders import FolderProperties
from ssdlab_lab.reproduce.remapcom import choices
from ssdlab_lab.reproduce.remapcom.runs import Numbers, Run
from ssdlab_lab.reproduce.scoring import Gain, centre

Of: TypeAlias = "Callable[[Numbers], float | None]"
LEVELS = (1, 2, 3, 4)
STOCK, ALIGNED, BASE, FULL = choices.LINES
POINTS = 8.0
"""Target: shares of unchanged blocks on levels 1 to 3 within this many points of the published
ones.
"""
AMPLIFICATION = (45.0, 60.0)
"""Target: percent less write amplification of the load with values of 4,096 bytes."""
FASTER = 15.0
"""Target: percent more operations per second of the same load."""


@cache
def published() -> dict[str, Any]:
    """The numbers of the paper (papers/remapcom.toml)."""
    values: dict[str, Any] = json.loads(_core.published(choices.NAME))
    return values


def rate(numbers: Numbers) -> float | None:
    """Operations per second of simulated time."""
    return float(numbers["operations_per_s"])


def amplification(numbers: Numbers) -> float | None:
    """Bytes programmed per byte of keys and values; None if nothing is written."""
    total = numbers["write_amplification"]["total"]
    return None if total is None else float(total)


def without_log(numbers: Numbers) -> float | None:
    """Write amplification without the store's log."""
    parts = numbers["write_amplification"]
    return None if parts["total"] is None else float(parts["total"] - (parts.get("log") or 0.0))


def used(numbers: Numbers) -> float | None:
    """Bytes of the file system's pages in use, per byte of live pairs."""
    value = numbers["space"]["amplification"]
    return None if value is None else float(value)


def unchanged(level: int) -> Of:
    """Share of the data blocks written to a level that were unchanged, percent."""

    def share(numbers: Numbers) -> float | None:
        value = numbers["levels"][level]["udb_share"]
        return None if value is None else 100 * float(value)

    return share


@dataclass(frozen=True)
class Outcome:
    """The outcome."""

    numbers: Mapping[Run, Numbers]
    workloads: tuple[str, ...]
    quick: bool
    failures: Mapping[str, str]
    interrupted: bool
    folder: Path
    begun: FolderProperties

    def values(
        self, run: tuple[str, int, str], measure: Of, variation: str = ""
    ) -> Mapping[int, float]:
        """A number of workload, size and line by seed, for the existing runs."""
        values = {}
        for seed in choices.QUICK_SEEDS if self.quick else choices.SEEDS:
            numbers = self.numbers.get(Run(*run, seed, variation))
            value = None if numbers is None else measure(numbers)
            if value is not None:
                values[seed] = value
        return values

    def mean(self, run: tuple[str, int, str], measure: Of, variation: str = "") -> float | None:
        """Its mean over seeds."""
        values = [*self.values(run, measure, variation).values()]
        return statistics.fmean(values) if values else None

    def ratio(
        self, run: tuple[str, int, str], measure: Of, base: str = STOCK, variation: str = ""
    ) -> Ratio | None:
        """The ratio of a number to that of another line by seed; no interval for one seed."""
        workload, size, _ = run
        scheme_values = self.values(run, measure, variation)
        # Pages per block do not affect stock, which is not run again for them.
        base_values = self.values((workload, size, base), measure, variation)
        seeds = [seed for seed in scheme_values if seed in base_values]
        if not seeds or not all(base_values[seed] for seed in seeds):
            return None
        if len(seeds) == 1:
            return Ratio(1, scheme_values[seeds[0]] / base_values[seeds[0]], None, None)
        return paired_ratio(
            [scheme_values[seed] for seed in seeds], [base_values[seed] for seed in seeds]
        )

    def gains(self, reading: str = "") -> list[Gain]:
        """Published gains of operations per second over stock, with ours, under a reading."""
        return [*self._gains(reading)]

    def _gains(self, reading: str) -> Iterator[Gain]:
        sizes = choices.FITTING_SIZES if reading in choices.FITTING else choices.SIZES
        table = published()["ycsb_throughput_gain_percent"]
        for key, numbers in table.items():
            if key == "bde_full_mean":
                continue
            workload, line = key.split("_")
            for size, percent in zip(sizes, numbers, strict=True):
                ours = self.ratio((workload, size, line), rate, variation=reading)
                if ours is not None and percent is not None:
                    workload_title = f"{workload.upper()}, {size:,} B"
                    yield Gain(f"{line} over stock", workload_title, 1 + percent / 100, ours.ratio)
        for workload, percent in table["bde_full_mean"].items():
            ratios = [self.ratio((workload, size, FULL), rate, variation=reading) for size in sizes]
            available = [ratio.ratio for ratio in ratios if ratio is not None]
            mean = centre(available) if len(available) == len(sizes) else None
            if mean is not None:
                workload_title = f"{workload.upper()}, mean of sizes"
                yield Gain(f"{FULL} over stock", workload_title, 1 + percent / 100, mean)

    def shares(self) -> Iterator[tuple[str, int, float, float | None]]:
        """Line, level, published and measured share of unchanged blocks, percent."""
        table = published()["udb_ratio_percent"]
        for line, key in ((BASE, "remapcom_base"), (FULL, "remapcom")):
            for level, percent in zip(LEVELS, table[key], strict=True):
                run = ("load", choices.UDB_SIZE, line)
                yield line, level, percent, self.mean(run, unchanged(level))

    def limits(self) -> dict[str, tuple[float | None, ...]]:
        """Shares of unchanged blocks on levels 1 to 4 under each limit of retention, percent."""
        run = ("load", choices.LIMITED_SIZE, FULL)
        names = ("pairs fit", *choices.LIMITS)
        shares = {
            name: tuple(self.mean(run, unchanged(level), name) for level in LEVELS)
            for name in names
        }
        return {name: row for name, row in shares.items() if any(v is not None for v in row)}

    def fitted_limit(self) -> str | None:
        """The limit whose shares on levels 2 to 4 are nearest to the published ones."""
        targets = published()["udb_ratio_percent"]["remapcom"][1:]

        def distance(row: tuple[float | None, ...]) -> float:
            pairs = [(a, b) for a, b in zip(row[1:], targets, strict=True) if a is not None]
            return statistics.fmean(abs(a - b) for a, b in pairs) if pairs else math.inf

        distances = {name: distance(row) for name, row in self.limits().items()}
        return min(distances, key=distances.__getitem__) if distances else None

    def aims(self) -> list[tuple[str, str]]:
        """The targets, and whether they were reached."""
        deviations = [
            abs(ours - published_share)
            for _, level, published_share, ours in self.shares()
            if ours is not None and level <= 3
        ]
        cut = self.ratio(("load", 4096, FULL), amplification)
        gain = self.ratio(("load", 4096, FULL), rate)
        low, high = AMPLIFICATION
        reduction = None if cut is None else 100 * (1 - cut.ratio)
        increase = None if gain is None else 100 * (gain.ratio - 1)
        return [
            (
                f"shares of unchanged blocks on levels 1 to 3 within {POINTS:g} points",
                "not measured"
                if not deviations
                else f"{sum(value <= POINTS for value in deviations)} of {len(deviations)}; the"
                f" farthest is {max(deviations):.1f} points off",
            ),
            (
                f"load of 4,096 B: write amplification {low:g} to {high:g} % lower",
                "not measured"
                if reduction is None
                else f"{_met(low <= reduction <= high)}: {reduction:.1f} % lower",
            ),
            (
                f"load of 4,096 B: at least {FASTER:g} % faster",
                "not measured"
                if increase is None
                else f"{_met(increase >= FASTER)}: {increase:+.1f} %",
            ),
        ]

    def remarks(self) -> list[str]:
        """What a reader should know before using the numbers."""
        notes = [f"{title}: {reason}" for title, reason in self.failures.items()]
        if self.interrupted:
            notes.append("It was interrupted: runs are missing.")
        if self.quick:
            notes.append(
                f"Quick: store and operations divided by {choices.QUICK}, a smaller drive, one seed"
                " and no variations."
            )
        return notes

    def to_dict(self) -> dict[str, Any]:
        """What reproduction.json holds of it."""
        return {
            "completed": not self.interrupted and not self.failures,
            "aims": dict(self.aims()),
            "gains": [vars(gain) for gain in self.gains()],
            "shares": [
                {"line": line, "level": level, "published": published_share, "ours": ours}
                for line, level, published_share, ours in self.shares()
            ],
            "failures": dict(self.failures),
            "runs": [{**vars(run), **numbers} for run, numbers in sorted(self.numbers.items())],
        }


def _met(is_met: bool) -> str:
    return "reached" if is_met else "missed"
