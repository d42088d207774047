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
    def of(said: str, seed: int | None) -> StandIn:
        """From `NAME:COUNT`. Raises `ConfigError`."""
        name, colon, number = said.partition(":")
        if name not in FLEETS:
            near = get_close_matches(name, FLEETS, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            there = f"no such fleet; there are: {', '.join(FLEETS)}{hint}"
            raise ConfigError([f"{argument(stand_in=said)}: {there}"])
        text = number.strip()
        if not colon or not text.isdecimal() or not 0 < int(text) <= MOST:
            form = f"{name}:COUNT with a count of volumes up to {MOST:,}, such as {name}:1000"
            raise ConfigError([f"{argument(stand_in=said)}: expected {form}"])
        return StandIn(FLEETS[name], int(text), 1 if seed is None else seed)

    @property
    def identity(self) -> list[object]:
        """What its volumes depend on."""
        return [self.fleet.name, self.count, self.seed]


@dataclass(frozen=True)
class Drawn:
    """The numbers drawn for a volume."""

    write_share: float
    requests_per_s: float
    burstiness: float
    update_coverage: float
    size_bytes: int
    span: float
    """Footprint divided by the capacity of the drive."""


def drawn(fleet: Fleet, seed: int, number: int) -> Drawn:
    """The numbers of a volume; those of other volumes do not affect them."""
    # A text seeds through SHA-512, the same everywhere.
    stream = random.Random(f"{fleet.name} {seed} {number}")
    part = [stream.random() for _ in range(6)]
    size = fleet.size_bytes.at(part[4])
    return Drawn(
        fleet.write_share.at(part[0]),
        fleet.requests_per_s.at(part[1]),
        fleet.burstiness.at(part[2]),
        fleet.update_coverage.at(part[3]),
        max(PAGE_BYTES, 1 << math.ceil(math.log2(size))),
        published.SPAN_LOW + (1 - published.SPAN_LOW) * part[5],
    )


def volume_of(stand_in: StandIn, number: int, drive: Config) -> Volume:
    """A volume of the size that `span` of the drive gives."""
    fleet = stand_in.fleet
    one = drawn(fleet, stand_in.seed, number)
    device = drive.values["device"]
    footprint = one.span * device["user_pages"] * device["page_bytes"]
    scale = footprint / fleet.footprint_bytes
    wanted = one.requests_per_s * DAY_S * published.DAYS * scale
    most = float(published.MOST_REQUESTS)
    if one.write_share > 0:
        most = min(most, published.MOST_ROUNDS * footprint / (one.write_share * one.size_bytes))
    requests = round(min(max(wanted, published.LEAST_REQUESTS), most))
    written = requests * one.write_share * one.size_bytes
    hot_access = _hot_access(one.update_coverage, written / footprint)
    sets: dict[str, object] = {
        "workload.kind": "hot-cold",
        "workload.requests": requests,
        "workload.seed": stand_in.seed * MOST + number,
        "workload.read": round(1 - one.write_share, 6),
        "workload.size": str(one.size_bytes),
        "workload.hot_space": round(one.update_coverage, 6),
        "workload.hot_access": hot_access,
        "workload.arrival": _arrivals(one, requests),
    }
    if drive["wear.endurance"]:
        daily = one.requests_per_s * DAY_S * one.write_share * one.size_bytes * scale
        sets["wear.daily_writes"] = str(max(1, round(daily)))
    name = f"{fleet.name}-{number:0{len(str(stand_in.count - 1))}d}"
    statistics = _statistics(one, requests, footprint, hot_access)
    reason = "" if requests * one.write_share >= 1 else "no writes"
    return Volume(name, statistics, sets, None, reason)


def _hot_access(coverage: float, rounds: float) -> float:
    """Share of the requests that go to the hot space, if the footprint is written `rounds` times.

    At least the share of the space: a cold page is not written more often than a hot one.
    """
    cold = published.COLD_WRITES * (1 - coverage) / rounds if rounds else 1.0
    return round(min(max(1 - cold, coverage), 0.9999), 6)


def _arrivals(one: Drawn, requests: int) -> Mapping[str, object]:
    """Bursts at the peak rate, and the pause before each that gives the mean rate."""
    mean = 1e9 / one.requests_per_s
    gap = mean / one.burstiness
    burst = min(published.BURST, requests // published.LEAST_BURSTS)
    pause = burst * mean - (burst - 1) * gap
    return {
        "kind": "bursty",
        "interval": f"{max(1, round(gap))} ns",
        "burst": burst,
        "pause": f"{round(pause)} ns",
    }


def _statistics(one: Drawn, requests: int, footprint: float, hot_access: float) -> dict[str, Value]:
    """What was drawn, as the statistics of a trace with expected values; None if not drawn."""
    hottest = min(1.0, HOTTEST / one.update_coverage) * hot_access
    return {
        "volume_requests": requests,
        "write_share": one.write_share,
        "volume_bytes_written": round(requests * one.write_share * one.size_bytes),
        "footprint_bytes": round(footprint),
        "overwrite_factor": requests * one.write_share * one.size_bytes / footprint,
        "rewrite_share": None,
        "hot_write_share": hottest,
        "sequential_share": None,
        "mean_write_bytes": one.size_bytes,
        "volume_requests_per_s": one.requests_per_s,
        "peak_to_mean": one.burstiness,
    }
