"""A fleet and its outcomes: `ssdlab.fleet`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ssdlab.display.form import columns
from ssdlab.display.numbers import Value, format_value
from ssdlab.fleets.volumes import STATISTICS_OF, Volume
from ssdlab.results.frames import Table
from ssdlab.results.names import FLEET, OUTCOMES
from ssdlab.results.sweep import COLUMNS, Outcome, Sweep, ordered, readable
from ssdlab.results.text import EXAMPLES, alike, counted, named, table, wrapped

VERSION = 1
"""Version of the files of a fleet."""
VOLUMES = "volumes"
"""Key of the volumes in fleet.json."""
MORE = ("gc_share", "capacity_bytes", "host_bytes_written", "steady", "why_not_steady")
"""Columns of a fleet in addition to those of a sweep."""
MEASURED, UNSTEADY, INVALID = "measured", "not steady", "invalid"
ENDED = (MEASURED, UNSTEADY, INVALID)
"""The groups of volumes whose run completed; only the first has valid numbers."""
SHORT = ("not in steady state", "no GC happened")
"""The beginnings of warnings that only say that a volume writes too little."""
FAILED, NO_RUN = "failed", "not run"
TITLES = {column.name: column.title for column in columns() if column.title} | {
    "gc_share": "share of programs by GC"
}
OUTCOME_OF = (
    "waf",
    "write_p99_ns",
    "write_p99_9_ns",
    "read_p99_ns",
    "read_p99_9_ns",
    "gc_share",
    "first_block_days",
    "lifetime_days",
    "drive_writes_per_day",
)
"""The outcomes of a volume that are shown as distributions."""
GOOD = ("first_block_days", "lifetime_days", "drive_writes_per_day")
"""Outcomes that are worse where they are lower."""
PARTS = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Quantiles of the tables."""
WORST = 10
"""Volumes that are named."""


