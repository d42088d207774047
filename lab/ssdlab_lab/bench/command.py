"""`ssdlab bench`: speed, memory and instructions of the cases, next to the recorded ones."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from ssdlab.errors import ConfigError

from . import history, instructions, pairs
from .cases import BYTES_PER_PAGE, CASES, Case
from .instructions import Counted
from .measure import Figures, expected_amplification

AnyCase = TypeVar("AnyCase", Case, Counted)
RECORDED = "recorded"
"""Stands for the commit whose instructions were recorded last."""


def bench(only: str | None, path: Path, counted: bool, against: str | None, accept: bool) -> int:
    """Measure, check the answers, add to the history, print the table; 1 if it falls short.

    `counted`: count instructions instead. `against`: compare them with those of a commit instead.
    Raises `ConfigError` for a case that does not exist.
    """
    if counted:
        return _instructions(path, _wanted(only, instructions.COUNTED), accept)
    if against is not None:
        return _against(against, _wanted(only, instructions.COUNTED), path)
    done: list[tuple[Case, Figures]] = []
    complaints: list[str] = []
    for case in _wanted(only, CASES):
        figures = _median(case)
        complaints += _wrong_answers(case, figures, path, accept)
        history.append(path, case.name, asdict(figures))
        done.append((case, figures))
    Console().print(_table(done))
    for case, figures in done:
        sys.stdout.write(f"{case.name}: {case.what}")
        if case.build_required_s is not None:
            spent, most = figures.build_cpu_s, case.build_required_s
            sys.stdout.write(f": {spent:.1f} s of the processor, required {most:g} s")
        sys.stdout.write("\n")
    short = [case.name for case, figures in done if figures.writes_per_cpu_s < case.required]
    complaints += [f"{name}: slower than required" for name in short]
    slow = [case.name for case, figures in done if figures.build_cpu_s > _most_build_s(case)]
    complaints += [f"{name}: built more slowly than required" for name in slow]
    for complaint in complaints:
        sys.stderr.write(complaint + "\n")
    return 1 if complaints else 0


def _wanted(only: str | None, cases: Sequence[AnyCase]) -> list[AnyCase]:
    """Return the cases with the names in `only`, all without it. Raises `ConfigError`."""
    names = only.split(",") if only else [case.name for case in cases]
    unknown = set(names) - {case.name for case in cases}
    if unknown:
        known = ", ".join(case.name for case in cases)
        raise ConfigError([f"no case {', '.join(sorted(unknown))}; there are: {known}"])
    return [case for case in cases if case.name in names]


def _most_build_s(case: Case) -> float:
    return math.inf if case.build_required_s is None else case.build_required_s


def _median(case: Case) -> Figures:
    """Run the case in separate processes; the median of the speeds, the answer of all."""
    runs: list[Figures] = []
    for _ in range(case.repeats):
        command = [sys.executable, "-m", "ssdlab_lab.bench.measure", case.name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        runs.append(Figures(**json.loads(done.stdout)))
    if len({(run.programs, run.erases, run.digest) for run in runs}) > 1:
        message = f"{case.name}: the answer differs from run to run"
        raise RuntimeError(message)
    return replace(
        runs[0],
        writes_per_cpu_s=statistics.median(run.writes_per_cpu_s for run in runs),
        flash_ops_per_cpu_s=statistics.median(run.flash_ops_per_cpu_s for run in runs),
        wall_s=statistics.median(run.wall_s for run in runs),
    )


def _wrong_answers(case: Case, figures: Figures, path: Path, accept: bool) -> Iterator[str]:
    low, high = expected_amplification(case)
    if not low <= figures.amplification <= high:
        wa = f"{figures.amplification:.4f}"
        yield f"{case.name}: WA {wa} is not between {low:.4f} and {high:.4f}"
    if case.planes > 32 and figures.rss_bytes_per_page > BYTES_PER_PAGE:
        yield f"{case.name}: {figures.rss_bytes_per_page:.1f} bytes a page"
    last = history.recorded(path, case.name)
    if last is None or accept:
        return
    now = asdict(figures)
    for what in ("programs", "erases", "digest"):
        if last[what] != now[what]:
            yield f"{case.name}: {what} {now[what]}, recorded {last[what]}; --accept if meant"


def _table(done: Sequence[tuple[Case, Figures]]) -> Table:
    table = Table(title="Host writes per second of the processor, and memory")
    for title in (
        "case",
        "required",
        "aim",
        "measured",
        "WA",
        "flash op/s",
        "B/page, by RSS",
        "peak RSS",
    ):
        table.add_column(title, justify="left" if title == "case" else "right")
    for case, f in done:
        table.add_row(
            case.name,
            f"{case.required / 1e6:.1f} M",
            f"{case.aim / 1e6:.1f} M",
            f"{f.writes_per_cpu_s / 1e6:.2f} M",
            f"{f.amplification:.3f}",
            f"{f.flash_ops_per_cpu_s / 1e6:.1f} M",
            f"{f.bytes_per_page:.1f}/{f.rss_bytes_per_page:.1f}",
            f"{f.peak_rss_bytes / 2**20:.0f} MiB",
        )
    return table


def _instructions(path: Path, cases: Sequence[Counted], accept: bool) -> int:
    """Count the cases, compare them with the recorded counts and add them to the history."""
    instructions.build()
    complaints: list[str] = []
    for case in cases:
        now = instructions.count(case)
        if now is None:
            sys.stderr.write("valgrind not found: nothing counted\n")
            return 0
        key = f"instructions-{case.name}"
        last = history.recorded(path, key)
        history.append(path, key, asdict(now))
        sys.stdout.write(f"{case.what}: {_shown(now)}\n")
        if case.most is not None and now.instructions > case.most * now.pages:
            complaints.append(f"{case.name}: more than {case.most} instructions per host page")
        if last is None or accept:
            continue
        more = now.instructions / last["instructions"] - 1.0
        sys.stdout.write(f"  {more:+.2%} against {last['instructions']} of {last['commit']}\n")
        if last["answer"] != now.answer:
            complaints.append(f"{case.name}: the answer was {last['answer']}; --accept if meant")
        if more > instructions.TOLERANCE:
            complaints.append(f"{case.name}: {more:+.1%} instructions")
    for complaint in complaints:
        sys.stderr.write(complaint + "\n")
    return 1 if complaints else 0


def _shown(count: instructions.Count) -> str:
    per_page = count.instructions / count.pages
    per_operation = count.instructions / count.operations
    return f"{per_page:.0f} instructions per host page, {per_operation:.0f} per flash operation"


def _short(commit: str) -> str:
    """The abbreviation of a commit. Raises `ConfigError` if there is none of that name."""
    words = ["git", "rev-parse", "--short=12", "--verify", "--end-of-options", commit]
    found = subprocess.run(words, check=False, capture_output=True, text=True)
    if found.returncode:
        raise ConfigError([f"--against {commit}: no commit of this checkout has that name"])
    return found.stdout.strip()


def _against(commit: str, cases: Sequence[Counted], path: Path) -> int:
    """Print the ratios to another commit; 1 if the answers differ."""
    if commit == RECORDED:
        last = history.recorded(path, f"instructions-{instructions.COUNTED[0].name}")
        if last is None or not last["commit"]:
            sys.stderr.write(f"{path}: no instructions are recorded; run --instructions first\n")
            return 2
        commit = last["commit"].rstrip("+")
    short = _short(commit)
    table = Table(title=f"Against {short}: instructions per host page, and processor time")
    for title in ("case", "before", "now", "ratio", "speed-up, by time", "answer"):
        table.add_column(title, justify="left" if title == "case" else "right")
    found = pairs.pairs(short, cases)
    for one in found:
        before, now, ratio = "-", "-", "-"
        if one.now is not None and one.before is not None:
            before = f"{one.before.instructions / one.before.pages:.0f}"
            now = f"{one.now.instructions / one.now.pages:.0f}"
            ratio = f"{one.now.instructions / one.before.instructions:.3f}"
        same = "the same" if one.same_answer else "differs"
        table.add_row(one.case.what, before, now, ratio, f"{one.speedup:.2f}", same)
    Console().print(table)
    return 0 if all(one.same_answer for one in found) else 1
