"""Measurements of a drive, as its owner writes them down or as they were published."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path

from ssdlab.drives import sustained
from ssdlab.drives.sustained import Figure
from ssdlab.errors import ConfigError

US = 1000
"""Nanoseconds."""
KNEE_NS = 1_000_000
"""Above this 99th percentile of writes a load is beyond the knee."""

FORM: Mapping[str, tuple[str, Callable[[float], bool]]] = {
    "fill": ("a share of the user capacity, from 1e-9 to 1", lambda x: 1e-9 <= x <= 1),
    "waf": ("a write amplification from 1 to 1000", lambda x: 1 <= x <= 1000),
    "load": ("writes a second, at least 1", lambda x: x >= 1),
    "p50_us": ("a latency in microseconds, at least 1", lambda x: x >= 1),
    "p99_us": ("a latency in microseconds, at least 1", lambda x: x >= 1),
    sustained.PHASE: (
        f"a whole number from 1 to {sustained.MOST_PHASES}",
        lambda x: x in range(1, sustained.MOST_PHASES + 1),
    ),
    sustained.UNTIL: ("gigabytes, above 0", lambda x: x > 0),
    sustained.RATE: ("megabytes per second, at least 1", lambda x: x >= 1),
}
"""The columns of numbers: what is expected in words, and as a test."""
WORKLOADS = "uniform, zipf THETA shuffled, zipf THETA by rank, or zones COUNT"
FIT, TEST = "fit", "test"
COLUMNS = ("workload", "use", "source", *FORM)
LATENCY = ("load", "p50_us", "p99_us")
FEWEST = 2
"""Write amplifications: with one there is nothing to compare the fit with."""
NOISE = 0.05
"""Write amplification of uniform writes does not fall with the fill; so much less is noise."""
UNIFORM, ZIPF, RANKS, ZONES = "uniform", "zipf", "zipf by rank", "zones"
_SKEWED = re.compile(r"zipf (?P<theta>\S+) (?P<order>shuffled|by rank)")
_ZONED = re.compile(r"zones (?P<count>[1-9][0-9]{0,4})", re.ASCII)


@dataclass(frozen=True)
class Load:
    """Latencies of writes at an offered load."""

    rate: float
    """Requests a second."""
    p50: float
    """Nanoseconds, as `p99`."""
    p99: float
    fitted: bool = False


def knee_of(loads: Sequence[Load]) -> tuple[float, float] | None:
    """The middle of the knee and half its width; None if no load is on one side of it."""
    below = None
    for load in sorted(loads, key=lambda load_: load_.rate):
        if load.p99 > KNEE_NS:
            return None if below is None else ((below + load.rate) / 2, (load.rate - below) / 2)
        below = load.rate
    return None


@dataclass(frozen=True)
class Point:
    """A write amplification."""

    workload: str
    """`UNIFORM`, `ZIPF`, `RANKS` or `ZONES`."""
    at: float
    """Skew or active zones; of uniform writes the fill."""
    fill: float
    waf: float
    fitted: bool
    """Whether a fit may use it; otherwise it is held out."""


@dataclass(frozen=True)
class Measurements:
    """The measurements of a drive."""

    wafs: tuple[Point, ...]
    """Write amplifications, fills of uniform writes ascending."""
    loads: tuple[Load, ...]
    """Latencies of writes, loads ascending."""
    sustained: tuple[Figure, ...]
    """A sustained write, as its rows."""
    load_fill: float | None
    """The fill at which they were measured."""
    load_lines: tuple[int, ...]
    """Their lines in the file."""
    sources: tuple[str, ...]
    """Their sources, each once."""
    warnings: tuple[str, ...]

    def of(self, workload: str) -> list[Point]:
        """The write amplifications of a workload."""
        return [point for point in self.wafs if point.workload == workload]

    @property
    def points(self) -> list[tuple[float, float]]:
        """Fill and write amplification of uniform writes that a fit may use."""
        return [(point.fill, point.waf) for point in self.of(UNIFORM) if point.fitted]

    @property
    def below_knee(self) -> list[Load]:
        """The loads below the knee."""
        return [load for load in self.loads if load.p99 <= KNEE_NS]


class _Row:
    """A line of the file: its numbers by column, and what is wrong with it."""

    def __init__(self, file: str, line: int, cells: Mapping[str, str]) -> None:
        self.line = line
        self.place = f"{file}:{line}"
        self.values: dict[str, float] = {}
        self.errors: list[str] = []
        cells_ = {column: text.strip() for column, text in cells.items()}
        self.source = cells_.pop("source", "")
        self.mark = self._mark(cells_.pop("use", ""))
        self.workload, self.at = self._workload(cells_.pop("workload", ""))
        for column, text in cells_.items():
            if text:
                self._read(column, text)
        if not self.errors:
            self.errors.extend(f"{self.place}: {text}" for text in self._missing_errors())

    def _mark(self, text: str) -> str:
        if text not in ("", FIT, TEST):
            expected = f"expected {FIT!r}, {TEST!r} or nothing"
            self.errors.append(f"{self.place}: use: found {text!r}; {expected}")
        return text

    def _workload(self, text: str) -> tuple[str, float]:
        """The kind of a workload, and its skew or zones."""
        if skewed := _SKEWED.fullmatch(text):
            try:
                theta = float(skewed["theta"])
            except ValueError:
                theta = math.nan
            if 0 < theta < 10:
                return (ZIPF if skewed["order"] == "shuffled" else RANKS), theta
        if zoned := _ZONED.fullmatch(text):
            return ZONES, int(zoned["count"])
        if text not in ("", UNIFORM):
            self.errors.append(f"{self.place}: workload: found {text!r}; expected {WORKLOADS}")
        return UNIFORM, math.nan

    def _read(self, column: str, text: str) -> None:
        expected, fits = FORM[column]
        try:
            value = math.nan if "_" in text else float(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and fits(value):
            self.values[column] = value
        else:
            number = "a number: " if math.isnan(value) else ""
            hint = _unit_hint(value) if column.endswith("_us") else ""
            self.errors.append(
                f"{self.place}: {column}: found {text!r}; expected {number}{expected}{hint}"
            )

    def _missing_errors(self) -> Iterator[str]:
        columns = self.values.keys()
        if columns & {*sustained.COLUMNS}:
            yield from sustained.row_errors(columns)
            if self.workload != UNIFORM:
                yield "workload: a sustained write is sequential; leave it empty"
            return
        if "fill" not in columns:
            yield f"fill: missing; expected {FORM['fill'][0]}"
        latency = [column for column in LATENCY if column in columns]
        if latency and len(latency) < len(LATENCY):
            missing = ", ".join(column for column in LATENCY if column not in columns)
            yield f"{missing}: missing; load, p50_us and p99_us belong together"
        if not latency and "waf" not in columns:
            yield "waf: missing; expected a write amplification, or load, p50_us and p99_us"
        if latency and self.workload != UNIFORM:
            yield "workload: loads are of uniform writes; leave it empty"
        if len(latency) == len(LATENCY) and self.values["p99_us"] < self.values["p50_us"]:
            yield "p99_us: below p50_us; expected at least as much"

    def figures(self, fitted: bool) -> Iterator[Figure]:
        """Its figures of a sustained write."""
        phase = int(self.values.get(sustained.PHASE, 0))
        for column in (sustained.RATE, sustained.UNTIL):
            if column in self.values:
                yield Figure(column, phase, self.values[column], fitted)


def _unit_hint(latency: float) -> str:
    """In which unit a latency is that no drive has in microseconds, and what it is in these."""
    for unit, factor in (("milliseconds", 1e3), ("seconds", 1e6)):
        if latency < 1 <= latency * factor:
            return f": no drive is faster; if it is in {unit}, write {latency * factor:g}"
    return ""


def _unit_warnings(rows: Sequence[_Row]) -> Iterator[str]:
    """A warning if even the lowest load has a latency that is rather one in nanoseconds."""
    for row in rows[:1]:
        p50 = row.values["p50_us"]
        if p50 * US > KNEE_NS:
            yield (
                f"p50_us: {p50:g} (line {row.line}) is {p50 / 1000:,.9g} ms at the lowest load,"
                f" beyond the knee; if it is in nanoseconds, write {p50 / US:g}; otherwise measure"
                " at lower loads, too"
            )


def read(file: Path, fewest: int = FEWEST) -> Measurements:
    """The measurements in a file with at least `fewest` write amplifications of uniform writes.

    Raises `ConfigError` with everything that is wrong in it.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError([f"{file}: no such file"]) from None
    except IsADirectoryError:
        raise ConfigError([f"{file}: is a folder; expected a CSV file"]) from None
    except UnicodeDecodeError as error:
        raise ConfigError([f"{file}: byte {error.start} is not UTF-8; expected CSV"]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError([f"{file}: cannot be read: {reason}"]) from None
    measurements = parse(str(file), text)
    count = len(measurements.of(UNIFORM))
    if count < fewest:
        message = (
            f"{file}: waf: {count} of them; expected at least {fewest} of uniform writes, at"
            " different fills, as one point alone does not test a fit"
        )
        raise ConfigError([message])
    return measurements


def parse(file: str, text: str) -> Measurements:
    """The measurements in the text of a file. Raises `ConfigError`."""
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        table = [(lines.line_num, cells) for cells in lines if any(map(str.strip, cells))]
    except csv.Error as error:
        raise ConfigError([f"{file}:{lines.line_num}: not CSV: {error}"]) from None
    if not table:
        raise ConfigError([f"{file}: empty; expected a line with the columns fill and waf"])
    number, names = table[0]
    columns = _columns(f"{file}:{number}", names)
    rows, errors = [], []
    for number, cells in table[1:]:
        if len(cells) != len(columns):
            errors.append(
                f"{file}:{number}: expected {len(columns)} cells, as in the head; found"
                f" {len(cells)}"
            )
            continue
        rows.append(_Row(file, number, dict(zip(columns, cells, strict=True))))
    errors += [text for row in rows for text in row.errors]
    errors = errors or [*_order_errors(rows)] or [*_decline_errors(rows)]
    figures = [(row.place, figure) for row in rows for figure in row.figures(False)]
    errors = errors or [*sustained.order_errors(figures)]
    if errors:
        raise ConfigError(errors)
    return _measurements(rows)


def _columns(location: str, names: list[str]) -> list[str]:
    """The columns that a head names."""
    columns = [name.strip().lower() for name in names]
    errors = []
    for name in dict.fromkeys(columns):
        if name not in COLUMNS:
            matches = get_close_matches(name, COLUMNS, 1)
            hint = f"; did you mean {matches[0]!r}?" if matches else ""
            expected = ", ".join((*FORM, *COLUMNS[:3]))
            errors.append(f"{location}: unknown column {name!r}; expected {expected}{hint}")
        elif columns.count(name) > 1:
            errors.append(f"{location}: column {name!r} is there {columns.count(name)} times")
    needed = () if sustained.RATE in columns else ("fill", "waf")
    errors += [f"{location}: no column {name!r}" for name in needed if name not in columns]
    if errors:
        raise ConfigError(errors)
    return columns


def _order_errors(rows: list[_Row]) -> Iterator[str]:
    """Fills, and loads, that do not ascend."""
    for column in ("fill", "load"):
        mark = "waf" if column == "fill" else "load"
        uniform_rows = [row for row in rows if mark in row.values and row.workload == UNIFORM]
        for previous, row in pairwise(uniform_rows):
            last_value, value = previous.values[column], row.values[column]
            if value == last_value:
                yield f"{row.place}: {column}: {value:g} again; give each {column} once"
            elif value < last_value:
                order = f"{value:g} after {last_value:g}"
                yield f"{row.place}: {column}: {order}; expected ascending order"
    with_load = [row for row in rows if "load" in row.values]
    for row in with_load[1:]:
        if row.values["fill"] != with_load[0].values["fill"]:
            reference = f"{with_load[0].values['fill']:g} as in {with_load[0].place}"
            expected = f"expected {reference}: loads at one fill"
            yield f"{row.place}: fill: {row.values['fill']:g}; {expected}"


def _declines(rows: list[_Row]) -> Iterator[tuple[float, _Row, _Row]]:
    """Write amplifications below one at a lower fill: by which share, the row, the highest."""
    with_waf = [row for row in rows if "waf" in row.values and row.workload == UNIFORM]
    if not with_waf:
        return
    highest = with_waf[0]
    for row in with_waf[1:]:
        if row.values["waf"] < highest.values["waf"]:
            yield 1 - row.values["waf"] / highest.values["waf"], row, highest
        else:
            highest = row


def _decline_errors(rows: list[_Row]) -> Iterator[str]:
    for share, row, highest in _declines(rows):
        if share > NOISE:
            yield (
                f"{row.place}: waf: {row.values['waf']:g} after {highest.values['waf']:g} in"
                f" {highest.place}; expected at least as much at a higher fill, or at most"
                f" {100 * NOISE:g} % less, as noise"
            )


def _measurements(rows: list[_Row]) -> Measurements:
    with_load = [row for row in rows if "load" in row.values]
    worst = max(_declines(rows), key=lambda decline: decline[0], default=None)
    warnings = [*_unit_warnings(with_load)]
    if worst is not None:
        share, row, highest = worst
        warnings.append(
            f"write amplification falls with the fill, by up to {100 * share:.2g} %"
            f" (line {row.line}, below line {highest.line}): taken as noise"
        )
    # Rows without a mark are fitted, unless some rows are marked `fit`.
    fit_marks = {FIT} if any(row.mark == FIT for row in rows) else {""}
    return Measurements(
        wafs=tuple(
            Point(
                row.workload,
                row.values["fill"] if row.workload == UNIFORM else row.at,
                row.values["fill"],
                row.values["waf"],
                row.mark in fit_marks,
            )
            for row in rows
            if "waf" in row.values
        ),
        loads=tuple(
            Load(
                row.values["load"],
                row.values["p50_us"] * US,
                row.values["p99_us"] * US,
                row.mark in fit_marks,
            )
            for row in with_load
        ),
        sustained=tuple(figure for row in rows for figure in row.figures(row.mark in fit_marks)),
        load_fill=with_load[0].values["fill"] if with_load else None,
        load_lines=tuple(row.line for row in with_load),
        sources=tuple(dict.fromkeys(row.source for row in rows if row.source)),
        warnings=tuple(warnings),
    )
