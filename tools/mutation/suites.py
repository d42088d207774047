"""Build the test suites of a crate once, and run them on one mutant after the other."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bounded
from bounded import Limits
from mutation.listing import Mutant
from mutation.schemata import instrument, number_at

WORK = Path(__file__).resolve().parents[2] / "target" / "mutants"
# The sources with all mutants, or with one that needs a build of its own, and what is built of
# them. If builds shared a folder, cargo would take a library built from other sources for theirs.
TREE, TARGET = WORK / "all", WORK / "all.build"
ALONE, ALONE_TARGET = WORK / "alone", WORK / "alone.build"
COPIED = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "crates",
    "presets",
    "docs",
    "traces",
    "papers",
]
# Times the processor time of a suite without a mutant, and at least so many seconds: then it hangs.
PATIENCE, LEAST_S = 8, 3
# A test that neither ends nor computes.
LONGEST_S = 1200
MEMORY = 6 << 30
# Of pytest: all tests of a file are slow.
NO_TEST = 5
FAILED = r"test (\S+).*FAILED$|FAILED (\S+)"
# Crates to the right of a crate whose tests run it as well.
ALSO_TESTED_BY = {"ssd-core": ["ssd-run"]}


# Python's tests of the bindings, which have none of their own: `ssd-py` is a library for Python.
BINDINGS = "ssd-py"
PYTHON_TESTS = [
    *("test_api", "test_argument", "test_device*", "test_frames", "test_kv*", "test_policy"),
    *("test_shared_traces", "test_snapshot", "test_trace_files", "test_trace_info"),
    "test_workloads",
]
# It compares with LevelDB's own sources.
LONG_TESTS = {"test_kv_leveldb.py"}
# Nobody debugs a mutant.
QUICKLY = {
    "CARGO_INCREMENTAL": "0",
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_PROFILE_TEST_DEBUG": "0",
    "CARGO_PROFILE_RELEASE_DEBUG": "0",
}
# As for a release, but quicker to build: the tests need its speed, and debug assertions no test.
BUILD = {
    "PYO3_BUILD_EXTENSION_MODULE": "1",
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
}


# The binary of a crate's integration tests.
INTEGRATION = "suite"


@dataclass
class Suite:
    """Some tests: how they are run, how long that takes, and which mutants they reach."""

    name: str
    command: list[str]
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    memory: int | None = MEMORY
    cpu_s: float = 0.0
    reaches: frozenset[int] = frozenset()

    @property
    def is_python(self) -> bool:
        """A file of Python's tests; else the tests of a crate, unit tests or those of one file."""
        return self.name.startswith("tests/py/")

    def text(self) -> str:
        """Its source; "" of the unit tests of a crate, which are in all files."""
        file = self.folder / (self.name if self.is_python else f"tests/suite/{self.name}.rs")
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def test(self, test: str) -> str:
        """What a result says of a test of it that failed."""
        if not self.is_python:
            return f"{self.name}: {test.removeprefix(f'{self.name}::')}"
        return test if "::" in test else self.name


def copy_sources(root: Path, tree: Path) -> None:
    """The sources into `tree`."""
    for name in COPIED:
        source = root / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("target")
            shutil.copytree(source, tree / name, ignore=ignore, dirs_exist_ok=True)
        elif source.exists():
            tree.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, tree / name)
    manifest = tree / "Cargo.toml"
    text = manifest.read_text(encoding="utf-8").replace('= "deny"', '= "allow"')
    lints = "[workspace.lints.rust]\n"
    lints_allowed = [
        "warnings",
        "arithmetic_overflow",
        "unconditional_panic",
        "overflowing_literals",
    ]
    extra = "".join(f'{lint} = "allow"\n' for lint in lints_allowed)
    manifest.write_text(text.replace(lints, lints + extra), encoding="utf-8")


def sync(source: Path, tree: Path) -> None:
    """Make `tree` equal to `source`; equal files keep their times, so cargo builds less."""
    source_files = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if path.relative_to(tree) not in source_files:
            path.unlink()
    for path in sorted(source_files):
        target = tree / path
        if not target.exists() or target.read_bytes() != (source / path).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / path, target)


