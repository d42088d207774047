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
from .instructions import CountedRun
from .measure import Figures, expected_amplification

AnyCase = TypeVar("AnyCase", Case, CountedRun)
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
    results: list[tuple[Case, Figures]] = []
    complaints: list[str] = []
    for case in _wanted(only, CASES):
        figures = _median(case)
        complaints += _wrong_answers(case, figures, path, accept)
        history.append(path, case.name, asdict(figures))
        results.append((case, figures))
    Console().print(_table(results))
    for case, figures in results:
        sys.stdout.write(f"{case.name}: {case.what}")
        if case.build_required_s is not None:
            cpu_s, limit = figures.build_cpu_s, case.build_required_s
            sys.stdout.write(f": {cpu_s:.1f} s of the processor, required {limit:g} s")
        sys.stdout.write("\n")
    short = [case.name for case, figures in results if figures.writes_per_cpu_s < case.required]
    complaints += [f"{name}: slower than required" for name in short]
    slow = [case.name for case, figures in results if figures.build_cpu_s > _most_build_s(case)]
    complaints += [f"{name}: built more slowly than required" for name in slow]
    for complaint in complaints:
        sys.stderr.write(complaint + "\n")
    return 1 if complaints else 0


def _wanted(only: str | None, cases: Sequence[AnyCase]) -> list[AnyCase]:
    """Return the cases with the names in `only`, all without it. Raises `ConfigError`."""
    names = only.split(",") if only else [case.name for case in cases]
    unknown = set(names) - {case.name for case in cases}
    if unknown:
        available = ", ".join(case.name for case in cases)
        raise ConfigError([f"no case {', '.join(sorted(unknown))}; there are: {available}"])
    return [case for case in cases if case.name in names]


def _most_build_s(case: Case) -> float:
    return math.inf if case.build_required_s is None else case.build_required_s


def _median(case: Case) -> Figures:
    """Run the case in separate processes; the median of the speeds, the answer of all."""
    runs: list[Figures] = []
    for _ in range(case.repeats):
        command = [sys.executable, "-m", "ssdlab_lab.bench.measure", case.name]
        process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        runs.append(Figures(**json.loads(process.stdout)))
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
    values = asdict(figures)
    for key in ("programs", "erases", "digest"):
        if last[key] != values[key]:
            yield f"{case.name}: {key} {values[key]}, recorded {last[key]}; --accept if meant"


def _table(results: Sequence[tuple[Case, Figures]]) -> Table:
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
    for case, f in results:
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


def _instructions(path: Path, cases: Sequence[CountedRun], accept: bool) -> int:
    """Count the cases, compare them with the recorded counts and add them to the history."""
    instructions.build()
    complaints: list[str] = []
    for case in cases:
        counts = instructions.count(case)
        if counts is None:
            sys.stderr.write("valgrind not found: nothing counted\n")
            return 0
        key = f"instructions-{case.name}"
        last = history.recorded(path, key)
        history.append(path, key, asdict(counts))
        sys.stdout.write(f"{case.what}: {_shown(counts)}\n")
        if case.most is not None and counts.instructions > case.most * counts.pages:
            complaints.append(f"{case.name}: more than {case.most} instructions per host page")
        if last is None or accept:
            continue
        increase = counts.instructions / last["instructions"] - 1.0
        sys.stdout.write(f"  {increase:+.2%} against {last['instructions']} of {last['commit']}\n")
        if last["answer"] != counts.answer:
            complaints.append(f"{case.name}: the answer was {last['answer']}; --accept if meant")
        if increase > instructions.TOLERANCE:
            complaints.append(f"{case.name}: {increase:+.1%} instructions")
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
    process = subprocess.run(words, check=False, capture_output=True, text=True)
    if process.returncode:
        raise ConfigError([f"--against {commit}: no commit of this checkout has that name"])
    return process.stdout.strip()


def _against(commit: str, cases: Sequence[CountedRun], path: Path) -> int:
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
    results = pairs.pairs(short, cases)
    for result in results:
        baseline, current, ratio = "-", "-", "-"
        if result.now is not None and result.before is not None:
            baseline = f"{result.before.instructions / result.before.pages:.0f}"
            current = f"{result.now.instructions / result.now.pages:.0f}"
            ratio = f"{result.now.instructions / result.before.instructions:.3f}"
        comparison = "the same" if result.same_answer else "differs"
        table.add_row(
            result.case.what, baseline, current, ratio, f"{result.speedup:.2f}", comparison
        )
    Console().print(table)
    return 0 if all(result.same_answer for result in results) else 1
