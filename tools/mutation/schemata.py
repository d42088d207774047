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


def body(text: str, span: tuple[int, int]) -> tuple[int, int] | None:
    """Offsets of the braces of the function at `span`; nothing if it has no body of its own."""
    start, end = span
    code = SKIPPED.sub(lambda m: " " * len(m.group()), text[start:end])
    open_at: list[int] = []
    last = None
    for match in re.finditer(r"[{}]", code):
        if match.group() == "{":
            open_at.append(match.start())
        elif open_at:
            last = (open_at.pop(), match.start())
    if last is None or last[1] != len(code.rstrip()) - 1:
        return None
    return start + last[0], start + last[1]


def schema(text: str, mutants: Iterable[tuple[int, Mutant]]) -> tuple[str, list[int]]:
    """The text with all mutants that one build can hold, and the numbers of the others.

    What changes several functions has one number in all of them.
    """
    by_function: dict[tuple[int, int], list[tuple[int, Mutant]]] = {}
    unschemable: list[int] = []
    for number, mutant in mutants:
        by_function.setdefault(mutant.within, []).append((number, mutant))
    insertions: list[tuple[int, str]] = []
    for span, mutants_of_function in by_function.items():
        braces = body(text, span)
        if braces is None or re.search(r"\bconst\s+(unsafe\s+)?fn\b", text[span[0] : braces[0]]):
            unschemable += [number for number, _ in mutants_of_function]
            continue
        variants = ""
        for number, mutant in mutants_of_function:
            first, last = mutant.span
            if not braces[0] < first <= last <= braces[1]:
                unschemable.append(number)
                continue
            changed = text[braces[0] + 1 : first] + mutant.replacement
            changed += text[last : braces[1]]
            variants += (
                f"/*<{number}*/ if crate::selected_mutant::is({number}) {{ {changed}\n}} else /*>*/"
            )
        if variants:
            insertions += [(braces[0] + 1, variants + " {"), (braces[1], "}")]
    for position, insertion in sorted(insertions, reverse=True):
        text = text[:position] + insertion + text[position:]
    return text, unschemable


def number_at(text: str, line: int) -> int | None:
    """The mutant in whose body a line (from 1) of an instrumented text is."""
    offset = sum(len(line_text) for line_text in text.splitlines(keepends=True)[: line - 1])
    ends = offset + len(text.splitlines()[line - 1])
    starts = list(re.finditer(r"/\*<(\d+)\*/", text[:ends]))
    if not starts or "/*>*/" in text[starts[-1].end() : offset]:
        return None
    return int(starts[-1].group(1))


def instrument(tree: Path, mutants: Sequence[tuple[int, Mutant]]) -> list[int]:
    """Put the mutants into the sources of `tree`; returns the numbers of those left out."""
    unschemable: list[int] = []
    by_file: dict[str, list[tuple[int, Mutant]]] = {}
    for number, mutant in mutants:
        by_file.setdefault(mutant.file, []).append((number, mutant))
    for file, mutants_of_file in by_file.items():
        path = tree / file
        text, omitted = schema(path.read_text(encoding="utf-8"), mutants_of_file)
        path.write_text(text, encoding="utf-8")
        unschemable += omitted
    for crate in {mutant.crate for _, mutant in mutants}:
        sources = tree / "crates" / crate / "src"
        (sources / "selected_mutant.rs").write_text(SELECTION, encoding="utf-8")
        with (sources / "lib.rs").open("a", encoding="utf-8") as lib:
            lib.write("\nmod selected_mutant;\n")
    return unschemable
