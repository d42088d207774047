"""Results of mutants in a file that grows, and the table of them: for the crates and for Python."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

Entry: TypeAlias = "dict[str, str]"


class Mutant(Protocol):
    """What a result is noted of."""

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
    found: dict[str, str] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            found[name] = f"{found.get(name, '')} {line.strip()}".strip()
        elif line.startswith("  "):
            name += " " + line.strip()
        elif line and not line.startswith("#"):
            name = line
    return found


class Results:
    """What came out, in a file that grows; entries with `forgotten` verdicts do not count."""

    def __init__(self, path: Path, forgotten: Collection[str] = ()) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        # The last one of a mutant counts.
        held = {(e["name"], e.get("digest", "")): e for e in map(json.loads, lines)}
        self.held = {key: e for key, e in held.items() if e["verdict"] not in forgotten}

    def of(self, mutant: Mutant) -> Entry | None:
        """The result of a mutant, if its digest is still what it was."""
        return self.held.get((mutant.name, mutant.digest))

    def add(self, mutant: Mutant, verdict: str, by: str, spent_s: float) -> None:
        """Note a result."""
        entry = {"name": mutant.name, "digest": mutant.digest, "verdict": verdict, "by": by}
        self.held[mutant.name, mutant.digest] = entry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps({**entry, "spent_s": round(spent_s, 1)}) + "\n")
        print(f"{verdict:10} {spent_s:6.1f} s  {mutant.name}  {by}", flush=True)

    def table(self, chosen: Mapping[str, Sequence[Mutant]], known: Mapping[str, str]) -> int:
        """Print survivors and counts by group; the number of survivors that nothing explains.

        `known` has the mutants that change nothing, by name.
        """
        unexplained, counts = 0, []
        for group, mutants in chosen.items():
            count = dict.fromkeys(("caught", "hangs", "equivalent", "unexplained", "not run"), 0)
            for mutant in mutants:
                entry = self.of(mutant)
                verdict = entry["verdict"] if entry else "not run"
                if verdict in {"survived", "quick"}:
                    verdict = "equivalent" if mutant.name in known else "unexplained"
                count[verdict] += 1
                if verdict == "unexplained":
                    print("SURVIVES", *filter(None, [mutant.place]), mutant.name)
            unexplained += count["unexplained"]
            caught = count["caught"] + count["hangs"]
            share = 100 * caught / max(1, caught + count["unexplained"])
            words = ", ".join(f"{n} {what}" for what, n in count.items())
            total = f"{len(mutants)} mutants, {words}"
            counts.append(f"{group}: {total}; {share:.1f} % of those that count")
        print("\n".join(counts))
        return unexplained
