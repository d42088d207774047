"""Build the test suites of a crate once, and run them on one mutant after the other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import bounded
from bounded import Limits
from mutation.listing import Mutant
from mutation.schemata import instrument, number_at

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
FAILED = r"test (\S+).*FAILED$|FAILED (\S+)"
# Crates to the right of a crate whose tests run it as well.
ALSO_TESTED_BY = {"ssd-core": ["ssd-run"]}


@dataclass
class Suite:
    """One test binary: how long it runs, and which mutants it reaches."""

    name: str
    binary: Path
    folder: Path
    cpu_s: float = 0.0
    reaches: frozenset[int] = frozenset()


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


def cargo(tree: Path, target: Path, *words: str) -> tuple[bool, list[dict[str, object]]]:
    """Run cargo; whether it succeeded, and its messages."""
    done = subprocess.run(
        [os.environ.get("CARGO", "cargo"), *words, "--locked", "--message-format=json"],
        cwd=tree,
        env=os.environ | {"CARGO_TARGET_DIR": str(target)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.returncode == 0, [json.loads(line) for line in done.stdout.splitlines()]


def errors_of(messages: list[dict[str, object]]) -> str:
    """What the compiler says, in short."""
    said = [m.get("message") for m in messages]
    texts = [e["rendered"] for e in said if isinstance(e, dict) and e["level"] == "error"]
    return "\n".join(texts[:5])


def guilty(tree: Path, messages: list[dict[str, object]]) -> set[int]:
    """The mutants in which the errors are."""
    found: set[int] = set()
    for message in messages:
        error = message.get("message")
        if not isinstance(error, dict) or error.get("level") != "error":
            continue
        for span in sorted(error["spans"], key=lambda s: not s["is_primary"]):
            path = tree / span["file_name"]
            number = path.exists() and number_at(
                path.read_text(encoding="utf-8"), span["line_start"]
            )
            if number:
                found.add(number)
                break
    return found


def prepare(root: Path, tree: Path, target: Path, numbered: dict[int, Mutant]) -> set[int]:
    """Sources with all mutants that compile together; returns the numbers of the others."""
    notes = tree.with_suffix(".alone.json")
    known = set(json.loads(notes.read_text(encoding="utf-8"))) if notes.exists() else set()
    left_out = {n for n, mutant in numbered.items() if f"{mutant.name} {mutant.digest}" in known}
    crates = sorted({mutant.crate for mutant in numbered.values()})
    while True:
        with tempfile.TemporaryDirectory() as folder:
            fresh = Path(folder)
            copy_sources(root, fresh)
            held = {n: m for n, m in numbered.items() if n not in left_out}
            left_out |= set(instrument(fresh, held))
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
            names = [f"{numbered[n].name} {numbered[n].digest}" for n in sorted(left_out)]
            notes.write_text(json.dumps(names), encoding="utf-8")
            return left_out
        left_out |= errors


def suites(tree: Path, target: Path, crate: str) -> list[Suite]:
    """The test binaries of a crate, and of the crates whose tests run it as well."""
    found = []
    for tested in [crate, *ALSO_TESTED_BY.get(crate, [])]:
        ok, messages = cargo(tree, target, "test", "-p", tested, "--no-run", "--lib", "--tests")
        if not ok:
            raise SystemExit(f"the tests of {tested} do not compile:\n{errors_of(messages)}")
        folder = tree / "crates" / tested
        for message in messages:
            binary, made_of = message.get("executable"), message.get("target")
            if isinstance(binary, str) and isinstance(made_of, dict):
                found.append(Suite(str(made_of["name"]), Path(binary), folder))
    return found


def run(command: list[str], folder: Path, selected: str, cpu_s: float) -> tuple[str, float]:
    """What failed first ("" if nothing, "(time)" if it does not end), and the processor time."""
    environment = {
        "SSDLAB_MUTANT": selected,
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "RUST_BACKTRACE": "0",
    }
    limits = Limits(LONGEST_S, cpu_s, MEMORY)
    ended = bounded.run(command, folder, environment, limits, stop_at=FAILED)
    if ended.stopped_by:
        return ended.stopped_by[1] or ended.stopped_by[2], ended.cpu_s
    return "(time)" if ended.hung else "(crash)" if ended.code else "", ended.cpu_s


def measure(suite: Suite) -> str:
    """Run a suite without a mutant, and note its time and what it reaches; returns what failed."""
    with tempfile.TemporaryDirectory() as folder:
        reached = Path(folder) / "reached"
        failed, suite.cpu_s = run([str(suite.binary)], suite.folder, str(reached), 3600)
        lines = reached.read_text(encoding="utf-8").split() if reached.exists() else []
        suite.reaches = frozenset(int(line) for line in lines)
    return failed


def judge(ready: list[Suite], number: int, longest_s: float) -> tuple[str, float]:
    """The test that catches a mutant ("" if none does), and the processor time that took.

    Suites that take longer than `longest_s` are left out.
    """
    total = 0.0
    for suite in ready:
        if number not in suite.reaches or suite.cpu_s > longest_s:
            continue
        most = max(LEAST_S, PATIENCE * suite.cpu_s)
        failed, spent = run([str(suite.binary)], suite.folder, str(number), most)
        total += spent
        if failed:
            return f"{suite.name}: {failed}", total
    return "", total
