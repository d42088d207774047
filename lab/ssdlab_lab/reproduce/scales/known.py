"""Write amplification that earlier runs have measured: a table that outlives their folders."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from ssdlab.errors import ConfigError
from ssdlab.versions import RESULTS
from ssdlab_lab.reproduce.scales import choices
from ssdlab_lab.reproduce.scales.choices import FULL, LOADS, POLICIES, SYNTHETIC, Load, Place
from ssdlab_lab.reproduce.scales.pools import pool_of

FILE = "scale.csv"
OF_CASE = ("drive", "load", "policy", "results", "configuration")
"""Columns that say what a line is about; the others are runs."""
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
    """A digest of all that decides the numbers of a line, but the version of the results."""
    pool = pool_of(drive, policy, quick)
    trials = [
        pool.trial(choices.FOOTPRINTS[size], pools)
        for size in choices.sizes(quick)
        for pools in (1, 2)
    ]
    of_load = choices.SHARES[load.name] if load.phases else SYNTHETIC[load.name]
    lengths = choices.BEFORE, choices.MEASURED
    values = [pool.drive.values, pool.full(), trials, load.title, of_load, lengths]
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def read(file: Path, quick: bool) -> dict[Place, float]:
    """The numbers in a file that runs of this version and configuration would repeat.

    Lines of other versions, configurations, drives, loads or policies are left out. Raises
    `ConfigError` if the file cannot be read or has other columns or values.
    """
    try:
        lines = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")), strict=True)
        rows = [*lines]
    except (OSError, UnicodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError([f"{file}: cannot be read: {reason}"]) from error
    cases = _cases(quick)
    measured: dict[Place, float] = {}
    for number, row in enumerate(rows, 2):
        try:
            if None in row or None in row.values():
                raise ValueError(f"{len(lines.fieldnames or ())} cells were expected")
            places = cases.get((row["drive"], row["load"], row["policy"]), {})
            of_line = {place: row[column] for column, place in places.items()}
            values = {place: float(text) for place, text in of_line.items() if text}
            made_by = row["results"], row["configuration"]
        except (KeyError, TypeError, ValueError) as error:
            message = f"{file}:{number}: not a line of {FILE} as `ssdlab drives scale` writes it"
            raise ConfigError([f"{message}: {error!r}"]) from error
        if values and made_by == _made_by(next(iter(values)), quick):
            measured |= values
    return measured


def _made_by(place: Place, quick: bool) -> tuple[str, str]:
    """The version of the results and the configuration that runs have now."""
    return str(RESULTS), _configuration(place.drive, place.load, place.policy, quick)


def text(measured: Mapping[Place, float], quick: bool) -> str:
    """The numbers as a file: a line for each drive, load and policy that has any."""
    cases = _cases(quick)
    out = io.StringIO()
    columns = [*OF_CASE, *next(iter(cases.values()))]
    lines = csv.DictWriter(out, columns, lineterminator="\n")
    lines.writeheader()
    for case, places in _in_order(cases):
        values = {
            column: f"{measured[place]:.{DECIMALS}f}"
            for column, place in places.items()
            if place in measured
        }
        if values:
            of_case = (*case, *_made_by(next(iter(places.values())), quick))
            lines.writerow(dict(zip(OF_CASE, of_case, strict=True)) | values)
    return out.getvalue()


def _in_order(
    cases: Mapping[tuple[str, str, str], dict[str, Place]],
) -> Iterator[tuple[tuple[str, str, str], dict[str, Place]]]:
    """The lines as the page has them."""
    for drive in choices.drives():
        for load in LOADS:
            for policy in POLICIES:
                case = drive, load.title, policy
                yield case, cases[case]
