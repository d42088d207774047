"""Measurements of a drive, as its owner writes them down."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path

from ssdlab.errors import ConfigError
from ssdlab.reproduce.drives.known import US, Load

FORM: Mapping[str, tuple[str, Callable[[float], bool]]] = {
    "fill": ("a share of the user capacity, from 1e-9 to 1", lambda x: 1e-9 <= x <= 1),
    "waf": ("a write amplification from 1 to 1000", lambda x: 1 <= x <= 1000),
    "load": ("writes a second, at least 1", lambda x: x >= 1),
    "p50_us": ("a latency in microseconds, above 0", lambda x: x > 0),
    "p99_us": ("a latency in microseconds, above 0", lambda x: x > 0),
}
"""The columns: what is expected, and whether a number is that."""
LATENCY = ("load", "p50_us", "p99_us")
FEWEST = 2
"""Write amplifications: with one there is nothing to compare the fit with."""
NOISE = 0.05
"""Write amplification of uniform writes does not fall with the fill; so much less is noise."""


@dataclass(frozen=True)
class Measurements:
    """What a drive did."""

    points: tuple[tuple[float, float], ...]
    """Fill and write amplification, fills ascending."""
    loads: tuple[Load, ...]
    """Latencies of writes, loads ascending."""
    load_fill: float | None
    """The fill at which they were measured."""
    load_lines: tuple[int, ...]
    """Their lines in the file."""
    warnings: tuple[str, ...]


class _Row:
    """A line of the file: its numbers by column, and what is wrong with it."""

    def __init__(self, file: Path, line: int, cells: Mapping[str, str]) -> None:
        self.line = line
        self.place = f"{file}:{line}"
        self.values: dict[str, float] = {}
        self.wrong: list[str] = []
        for column, text in cells.items():
            if text.strip():
                self._read(column, text.strip())
        if not self.wrong:
            self.wrong.extend(f"{self.place}: {text}" for text in self._missing())

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
            self.wrong.append(
                f"{self.place}: {column}: found {text!r}; expected {number}{expected}"
            )

    def _missing(self) -> Iterator[str]:
        has = self.values.keys()
        if "fill" not in has:
            yield f"fill: missing; expected {FORM['fill'][0]}"
        latency = [column for column in LATENCY if column in has]
        if latency and len(latency) < len(LATENCY):
            missing = ", ".join(column for column in LATENCY if column not in has)
            yield f"{missing}: missing; load, p50_us and p99_us belong together"
        if not latency and "waf" not in has:
            yield "waf: missing; expected a write amplification, or load, p50_us and p99_us"
        if len(latency) == len(LATENCY) and self.values["p99_us"] < self.values["p50_us"]:
            yield "p99_us: below p50_us; expected at least as much"


def read(file: Path) -> Measurements:
    """The measurements in a file. Raises `ConfigError` with everything that is wrong in it."""
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
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        found = [(lines.line_num, cells) for cells in lines if any(map(str.strip, cells))]
    except csv.Error as error:
        raise ConfigError([f"{file}:{lines.line_num}: not CSV: {error}"]) from None
    if not found:
        raise ConfigError([f"{file}: empty; expected a line with the columns fill and waf"])
    number, names = found[0]
    columns = _columns(f"{file}:{number}", names)
    rows, wrong = [], []
    for number, cells in found[1:]:
        if len(cells) != len(columns):
            wrong.append(
                f"{file}:{number}: expected {len(columns)} cells, as in the head; found"
                f" {len(cells)}"
            )
            continue
        rows.append(_Row(file, number, dict(zip(columns, cells, strict=True))))
    wrong += [text for row in rows for text in row.wrong]
    wrong = wrong or [*_orders(rows), *_too_few(file, rows)]
    wrong = wrong or [*_too_low(rows)]
    if wrong:
        raise ConfigError(wrong)
    return _measured(rows)


def _columns(place: str, names: list[str]) -> list[str]:
    """The columns that a head names."""
    columns = [name.strip().lower() for name in names]
    wrong = []
    for name in dict.fromkeys(columns):
        if name not in FORM:
            near = get_close_matches(name, FORM, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            known = ", ".join(FORM)
            wrong.append(f"{place}: unknown column {name!r}; expected {known}{hint}")
        elif columns.count(name) > 1:
            wrong.append(f"{place}: column {name!r} is there {columns.count(name)} times")
    wrong += [f"{place}: no column {name!r}" for name in ("fill", "waf") if name not in columns]
    if wrong:
        raise ConfigError(wrong)
    return columns


def _orders(rows: list[_Row]) -> Iterator[str]:
    """Fills, and loads, that do not ascend."""
    for column in ("fill", "load"):
        mark = "waf" if column == "fill" else "load"
        for before, row in pairwise([row for row in rows if mark in row.values]):
            last, now = before.values[column], row.values[column]
            if now == last:
                yield f"{row.place}: {column}: {now:g} again; give each {column} once"
            elif now < last:
                yield f"{row.place}: {column}: {now:g} after {last:g}; expected ascending order"
    with_load = [row for row in rows if "load" in row.values]
    for row in with_load[1:]:
        if row.values["fill"] != with_load[0].values["fill"]:
            first = f"{with_load[0].values['fill']:g} as in {with_load[0].place}"
            yield f"{row.place}: fill: {row.values['fill']:g}; expected {first}: loads at one fill"


def _too_few(file: Path, rows: list[_Row]) -> Iterator[str]:
    count = sum("waf" in row.values for row in rows)
    if count < FEWEST:
        yield (
            f"{file}: waf: {count} of them; expected at least {FEWEST}, at different fills: one"
            " cannot be compared with the fit"
        )


def _falls(rows: list[_Row]) -> Iterator[tuple[float, _Row, _Row]]:
    """Write amplifications below one at a lower fill: by which share, the row, the highest."""
    with_waf = [row for row in rows if "waf" in row.values]
    highest = with_waf[0]
    for row in with_waf[1:]:
        if row.values["waf"] < highest.values["waf"]:
            yield 1 - row.values["waf"] / highest.values["waf"], row, highest
        else:
            highest = row


def _too_low(rows: list[_Row]) -> Iterator[str]:
    for share, row, highest in _falls(rows):
        if share > NOISE:
            yield (
                f"{row.place}: waf: {row.values['waf']:g} after {highest.values['waf']:g} in"
                f" {highest.place}; expected at least as much at a higher fill, or at most"
                f" {100 * NOISE:g} % less, as noise"
            )


def _measured(rows: list[_Row]) -> Measurements:
    values = [row.values for row in rows]
    with_load = [row for row in rows if "load" in row.values]
    loads = [row.values for row in with_load]
    worst = max(_falls(rows), key=lambda one: one[0], default=None)
    warnings = []
    if worst is not None:
        share, row, highest = worst
        warnings.append(
            f"write amplification falls with the fill, by up to {100 * share:.2g} %"
            f" (line {row.line}, below line {highest.line}): taken as noise"
        )
    return Measurements(
        tuple((one["fill"], one["waf"]) for one in values if "waf" in one),
        tuple(Load(one["load"], one["p50_us"] * US, one["p99_us"] * US) for one in loads),
        loads[0]["fill"] if loads else None,
        tuple(row.line for row in with_load),
        tuple(warnings),
    )
