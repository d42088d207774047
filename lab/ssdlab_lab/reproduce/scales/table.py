"""Write amplification that earlier runs have measured: a table that outlives their folders."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ssdlab.config.drives import machine_digest
from ssdlab.errors import ConfigError
from ssdlab.results.text import counted
from ssdlab.versions import RESULTS
from ssdlab_lab.reproduce.scales import choices, loads
from ssdlab_lab.reproduce.scales.choices import FULL, LOADS, POLICIES, SYNTHETIC, Load, Place
from ssdlab_lab.reproduce.scales.pools import pool_of

FILE = "scale.csv"
KEY_COLUMNS = ("drive", "load", "policy", "results", "configuration")
"""Columns that identify a line; the others are runs."""
DECIMALS = 6


def _column(place: Place) -> str:
    """The column of a run."""
    if place.size == FULL:
        return FULL
    return f"{place.size}, {place.pools} pool{'s' * (place.pools > 1)}, seed {place.seed}"


def _cases(quick: bool) -> dict[tuple[str, str, str], dict[str, Place]]:
    """The runs of each drive, load and policy by their columns."""
    cases: dict[tuple[str, str, str], dict[str, Place]] = {}
    for place in choices.places(quick):
        case = place.drive, place.load.title, place.policy
        cases.setdefault(case, {})[_column(place)] = place
    return cases


@cache
def _configuration(drive: str, load: Load, policy: str, quick: bool) -> str:
    """A digest of all that determines the numbers of a line, except the version of the results.

    All runs are functional, so it leaves out the keys that matter only with time.
    """
    pool = pool_of(drive, policy, quick)
    configuration = {**pool.drive.values, "run": {**pool.drive.values["run"], "mode": "functional"}}
    trials = [
        pool.trial(choices.FOOTPRINTS[size], pools)
        for size in choices.sizes(quick)
        for pools in (1, 2)
    ]
    values = {
        "drive": machine_digest(configuration),
        "full": pool.full(),
        "trials": trials,
        "load": [load.title, *_writes_of(load)],
        "lengths": [choices.BEFORE, choices.MEASURED],
    }
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


@cache
def _digest_of(trace: Path) -> str | None:
    """The SHA-256 of a recording; None if it is missing."""
    return sha256(trace.read_bytes()).hexdigest() if trace.exists() else None


def _writes_of(load: Load) -> list[object]:
    """What determines the writes of a load."""
    if not load.phases:
        return [loads.VERSION, SYNTHETIC[load.name]]
    digest = _digest_of(choices.recording(load.name))
    return [loads.VERSION, choices.SHARES[load.name], digest]


class EarlierResults(NamedTuple):
    """The numbers of a file."""

    file: Path
    measured: dict[Place, float]
    """Write amplification in the runs that would be repeated."""
    others: int
    """Lines of other results, configurations, drives, loads or policies."""

    @property
    def remark(self) -> str:
        """How many of its numbers are used."""
        summary = f"{len(self.measured)} numbers of earlier runs are those of {self.file.name}"
        if not self.others:
            return f"{summary}."
        return f"{summary}; {counted(self.others, 'line')} of it are of other results or settings."


def read(file: Path, quick: bool) -> EarlierResults:
    """The numbers in a file that runs of this version and configuration would repeat.

    Raises `ConfigError` if the file cannot be read or has other columns or values.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        lines = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        rows = [*lines]
    except (OSError, UnicodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError([f"{file}: cannot be read: {reason}"]) from error
    cases = _cases(quick)
    columns = {*KEY_COLUMNS, *next(iter(cases.values()))}
    if missing := columns - {*(lines.fieldnames or ())}:
        message = f"{file}:1: not the header of {FILE}: the column {min(missing)!r} is missing"
        raise ConfigError([message])
    measured: dict[Place, float] = {}
    seen: set[tuple[str, str, str]] = set()
    skipped = 0
    for number, row in enumerate(rows, 2):
        try:
            case, values = _line(row, cases)
            if case in seen:
                raise ValueError("an earlier line has the same drive, load and policy")
        except ValueError as error:
            message = f"{file}:{number}: not a line of {FILE} as `ssdlab drives scale` writes it"
            raise ConfigError([f"{message}: {error}"]) from error
        seen.add(case)
        origin = row["results"], row["configuration"]
        if values and origin == _made_by(next(iter(values)), quick):
            measured |= values
        else:
            skipped += 1
    return EarlierResults(file, measured, skipped)


def _line(
    row: Mapping[str, str], cases: Mapping[tuple[str, str, str], dict[str, Place]]
) -> tuple[tuple[str, str, str], dict[Place, float]]:
    """The key of a line, and its numbers. Raises `ValueError`."""
    if None in row or None in row.values():
        raise ValueError("it has more or fewer cells than the header")
    case = row["drive"], row["load"], row["policy"]
    texts = {place: row[column] for column, place in cases.get(case, {}).items()}
    values = {place: float(text) for place, text in texts.items() if text}
    if invalid := [texts[place] for place, waf in values.items() if not 1 <= waf < math.inf]:
        raise ValueError(f"{invalid[0]} is no write amplification")
    return case, values


def _made_by(place: Place, quick: bool) -> tuple[str, str]:
    """The version of the results and the present configuration of runs."""
    return str(RESULTS), _configuration(place.drive, place.load, place.policy, quick)


def text(measured: Mapping[Place, float], quick: bool) -> str:
    """The numbers as a file: a line for each drive, load and policy that has any."""
    cases = _cases(quick)
    buffer = io.StringIO()
    columns = [*KEY_COLUMNS, *next(iter(cases.values()))]
    lines = csv.DictWriter(buffer, columns, lineterminator="\n")
    lines.writeheader()
    for case, places in _in_order(cases):
        values = {
            column: f"{measured[place]:.{DECIMALS}f}"
            for column, place in places.items()
            if place in measured
        }
        if values:
            keys = (*case, *_made_by(next(iter(places.values())), quick))
            lines.writerow(dict(zip(KEY_COLUMNS, keys, strict=True)) | values)
    return buffer.getvalue()


def _in_order(
    cases: Mapping[tuple[str, str, str], dict[str, Place]],
) -> Iterator[tuple[tuple[str, str, str], dict[str, Place]]]:
    """The lines as on the page."""
    for drive in choices.drives():
        for load in LOADS:
            for policy in POLICIES:
                case = drive, load.title, policy
                yield case, cases[case]
