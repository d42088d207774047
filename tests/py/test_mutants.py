"""Mutants: one build holds all of a function, the sample stays what it is, and what results say.

Commands that hang are ended, with all that they have started.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from running import HANG_S, ROOT

if TYPE_CHECKING:
    from bounded import CommandResult, Limits
    from mutation.listing import Mutant


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
    text, alone = schema(SOURCE, [(7, minus), (8, times), (9, two)])
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
        "kernel: 3 mutants, 1 caught, 0 hangs, 0 equivalent, 1 unexplained, 0 undecided, 1 not run;"
        " 50.0 % of those that count",
    ]
    why = tmp_path / "equivalent.txt"
    why.write_text(f"# Names.\n{two.name}\n    It changes nothing,\n    as one sees.\n")
    assert reasons(why) == {two.name: "It changes nothing, as one sees."}
    assert again.table({"kernel": [one, two]}, reasons(why)) == 0
    assert "1 caught, 0 hangs, 1 equivalent, 0 unexplained" in capsys.readouterr().out


def test_a_result_falls_with_the_test_that_caught_the_mutant(tmp_path: Path) -> None:
    from mutation.results import Origin, Results

    file = tmp_path / "results.jsonl"
    one, two = (_mutant(SOURCE, "fn f", "+", sign) for sign in "-*")
    tests = {"levels: f": "1234", "levels: g": "5678"}

    def results() -> Results:
        return Results(file, (), lambda _, by: tests.get(by, ""), Origin("c0ffee", "2026-11-26"))

    first = results()
    first.add(one, "caught", "levels: f", 1)
    first.add(two, "survived", "", 1)
    entry = results().of(one)
    assert entry
    assert (entry["area"], entry["commit"], entry["date"]) == ("ssd-core", "c0ffee", "2026-11-26")
    for other in ("9999", ""):
        tests["levels: f"] = other
        assert not results().of(one)
        assert results().of(two)
    results().tidy({"ssd-core": [one, two]})
    assert [json.loads(line)["verdict"] for line in file.read_text().splitlines()] == ["survived"]
    results().tidy({"ssd-kv": [], "ssd-core": [one]})
    assert not file.read_text()


def test_results_of_a_sample_are_of_a_commit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mutation.results import Origin

    def git(*words: str) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", "-C", tmp_path, *who, *words], check=True, capture_output=True)

    source = tmp_path / "crates" / "a.rs"
    source.parent.mkdir()
    source.write_text("one")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--no-gpg-sign", "-m", "one")
    origin = Origin.of_committed(tmp_path)
    assert re.fullmatch(r"[0-9a-f]{12} 20\d\d-\d\d-\d\d", f"{origin.commit} {origin.date}")
    source.write_text("two")
    with pytest.raises(SystemExit) as end:
        Origin.of_committed(tmp_path)
    assert end.value.code == 2
    assert "crates/a.rs: results of a sample are of a commit" in capsys.readouterr().err
    assert Origin.of(tmp_path) == origin


TESTS = """\
fn helper() {}

#[test]
fn levels_merge() {
    assert!(true);
}

