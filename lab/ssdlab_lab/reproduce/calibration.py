"""What was fixed before the proposed scheme of a paper was run, kept in a file next to the paper.

A paper gives neither its traces nor their arrival times. `python -m ssdlab_lab.reproduce.calibrate`
determines the synthetic requests from published numbers that do not involve the proposed scheme,
and writes them into `calibration.json` in the folder of the paper. A calibration for another
version of ssdlab or for another device is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab.config.drives import digest_of
from ssdlab.config.resolve import load_config
from ssdlab.errors import ConfigError
from ssdlab_lab.reproduce.matrix import Scheme

FORMAT = 1
"""Version of the file."""
FILE = "calibration.json"
AS_RUN = "as run"
"""The entry of the main runs; the others are named after readings."""
TABLES = ("device", "timing", "interconnect", "alloc", "sched", "controller", "gc", "raid")
"""Tables of a configuration that define the device and its policies, not what the host does."""


@dataclass(frozen=True)
class Lifetimes:
    """How long the data of a workload live."""

    live: float
    """Share of the raw flash that the volume takes."""
    written: float
    """How often the host writes the raw flash."""
    journal_run: int
    """Writes by which the journal is ahead of its share, and behind it."""
    table_skew: float
    """Skew of the overwrites of tables."""
    invalid_70: tuple[float | None, float]
    """Percent of the blocks written that are 70 % invalid at the end: published, if it is, and
    here."""
    invalid_90: tuple[float | None, float]
    """The same for blocks that are 90 % invalid."""


@dataclass(frozen=True)
class Arrivals:
    """When the requests of a workload arrive, on one baseline."""

    cycle: int
    """Requests of a cycle: the length of surges."""
    interval_us: float
    """Mean time between requests."""
    mean_ms: tuple[float | None, float | None]
    """Mean write latency of the baseline: published, and here. No value here: the arrivals are
    those of the small device, and have not been checked on this one. No value in either place: they
    are not determined by a published mean."""
    longest_ms: tuple[float | None, float | None]
    """Its longest write latency: published, if it is, and here."""


@dataclass(frozen=True)
class Entry:
    """One baseline: a size and a reading."""

    device: str
    """Digest of the device and policies of the baseline."""
    arrivals: Mapping[str, Arrivals]
    """By workload."""

    @property
    def checked(self) -> bool:
        """Whether all arrivals were found on this baseline."""
        return all(arrival.mean_ms[1] is not None for arrival in self.arrivals.values())


@dataclass(frozen=True)
class Calibration:
    """Everything that was fixed for a paper."""

    paper: str
    ssdlab: str
    """Version."""
    date: str
    """When it was started, before the first run of the proposed scheme on these requests."""
    lifetimes: Mapping[str, Lifetimes]
    """By workload."""
    entries: Mapping[str, Entry]
    """By size and reading, see `entry_name`."""

    def keys(
        self, baseline: Scheme, divisor: int, reading: str, workload: str
    ) -> tuple[Lifetimes, Arrivals]:
        """What was fixed for a workload. Raises `ConfigError` if it is for another device."""
        name = entry_name(divisor, reading)
        entry = self.entries.get(name)
        if entry is None or workload not in entry.arrivals or workload not in self.lifetimes:
            raise refused(self.paper, f"has nothing for {workload}, {name}")
        if entry.device != device_of(baseline):
            raise refused(self.paper, f"was made for another device ({name})")
        return self.lifetimes[workload], entry.arrivals[workload]

    def to_json(self) -> str:
        """The text of the file."""
        values = {"format": FORMAT, "command": command(self.paper), **asdict(self)}
        return json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def command(paper: str) -> str:
    """What makes a calibration."""
    return f"python -m ssdlab_lab.reproduce.calibrate {paper}"


def entry_name(divisor: int, reading: str) -> str:
    """Key of an entry: the device and the requests are divided by `divisor`."""
    return f"1/{divisor}, {reading}"


def device_of(baseline: Scheme) -> str:
    """Digest of a device and its policies."""
    values = load_config(None, preset=baseline.preset, set=baseline.keys).values
    tables = (table for table in TABLES if table in values)
    return digest_of(
        {f"{table}.{key}": values[table][key] for table in tables for key in values[table]}
    )


def refused(paper: str, reason: str) -> ConfigError:
    """The error that a calibration cannot be used, and the command that repeats it."""
    return ConfigError([f"the calibration of {paper} {reason}; make it anew: {command(paper)}"])


def file_of(paper: str) -> Path:
    """The path of the calibration of a paper."""
    return Path(__file__).parent / "papers" / paper.replace("-", "_") / FILE


def parsed(paper: str, text: str) -> Calibration:
    """The calibration in the text of a file. Raises `ConfigError`."""
    try:
        values: dict[str, Any] = json.loads(text)
        if values["format"] != FORMAT or values["ssdlab"] != _core.__version__:
            version = f"ssdlab {values['ssdlab']}, format {values['format']}"
            raise refused(paper, f"was made by {version}; this is {_core.__version__}, {FORMAT}")
        if values["paper"] != paper:
            raise refused(paper, f"is that of {values['paper']}")
        return Calibration(
            paper=paper,
            ssdlab=values["ssdlab"],
            date=values["date"],
            lifetimes={name: _lifetimes(entry) for name, entry in values["lifetimes"].items()},
            entries={
                name: Entry(
                    entry["device"],
                    {
                        workload: arrivals(calibrated)
                        for workload, calibrated in entry["arrivals"].items()
                    },
                )
                for name, entry in values["entries"].items()
            },
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refused(paper, f"is damaged ({type(error).__name__}: {error})") from error


def _lifetimes(values: Mapping[str, Any]) -> Lifetimes:
    pairs = {key: tuple(values[key]) for key in ("invalid_70", "invalid_90")}
    return Lifetimes(**{**values, **pairs})


def arrivals(values: Mapping[str, Any]) -> Arrivals:
    """What was fixed for a workload on one baseline, from JSON."""
    pairs = {key: tuple(values[key]) for key in ("mean_ms", "longest_ms")}
    return Arrivals(**{**values, **pairs})


@cache
def calibration_of(paper: str) -> Calibration:
    """The calibration of a paper. Raises `ConfigError` if it is missing or of another version."""
    try:
        text = file_of(paper).read_text(encoding="utf-8")
    except OSError as error:
        raise refused(paper, f"cannot be read: {error.strerror}") from error
    return parsed(paper, text)
