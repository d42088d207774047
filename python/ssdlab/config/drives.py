"""The drive from which a configuration comes: its name, and its errors against measurements.

Both are noted in the configuration (`run.drive`), so that every report names its drive. Errors
belong to one machine: a configuration that describes another machine notes that they do not apply.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab.config.published import configuration, published
from ssdlab.display.argument import argument
from ssdlab.display.numbers import difference
from ssdlab.display.words import join_names
from ssdlab.errors import ConfigError

ERRORS_FILE = "drive_errors.json"
"""The file in this folder with the errors of the named drives, from `ssdlab drives compare`."""
ENDING = ".errors.json"
"""The ending of the file with the errors of a user's drive, which is next to the drive."""
NAMED = 3
"""The most keys that a note names if a configuration differs from its drive."""
_DRIVING = (
    *("mode", "queue_depth", "think_time", "think_every", "stop_after"),
    *("max_outstanding", "queues"),
)
"""Keys of `[host]` that describe how the drive is driven, not what it is."""
_OF_THE_RUN = ("preset", "run", "workload", "precondition", "metrics", "power")
_ONLY_TIMED = ("timing", "host", "sched", "controller", "energy")


UNTIMED: Mapping[str, object] = {
    "host.link_rate": "unlimited",
    "host.write_buffer_pages": 0,
    "controller.host_ecc_time": "0 ns",
    "controller.retry_probability": 0.0,
    "controller.retry_growth": 0.0,
    "energy.read": "0 mW",
    "energy.program": "0 mW",
    "energy.erase": "0 mW",
    "energy.bus": "0 mW",
    "energy.idle": "0 mW",
    "metrics.tenants": False,
}
"""What a drive has that has no effect without time, switched off."""


@dataclass(frozen=True)
class Errors:
    """Errors of the predictions for a drive; None without a measurement, or if a run is missing."""

    uniform: float | None = None
    """Mean of the absolute relative errors of write amplification under uniform writes.

    With `residual` each point is predicted by a fit to the others.
    """
    skewed: float | None = None
    """The same mean under Zipf and under writes to zones."""
    knee: float | None = None
    """Relative error of the middle of its knee."""
    p50: float | None = None
    """The largest relative error of the median write latency at loads below the knee."""
    p99: float | None = None
    """The largest relative error of the 99th percentile at these loads."""
    residual: float | None = None
    """Mean of the absolute relative residuals of the fit to uniform writes.

    None if a point was held out, as it tells more.
    """
    sustained: float | None = None
    """Relative error of the mean rate at which the empty drive is filled."""
    folding: float | None = None
    """The largest relative error of the volumes at which the rate is predicted to change."""

    def text(self) -> str:
        """The errors in words."""
        is_held_out = self.residual is None
        uniform_basis = "under uniform writes" if is_held_out else "with each point left out"
        wafs = [
            f"{100 * error:.1f} % {basis}"
            for error, basis in (
                (self.residual, "in the fit"),
                (self.uniform, uniform_basis),
                (self.skewed, "under skewed writes"),
            )
            if error is not None
        ]
        clauses = [f"write amplification off by {join_names(wafs)}"] if wafs else []
        clauses += [] if is_held_out else ["no point held out"]
        others = {
            "knee": self.knee,
            "p50": self.p50,
            "p99": self.p99,
            "rate of filling it": self.sustained,
            "start of folding": self.folding,
        }
        clauses += [
            f"{name} {difference(error, 0)}" for name, error in others.items() if error is not None
        ]
        return ", ".join(clauses) or "not compared"


