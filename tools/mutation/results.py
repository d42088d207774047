"""Results of mutants in a file that grows, and the table of them: for the crates and for Python."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

Entry: TypeAlias = "dict[str, str]"


class Mutant(Protocol):
    """What a result is noted of."""

    @property
    def area(self) -> str:
        """The crate, or the part of the Python package."""

    @property
    def name(self) -> str:
        """The same as long as the changed line stays the same."""

    @property
    def digest(self) -> str:
        """Of what the result holds for; "" if the name says it all."""

    @property
    def place(self) -> str:
        """Where it is, for people; "" if the name says so."""


def reasons(path: Path) -> dict[str, str]:
    """Why mutants change nothing, by name, from a file that says so."""
    reasons_by_name: dict[str, str] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            reasons_by_name[name] = f"{reasons_by_name.get(name, '')} {line.strip()}".strip()
        elif line.startswith("  "):
            name += " " + line.strip()
        elif line and not line.startswith("#"):
            name = line
    return reasons_by_name


# Of each area so many are judged before the others.
AT_FIRST = 20
VERDICTS = ("caught", "hangs", "equivalent", "unexplained", "undecided", "not run")


def judged(entry: Entry | None, explained: Collection[str]) -> str:
    """Which of VERDICTS an entry is."""
    if entry is None:
        return "not run"
    if entry["verdict"] not in {"survived", "quick"}:
        return entry["verdict"]
    if entry["name"] in explained:
        return "equivalent"
    return "unexplained" if entry["verdict"] == "survived" else "undecided"


def _whole_lines(path: Path) -> str:
    """The text of a file without the part of a last line that an interrupted command has left."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1]


def entries_of(path: Path) -> dict[tuple[str, str], Entry]:
    """The results in a file, by name and digest: the last one of a mutant counts."""
    entries: dict[tuple[str, str], Entry] = {}
    for number, line in enumerate(_whole_lines(path).splitlines(), start=1):
        try:
            entry = json.loads(line)
        except ValueError:
            print(f"{path}:{number}: is no result in JSON: remove the line", file=sys.stderr)
            sys.exit(2)
        entries[entry["name"], entry.get("digest", "")] = entry
    return entries


@dataclass(frozen=True)
class Origin:
    """What results are of."""

    commit: str
    date: str

    @staticmethod
    def of(root: Path) -> Origin:
        """The commit that is checked out in `root`, and its day."""
        return Origin(*_git(root, "log", "-1", "--format=%h %cs", "--abbrev=12").split())

    @staticmethod
    def of_committed(root: Path) -> Origin:
        """The same; exit if the sources are not those of the commit."""
        changed = _git(root, "status", "--porcelain", "--", "crates", "python", "lab", "tests")
        if changed:
            files = f"{changed.split()[1]} and others" if changed.count("\n") > 1 else changed[3:]
            words = "results of a sample are of a commit, and it is not in one: commit it first"
            print(f"{files.strip()}: {words}", file=sys.stderr)
            sys.exit(2)
        return Origin.of(root)


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Results:
    """What came out, in a file that grows; entries with `retried_verdicts` do not count.

    `witness` says what a test is, by area and name: a mutant whose test is another one by now, or
    is gone, has no result.
    """

    def __init__(
        self,
        path: Path,
        retried_verdicts: Collection[str] = (),
        witness: Callable[[str, str], str] = lambda _area, test: test,
        origin: Origin | None = None,
    ) -> None:
        self.path = path
        self.witness = witness
        self.origin = origin
        entries = entries_of(path)
        self.held = {key: e for key, e in entries.items() if e["verdict"] not in retried_verdicts}

    def forget(self, is_stale: Callable[[Entry], bool]) -> None:
        """Judge anew what is stale."""
        self.held = {key: entry for key, entry in self.held.items() if not is_stale(entry)}

    def of(self, mutant: Mutant) -> Entry | None:
        """The result of a mutant, if its digest and the test that caught it are what they were."""
        entry = self.held.get((mutant.name, mutant.digest))
        if entry and entry["by"] and entry["test"] != self.witness(mutant.area, entry["by"]):
            return None
        return entry

    def add(self, mutant: Mutant, verdict: str, test: str, spent_s: float) -> None:
        """Note a result."""
        entry = {"area": mutant.area, "name": mutant.name, "digest": mutant.digest}
        entry |= {"verdict": verdict, "by": test, "test": test and self.witness(mutant.area, test)}
        if self.origin:
            entry |= dataclasses.asdict(self.origin)
        self.held[mutant.name, mutant.digest] = entry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            os.truncate(self.path, len(_whole_lines(self.path).encode()))
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        print(f"{verdict:10} {spent_s:6.1f} s  {mutant.name}  {test}", flush=True)

    def tidy(self, selection: Mapping[str, Sequence[Mutant]]) -> None:
        """Leave in the file the results of a sample, and those of areas that it has not."""
        entries = [e for e in self.held.values() if e["area"] not in selection]
        entries += [e for mutants in selection.values() for e in map(self.of, mutants) if e]
        entries.sort(key=lambda entry: (entry["area"], entry["name"]))
        text = "".join(json.dumps(entry) + "\n" for entry in entries)
        temporary = self.path.with_suffix(".new")
        temporary.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.path)

    def table(
        self, selection: Mapping[str, Sequence[Mutant]], reasons_by_name: Mapping[str, str]
    ) -> int:
        """Print survivors and counts by group; the number of survivors that nothing explains.

        `reasons_by_name` has the mutants that change nothing, by name. Undecided are those that
        only the quick suites have met.
        """
        unexplained_count, counts = 0, []
        for group, mutants in selection.items():
            count = dict.fromkeys(VERDICTS, 0)
            for mutant in mutants:
                verdict = judged(self.of(mutant), reasons_by_name)
                count[verdict] += 1
                if verdict in {"unexplained", "undecided"}:
                    words = "SURVIVES" if verdict == "unexplained" else "UNDECIDED"
                    print(words, *filter(None, [mutant.place]), mutant.name)
            unexplained_count += count["unexplained"]
            caught_count = count["caught"] + count["hangs"]
            share = 100 * caught_count / max(1, caught_count + count["unexplained"])
            words = ", ".join(f"{n} {verdict_name}" for verdict_name, n in count.items())
            total = f"{len(mutants)} mutants, {words}"
            counts.append(f"{group}: {total}; {share:.1f} % of those that count")
        print("\n".join(counts))
        return unexplained_count
