"""The page of the study, as Markdown, HTML and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from ssdlab.html.page import Section, document, prose, warnings_box
from ssdlab.html.page import table as html_table
from ssdlab.results.intervals import Ratio
from ssdlab.versions import described
from ssdlab_lab.reproduce.combined.choices import (
    BASE,
    CHANGES,
    CHOOSE,
    DATE,
    DEPTH,
    DIVISOR,
    FLOOR,
    LOAD,
    NEAR,
    ORDERS,
    PROPOSALS,
    QUESTIONS,
    RECORDED_DIVISOR,
    SWEPT,
    SWEPT_LIVE,
    SWEPT_ORDERS,
    TITLE,
    TOGETHER,
    WARMUP,
    WRITTEN,
)
from ssdlab_lab.reproduce.combined.expected import EXPECTED
from ssdlab_lab.reproduce.combined.outcome import (
    CLOSED,
    FOREGROUND,
    MEASURES,
    READS,
    RECORDED,
    RESERVE,
    THROUGHPUT,
    USUAL,
    WAF,
    WEAR,
    WRITES,
    CombinedOutcome,
    Setting,
    direction,
)
from ssdlab_lab.reproduce.combined.pictures import SHOWN, pictures
from ssdlab_lab.reproduce.pictures import files_of, markdown_of

OF_PAPER = {"selective": " (noc-copyback)"}


@dataclass(frozen=True)
class Grid:
    """A table."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def _percent(live: float) -> str:
    return f"{100 * live:.0f} %"


def _ratio(ratio: Ratio | None, ends: bool = False) -> str:
    """A ratio; in brackets if its interval contains 1, or with the interval."""
    if ratio is None:
        return "–"
    if ends and ratio.low is not None and ratio.high is not None:
        return f"{ratio.ratio:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
    return f"{ratio.ratio:.2f}" if ratio.order in ("lower", "higher") else f"({ratio.ratio:.2f})"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _where(setting: Setting) -> str:
    return f"{setting.order}, {_percent(setting.live)} live"


def effect(study: CombinedOutcome, line: str, measure: str) -> str:
    """Where a line lowers or raises a tail, in words."""
    ratios = {
        setting: ratio
        for setting in study.settings()
        if (ratio := study.ratio(setting, line, measure))
    }
    parts = []
    for word, sign, extreme in (("lower", -1, min), ("higher", 1, max)):
        significant = {
            setting: ratio.ratio for setting, ratio in ratios.items() if direction(ratio) == sign
        }
        if significant:
            setting = extreme(significant, key=significant.__getitem__)
            parts.append(
                f"{word} in {len(significant)} ({significant[setting]:.2f} at {_where(setting)})"
            )
    tail = measure.partition(",")[0]
    summary = _listed(parts) if parts else "no significant change"
    return f"{tail} in {len(ratios)} settings: {summary}"


def _rooms(study: CombinedOutcome, measure: str) -> str:
    """Where nothing can help much, because the floor is near."""
    crowded = [setting for setting in study.settings() if not study.has_room(setting, measure)]
    lives_by_order = {
        order: [_percent(setting.live) for setting in crowded if setting.order == order]
        for order in ORDERS
    }
    return "; ".join(
        f"{order} at {_listed(lives)}" for order, lives in lives_by_order.items() if lives
    )


def verdict(study: CombinedOutcome) -> list[str]:
    """The outcome, in words."""
    if study.interrupted or not study.together:
        return ["Runs are missing: no outcome."]
    lines = []
    for measure in (WRITES, READS):
        op = measure.partition(" ")[0]
        rooms = _rooms(study, measure) or "nowhere"
        lines.append(
            f"Over the synthetic workloads, no policy can lower p99.9 of {op}s much where even a"
            f" device that never collects has at least {NEAR:g} times the conventional value:"
            f" {rooms}."
        )
    for line in (*CHANGES, *PROPOSALS):
        effects = "; ".join(effect(study, line, measure) for measure in (WRITES, READS))
        lines.append(f"{line}{OF_PAPER.get(line, '')}: {effects}.")
    return [*lines, *_together(study)]


