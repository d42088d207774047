"""Mutants and seeded bugs of a small crate, from its sources to what the tests of it say."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from running import ROOT

if TYPE_CHECKING:
    from mutation.listing import Mutant

pytestmark = pytest.mark.slow  # They compile, a few seconds on a machine that has nothing to do.
CRATE = "ssd-kv"
SOURCE = """\
pub fn larger(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

pub const fn twice(a: u32) -> u32 {
    a + a
}

pub fn last(a: &[u32]) -> Option<u32> {
    a.last().copied()
}

pub fn ends(most: u32) -> u32 {
    let mut at = 0;
    while at < most {
        at += 1;
    }
    at
}
"""
TESTS = """\
use ssd_kv::{ends, larger, last, twice};

#[test]
fn numbers() {
    assert_eq!((larger(1, 2), larger(2, 1), twice(3)), (2, 2, 6));
    assert_eq!(last(&[1, 2]), Some(2));
    assert_eq!(ends(3), 3);
}
"""
FILES = {
    "Cargo.toml": '[workspace]\nresolver = "3"\nmembers = ["crates/*"]\n[workspace.lints.rust]\n',
    f"crates/{CRATE}/Cargo.toml": (
        f'[package]\nname = "{CRATE}"\nversion = "0.1.0"\nedition = "2024"\n'
        "[lints]\nworkspace = true\n"
    ),
    f"crates/{CRATE}/src/lib.rs": SOURCE,
    f"crates/{CRATE}/tests/suite/main.rs": "mod levels;\n",
    f"crates/{CRATE}/tests/suite/levels.rs": TESTS,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources, of which and of whose builds nothing is outside of `tmp_path`."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import mutants
    import seeded_bugs

    root = tmp_path / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    cargo = ["cargo", "generate-lockfile", "--offline", "--quiet"]
    subprocess.run(cargo, cwd=root, check=True)
    for module in (mutants, seeded_bugs):
        monkeypatch.setattr(module, "ROOT", root)
        for name in ("TREE", "TARGET", "ALONE", "ALONE_TARGET"):
            monkeypatch.setattr(module, name, tmp_path / name.lower())
    return root


def mutant(function: str, old: str, new: str) -> Mutant:
    from mutation.listing import Mutant

    begin = SOURCE.index(f"pub {function}")
    end = SOURCE.index("\n}", begin) + 2
    first = SOURCE.index(old, begin)
    span, file = (first, first + len(old)), f"crates/{CRATE}/src/lib.rs"
    return Mutant(CRATE, file, function, span, (begin, end), new, f"{function}: {new}", "")


def test_each_mutant_meets_the_tests(project: Path) -> None:
    import mutants
    from mutation.results import Origin, entries_of

    kept = project.parent / "results.jsonl"

    every = [
        mutant("fn larger", "a > b", "a < b"),
        mutant("fn larger", "a > b", "a >= b"),
        mutant("const fn twice", "a + a", "a * a"),
        mutant("fn last", "a.last().copied()", "String::new()"),
        # The error is in a macro of the standard library.
        mutant("fn last", "a.last().copied()", "[vec![0]; 2][0].last().copied()"),
        mutant("fn ends", "at += 1", "at *= 1"),
    ]

    def judged(order: list[Mutant], longest_s: float, budget_s: float) -> dict[str, str]:
        origin = Origin("c0ffee", "2026-11-26")
        results = mutants.CrateResults(kept, False, longest_s, origin)
        together = mutants.Orders({CRATE: order}, results)
        if budget_s < math.inf:
            together.judge_within(budget_s)
        else:
            together.judge(CRATE, len(order))
        return {
            name: f"{e['verdict']} {e['by']}".strip() for (name, _), e in entries_of(kept).items()
        }

    by_numbers = {
        "fn larger: a < b": "caught levels: numbers",
        "fn ends: at *= 1": "hangs levels: (time)",
    }
    rest = {
        "const fn twice: a * a": "caught levels: numbers",
        "fn last: String::new()": "unviable",
        "fn last: [vec![0]; 2][0].last().copied()": "unviable",
    }
    equal = "fn larger: a >= b"
    # What is in time is judged by the first suite, and what needs a build of its own is not.
    assert judged(every, mutants.BUDGETED_S, 0) == {**by_numbers, equal: "quick"}
    assert judged(every, math.inf, math.inf) == {**by_numbers, **rest, equal: "survived"}
    assert json.loads((project.parent / "tree.alone.json").read_text()) == [
        "const fn twice: a * a ",
        "fn last: String::new() ",
        "fn last: [vec![0]; 2][0].last().copied() ",
    ]


def test_each_bug_meets_the_suite_that_it_names(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import seeded_bugs

    file = f"crates/{CRATE}/src/lib.rs"
    folder = project.parent / "bugs"
    folder.mkdir()
    for name, old, new in (
        ("a_caught", "    if a > b { a } else { b }", "    if a > b { b } else { a }"),
        ("b_survives", "    if a > b { a } else { b }", "    if a >= b { a } else { b }"),
        ("c_alone", "    a + a", "    a * a"),
        ("d_no_program", "    a.last().copied()", "    a.last()"),
        ("e_stale", "    nowhere()", "    anywhere()"),
    ):
        change = f"--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{old}\n+{new}\n"
        (folder / f"{name}.patch").write_text("Caught by: levels\n" + change)
    monkeypatch.setattr(seeded_bugs, "PATCHES", folder)
    monkeypatch.setattr(sys, "argv", ["seeded_bugs.py"])
    assert seeded_bugs.main() == 1
    *said, count = capsys.readouterr().out.splitlines()
    assert [line[:10].strip() + line[48:] for line in said] == [
        "a_caught caught by levels: numbers",
        "b_survives NOT CAUGHT by levels",
        "c_alone caught by levels: numbers",
        "d_no_progr DOES NOT COMPILE: error[E0308]: mismatched types",
        f"e_stale DOES NOT APPLY: {file} holds the changed lines 0 times",
    ]
    assert count == "2 of 5 seeded bugs are caught"
