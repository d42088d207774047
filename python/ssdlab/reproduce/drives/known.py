"""The named drives: presets whose files hold what was published of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ssdlab import _core
from ssdlab.config.resolve import DRIVE, Config, load_config
from ssdlab.reproduce.drives.choices import KNEE_NS
from ssdlab.reproduce.drives.fit import Shape

GIB = 1 << 30
US = 1000
"""Nanoseconds."""


@dataclass(frozen=True)
class Load:
    """Latencies of writes at an offered load."""

    rate: float
    """Requests a second."""
    p50: float
    """Nanoseconds, as `p99`."""
    p99: float


def knee_of(loads: list[Load]) -> tuple[float, float] | None:
    """The middle of the knee and half its width; None if no load is on one side of it."""
    below = None
    for load in sorted(loads, key=lambda one: one.rate):
        if load.p99 > KNEE_NS:
            return None if below is None else ((below + load.rate) / 2, (load.rate - below) / 2)
        below = load.rate
    return None


@dataclass(frozen=True)
class Drive:
    """A drive and what was published of it."""

    name: str
    """Of its preset."""
    summary: str
    published: Mapping[str, Any] = field(hash=False)
    """The table of its file."""

    @property
    def title(self) -> str:
        """Its usual name."""
        return str(self.published["title"])

    @property
    def user_gib(self) -> float:
        """Its rated capacity."""
        return float(self.published["user_gb"] * 10**9 / GIB)

    @property
    def fitted(self) -> float | None:
        """The used GiB of the figure on which its raw capacity is fitted."""
        return self.published.get("fitted")

    @property
    def uniform(self) -> dict[float, float]:
        """Write amplification of uniform writes by used GiB."""
        return dict(self.published.get("uniform", ()))

    @property
    def zones(self) -> dict[int, float]:
        """Write amplification by active zones."""
        return dict(self.published.get("zones", ()))

    @property
    def zipf(self) -> list[tuple[float, str, float]]:
        """Skew, order of addresses, write amplification."""
        return [(theta, order, waf) for theta, order, waf in self.published.get("zipf", ())]

    @property
    def loads(self) -> list[Load]:
        """Latencies at the loads that were published."""
        of = self.published.get("load", ())
        return [Load(1000 * kilo, p50 * US, p99 * US) for kilo, p50, p99 in of]

    @property
    def knee(self) -> tuple[float, float] | None:
        """Its published knee, as `knee_of` says."""
        return knee_of(self.loads)

    @property
    def unknown(self) -> list[str]:
        """What was not known."""
        return list(self.published["unknown"])

    @cached_property
    def config(self) -> Config:
        """At full size."""
        return load_config(self.name)

    @property
    def shape(self) -> Shape:
        """What the fit needs of it."""
        return Shape.of(self.config)

    @property
    def over_provisioning(self) -> float:
        """(raw - user) / user."""
        device = self.config.values["device"]
        return self.shape.raw_pages(device) / float(device["user_pages"]) - 1

    def spare_at(self, used_gib: float) -> float:
        """Over-provisioning if only so much of it is used; the full drive is used as rated."""
        if used_gib == int(self.user_gib):
            return self.over_provisioning
        return (1 + self.over_provisioning) * self.user_gib / used_gib - 1


def drives() -> dict[str, Drive]:
    """All named drives, by the name of their preset."""
    presets = json.loads(_core.registry())["presets"]
    return {
        one["name"]: Drive(one["name"], one["summary"], one["published"])
        for one in presets
        if one["name"].startswith(DRIVE)
    }
