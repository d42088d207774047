"""What trials predict of a trace on a drive: the result of `ssdlab.try_trace`."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab.config.resolve import DRIVE
from ssdlab.display.numbers import number, percent, ratio
from ssdlab.display.words import join_names
from ssdlab.results.comparison import Comparison
from ssdlab.results.lifetime import Interval, Lifetime, years_text
from ssdlab.results.prediction import ORDERS, Predicted, Ranking, Verdict, verdict
from ssdlab.results.tail import Tail
from ssdlab.results.text import by_reason, counted, first_screen, table, wrapped
from ssdlab.results.trial_answer import answer

PACED = "--pace closed"
"""The remedy where the recorded arrivals overload the drive, or leave it idle."""
INTERRUPTED = "interrupted"
"""Why there is no latency where Ctrl-C, or SIGTERM, has ended the trial."""
IDLE = 0.05
"""Share of the time below which the busiest chip or channel of a drive counts as idle."""
NOTES = (
    "* may write least: no other policy certainly writes less. Intervals cover the spread over"
    " seeds and the error from the size of erase units; a number without an interval is that of the"
    " trial. spare, drive: effective spare of the trial and of the drive."
)
PLAN = "`ssdlab plan`"
FEW_OVERWRITES, REPEATED_SHARE = 10, 0.05
"""Overwrites of a page below which a repeated trace may rank policies wrongly, and the differences
between them that this can make (ADR 0026)."""


class Spare(NamedTuple):
    """Effective spare under a policy; None where it does not follow from the configuration."""

    trial: float | None
    drive: float | None


@dataclass(frozen=True)
class Form:
    """The shape of the trial of write amplification, beside that of the drive."""

    pools: int
    blocks: int
    """Erase units of a pool."""
    pages: int
    """Pages of an erase unit."""
    drive_blocks: int
    drive_pages: int
    spares: Mapping[str, Spare]
    """By policy."""

    def text(self) -> str:
        """In words."""
        pools = "" if self.pools == 1 else f"{self.pools:,} pools of "
        return (
            f"{pools}{self.blocks:,} erase units of {counted(self.pages, 'page')}"
            f" (drive: {self.drive_blocks:,} of {self.drive_pages:,})"
        )


@dataclass(frozen=True, repr=False)
class Trial:
    """Predicted write amplification of policies on a drive, and their latency."""

    name: str
    """Of the trace."""
    trace: str
    """Its path."""
    drive_name: str
    """The argument of `--drive`; empty for the default drive."""
    drive: str
    """The drive in words."""
    read: str
    """How the trace was read, in words."""
    form: Form
    rankings: Mapping[str, Ranking]
    """By order of updates."""
    doubts: tuple[str, ...]
    """Why there is no verdict on write amplification; empty if there is one."""
    lifetime: Lifetime
    """The flash of the drive, and what the host writes in a day."""
    latency: Comparison | None = None
    """Timed runs of the policies that are named; None if there were none."""
    latency_doubts: Mapping[str, str] = field(default_factory=dict)
    """Policies whose latency on the drive the timed runs do not tell, and why."""
    latency_bounded: Collection[str] = ()
    """Policies whose p99.9 on the drive is between the p99.9 and the p99.99 of their timed runs,
    since erases are shorter there: see `Tail`."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Policies that the drive does not take, and why."""
    unpredicted: Mapping[str, str] = field(default_factory=dict)
    """Runs without a prediction, and why."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Why runs could not finish, by title."""
    interrupted: bool = False
    folder: Path | None = None
    note: str = ""
    """The drive with its errors against measurements; empty if there are none."""
    warnings: Sequence[str] = ()
    """What a reader of the trace should know."""
    options: str = ""
    """Further options of the command, each after a space."""
    passes: int = 1
    """How often the trace is run; 0 if nothing was run, since it decides nothing."""
    remedy: str = ""
    """The command to run where the trace says too little; empty where it says enough."""
    about: str = ""
    """The command that shows what the trace does."""
    overwrites: float = math.inf
    """How often it writes a page that it touches, in the mean."""

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
        verdict, baseline = self.verdict, [self.baseline] if self.baseline else []
        if verdict is None:
            return tuple(baseline)
        winners = verdict.common[:1] or [best[0] for best in verdict.winners.values() if best]
        return tuple(dict.fromkeys([*winners, *baseline]))

    def screen(self, *, detailed: bool = False) -> list[str]:
        """The answer in at most twelve lines of 80 columns; `detailed`: beside the details."""
        *rows, (_, command) = self.rows(detailed=detailed)
        option = self._option(detailed)
        short = f"the same command with {option}" if option else ""
        if self.interrupted and not self.remedy:
            force = ", with --force" if self.options.endswith(" --force") else ""
            short = f"the same command again{force}"
        head = f"{self.name} on {self.drive}"
        return first_screen(head, rows, command, short)

    def rows(self, *, detailed: bool = False) -> list[tuple[str, str]]:
        """The lines of the first screen below its head: what each is about, and its text."""
        return [
            ("drive", self.lifetime.contradiction),
            ("answer", self._answer()),
            ("WAF", self._amounts()),
            ("write p99.9", self._latency("write")),
            ("read p99.9", self._latency("read")),
            ("load", self._load()),
            ("years", self._years()),
            ("spare", self._spare()),
            ("confidence", self.confidence),
            ("next", self._next(detailed)),
        ]

    def _answer(self) -> str:
        if self.verdict is None:
            return f"no verdict: {self.doubts[0]}"
        return answer(self.verdict, self.rankings, self.baseline)

    def _amounts(self) -> str:
        amounts = []
        for label in self._screen_policies:
            predicted = [ranking.predicted[label] for ranking in self.rankings.values()]
            ends = [end for policy in predicted for end in policy.interval or (policy.mean,)]
            trial = "" if all(policy.interval for policy in predicted) else " in the trial"
            text = " to ".join(dict.fromkeys((ratio(min(ends)), ratio(max(ends)))))
            amounts.append(f"{label} {text}{trial}")
        return ", ".join(amounts)

    def _latency(self, op: str) -> str:
        """That of the first policy of the screen, in the recorded order of updates.

        The timed runs replay the trace in that order.
        """
        if doubt := self.latency_doubt:
            return f"none: {doubt}" if op == "write" else ""
        if self.timed_comparison is None:
            return ""
        label = self.named[0]
        tail = self._tail(label, op)
        return "" if tail is None else f"{label} {tail.text}, as {ORDERS['recorded']}"

    def _tail(self, label: str, op: str) -> Tail | None:
        """The p99.9 of a policy; None if it is not known."""
        timed = self.timed_comparison
        by_seed = {} if timed is None else timed.repetitions.get(label, {})
        stats = [getattr(run.latency, op) for run in by_seed.values()]
        if any(one.p99_9 is None for one in stats):
            return None
        bounded = label in self.latency_bounded
        return Tail.of(([one] for one in stats), is_bounded=bounded)

    @property
    def latency_doubt(self) -> str:
        """Why the first screen has no latency; empty if the timed runs tell it."""
        return self.latency_doubts.get(self.named[0], "") if self.latency_doubts else ""

    @property
    def timed_comparison(self) -> Comparison | None:
        """The timed runs of the policies whose latency is not in doubt; None without any.

        Nor is there any without a verdict.
        """
        if self.latency is None or self.verdict is None:
            return None
        timed = self.latency.without(self.latency_doubts)
        return timed if timed.repetitions else None

    @property
    def _screen_policies(self) -> list[str]:
        """The policies whose numbers are on the first screen: two winners fill its lines."""
        return [label for label in self.named if len(self.named) < 3 or label != self.baseline]

    @property
    def busy(self) -> float | None:
        """Share of the time that the busiest chip or channel works at the recorded times.

        None if there is no latency, or the requests come in a closed loop.
        """
        timed = None if self.latency_doubt else self.timed_comparison
        runs = () if timed is None else timed.repetitions.values()
        reports = [report for by_seed in runs for report in by_seed.values()]
        if not reports or any(report.config["host.mode"] != "open" for report in reports):
            return None
        uses = [report.device.utilisation for report in reports]
        return max(max([*use.chip, *use.channel], default=0.0) for use in uses)

    def _load(self) -> str:
        """How busy the drive is, and whether that is as little as with a slower machine."""
        if self.busy is None:
            return ""
        if self.busy >= IDLE:
            return f"{percent(self.busy)} busy at the recorded times"
        return f"{percent(self.busy)} busy; for the trace of a slower machine: {PACED}"

    def _amount(self) -> Interval | None:
        """Write amplification of the first policy of the screen, under both orders of updates."""
        if not self.named or self.verdict is None:
            return None
        predicted = [ranking.predicted[self.named[0]] for ranking in self.rankings.values()]
        ends = [end for policy in predicted for end in policy.interval or ()]
        return Interval(min(ends), max(ends)) if ends else None

    def _years(self) -> str:
        """How long the drive lasts under the first policy."""
        writes, waf = self.lifetime.drive_writes, self._amount()
        if writes is None or waf is None or self.lifetime.contradiction:
            return ""
        if excess := self.lifetime.excess:
            return f"none: {excess}"
        load = f"at {number(writes)} drive writes a day"
        years = self.lifetime.years(waf)
        if years is None:
            missing = self.lifetime.endurance.missing
            return f"unknown {load}: the rating of the drive lacks {missing} (--details)"
        return f"{years_text(years)} with {self.named[0]}, {load}"

    def _spare(self) -> str:
        """The over-provisioning that the years of the warranty need, against that of the drive."""
        waf, warranty = self._amount(), self.lifetime.endurance.years
        years = None if waf is None else self.lifetime.years(waf)
        if years is None or warranty is None:
            return ""
        own = percent(self.lifetime.raw_bytes / self.lifetime.user_bytes - 1)
        purpose = f"for the {warranty:g}-year warranty"
        if years.low >= warranty:
            return f"needs at most {own}, which the drive has, {purpose}"
        needs = "may need" if years.high >= warranty else "needs"
        return f"{needs} over {own} {purpose}: see {PLAN}"

    @property
    def confidence(self) -> str:
        """The confidence in one word, and the reason."""
        verdict = self.verdict
        if verdict is None:
            return "none"
        if self.unpredicted:
            policies = dict.fromkeys(label.rpartition(", ")[0] for label in self.unpredicted)
            return f"medium: {join_names([*policies])} could not be judged (--details)"
        if verdict.decided and self._is_in_doubt:
            return (
                f"medium: a trace that writes a page {self.overwrites:.1f} times and is repeated"
                f" does not tell differences below {100 * REPEATED_SHARE:g} %"
            )
        if verdict.decided:
            return "high: the same policy wins under both orders of updates"
        if verdict.common:
            return "medium: some policies are statistically indistinguishable"
        return "medium: the winner depends on the order of updates"

    @property
    def _is_in_doubt(self) -> bool:
        """Whether the trace is so short that its repetition may decide who writes least."""
        if self.passes <= 1 or self.overwrites >= FEW_OVERWRITES:
            return False
        return min(ranking.lead for ranking in self.rankings.values()) < REPEATED_SHARE

    def _option(self, detailed: bool) -> str:
        """The option with which the same command tells more; empty if there is none."""
        if self.remedy or self.interrupted:
            return ""
        return PACED if PACED in self.latency_doubt else "" if detailed else "--details"

    def _next(self, detailed: bool) -> str:
        """The command that tells more."""
        if self.remedy:
            return self.remedy
        words = f"{shlex.quote(self.trace)}{drive_option(self.drive_name)}{self.options}"
        if self.interrupted:
            return f"ssdlab try {words}"
        option, years = self._option(detailed), self.lifetime.endurance.years
        if option and self.policies:
            return f"ssdlab try {words} {option}"
        if self._spare() and years is not None:
            return f"ssdlab plan {words} --years {years:g}"
        # What the trace does is what is left to look at.
        return self.about

    def facts(self) -> list[tuple[str, str]]:
        """What the answer rests on: titles and texts, the same in every form of the result."""
        repetition = f"; it is run {counted(self.passes, 'time')}" if self.passes else ""
        facts = [
            ("trace", self.read + repetition),
            ("trial", self.form.text()),
            ("seeds", self._seeds()),
            ("drive", self.note),
            ("endurance", self.lifetime.endurance.text),
            ("needed", self.lifetime.needed(self._amount())),
        ]
        return [(title, text) for title, text in facts if text]

    def _seeds(self) -> str:
        """How many seeds the numbers are of."""
        rankings = self.rankings.values()
        sizes = [
            len(policy.values) for ranking in rankings for policy in ranking.predicted.values()
        ]
        if not sizes:
            return ""
        text = f"{span_of(sizes)} for each write amplification"
        timed = self.timed_comparison
        if timed is None:
            return text
        return f"{text}, {span_of([*map(len, timed.repetitions.values())])} for each latency"

    def details(self) -> list[str]:
        """Everything else, as text."""
        lines = [line for title, text in self.facts() for line in wrapped(f"{title}  ", text)]
        for warning in self.warnings:
            lines += wrapped("  ! ", warning)
        lines += [""]
        rows = [self._row(label) for label in self.policies]
        head = ["WAF"]
        for title in ORDERS.values():
            head += [title, "interval", "seeds"]
        lines += [*table([*head, "spare", "drive"], rows), "", *wrapped("", NOTES)] if rows else []
        notes: list[str] = []
        if self.lifetime.contradiction:
            notes += wrapped("  ! ", self.lifetime.contradiction)
        for doubt in self.doubts:
            notes += wrapped("  ! ", doubt)
        for reason in self.unsettled():
            notes += wrapped("  ! ", reason)
        for text in self.set_aside():
            notes += wrapped("  - ", text)
        for policy, reason in self.refused.items():
            notes += wrapped("  - ", f"without {policy}: {reason}")
        for title, reason in by_reason(self.failures).items():
            notes += wrapped("  ! ", f"{title} could not finish: {reason}")
        lines += ["", *notes] if notes else []
        if self.latency_doubts or self.timed_comparison is not None:
            lines += ["", "Timed trial"]
        for label, reason in by_reason(self.latency_doubts).items():
            lines += wrapped("  ! ", f"no latency with {label}: {reason}")
        for text in self.bounded():
            lines += wrapped("  - ", text)
        if self.timed_comparison is not None:
            lines += self.timed_comparison.summary().splitlines()
        return lines

    def unsettled(self) -> Iterator[str]:
        """The runs without a prediction, and why."""
        for label, reason in self.unpredicted.items():
            policy, _, order = label.rpartition(", ")
            yield f"{policy}, as {ORDERS.get(order, order)}: {reason}"

    def bounded(self) -> Iterator[str]:
        """The policies with a p99.9 on the drive that their timed runs only bound."""
        for label in self.named:
            tails = {op: self._tail(label, op) for op in ("write", "read")}
            known = [f"{op} {tail.text}" for op, tail in tails.items() if tail is not None]
            if known and label in self.latency_bounded:
                yield (
                    f"p99.9 of the drive with {label}: {', '.join(known)}: at most the p99.99 of"
                    " the timed runs, in which erases are shorter"
                )

    def set_aside(self) -> Iterator[str]:
        """The policies that are extrapolated too far to win, but cannot win anyway."""
        for order, ranking in self.rankings.items():
            for label, share in ranking.unclear.items():
                if label not in ranking.undecided:
                    yield (
                        f"{label}, as {ORDERS[order]}: the size of erase units changes its write"
                        f" amplification by {percent(share)}, but it writes no less than the best"
                        " in any case"
                    )

    def _row(self, label: str) -> list[str]:
        """A policy in the table of the details."""
        cells = [label]
        for ranking in self.rankings.values():
            policy = ranking.predicted[label]
            mark = "*" if label in ranking.best and not self.doubts else " "
            cells += [f"{ratio(policy.mean)}{mark}", span(policy), str(len(policy.values))]
        spares = self.form.spares[label]
        return [*cells, *("-" if spare is None else percent(spare) for spare in spares)]

    def summary(self) -> str:
        """The first screen, the details, and the first screen again."""
        screen = self.screen(detailed=True)
        return "\n".join([*screen, "", *self.details(), "", *screen]) + "\n"

    @property
    def json(self) -> dict[str, Any]:
        """The contents of try.json."""
        verdict = self.verdict
        return {
            "version": 1,
            "completed": self.completed,
            "name": self.name,
            "drive": self.drive,
            "drive_note": self.note,
            "facts": dict(self.facts()),
            "warnings": list(self.warnings),
            "trial": asdict(self.form)
            | {"spares": {label: spare._asdict() for label, spare in self.form.spares.items()}},
            "verdict": None
            if verdict is None
            else {"winners": dict(verdict.winners), "common": verdict.common},
            "doubts": self.doubts,
            "confidence": self.confidence,
            "waf": {
                name: {
                    label: {
                        "mean": policy.mean,
                        "low": policy.interval and policy.interval[0],
                        "high": policy.interval and policy.interval[1],
                        "values": policy.values,
                        "seeds": len(policy.values),
                        "halved": policy.halved,
                        "beyond": policy.beyond,
                        "residual": policy.residual,
                    }
                    for label, policy in ranking.predicted.items()
                }
                for name, ranking in self.rankings.items()
            },
            "latency_doubts": dict(self.latency_doubts),
            "latency_bounded": list(self.latency_bounded),
            "busy": self.busy,
            "drive_writes_a_day": self.lifetime.drive_writes,
            "endurance": self.lifetime.endurance.text,
            "years": None if (waf := self._amount()) is None else self.lifetime.years(waf),
            "failures": dict(self.failures),
            "refused": dict(self.refused),
            "unpredicted": dict(self.unpredicted),
            "screen": self.screen(),
        }

    def to_json(self) -> str:
        """The text of try.json."""
        return json.dumps(self.json, indent=2, ensure_ascii=False) + "\n"

    def __repr__(self) -> str:
        return "\n".join(self.screen())


def drive_option(name: str) -> str:
    """The option of the command that names a drive, after a space; empty for the default drive."""
    short = name.removeprefix(DRIVE)
    return f" --drive {shlex.quote(short)}" if short else ""


def span_of(counts: Sequence[int]) -> str:
    """The smallest and the largest of some counts."""
    return " to ".join(dict.fromkeys((f"{min(counts)}", f"{max(counts)}")))


def span(policy: Predicted) -> str:
    """The interval of a prediction."""
    interval = policy.interval
    return "-" if interval is None else f"{ratio(interval[0])} to {ratio(interval[1])}"
