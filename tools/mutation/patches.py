"""Seeded bugs as mutants: what a patch changes in each function, so that one build holds many."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from mutation.listing import Mutant
from mutation.schemata import body

HEAD = re.compile(
    r"^([ \t]*)(?:pub(?:\([^)]*\))? )?(?:default )?(?:unsafe )?fn \w+", flags=re.MULTILINE
)


def functions(text: str) -> list[tuple[int, int]]:
    """Where the functions of a formatted source begin and end; none with `const`."""
    found = []
    for head in HEAD.finditer(text):
        begin = head.start() + len(head[1])
        end = re.compile(rf"^{head[1]}\}}", re.MULTILINE).search(text, begin)
        if end and body(text, (begin, end.end())):
            found.append((begin, end.end()))
    return found


def as_mutants(
    root: Path, crate: str, name: str, hunks: list[tuple[str, str, str]]
) -> list[Mutant] | None:
    """A mutant for each function that a patch changes; None if it changes anything else.

    Each hunk replaces text that stands once in its file.
    """
    changed: dict[tuple[str, tuple[int, int]], list[tuple[int, int, str]]] = {}
    for file, old, new in hunks:
        text = (root / file).read_text(encoding="utf-8")
        at = text.index(old)
        head = _common(old, new)
        tail = _common(old[head:][::-1], new[head:][::-1])
        first, last = at + head, at + len(old) - tail
        around = [(b, e) for b, e in functions(text) if b < first and last < e]
        if not around:
            return None
        within = max(around)
        changed.setdefault((file, within), []).append((first, last, new[head : len(new) - tail]))
    found = []
    for (file, within), edits in changed.items():
        text = (root / file).read_text(encoding="utf-8")
        edits.sort()
        replacement, at = "", edits[0][0]
        for first, last, new in edits:
            if first < at:
                return None
            replacement += text[at:first] + new
            at = last
        digest = hashlib.sha256((text[slice(*within)] + replacement).encode()).hexdigest()[:12]
        span = (edits[0][0], at)
        found.append(Mutant(crate, file, "", span, within, replacement, name, digest))
    return found


def _common(one: str, other: str) -> int:
    """How many characters at the beginning are equal."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
