"""The committed pages of docs/papers and docs/workloads.md: their words are those of the program.

Regenerating them takes half an hour of runs, so they can fall behind when a text changes. Here they
are compared with what the program prints without any run: everything but the measured numbers.
"""

import re
import sys

import pytest

from running import ROOT
from ssdlab_lab.reproduce.combined import choices
from ssdlab_lab.reproduce.combined import page as combined
from ssdlab_lab.reproduce.combined.expected import EXPECTED
from ssdlab_lab.reproduce.matrix import Results
from ssdlab_lab.reproduce.page import (
    contradictions_markdown,
    decisions_markdown,
    lines_of,
    preset_text,
)
from ssdlab_lab.reproduce.paper import Paper, Scale
from ssdlab_lab.reproduce.papers import PAPERS, READINGS
from ssdlab_lab.reproduce.readings import cells_by_reading, read
from ssdlab_lab.reproduce.readings_page import CHANGED, CLAIM_HEADS, _lead, heads
from ssdlab_lab.reproduce.registration import digest
from ssdlab_lab.reproduce.result import NO_INTERVALS
from ssdlab_lab.validation import applications, synthetic

sys.path.insert(0, str(ROOT / "tools"))
import order

PAGES = ROOT / "docs/papers"
SYNTHETIC_ALONE = ("deferred-gc-raid", "adaptive-channel")
"""Papers whose page has no recorded requests."""
MOST_WORDS, MOST_OF_EARLIER = 1_500, 2_000
"""Before the appendix of a page, and of one of earlier choices."""
EXPONENT = re.compile(r"\d[eE][+-]\d")


def _page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def _absent(expected: list[str], page: str) -> list[str]:
    return [text for text in expected if text not in page]


def _empty(paper: Paper) -> Results:
    """Results without any report, so that tables have their published numbers only."""
    return Results(paper.cells(Scale(quick=False), paper.workloads, {}), {})


def _is_current(name: str) -> bool:
    """Whether a page is of the choices registered now; `tools/order.py` lists those that are not.

    What such a page says of its choices is that of its runs.
    """
    said = order.stated(_page(name))
    return said is not None and said.digest == digest(name)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_text_and_published_numbers_of_a_paper(paper: Paper) -> None:
    expected = [f"# {paper.name}, reproduced", f"\n{paper.title}.\n"]
    recorded = "" if paper.name in SYNTHETIC_ALONE else " recorded |"
    heads = f"| claim | where | metric | synthetic |{recorded}"
    expected += [paper.setting, heads]
    expected += [] if READINGS[paper.name].longest else [NO_INTERVALS]
    if _is_current(paper.name):
        expected += ["\n".join(decisions_markdown(paper)), preset_text(paper)]
        expected += ["\n".join(contradictions_markdown(paper)), paper.notes.strip()]
    expected += [
        f"\n| {claim.text} | {claim.where} | {claim.metric} | "
        for claim in paper.claims(paper.workloads)
    ]
    for table in paper.tables(_empty(paper), paper.workloads):
        expected.append(f"### {table.title}\n\n| {' | '.join([table.unit, *table.columns])} |\n")
        expected += [
            f"\n| {' | '.join([label, *cells])} |\n" for label, cells in lines_of(table, ())
        ]
        expected += [f"\n{table.note}\n"] if table.note else []
    assert not _absent(expected, _page(paper.name))


@pytest.mark.parametrize("name", READINGS)
def test_readings_and_explanations(name: str) -> None:
    how, page = READINGS[name], _page(name)
    if not _is_current(name):
        pytest.skip("its readings are those of its runs")
    names = how.paper.workloads
    plan = cells_by_reading(how, Scale(quick=False), names)
    empty = read(how, plan, {}, names, _empty(how.paper))
    expected = [
        _lead(empty),
        f"| {' | '.join(heads(empty))} |",
        f"| {' | '.join(CLAIM_HEADS)} |",
        f"### {CHANGED}",
    ]
    expected += [f"\n| {reading} | " for reading in plan]
    for one in how.explanations:
        # An explanation is printed only for a claim that does not hold.
        if f"**{one.claim}" in page:
            expected += [one.why, f" ({one.metric})."]
    assert not _absent(expected, page)


def test_words_of_the_combination() -> None:
    expected = [
        f"# {choices.TITLE}\n",
        *combined.INTRODUCTION,
        *combined.CHOICES,
        *combined.NOTES,
        *(f"\n| {one.text} | " for one in EXPECTED),
    ]
    assert not _absent(expected, _page(choices.NAME))


@pytest.mark.parametrize("name", [*PAPERS, choices.NAME])
def test_results_come_first_and_fit_a_few_pages(name: str) -> None:
    front, appendix, _ = _page(name).partition("\n# Appendix\n")
    assert appendix
    assert len(front.split()) <= (MOST_WORDS if _is_current(name) else MOST_OF_EARLIER)
    for picture in re.findall(r"\]\((pictures/[^)]+)\)", front):
        assert (PAGES / picture).is_file(), picture


def test_words_of_the_workloads() -> None:
    page = (ROOT / "docs/workloads.md").read_text(encoding="utf-8")
    heads = (
        synthetic.VOLUMES_HEAD,
        synthetic.PATTERNS_HEAD,
        synthetic.KEYS_HEAD,
        synthetic.FIO_HEAD,
    )
    for head in (applications.HEAD, *heads):
        assert not _absent(re.split(r"\{\w+:?,?\}", head), page)
    rows = re.findall(
        rf"^\| (\w+) \| ({'|'.join(applications.POLICIES)}) \| \S+ \| \S+ \| (\S+) \|",
        page,
        re.MULTILINE,
    )
    bound = applications.WAF_BOUND
    outside = [
        f"{name} under {policy}" for name, policy, ratio in rows if abs(float(ratio) - 1) > bound
    ]
    assert len(rows) == 9
    assert applications.policy_head(outside) in page


@pytest.mark.parametrize("name", [*PAPERS, choices.NAME])
def test_no_exponents(name: str) -> None:
    assert not EXPONENT.search(_page(name))
