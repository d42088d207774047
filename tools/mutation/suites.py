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

    def test(self, failed: str) -> str:
        """What a result says of a test of it that failed."""
        if not self.is_python:
            return f"{self.name}: {failed.removeprefix(f'{self.name}::')}"
        return failed if "::" in failed else self.name


def copy_sources(root: Path, tree: Path) -> None:
    """The sources into `tree`."""
    for name in COPIED:
        source = root / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("target")
            shutil.copytree(source, tree / name, ignore=ignored, dirs_exist_ok=True)
        elif source.exists():
            tree.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, tree / name)
    manifest = tree / "Cargo.toml"
    text = manifest.read_text(encoding="utf-8").replace('= "deny"', '= "allow"')
    lints = "[workspace.lints.rust]\n"
    allowed = ["warnings", "arithmetic_overflow", "unconditional_panic", "overflowing_literals"]
    more = "".join(f'{lint} = "allow"\n' for lint in allowed)
    manifest.write_text(text.replace(lints, lints + more), encoding="utf-8")


def sync(fresh: Path, tree: Path) -> None:
    """Make `tree` equal to `fresh`; files that are equal keep their times, so cargo builds less."""
    wanted = {path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file()}
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if path.relative_to(tree) not in wanted:
            path.unlink()
    for path in sorted(wanted):
        target = tree / path
        if not target.exists() or target.read_bytes() != (fresh / path).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(fresh / path, target)


def cargo(
    tree: Path, target: Path, *words: str, **environment: str
) -> tuple[bool, list[dict[str, object]]]:
    """Run cargo; whether it succeeded, and its messages."""
    command = [os.environ.get("CARGO", "cargo"), *words, "--locked", "--message-format=json"]
    environment = QUICKLY | environment | {"CARGO_TARGET_DIR": str(target)}
    ended = bounded.run(command, tree, environment, Limits(LONGEST_S))
    return ended.code == 0, [json.loads(line) for line in ended.output.splitlines()]


def errors_of(messages: list[dict[str, object]]) -> str:
    """What the compiler says, in short."""
    said = [m.get("message") for m in messages]
    texts = [e["rendered"] for e in said if isinstance(e, dict) and e["level"] == "error"]
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
    found: set[int] = set()
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
                found.add(number)
                break
    return found


def prepare(
    root: Path, tree: Path, target: Path, numbered: Sequence[tuple[int, Mutant]]
) -> set[int]:
    """Sources with all mutants that compile together; returns the numbers of the others."""
    notes = tree.with_suffix(".alone.json")
    known = set(json.loads(notes.read_text(encoding="utf-8"))) if notes.exists() else set()
    left_out = {n for n, mutant in numbered if f"{mutant.name} {mutant.digest}" in known}
    crates = sorted({mutant.crate for _, mutant in numbered})
    while True:
        with tempfile.TemporaryDirectory() as folder:
            fresh = Path(folder)
            copy_sources(root, fresh)
            # Until nothing more is left out: what is in several functions must be in none.
            while alone := set(instrument(fresh, [p for p in numbered if p[0] not in left_out])):
                left_out |= alone
                copy_sources(root, fresh)
            sync(fresh, tree)
        errors: set[int] = set()
        for crate in crates:
            ok, messages = cargo(tree, target, "check", "-p", crate, "--lib")
            if not ok:
                found = guilty(tree, messages)
                if not found:
                    raise SystemExit(f"the sources do not compile:\n{errors_of(messages)}")
                errors |= found
        if not errors:
            names = {f"{mutant.name} {mutant.digest}" for n, mutant in numbered if n in left_out}
            notes.write_text(json.dumps(sorted(names)), encoding="utf-8")
            return left_out
        left_out |= errors


def suites(root: Path, tree: Path, target: Path, crate: str) -> list[Suite]:
    """The suites of a crate, and of the crates whose tests run it as well."""
    if crate == BINDINGS:
        return _python_suites(root, tree, target)
    tested = [crate, *ALSO_TESTED_BY.get(crate, [])]
    return [suite for one in tested for suite in binaries(tree, target, one, "--lib", "--tests")]


def binaries(tree: Path, target: Path, crate: str, *which: str) -> list[Suite]:
    """The suites of a crate: its unit tests, and each file of its integration tests."""
    ok, messages = cargo(tree, target, "test", "-p", crate, "--no-run", *which)
    if not ok:
        raise SystemExit(f"the tests of {crate} do not compile:\n{errors_of(messages)}")
    built: list[Suite] = []
    for message in messages:
        binary, made_of = message.get("executable"), message.get("target")
        if isinstance(binary, str) and isinstance(made_of, dict):
            folder = tree / "crates" / crate
            if made_of["name"] == INTEGRATION:
                built += _files_of(binary, folder)
            else:
                built.append(Suite(str(made_of["name"]), [binary], folder))
    return built


