#!/usr/bin/env python3
"""Seed bugs, one at a time, and see whether the suite that each names catches it.

    python tools/seeded_bugs.py [NAME ...] [--tenth K|today]

Each `tools/seeded_bugs/*.patch` changes a crate or the Python package. Those of the crates are
compiled into one build (`mutation/schemata.py`), in which a variable of the environment selects
one; what cannot be is built for itself. The suite that the first line of a patch names,
`Caught by: SUITE`, is a file of the crate's integration tests or a test file of the package, which
also tests the bindings. It passes without any bug, and one of its tests fails on this one.

`--tenth` takes a tenth of the bugs, the same whatever others are added: K from 0 to 9, or that of
the day. Prints a line for each bug: the test that caught it. Exit code 1 if a bug survives or a
patch no longer applies, 2 if the sources fail without any bug.

A hunk is found by its text, not by its line number: its removed and context lines must stand
exactly once in the file.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import re
import shutil
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import bounded
from bounded import Limits
from mutation.patches import as_mutants
from mutation.suites import (
    ALONE,
    ALONE_TARGET,
    BINDINGS,
    INTEGRATION,
    TARGET,
    TREE,
    Suite,
    binaries,
    cargo,
    copy_sources,
    errors_of,
    judge,
    measure,
    prepare,
    python_suites,
    run,
    sync,
)

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tools" / "seeded_bugs"
# A bug that makes a test hang is caught too. The bound is on processor time, as a busy machine
# takes longer; that on elapsed time is for what waits without end.
LIMITS = Limits(longest_s=3600, cpu_s=400)


class FailsAlone(Exception):
    """A suite that fails without any bug."""


class Unfit(Exception):
    """A patch that does not apply any more, or with which the sources do not compile."""


def hunks(patch: str) -> list[tuple[str, str, str]]:
    """(file, old text, new text) of every hunk."""
    file_hunks: list[tuple[str, list[str], list[str]]] = []
    file = ""
    for line in patch.splitlines(keepends=True):
        if line.startswith("--- a/"):
            file = line[len("--- a/") :].strip()
        elif line.startswith("@@"):
            file_hunks.append((file, [], []))
        elif file_hunks and not line.startswith("+++"):
            _, old, new_lines = file_hunks[-1]
            if line[0] in " -":
                old.append(line[1:])
            if line[0] in " +":
                new_lines.append(line[1:])
    return [(file, "".join(old), "".join(new_lines)) for file, old, new_lines in file_hunks]


OF_PYTHON = {"ssdlab": "python", "ssdlab_lab": "lab"}
"""The Python packages, and the folder of each."""


def crate_of(patch: Path) -> str:
    """The crate, or one of `OF_PYTHON`, that a patch changes."""
    file, _, _ = hunks(patch.read_text(encoding="utf-8"))[0]
    return Path(file).parts[1]


def suite_of(patch: Path) -> str:
    """The suite that the head of a patch names; "" if there is no such suite."""
    suite_match = re.match(r"Caught by: (\w+)\n", patch.read_text(encoding="utf-8"))
    area = crate_of(patch)
    folder, ending = (
        ("tests/py", "py")
        if area in OF_PYTHON or area == BINDINGS
        else (f"crates/{area}/tests/suite", "rs")
    )
    return (
        suite_match[1]
        if suite_match and (ROOT / folder / f"{suite_match[1]}.{ending}").exists()
        else ""
    )


def stale(patch: Path) -> str:
    """Why a patch does not apply; "" if it does."""
    if not suite_of(patch):
        return f"its first line is not `Caught by: SUITE` with a suite of {crate_of(patch)}"
    for file, old, _ in hunks(patch.read_text(encoding="utf-8")):
        count = (ROOT / file).read_text(encoding="utf-8").count(old)
        if count != 1:
            return f"{file} holds the changed lines {count} times"
    return ""


def apply(patch: Path, tree: Path) -> list[tuple[Path, str]]:
    """Change the files of `tree`; returns what they held before."""
    originals: list[tuple[Path, str]] = []
    for file, old, replacement in hunks(patch.read_text(encoding="utf-8")):
        path = tree / file
        originals.append((path, path.read_text(encoding="utf-8")))
        path.write_text(originals[-1][1].replace(old, replacement), encoding="utf-8")
    return originals


def restore(originals: list[tuple[Path, str]]) -> None:
    """Write the texts back as they were before a patch."""
    for path, text in reversed(originals):
        path.write_text(text, encoding="utf-8")


def suite_in(tree: Path, target: Path, crate: str, name: str) -> Suite:
    """A suite of a crate, built from the sources in `tree`."""
    suites = (
        python_suites(ROOT, tree, target, [name])
        if crate == BINDINGS
        else binaries(tree, target, crate, "--test", INTEGRATION)
    )
    return next(suite for suite in suites if Path(suite.name).stem == name)


def alone(patch: Path, suite: str) -> str:
    """The first test of a suite that fails on sources with the patch, in a build of its own."""
    with tempfile.TemporaryDirectory() as folder:
        copy_sources(ROOT, Path(folder))
        apply(patch, Path(folder))
        sync(Path(folder), ALONE)
    compiles, messages = cargo(ALONE, ALONE_TARGET, "check", "-p", crate_of(patch), "--lib")
    if not compiles:
        reason = errors_of(messages).partition("\n")[0]
        raise Unfit(f"DOES NOT COMPILE: {reason}")
    suite_of_patch = suite_in(ALONE, ALONE_TARGET, crate_of(patch), suite)
    return test_of(suite_of_patch, run(suite_of_patch, "", LIMITS.cpu_s or 0)[0])


def test_of(suite: Suite, failure: str) -> str:
    """The name of a test within its suite."""
    return failure.removeprefix(f"{suite.name}::")


class CombinedBuild:
    """All bugs of the crates in one build, and suites as they are needed."""

    def __init__(self, patches: list[Path]) -> None:
        self.numbers = {patch: number for number, patch in enumerate(patches, start=1)}
        self.suites: dict[tuple[str, str], Suite] = {}
        mutants = []
        self.left_out = set()
        for patch, number in self.numbers.items():
            text = patch.read_text(encoding="utf-8")
            parts = as_mutants(ROOT, crate_of(patch), patch.stem, hunks(text))
            mutants += [(number, part) for part in parts or []]
            if parts is None:
                self.left_out.add(number)
        self.left_out |= prepare(ROOT, TREE, TARGET, mutants)

    def suite(self, crate: str, name: str) -> Suite:
        """A suite, which passes without any bug."""
        if (crate, name) not in self.suites:
            suite = suite_in(TREE, TARGET, crate, name)
            failure = measure(suite, LIMITS.cpu_s or 0)
            if failure:
                raise FailsAlone(f"{name} fails: {failure}")
            self.suites[crate, name] = suite
        return self.suites[crate, name]

    def failure(self, patch: Path, name: str) -> str:
        """The first test of a suite that fails on a bug; "" if none does."""
        suite, number = self.suite(crate_of(patch), name), self.numbers[patch]
        if number in self.left_out:
            return alone(patch, name)
        failure = judge([suite], number, math.inf)[1]
        return test_of(suite, failure.removeprefix(f"{suite.name}: "))


def python_failure(suite: str, tree: Path) -> str:
    """The first test that fails in a test file of this folder, on the packages in `tree`."""
    # Stale bytecode is detected by the second in which the source was written.
    path = os.pathsep.join(str(tree / folder) for folder in OF_PYTHON.values())
    environment = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-qx", f"tests/py/{suite}.py"]
    result = bounded.run(command, ROOT, environment, LIMITS)
    if result.hung:
        return "(it does not end)"
    if result.code != 0:
        failure = re.search(r"^FAILED \S+::(\S+)", result.output, re.MULTILINE)
        return failure[1] if failure else "(it crashed)"
    return ""


class PythonBugs:
    """Bugs of the Python packages, each put into a copy."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.passing: set[str] = set()
        ignore = shutil.ignore_patterns("__pycache__")
        for folder in OF_PYTHON.values():
            shutil.copytree(ROOT / folder, tree / folder, ignore=ignore)

    def failure(self, patch: Path, name: str) -> str:
        """The first test of a file that fails on a bug; "" if none does."""
        if name not in self.passing:
            failure = python_failure(name, self.tree)
            if failure:
                raise FailsAlone(f"{name} fails: {failure}")
            self.passing.add(name)
        originals = apply(patch, self.tree)
        try:
            return python_failure(name, self.tree)
        finally:
            restore(originals)


