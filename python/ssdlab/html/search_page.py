"""The page of a search."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ssdlab.display.numbers import Value
from ssdlab.html.answer import identity_html, identity_lead, paragraph
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


def search_page(search: Search) -> str:
    """The page of a search."""
    histories = [history(search, i) for i in range(len(search.goals))]
    sections = [
        Section("answer", "Answer", _answer(search)),
        Section("test", "Test", _test(search)),
        Section("history", "History", figures(histories)),
        Section("front", "Front", _figures_if_any(fronts(search))),
        Section("effects", "What decides", _effects(search)),
        Section("keys", "All keys", _figures_if_any(all_keys(search))),
        Section("points", "Points", points_table(search)),
        Section("unranked", "Points that are not ranked", _reasons(search)),
        Section("search", "Search", _identity(search)),
    ]
    goals = " and ".join(f"{goal.best} {goal.title}" for goal in search.goals)
    bounds = f", subject to {', '.join(search.constraints)}" if search.constraints else ""
    size_text = f" of {search.size:,}" if search.size else ""
    state = ' · <strong class="bad">interrupted</strong>' if search.interrupted else ""
    lead = (
        f'<p class="lead">{escape(goals + bounds)} · {len(search.trials):,} points{size_text}'
        f" ({escape(search.states)}), {counted(search.runs, 'run')}{state} · all of them in"
        f" {TRIALS_CSV}</p>"
    )
    lead += identity_lead(search.identity)
    return document(
        f"{search.name}, searched", lead, [section for section in sections if section.body]
    )


def _figures_if_any(figures_: Sequence[Figure]) -> str:
    return figures(figures_) if figures_ else ""


def _answer(search: Search) -> str:
    body = paragraph(search.answer) if search.answer else ""
    body += warnings_box(search.warnings) if search.warnings else ""
    for best_point in search.front[:3]:
        rows = [(key, [escape(str(value))]) for key, value in best_point.point.items()]
        file = BEST if len(search.goals) == 1 else f"{FRONT}/{best_point.number}.toml"
        body += table(["key", "value"], rows, f"Point {best_point.number}, in `{file}`")
    return body


def _test(search: Search) -> str:
    tables = []
    for i, test in enumerate(search.tested):
        if test.why:
            tables.append(f"<p>{prose(test.why)}</p>")
            continue
        rows = [
            (
                comparison.what + (f", {comparison.case}" if comparison.case else ""),
                _cells(f"tested.{i}.compared.{j}", comparison),
            )
            for j, comparison in enumerate(test.compared)
        ]
        head = ["", "over", "mean", "ratio", "95 % interval"]
        tables.append(table(head, rows, f"Point {test.number}, tested with {search.test}"))
    return "".join(tables)


def _cells(path: str, comparison: Compared) -> list[str]:
    column = comparison.column or "ratio"
    mean = "–" if comparison.mean is None else number(f"{path}.mean", comparison.mean, column)
    if comparison.ratio is None:
        return [escape(comparison.of or "the bound"), mean, "–", "–"]
    cells = [
        number(f"{path}.ratio.{key}", getattr(comparison.ratio, key))
        for key in ("ratio", "low", "high")
    ]
    interval = f"{cells[1]} to {cells[2]}" if comparison.ratio.low is not None else "no spread"
    return [escape(comparison.of or "the bound"), mean, cells[0], interval]


def _effects(search: Search) -> str:
    parts = []
    for i, (goal, effects) in enumerate(zip(search.goals, search.effects, strict=True)):
        rows = [
            (
                effect.key,
                [
                    f'<meter value="{effect.share:.4f}" max="1"'
                    f' aria-label="{escape(effect.key)}"></meter>',
                    *(
                        number(f"effects.{i}.{j}.{part}", getattr(effect, part), "policy_share")
                        for part in ("share", "low", "high")
                    ),
                ],
            )
            for j, effect in enumerate(effects[:MOST_KEYS])
        ]
        head = ["key", "", "share", "from", "to"]
        if rows and not any(goal.name in drawn_point.point for drawn_point in search.drawn):
            parts.append(table(head, rows, f"Keys that decide the {goal.title}"))
    sentences = "".join(map(paragraph, search.decided))
    if not parts:
        return sentences
    note = (
        f"The share of the variance that each key decides, with its 95 % interval, over the"
        f" {counted(len(search.drawn), 'point')} that were drawn at random: where the sampler has"
        " looked is no measure of what decides. Keys whose influence is uncertain are left out."
    )
    return f'{sentences}<p class="note">{note}</p>{"".join(parts)}'


def points_table(search: Search, most_rows: int = MOST_ROWS) -> str:
    """The completed points, the best first."""
    rows = [(str(trial.number), _row(search, trial)) for trial in search.ranked[:most_rows]]
    if not rows:
        return f"<p>{search.nothing}</p>"
    keys = dict.fromkeys(key for trial in search.ranked[:most_rows] for key in trial.point)
    head = ["trial", *(goal.title for goal in search.goals), *search.constraints, *keys]
    omitted = len(search.ranked) - len(rows)
    caption = "Points that completed, the best first" + (
        f"; {omitted:,} more in {TRIALS_CSV}" if omitted else ""
    )
    return table(head, rows, caption, "points-table")


def _row(search: Search, trial: Tried) -> list[str]:
    assert trial.values is not None
    index = search.trials.index(trial)
    cells = []
    for i, (goal, value) in enumerate(zip(search.goals, trial.values, strict=True)):
        column = "ratio" if search.in_ratios else goal.column.name
        cells.append(number(f"trials.{index}.values.{i}", value, column))
    for text in search.constraints:
        excess = trial.excess.get(text, 0.0)
        missed_text = f'<span class="bad">missed by {excess_text(excess)}</span>'
        cells.append("met" if excess <= 0 else missed_text)
    keys = dict.fromkeys(
        key for ranked_trial in search.ranked[:MOST_ROWS] for key in ranked_trial.point
    )
    return cells + [_value(trial.point.get(key)) for key in keys]


def _value(value: Value) -> str:
    return "–" if value is None else escape(str(value))


def _reasons(search: Search) -> str:
    return "".join(
        f"<h3>{state.capitalize()}</h3>"
        + warnings_box(
            [
                f"{counted(len(labels), 'point')}: {reason}"
                for reason, labels in labels_by_reason.items()
            ]
        )
        for state, labels_by_reason in search.reasons.items()
        if labels_by_reason
    )


def _identity(search: Search) -> str:
    """What was searched."""
    space = search.identity.get("space", {})
    rows = [
        (key, [escape(values if isinstance(values, str) else ", ".join(map(str, values)))])
        for key, values in space.items()
    ]
    return table(["key", "values"], rows, "Space") + identity_html(search.identity, LONG)
