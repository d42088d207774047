"""What a trace does to a drive, as far as trials tell: the result of `ssdlab.try_trace`."""

from __future__ import annotations

import json
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ssdlab.display.numbers import duration, number, percent, ratio
from ssdlab.results.comparison import Comparison
from ssdlab.results.prediction import ORDERS, Ranking, Verdict, verdict
from ssdlab.results.text import table, wrapped

JSON, SUMMARY = "try.json", "summary.txt"
WIDTH = 12
"""Columns of the words before the lines of the first screen."""
PERCENTILE = "p99_9"
"""The latency on the first screen."""
APART = 0.1
"""Share by which the write amplification of the timed trial may differ from what is predicted."""


@dataclass(frozen=True)
class Form:
    """The shape of the trial of write amplification, beside that of the drive."""

    blocks: int
    """Erase units of a pool."""
    pages: int
    """Pages of an erase unit."""
    spare: float | None
    """Effective spare; None where the trigger does not count free blocks."""
    drive_blocks: int
    drive_pages: int
    drive_spare: float | None

    def text(self) -> str:
        """In words."""
        said = (
            f"{self.blocks:,} erase units of {self.pages:,} pages (drive: {self.drive_blocks:,} of"
        )
        said += f" {self.drive_pages:,})"
        if self.spare is None or self.drive_spare is None:
            return f"{said}; effective spare unknown, since gc.trigger does not count free blocks"
        return f"{said}; effective spare {percent(self.spare)} (drive {percent(self.drive_spare)})"


