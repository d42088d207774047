"""Every seeded bug still stands in the sources; that the tests catch it, `make test-all` shows."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from running import ROOT

PATCHES = sorted((ROOT / "tools" / "seeded_bugs").glob("*.patch"))


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_the_text_a_bug_replaces_stands_once(patch: Path) -> None:
    import seeded_bugs

    hunks = seeded_bugs.hunks(patch.read_text(encoding="utf-8"))
    assert hunks, f"{patch.name} changes nothing"
    assert all(old != new for _, old, new in hunks)
    assert not seeded_bugs.stale(patch)


SOURCE = """\
impl Drive {
    pub(crate) fn first(&self) -> u32 {
        let left = 1;
        left + 1
    }

    const fn second() -> u32 {
        2
    }
}

fn third() -> u32 {
    let x = 3;
    let y = 4;
    x + y
}
"""
PATCH = """\
--- a/crates/c/src/a.rs
+++ b/crates/c/src/a.rs
@@ -4 +4 @@
-        left + 1
+        left + 2
@@ -13,3 +13,3 @@
-    let x = 3;
+    let x = 5;
@@ -15 +15 @@
-    x + y
+    x - y
"""


def test_a_bug_in_several_functions_has_one_number_in_all_of_them(tmp_path: Path) -> None:
    import seeded_bugs
    from mutation.patches import as_mutants
    from mutation.schemata import schema

    file = tmp_path / "crates/c/src/a.rs"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    found = as_mutants(tmp_path, "c", "bug", seeded_bugs.hunks(PATCH))
    assert found
    heads = [SOURCE[slice(*one.within)].partition("{")[0] for one in found]
    assert heads == ["pub(crate) fn first(&self) -> u32 ", "fn third() -> u32 "]
    text, alone = schema(SOURCE, [(7, one) for one in found])
    assert not alone
    assert text.count("selected_mutant::is(7)") == 2
    assert "let x = 5;\n    let y = 4;\n    x - y" in text
    assert "left + 2" in text
    for old in ("let x = 3;\n    let y = 4;\n    x + y", "left + 1"):
        assert text.count(old) == 1
    # Outside of functions, and in those that the compiler evaluates, no variable selects anything.
    constant = PATCH.split("@@")[0] + "@@ -8 +8 @@\n-        2\n+        3\n"
    assert as_mutants(tmp_path, "c", "bug", seeded_bugs.hunks(constant)) is None


def test_ten_tenths_are_all_bugs(capsys: pytest.CaptureFixture[str]) -> None:
    import seeded_bugs

    tenths = [seeded_bugs.chosen([], str(which)) for which in range(10)]
    assert Counter(patch for tenth in tenths for patch in tenth) == Counter(PATCHES)
    assert max(map(len, tenths)) < len(PATCHES) / 5
    assert f"tenth 0: {len(tenths[0])} of {len(PATCHES)} seeded bugs" in capsys.readouterr().out
    assert seeded_bugs.chosen([], "today") in tenths
    with pytest.raises(SystemExit) as end:
        seeded_bugs.chosen(["no_such_bug"], None)
    assert end.value.code == 2
    assert "no no_such_bug.patch" in capsys.readouterr().err


def test_a_bug_names_the_suite_that_catches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import seeded_bugs

    source = "python/ssdlab/versions.py"
    line = (ROOT / source).read_text().splitlines(keepends=True)[0]
    change = f"--- a/{source}\n+++ b/{source}\n@@ -1 +1 @@\n-{line}+# {line}"
    for name, head in {
        "a": "Caught by: test_seeds\n",
        "b": "Caught by: test_no_such\n",
        "c": "",
        "d": "Caught by: test_tidy\n",
    }.items():
        (tmp_path / f"{name}.patch").write_text(head + change)
    moved = change.replace(f"\n-{line}", f"\n-no {line}")
    (tmp_path / "e.patch").write_text("Caught by: test_seeds\n" + moved)
    monkeypatch.setattr(seeded_bugs, "PATCHES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["seeded_bugs.py"])
    monkeypatch.setattr(
        seeded_bugs.PythonBugs, "failure", lambda _, patch, name: name * (patch.stem == "a")
    )
    assert seeded_bugs.main() == 1
    said = [line[49:] for line in capsys.readouterr().out.splitlines()]
    unnamed = "DOES NOT APPLY: its first line is not `Caught by: SUITE` with a suite of ssdlab"
    assert said[:5] == [
        "caught by test_seeds: test_seeds",
        unnamed,
        unnamed,
        "NOT CAUGHT by test_tidy",
        f"DOES NOT APPLY: {source} holds the changed lines 0 times",
    ]
