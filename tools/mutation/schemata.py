"""All drawn mutants in one build: every function with mutants gets one body for each.

    fn f() { BODY }   ->   fn f() { if is(7) { BODY with mutant 7 } else { BODY } }

Which one runs is said by the environment variable SSDLAB_MUTANT: its number, or a file to which the
number of every mutant that is reached is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from mutation.listing import Mutant

SELECTION = """//! The selected mutant.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

enum Selection {
    Number(u32),
    Reached(std::path::PathBuf),
}

static REACHED: [AtomicBool; 20_000] = [const { AtomicBool::new(false) }; 20_000];

#[inline]
pub(crate) fn is(number: u32) -> bool {
    static SELECTION: OnceLock<Selection> = OnceLock::new();
    let selection = SELECTION.get_or_init(|| {
        let said = std::env::var("SSDLAB_MUTANT").unwrap_or_default();
        match said.parse() {
            Ok(number) => Selection::Number(number),
            Err(_) if said.is_empty() => Selection::Number(0),
            Err(_) => Selection::Reached(said.into()),
        }
    });
    match selection {
        Selection::Number(selected) => *selected == number,
        Selection::Reached(file) => reached(file, number),
    }
}

#[cold]
#[inline(never)]
fn reached(file: &std::path::Path, number: u32) -> bool {
    if !REACHED[number as usize].swap(true, Ordering::Relaxed) {
        use std::io::Write;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        file.write_all(format!("{number}\\n").as_bytes()).unwrap();
    }
    false
}
"""

# What may hold a brace that is none: comments, strings and characters.
SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\[^\n]{1,9}?|[^\'\\\n])\'',
    re.DOTALL,
)


def body(text: str, within: tuple[int, int]) -> tuple[int, int] | None:
    """Offsets of the braces of the function at `within`; nothing if it has no body of its own."""
    begin, end = within
    covered = SKIPPED.sub(lambda m: " " * len(m.group()), text[begin:end])
    open_at: list[int] = []
    last = None
    for match in re.finditer(r"[{}]", covered):
        if match.group() == "{":
            open_at.append(match.start())
        elif open_at:
            last = (open_at.pop(), match.start())
    if last is None or last[1] != len(covered.rstrip()) - 1:
        return None
    return begin + last[0], begin + last[1]


def schema(text: str, numbered: Iterable[tuple[int, Mutant]]) -> tuple[str, list[int]]:
    """The text with all mutants that one build can hold, and the numbers of the others.

    What changes several functions has one number in all of them.
    """
    by_function: dict[tuple[int, int], list[tuple[int, Mutant]]] = {}
    alone: list[int] = []
    for number, mutant in numbered:
        by_function.setdefault(mutant.within, []).append((number, mutant))
    inserted: list[tuple[int, str]] = []
    for within, here in by_function.items():
        braces = body(text, within)
        if braces is None or re.search(r"\bconst\s+(unsafe\s+)?fn\b", text[within[0] : braces[0]]):
            alone += [number for number, _ in here]
            continue
        variants = ""
        for number, mutant in here:
            first, last = mutant.span
            if not braces[0] < first <= last <= braces[1]:
                alone.append(number)
                continue
            changed = text[braces[0] + 1 : first] + mutant.replacement
            changed += text[last : braces[1]]
            variants += (
                f"/*<{number}*/ if crate::selected_mutant::is({number}) {{ {changed}\n}} else /*>*/"
            )
        if variants:
            inserted += [(braces[0] + 1, variants + " {"), (braces[1], "}")]
    for at, what in sorted(inserted, reverse=True):
        text = text[:at] + what + text[at:]
    return text, alone


def number_at(text: str, line: int) -> int | None:
    """The mutant in whose body a line (from 1) of an instrumented text is."""
    offset = sum(len(each) for each in text.splitlines(keepends=True)[: line - 1])
    ends = offset + len(text.splitlines()[line - 1])
    begins = list(re.finditer(r"/\*<(\d+)\*/", text[:ends]))
    if not begins or "/*>*/" in text[begins[-1].end() : offset]:
        return None
    return int(begins[-1].group(1))


def instrument(tree: Path, numbered: Sequence[tuple[int, Mutant]]) -> list[int]:
    """Put the mutants into the sources of `tree`; returns the numbers of those left out."""
    alone: list[int] = []
    by_file: dict[str, list[tuple[int, Mutant]]] = {}
    for number, mutant in numbered:
        by_file.setdefault(mutant.file, []).append((number, mutant))
    for file, here in by_file.items():
        path = tree / file
        text, left_out = schema(path.read_text(encoding="utf-8"), here)
        path.write_text(text, encoding="utf-8")
        alone += left_out
    for crate in {mutant.crate for _, mutant in numbered}:
        sources = tree / "crates" / crate / "src"
        (sources / "selected_mutant.rs").write_text(SELECTION, encoding="utf-8")
        with (sources / "lib.rs").open("a", encoding="utf-8") as lib:
            lib.write("\nmod selected_mutant;\n")
    return alone
