"""The page of a search."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ssdlab.display.numbers import Value
from ssdlab.html.answer import identity_html, paragraph, what_ran
from ssdlab.html.page import Section, document, figures, number, prose, table, warnings_box
from ssdlab.html.plot import Figure
from ssdlab.html.search_plots import all_keys, fronts, history
from ssdlab.results.names import BEST, FRONT, TRIALS_CSV
from ssdlab.results.search import Compared, Search, Tried, excess_text
from ssdlab.results.text import counted

MOST_ROWS = 100
MOST_KEYS = 12
LONG = ("space", "file")
"""Parts of the identity of a search that are shown separately."""


def search_page(done: Search) -> str:
    """The page of a search."""
    histories = [history(done, i) for i in range(len(done.goals))]
    sections = [
        Section("answer", "Answer", _answer(done)),
        Section("test", "Test", _test(done)),
        Section("history", "History", figures(histories)),
        Section("front", "Front", _if_any(fronts(done))),
        Section("effects", "What decides", _effects(done)),
        Section("keys", "All keys", _if_any(all_keys(done))),
        Section("points", "Points", points_table(done)),
        Section("unranked", "Points that are not ranked", _reasons(done)),
        Section("search", "Search", _identity(done)),
    ]
    goals = " and ".join(f"{goal.best} {goal.title}" for goal in done.goals)
    bounds = f", subject to {', '.join(done.constraints)}" if done.constraints else ""
    of = f" of {done.size:,}" if done.size else ""
    state = ' · <strong class="bad">interrupted</strong>' if done.interrupted else ""
    lead = (
        f'<p class="lead">{escape(goals + bounds)} · {len(done.trials):,} points{of}'
        f" ({escape(done.told)}), {counted(done.runs, 'run')}{state} · all of them in"
        f" {TRIALS_CSV}</p>"
    )
    lead += what_ran(done.identity)
    return document(f"{done.name}, searched", lead, [one for one in sections if one.body])


def _if_any(several: Sequence[Figure]) -> str:
    return figures(several) if several else ""


def _answer(done: Search) -> str:
    told = paragraph(done.answer) if done.answer else ""
    told += warnings_box(done.warnings) if done.warnings else ""
    for one in done.front[:3]:
        rows = [(key, [escape(str(value))]) for key, value in one.point.items()]
        file = BEST if len(done.goals) == 1 else f"{FRONT}/{one.number}.toml"
        told += table(["key", "value"], rows, f"Point {one.number}, in `{file}`")
    return told


def _test(done: Search) -> str:
    tables = []
    for i, tested in enumerate(done.tested):
        if tested.why:
            tables.append(f"<p>{prose(tested.why)}</p>")
            continue
        rows = [
            (
                one.what + (f", {one.case}" if one.case else ""),
                _cells(f"tested.{i}.compared.{j}", one),
            )
            for j, one in enumerate(tested.compared)
        ]
        head = ["", "over", "mean", "ratio", "95 % interval"]
        tables.append(table(head, rows, f"Point {tested.number}, tested with {done.test}"))
    return "".join(tables)


def _cells(place: str, one: Compared) -> list[str]:
    column = one.column or "ratio"
    mean = "–" if one.mean is None else number(f"{place}.mean", one.mean, column)
    if one.ratio is None:
        return [escape(one.of or "the bound"), mean, "–", "–"]
    cells = [
        number(f"{place}.ratio.{key}", getattr(one.ratio, key)) for key in ("ratio", "low", "high")
    ]
    interval = f"{cells[1]} to {cells[2]}" if one.ratio.low is not None else "no spread"
    return [escape(one.of or "the bound"), mean, cells[0], interval]


def _effects(done: Search) -> str:
    parts = []
    for i, (goal, several) in enumerate(zip(done.goals, done.effects, strict=True)):
        rows = [
            (
                one.key,
                [
                    f'<meter value="{one.share:.4f}" max="1"'
                    f' aria-label="{escape(one.key)}"></meter>',
                    *(
                        number(f"effects.{i}.{j}.{part}", getattr(one, part), "policy_share")
                        for part in ("share", "low", "high")
                    ),
                ],
            )
            for j, one in enumerate(several[:MOST_KEYS])
        ]
        head = ["key", "", "share", "from", "to"]
        if rows and not any(goal.name in one.point for one in done.drawn):
            parts.append(table(head, rows, f"Keys that decide the {goal.title}"))
    sentences = "".join(map(paragraph, done.decided))
    if not parts:
        return sentences
    note = (
        f"The share of the variance that each key decides, with its 95 % interval, over the"
        f" {counted(len(done.drawn), 'point')} that were drawn at random: where the sampler has"
        " looked is no measure of what decides. Keys whose influence is uncertain are left out."
    )
    return f'{sentences}<p class="note">{note}</p>{"".join(parts)}'


def points_table(done: Search, most: int = MOST_ROWS) -> str:
    """The completed points, the best first."""
    rows = [(str(one.number), _row(done, one)) for one in done.ranked[:most]]
    if not rows:
        return f"<p>{done.nothing}</p>"
    keys = dict.fromkeys(key for one in done.ranked[:most] for key in one.point)
    head = ["trial", *(goal.title for goal in done.goals), *done.constraints, *keys]
    left = len(done.ranked) - len(rows)
    caption = "Points that completed, the best first" + (
        f"; {left:,} more in {TRIALS_CSV}" if left else ""
    )
    return table(head, rows, caption, "points-table")


def _row(done: Search, one: Tried) -> list[str]:
    assert one.values is not None
    at = done.trials.index(one)
    cells = []
    for i, (goal, value) in enumerate(zip(done.goals, one.values, strict=True)):
        column = "ratio" if done.in_ratios else goal.column.name
        cells.append(number(f"trials.{at}.values.{i}", value, column))
    for text in done.constraints:
        over = one.excess.get(text, 0.0)
        missed = f'<span class="bad">missed by {excess_text(over)}</span>'
        cells.append("met" if over <= 0 else missed)
    keys = dict.fromkeys(key for other in done.ranked[:MOST_ROWS] for key in other.point)
    return cells + [_value(one.point.get(key)) for key in keys]


def _value(value: Value) -> str:
    return "–" if value is None else escape(str(value))


def _reasons(done: Search) -> str:
    return "".join(
        f"<h3>{state.capitalize()}</h3>"
        + warnings_box([f"{counted(len(labels), 'point')}: {why}" for why, labels in of.items()])
        for state, of in done.reasons.items()
        if of
    )


def _identity(done: Search) -> str:
    """What was searched."""
    space = done.identity.get("space", {})
    rows = [
        (key, [escape(v if isinstance(v, str) else ", ".join(map(str, v)))])
        for key, v in space.items()
    ]
    return table(["key", "values"], rows, "Space") + identity_html(done.identity, LONG)