def _files_of(binary: str, folder: Path) -> list[Suite]:
    """The tests of a binary, a suite for each file."""
    listed = bounded.run([binary, "--list", "--format=terse"], folder, {}, Limits(LONGEST_S))
    tests: dict[str, list[str]] = {}
    for test in re.findall(r"^(\S+): test$", listed.output, re.MULTILINE):
        tests.setdefault(test.partition("::")[0], []).append(test)
    # In full, since a filter such as `formats::` takes `binary_formats::` as well.
    return [Suite(file, [binary, "--exact", *names], folder) for file, names in tests.items()]


def rebuilt(ready: Iterable[Suite], root: Path, tree: Path, target: Path) -> Iterator[Suite]:
    """Suites in another build, each built when its turn comes; they reach number 0.

    Most mutants are caught by the first.
    """
    of_python: dict[str, Suite] = {}
    for known in ready:
        if known.is_python:
            of_python = of_python or {one.name: one for one in _python_suites(root, tree, target)}
            suite = of_python[known.name]
        else:
            crate = known.folder.name
            is_unit = known.name == crate.replace("-", "_")
            which = ["--lib"] if is_unit else ["--test", INTEGRATION]
            built = binaries(tree, target, crate, *which)
            suite = next(suite for suite in built if suite.name == known.name)
        suite.cpu_s, suite.reaches = known.cpu_s, frozenset([0])
        yield suite


def _python_suites(root: Path, tree: Path, target: Path) -> list[Suite]:
    """Files of Python's tests, on the package with the extension module of `tree`."""
    ok, messages = cargo(tree, target, "build", "--release", "-p", BINDINGS, "--lib", **BUILD)
    if not ok:
        raise SystemExit(f"{BINDINGS} does not build:\n{errors_of(messages)}")
    package = target / "package"
    shutil.rmtree(package, ignore_errors=True)
    unwanted = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(root / "python", package, ignore=unwanted)
    shutil.copy(target / "release" / "lib_core.so", package / "ssdlab" / "_core.abi3.so")
    environment = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    pytest = [sys.executable, "-m", "pytest", "-qx", "-m", "not slow", "-p", "no:cacheprovider"]
    found = {one.name for name in PYTHON_TESTS for one in (root / "tests/py").glob(f"{name}.py")}
    files = [f"tests/py/{name}" for name in sorted(found - LONG_TESTS)]
    return [Suite(file, [*pytest, file], root, environment, None) for file in files]


def run(suite: Suite, selected: str, cpu_s: float) -> tuple[str, float]:
    """What failed first ("" if nothing, "(time)" if it does not end), and the processor time."""
    environment = suite.environment | {
        "SSDLAB_MUTANT": selected,
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "RUST_BACKTRACE": "0",
    }
    limits = Limits(LONGEST_S, cpu_s, suite.memory)
    ended = bounded.run(suite.command, suite.folder, environment, limits, stop_at=FAILED)
    if ended.stopped_by:
        return ended.stopped_by[1] or ended.stopped_by[2], ended.cpu_s
    fails = ended.code not in (0, NO_TEST)
    return "(time)" if ended.hung else "(crash)" if fails else "", ended.cpu_s


def measure(suite: Suite, longest_s: float) -> str:
    """Run a suite without a mutant, and note its time and what it reaches; returns what failed.

    One that takes longer than `longest_s` is stopped there, and what it reaches is known in part.
    """
    with tempfile.TemporaryDirectory() as folder:
        reached = Path(folder) / "reached"
        failed, suite.cpu_s = run(suite, str(reached), longest_s)
        lines = reached.read_text(encoding="utf-8").split() if reached.exists() else []
        suite.reaches = frozenset(int(line) for line in lines)
    return failed


def judge(ready: Iterable[Suite], number: int, longest_s: float) -> tuple[str, str, float]:
    """Verdict on a mutant, the test that catches it, and the processor time that took.

    Suites that take longer than `longest_s` are left out: what survives the others is "quick".
    """
    total, left_out = 0.0, False
    for suite in ready:
        if suite.cpu_s > longest_s:
            left_out = True
        elif number in suite.reaches:
            most = max(LEAST_S, PATIENCE * suite.cpu_s)
            failed, spent = run(suite, str(number), most)
            total += spent
            if failed:
                return "hangs" if failed == "(time)" else "caught", suite.test(failed), total
    return "quick" if left_out else "survived", "", total