@dataclass(frozen=True)
class MachineErrors:
    """Errors, and the machine whose errors they are."""

    errors: Errors
    machine: str
    """Digest of `machine`."""

    def json(self) -> dict[str, object]:
        """The values as they are stored."""
        return {"machine": self.machine, **asdict(self.errors)}

    @staticmethod
    def of(values: Mapping[str, Any]) -> MachineErrors:
        """The inverse of `json`."""
        added = ("residual", "sustained", "folding")  # Files of earlier versions lack these.
        names = [field.name for field in fields(Errors) if field.name not in added]
        errors = Errors(
            **{name: values[name] for name in names}, **{name: values.get(name) for name in added}
        )
        return MachineErrors(errors, str(values["machine"]))


def machine(values: Mapping[str, Any]) -> dict[str, object]:
    """The keys of a resolved configuration that define the drive, with their values.

    In functional mode these are the keys on which write amplification depends.
    """
    excluded = _OF_THE_RUN + (_ONLY_TIMED if values["run"]["mode"] == "functional" else ())
    keys_with_values: dict[str, object] = {}
    for table, keys in values.items():
        if table not in excluded:
            keys_with_values |= {f"{table}.{key}": value for key, value in keys.items()}
    return {
        key: value
        for key, value in keys_with_values.items()
        if _is_of_machine(key.removesuffix("_ns"))
    }


def machine_digest(values: Mapping[str, Any]) -> str:
    """The digest of `machine`."""
    return digest_of(machine(values))


