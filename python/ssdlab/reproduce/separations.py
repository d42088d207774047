"""`ssdlab compare --separations`: write amplification of every separation policy.

Chosen before any separation policy was run on these workloads:

- Device: one pool of 1,024 blocks of 256 pages, without time; collection keeps one block erased.
  The host sees 1 / (1 + OP) of the pages, fills them once, then writes the workload: four times
  the user pages before the measurement, twice in it.
- Victims: greedy, and cost-benefit with its default age.
- Workloads: single pages, uniform, Zipf and hot/cold. A line wins where its interval over seeds
  lies below those of all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab.html.page import Section, document, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.reproduce.command import write_results
from ssdlab.reproduce.matrix import Cell, Scheme, Workload
from ssdlab.reproduce.study import Study, json_of, made
from ssdlab.results.intervals import Estimate, estimate
from ssdlab.versions import described

NAME, TITLE = "separations", "Separation of pages: write amplification"
PRESET = "greedy-8ch"
BLOCKS, QUICK_BLOCKS, PAGES = 1024, 128, 256
SEEDS, QUICK_SEEDS = (1, 2, 3), (1, 2)
BEFORE, MEASURED = 4, 2
"""Times the user pages that are written before the measurement, and in it."""
QUICK = f"Quick: {QUICK_BLOCKS} blocks instead of {BLOCKS:,}, {len(QUICK_SEEDS)} seeds."

Keys: TypeAlias = dict[str, object]

APART = "host and copies"
LINES: dict[str, Keys] = {
    "one frontier": {"alloc.frontiers": "single"},
    APART: {},
    "two-regions": {"alloc.separation": "two-regions"},
    "dac": {"alloc.separation": "dac"},
    "fadac": {"alloc.separation": "fadac"},
    "sepbit": {"alloc.separation": "sepbit"},
}
VICTIMS = ("greedy", "cost-benefit")
SPARES = (0.07, 0.14, 0.28)
USUAL = 0.14


def _hot(space: int) -> Keys:
    """Writes of which all but `space` percent go to `space` percent of the pages."""
    share = space / 100
    return {
        "workload.kind": "hot-cold",
        "workload.hot_space": share,
        "workload.hot_access": 1 - share,
    }


WORKLOADS: dict[str, Keys] = {
    "uniform": {"workload.kind": "uniform"},
    **{
        f"Zipf {theta:g}": {"workload.kind": "zipf", "workload.theta": theta}
        for theta in (0.6, 0.8, 0.99, 1.0)
    },
    **{f"hot/cold {100 - space}/{space}": _hot(space) for space in (20, 10, 5)},
}
PUBLIC, PUBLIC_WORKLOAD = "with open blocks", "Zipf 0.99"
"""The device with as many blocks more as its classes have open, and that kept erased."""
CELLS = {APART: 4.537, "dac": 3.248, "fadac": 3.067, "sepbit": 3.417}
"""Greedy, Zipf 0.99, 14 %: SepBIT's trace_replay, commit 1e4b664, run once with 1,024 segments of
256 pages, whose open segments are not part of the space."""
OPEN = {APART: 2, "dac": 6, "fadac": 6, "sepbit": 6}

Place: TypeAlias = tuple[str, str, float, str]
"""Workload, victims, spare, line."""


class Separations(Study[tuple[Place, int]]):
    """What came out, by place and seed."""

    name = NAME
    smaller = QUICK

    def waf(self, place: Place) -> Estimate | None:
        """Write amplification over seeds."""
        found = (self.reports.get((place, seed)) for seed in seeds(self.quick))
        values = [report.waf.total for report in found if report is not None]
        known = [value for value in values if value is not None]
        return estimate(known) if len(known) > 1 else None

    def best(self, workload: str, victims: str, spare: float) -> str | None:
        """The line that wins, if one does."""
        ends = {}
        for line in LINES:
            of = self.waf((workload, victims, spare, line))
            if of is None:
                return None
            width = of.ci95 or 0.0
            ends[line] = (of.mean - width, of.mean + width)
        first = min(ends, key=lambda line: sum(ends[line]))
        apart = all(ends[first][1] < low for line, (low, _) in ends.items() if line != first)
        return first if apart else None


def seeds(quick: bool) -> tuple[int, ...]:
    """Of the repetitions."""
    return QUICK_SEEDS if quick else SEEDS


def user_pages(spare: float, quick: bool) -> int:
    """Pages that the host sees."""
    return int((QUICK_BLOCKS if quick else BLOCKS) * PAGES / (1 + spare))


def scheme_of(place: Place, quick: bool) -> Scheme:
    """The device of a place."""
    _, victims, spare, line = place
    name, _, more = line.partition(", ")
    extra = 1 + OPEN[name] // 2 if more else 0
    keys: Keys = {
        "run.mode": "functional",
        "device.channels": 1,
        "device.chips_per_channel": 1,
        "device.planes_per_chip": 1,
        "device.blocks_per_plane": (QUICK_BLOCKS if quick else BLOCKS) + extra,
        "device.pages_per_block": PAGES,
        "device.page_size": "4 KiB",
        "device.user_capacity": f"{4 * user_pages(spare, quick)} KiB",
        "gc.victim": victims,
        "gc.trigger": {"policy": "free-blocks", "soft": 1, "hard": 0},
        "gc.reserve": 1,
        "precondition.fill": 1.0,
        **LINES[name],
    }
    return Scheme(f"{line}, {victims}, {100 * spare:g} %", PRESET, keys)


def workload_of(place: Place, quick: bool) -> Workload:
    """The writes of a place."""
    pages = user_pages(place[2], quick)
    keys = {
        **WORKLOADS[place[0]],
        "workload.read": 0.0,
        "workload.size": "4 KiB",
        "workload.requests": (BEFORE + MEASURED) * pages,
        "workload.warmup_requests": BEFORE * pages,
    }
    return Workload(f"{place[0]}, {100 * place[2]:g} %", "synthetic", keys)


def places() -> Iterator[Place]:
    """All runs of one seed."""
    for workload in WORKLOADS:
        for victims in VICTIMS:
            for spare in SPARES:
                yield from ((workload, victims, spare, line) for line in LINES)
    yield from ((PUBLIC_WORKLOAD, "greedy", USUAL, f"{line}, {PUBLIC}") for line in CELLS)


def separations(
    *,
    quick: bool = False,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Separations:
    """Run every line on all workloads and write the tables into `out`.

    An interrupted run is resumed, as by `reproduce`, which raises the same exceptions.
    """
    cells = {
        Cell(workload_of(place, quick), scheme_of(place, quick), seed): (place, seed)
        for place in places()
        for seed in seeds(quick)
    }
    done = made(Separations, cells, quick=quick, jobs=jobs, out=out, progress=progress)
    write_results(done.folder, to_json(done), page(done), markdown(done))
    return done


def verdict(done: Separations) -> list[str]:
    """Who wins where, in words."""
    lines = []
    for victims in VICTIMS:
        wins: dict[str, list[str]] = {}
        for workload in WORKLOADS:
            winner = done.best(workload, victims, USUAL) or "nobody alone"
            wins.setdefault(winner, []).append(workload)
        said = "; ".join(f"{line} on {', '.join(names)}" for line, names in wins.items())
        lines.append(f"Lowest with {victims} victims at {100 * USUAL:g} %: {said}.")
    return lines


def _number(of: Estimate | None, digits: int = 3) -> str:
    if of is None:
        return "–"
    width = "" if of.ci95 is None else f" ± {of.ci95:.{digits}f}"
    return f"{of.mean:.{digits}f}{width}"


def _rows(done: Separations, victims: str, spare: float) -> list[tuple[str, list[str]]]:
    def found(line: str) -> list[str]:
        return [_number(done.waf((name, victims, spare, line))) for name in WORKLOADS]

    return [(line, found(line)) for line in LINES]


def _bold(done: Separations, victims: str, spare: float) -> list[tuple[str, list[str]]]:
    """The same with the lines that win in bold, as Markdown."""
    best = [done.best(workload, victims, spare) for workload in WORKLOADS]
    return [
        (line, [f"**{n}**" if line == of else n for n, of in zip(numbers, best, strict=True)])
        for line, numbers in _rows(done, victims, spare)
    ]


CELL_HEADS = ("line", "its simulator", "here, open blocks added", "off", "here, as is")


def _cells(done: Separations) -> list[tuple[str, list[str]]]:
    rows = []
    for line, published in CELLS.items():
        more = done.waf((PUBLIC_WORKLOAD, "greedy", USUAL, f"{line}, {PUBLIC}"))
        plain = done.waf((PUBLIC_WORKLOAD, "greedy", USUAL, line))
        off = "–" if more is None else f"{100 * (more.mean / published - 1):+.2f} %"
        rows.append((line, [f"{published:.3f}", _number(more), off, _number(plain)]))
    return rows


ABOUT = (
    "Which pages share a block (`alloc.separation`): write amplification of every policy beside one"
    f" frontier for all pages, and one each for host and copies. One pool of {BLOCKS:,} blocks of"
    f" {PAGES} pages, one of them kept erased; the host sees 1 / (1 + OP) of the pages, writes them"
    f" once in order, then single pages of the workload, {BEFORE} times the user pages before the"
    f" measurement and {MEASURED} times in it. Means over {len(SEEDS)} seeds with 95 % intervals;"
    " bold where the interval lies below those of all other lines.",
    "Open blocks of classes take spare: six classes hold two blocks more open, on average, than"
    " host and copies apart.",
)
CELLS_SAID = (
    "Results of the public simulator of SepBIT's authors (trace_replay, 1e4b664), greedy,"
    f" {PUBLIC_WORKLOAD}, {100 * USUAL:g} %. There open segments are not part of the space, so the"
    " device here gets half a block for each class, and the block that is kept erased. Cost-benefit"
    " cannot be compared: its age there is the square root."
)


def page(done: Separations) -> str:
    """The page as HTML."""
    texts = "".join(f"<p>{escape(text)}</p>" for text in (*ABOUT, *verdict(done)))
    sections = [Section("best", "Outcome", texts + warnings_box(done.remarks()))]
    for victims in VICTIMS:
        tables = "".join(
            html_table(
                ["", *WORKLOADS], _rows(done, victims, spare), f"over-provisioning {spare:.0%}"
            )
            for spare in SPARES
        )
        sections.append(Section(victims, f"{victims} victims", tables))
    cells = html_table(list(CELL_HEADS), _cells(done), CELLS_SAID)
    sections.append(Section("public", "Beside a public simulator", cells))
    lead = f'<p class="lead">{TITLE} · ssdlab {escape(described())}</p>'
    return document(TITLE, lead, sections)


def to_json(done: Separations) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = [
        {
            "workload": workload,
            "victims": victims,
            "over_provisioning": spare,
            "line": line,
            "seed": seed,
            "waf": report.waf.total,
        }
        for ((workload, victims, spare, line), seed), report in done.reports.items()
    ]
    return json_of(done, verdict(done), runs)


def _table(heads: list[str], rows: list[tuple[str, list[str]]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    yield from (f"| {name} | {' | '.join(found)} |" for name, found in rows)
    yield ""


def markdown(done: Separations) -> str:
    """The page as Markdown."""
    lines = ["<!-- Written by `ssdlab compare --separations`. -->", "", f"# {TITLE}", ""]
    lines += [text for one in (*ABOUT, *done.remarks()) for text in (one, "")]
    lines += [*(f"- {one}" for one in verdict(done)), ""]
    for victims in VICTIMS:
        lines += [f"## {victims} victims", ""]
        for spare in SPARES:
            lines += [f"### Over-provisioning {spare:.0%}", ""]
            lines += _table(["line", *WORKLOADS], _bold(done, victims, spare))
    lines += ["## Beside a public simulator", "", CELLS_SAID, ""]
    lines += _table(list(CELL_HEADS), _cells(done))
    lines.append(f"`ssdlab compare --separations`, ssdlab {described()}.")
    return "\n".join(lines).rstrip() + "\n"
