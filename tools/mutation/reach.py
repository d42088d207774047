"""Which tests run which lines of the package: measured once by coverage.py, a file of tests a time.

A file of tests is measured when a mutant comes to it. What it runs is kept in
`target/mutants/reach/`, until the file has changed or a source of the package that it runs: then
lines have other numbers, and other tests.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

import bounded
from bounded import Limits

# They read the sources and not the package, run every word of the documentation, need a browser or
# LevelDB's sources, or test the crates through the package, and take long.
LEFT_OUT = {
    *("test_tidy", "test_dependencies", "test_seeded_bugs_apply", "test_site", "test_documents"),
    *("test_notebooks", "test_html_browser", "test_kv_leveldb", "test_check_run", "test_golden"),
    *("test_external_check", "test_policy", "test_snapshot", "test_validation", "test_warmup"),
}
# Signals and a full disk hit the measurement, too.
SPOILT = "not interrupt and not disk_full"
PAGE_SCRIPTS = "tests/py/test_page_script.py"
# What a mutant's tests may take without it, in all: what is beyond does not run.
MOST_S = 100.0
# A file of tests that neither ends nor computes.
LONGEST_S = 1800
RCFILE = """\
[run]
source_pkgs = ssdlab,ssdlab_lab
data_file = {data}
parallel = true
context = ${{SSDLAB_TEST-}}
[report]
"""


@dataclass
class Reached:
    """What one file of tests runs."""

    file: str
    seconds: dict[str, float]
    """Of every test, by its id."""
    lines: dict[str, dict[str, list[str]]]
    """Tests, or the file for all of them, by file and line of the package."""
    sources: dict[str, str]
    """A digest of each of these files, and of the file of tests."""

    def is_of(self, root: Path) -> bool:
        """Whether what it runs is what is in `root`."""
        return all(_digest(root / file) == digest for file, digest in self.sources.items())


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12] if file.exists() else ""


class Tests:
    """The files of tests, and what those run that are measured."""

    def __init__(self, root: Path, work: Path) -> None:
        self.root, self.work = root, work
        files = [
            path for path in (root / "tests/py").glob("test_*.py") if path.stem not in LEFT_OUT
        ]
        self._words = {
            path: Counter(re.findall(r"\w+", f"{path.stem} {path.read_text(encoding='utf-8')}"))
            for path in files
        }
        self._reached: dict[Path, Reached] = {}
        for path in sorted(files):
            kept = self._kept(path)
            reached = Reached(**json.loads(kept.read_text())) if kept.exists() else None
            if reached and reached.is_of(root):
                self._reached[path] = reached

    def _kept(self, test: Path) -> Path:
        return self.work / "reach" / f"{test.stem}.json"

    def are_known(self) -> bool:
        """Whether all of them are measured."""
        return len(self._reached) == len(self._words)

    def in_turn(self, module: str, until: float) -> Iterator[list[Reached]]:
        """Those that are measured, and then the others one by one: those first that name `module`.

        None is measured after a time of the clock. Exit if one fails.
        """
        yield [*self._reached.values()]
        rest = [path for path in self._words if path not in self._reached]
        for test in sorted(rest, key=lambda path: (-self._words[path][module], path)):
            if time.monotonic() > until:
                return
            reached = self._reached[test] = _measure(self.root, self.work, test)
            kept = self._kept(test)
            kept.parent.mkdir(parents=True, exist_ok=True)
            aside = kept.with_suffix(".new")
            aside.write_text(json.dumps(reached.__dict__), encoding="utf-8")
            aside.replace(kept)
            yield [reached]


def _measure(root: Path, work: Path, test: Path) -> Reached:
    folder = work / "coverage" / test.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rcfile = folder / "rc"
    rcfile.write_text(RCFILE.format(data=folder / "data"), encoding="utf-8")
    started = "import coverage\ncoverage.process_startup()\n"
    (folder / "sitecustomize.py").write_text(started, encoding="utf-8")
    tools = Path(__file__).resolve().parents[1]
    environment = {
        "SSDLAB_COVERAGE": str(rcfile),
        "PYTHONPATH": os.pathsep.join(map(str, (folder, tools, root / "python", root / "lab"))),
    }
    file = test.relative_to(root).as_posix()
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={rcfile}", "-m", "pytest"]
    command += ["-q", "-p", "mutation.contexts", "-m", "not slow", "-k", SPOILT]
    command += ["--durations=0", "--durations-min=0", "-vv", file]
    done = bounded.run(command, root, environment, Limits(LONGEST_S), errors=subprocess.STDOUT)
    # 5: all of its tests are slow.
    if done.code not in (0, 5):
        sys.exit(f"without a mutant {file} fails:\n{done.output}")
    seconds: dict[str, float] = defaultdict(float)
    for took, name in re.findall(
        r"^([\d.]+)s (?:call|setup|teardown) +(\S.*)$", done.output, flags=re.MULTILINE
    ):
        seconds[name] += float(took)
    print(f"{file}: {len(seconds)} tests, {sum(seconds.values()):.0f} s", flush=True)
    lines = _lines(root, folder)
    sources = {name: _digest(root / name) for name in [file, *sorted(lines)]}
    return Reached(file, dict(seconds), lines, sources)


def _lines(root: Path, folder: Path) -> dict[str, dict[str, list[str]]]:
    data = CoverageData(str(folder / "combined"))
    for part in folder.glob("data.*"):
        other = CoverageData(str(part))
        other.read()
        data.update(other)
    found: dict[str, dict[str, list[str]]] = {}
    for name in data.measured_files():
        path = Path(name)
        if path.is_relative_to(root):
            contexts = data.contexts_by_lineno(name)
            found[path.relative_to(root).as_posix()] = {
                str(line): sorted(tests) for line, tests in contexts.items()
            }
    return found


def tests_of(
    reached: list[Reached], file: str, lines: set[int], most_s: float
) -> tuple[list[str], float]:
    """Tests that run one of the lines, the quickest file first, and how long they take.

    The first one runs whatever it takes, unless there is no time at all.
    """
    by_file: list[tuple[float, list[str]]] = []
    seconds = {name: s for one in reached for name, s in one.seconds.items()}
    for one in reached:
        known = one.lines.get(file, {})
        names = {name for line in lines for name in known.get(str(line), []) if name}
        if one.file in names:
            names = set(one.seconds) | names - {one.file}
        chosen = sorted(names, key=lambda name: (seconds.get(name, 0.0), name))
        if chosen:
            by_file.append((sum(seconds.get(name, 0.0) for name in chosen), chosen))
    ordered: list[str] = []
    kept: list[str] = []
    total = 0.0
    # Of every file the quick tests first: a mutant that one of them catches costs little.
    for quick in (True, False):
        for one_s, chosen in sorted(by_file):
            half = len(chosen) if one_s < 5 else -(-len(chosen) // 2)
            ordered += chosen[:half] if quick else chosen[half:]
    for name in ordered:
        took = seconds.get(name, 0.0)
        if (not kept and most_s > 0) or total + took <= most_s:
            kept.append(name)
            total += took
    return kept, total
