#!/usr/bin/env python3
"""Seed bugs, one at a time, and see whether the tests catch each.

    python tools/seeded_bugs.py [NAME ...] [--target DIR]

Each `tools/seeded_bugs/*.patch` is applied to a copy of the sources, and the integration tests of
the crate, or the test files of the Python package, that it changes run on it until one fails; each
of them has passed without any bug.
Prints a line for each bug: the tests that caught it. Exit code 1 if a bug survives or a patch no
longer applies, 2 if the sources fail without any bug.

A hunk is found by its text, not by its line number: its removed and context lines must stand
exactly once in the file. A first line `Caught by: SUITE` names the suite that runs first.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bounded
from bounded import Limits

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tools" / "seeded_bugs"
COPIED = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "crates",
    "papers",
    "presets",
    "python",
]
# By crate or Python package, the quickest first.
SUITES = {
    "ssd-core": [
        "remap_functional",
        "remap",
        "collection",
        "metamorphic",
        "timing",
        "functional_equals_timed",
        "naive_ftl",
        "interconnect",
        "conservation",
        "linearizability",
        "paper_schemes",
        "host_side",
        "wear",
        "separation",
        "separation_combined",
        "superblocks",
        "victims_by_class",
        "victim_policies",
        "fdp",
        "snapshot_form",
        "snapshot_contradictions",
        "room",
        "wake_up",
        "mean_field",
        "raid_reads",
        "raid_any",
        "raid_functional",
        "raid_scheme",
        "raid",
        "raid_fail",
        "raid_meanwhile",
        "raid_relations",
        "raid_buffer",
        "power",
        "power_runs",
        "power_limits",
        "power_preflush",
        "power_time",
    ],
    "ssd-trace": ["stand_in_patterns"],
    "ssd-run": ["push"],
    "ssd-host": ["file_layer", "shared", "machine", "cuts"],
    "ssd-kv": ["levels", "policies", "reuse", "bad_input", "model", "damage", "salvage", "faults"],
    "ssdlab": [
        "test_stated_rules",
        "test_stated_numbers",
        "test_scoring",
        "test_page_script",
        "test_seeds",
        "test_export",
        "test_store_files",
        "test_sweep",
        "test_search",
        "test_reproduce",
    ],
}
# A bug that makes a test hang is caught too. The bound is on processor time, as a busy machine
# takes longer; that on elapsed time is for what waits without end.
LIMITS = Limits(longest_s=3600, cpu_s=400)


class Stale(Exception):
    """A patch that does not apply any more."""


class FailsAlone(Exception):
    """A suite that fails without any bug."""


def hunks(patch: str) -> list[tuple[str, str, str]]:
    """(file, old text, new text) of every hunk."""
    found: list[tuple[str, list[str], list[str]]] = []
    file = ""
    for line in patch.splitlines(keepends=True):
        if line.startswith("--- a/"):
            file = line[len("--- a/") :].strip()
        elif line.startswith("@@"):
            found.append((file, [], []))
        elif found and not line.startswith("+++"):
            _, old, new = found[-1]
            if line[0] in " -":
                old.append(line[1:])
            if line[0] in " +":
                new.append(line[1:])
    return [(file, "".join(old), "".join(new)) for file, old, new in found]


def crate_of(patch: Path) -> str:
    """The crate or the Python package that a patch changes."""
    file, _, _ = hunks(patch.read_text(encoding="utf-8"))[0]
    return Path(file).parts[1]


def suites_for(patch: Path) -> list[str]:
    """The suites that may catch a patch, first the one that its head names."""
    suites = SUITES[crate_of(patch)]
    named = re.match(r"Caught by: (\w+)\n", patch.read_text(encoding="utf-8"))
    if named is None:
        return suites
    if named[1] not in suites:
        raise Stale(f"its head names {named[1]}, which is no suite of {crate_of(patch)}")
    return [named[1], *(suite for suite in suites if suite != named[1])]


def apply(patch: Path, tree: Path) -> list[tuple[Path, str]]:
    """Change the files of `tree`; returns what they held before."""
    before: list[tuple[Path, str]] = []
    for file, old, new in hunks(patch.read_text(encoding="utf-8")):
        path = tree / file
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            restore(before)
            raise Stale(f"{file} holds the changed lines {text.count(old)} times")
        before.append((path, text))
        path.write_text(text.replace(old, new), encoding="utf-8")
    return before


def restore(before: list[tuple[Path, str]]) -> None:
    """Write the texts back as they were before a patch."""
    for path, text in reversed(before):
        path.write_text(text, encoding="utf-8")


def failures(crate: str, suite: str, tree: Path, target: Path) -> tuple[str, list[str]]:
    """A suite of a crate and those of its tests that fail."""
    if crate == "ssdlab":
        return python_failures(suite, tree)
    environment = {
        "CARGO_TARGET_DIR": str(target),
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "RUST_BACKTRACE": "0",
    }
    base = [os.environ.get("CARGO", "cargo"), "test", "-p", crate, "--locked", "--quiet"]
    build = subprocess.run(
        [*base, "--no-run", "--test", suite],
        cwd=tree,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if build.returncode != 0:
        raise Stale(f"it does not compile:\n{build.stderr}")
    ended = bounded.run([*base, "--test", suite], tree, environment, LIMITS)
    if ended.hung:
        return suite, ["(it does not end)"]
    if ended.code != 0:
        names = re.findall(r"^    (\w+)$", ended.output, re.MULTILINE)
        return suite, sorted(set(names)) or ["(it crashed)"]
    return suite, []


def python_failures(suite: str, tree: Path) -> tuple[str, list[str]]:
    """The same of the Python package: a test file of this folder on the package in `tree`."""
    # Stale bytecode is detected by the second in which the source was written.
    environment = {"PYTHONPATH": str(tree / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-qx", f"tests/py/{suite}.py"]
    ended = bounded.run(command, ROOT, environment, LIMITS)
    if ended.hung:
        return suite, ["(it does not end)"]
    if ended.code != 0:
        named = re.findall(r"^FAILED \S+::(\S+)", ended.output, re.MULTILINE)
        return suite, named or ["(it crashed)"]
    return suite, []


def caught(
    patch: Path, tree: Path, target: Path, passing: set[tuple[str, str]]
) -> tuple[str, list[str]]:
    """The suite that catches a patch, and its failing tests; empty if none does.

    A suite runs without the patch before it runs with it, unless `passing` holds it.
    """
    crate = crate_of(patch)
    for suite in suites_for(patch):
        if (crate, suite) not in passing:
            _, tests = failures(crate, suite, tree, target)
            if tests:
                raise FailsAlone(f"{suite} fails: {', '.join(tests)}")
            passing.add((crate, suite))
        before = apply(patch, tree)
        try:
            found = failures(crate, suite, tree, target)
        finally:
            restore(before)
        if found[1]:
            return found
    return "", []


def main() -> int:
    """Seed each bug in turn; 1 if one survives or no longer applies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="bugs to seed (default: all)")
    parser.add_argument("--target", type=Path, default=ROOT / "target" / "seeded_bugs")
    options = parser.parse_args()
    patches = [p for p in sorted(PATCHES.glob("*.patch")) if p.stem in (options.names or [p.stem])]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        # New times of change: the target folder may hold what a seeded source was compiled to.
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                unwanted = shutil.ignore_patterns("target", "__pycache__")
                shutil.copytree(source, tree / name, copy_function=shutil.copy, ignore=unwanted)
            elif source.exists():
                shutil.copy(source, tree / name)
        passing: set[tuple[str, str]] = set()
        for patch in patches:
            start = time.monotonic()
            try:
                suite, tests = caught(patch, tree, options.target, passing)
                verdict = f"caught by {suite}: {', '.join(tests)}" if suite else "NOT CAUGHT"
                missed += not suite
            except FailsAlone as alone:
                print(f"without any bug {alone}", file=sys.stderr)
                return 2
            except Stale as stale:
                verdict, missed = f"DOES NOT APPLY: {stale}", missed + 1
            print(f"{patch.stem:40} {time.monotonic() - start:4.0f} s  {verdict}", flush=True)
    print(f"{len(patches) - missed} of {len(patches)} seeded bugs are caught")
    return 1 if missed or not patches else 0


if __name__ == "__main__":
    sys.exit(main())