def tenth(name: str, index: int) -> bool:
    """Whether a bug is in a tenth, from 0 to 9."""
    return hashlib.sha256(name.encode()).digest()[0] % 10 == index


def chosen(names: list[str], selection: str | None) -> list[Path]:
    """The patches that are asked for; exit if a name is none."""
    patches = sorted(PATCHES.glob("*.patch"))
    unknown = {*names} - {patch.stem for patch in patches}
    if unknown:
        print(f"{PATCHES}: no {min(unknown)}.patch", file=sys.stderr)
        sys.exit(2)
    candidates = [patch for patch in patches if not names or patch.stem in names]
    if selection is None:
        return candidates
    number = date.today().toordinal() % 10 if selection == "today" else int(selection)
    candidates = [patch for patch in candidates if tenth(patch.stem, number)]
    print(f"tenth {number}: {len(candidates)} of {len(patches)} seeded bugs", flush=True)
    return candidates


def main() -> int:
    """Seed each bug in turn; 1 if one survives or no longer applies."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="bugs to seed (default: all)")
    parser.add_argument("--tenth", choices=[*map(str, range(10)), "today"], metavar="K")
    options = parser.parse_args()
    patches = chosen(options.names, options.tenth)
    # All of them, whatever is asked for: so the build stays the same.
    reasons = {patch: stale(patch) for patch in sorted(PATCHES.glob("*.patch"))}
    of_crates = [p for p, reason in reasons.items() if not reason and crate_of(p) not in OF_PYTHON]
    caught_count = 0
    with tempfile.TemporaryDirectory() as folder:
        bugs: dict[bool, CombinedBuild | PythonBugs] = {}
        for patch in sorted(patches, key=lambda patch: (crate_of(patch), patch)):
            start, suite, is_python = time.monotonic(), suite_of(patch), patch not in of_crates
            try:
                if reasons[patch]:
                    raise Unfit(f"DOES NOT APPLY: {reasons[patch]}")
                if is_python not in bugs:
                    bugs[is_python] = (
                        PythonBugs(Path(folder)) if is_python else CombinedBuild(of_crates)
                    )
                failed_test = bugs[is_python].failure(patch, suite)
                words = (
                    f"caught by {suite}: {failed_test}" if failed_test else f"NOT CAUGHT by {suite}"
                )
                caught_count += bool(failed_test)
            except Unfit as error:
                words = str(error)
            except FailsAlone as failure:
                print(f"without any bug {failure}", file=sys.stderr)
                return 2
            print(f"{patch.stem:40} {time.monotonic() - start:4.0f} s  {words}", flush=True)
    print(f"{caught_count} of {len(patches)} seeded bugs are caught")
    return 0 if patches and caught_count == len(patches) else 1


if __name__ == "__main__":
    sys.exit(bounded.interruptible(main, "`--tenth K` takes a tenth of the seeded bugs"))
