"""Mutants: one build holds all of a function, the sample stays what it is, and what results say.

Commands that hang are ended, with all that they have started.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bounded import Ended, Limits
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


def test_results_count_until_they_are_forgotten_or_the_code_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mutation.results import Results, reasons

    file = tmp_path / "work" / "results.jsonl"
    one, two, three = (_mutant(SOURCE, "fn f", "+", sign) for sign in "-*/")
    first = Results(file)
    first.add(one, "survived", "", 1)
    first.add(one, "caught", "levels: f", 2)
    first.add(two, "survived", "", 1)
    again, anew = Results(file), Results(file, {"survived"})
    assert [entry and entry["verdict"] for entry in map(again.of, (one, two, three))] == [
        "caught",
        "survived",
        None,
    ]
    assert anew.of(one)
    assert not anew.of(two)
    assert not again.of(_with_digest(one, "another"))
    capsys.readouterr()
    assert again.table({"kernel": [one, two, three]}, {}) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"SURVIVES {two.name}",
        "kernel: 3 mutants, 1 caught, 0 hangs, 0 equivalent, 1 unexplained, 1 not run;"
        " 50.0 % of those that count",
    ]
    why = tmp_path / "equivalent.txt"
    why.write_text(f"# Names.\n{two.name}\n    It changes nothing,\n    as one sees.\n")
    assert reasons(why) == {two.name: "It changes nothing, as one sees."}
    assert again.table({"kernel": [one, two]}, reasons(why)) == 0
    assert "1 caught, 0 hangs, 1 equivalent, 0 unexplained" in capsys.readouterr().out


def _with_digest(mutant: Mutant, digest: str) -> Mutant:
    from dataclasses import replace

    return replace(mutant, digest=digest)


def _bounded(program: str, limits: Limits, stop_at: str | None = None) -> Ended:
    import bounded

    command = [sys.executable, "-uc", program]
    merged = subprocess.STDOUT
    return bounded.run(command, ROOT, {"A": "b"}, limits, stop_at=stop_at, errors=merged)


def test_a_command_that_ends_by_itself() -> None:
    from bounded import Limits

    ended = _bounded("import os, sys; print(os.environ['A']); sys.exit('no')", Limits(60))
    assert (ended.code, ended.output, ended.hung) == (1, "b\nno\n", False)


def test_a_command_that_hangs_is_ended_with_what_it_started() -> None:
    from bounded import Limits

    child = "import subprocess; subprocess.run(['sleep', '600'])"
    start = time.monotonic()
    # The output stays open until the child is gone, too.
    ended = _bounded(f"import time; {child}; time.sleep(600)", Limits(2))
    assert ended.hung
    assert time.monotonic() - start < 60
    ended = _bounded("while True: pass", Limits(60, cpu_s=0))
    assert (ended.code, ended.hung) == (-signal.SIGXCPU, True)


def test_a_command_has_its_memory_and_ends_at_a_line() -> None:
    from bounded import Limits

    ended = _bounded("bytearray(1 << 30)", Limits(60, memory=1 << 29))
    assert "MemoryError" in ended.output
    assert not ended.hung
    ended = _bounded("while True: print('FAILED it')", Limits(60), stop_at=r"FAILED (\w+)")
    assert ended.stopped_by
    assert ended.stopped_by[1] == "it"
    assert (ended.output, ended.hung) == ("FAILED it\n", False)


def test_every_tree_of_sources_has_a_build_of_its_own() -> None:
    from mutants import tree_and_target
    from mutation.listing import SAMPLE

    names = [name for crate in SAMPLE for name in (crate, f"{crate}.alone")]
    folders = [folder for name in names for folder in tree_and_target(name)]
    assert len(set(folders)) == 2 * len(names)