@dataclass(frozen=True, repr=False)
class Fleet(Table):
    """Outcomes by volume and drive. Times are nanoseconds, sizes bytes, lifetimes days."""

    TEXTS: ClassVar = (*Sweep.TEXTS, "volume", "drive", "group", "reason", "why_not_steady")

    name: str
    drives: tuple[str, ...]
    """What the drives are called."""
    volumes: tuple[Volume, ...]
    """All volumes; those with a `reason` have no drive."""
    outcomes: tuple[Outcome, ...]
    """The runs that ended; `point` is the number of the volume times the number of drives, plus the
    number of the drive."""
    identity: dict[str, Any] = field(default_factory=dict)
    """What is run, as in fleet.json."""
    interrupted: bool = False
    """Ended early by Ctrl-C."""
    folder: Path | None = None
    """Folder of the files."""

    @staticmethod
    def read(folder: str | Path) -> Fleet:
        """The fleet in `folder`."""
        folder = Path(folder)
        head = json.loads((folder / FLEET["json"]).read_text(encoding="utf-8"))
        lines = (folder / OUTCOMES).read_bytes().decode("utf-8", "replace").splitlines()
        identity = head["fleet"]
        volumes = (
            Volume(volume["volume"], volume["statistics"], {}, None, volume["reason"])
            for volume in head[VOLUMES]
        )
        return Fleet(
            head["name"],
            tuple(head["drives"]),
            tuple(volumes),
            ordered(readable(lines, identity["columns"])),
            identity,
            head["interrupted"],
            folder,
        )

    @property
    def planned(self) -> int:
        """How many runs there are."""
        return sum(not volume.reason for volume in self.volumes) * len(self.drives)

    @property
    def not_run(self) -> int:
        """The number of runs left."""
        return self.planned - len(self.outcomes)

    @property
    def completed(self) -> bool:
        """Every run completed."""
        return not self.not_run and not self.failures

    @cached_property
    def failures(self) -> dict[str, str]:
        """Why runs failed, by volume and drive."""
        has_several = len(self.drives) > 1
        return {
            f"volume {row['volume']}" + (f" on {row['drive']}" if has_several else ""): str(
                row["reason"]
            )
            for row in self.rows
            if row["group"] == FAILED
        }

    @cached_property
    def rows(self) -> list[dict[str, Value]]:
        """One row per volume and drive: its group, its statistics, its outcomes."""
        outcomes = {outcome.point: outcome for outcome in self.outcomes}
        drive_count, rows = len(self.drives), []
        for i, volume in enumerate(self.volumes):
            for j, drive in enumerate(self.drives):
                outcome = outcomes.get(i * drive_count + j)
                group, reason = _group(volume, outcome)
                values = outcome.values if outcome and outcome.values else (None,) * len(COLUMNS)
                extra = outcome.more if outcome else {}
                rows.append(
                    {
                        "volume": volume.name,
                        "drive": drive,
                        "group": group,
                        "reason": reason or None,
                        **{name: volume.statistics.get(name) for name in STATISTICS_OF},
                        **dict(zip(COLUMNS, values, strict=True)),
                        **{name: extra.get(name) for name in MORE},
                        "warnings": len(outcome.warnings) if outcome else None,
                    }
                )
        return rows

    def of(self, drive: str, group: str = MEASURED) -> list[dict[str, Value]]:
        """The rows of a drive in a group."""
        return [row for row in self.rows if row["drive"] == drive and row["group"] == group]

    def few_measured(self, drive: str) -> str:
        """A sentence if more volumes on a drive are invalid than valid; otherwise empty.

        A volume that is not steady is not an error: it writes too little.
        """
        valid, invalid = len(self.of(drive)), len(self.of(drive, INVALID))
        if valid >= invalid:
            return ""
        verb = "has" if valid == 1 else "have"
        unsteady_text = (
            f", beside {unsteady:,} not steady"
            if (unsteady := len(self.of(drive, UNSTEADY)))
            else ""
        )
        return f"only {valid:,} of {valid + invalid:,} volumes {verb} a valid result{unsteady_text}"

    def unsteady(self, drive: str) -> str:
        """How many volumes on a drive are not steady, and how much they write; empty if all are."""
        unsteady = self.of(drive, UNSTEADY)
        if not unsteady:
            return ""
        ended = [row for group in ENDED for row in self.of(drive, group)]
        unsteady_bytes, total_bytes = (
            sum(numbers(rows, "volume_bytes_written")) for rows in (unsteady, ended)
        )
        share = (
            f", with {100 * unsteady_bytes / total_bytes:.0f} % of the bytes written,"
            if total_bytes
            else ""
        )
        subject = f"{len(unsteady):,} of {counted(len(ended), 'volume')}{share}"
        verb = "is" if len(unsteady) == 1 else "are"
        reference = f"{FLEET['csv']} has the reasons"
        return f"{subject} did not reach a steady state and {verb} apart ({reference})"

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The outcomes of `OUTCOME_OF` that any run has."""
        return tuple(name for name in OUTCOME_OF if any(row[name] is not None for row in self.rows))

    @cached_property
    def groups(self) -> dict[str, dict[str, int]]:
        """By drive, how many volumes are in each group."""
        groups: dict[str, dict[str, int]] = {drive: {} for drive in self.drives}
        for row in self.rows:
            counts = groups[str(row["drive"])]
            counts[str(row["group"])] = counts.get(str(row["group"]), 0) + 1
        return groups

    @property
    def head(self) -> dict[str, Any]:
        """The contents of fleet.json."""
        volumes = [
            {"volume": volume.name, "reason": volume.reason, "statistics": dict(volume.statistics)}
            for volume in self.volumes
        ]
        return {
            "version": VERSION,
            "name": self.name,
            "completed": self.completed,
            "interrupted": self.interrupted,
            "drives": [*self.drives],
            "runs": self.planned,
            "ended": len(self.outcomes),
            "failed": len(self.failures),
            "fleet": self.identity,
            VOLUMES: volumes,
        }

    def head_json(self) -> str:
        """The text of fleet.json."""
        return json.dumps(self.head, ensure_ascii=False) + "\n"

    def to_json(self) -> str:
        """The output of `--json`: the head without the volumes, and `rows`."""
        values = {key: value for key, value in self.head.items() if key != VOLUMES}
        return json.dumps(values | {"rows": self.rows}, indent=2, ensure_ascii=False) + "\n"

    def summary(self) -> str:
        """The fleet as text: the answer, the distributions, the volumes that suffer most."""
        from ssdlab.fleets import answer  # needs numpy, which is slow to import

        progress = f"{counted(len(self.outcomes), 'run')} of {self.planned:,}"
        state = "" if self.completed else ", NOT COMPLETED"
        drives = counted(len(self.drives), "drive")
        lines = [
            f"{self.name}: {counted(len(self.volumes), 'volume')}, {drives}, {progress}{state}"
        ]
        for text in self.first_lines():
            lines += ["", *wrapped("", text)]
        lines += ["", *wrapped("", answer.text_of(self)), ""]
        for title, heads, rows in answer.tables_of(self):
            lines += [title, *table(["", *heads], rows), ""]
        return "\n".join(lines).rstrip() + "\n"

    def first_lines(self) -> list[str]:
        """What a reader has to know before any number."""
        lines = [
            f"LOST  {loss}"
            for loss in dict.fromkeys(outcome.loss for outcome in self.outcomes if outcome.loss)
        ]
        if len(self.volumes) == 1:
            lines.append("The traces hold one volume: nothing is distributed.")
        if self.interrupted:
            lines.append(f"Interrupted: {self.not_run:,} of {self.planned:,} runs are missing.")
        reasons: dict[str, list[str]] = {}
        for volume in self.volumes:
            if volume.reason:
                reasons.setdefault(volume.reason, []).append(volume.name)
        for reason, names in reasons.items():
            lines.append(f"Without a drive, {_volumes(names)}: {reason}.")
        for drive in self.drives:
            scope = f" on {drive}" if len(self.drives) > 1 else ""
            invalid = [(str(row["volume"]), str(row["reason"])) for row in self.of(drive, INVALID)]
            for by_name in alike(invalid):
                subject, reason = _volumes([*by_name]), next(iter(by_name.values()))
                lines.append(f"Invalid{scope}, and left out, {subject}: {reason}")
        for reason, titles in self.failed().items():
            lines.append(f"{counted(len(titles), 'run')} failed ({named(titles, 'run')}): {reason}")
        return lines

    def failed(self) -> dict[str, list[str]]:
        """The runs that failed, by reason; reasons that differ only in numbers are merged."""
        return {next(iter(group.values())): [*group] for group in alike(self.failures.items())}

    def __repr__(self) -> str:
        return f"<Fleet of {len(self.volumes)} volumes>\n{self.summary()}"


def _volumes(names: Sequence[str]) -> str:
    """Volumes in words: all if there are few, otherwise how many and one of them."""
    if len(names) > EXAMPLES:
        return named(names, "volume")
    return f"volume{'s' * (len(names) > 1)} {', '.join(names)}"


def _group(volume: Volume, outcome: Outcome | None) -> tuple[str, str]:
    """The group of a row, and why it is not measured."""
    if volume.reason:
        return volume.reason, volume.reason
    if outcome is None:
        return NO_RUN, ""
    if outcome.error:
        return FAILED, outcome.error
    warning = outcome.warnings[0] if outcome.invalidating else ""
    if not outcome.more.get("steady") and (not warning or warning.startswith(SHORT)):
        return UNSTEADY, str(outcome.more.get("why_not_steady") or "")
    if warning:
        return INVALID, warning
    return MEASURED, ""


def numbers(rows: Sequence[Mapping[str, Value]], name: str) -> list[float]:
    """The numbers of a column that are known."""
    values = (row[name] for row in rows)
    return [float(value) for value in values if isinstance(value, int | float)]


def cell(name: str, value: float | None) -> str:
    """A number of a column as text."""
    if value is None:
        return "–"
    if name in (
        "gc_share",
        *(statistic for statistic in STATISTICS_OF if statistic.endswith("_share")),
    ):
        return f"{value * 100:.3g} %"
    if name.endswith(("_bytes", "bytes_written")):
        return format_value("lifetime_bytes", round(value))
    if name in STATISTICS_OF:
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return format_value(name, round(value) if name.endswith("_ns") else value)
