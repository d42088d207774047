"""Writes docs/mutants.md: the results of the samples of mutants, and the code they hold for."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

from mutation.listing import SAMPLE, SEED, VERSION
from mutation.results import AT_FIRST, VERDICTS, Entry, entries_of, judged, reasons
from mutation.witness import witness

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tools" / "mutation"
KEPT = FOLDER / "results.jsonl"
# In percent of the lines that an area has: when so many have been added or removed since a sample
# was judged, its result is withdrawn.
STALE = 20
PAGES = "python/ssdlab/html"
# Where an area is, as git names files, and how many of its mutants are drawn.
AREAS = {
    **{crate: ([f"crates/{crate}/src"], SAMPLE[crate]) for crate in SAMPLE},
    "python": (["python/ssdlab", "lab/ssdlab_lab", f":!{PAGES}"], 80),
    "pages": ([PAGES], 40),
}
HEAD = f"""# Mutation testing

A mutant is the program with one operator, value or branch changed. At least one test should fail
on it; otherwise a test is missing or the line is not needed. The table shows a fixed random sample
of each crate and of the Python packages. HTML pages are an area of their own. A seed fixes the
order of the mutants. The first {AT_FIRST} of every area are judged before all others.

- *crates*: cargo-mutants {VERSION} generates the mutants, and seed {SEED} draws the sample. The
  tests of the crate run until one fails; `ssd-py`, the library for Python, is tested by the Python
  tests. A mutant that does not compile is replaced by the next one. Command: `make mutants-sample`.
- *python*, *pages*: at most one mutant per line. Texts and numbers transcribed from papers are not
  changed, nor is code of the lab that measures (`bench`, `validation`, `kv/bench.py`). The tests
  that execute the changed line run for at most 100 s. Tests that need a browser, LevelDB's sources,
  signals or a full disk are left out. Command: `make mutants-python-sample`.
- *hangs*: the tests take more than 8 times (Python: 5 times) their usual processor time. A hang
  counts as caught.
- *equivalent*: the change has no observable effect, for the reason given in
  `tools/mutation/equivalent.txt` or `equivalent_python.txt`.
- *open*: no test fails. *not run*: drawn but not judged yet, or caught by a test that is gone.

The last column is the commit at which the first mutant of the area was judged. A result is stale
when more than {STALE} % of the lines of its area have changed since it was judged. `make check`
then fails until `make docs` has withdrawn the result, and the next sample judges the mutant again.
`make mutants` judges the changed lines of a branch. Results are in `tools/mutation/results.jsonl`.

| area | sample | caught | of these, hangs | equivalent | open | not run | judged at |
|---|--:|--:|--:|--:|--:|--:|---|
"""


def text() -> str:
    """The page."""
    entries: dict[str, list[Entry]] = {area: [] for area in AREAS}
    for entry in {entry["name"]: entry for entry in entries_of(KEPT).values()}.values():
        entries[entry["area"]].append(entry)
    reasons_by_name = {
        **reasons(FOLDER / "equivalent.txt"),
        **reasons(FOLDER / "equivalent_python.txt"),
    }
    rows = [_row(area, entries[area], reasons_by_name) for area in AREAS]
    items = [
        f"- `{entry['name']}`\n"
        for area in AREAS
        for entry in entries[area]
        if judged(entry, reasons_by_name) == "unexplained" and not is_stale(entry)
    ]
    return HEAD + "".join(rows) + ("\nOpen:\n\n" + "".join(items) if items else "")


def _row(area: str, entries: list[Entry], reasons_by_name: dict[str, str]) -> str:
    sample = AREAS[area][1]
    of_tests = [entry for entry in entries if entry["verdict"] != "unviable"]
    current = [entry for entry in of_tests if not is_stale(entry)]
    row_start = f"| {area} | {sample} | | | | | {sample} |"
    if not of_tests:
        return f"{row_start} not judged |\n"
    first = min(current or of_tests, key=lambda entry: (entry["date"], entry["commit"]))
    origin = f"{first['commit']} ({first['date']})"
    if not current:
        return f"{row_start} withdrawn: more than {STALE} % of the lines changed since {origin} |\n"
    count = dict.fromkeys(VERDICTS, 0)
    for entry in current:
        is_gone = entry["by"] and not witness(ROOT, area, entry["by"])
        count["not run" if is_gone else judged(entry, reasons_by_name)] += 1
    missing_count = max(0, sample - len(current)) + count["not run"] + count["undecided"]
    caught_count = count["caught"] + count["hangs"]
    cells = (
        sample,
        caught_count,
        count["hangs"],
        count["equivalent"],
        count["unexplained"],
        missing_count,
    )
    return f"| {area} | {' | '.join(map(str, cells))} | {origin} |\n"


def is_stale(entry: Entry) -> bool:
    """Whether too many lines of an area have changed since its entry was judged."""
    share = _changed_share(entry["area"], entry["commit"])
    return share is not None and share > STALE


@cache
def _changed_share(area: str, commit: str) -> float | None:
    """Percent of the lines of an area that were added or removed since; None without history."""
    paths = AREAS[area][0]
    output = _git("diff", "--numstat", commit, "--", *paths)
    if output is None:
        print(f"{area}: no commit {commit} here, its age is not checked", file=sys.stderr)
        return None
    numbers = [number for line in output.splitlines() for number in line.split("\t")[:2]]
    files = (_git("ls-files", "--", *paths) or "").splitlines()
    lines = sum((ROOT / file).read_bytes().count(b"\n") for file in files)
    return 100 * sum(int(number) for number in numbers if number != "-") / max(1, lines)


def _git(*words: str) -> str | None:
    command = ["git", "-C", str(ROOT), *words]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if process.returncode else process.stdout
