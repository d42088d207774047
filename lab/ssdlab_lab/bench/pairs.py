"""Two commits compared: instructions, and processor time of runs that alternate.

The other commit is checked out and built under target/bench with today's program, so that both
run the same cases; that fails for commits whose interfaces it does not fit.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import instructions
from .instructions import Count, CountedRun

PROGRAM = Path("crates/ssd-trace/examples/bench_case.rs")
FOLDER = Path("target/bench")
ROUNDS = 5


@dataclass(frozen=True)
class Pair:
    """One case under both commits."""

    case: CountedRun
    now: Count | None
    before: Count | None
    """None without valgrind."""
    speedup: float
    """Median over the rounds of the ratio of the previous processor time to the present one."""
    same_answer: bool


def binary_of(commit: str) -> Path:
    """Build the program at `commit`; raise `CalledProcessError` if that fails."""
    tree = FOLDER / commit
    if not tree.exists():
        archive = subprocess.run(["git", "archive", commit], check=True, capture_output=True)
        tree.mkdir(parents=True)
        subprocess.run(["tar", "-x", "-C", str(tree)], check=True, input=archive.stdout)
    (tree / PROGRAM).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(PROGRAM, tree / PROGRAM)
    instructions.build(tree, FOLDER / "build")
    binary = FOLDER / f"{commit}.bin"
    shutil.copy2(FOLDER / "build/release/examples/bench_case", binary)
    return binary


def _run(binary: Path, case: CountedRun) -> tuple[float, str]:
    """Return the processor time of a run in seconds, and its answer."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(binary.resolve()), *instructions.words(case)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
    return cpu_s, process.stdout.strip()


def pair(case: CountedRun, baseline: Path) -> Pair:
    """Compare the program built from the current sources with `baseline`."""
    ratios: list[float] = []
    answers: set[str] = set()
    for _ in range(ROUNDS):
        (current_s, answer), (baseline_s, baseline_answer) = (
            _run(instructions.BINARY, case),
            _run(baseline, case),
        )
        ratios.append(baseline_s / current_s)
        answers |= {answer, baseline_answer}
    now_count, before_count = instructions.count(case), instructions.count(case, baseline)
    return Pair(case, now_count, before_count, statistics.median(ratios), len(answers) == 1)


def pairs(commit: str, cases: Iterable[CountedRun]) -> list[Pair]:
    """Compare the current sources with `commit`, case by case."""
    instructions.build()
    baseline = binary_of(commit)
    return [pair(case, baseline) for case in cases]
