"""The runs of the grid: what they measured, as it is kept in docs/policies/measured.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import ssdlab
from measured.grid import DRIVE, METRICS, NEEDS, QUESTIONS, SEEDS, SETTINGS, Question, cells
from ssdlab import _core
from ssdlab.traces.info import json_text

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs/policies/measured.json"
PRESET = "greedy-8ch"


@dataclass(frozen=True)
class Policy:
    """An answer to a question, as it is listed."""

    question: Question
    name: str
    summary: str
    source: str
    """Paper, or what it is after."""
    parameters: tuple[Mapping[str, str], ...] = ()


@cache
def policies() -> tuple[Policy, ...]:
    """All of them: those that `ssdlab list policies` lists, and the words of other decisions."""
    return tuple(_policies())


def _policies() -> Iterator[Policy]:
    registry = json.loads(_core.registry())["policies"]
    for question in QUESTIONS:
        for entry in registry.get(question.key, ()):
            facts = entry["summary"], entry["paper"], tuple(entry["params"])
            yield Policy(question, entry["name"], *facts)
        for name, (summary, source) in question.words.items():
            yield Policy(question, name, summary, source)


def setting(question: Question, name: str) -> dict[str, object]:
    """The keys that choose a policy."""
    if name in question.values:
        return question.values[name]
    return {question.key: SETTINGS.get((question.key, name), (name, ""))[0]}


def baseline(policy: Policy) -> str:
    """Under which name the default that a policy is compared with is kept."""
    default = policy.question.default
    is_own = (policy.question.key, policy.name) in NEEDS
    return f"{default} for {policy.name}" if is_own else default


def rows(question: Question) -> dict[str, dict[str, object]]:
    """The name of every line of a question that is measured, and what it sets."""
    settings: dict[str, dict[str, object]] = {}
    for policy in policies():
        if policy.question != question:
            continue
        needs = question.needs | NEEDS.get((question.key, policy.name), {})
        settings[policy.name] = needs | setting(question, policy.name)
        if baseline(policy) != question.default:
            settings[baseline(policy)] = needs | setting(question, question.default)
    return settings


def numbers(report: ssdlab.Report) -> dict[str, float | None]:
    """What is compared of a run, in six digits."""
    write, read, wear = report.latency.write, report.latency.read, report.wear
    values = {
        "waf": report.waf.total,
        "write_mean_ns": write.mean,
        "write_p99_9_ns": write.p99_9,
        "read_mean_ns": read.mean,
        "read_p99_9_ns": read.p99_9,
        "erase_spread": wear.erase_max / wear.erase_mean if wear.erase_mean else None,
    }
    return {key: None if values[key] is None else float(f"{values[key]:.6g}") for key in METRICS}


def measured(keys: Mapping[str, object], cell: Mapping[str, object]) -> dict[str, object]:
    """All seeds of a line in a cell: a list for each number, and what invalidates them."""
    values_by_metric: dict[str, list[float | None]] = {key: [] for key in METRICS}
    warning = ""
    for seed in SEEDS:
        try:
            report = ssdlab.run(
                PRESET, set=DRIVE | dict(cell) | dict(keys), seed=seed, progress=False
            )
        except (ssdlab.ConfigError, ssdlab.RunError) as error:
            return {"refused": str(error)}
        for key, value in numbers(report).items():
            values_by_metric[key].append(value)
        if report.invalidating and not warning:
            warning = report.warnings[0]
    return {**values_by_metric, "invalid": warning}


def measure(only: Sequence[str] = ()) -> None:
    """Run the whole grid, or some questions of it, and keep it."""
    questions: dict[str, object] = {}
    if only:
        questions = json.loads(KEPT.read_text(encoding="utf-8"))["questions"]
    for question in (candidate for candidate in QUESTIONS if not only or candidate.key in only):
        lines = questions[question.key] = {}
        for name, keys in rows(question).items():
            lines[name] = {cell: measured(keys, sets) for cell, sets in cells().items()}
            sys.stderr.write(f"{question.key} {name}\n")
    head = {"ssdlab": ssdlab.__version__, "results": ssdlab.__results_version__}
    write(head | {"seeds": list(SEEDS), "questions": questions})


def write(values: Mapping[str, object]) -> None:
    """A line of the file for each line and cell."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json_text(values, indent=1), encoding="utf-8")
