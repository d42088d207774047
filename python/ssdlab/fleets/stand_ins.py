"""Volumes drawn from published statistics if no trace is available (`published`)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from ssdlab.config.quantity import DAY_S
from ssdlab.config.resolve import Config
from ssdlab.display.argument import argument
from ssdlab.display.numbers import Value
from ssdlab.errors import ConfigError
from ssdlab.fleets import published
from ssdlab.fleets.published import FLEETS, Fleet
from ssdlab.fleets.volumes import HOTTEST, PAGE_BYTES, Volume

MOST = 1_000_000
"""Volumes of a fleet."""


@dataclass(frozen=True)
class StandIn:
    """A fleet that is made."""

    fleet: Fleet
    count: int
    """Volumes."""
    seed: int

    @staticmethod
    def of(text: str, seed: int | None) -> StandIn:
        """From `NAME:COUNT`. Raises `ConfigError`."""
        name, colon, number = text.partition(":")
        if name not in FLEETS:
            matches = get_close_matches(name, FLEETS, 1)
            hint = f"; did you mean {matches[0]}?" if matches else ""
            problem = f"no such fleet; there are: {', '.join(FLEETS)}{hint}"
            raise ConfigError([f"{argument(stand_in=text)}: {problem}"])
        count = number.strip()
        if not colon or not count.isdecimal() or not 0 < int(count) <= MOST:
            syntax = f"{name}:COUNT with a count of volumes up to {MOST:,}, such as {name}:1000"
            raise ConfigError([f"{argument(stand_in=text)}: expected {syntax}"])
        return StandIn(FLEETS[name], int(count), 1 if seed is None else seed)

    @property
    def identity(self) -> list[object]:
        """What its volumes depend on."""
        return [self.fleet.name, self.count, self.seed]


@dataclass(frozen=True)
class VolumeNumbers:
    """The numbers drawn for a volume."""

    write_share: float
    requests_per_s: float
    burstiness: float
    update_coverage: float
    size_bytes: int
    span: float
    """Footprint divided by the capacity of the drive."""


def draw(fleet: Fleet, seed: int, number: int) -> VolumeNumbers:
    """The numbers of a volume; those of other volumes do not affect them."""
    # A text seeds through SHA-512, the same everywhere.
    stream = random.Random(f"{fleet.name} {seed} {number}")
    shares = [stream.random() for _ in range(6)]
    size = fleet.size_bytes.at(shares[4])
    return VolumeNumbers(
        fleet.write_share.at(shares[0]),
        fleet.requests_per_s.at(shares[1]),
        fleet.burstiness.at(shares[2]),
        fleet.update_coverage.at(shares[3]),
        max(PAGE_BYTES, 1 << math.ceil(math.log2(size))),
        published.SPAN_LOW + (1 - published.SPAN_LOW) * shares[5],
    )


def volume_of(stand_in: StandIn, number: int, drive: Config) -> Volume:
    """A volume of the size that `span` of the drive gives."""
    fleet = stand_in.fleet
    numbers = draw(fleet, stand_in.seed, number)
    device = drive.values["device"]
    footprint = numbers.span * device["user_pages"] * device["page_bytes"]
    scale = footprint / fleet.footprint_bytes
    unbounded = numbers.requests_per_s * DAY_S * published.DAYS * scale
    limit = float(published.MOST_REQUESTS)
    if numbers.write_share > 0:
        limit = min(
            limit, published.MOST_ROUNDS * footprint / (numbers.write_share * numbers.size_bytes)
        )
    requests = round(min(max(unbounded, published.LEAST_REQUESTS), limit))
    written = requests * numbers.write_share * numbers.size_bytes
    hot_access = _hot_access(numbers.update_coverage, written / footprint)
    sets: dict[str, object] = {
        "workload.kind": "hot-cold",
        "workload.requests": requests,
        "workload.seed": stand_in.seed * MOST + number,
        "workload.read": round(1 - numbers.write_share, 6),
        "workload.size": str(numbers.size_bytes),
        "workload.hot_space": round(numbers.update_coverage, 6),
        "workload.hot_access": hot_access,
        "workload.arrival": _arrivals(numbers, requests),
    }
    if drive["wear.endurance"]:
        daily = numbers.requests_per_s * DAY_S * numbers.write_share * numbers.size_bytes * scale
        sets["wear.daily_writes"] = str(max(1, round(daily)))
    name = f"{fleet.name}-{number:0{len(str(stand_in.count - 1))}d}"
    statistics = _statistics(numbers, requests, footprint, hot_access)
    reason = "" if requests * numbers.write_share >= 1 else "no writes"
    return Volume(name, statistics, sets, None, reason)


def _hot_access(coverage: float, rounds: float) -> float:
    """Share of the requests that go to the hot space, if the footprint is written `rounds` times.

    At least the share of the space: a cold page is not written more often than a hot one.
    """
    cold_access = published.COLD_WRITES * (1 - coverage) / rounds if rounds else 1.0
    return round(min(max(1 - cold_access, coverage), 0.9999), 6)


def _arrivals(numbers: VolumeNumbers, requests: int) -> Mapping[str, object]:
    """Bursts at the peak rate, and the pause before each that gives the mean rate."""
    mean = 1e9 / numbers.requests_per_s
    gap = mean / numbers.burstiness
    burst = min(published.BURST, requests // published.LEAST_BURSTS)
    pause = burst * mean - (burst - 1) * gap
    return {
        "kind": "bursty",
        "interval": f"{max(1, round(gap))} ns",
        "burst": burst,
        "pause": f"{round(pause)} ns",
    }


def _statistics(
    numbers: VolumeNumbers, requests: int, footprint: float, hot_access: float
) -> dict[str, Value]:
    """What was drawn, as the statistics of a trace with expected values; None if not drawn."""
    hottest = min(1.0, HOTTEST / numbers.update_coverage) * hot_access
    return {
        "volume_requests": requests,
        "write_share": numbers.write_share,
        "volume_bytes_written": round(requests * numbers.write_share * numbers.size_bytes),
        "footprint_bytes": round(footprint),
        "overwrite_factor": requests * numbers.write_share * numbers.size_bytes / footprint,
        "rewrite_share": None,
        "hot_write_share": hottest,
        "sequential_share": None,
        "mean_write_bytes": numbers.size_bytes,
        "volume_requests_per_s": numbers.requests_per_s,
        "peak_to_mean": numbers.burstiness,
    }
