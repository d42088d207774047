"""The mutants of the Python package: which places are changed, and which tests meet a mutant."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


# `make mutants-python` installs them.
pytest.importorskip("coverage")
pytest.importorskip("mutmut")


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


SOURCE = '''\
"""A module, 1 + 1."""
from x import y
Alias: TypeAlias = "int | None"
MOST = 3


def f(a: int | None, b: int = 4) -> int:
    """Not changed: 5 < 6."""
    return a + b if a < MOST else len("text")
'''


def test_every_place_of_a_module_but_texts_and_types_is_changed() -> None:
    from mutation.python_sites import changes

    found = [
        (change.line, SOURCE[change.first : change.last], change.text, change.in_function)
        for change in changes(SOURCE)
    ]
    assert {line for line, *_ in found} == {4, 7, 9}
    assert (4, "3", "4", False) in found
    assert (7, "4", "5", True) in found
    assert (9, "a + b", "a - b", True) in found
    assert (9, " < MOST", "<= MOST", True) in found
    assert (9, 'len("text")', "len(None)", True) in found
    assert not any("XX" in text for *_, text, _ in found)


def test_a_change_is_put_into_the_source() -> None:
    from mutation.python_sites import changes, compiles

    (change,) = [one for one in changes(SOURCE) if one.text == "a - b"]
    made = change.made(SOURCE)
    assert made == SOURCE.replace("a + b", "a - b")
    assert compiles(made)
    assert not compiles(made.replace("return", "return return"))


SCRIPT = """\
// Not changed: 1 + 1
const a = "1 < 2", b = `3 + ${c + 0} < 4`;
const d = (e) => Math.min(e, -1) * 10;
if (!d && a !== b) return 0;
"""


def test_operators_numbers_and_names_of_scripts_are_changed() -> None:
    from mutation.script_sites import changes

    found = [
        (change.line, SCRIPT[change.first : change.last], change.text) for change in changes(SCRIPT)
    ]
    assert found == [
        (2, "+", "-"),
        (2, "0", "1"),
        (3, "Math.min", "Math.max"),
        (3, "-", ""),
        (3, "1", "(2 * 1)"),
        (3, "*", "/"),
        (3, "10", "(2 * 10)"),
        (4, "!", ""),
        (4, "&&", "||"),
        (4, "!==", "==="),
        (4, "0", "1"),
    ]


def test_a_mutant_meets_the_tests_that_run_its_line_the_quickest_first() -> None:
    from mutation.reach import MOST_S, FileReach, tests_of

    file = "python/ssdlab/a.py"
    slow = FileReach(
        "t/slow.py",
        {"t/slow.py::a": 30.0, "t/slow.py::b": 6.0},
        {
            file: {"3": ["t/slow.py"], "9": [""]},
        },
        {},
    )
    quick = FileReach(
        "t/quick.py",
        {"t/quick.py::a": 2.0, "t/quick.py::b": 1.0},
        {
            file: {"3": ["t/quick.py::a", "t/quick.py::b"], "4": ["t/quick.py::b"]},
        },
        {},
    )
    long = FileReach("t/long.py", {"t/long.py::a": MOST_S}, {file: {"3": ["t/long.py::a"]}}, {})
    every = [slow, quick, long]
    # Of a file that takes long half of the tests comes later; what exceeds the limit does not run.
    tests, seconds = tests_of(every, file, {3}, MOST_S)
    assert tests == ["t/quick.py::b", "t/quick.py::a", "t/slow.py::b", "t/slow.py::a"]
    assert seconds == 39
    assert tests_of(every, file, {4}, MOST_S) == (["t/quick.py::b"], 1)
    assert tests_of(every, file, {9}, MOST_S) == ([], 0)
    assert tests_of([long], file, {3}, MOST_S) == (["t/long.py::a"], MOST_S)
    assert tests_of(every, file, {3}, 3) == (["t/quick.py::b", "t/quick.py::a"], 3)
    assert tests_of(every, file, {3}, 0) == ([], 0)


def test_tests_are_measured_again_when_what_they_run_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the tests of a line would be those of the line that had its number."""
    from mutation import reach

    measured: list[str] = []

    def measure(root: Path, _work: Path, test: Path) -> reach.FileReach:
        measured.append(test.stem)
        file = test.relative_to(root).as_posix()
        names = [file, f"python/ssdlab/{test.stem[-1]}.py"]
        return reach.FileReach(file, {}, {}, {name: reach._digest(root / name) for name in names})

    texts = {"tests/py/test_a.py": "1", "tests/py/test_b.py": "two.f()", "python/ssdlab/a.py": "1"}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "python/ssdlab/b.py").write_text("two")
    monkeypatch.setattr(reach, "_measure", measure)

    def again(module: str = "", until: float = math.inf) -> list[str]:
        measured.clear()
        tests = reach.Tests(tmp_path, tmp_path / "work")
        found = [one.file for several in tests.in_turn(module, until) for one in several]
        assert tests.are_known() == (len(found) == 2) == (until > 0)
        return measured

    assert again(until=0) == []
    assert again("two") == ["test_b", "test_a"], "the one that names the module is the first"
    assert again() == []
    (tmp_path / "python/ssdlab/b.py").write_text("\ntwo")
    assert again() == ["test_b"]
    (tmp_path / "tests/py/test_a.py").write_text("three")
    assert again() == ["test_a"]
    assert again() == []