@dataclass(frozen=True, repr=False)
class Trial:
    """Predicted write amplification of policies on a drive, and their latency."""

    name: str
    """Of the trace."""
    trace: str
    """Its path."""
    drive_name: str
    """What `--drive` was given; empty for the drive that is taken otherwise."""
    drive: str
    """The drive in words."""
    read: str
    """How the trace was read, in words."""
    form: Form
    rankings: Mapping[str, Ranking]
    """By order of updates."""
    doubts: tuple[str, ...]
    """Why there is no verdict on write amplification; empty if there is one."""
    drive_writes: float | None
    """What the host writes in a day at the recorded rate, over the capacity of the drive."""
    latency: Comparison | None = None
    """Timed runs of the policies that are named; None if there were none."""
    latency_doubt: str = ""
    """Why there is no verdict on latency; empty if there is one."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Policies that the drive does not take, and why."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Runs without a prediction, and why."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Why runs could not finish, by title."""
    interrupted: bool = False
    folder: Path | None = None

    @property
    def completed(self) -> bool:
        """Every run completed."""
        return not self.failures and not self.interrupted

    @cached_property
    def verdict(self) -> Verdict | None:
        """Who writes least; None where the trials do not tell."""
        return None if self.doubts else verdict(self.rankings)

    @property
    def baseline(self) -> str:
        """The policy that others are compared with."""
        return next(iter(self.policies), "")

    @property
    def policies(self) -> tuple[str, ...]:
        """Those with a prediction under every order of updates."""
        first, *others = (ranking.predicted for ranking in self.rankings.values())
        return tuple(label for label in first if all(label in other for other in others))

    @property
    def named(self) -> tuple[str, ...]:
        """The baseline and the winners: the policies of the first screen."""
        found = self.verdict
        winners = [] if found is None else [best[0] for best in found.winners.values()]
        return tuple(dict.fromkeys([*found.common[:1], *winners] if found else winners)) + tuple(
            label for label in [self.baseline] if label and label not in winners
        )

    def screen(self) -> list[str]:
        """The answer in at most twelve lines of 80 columns."""
        lines = [*wrapped("", f"{self.name} on {self.drive}")]
        for title, text in self.rows():
            if text:
                lines += wrapped(title.ljust(WIDTH), text)
        return lines

    def rows(self) -> list[tuple[str, str]]:
        """The lines of the first screen below its head: what each is about, and its text."""
        return [
            ("answer", self._answer()),
            ("WAF", self._amounts()),
            ("write", self._latency("write")),
            ("read", self._latency("read")),
            ("writes", self._writes()),
            ("confidence", self.confidence),
            ("next", self._next()),
        ]

    def _answer(self) -> str:
        found = self.verdict
        if found is None:
            return f"no verdict: {self.doubts[0]}"
        if found.common:
            first, *ties = found.common
            text = (
                f"{first} writes least"
                if first != self.baseline
                else f"no policy writes less than {first}"
            )
            ways = " and ".join(f"as {who}" for who in ORDERS.values())
            text += f", {ways}"
            if ties:
                text += f"; {_listed(ties)} cannot be told from it"
            return text + self._gain(first)
        said = [f"{ORDERS[name]}: {_listed(best[:2])}" for name, best in found.winners.items()]
        return "; ".join(said) + ": it depends on whether updates come together"

    def _gain(self, label: str) -> str:
        """How much less than the baseline a policy writes, over the orders of updates."""
        if label == self.baseline:
            return ""
        both = [
            (one.predicted[label], one.predicted[self.baseline]) for one in self.rankings.values()
        ]
        gains = sorted(round(100 * (1 - policy.mean / base.mean)) for policy, base in both)
        span = f"{gains[0]} to {gains[-1]}" if gains[0] != gains[-1] else f"{gains[0]}"
        return f" ({span} % less than {self.baseline})"

    def _amounts(self) -> str:
        said = []
        for label in self.named or self.policies[:1]:
            intervals = [ranking.predicted[label].interval for ranking in self.rankings.values()]
            low, high = min(low for low, _ in intervals), max(high for _, high in intervals)
            said.append(f"{label} {ratio(low)} to {ratio(high)}")
        return ", ".join(said)

    def _latency(self, op: str) -> str:
        if self.latency_doubt:
            return f"no latency: {self.latency_doubt}" if op == "write" else ""
        if self.latency is None:
            return ""
        said = []
        for label, by_seed in self.latency.repetitions.items():
            values = [getattr(getattr(one.latency, op), PERCENTILE) for one in by_seed.values()]
            if None not in values:
                said.append(f"{label} {duration(statistics.fmean(values))}")
        return f"p99.9 {', '.join(said)}" if said else ""

    def _writes(self) -> str:
        if self.drive_writes is None or not self.named:
            return ""
        first = self.named[0]
        amounts = [ranking.predicted[first].mean for ranking in self.rankings.values()]
        low, high = self.drive_writes * min(amounts), self.drive_writes * max(amounts)
        return (
            f"{number(self.drive_writes)} drive writes a day as recorded,"
            f" {number(low)} to {number(high)} of the flash with {first}"
        )

    @property
    def confidence(self) -> str:
        """In a word, and why."""
        found = self.verdict
        if found is None:
            return "none"
        if self.without:
            policies = dict.fromkeys(label.rpartition(", ")[0] for label in self.without)
            return f"medium: {_listed([*policies])} could not be judged (--details)"
        if found.decided:
            return "high: the same policy wins under both orders of updates"
        if found.common:
            return "medium: some policies cannot be told apart"
        return "medium: the winner depends on who writes"

    def _next(self) -> str:
        first = self.named[0] if self.named else self.baseline
        if not first:
            return ""
        drive = f" --drive {shlex.quote(self.drive_name)}" if self.drive_name else ""
        return f"ssdlab try {shlex.quote(self.trace)}{drive} --details"

    def details(self) -> list[str]:
        """Everything else, as text."""
        lines = [*wrapped("trace  ", self.read), *wrapped("trial  ", self.form.text()), ""]
        rows = []
        for label in self.policies:
            cells = [label]
            for ranking in self.rankings.values():
                one = ranking.predicted[label]
                low, high = one.interval
                mark = "*" if label in ranking.best else " "
                cells += [
                    f"{ratio(one.mean)}{mark}",
                    f"{ratio(low)} to {ratio(high)}",
                    str(len(one.values)),
                ]
            rows.append(cells)
        head = ["WAF"]
        for who in ORDERS.values():
            head += [who, "interval", "seeds"]
        lines += table(head, rows)
        lines += [
            "",
            *wrapped(
                "",
                "* writes least, or cannot be told from what does. Intervals hold seeds and the"
                " size of blocks.",
            ),
        ]
        for doubt in self.doubts:
            lines += wrapped("  ! ", doubt)
        for label, why in self.without.items():
            lines += wrapped("  ! ", f"{label}: {why}")
        for policy, why in self.left_out.items():
            lines += wrapped("  - ", f"without {policy}: {why}")
        for title, why in self.failures.items():
            lines += wrapped("  ! ", f"{title} could not finish: {why}")
        if self.latency is not None:
            lines += ["", "Timed trial", *self.latency.summary().splitlines()]
        return lines

    def summary(self) -> str:
        """The first screen, the details, and the first screen again."""
        screen = self.screen()
        return "\n".join([*screen, "", *self.details(), "", *screen]) + "\n"

    @property
    def json(self) -> dict[str, Any]:
        """The contents of try.json."""
        found = self.verdict
        return {
            "version": 1,
            "completed": self.completed,
            "name": self.name,
            "drive": self.drive,
            "trial": vars(self.form),
            "verdict": None
            if found is None
            else {"winners": dict(found.winners), "common": found.common},
            "doubts": self.doubts,
            "confidence": self.confidence,
            "waf": {
                name: {
                    label: {
                        "mean": one.mean,
                        "low": one.interval[0],
                        "high": one.interval[1],
                        "values": one.values,
                        "halved": one.halved,
                    }
                    for label, one in ranking.predicted.items()
                }
                for name, ranking in self.rankings.items()
            },
            "latency_doubt": self.latency_doubt,
            "drive_writes_a_day": self.drive_writes,
            "failures": dict(self.failures),
            "left_out": dict(self.left_out),
            "without": dict(self.without),
            "screen": self.screen(),
        }

    def to_json(self) -> str:
        """The text of try.json."""
        return json.dumps(self.json, indent=2, ensure_ascii=False) + "\n"

    def __repr__(self) -> str:
        return "\n".join(self.screen())


def _listed(labels: Sequence[str]) -> str:
    *first, last = labels
    return f"{', '.join(first)} and {last}" if first else last