def cargo(
    tree: Path, target: Path, *words: str, **environment: str
) -> tuple[bool, list[dict[str, object]]]:
    """Run cargo; whether it succeeded, and its messages."""
    command = [os.environ.get("CARGO", "cargo"), *words, "--locked", "--message-format=json"]
    environment = QUICKLY | environment | {"CARGO_TARGET_DIR": str(target)}
    result = bounded.run(command, tree, environment, Limits(LONGEST_S))
    return result.code == 0, [json.loads(line) for line in result.output.splitlines()]


def errors_of(messages: list[dict[str, object]]) -> str:
    """What the compiler says, in short."""
    compiler_messages = [m.get("message") for m in messages]
    texts = [
        e["rendered"] for e in compiler_messages if isinstance(e, dict) and e["level"] == "error"
    ]
    return "\n".join(texts[:5])


def _places(spans: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Where an error is, the primary places first; behind one in a macro, where it is expanded."""
    for span in sorted(spans, key=lambda s: not s["is_primary"]):
        yield span
        while span["expansion"]:
            span = span["expansion"]["span"]
            yield span


def guilty(tree: Path, messages: list[dict[str, object]]) -> set[int]:
    """The mutants in which the errors are."""
    numbers: set[int] = set()
    for message in messages:
        error = message.get("message")
        if not isinstance(error, dict) or error.get("level") != "error":
            continue
        for span in _places(error["spans"]):
            path = tree / span["file_name"]
            number = path.exists() and number_at(
                path.read_text(encoding="utf-8"), span["line_start"]
            )
            if number:
                numbers.add(number)
                break
    return numbers


def prepare(
    root: Path, tree: Path, target: Path, mutants: Sequence[tuple[int, Mutant]]
) -> set[int]:
    """Sources with all mutants that compile together; returns the numbers of the others."""
    notes = tree.with_suffix(".alone.json")
    unschemable = set(json.loads(notes.read_text(encoding="utf-8"))) if notes.exists() else set()
    omitted = {n for n, mutant in mutants if f"{mutant.name} {mutant.digest}" in unschemable}
    crates = sorted({mutant.crate for _, mutant in mutants})
    while True:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder)
            copy_sources(root, source)
            # Until nothing more is left out: what is in several functions must be in none.
            while unschemable_now := set(
                instrument(source, [p for p in mutants if p[0] not in omitted])
            ):
                omitted |= unschemable_now
                copy_sources(root, source)
            sync(source, tree)
        errors: set[int] = set()
        for crate in crates:
            ok, messages = cargo(tree, target, "check", "-p", crate, "--lib")
            if not ok:
                culprits = guilty(tree, messages)
                if not culprits:
                    raise SystemExit(f"the sources do not compile:\n{errors_of(messages)}")
                errors |= culprits
        if not errors:
            names = {f"{mutant.name} {mutant.digest}" for n, mutant in mutants if n in omitted}
            notes.write_text(json.dumps(sorted(names)), encoding="utf-8")
            return omitted
        omitted |= errors


def suites(root: Path, tree: Path, target: Path, crate: str) -> list[Suite]:
    """The suites of a crate, and of the crates whose tests run it as well."""
    if crate == BINDINGS:
        return python_suites(root, tree, target)
    crates = [crate, *ALSO_TESTED_BY.get(crate, [])]
    return [
        suite
        for crate_name in crates
        for suite in binaries(tree, target, crate_name, "--lib", "--tests")
    ]


def binaries(tree: Path, target: Path, crate: str, *options: str) -> list[Suite]:
    """The suites of a crate: its unit tests, and each file of its integration tests."""
    ok, messages = cargo(tree, target, "test", "-p", crate, "--no-run", *options)
    if not ok:
        raise SystemExit(f"the tests of {crate} do not compile:\n{errors_of(messages)}")
    suites_built: list[Suite] = []
    for message in messages:
        binary, target_of_message = message.get("executable"), message.get("target")
        if isinstance(binary, str) and isinstance(target_of_message, dict):
            folder = tree / "crates" / crate
            if target_of_message["name"] == INTEGRATION:
                suites_built += _files_of(binary, folder)
            else:
                suites_built.append(Suite(str(target_of_message["name"]), [binary], folder))
    return suites_built


def _files_of(binary: str, folder: Path) -> list[Suite]:
    """The tests of a binary, a suite for each file."""
    listing = bounded.run([binary, "--list", "--format=terse"], folder, {}, Limits(LONGEST_S))
    tests: dict[str, list[str]] = {}
    for test in re.findall(r"^(\S+): test$", listing.output, re.MULTILINE):
        tests.setdefault(test.partition("::")[0], []).append(test)
    # In full, since a filter such as `formats::` takes `binary_formats::` as well.
    return [Suite(file, [binary, "--exact", *names], folder) for file, names in tests.items()]


def rebuilt(suites_: Iterable[Suite], root: Path, tree: Path, target: Path) -> Iterator[Suite]:
    """Suites in another build, each built when its turn comes; they reach number 0.

    Most mutants are caught by the first.
    """
    of_python: dict[str, Suite] = {}
    for original in suites_:
        if original.is_python:
            of_python = of_python or {
                python_suite.name: python_suite
                for python_suite in python_suites(root, tree, target)
            }
            suite = of_python[original.name]
        else:
            crate = original.folder.name
            is_unit = original.name == crate.replace("-", "_")
            options = ["--lib"] if is_unit else ["--test", INTEGRATION]
            suites_built = binaries(tree, target, crate, *options)
            suite = next(suite for suite in suites_built if suite.name == original.name)
        suite.cpu_s, suite.reaches = original.cpu_s, frozenset([0])
        yield suite


def python_suites(
    root: Path, tree: Path, target: Path, patterns: Sequence[str] = PYTHON_TESTS
) -> list[Suite]:
    """Files of Python's tests, on the package with the extension module of `tree`."""
    ok, messages = cargo(tree, target, "build", "--release", "-p", BINDINGS, "--lib", **BUILD)
    if not ok:
        raise SystemExit(f"{BINDINGS} does not build:\n{errors_of(messages)}")
    package = target / "package"
    shutil.rmtree(package, ignore_errors=True)
    ignore = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(root / "python", package, ignore=ignore)
    shutil.copy(target / "release" / "lib_core.so", package / "ssdlab" / "_core.abi3.so")
    environment = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    pytest = [sys.executable, "-m", "pytest", "-qx", "-m", "not slow", "-p", "no:cacheprovider"]
    names = {path.name for name in patterns for path in (root / "tests/py").glob(f"{name}.py")}
    files = [f"tests/py/{name}" for name in sorted(names - LONG_TESTS)]
    return [Suite(file, [*pytest, file], root, environment, None) for file in files]


def run(suite: Suite, mutant: str, cpu_s: float) -> tuple[str, float]:
    """What failed first ("" if nothing, "(time)" if it does not end), and the processor time."""
    environment = suite.environment | {
        "SSDLAB_MUTANT": mutant,
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "RUST_BACKTRACE": "0",
    }
    limits = Limits(LONGEST_S, cpu_s, suite.memory)
    result = bounded.run(suite.command, suite.folder, environment, limits, stop_at=FAILED)
    if result.stopped_by:
        return result.stopped_by[1] or result.stopped_by[2], result.cpu_s
    fails = result.code not in (0, NO_TEST)
    return "(time)" if result.hung else "(crash)" if fails else "", result.cpu_s


def measure(suite: Suite, longest_s: float) -> str:
    """Run a suite without a mutant, and note its time and what it reaches; returns what failed.

    One that takes longer than `longest_s` is stopped there, and what it reaches is known in part.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "reached"
        failure, suite.cpu_s = run(suite, str(report), longest_s)
        lines = report.read_text(encoding="utf-8").split() if report.exists() else []
        suite.reaches = frozenset(int(line) for line in lines)
    return failure


def judge(suites_: Iterable[Suite], number: int, longest_s: float) -> tuple[str, str, float]:
    """Verdict on a mutant, the test that catches it, and the processor time that took.

    Suites that take longer than `longest_s` are left out: what survives the others is "quick".
    """
    total, has_omission = 0.0, False
    for suite in suites_:
        if suite.cpu_s > longest_s:
            has_omission = True
        elif number in suite.reaches:
            limit_s = max(LEAST_S, PATIENCE * suite.cpu_s)
            failure, cpu_s = run(suite, str(number), limit_s)
            total += cpu_s
            if failure:
                return "hangs" if failure == "(time)" else "caught", suite.test(failure), total
    return "quick" if has_omission else "survived", "", total