def digest_of(keys: Mapping[str, object]) -> str:
    """The digest of the keys, with their values, that do not have their defaults.

    It stays the same when a feature is added whose keys are off by default. A changed default
    requires a new version of the results.
    """
    changed = {key: value for key, value in keys.items() if _defaults().get(key, ...) != value}
    text = json.dumps(changed, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _defaults() -> Mapping[str, object]:
    """The keys of `machine` with their defaults."""
    return machine(json.loads(_core.load(None, None, [])))


@cache
def named_errors() -> dict[str, MachineErrors]:
    """The errors of the named drives, as in docs/drives.md, by name."""
    text = files("ssdlab.config").joinpath(ERRORS_FILE).read_text(encoding="utf-8")
    return {name: MachineErrors.of(values) for name, values in json.loads(text).items()}


def errors_file(drive: Path) -> Path:
    """The file with the errors of a user's drive."""
    return drive.with_suffix(ENDING)


def errors_beside(drive: Path) -> MachineErrors | None:
    """The errors of a user's drive, if it has been compared.

    Raises `ConfigError` if they cannot be read.
    """
    file = errors_file(drive)
    try:
        return MachineErrors.of(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        command = f"ssdlab drives compare {argument(drive=str(drive))}"
        message = f"{file}: not the errors of a drive; delete it, or rewrite it: {command}"
        raise ConfigError([message]) from None


@cache
def named_titles() -> Mapping[str, str]:
    """The titles of the named drives, by preset."""
    presets = json.loads(_core.registry())["presets"]
    return {
        preset["name"]: preset["published"]["title"] for preset in presets if preset["published"]
    }


def is_title(text: str) -> bool:
    """Whether a drive may have this title: one line, without parentheses, which notes use."""
    return bool(text.strip()) and text.isprintable() and "(" not in text


def own_title(name: str, text: str) -> str | None:
    """The title in the file `name` of a drive; None if it has none. Raises `ConfigError`."""
    title = published(name, text).get("title")
    if title is None:
        return None
    if not (isinstance(title, str) and is_title(title)):
        message = (
            f"{name}: [published] title: found {title!r}; expected the name of the drive, without"
            " parentheses"
        )
        raise ConfigError([message])
    missing = _missing_figures(text)
    if missing:
        _check_keys(name, text)
        message = (
            f"{name}: {title!r} lacks {', '.join(missing)}: state what is missing, or begin the"
            ' file with the drive that it resembles, such as preset = "drive:samsung-pm9a3"'
        )
        raise ConfigError([message])
    return title


def _check_keys(name: str, text: str) -> None:
    """Raise `ConfigError` for keys that do not exist: the figure may be present but misspelt."""
    try:
        _core.load(None, (name, configuration(text)), [])
    except _core.ConfigError as error:
        unknown = [message for message in error.args[0] if "unknown key" in message]
        if unknown:
            raise ConfigError(unknown) from None


FIGURES = {
    "device": (
        "channels",
        "chips_per_channel",
        "planes_per_chip",
        "blocks_per_plane",
        "pages_per_block",
        "page_size",
    ),
    "timing": ("read", "program", "erase"),
}
"""Keys that a named drive must state, by table: assumed values would make it another drive."""
SIZES = ("over_provisioning", "user_capacity")
"""Keys of `[device]` of which it must state one."""


def _missing_figures(text: str) -> list[str]:
    """The figures that are missing from a file without a preset."""
    try:
        tables = json.loads(_core.toml_json(configuration(text)))
    except _core.ConfigError:
        return []  # The resolver says what is wrong, and in which line.
    if "preset" in tables:
        return []
    missing = [
        f"{table}.{key}"
        for table, keys in FIGURES.items()
        for key in keys
        # The mean of the times of all types stands for the time of a page.
        if not {key, f"{key}_types"} & {*tables.get(table, {})}
    ]
    stated_sizes = {*SIZES} & {*tables.get("device", {})}
    return missing if stated_sizes else [*missing, " or ".join(f"device.{key}" for key in SIZES)]


@dataclass(frozen=True)
class Origin:
    """The drive from which a configuration comes."""

    title: str
    known_as: str
    """The name of its preset, or its file."""
    values: Mapping[str, Any]
    """Its own configuration."""
    compared: MachineErrors | None
    """Its errors, if it has been compared."""

    def note(self, values: Mapping[str, Any], varied: Iterable[str] = ()) -> str:
        """The note of a configuration on this drive, whose runs differ in the keys in `varied`."""
        drive = f"{self.title} ({self.known_as};"
        changed_keys = [*self._changed_keys(values), *filter(_is_of_machine, varied)]
        if self.compared is None or self.compared.errors == Errors():
            value_note = (
                f" with other values of {_join_keys(changed_keys)};" if changed_keys else ""
            )
            return f"{drive}{value_note} not compared)"
        if self.compared.machine != machine_digest(self.values):
            return f"{drive} its keys have changed since it was compared)"
        errors = self.compared.errors.text()
        if changed_keys:
            return f"{drive} its errors do not apply to other values of {_join_keys(changed_keys)})"
        return f"{drive} against measurements: {errors})"

    def _changed_keys(self, values: Mapping[str, Any]) -> Iterator[str]:
        values_, drive_values = machine(values), machine({**self.values, "run": values["run"]})
        yield from (key for key in values_ if values_[key] != drive_values.get(key))


@dataclass(frozen=True)
class NotedDrive:
    """A drive known only from the note in a configuration."""

    text: str
    values: Mapping[str, Any]
    """The configuration."""

    def note(self, values: Mapping[str, Any], varied: Iterable[str] = ()) -> str:
        """As `Origin.note`."""
        is_same = machine(values) == machine({**self.values, "run": values["run"]})
        if is_same and not any(map(_is_of_machine, varied)):
            return self.text
        return f"{title_of(self.text)} (changed; its errors do not apply)"


def _is_of_machine(key: str) -> bool:
    """Whether a key is part of the drive, not of how it is driven."""
    table, _, name = key.partition(".")
    return table not in _OF_THE_RUN and not (table == "host" and name in _DRIVING)


def _join_keys(keys: list[str]) -> str:
    text = ", ".join(keys[:NAMED])
    omitted = len(keys) - NAMED
    return f"{text} and {omitted} more" if omitted > 0 else text


CHANGED = (" other values of ", " (changed;")
"""The text of notes on a configuration that is not the drive itself."""


def is_changed(note: str) -> bool:
    """Whether a configuration differs from the drive that its note names."""
    return any(words in note for words in CHANGED)


def title_of(note: str) -> str:
    """The name of the drive in a note."""
    return note.partition(" (")[0]
