#!/usr/bin/env python3
"""Mutation testing of the Python package and its pages: change one place, see whether a test fails.

    python tools/python_mutants.py sample [python|pages ...]   a fixed random sample of each area
    python tools/python_mutants.py changed [BASE]              the lines changed since BASE (main)
    python tools/python_mutants.py changed BASE --budget SECONDS      some of them, drawn by SEED

Python is mutated by mutmut's operators, the page's scripts by those of `mutation/script_sites.py`.
Of a line there is at most one mutant in a sample, drawn by the seed SEED. A mutant meets the tests
that run its line, known from a run of each file of tests under coverage.py (`mutation/reach.py`),
until one fails. What needs five times the processor time of the tests counts as caught.

Results are kept, and what has one is not run again unless the test that caught the mutant has
changed: of samples in `tools/mutation/results.jsonl`, from which `make docs` writes
docs/mutants.md; of changes in `target/mutants/python.jsonl`. `--again` forgets the survivors, to
run them after tests were added. Which tests run which lines is measured when a mutant comes to
them, first of those that name its module. With a budget no more are measured when it is spent:
what survives those that are known is undecided.
Mutants that change nothing anybody can see are listed with the reason in
`tools/mutation/equivalent_python.txt`. Prints the survivors and, for each area, how many were
caught. Exit code 1 if a survivor is not explained, 2 if the tests fail without a mutant.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bounded
from bounded import Limits
from mutation import python_sites, script_sites
from mutation.command import check_names, diff, fork_of
from mutation.page import KEPT, PAGES, is_stale
from mutation.python_sites import Change, compiles
from mutation.reach import MOST_S, PAGE_SCRIPTS, Tests, tests_of
from mutation.results import AT_FIRST, Origin, Results, reasons
from mutation.witness import witness

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "mutants"
EQUIVALENT = ROOT / "tools" / "mutation" / "equivalent_python.txt"
FOLDERS = ("python", "lab")
PACKAGES = ("python/ssdlab", "lab/ssdlab_lab")
"""The product and its lab."""
SEED = 1
SAMPLE = {"python": 80, "pages": 40}
# Measurements of the simulator itself, whose tests are slow or which print times of this machine.
LEFT_OUT = tuple(f"lab/ssdlab_lab/{name}" for name in ("bench", "validation", "kv/bench.py"))
# Of the papers: numbers transcribed from them, which docs/papers shows. Functions are mutated.
TRANSCRIBED = "lab/ssdlab_lab/reproduce/papers"
FIRST_FILES = 2
# Times the processor time of the tests without a mutant, and at least so many seconds: it hangs.
PATIENCE, LEAST_S = 5, 60
# What the tests of the scripts take.
SCRIPTS_S = 30.0
# Tests that neither end nor compute.
LONGEST_S = 1800
# Of pytest: there was nothing to run.
NO_TEST = 5
# Mutants that are judged whatever the budget is.
LEAST = 3


@dataclass(frozen=True)
class Mutant:
    """One change in one file."""

    area: str
    file: str
    change: Change
    name: str
    """The same as long as the line stays the same."""
    digest: str = ""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.change.line}"

    @property
    def rank(self) -> str:
        """Its place in the draw."""
        return hashlib.sha256(f"{SEED}:{self.name}".encode()).hexdigest()


def sources() -> Iterator[tuple[str, Path]]:
    """Area and path of every source."""
    folders = [ROOT / name for name in PACKAGES]
    files = sorted(path for folder in folders for path in folder.rglob("*"))
    for path in (path for path in files if path.suffix in (".py", ".js")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(LEFT_OUT):
            yield "pages" if name.startswith(PAGES) else "python", path


def mutants(areas: list[str], lines: dict[str, set[int]] | None = None) -> Iterator[Mutant]:
    """All mutants of some areas, or of some lines by file."""
    for area, path in sources():
        file = path.relative_to(ROOT).as_posix()
        if area not in areas or (lines is not None and file not in lines):
            continue
        source = path.read_text(encoding="utf-8")
        sites = python_sites if path.suffix == ".py" else script_sites
        transcribed = file.startswith(TRANSCRIBED)
        occurrences: dict[str, int] = {}
        for change in sites.changes(source):
            if lines is not None and change.line not in lines[file]:
                continue
            if transcribed and not change.in_function:
                continue
            line_start = source.rfind("\n", 0, change.first) + 1
            end = source.find("\n", change.last)
            old_line = source[line_start:end].strip()
            new_line = source[line_start : change.first] + change.text + source[change.last : end]
            name = " ".join(f"{file}: {old_line} -> {new_line.strip()}".split())
            occurrences[name] = occurrences.get(name, 0) + 1
            name += f" ({occurrences[name]})" if occurrences[name] > 1 else ""
            yield Mutant(area, file, change, name)


def drawn(areas: list[str]) -> list[Mutant]:
    """The sample of some areas."""
    selection: list[Mutant] = []
    candidates = sorted(mutants(areas), key=lambda mutant: mutant.rank)
    for area in areas:
        lines: dict[tuple[str, int], Mutant] = {}
        for mutant in candidates:
            place = (mutant.file, mutant.change.line)
            if mutant.area == area and place not in lines and viable(mutant):
                lines[place] = mutant
            if len(lines) == SAMPLE[area]:
                break
        selection += lines.values()
    return selection


def viable(mutant: Mutant) -> bool:
    """Whether it is a program, and another one."""
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    mutated = mutant.change.made(source)
    return mutated != source and (mutant.file.endswith(".js") or compiles(mutated))


def changed(base: str) -> list[Mutant]:
    """The mutants of the lines that differ from where this branch left `base`."""
    fork = fork_of(base, *(f"{package}/*.{end}" for package in PACKAGES for end in ("py", "js")))
    lines = changed_lines(diff(fork, "-U0", "--", *FOLDERS))
    if not lines:
        print(f"no line of the Python packages differs from {base}")
    sampled = {path.relative_to(ROOT).as_posix() for _, path in sources()}
    for file in sorted({*lines} - sampled):
        reason = "measures the simulator" if file.startswith(LEFT_OUT) else "no source of a sample"
        print(f"{file}: {len(lines[file])} changed lines are left out: {reason}")
    viable_mutants = [mutant for mutant in mutants(list(SAMPLE), lines) if viable(mutant)]
    for file in sorted({*lines} & sampled):
        mutant_count = sum(mutant.file == file for mutant in viable_mutants)
        print(f"{file}: {len(lines[file])} changed lines, {mutant_count} mutants", flush=True)
    return viable_mutants


def changed_lines(text: str) -> dict[str, set[int]]:
    """Numbers of the lines that a diff without context adds, by file."""
    lines: dict[str, set[int]] = {}
    file = ""
    for line in text.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(file, set()).update(range(first, first + count))
    return {file: numbers for file, numbers in lines.items() if numbers}


def function_lines(source: str) -> set[int]:
    """Lines that run when something is called."""
    import ast

    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            lines.update(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return lines


class Judge:
    """Runs tests on a copy of the package, in which one place is changed."""

    def __init__(self) -> None:
        self.tests = Tests(ROOT, WORK)
        self.tree = WORK / "package"
        self.passing: set[str] = set()
        """What passes on the copy as it is."""
        shutil.rmtree(self.tree, ignore_errors=True)
        ignore = shutil.ignore_patterns("__pycache__")
        for name in filter(lambda name: (ROOT / name).exists(), FOLDERS):
            shutil.copytree(ROOT / name, self.tree / name, ignore=ignore)

    def verdict(self, mutant: Mutant, until: float) -> tuple[str, str]:
        """Verdict, and the first test that failed; no test is measured after a time of the clock.

        Exit if that test fails on the package as it is, too.
        """
        path, source = self.tree / mutant.file, (ROOT / mutant.file).read_text(encoding="utf-8")
        path.write_text(mutant.change.made(source), encoding="utf-8")
        try:
            verdict, test = self._met(mutant, source, until)
        finally:
            path.write_text(source, encoding="utf-8")
        if test and test not in self.passing:
            if run_tests(test.split(" tests/"), math.inf, self.tree)[0] != "survived":
                print(f"without a mutant {test} fails on a copy of the package", file=sys.stderr)
                sys.exit(2)
            self.passing.add(test)
        return verdict, test

    def _met(self, mutant: Mutant, source: str, until: float) -> tuple[str, str]:
        """What the tests say of a mutant that is in its place."""
        if mutant.file.endswith(".js"):
            return run_tests([PAGE_SCRIPTS], PATIENCE * SCRIPTS_S, self.tree)
        lines = {mutant.change.line}
        # A constant is used by the functions of its module.
        if not mutant.change.in_function:
            lines = function_lines(source)
        left_s = MOST_S
        for reaches in self.tests.in_turn(Path(mutant.file).stem, until):
            tests, usual_s = tests_of(reaches, mutant.file, lines, left_s)
            left_s -= usual_s
            # Most are caught by the first files: the others need not be imported.
            first = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:FIRST_FILES]
            first_tests = [test for test in tests if test.startswith(tuple(first))]
            remaining_tests = [test for test in tests if test not in first_tests]
            for batch in filter(None, (first_tests, remaining_tests)):
                verdict, test = run_tests(batch, max(LEAST_S, PATIENCE * usual_s), self.tree)
                if verdict != "survived":
                    return verdict, test
            if left_s <= 0:
                return "survived", ""
        return ("survived" if self.tests.are_known() else "quick"), ""


def run_tests(tests: list[str], most_s: float, tree: Path) -> tuple[str, str]:
    """Whether one of the tests fails on the package in `tree`, and which."""
    # Stale bytecode is known by the second in which its source was written: none is kept.
    path = os.pathsep.join(str(tree / name) for name in FOLDERS)
    environment = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-qx", "-m", "not slow", "--no-header"]
    command += ["--tb=line", "-p", "no:cacheprovider", *tests]
    limits = Limits(LONGEST_S, most_s if most_s < math.inf else None)
    result = bounded.run(command, ROOT, environment, limits, errors=subprocess.STDOUT)
    files = " ".join(sorted({test.partition("::")[0] for test in tests}))
    if result.hung:
        return "hangs", files
    if result.code == 0:
        return "survived", ""
    if result.code == NO_TEST or "ERROR: not found: " in result.output:
        print(f"tests that were measured are not there:\n{result.output}", file=sys.stderr)
        sys.exit(2)
    failure = re.search(r"^(?:FAILED|ERROR) (\S+)", result.output, re.MULTILINE)
    return "caught", failure[1] if failure else files


def judge_all(todo: list[Mutant], results: Results, budget_s: float) -> None:
    """Judge mutants in their order: LEAST of them, and then more as long as the budget lasts."""
    until = time.monotonic() + budget_s
    judge = Judge()
    for index, mutant in enumerate(todo):
        start = time.monotonic()
        if index >= LEAST and start > until:
            break
        verdict, test = judge.verdict(mutant, until)
        results.add(mutant, verdict, test, time.monotonic() - start)


def main() -> int:
    """Judge a sample or a change; 1 if a survivor is not explained."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["sample", "changed"])
    parser.add_argument("names", nargs="*", help="areas of the sample, or the base of the change")
    parser.add_argument("--again", action="store_true", help="run the survivors again")
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="of a change: about so long"
    )
    parser.add_argument("--table", action="store_true", help="run nothing, print what is known")
    options = parser.parse_args()
    check_names(parser, options, SAMPLE)
    is_sample = options.what == "sample"
    results = Results(
        KEPT if is_sample else WORK / "python.jsonl",
        {"survived", "quick"} if options.again else {"quick"},
        lambda area, test: witness(ROOT, area, test),
        Origin.of_committed(ROOT) if is_sample and not options.table else Origin.of(ROOT),
    )
    if is_sample:
        results.forget(is_stale)
        selection = drawn(options.names or list(SAMPLE))
    else:
        selection = sorted(changed(*(options.names or ["main"])), key=lambda mutant: mutant.rank)
    areas = {area: [m for m in selection if m.area == area] for area in SAMPLE}
    areas = {area: order for area, order in areas.items() if order}
    # Of every area some first.
    todo = [mutant for order in areas.values() for mutant in order[:AT_FIRST]]
    todo += [mutant for order in areas.values() for mutant in order[AT_FIRST:]]
    todo = [mutant for mutant in todo if not results.of(mutant)]
    if todo and not options.table:
        judge_all(todo, results, options.budget or math.inf)
        judged = sum(results.of(mutant) is not None for mutant in selection)
        print(f"{judged} of {len(selection)} mutants judged, drawn by seed {SEED}", flush=True)
    if is_sample and not options.table:
        results.tidy(areas)
    return 1 if results.table(areas, reasons(EQUIVALENT)) else 0


if __name__ == "__main__":
    sys.exit(bounded.interruptible(main, "what is judged is kept, and the same command goes on"))
