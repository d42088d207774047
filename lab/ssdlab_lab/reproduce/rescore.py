"""`python -m ssdlab_lab.reproduce.rescore PAGE.md ...`: score the results on pages again.

The results are those printed in the tables of the page, with three or four digits. Only the section
on the score and the words next to the gains are rewritten. It is for use after a change of the
scoring alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ssdlab_lab.reproduce.matrix import Results, Source
from ssdlab_lab.reproduce.page import DECISIONS, lines_of
from ssdlab_lab.reproduce.paper import Paper, Scale
from ssdlab_lab.reproduce.papers import PAPERS
from ssdlab_lab.reproduce.readings_page import SUMMARY, markdown_table
from ssdlab_lab.reproduce.score_page import DETAILS, SEEDS, details_markdown, score_markdown
from ssdlab_lab.reproduce.scoring import score
from ssdlab_lab.reproduce.tables import Number, Row, Table

SOURCES: tuple[Source, ...] = ("synthetic", "recorded")


def number_of(cell: str) -> Number:
    """A printed number without the word next to it; None for a dash."""
    text = cell.split(" (")[0].replace("−", "-").replace(",", "")
    return None if text == "–" else float(text)


def rescored(paper: Paper, page: str) -> str:
    """The page with its score recomputed. Raises `ValueError` if its tables are not the paper's."""
    cells = paper.cells(Scale(quick=False), paper.workloads, {})
    sources = [source for source in SOURCES if f", {source} | " in page]
    tables = [
        _filled(table, sources, page) for table in paper.tables(Results(cells, {}), paper.workloads)
    ]
    for table in tables:
        head = f"### {table.title}\n\n"
        start = page.index(head) + len(head)
        end = page.index("\n\n", start) + 2
        lines = markdown_table([table.unit, *table.columns], [*lines_of(table, sources)])
        page = page[:start] + "\n".join(lines) + "\n" + page[end:]
    scores = {source: score(tables, source, paper.proposed) for source in sources}
    if f"\n{paper.title}.\n\n" not in page or f"## {DECISIONS}\n\n" not in page:
        raise ValueError(f"the page is not one of {paper.name} with a section {DECISIONS!r}")
    page = _between(
        page,
        f"\n{paper.title}.\n\n",
        (f"### {SEEDS}\n", "![", f"## {SUMMARY}\n", f"## {DECISIONS}\n"),
        score_markdown(scores),
    )
    if f"## {DETAILS}\n" not in page:  # written before there was an appendix
        page = page.replace("\n## Claims\n", f"\n## {DETAILS}\n\n## Claims\n", 1)
    return _between(page, f"\n## {DETAILS}\n", ("## Claims\n",), details_markdown(scores)[1:])


def _between(page: str, start: str, ends: Sequence[str], lines: Sequence[str]) -> str:
    """The page with `lines` between `start` and the first of `ends`."""
    start_index = page.index(start) + len(start)
    end = min(index for marker in ends if (index := page.find(marker, start_index)) >= 0)
    return page[:start_index] + "\n".join(lines) + "\n" + page[end:]


def _filled(table: Table, sources: Sequence[Source], page: str) -> Table:
    """A table with the results that are printed in the page."""
    if f"### {table.title}\n\n" not in page:
        raise ValueError(f"the page has no table {table.title!r}")
    text = page.split(f"### {table.title}\n\n")[1].split("\n\n")[0]
    printed = {
        label: tuple(map(number_of, cells))
        for label, *cells in (line[2:-2].split(" | ") for line in text.splitlines()[2:])
    }
    blanks = (None,) * len(table.columns)

    def filled(row: Row) -> Row:
        ours = {source: printed.get(f"{row.label}, {source}", blanks) for source in sources}
        if any(len(values) != len(table.columns) for values in ours.values()):
            raise ValueError(f"table {table.title!r} of the page has other columns")
        return replace(row, ours=ours)

    return replace(table, rows=tuple(map(filled, table.rows)))


def main() -> None:
    """Score the pages that are named."""
    for name in sys.argv[1:]:
        path = Path(name)
        paper = PAPERS.get(path.stem)
        if paper is None:
            sys.exit(f"{name}: expected the page of a paper: {', '.join(PAPERS)}")
        try:
            text = rescored(paper, path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            sys.exit(f"{name}: {error}")
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
