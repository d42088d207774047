"""What a run leaves: report, geometry, log lines; and where violations go."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

OPS = "ops.csv.zst"
REQUESTS = "requests.csv.zst"
STATE = "state.csv.zst"
POWER = "power.csv.zst"
REPORT = "report.json"
PLACE_COLUMNS = ("channel", "chip", "plane", "block", "page")
OP_COLUMNS = (
    *("op", "cause", *PLACE_COLUMNS, "lpn", "sequence", "request", "queued", "start", "end"),
    *("bus_start", "bus_end", "array_start", "array_end"),
)
PARTS = ("queue", "chip", "transfer", "gc_wait", "metadata")
REQUEST_COLUMNS = (
    *("id", "volume", "stream", "op", "lpn", "pages", "arrival", "completion", *PARTS),
)
POWER_COLUMNS = (
    *("event", "start", "end", "channel", "chip", "plane", "block", "pages", "outcome"),
)
STATE_COLUMNS = (*PLACE_COLUMNS, "lpn", "sequence", "valid")
OP_KINDS = ("read", "program", "erase")
COPIES = ("gc", "wear", "fold")
"""Causes of the copies of collected blocks."""
CAUSES = (
    "host",
    "gc",
    "rmw",
    "wear",
    "parity",
    "metadata",
    "remap",
    "reconstruct",
    "rebuild",
    "fold",
)
REQUEST_KINDS = ("read", "write", "trim", "flush", "copy")
LARGEST_ID = 2**27
LARGEST_DEVICE = 2**33
"""Pages."""
SIZES = ("channels", "chips_per_channel", "planes_per_chip", "blocks_per_plane", "pages_per_block")
UNITS_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


class UnreadableError(Exception):
    """The input is missing, malformed or not what the contract says: exit code 2."""


class Findings:
    """Violations so far: prints the first `limit` of each rule and counts all."""

    def __init__(self, limit: int) -> None:
        """Start without any."""
        self.limit = limit
        self.counts: Counter[str] = Counter()
        self.compared: set[str] = set()
        """Keys of report.json that were compared with a recomputed value."""
        self.places: set[str] = set()
        """Where violations are."""

    def look(self, path: str) -> None:
        """Note that the value at `path` of report.json is compared."""
        self.compared.add(path)

    def add(self, rule: str, place: str, expected: object, actual: object) -> None:
        """Record that `rule` is broken at `place` (file:line, or report.json:key)."""
        self.counts[rule] += 1
        self.places.add(place)
        if self.counts[rule] <= self.limit:
            print(f"{rule} {place}: expected {expected}, found {actual}")


class Report:
    """report.json with lookup by dotted path."""

    def __init__(self, values: dict[str, Any]) -> None:
        """Wrap the parsed JSON."""
        self.values = values

    @staticmethod
    def read(folder: Path) -> Report:
        """Read the report of the run in `folder`."""
        try:
            values = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            message = f"{REPORT}: {error}"
            raise UnreadableError(message) from error
        if not isinstance(values, dict):
            message = f"{REPORT}: not an object"
            raise UnreadableError(message)
        return Report(values)

    def get(self, path: str) -> Any:  # noqa: ANN401 - JSON holds any type
        """Return what stands at `a.b.c` (`a.0` in a list), None where there is nothing."""
        value: Any = self.values
        for key in path.split("."):
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            else:
                return None
        return value

    def number(self, path: str) -> float | None:
        """Return the number at `path`, None where there is nothing or null."""
        value = self.get(path)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            message = f"{REPORT}:{path}: expected a number, found {value!r}"
            raise UnreadableError(message)
        return value

    def whole(self, path: str, default: int | None = None) -> int:
        """Return the integer at `path`; without a default it must be there."""
        value = self.get(path)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            message = f"{REPORT}:{path}: expected an integer, found {value!r}"
            raise UnreadableError(message)
        return value

    def duration(self, path: str) -> float:
        """Return the time (ns) at `path`, a number in ns or a string with unit; 0 if absent."""
        value = self.get(path)
        if isinstance(value, int | float):
            return float(value)
        match = re.fullmatch(r"\s*([\d.]+)\s*(ns|us|ms|s)\s*", str(value or "0 ns"))
        if match is None:
            message = f"{REPORT}:{path}: expected a time, found {value!r}"
            raise UnreadableError(message)
        return float(match[1]) * UNITS_NS[match[2]]


@dataclass(frozen=True)
class Geometry:
    """Shape of the device and what one operation occupies."""

    channels: int
    chips: int
    planes: int
    blocks: int
    pages: int
    busy_unit: str

    @cached_property
    def unit_depth(self) -> int:
        """How many of channel, chip and plane name a busy unit."""
        return {"channel": 1, "chip": 2, "plane": 3}[self.busy_unit]

    @staticmethod
    def of(report: Report) -> Geometry:
        """Read it from the resolved config."""
        unit = report.get("config.timing.busy_unit")
        if unit not in ("channel", "chip", "plane"):
            message = f"{REPORT}:config.timing.busy_unit: {unit!r}"
            raise UnreadableError(message)
        sizes = [report.whole(f"config.device.{key}") for key in SIZES]
        if min(sizes) < 1 or math.prod(sizes) > LARGEST_DEVICE:
            message = f"{REPORT}:config.device: impossible sizes {sizes}"
            raise UnreadableError(message)
        channels, chips, planes, blocks, pages = sizes
        return Geometry(channels, chips, planes, blocks, pages, unit)

    def holds(self, channel: int, chip: int, plane: int, block: int, page: int) -> bool:
        """Tell whether such a page exists."""
        return (
            0 <= channel < self.channels
            and 0 <= chip < self.chips
            and 0 <= plane < self.planes
            and 0 <= block < self.blocks
            and 0 <= page < self.pages
        )

    def block_number(self, channel: int, chip: int, plane: int, block: int) -> int:
        """Return the number of a block over the whole device."""
        return ((channel * self.chips + chip) * self.planes + plane) * self.blocks + block

    @property
    def all_blocks(self) -> int:
        """Blocks of the device."""
        return self.channels * self.chips * self.planes * self.blocks


class Op(NamedTuple):
    """One line of ops.csv; -1 where a number is empty."""

    line: int
    kind: str
    cause: str
    channel: int
    chip: int
    plane: int
    block: int
    page: int
    lpn: int
    sequence: int
    request: int
    queued: int
    start: int
    end: int
    bus_start: int
    bus_end: int
    array_start: int
    array_end: int
    cut: bool = False
    """A power cut has ended it."""

    def unit(self, depth: int) -> tuple[int, ...]:
        """Return its busy unit, of `depth` numbers: channel, chip and plane."""
        return (self.channel, self.chip, self.plane)[:depth]

    @property
    def place(self) -> str:
        """Where it is logged: what a mount erases is in the log of power."""
        return f"{POWER if self.cause == 'mount' else OPS}:{self.line}"


def rows(path: Path, columns: tuple[str, ...], *optional: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields in the order of `columns`) of a compressed CSV file.

    `optional`: further columns, empty where the file has none.
    """
    line = 1
    try:
        with path.open("rb") as compressed:
            stream = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
            reader = csv.reader(io.TextIOWrapper(stream, encoding="utf-8", newline=""))
            header = next(reader, [])
            missing = [name for name in columns if name not in header]
            if missing:
                message = f"{path.name}:1: columns missing: {', '.join(missing)}"
                raise UnreadableError(message)
            order = [header.index(name) for name in columns]
            width = len(header)
            order += [header.index(name) if name in header else width for name in optional]
            is_ordered = order == list(range(width))
            for line, fields in enumerate(reader, start=2):
                if len(fields) != width:
                    message = f"{path.name}:{line}: {len(fields)} fields instead of {width}"
                    raise UnreadableError(message)
                if not is_ordered:
                    fields.append("")
                    fields = [fields[index] for index in order]
                yield line, fields
    except (OSError, UnicodeDecodeError, csv.Error, zstandard.ZstdError) as error:
        message = f"{path.name}:{line}: {error}"
        raise UnreadableError(message) from error


def numbers(file: str, line: int, fields: list[str]) -> list[int]:
    """Return the fields as integers >= 0, -1 where empty."""
    try:
        values = [int(text) if text else -1 for text in fields]
    except ValueError as error:
        message = f"{file}:{line}: {error}"
        raise UnreadableError(message) from error
    if "-1" in fields or min(values) < -1:
        message = f"{file}:{line}: negative number"
        raise UnreadableError(message)
    return values


class Table(dict[str, "array[int]"]):
    """Integer columns indexed by a number that grows as needed; -1 where nothing was stored."""

    def __init__(self, *columns: str) -> None:
        """Start with these columns, empty."""
        super().__init__((name, array("q")) for name in columns)
        self.size = 0

    def reach(self, index: int) -> None:
        """Make `index` valid in every column."""
        if index >= self.size:
            growth = max(index + 1 - self.size, self.size // 2, 1024)
            for column in self.values():
                column.extend([-1] * growth)
            self.size += growth