cases! { made_by_a_macro }
"""


def test_the_test_that_caught_a_mutant_is_known_by_its_text(tmp_path: Path) -> None:
    from mutation.witness import witness

    unit = "mod tests {\n    fn opens() {\n        f();\n    }\n}\n"

    def digests(root: str, rust: str, python: str, by: str) -> str:
        folder = tmp_path / root
        for name, text in {
            "crates/ssd-kv/tests/suite/levels.rs": rust,
            "crates/ssd-kv/src/db/mod.rs": unit,
            "tests/py/test_a.py": python,
        }.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return witness(folder, "ssd-kv", by)

    python = "import pytest\n\n\n@pytest.mark.x\ndef test_b(c):\n    assert c\n"
    every = (
        "levels: levels_merge",
        "levels: made_by_a_macro",
        "levels: (crash)",
        "ssd_kv: db::tests::opens",
        "tests/py/test_a.py::test_b[1-x y]",
        "tests/py/test_a.py",
    )
    known = {by: digests("a", TESTS, python, by) for by in every}
    assert all(known.values())
    assert len(set(known.values())) == len(every) - 1  # Both of a whole suite are the same text.
    # A test falls with its own text, and not with that of others.
    changed = TESTS.replace("helper", "other").replace("true", "1 < 2")
    now = {by: digests("b", changed, python.replace("mark.x", "mark.y"), by) for by in every}
    assert [by for by in every if now[by] == known[by]] == ["ssd_kv: db::tests::opens"]
    others = {by: digests("c", TESTS.replace("helper", "other"), python, by) for by in every}
    assert others["levels: levels_merge"] == known["levels: levels_merge"]
    gone = TESTS.replace("levels_merge", "merge").replace("made_by", "left_by")
    assert not digests("d", gone, python, "levels: levels_merge")
    assert not digests("d", gone, python, "levels: made_by_a_macro")
    assert not digests("d", gone, python.replace("test_b", "test_c"), "tests/py/test_a.py::test_b")
    assert not digests("d", gone, python, "no_suite: f")


def test_no_crate_is_left_out_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    import mutants
    from mutation.listing import SAMPLE

    assert {*SAMPLE} == {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
    diff = "+++ b/crates/{}/src/a/b.rs\n@@ -1 +1,2 @@\n-x\n+y\n+z\n+++ b/crates/{}/tests/c.rs\n+t\n"
    assert mutants.changed_lines(diff.format("ssd-host", "new")) == {"ssd-host": 2}
    with pytest.raises(SystemExit) as end:
        mutants.changed_lines(diff.format("new", "new"))
    assert end.value.code == 2
    assert "crates/new: changed, and in no sample" in capsys.readouterr().err


def test_of_a_diff_only_changed_lines_are_read() -> None:
    import mutants

    renamed = "diff --git a/x.rs b/y.rs\nsimilarity index 100%\nrename from x.rs\nrename to y.rs\n"
    binary = "diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n"
    lines = "diff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-diff --git a\n+diff --git b\n"
    assert mutants.with_lines(binary + lines + renamed + lines + binary) == 2 * lines
    assert mutants.with_lines("") == ""


def test_a_table_is_withdrawn_when_its_code_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mutation import page

    def entry(verdict: str, by: str, name: str = "a.rs: f") -> dict[str, str]:
        origin = {"area": "ssd-kv", "commit": "c0ffee", "date": "2026-11-26"}
        return {**origin, "name": name, "digest": "", "verdict": verdict, "by": by, "test": "1"}

    entries = [
        entry("caught", "levels: f"),
        entry("survived", "", "a.rs: g"),
        entry("hangs", "levels: f", "a.rs: g"),
        entry("caught", "levels: gone", "a.rs: h"),
        entry("unviable", "", "a.rs: i"),
        entry("survived", "", "b.rs: g"),
    ]
    monkeypatch.setattr(page, "KEPT", tmp_path / "results.jsonl")
    page.KEPT.write_text("".join(json.dumps(one) + "\n" for one in entries))
    monkeypatch.setattr(page, "witness", lambda _root, _area, by: by.replace("levels: gone", ""))
    shares = {"c0ffee": 20.0}
    monkeypatch.setattr(page, "_changed_share", lambda _area, commit: shares[commit])
    row = "| ssd-kv | 80 | 2 | 1 | 0 | 1 | 77 | c0ffee (2026-11-26) |\n"
    text = page.text()
    assert row in text
    assert "\nOpen:\n\n- `b.rs: g`\n" in text
    assert "| ssd-core | 120 | | | | | 120 | not judged |\n" in text
    shares["c0ffee"] = 20.1
    why = "withdrawn: more than 20 % of the lines changed since c0ffee (2026-11-26)"
    assert f"| ssd-kv | 80 | | | | | 80 | {why} |\n" in page.text()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="outside of a checkout")
def test_the_share_of_changed_lines_is_that_of_git() -> None:
    from mutation.page import _changed_share

    share = _changed_share("ssd-kv", "HEAD")
    assert share is not None
    assert share < 100
    assert _changed_share("ssd-kv", "0" * 12) is None


def test_what_some_suites_have_not_met_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mutation.results import Results
    from mutation.suites import Suite, judge

    def suite(name: str, program: str, cpu_s: float) -> Suite:
        command = [sys.executable, "-c", program]
        return Suite(name, command, tmp_path, {}, None, cpu_s, frozenset([7]))

    passes, fails = "", "print('test a::b ... FAILED')"
    quick, long = suite("quick", passes, 0.1), suite("long", fails, 30)
    assert judge([quick, long], 7, 60)[:2] == ("caught", "long: a::b")
    assert judge([quick, long], 7, 3)[:2] == ("quick", "")
    assert judge([quick], 7, 3)[:2] == ("survived", "")
    assert judge([quick, long], 8, 60)[:2] == ("survived", "")
    failed = suite("tests/py/test_a.py", "print('FAILED tests/py/test_a.py::b - x')", 1)
    assert judge([failed], 7, 60)[:2] == ("caught", "tests/py/test_a.py::b")
    crashed = suite("tests/py/test_a.py", "raise SystemExit(3)", 1)
    assert judge([crashed], 7, 60)[:2] == ("caught", "tests/py/test_a.py")
    mutant = _mutant(SOURCE, "fn f", "+", "-")
    results = Results(tmp_path / "results.jsonl")
    results.add(mutant, "quick", "", 1)
    assert results.table({"kernel": [mutant]}, {}) == 0
    assert f"UNDECIDED {mutant.name}" in capsys.readouterr().out


def _with_digest(mutant: Mutant, digest: str) -> Mutant:
    from dataclasses import replace

    return replace(mutant, digest=digest)


def _bounded(program: str, limits: Limits, stop_at: str | None = None) -> CommandResult:
    import bounded

    command = [sys.executable, "-uc", program]
    merged = subprocess.STDOUT
    return bounded.run(command, ROOT, {"A": "b"}, limits, stop_at=stop_at, errors=merged)


def test_a_command_that_ends_by_itself() -> None:
    from bounded import Limits

    ended = _bounded("import os, sys; print(os.environ['A']); sys.exit('no')", Limits(HANG_S))
    assert (ended.code, ended.output, ended.hung) == (1, "b\nno\n", False)


def test_a_command_that_hangs_is_ended_with_what_it_started() -> None:
    from bounded import Limits

    child = "import subprocess; subprocess.run(['sleep', '600'])"
    start = time.monotonic()
    # The output stays open until the child is gone, too.
    ended = _bounded(f"import time; {child}; time.sleep(600)", Limits(2))
    assert ended.hung
    assert time.monotonic() - start < 500
    ended = _bounded("while True: pass", Limits(HANG_S, cpu_s=0))
    assert (ended.code, ended.hung) == (-signal.SIGXCPU, True)


def test_a_command_that_is_slow_does_not_hang() -> None:
    """It computes; a bound on elapsed time alone would end it on a busy machine."""
    from bounded import Limits

    program = "import time\nwhile time.process_time() < 1.2: pass"
    assert _bounded(program, Limits(0.2)).code == 0
    asleep = _bounded(f"{program}\ntime.sleep(600)", Limits(1))
    assert asleep.hung


def test_a_command_has_its_memory_and_ends_at_a_line() -> None:
    from bounded import Limits

    ended = _bounded("bytearray(1 << 30)", Limits(HANG_S, memory=1 << 29))
    assert "MemoryError" in ended.output
    assert not ended.hung
    ended = _bounded("while True: print('FAILED it')", Limits(HANG_S), stop_at=r"FAILED (\w+)")
    assert ended.stopped_by
    assert ended.stopped_by[1] == "it"
    assert (ended.output, ended.hung) == ("FAILED it\n", False)


def test_a_command_that_is_interrupted_leaves_nothing_running(tmp_path: Path) -> None:
    """A signal ends what runs in a group of its own, at once, and the exit code says so."""
    started = tmp_path / "started"
    child = f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    run = f"bounded.run([sys.executable, '-c', {child!r}], Path('.'), {{}}, bounded.Limits(600))"
    program = "import sys; from pathlib import Path; import bounded\n"
    program += f"sys.exit(bounded.interruptible(lambda: {run}.code, 'what is judged is kept'))"
    for number in (signal.SIGINT, signal.SIGTERM):
        started.unlink(missing_ok=True)
        command = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=ROOT / "tools",
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (started.exists() and started.read_text()):
            time.sleep(0.05)
        command.send_signal(number)
        _, errors = command.communicate(timeout=HANG_S)
        assert (command.returncode, errors) == (130, "\ninterrupted: what is judged is kept\n")
        with pytest.raises(ProcessLookupError):
            os.kill(int(started.read_text()), 0)


def test_a_line_that_was_not_written_to_its_end_is_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mutation.results import Results, entries_of

    file = tmp_path / "results.jsonl"
    one, two = (_mutant(SOURCE, "fn f", "+", sign) for sign in "-*")
    first = Results(file)
    first.add(one, "survived", "", 1)
    first.add(one, "caught", "levels: f", 1)
    whole = file.read_text()
    file.write_text(whole + whole[:50])
    again = Results(file)
    assert again.of(one)
    again.add(two, "survived", "", 1)
    assert file.read_text().startswith(whole)
    verdicts = [entry["verdict"] for entry in entries_of(file).values()]
    assert verdicts == ["caught", "survived"], "the last one of a mutant counts"
    file.write_text(whole + "<<<<<<< HEAD\n" + whole)
    with pytest.raises(SystemExit) as end:
        entries_of(file)
    assert end.value.code == 2
    assert f"{file}:3: is no result in JSON: remove the line" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sample", "ssd-hots"], "ssd-hots: no sample; expected ssd-core, "),
        (["sample", "ssd-hots"], "; did you mean ssd-host?"),
        (["sample", "--budget", "9"], "--budget: only of a change"),
        (["changed", "main", "HEAD"], "changed: one base is expected, not 2"),
        (["changed", "no-such-branch"], "git merge-base no-such-branch HEAD: "),
        (["sample", "--table", "--tool", "no-such-tool"], "no-such-tool: not found; `cargo "),
        (["sample", "--table", "--tool", "false"], "` fails, see above"),
    ],
)
def test_what_cannot_be_judged_is_refused(words: list[str], said: str) -> None:
    command = [sys.executable, "tools/mutants.py", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_source_that_git_does_not_know_is_not_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mutation import command

    monkeypatch.setattr(command, "ROOT", tmp_path)
    source = tmp_path / "crates/ssd-kv/src/a/new.rs"
    source.parent.mkdir(parents=True)
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command.git("init", "--quiet")
    command.git(*who, "commit", "--quiet", "--no-gpg-sign", "--allow-empty", "-m", "one")
    source.write_text("fn f() {}\n")
    with pytest.raises(SystemExit) as end:
        command.fork_of("HEAD", "crates/*/src/*.rs")
    assert end.value.code == 2
    assert "`git add -N crates/ssd-kv/src/a/new.rs`" in capsys.readouterr().err
    command.git("add", "-N", "crates/ssd-kv/src/a/new.rs")
    fork = command.fork_of("HEAD", "crates/*/src/*.rs")
    for key, value in (
        ("color.ui", "always"),
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
    ):
        command.git("config", key, value)
    added = "\n--- /dev/null\n+++ b/crates/ssd-kv/src/a/new.rs\n@@ -0,0 +1 @@\n+fn f() {}\n"
    assert added in command.diff(fork, "--", "crates")


def test_the_first_mutants_of_every_crate_come_before_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are in one build, and one that does not compile gives its place to the next."""
    import mutants
    from mutation.listing import Mutant, drawn
    from mutation.results import AT_FIRST, Origin
    from mutation.suites import Suite

    sizes = {"ssd-core": 30, "ssd-py": 25}
    every = [
        Mutant(crate, "f.rs", "f", (0, 1), (0, 2), "", f"{crate} {i}", "")
        for crate in sizes
        for i in range(60)
    ]
    built: list[object] = []
    judged: list[str] = []

    def prepare(_root: Path, _tree: Path, _target: Path, numbered: object) -> set[int]:
        built.append(numbered)
        return set()

    def judge(_ready: object, number: int, _longest_s: float) -> tuple[str, str, float]:
        name = order[number].name
        judged.append(name)
        return ("unviable" if name == of_core[0].name else "survived"), "", 0.0

    monkeypatch.setattr(mutants, "KEPT", tmp_path / "results.jsonl")
    monkeypatch.setattr(mutants, "SAMPLE", sizes)
    monkeypatch.setattr("mutation.listing.SAMPLE", sizes)
    monkeypatch.setattr(Origin, "of_committed", lambda _: Origin("c0ffee", "2026-11-26"))
    monkeypatch.setattr(mutants, "mutants", lambda *_: every)
    monkeypatch.setattr(mutants, "prepare", prepare)
    monkeypatch.setattr(mutants, "suites", lambda *_: [Suite("levels", [], tmp_path)])
    monkeypatch.setattr(mutants, "measure", lambda _, limit: "" if limit < math.inf else "?")
    monkeypatch.setattr(mutants, "judge", judge)
    of_core = drawn(every, "ssd-core")
    order = dict(enumerate([*of_core, *drawn(every, "ssd-py")], start=1))
    mutants.sample(mutants.options_of(["sample"]), math.inf)
    assert built == [[*order.items()]]
    crates = [name.partition(" ")[0] for name in judged]
    rounds = [("ssd-core", AT_FIRST + 1), ("ssd-py", AT_FIRST), ("ssd-core", 10), ("ssd-py", 5)]
    assert crates == [crate for crate, count in rounds for _ in range(count)]
    assert judged[: AT_FIRST + 1] == [mutant.name for mutant in of_core[: AT_FIRST + 1]]
    judged.clear()
    mutants.sample(mutants.options_of(["sample"]), math.inf)
    assert not judged
    assert len(built) == 1, "nothing is built where nothing is to be judged"