def _together(study: CombinedOutcome) -> Iterator[str]:
    """What was chosen for each order, and its effect on workloads for which it was not chosen."""
    selection = [name for name in study.workloads if name in CHOOSE]
    remaining = [name for name in study.workloads if name not in CHOOSE]
    for order, answers in study.together.items():
        if not answers:
            yield f"{order}: no answer lowers the p99.9 of writes over all live shares."
            continue
        parts = []
        for live in study.lives:
            setting = Setting(order, live)
            together, floor = (
                study.ratio(setting, line, WRITES, remaining) for line in (TOGETHER, FLOOR)
            )
            parts.append(f"{_percent(live)}: {_ratio(together)}, floor {_ratio(floor)}")
        yield (
            f"{order}: chosen by {_listed(selection)}: {_listed(answers)}. Together on the other"
            f" synthetic workloads, p99.9 of writes: {'; '.join(parts)}."
        )


def orders(study: CombinedOutcome) -> Grid:
    """The effect of the order alone on the conventional line."""
    rows = []
    for order in ORDERS:
        cells = []
        for live in study.lives:
            ratios = (study.order_itself(order, live, measure) for measure in (WRITES, READS))
            cells.append(", ".join(map(_ratio, ratios)))
        rows.append([order, *cells])
    return Grid(
        "The order itself",
        ["conventional line", *map(_percent, study.lives)],
        rows,
        f"p99.9 of writes and of reads over those under {USUAL}.",
    )