def test_the_sample_of_an_area_has_a_mutant_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import python_mutants
    from mutation.python_sites import Change

    every = [
        python_mutants.Mutant(
            "pages", f"f{i % 9}.js", Change(i // 18, 0, 1, f"{i}", True), f"m{i}", ""
        )
        for i in range(900)
    ]
    monkeypatch.setattr(python_mutants, "mutants", lambda *_: every)
    monkeypatch.setattr(python_mutants, "viable", lambda one: one.name != every[0].name)
    sample = python_mutants.drawn(["pages"])
    assert len(sample) == python_mutants.SAMPLE["pages"] == 40
    assert len({(one.file, one.change.line) for one in sample}) == 40
    assert every[0] not in sample
    monkeypatch.setattr(python_mutants, "mutants", lambda *_: every[::-1])
    assert python_mutants.drawn(["pages"]) == sample


def test_changed_lines_are_those_that_a_diff_adds() -> None:
    import python_mutants

    diff = (
        "+++ b/python/ssdlab/a.py\n@@ -3 +3,2 @@\n-x\n+y\n+z\n@@ -9,2 +10,0 @@\n-u\n-v\n"
        "+++ b/python/ssdlab/b.py\n@@ -1,2 +0,0 @@\n-u\n-v\n"
    )
    assert python_mutants.changed_lines(diff) == {"python/ssdlab/a.py": {3, 4}}


def test_changed_files_without_mutants_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import python_mutants

    lines = {"lab/ssdlab_lab/bench/cases.py": {1, 2}, "python/ssdlab/py.typed": {1}}
    monkeypatch.setattr(python_mutants, "fork_of", lambda *_: "HEAD")
    monkeypatch.setattr(python_mutants, "changed_lines", lambda _: lines)
    assert not python_mutants.changed("HEAD")
    assert capsys.readouterr().out.splitlines() == [
        "lab/ssdlab_lab/bench/cases.py: 2 changed lines are left out: measures the simulator",
        "python/ssdlab/py.typed: 1 changed lines are left out: no source of a sample",
    ]


TESTED = "tests/py/test_numbers.py"
PACKAGE = """\
MOST = 3


def larger(a: int, b: int) -> int:
    return a if a > b else b


def twice(a: int) -> int:
    return a + a


def unused(a: int) -> int:
    return a - 1


def most(a: int) -> int:
    return min(a, MOST)
"""
TESTS = """\
from ssdlab.numbers import larger, most, twice


def test_larger():
    assert (larger(1, 2), larger(2, 1)) == (2, 2)


def test_twice():
    assert twice(2) == 4


def test_most():
    assert most(5) == 3
"""


@pytest.mark.slow
def test_each_mutant_meets_the_tests_that_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the sources of a small package to what its tests say, measured by coverage.py."""
    import python_mutants
    from mutation.results import Results, entries_of

    file = "python/ssdlab/numbers.py"
    for name, text in {file: PACKAGE, TESTED: TESTS}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "python/ssdlab/__init__.py").touch()
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    monkeypatch.setattr(python_mutants, "ROOT", tmp_path)
    monkeypatch.setattr(python_mutants, "WORK", tmp_path / "work")
    every = {mutant.name: mutant for mutant in python_mutants.mutants(["python"])}

    def named(before: str, after: str) -> python_mutants.Mutant:
        return every[f"{file}: {before} -> {after}"]

    chosen = [
        named("return a if a > b else b", "return a if a>= b else b"),
        named("return a + a", "return a - a"),
        named("return a - 1", "return a + 1"),
        named("MOST = 3", "MOST = 4"),
    ]
    results = Results(tmp_path / "results.jsonl", (), lambda _, by: by)
    python_mutants.judge_all(chosen, results, math.inf)
    entries = entries_of(results.path).values()
    assert [f"{entry['verdict']} {entry['by']}".strip() for entry in entries] == [
        "survived",
        f"caught {TESTED}::test_twice",
        "survived",
        f"caught {TESTED}::test_most",
    ]
    with pytest.raises(SystemExit) as end:
        python_mutants.run_tests(
            ["tests/py/test_numbers.py::test_none"], 60, tmp_path / "work/package"
        )
    assert end.value.code == 2, "a test that is not there catches nothing"
    # A test that fails on the copy as it is catches nothing, either.
    (tmp_path / "tests/py/test_numbers.py").write_text(
        TESTS.replace("== 3", "== 3 and twice(1) == 3")
    )
    judge = python_mutants.Judge()
    monkeypatch.setattr(judge.tests, "in_turn", lambda *_: [[*judge.tests._reached.values()]])
    monkeypatch.setattr(python_mutants, "tests_of", lambda *_: ([f"{TESTED}::test_most"], 1.0))
    with pytest.raises(SystemExit) as end:
        judge.verdict(chosen[3], math.inf)
    assert end.value.code == 2
