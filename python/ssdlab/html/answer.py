"""The answer of a comparison as words and one picture, for its page and for notebooks."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from html import escape
from typing import Any, Literal

from ssdlab.display.form import columns
from ssdlab.display.numbers import on_page
from ssdlab.html.page import figure, prose
from ssdlab.html.plot import Forest, Point
from ssdlab.results.answer import TITLES
from ssdlab.results.comparison import Comparison

SHORT = {column.name: column.short for column in columns() if column.ranked}
"""How panels are called."""
MOST_ROWS = 24
"""Configurations that are drawn."""


def answer_html(comparison: Comparison) -> str:
    """A paragraph for each workload, and the ratios to the baseline; empty without an answer."""
    paragraphs = "".join(paragraph(answer.text) for answer in comparison.answers)
    forest = answer_figure(comparison)
    return paragraphs + (figure(forest) if paragraphs and forest else "")


def paragraph(text: str) -> str:
    """An answer on a page."""
    return f'<p class="answer">{_unbroken(text)}</p>'


def answer_list(rows: Iterable[tuple[str, str]]) -> str:
    """The answer as a list of titles and texts; rows without text are left out."""
    lines = (f"<dt>{escape(title)}</dt><dd>{_unbroken(text)}</dd>" for title, text in rows if text)
    return f'<dl class="answer">{"".join(lines)}</dl>'


def _unbroken(text: str) -> str:
    """Text for a page, with no line break between a number and its percent sign."""
    return prose(on_page(text)).replace(" %", "\u00a0%")


def answer_figure(comparison: Comparison) -> Forest | None:
    """Ratios to the baseline with their intervals; None without repetitions of several."""
    valid = list(comparison.valid.repetitions)
    labels = valid[:MOST_ROWS]
    if len(labels) < 2:
        return None
    base, panels = labels[0], []
    for key in TITLES:
        rows = tuple((label, _point(comparison, label, base, key)) for label in labels)
        if any(point is not None for _, point in rows[1:]):
            panels.append((SHORT[key], rows))
    if not panels:
        return None
    omitted = len(valid) - len(labels)
    caption = (
        f"Ratios to {base}, paired by seed, with their 95 % intervals: blue is lowest, grey the"
        " baseline and what cannot be distinguished from the lowest. Arrows: beyond the axis."
    )
    if omitted > 0:
        caption += f" The first {len(labels)} configurations; the tables include {omitted} more."
    return Forest("answer-plot", f"Compared with {base}", caption, tuple(panels))


def _point(comparison: Comparison, label: str, base: str, key: str) -> Point | None:
    """The ratio of a configuration, and its standing."""
    groups = comparison.lowest_of_all.get(key, [])
    state: Literal["base", "lowest", "tie", "other"] = "other" if groups else "tie"
    state = "base" if label == base else state
    for best in groups:
        if label == best[0]:
            state = "lowest"
        elif label in best and label != base:
            state = "tie"
    if label == base:
        return Point(1.0, None, None, state)
    ratio = comparison.ratio(label, base, key)
    return None if ratio is None else Point(ratio.ratio, ratio.low, ratio.high, state)


def identity_lead(identity: Mapping[str, Any]) -> str:
    """The common configuration of the runs, the keys that were set, and the traces, in a line."""
    config_file = identity.get("file")
    words = [str(config_file[0] if config_file else identity.get("preset", ""))]
    words += [f"{key} = {value}" for key, value in identity.get("set", {}).items()]
    names = (
        trace if isinstance(trace, str) else str(trace[0]) for trace in identity.get("traces", ())
    )
    words += [name for name in names if name]
    return f'<p class="lead">{escape(", ".join(word for word in words if word))}</p>'


def identity_html(identity: Mapping[str, Any], excluded: Collection[str]) -> str:
    """What identifies the runs, except for the keys in `excluded` and the configuration file."""
    fields = {key: value for key, value in identity.items() if key not in excluded and value}
    text = "\n".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()
    )
    config = ""
    if config_file := identity.get("file"):
        body = f'<pre tabindex="0">{escape(config_file[1])}</pre>'
        config = f"<details><summary>{escape(config_file[0])}</summary>{body}</details>"
    return f'<pre tabindex="0">{escape(text)}</pre>{config}'