def costs(study: CombinedOutcome, order: str) -> Grid:
    """Write amplification and wear by live share."""
    rows = []
    for line in SHOWN:
        cells = []
        for live in study.lives:
            setting = Setting(order, live)
            waf, wear = (study.ratio(setting, line, measure) for measure in (WAF, WEAR))
            cells.append(f"{_ratio(waf)}, {_ratio(wear)}")
        rows.append([line, *cells])
    base = [
        f"{_number(study.mean(Setting(order, live), BASE, WAF))},"
        f" {_number(study.mean(Setting(order, live), BASE, WEAR))}"
        for live in study.lives
    ]
    rows.insert(0, [f"{BASE}, itself", *base])
    return Grid(
        f"Write amplification and wear, {order}",
        ["line", *map(_percent, study.lives)],
        rows,
        "Write amplification and the most erases of a block, over the conventional line; its own"
        " row has means over the workloads.",
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def shares(study: CombinedOutcome, order: str) -> Grid:
    """Foreground collection and decisions of the reserve by live share."""
    rows = []
    for line in (BASE, *SHOWN[:-1]):
        cells = []
        for live in study.lives:
            means = [
                study.mean(Setting(order, live), line, measure) for measure in (FOREGROUND, RESERVE)
            ]
            cells.append(
                ", ".join("–" if share is None else f"{100 * share:.0f}" for share in means)
            )
        rows.append([line, *cells])
    return Grid(
        f"Foreground collection, {order}",
        ["line", *map(_percent, study.lives)],
        rows,
        "Victims collected ahead of the host, and victims that the policy did not decide, percent"
        " of all.",
    )


def throughput(study: CombinedOutcome) -> Grid:
    """Requests per second of a closed loop."""
    names = [name for name in SWEPT if name in study.workloads]
    columns = [(name, order) for name in names for order in SWEPT_ORDERS]
    rows = [
        [
            line,
            *(
                _ratio(study.ratio(Setting(order, SWEPT_LIVE, CLOSED), line, THROUGHPUT, [name]))
                for name, order in columns
            ),
        ]
        for line in SHOWN
    ]
    return Grid(
        f"Throughput of a closed loop, {_percent(SWEPT_LIVE)} live",
        ["line", *(f"{name}, {order}" for name, order in columns)],
        rows,
        f"Requests per second with {DEPTH} outstanding, over the conventional line: higher is"
        " better.",
    )


def recorded(study: CombinedOutcome, order: str, measure: str) -> Grid:
    """A tail on the recorded traces."""
    points = [point for point in study.values if point.setting == Setting(order, RECORDED)]
    names = list(dict.fromkeys(point.workload for point in points))
    rows = []
    for line in SHOWN:
        ratios = [study.recorded(order, name, line, measure) for name in names]
        rows.append([line, *("–" if ratio is None else f"{ratio:.2f}" for ratio in ratios)])
    return Grid(f"Recorded traces: {measure.partition(',')[0]}, {order}", ["line", *names], rows)


def expectations(study: CombinedOutcome) -> Grid:
    """What was expected, and what came out."""
    rows = []
    for expectation in EXPECTED:
        judgement = expectation.judge(study)
        cells = (
            ("–", "runs are missing")
            if judgement is None
            else ("yes" if judgement[0] else "no", judgement[1])
        )
        rows.append([expectation.text, *cells])
    return Grid("Expected before the first run", ["expectation", "came out", "found"], rows)


def details(study: CombinedOutcome) -> list[Grid]:
    """Every measure of the main comparison with its interval, by order."""
    grids = []
    for measure in (*list(MEASURES)[:4], WAF):
        for order in ORDERS:
            rows = [
                [
                    line,
                    *(
                        _ratio(study.ratio(Setting(order, live), line, measure), ends=True)
                        for live in study.lives
                    ),
                ]
                for line in SHOWN
            ]
            title = f"{measure.partition(',')[0]}, {order}"
            grids.append(Grid(title, ["line", *map(_percent, study.lives)], rows))
    for order in ORDERS:
        grids += [costs(study, order), shares(study, order)]
    for measure in (WRITES, READS):
        grids += [recorded(study, order, measure) for order in ORDERS]
    grids.append(expectations(study))
    return [grid for grid in grids if len(grid.head) > 1]


INTRODUCTION = (
    "Each paper changes several answers at once and leaves others open, the order of operations"
    " above all. Here each row changes one answer of a conventional device, and a paper's row uses"
    " all answers of that paper, under the same order and on the same requests. Numbers are ratios"
    " to that device: the geometric mean over the workloads, below 1 where the row is lower, and"
    " in brackets where the 95 % interval over seeds contains 1. A tail is called lower or higher"
    " if its interval excludes 1 and it differs by more than 3 %.",
)
CHOICES = (
    f"Fixed on {DATE}, before the first whole run (`combined/choices.py`, `combined/expected.py`);"
    " a small run with two seeds, and an older study of all combinations with one seed, had been"
    " seen.",
    "The device is that of noc-copyback with one interconnect traversal of a page in 714 us, a"
    f" 1/{DIVISOR} of it for synthetic requests and a 1/{RECORDED_DIVISOR} for recorded ones, with"
    " 8 moves at once. The conventional line collects all blocks that are 70 % invalid, in list"
    " order, on all channels, when 70 % of the pages are used; copies cross the interconnect and"
    " the host may come between their steps. G(t) begins at 50 %.",
    "Answers: "
    + "; ".join(f"{name}: {', '.join(answers)}" for name, answers in QUESTIONS.items())
    + ".",
    "Papers' own: "
    + "; ".join(f"{name}: {', '.join(answers)}" for name, answers in PROPOSALS.items())
    + "; noc-copyback: selective.",
    f"Synthetic requests have the statistics and surges of noc-copyback's reproduction; the host"
    f" writes the flash {WRITTEN:g} times, of which the first {100 * WARMUP:.0f} % are left out."
    f" They arrive at {LOAD:g} of the rate that the conventional line sustains in a closed loop of"
    f" {DEPTH} requests, oldest first, at the same live share; five seeds. Recorded requests keep"
    " their times, stretched where their pages alone would keep the device busy for more than half"
    " of the time; one seed, since nothing in them is drawn.",
    "The floor is the same device with six times the blocks, which are never used up.",
)


def _markdown(grid: Grid) -> Iterator[str]:
    yield from (f"### {grid.title}", "")
    if grid.note:
        yield from (grid.note, "")
    yield f"| {' | '.join(grid.head)} |"
    yield "|---" * len(grid.head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in grid.rows)
    yield ""


def _front(study: CombinedOutcome) -> list[Grid]:
    candidates = [
        orders(study),
        throughput(study),
        recorded(study, USUAL, WRITES),
    ]
    return [grid for grid in candidates if len(grid.head) > 1]


def markdown(study: CombinedOutcome) -> str:
    """The page as Markdown."""
    quick = " --quick" if study.quick else ""
    command = f"ssdlab reproduce combined{quick}"
    lines = [f"<!-- Written by `{command}`. -->", "", f"# {TITLE}", ""]
    lines += [text for paragraph in INTRODUCTION for text in (paragraph, "")]
    lines += ["## Result", "", *(text for paragraph in NOTES for text in (paragraph, ""))]
    lines += [*(f"- {text}" for text in verdict(study)), ""]
    lines += [text for paragraph in study.remarks() for text in (paragraph, "")]
    for picture in pictures(study):
        lines += markdown_of(picture)
    lines += ["## Orders, throughput, recorded traces", ""]
    for grid in _front(study):
        lines += _markdown(grid)
    provenance = f"`{command}`, ssdlab {described()}. {study.begun.stated()}"
    lines += ["# Appendix", "", provenance, ""]
    lines += [text for paragraph in CHOICES for text in (paragraph, "")]
    lines += ["## All ratios", ""]
    for grid in details(study):
        lines += _markdown(grid)
    return "\n".join(lines).rstrip() + "\n"


NOTES: tuple[str, ...] = (
    "In short: collection first alone makes the write tail 18 times that of oldest first (25 %)."
    " As needed helps under collection first and round robin, up to 45 %; the selective path in 13"
    " settings; closing a channel in none. At 75 % the reserve takes most victims. On recorded"
    " traces, oldest first, the write tail of the answers together is 1.61 times (MongoDB) and"
    " 1.34 times (RocksDB) that of the conventional line: worse, as that of as needed alone.",
    "With [suspension](suspension.md), which this device lacks, these policies do not lower read"
    " latencies.",
)
"""What was found, in words."""


def _html(grids: Sequence[Grid]) -> str:
    return "".join(
        html_table(
            list(grid.head), [(row[0], [*map(escape, row[1:])]) for row in grid.rows], grid.title
        )
        + (f"<p>{prose(grid.note)}</p>" if grid.note else "")
        for grid in grids
    )


def page(study: CombinedOutcome) -> str:
    """The page as HTML."""
    items = "".join(f"<li>{prose(text)}</li>" for text in verdict(study))
    notes = "".join(f"<p>{prose(text)}</p>" for text in (*INTRODUCTION, *NOTES))
    drawings = "".join(
        f"<figure><h3>{prose(picture.title)}</h3>{picture.svg}</figure>"
        for picture in pictures(study)
    )
    choices = "".join(f"<p>{prose(text)}</p>" for text in CHOICES)
    sections = [
        Section("result", "Result", f"{notes}<ul>{items}</ul>" + warnings_box(study.remarks())),
        Section("pictures", "Tails", drawings),
        Section("costs", "Orders, throughput, recorded traces", _html(_front(study))),
        Section("choices", "What was fixed before", choices),
        Section("details", "All tables", _html(details(study))),
    ]
    lead = f'<p class="lead">{TITLE} · ssdlab {escape(described())}</p>'
    return document(TITLE, lead, sections)


def drawn(study: CombinedOutcome) -> dict[str, str]:
    """The files of the pictures."""
    return files_of({picture.name: picture for picture in pictures(study)})


def to_json(study: CombinedOutcome) -> str:
    """The text of reproduction.json."""
    runs: list[dict[str, Any]] = [
        {
            **asdict(point.setting),
            "workload": point.workload,
            "source": "recorded" if point.setting.live == RECORDED else "synthetic",
            "line": point.line,
            "seed": point.seed,
            **values,
        }
        for point, values in study.values.items()
    ]
    values = {
        **study.begun.to_dict(),
        "completed": not study.interrupted and not study.failures,
        "fixed": DATE,
        "together": {order: list(answers) for order, answers in study.together.items()},
        "requests_per_second": {
            f"{name}, {_percent(live)} live": rate for (name, live), rate in study.rates.items()
        },
        "verdict": verdict(study),
        "notes": list(study.notes),
        "failures": dict(study.failures),
        "runs": runs,
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
