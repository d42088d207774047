"""The mutants of the crates: one build holds all of a function, and the sample stays what it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mutation.listing import Mutant

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


SOURCE = """\
/// Not a brace: {
fn f(x: u32) -> u32 {
    let c = ['{', '\\'']; // }
    let s = ("}", r#"}"{"#, b'}', "\\"}");
    x + 1
}
const fn g() -> u32 { 1 }
"""


def _mutant(text: str, function: str, old: str, new: str) -> Mutant:
    from mutation.listing import Mutant

    begin = text.index(function)
    end = text.index("\n}", begin) + 2 if function == "fn f" else text.index("}", begin) + 1
    first = text.index(old, begin)
    span = (first, first + len(old))
    return Mutant("ssd-core", "f.rs", "f", span, (begin, end), new, old + new, "")


def test_a_function_has_one_body_for_each_of_its_mutants() -> None:
    from mutation.schemata import body, number_at, schema

    minus = _mutant(SOURCE, "fn f", "+", "-")
    times = _mutant(SOURCE, "fn f", "+", "*")
    two = _mutant(SOURCE, "const fn g", "1", "2")
    braces = body(SOURCE, minus.within)
    assert braces is not None
    assert SOURCE[: braces[0]].endswith("-> u32 ")
    assert SOURCE[braces[1] :].startswith("}\nconst")
    text, alone = schema(SOURCE, {7: minus, 8: times, 9: two})
    assert alone == [9]
    assert [text.count(f"x {sign} 1") for sign in "-*+"] == [1, 1, 1]
    lines = text.splitlines()
    where = {sign: lines.index(f"    x {sign} 1") + 1 for sign in "-*+"}
    numbers = {sign: number_at(text, line) for sign, line in where.items()}
    assert numbers == {"-": 7, "*": 8, "+": None}


def test_the_sample_does_not_depend_on_other_mutants() -> None:
    from mutation.listing import SAMPLE, Mutant, drawn

    every = [
        Mutant("ssd-kv", "f.rs", "f", (0, 1), (0, 2), "", f"mutant {i}", "") for i in range(1000)
    ]
    sample = drawn(every, "ssd-kv")
    assert len(sample) == SAMPLE["ssd-kv"] * 3 // 2
    assert sample[:3] == drawn(every[::-1], "ssd-kv")[:3]
    gone = drawn([m for m in every if m != sample[0]], "ssd-kv")
    assert gone[:119] == sample[1:]


def test_every_tree_of_sources_has_a_build_of_its_own() -> None:
    from mutants import tree_and_target
    from mutation.listing import SAMPLE

    names = [name for crate in SAMPLE for name in (crate, f"{crate}.alone")]
    folders = [folder for name in names for folder in tree_and_target(name)]
    assert len(set(folders)) == 2 * len(names)
