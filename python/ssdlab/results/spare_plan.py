"""The least over-provisioning that meets bounds: the result of `ssdlab.plan_drive`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ssdlab.config.resolve import DRIVE
from ssdlab.display.numbers import duration, number, percent, ratio
from ssdlab.results.lifetime import Interval, Lifetime, span_text, years_text
from ssdlab.results.prediction import ORDERS
from ssdlab.results.tail import Tail
from ssdlab.results.text import by_reason, first_screen, table, wrapped

NAMES = {"waf": "WAF", "years": "years", "p99_9": "p99.9"}
"""What may be bounded, as it is printed."""
NOTHING_TRIED = "no over-provisioning could be tried"
ORDER = (
    f"WAF and years hold for both orders of updates ({' and '.join(ORDERS.values())}), p99.9 for"
    f" that which was recorded ({ORDERS['recorded']})."
)
"""For which orders of updates the numbers hold."""
Verdict: TypeAlias = Literal["met", "open", "missed", "unknown"]


@dataclass(frozen=True)
class Bound:
    """A limit that a number must not exceed or, for years, must reach."""

    name: str
    """A key of `NAMES`."""
    limit: float

    @property
    def at_least(self) -> bool:
        """Whether the number must be reached."""
        return self.name == "years"

    def verdict(self, interval: Interval | None) -> Verdict:
        """Whether the whole interval meets the bound."""
        if interval is None:
            return "unknown"
        low, high = interval
        if self.at_least:
            low, high = -high, -low
        limit = -self.limit if self.at_least else self.limit
        return "met" if high <= limit else "missed" if low > limit else "open"

    def distance(self, interval: Interval) -> float:
        """How far the worse end of an interval is beyond the bound, as a factor."""
        return self.limit / interval.low if self.at_least else interval.high / self.limit

    @property
    def text(self) -> str:
        """In words."""
        if self.at_least:
            return f"at least {number(self.limit)}"
        return f"at most {_FORM[self.name](Interval(self.limit, self.limit))}"


_FORM: Mapping[str, Callable[[Interval], str]] = {
    "waf": partial(span_text, text=ratio),
    "years": years_text,
    "p99_9": partial(span_text, text=duration),
}


@dataclass(frozen=True)
class Outcome:
    """What a policy achieves at an over-provisioning."""

    policy: str
    values: Mapping[str, Interval]
    """By bound; a latency only where the other bounds are met."""
    doubt: str = ""
    """Why its latency is not known, if it was run."""
    tail: Tail | None = None
    """The p99.9 of the runs, of which `values` has the interval."""

    def text(self, name: str) -> str:
        """A number in words."""
        if name == "p99_9" and self.tail is not None and self.tail.is_wide:
            return self.tail.text
        return _FORM[name](self.values[name]) if name in self.values else "-"


@dataclass(frozen=True)
class Step:
    """An over-provisioning that was tried."""

    provision: float
    raw_bytes: int
    outcomes: tuple[Outcome, ...]
    """Of the policies that could be judged, the one that writes least first."""
    doubts: tuple[str, ...] = ()
    """Why others could not."""

    @property
    def name(self) -> str:
        """The over-provisioning, whole percents."""
        return f"{100 * self.provision:.0f} %"


@dataclass(frozen=True, repr=False)
class SparePlan:
    """The least over-provisioning and the policy that meet bounds on a drive."""

    name: str
    """Of the trace."""
    trace: str
    drive_name: str
    """The argument of `--drive`, or the default drive."""
    provision: float
    """Over-provisioning that the file of the drive states."""
    lifetime: Lifetime
    """Of the drive, at its own over-provisioning and the capacity that was asked for."""
    bounds: tuple[Bound, ...]
    steps: tuple[Step, ...]
    """By over-provisioning."""
    doubt: str = ""
    """Why there is no answer, if the trials support none."""
    refused: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False
    drive_title: str = ""
    """What the drive is called, if not `drive_name`."""
    warnings: Sequence[str] = ()
    """What a reader of the trace should know."""
    options: str = ""
    """Further options of the command, each after a space."""
    remedy: str = ""
    """The command to run where the trace says too little; empty where it says enough."""
    drive_file: str = ""
    """The drive of the answer as a file."""
    folder: Path | None = None

    @property
    def completed(self) -> bool:
        """Every run completed."""
        return not self.failures and not self.interrupted

    def verdicts(self, outcome: Outcome) -> tuple[Verdict, ...]:
        """Of each bound."""
        return tuple(bound.verdict(outcome.values.get(bound.name)) for bound in self.bounds)

    def verdict(self, outcome: Outcome) -> Verdict:
        """Of all bounds together."""
        verdicts = {*self.verdicts(outcome)}
        order: tuple[Verdict, ...] = ("missed", "open", "unknown")
        return next((verdict for verdict in order if verdict in verdicts), "met")

    def meets(self, step: Step) -> Outcome | None:
        """The first policy that meets all bounds, and misses none at a larger step.

        More spare is no worse, so a step that meets bounds below one that may miss them with the
        same policy has a narrow interval by chance.
        """
        larger = [candidate for candidate in self.steps if candidate.provision > step.provision]
        doubtful = {
            outcome.policy
            for candidate in larger
            for outcome in candidate.outcomes
            if self.verdict(outcome) in ("missed", "open")
        }
        met = (outcome for outcome in step.outcomes if self.verdict(outcome) == "met")
        return next((outcome for outcome in met if outcome.policy not in doubtful), None)

    def misses(self, step: Step) -> bool:
        """Whether every policy clearly misses a bound."""
        is_known = bool(step.outcomes) and not step.doubts
        return is_known and all(self.verdict(outcome) == "missed" for outcome in step.outcomes)

    @property
    def answer(self) -> tuple[Step, Outcome] | None:
        """The least over-provisioning that meets all bounds, and with which policy."""
        pairs = ((step, self.meets(step)) for step in self.steps)
        return next(((step, outcome) for step, outcome in pairs if outcome is not None), None)

    @property
    def below(self) -> Step | None:
        """The step below the answer; the last one if there is none."""
        answer = self.answer
        steps = [
            step for step in self.steps if answer is None or step.provision < answer[0].provision
        ]
        return steps[-1] if steps else None

    def nearest(self, bound: Bound) -> tuple[Step, Outcome] | None:
        """What comes nearest to a bound, or meets it best."""
        distances = [
            (bound.distance(outcome.values[bound.name]), i, j)
            for i, step in enumerate(self.steps)
            for j, outcome in enumerate(step.outcomes)
            if bound.name in outcome.values
        ]
        if not distances:
            return None
        _, i, j = min(distances)
        return self.steps[i], self.steps[i].outcomes[j]

    def screen(self) -> list[str]:
        """The answer in at most twelve lines of 80 columns."""
        *rows, (_, command) = self.rows()
        return first_screen(
            self.head, rows, command, f"`ssdlab try` with the drive {self._drive_argument}"
        )

    @property
    def head(self) -> str:
        """What was asked."""
        load = self.lifetime.daily_bytes
        writes = "" if load is None else f", {_decimal(load)} written a day"
        drive = self.drive_title or self.drive_name.removeprefix(DRIVE)
        return f"{self.name} on {drive} of {_decimal(self.lifetime.user_bytes)}{writes}"

    def rows(self) -> list[tuple[str, str]]:
        """The lines of the first screen below its head: what each is about, and its text."""
        return [
            ("drive", self.lifetime.contradiction),
            ("answer", self._answer()),
            *((NAMES[bound.name], self._bound(bound)) for bound in self.bounds),
            ("flash", self._flash()),
            ("confidence", self.confidence),
            ("next", self._next()),
        ]

    def _answer(self) -> str:
        if self.doubt:
            return f"no verdict: {self.doubt}"
        if self.answer is None:
            if not self.steps:
                why = "the search was interrupted" if self.interrupted else NOTHING_TRIED
                return f"none: {why}"
            last_name = self.steps[-1].name
            return f"no over-provisioning up to {last_name} meets all bounds{self._instead()}"
        step, outcome = self.answer
        text = f"{step.name} over-provisioning with {outcome.policy}"
        below = self.below
        if below is None:
            return f"{text}; no smaller step was tried"
        below_text = "is not enough" if self.misses(below) else "may not be enough"
        return f"{text}; {below.name} {below_text}"

    def _instead(self) -> str:
        """What would meet a bound on years that nothing meets; empty if that is another bound."""
        bound = next((candidate for candidate in self.bounds if candidate.name == "years"), None)
        nearest = None if bound is None else self.nearest(bound)
        if bound is None or nearest is None:
            return ""
        step, outcome = nearest
        years = outcome.values["years"]
        if bound.verdict(years) != "missed":
            return ""
        factor = bound.limit / years.low
        text = (
            f": at this load {bound.limit:g} years take {number(factor)} times the capacity, or"
            f" 1 / {number(factor)} of the load"
        )
        best_case = replace(self.lifetime, raw_bytes=step.raw_bytes).years(Interval(1.0, 1.0))
        if best_case is None or best_case.high >= bound.limit:
            return text
        ideal = number(bound.limit / best_case.high)
        return f"{text} ({ideal} times even at write amplification 1)"

    def _bound(self, bound: Bound) -> str:
        if self.doubt:
            return ""
        nearest = self.answer or self.nearest(bound)
        if nearest is None:
            doubts = [
                outcome.doubt for step in self.steps for outcome in step.outcomes if outcome.doubt
            ]
            reason = f"none: {doubts[-1]}" if doubts else "not run, since another bound is missed"
            return f"{bound.text}: {reason}"
        step, outcome = nearest
        value = outcome.text(bound.name)
        if bound.name == "p99_9":
            value += f", as {ORDERS['recorded']}"
        if self.answer is not None:
            return f"{value} ({bound.text})"
        verdict = {"met": "met", "missed": "missed, nearest", "open": "open, nearest"}[
            bound.verdict(outcome.values[bound.name])
        ]
        return f"{bound.text}: {verdict} {value} ({outcome.policy}, {step.name})"

    def _flash(self) -> str:
        spare_text = f"the drive has {percent(self.provision)}"
        if self.answer is None:
            return spare_text
        return f"{_decimal(self.answer[0].raw_bytes)} in all; {spare_text}"

    @property
    def confidence(self) -> str:
        """The confidence in one word, and the reason."""
        if self.doubt or not self.steps:
            return "none"
        if self.interrupted:
            return "low: the search was interrupted"
        below = self.below
        if self.answer is None:
            clear = all(self.misses(step) for step in self.steps)
            return "high: bounds are clearly missed" if clear else "low: some bounds stay open"
        if below is None or self.misses(below):
            return "high: every interval lies within its bound"
        return f"medium: {below.name} may be enough, too"

    def _next(self) -> str:
        if self.remedy:
            return self.remedy
        drive = shlex.quote(self._drive_argument)
        return f"ssdlab try {shlex.quote(self.trace)} --drive {drive}{self.options}"

    @property
    def _drive_argument(self) -> str:
        """The drive of the answer, or that which was asked about."""
        file = self.drive_file if self.answer is not None else ""
        return file or self.drive_name.removeprefix(DRIVE)

    def details(self) -> list[str]:
        """Everything else, as text."""
        rows = [
            [
                f"{'*' if self.answer == (step, outcome) else ' '} {step.name} {outcome.policy}",
                *(self._cell(outcome, name) for name in NAMES),
            ]
            for step in self.steps
            for outcome in step.outcomes
        ]
        lines = table(["  spare, policy", *NAMES.values()], rows) if rows else []
        marks = f"* the answer; ! misses its bound, ? may miss it. {ORDER}"
        lines += [*(["", *wrapped("", marks)] if rows else []), ""]
        lines += [*wrapped("endurance  ", self.lifetime.endurance.text)]
        if self.lifetime.contradiction:
            lines += wrapped("  ! ", self.lifetime.contradiction)
        for text in dict.fromkeys((*self.warnings, *self.doubts())):
            lines += wrapped("  ! ", text)
        for policy, reason in self.refused.items():
            lines += wrapped("  - ", f"without {policy}: {reason}")
        for title, reason in by_reason(self.failures).items():
            lines += wrapped("  ! ", f"{title} could not finish: {reason}")
        return lines

    def _cell(self, outcome: Outcome, name: str) -> str:
        bound = next((candidate for candidate in self.bounds if candidate.name == name), None)
        verdict = bound.verdict(outcome.values.get(name)) if bound else "met"
        return outcome.text(name) + {"missed": " !", "open": " ?"}.get(verdict, "")

    def doubts(self) -> Iterator[str]:
        """What could not be judged at each step, and why."""
        for step in self.steps:
            yield from (f"{step.name}: {doubt}" for doubt in step.doubts)
            yield from (
                f"{step.name}: {outcome.policy}: {outcome.doubt}"
                for outcome in step.outcomes
                if outcome.doubt
            )

    def summary(self) -> str:
        """The first screen, the details, and the first screen again."""
        screen = self.screen()
        return "\n".join([*screen, "", *self.details(), "", *screen]) + "\n"

    @property
    def json(self) -> dict[str, Any]:
        """The contents of plan.json."""
        answer, lifetime = self.answer, self.lifetime
        return {
            "version": 1,
            "completed": self.completed,
            "name": self.name,
            "drive": self.drive_name,
            "capacity_bytes": lifetime.user_bytes,
            "daily_writes_bytes": lifetime.daily_bytes,
            "endurance": asdict(lifetime.endurance),
            "bounds": {bound.name: bound.limit for bound in self.bounds},
            "answer": answer and {"provision": answer[0].provision, "policy": answer[1].policy},
            "confidence": self.confidence,
            "doubt": self.doubt,
            "warnings": list(self.warnings),
            "steps": [self._step_json(step) for step in self.steps],
            "failures": dict(self.failures),
            "refused": dict(self.refused),
            "screen": self.screen(),
        }

    def _step_json(self, step: Step) -> dict[str, Any]:
        names = [bound.name for bound in self.bounds]
        return {
            "provision": step.provision,
            "raw_bytes": step.raw_bytes,
            "policies": {
                outcome.policy: {
                    name: {"low": interval.low, "high": interval.high}
                    for name, interval in outcome.values.items()
                }
                | {
                    "verdicts": dict(zip(names, self.verdicts(outcome), strict=True)),
                    "doubt": outcome.doubt,
                }
                for outcome in step.outcomes
            },
            "doubts": step.doubts,
        }

    def to_json(self) -> str:
        """The text of plan.json."""
        return json.dumps(self.json, indent=2, ensure_ascii=False) + "\n"

    def __repr__(self) -> str:
        return "\n".join(self.screen())


def _decimal(bytes_: float) -> str:
    """A capacity as drives are sold: in decimal units, three digits."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if bytes_ >= 0.9995 * factor:
            return f"{bytes_ / factor:.3g} {unit}"
    return f"{number(bytes_)} B"
