"""Every policy has a page, which says what its runs said; a run of the grid says it still."""

import json
import re
import sys
from typing import Any

import pytest

from running import ROOT
from ssdlab import _core

sys.path.insert(0, str(ROOT / "tools"))
from measured import grid, pages, runs

FOLDER = ROOT / "docs/policies"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*-*.md")}


def test_every_policy_that_is_listed_has_a_page() -> None:
    listed = json.loads(_core.registry())["policies"]
    wanted = {f"{key.rpartition('.')[2]}-{p['name']}.md" for key in listed for p in listed[key]}
    assert len(wanted) > 30
    assert not wanted - set(PAGES)
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert not [name for name in PAGES if f"]({name})" not in index]


def test_words_of_decisions_are_those_of_the_program() -> None:
    text = _core.config_reference()
    for question in grid.QUESTIONS:
        if question.words and not question.values:
            for word in question.words:
                assert re.search(rf"`{word}`|\"{word}\"", text) or word in ("plane", "device"), word


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_says_what_from_where_and_when(name: str) -> None:
    text = PAGES[name]
    assert re.search(r"^# [\w-]+: \w", text, re.MULTILINE)
    assert "\n## Source\n" in text
    assert "\n## When it wins\n" in text
    [picture] = re.findall(r"!\[[^\]]+\]\((pictures/[\w-]+\.svg)\)", text)
    assert "<circle" in (FOLDER / picture).read_text(encoding="utf-8")


def test_pages_are_those_of_the_runs() -> None:
    assert not pages.stale()


def test_the_runs_say_it_still() -> None:
    [victim] = [one for one in grid.QUESTIONS if one.key == "gc.victim"]
    cell = "zipf, 25%, bursts"
    found = runs.measured(runs.rows(victim)["fifo"], grid.cells()[cell])
    assert found == pages.measured_values()["questions"]["gc.victim"]["fifo"][cell]


def _kept(mine: float, invalid: str = "") -> dict[str, Any]:
    """Numbers of three policies: `fifo` is `mine` times the default, `random` twice."""

    def row(factor: float, warned: str = "") -> dict[str, object]:
        numbers = {key: [factor * seed for seed in grid.SEEDS] for key in grid.METRICS}
        return {cell: {**numbers, "invalid": warned} for cell in grid.cells()}

    names = [one.name for one in runs.policies() if one.question.key == "gc.victim"]
    rows = {name: row(2.0) for name in names}
    rows |= {"greedy": row(1.0), "fifo": row(mine, invalid)}
    return {"results": 1, "questions": {"gc.victim": rows}}


def _said(kept: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(pages, "measured_values", lambda: kept)
    [policy] = [p for p in runs.policies() if (p.question.key, p.name) == ("gc.victim", name)]
    return pages.page(policy)


def test_wins_are_told_only_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _said(_kept(0.5), "fifo", monkeypatch)
    assert "write amplification is lower under all 3 kinds of writes" in text
    assert "of 12 cells: lowest of the 10 policies in 12" in text
    assert "**0.500**" in text
    text = _said(_kept(1.5), "fifo", monkeypatch)
    assert "write amplification is higher under all 3 kinds of writes" in text
    assert "lowest of the 10 policies in none" in text
    assert "lowest of the 10 policies in 12" in _said(_kept(1.5), "greedy", monkeypatch)


def test_what_warnings_invalidate_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _said(_kept(0.5, "the device is overloaded: x"), "fifo", monkeypatch)
    assert "no cell is judged" in text
    assert "Not judged: `fifo`: the drive is overloaded, in 12 of 12 cells." in text
