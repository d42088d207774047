"""Which mutants there are, and which of them are the sample.

cargo-mutants generates them. A mutant's identity is its file, function, replacement and line of
text, not its line number, and the sample holds those whose hash with the seed is smallest: a
change of the sources replaces only mutants of changed lines.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

SEED = 13
VERSION = "25.3.1"
# Of every crate: one that is not here is refused.
SAMPLE = {
    "ssd-core": 120,
    "ssd-trace": 80,
    "ssd-kv": 80,
    "ssd-run": 20,
    "ssd-host": 60,
    "ssd-serve": 60,
    "ssd-py": 30,
}


@dataclass(frozen=True)
class Mutant:
    """One change of one function; offsets are into the text of the file."""

    crate: str
    file: str
    function: str
    span: tuple[int, int]
    within: tuple[int, int]
    replacement: str
    name: str
    digest: str
    place: str = ""

    @property
    def area(self) -> str:
        """What its result is counted for."""
        return self.crate

    @property
    def rank(self) -> str:
        """The order in which mutants are drawn."""
        return hashlib.sha256(f"{SEED}:{self.name}".encode()).hexdigest()


def offset(starts: list[int], place: dict[str, int]) -> int:
    """Offset of a line and column, both counted from 1."""
    return starts[place["line"] - 1] + place["column"] - 1


def mutants(root: Path, tool: str, crates: list[str], *options: str) -> list[Mutant]:
    """All mutants of the crates, in the order of the sources."""
    packages = [word for crate in crates for word in ("-p", crate)]
    command = [tool, "mutants", "--dir", str(root), "--list", "--json", *packages, *options]
    try:
        process = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    except FileNotFoundError:
        install = f"cargo install cargo-mutants --locked --version {VERSION}"
        print(f"{tool}: not found; `{install}` installs it", file=sys.stderr)
        sys.exit(2)
    if process.returncode:
        print(f"`{' '.join(command)}` fails, see above", file=sys.stderr)
        sys.exit(2)
    entries = json.loads(process.stdout or "[]")
    mutants_found: list[Mutant] = []
    texts: dict[str, tuple[str, list[int]]] = {}
    occurrences: Counter[str] = Counter()
    constants = sum(entry["function"] is None for entry in entries)
    if constants:
        print(f"{constants} mutants of constants outside of functions are left out", flush=True)
    for entry in entries:
        file = entry["file"]
        if file not in texts:
            text = (root / file).read_text(encoding="utf-8")
            starts = [0]
            for line in text.splitlines(keepends=True):
                starts.append(starts[-1] + len(line))
            texts[file] = (text, starts)
        text, starts = texts[file]
        span, function = entry["span"], entry["function"]
        if function is None:  # a type needs the value when it is compiled: no variable selects it
            continue
        function_span = function["span"]
        function_range = (
            offset(starts, function_span["start"]),
            offset(starts, function_span["end"]),
        )
        line = text[starts[span["start"]["line"] - 1] :].split("\n", 1)[0].strip()
        change = f"{entry['genre']} -> {entry['replacement'] or 'nothing'}"
        name = f"{file}: {function['function_name']}: {change}: {line}"
        occurrences[name] += 1
        mutants_found.append(
            Mutant(
                entry["package"],
                file,
                function["function_name"],
                (offset(starts, span["start"]), offset(starts, span["end"])),
                function_range,
                entry["replacement"],
                name if occurrences[name] == 1 else f"{name} ({occurrences[name]})",
                hashlib.sha256(text[slice(*function_range)].encode()).hexdigest()[:12],
            )
        )
    return mutants_found


def drawn(candidates: list[Mutant], crate: str) -> list[Mutant]:
    """The mutants of a crate in the order of the draw, with some to replace what cannot compile."""
    by_rank = sorted((m for m in candidates if m.crate == crate), key=lambda m: m.rank)
    return by_rank[: SAMPLE[crate] * 3 // 2]
