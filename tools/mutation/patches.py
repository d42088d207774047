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
    spans = []
    for head in HEAD.finditer(text):
        start = head.start() + len(head[1])
        end = re.compile(rf"^{head[1]}\}}", re.MULTILINE).search(text, start)
        if end and body(text, (start, end.end())):
            spans.append((start, end.end()))
    return spans


def as_mutants(
    root: Path, crate: str, name: str, hunks: list[tuple[str, str, str]]
) -> list[Mutant] | None:
    """A mutant for each function that a patch changes; None if it changes anything else.

    Each hunk replaces text that stands once in its file.
    """
    changed: dict[tuple[str, tuple[int, int]], list[tuple[int, int, str]]] = {}
    for file, old, replacement_text in hunks:
        text = (root / file).read_text(encoding="utf-8")
        start = text.index(old)
        head = _common(old, replacement_text)
        tail = _common(old[head:][::-1], replacement_text[head:][::-1])
        first, last = start + head, start + len(old) - tail
        enclosing = [(b, e) for b, e in functions(text) if b < first and last < e]
        if not enclosing:
            return None
        function_span = max(enclosing)
        changed.setdefault((file, function_span), []).append(
            (first, last, replacement_text[head : len(replacement_text) - tail])
        )
    mutants = []
    for (file, function_span), edits in changed.items():
        text = (root / file).read_text(encoding="utf-8")
        edits.sort()
        replacement, start = "", edits[0][0]
        for first, last, new_text in edits:
            if first < start:
                return None
            replacement += text[start:first] + new_text
            start = last
        digest = hashlib.sha256((text[slice(*function_span)] + replacement).encode()).hexdigest()[
            :12
        ]
        span = (edits[0][0], start)
        mutants.append(Mutant(crate, file, "", span, function_span, replacement, name, digest))
    return mutants


def _common(first: str, second: str) -> int:
    """How many characters at the beginning are equal."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(second)))
