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
class FileReach:
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
        self._reached: dict[Path, FileReach] = {}
        for path in sorted(files):
            cache = self._kept(path)
            reach = FileReach(**json.loads(cache.read_text())) if cache.exists() else None
            if reach and reach.is_of(root):
                self._reached[path] = reach

    def _kept(self, test: Path) -> Path:
        return self.work / "reach" / f"{test.stem}.json"

    def are_known(self) -> bool:
        """Whether all of them are measured."""
        return len(self._reached) == len(self._words)

    def in_turn(self, module: str, until: float) -> Iterator[list[FileReach]]:
        """Those that are measured, and then the others one by one: those first that name `module`.

        None is measured after a time of the clock. Exit if one fails.
        """
        yield [*self._reached.values()]
        remaining = [path for path in self._words if path not in self._reached]
        for test in sorted(remaining, key=lambda path: (-self._words[path][module], path)):
            if time.monotonic() > until:
                return
            reach = self._reached[test] = _measure(self.root, self.work, test)
            cache = self._kept(test)
            cache.parent.mkdir(parents=True, exist_ok=True)
            temporary = cache.with_suffix(".new")
            temporary.write_text(json.dumps(reach.__dict__), encoding="utf-8")
            temporary.replace(cache)
            yield [reach]


def _measure(root: Path, work: Path, test: Path) -> FileReach:
    folder = work / "coverage" / test.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rcfile = folder / "rc"
    rcfile.write_text(RCFILE.format(data=folder / "data"), encoding="utf-8")
    startup = "import coverage\ncoverage.process_startup()\n"
    (folder / "sitecustomize.py").write_text(startup, encoding="utf-8")
    tools = Path(__file__).resolve().parents[1]
    environment = {
        "SSDLAB_COVERAGE": str(rcfile),
        "PYTHONPATH": os.pathsep.join(map(str, (folder, tools, root / "python", root / "lab"))),
    }
    file = test.relative_to(root).as_posix()
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={rcfile}", "-m", "pytest"]
    command += ["-q", "-p", "mutation.contexts", "-m", "not slow", "-k", SPOILT]
    command += ["--durations=0", "--durations-min=0", "-vv", file]
    result = bounded.run(command, root, environment, Limits(LONGEST_S), errors=subprocess.STDOUT)
    # 5: all of its tests are slow.
    if result.code not in (0, 5):
        sys.exit(f"without a mutant {file} fails:\n{result.output}")
    seconds: dict[str, float] = defaultdict(float)
    for duration, name in re.findall(
        r"^([\d.]+)s (?:call|setup|teardown) +(\S.*)$", result.output, flags=re.MULTILINE
    ):
        seconds[name] += float(duration)
    print(f"{file}: {len(seconds)} tests, {sum(seconds.values()):.0f} s", flush=True)
    lines = _lines(root, folder)
    sources = {name: _digest(root / name) for name in [file, *sorted(lines)]}
    return FileReach(file, dict(seconds), lines, sources)


def _lines(root: Path, folder: Path) -> dict[str, dict[str, list[str]]]:
    data = CoverageData(str(folder / "combined"))
    for part in folder.glob("data.*"):
        part_data = CoverageData(str(part))
        part_data.read()
        data.update(part_data)
    lines_by_file: dict[str, dict[str, list[str]]] = {}
    for name in data.measured_files():
        path = Path(name)
        if path.is_relative_to(root):
            contexts = data.contexts_by_lineno(name)
            lines_by_file[path.relative_to(root).as_posix()] = {
                str(line): sorted(tests) for line, tests in contexts.items()
            }
    return lines_by_file


def tests_of(
    reaches: list[FileReach], file: str, lines: set[int], most_s: float
) -> tuple[list[str], float]:
    """Tests that run one of the lines, the quickest file first, and how long they take.

    The first one runs whatever it takes, unless there is no time at all.
    """
    by_file: list[tuple[float, list[str]]] = []
    seconds = {name: s for reach in reaches for name, s in reach.seconds.items()}
    for reach in reaches:
        tests_by_line = reach.lines.get(file, {})
        names = {name for line in lines for name in tests_by_line.get(str(line), []) if name}
        if reach.file in names:
            names = set(reach.seconds) | names - {reach.file}
        selection = sorted(names, key=lambda name: (seconds.get(name, 0.0), name))
        if selection:
            by_file.append((sum(seconds.get(name, 0.0) for name in selection), selection))
    ordered_names: list[str] = []
    selected_names: list[str] = []
    total = 0.0
    # Of every file the quick tests first: a mutant that one of them catches costs little.
    for quick in (True, False):
        for file_s, selection in sorted(by_file):
            half = len(selection) if file_s < 5 else -(-len(selection) // 2)
            ordered_names += selection[:half] if quick else selection[half:]
    for name in ordered_names:
        duration = seconds.get(name, 0.0)
        if (not selected_names and most_s > 0) or total + duration <= most_s:
            selected_names.append(name)
            total += duration
    return selected_names, total
