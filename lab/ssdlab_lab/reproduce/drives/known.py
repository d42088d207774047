"""Drives and their measurements: the named drives, and those in files of users."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab.config.drives import own_title
from ssdlab.config.published import published
from ssdlab.config.resolve import DRIVE, Config, drive_preset, load_config, preset_names
from ssdlab.display.argument import argument
from ssdlab.drives import unknowns
from ssdlab.drives.fit import Shape
from ssdlab.drives.measurements import UNIFORM, Load, Measurements, knee_of, parse, read
from ssdlab.errors import ConfigError

GIB = 1 << 30


@dataclass(frozen=True)
class Drive:
    """A drive and its measurements."""

    name: str
    """The name of its preset, or its file."""
    title: str
    """Its usual name."""
    measured: Measurements = field(hash=False)
    published: Mapping[str, Any] = field(hash=False)
    """The table of its file."""

    @property
    def is_named(self) -> bool:
        """Whether it comes with ssdlab."""
        return self.name in preset_names()

    @property
    def fitted(self) -> float | None:
        """The fill of the point on which raw capacity is fitted; None unless it is exactly one."""
        fills = [point.fill for point in self.measured.of(UNIFORM) if point.fitted]
        return fills[0] if len(fills) == 1 else None

    @property
    def is_fitted(self) -> bool:
        """Whether its raw capacity follows from write amplifications."""
        return "raw" not in self.published and any(
            point.fitted for point in self.measured.of(UNIFORM)
        )

    @property
    def uniform(self) -> dict[float, float]:
        """Write amplification of uniform writes by fill."""
        return {point.fill: point.waf for point in self.measured.of(UNIFORM)}

    @property
    def loads(self) -> Sequence[Load]:
        """Latencies at the loads that were measured."""
        return self.measured.loads

    @property
    def knee(self) -> tuple[float, float] | None:
        """Its measured knee, as in `knee_of`."""
        return knee_of(self.loads)

    @property
    def busy(self) -> float | None:
        """Writes a second at which all planes are always busy, if they are serial."""
        fill = self.measured.load_fill
        if fill is None:
            return None
        return unknowns.busy_rate(self.config, self.shape.waf(self.spare_at(fill)))

    @property
    def unknown(self) -> list[str]:
        """What was not known."""
        return list(self.published.get("unknown", ()))

    @cached_property
    def config(self) -> Config:
        """At full size."""
        return load_config(self.name)

    @property
    def user_gib(self) -> float:
        """Its capacity."""
        device = self.config.values["device"]
        return float(device["user_pages"] * device["page_bytes"]) / GIB

    @property
    def shape(self) -> Shape:
        """What the fit needs of it."""
        return Shape.of(self.config)

    @property
    def over_provisioning(self) -> float:
        """(raw - user) / user."""
        device = self.config.values["device"]
        return self.shape.raw_pages(device) / float(device["user_pages"]) - 1

    def spare_at(self, fill: float) -> float:
        """Over-provisioning if only this share of it is used."""
        return (1 + self.over_provisioning) / fill - 1


@cache
def drives() -> Mapping[str, Drive]:
    """All named drives, by the name of their preset."""
    presets = json.loads(_core.registry())["presets"]
    return {
        entry["name"]: Drive(
            entry["name"],
            entry["published"]["title"],
            parse(f"{entry['name'].removeprefix(DRIVE)}.csv", entry["measured"]),
            entry["published"],
        )
        for entry in presets
        if entry["measured"] is not None
    }


def drive_of(name: str) -> Drive:
    """The drive that `--drive` names: a named drive, or a file with its CSV file beside it.

    Raises `ConfigError`.
    """
    if Path(name).suffix != ".toml":
        available, option = drives(), argument(drive=name)
        if name in preset_names() and name not in available:
            names = ", ".join(preset.removeprefix(DRIVE) for preset in available)
            raise ConfigError([f"{option}: it has no measurements; there are those of: {names}"])
        return available[drive_preset(name, option, available)]
    load_config(name)
    file = Path(name)
    text = file.read_text(encoding="utf-8")
    csv_file = file.with_suffix(".csv")
    if not csv_file.exists():
        message = (
            f"{argument(drive=name)}: {csv_file}: no such file; expected the measurements of the"
            " drive, as `ssdlab drives calibrate` reads them"
        )
        raise ConfigError([message])
    return Drive(name, own_title(name, text) or file.stem, read(csv_file, 0), published(name, text))
