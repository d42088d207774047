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

SHORT = {one.name: one.short for one in columns() if one.ranked}
"""How panels are called."""
MOST_ROWS = 24
"""Configurations that are drawn."""


def answer_html(done: Comparison) -> str:
    """A paragraph for each workload, and the ratios to the baseline; empty without an answer."""
    told = "".join(paragraph(one.text) for one in done.answers)
    drawn = answer_figure(done)
    return told + (figure(drawn) if told and drawn else "")


def paragraph(text: str) -> str:
    """An answer on a page."""
    return f'<p class="answer">{_unbroken(text)}</p>'


def titled(rows: Iterable[tuple[str, str]]) -> str:
    """The answer as a list of titles and texts; rows without text are left out."""
    lines = (f"<dt>{escape(title)}</dt><dd>{_unbroken(text)}</dd>" for title, text in rows if text)
    return f'<dl class="answer">{"".join(lines)}</dl>'


def _unbroken(text: str) -> str:
    """Text for a page, with no line break between a number and its percent sign."""
    return prose(on_page(text)).replace(" %", "\u00a0%")


def answer_figure(done: Comparison) -> Forest | None:
    """Ratios to the baseline with their intervals; None without repetitions of several."""
    valid = list(done.valid.repetitions)
    labels = valid[:MOST_ROWS]
    if len(labels) < 2:
        return None
    base, panels = labels[0], []
    for key in TITLES:
        rows = tuple((label, _point(done, label, base, key)) for label in labels)
        if any(point is not None for _, point in rows[1:]):
            panels.append((SHORT[key], rows))
    if not panels:
        return None
    left = len(valid) - len(labels)
    caption = (
        f"Ratios to {base}, paired by seed, with their 95 % intervals: blue is lowest, grey the"
        " baseline and what cannot be distinguished from the lowest. Arrows: beyond the axis."
    )
    if left > 0:
        caption += f" The first {len(labels)} configurations; the tables include {left} more."
    return Forest("answer-plot", f"Compared with {base}", caption, tuple(panels))


def _point(done: Comparison, label: str, base: str, key: str) -> Point | None:
    """The ratio of a configuration, and its standing."""
    groups = done.lowest_of_all.get(key, [])
    state: Literal["base", "lowest", "tie", "other"] = "other" if groups else "tie"
    state = "base" if label == base else state
    for best in groups:
        if label == best[0]:
            state = "lowest"
        elif label in best and label != base:
            state = "tie"
    if label == base:
        return Point(1.0, None, None, state)
    ratio = done.ratio(label, base, key)
    return None if ratio is None else Point(ratio.ratio, ratio.low, ratio.high, state)


def what_ran(identity: Mapping[str, Any]) -> str:
    """The common configuration of the runs, the keys that were set, and the traces, in a line."""
    file = identity.get("file")
    words = [str(file[0] if file else identity.get("preset", ""))]
    words += [f"{key} = {value}" for key, value in identity.get("set", {}).items()]
    names = (one if isinstance(one, str) else str(one[0]) for one in identity.get("traces", ()))
    words += [name for name in names if name]
    return f'<p class="lead">{escape(", ".join(word for word in words if word))}</p>'


def identity_html(identity: Mapping[str, Any], shown: Collection[str]) -> str:
    """What identifies the runs, except for the keys in `shown` and the configuration file."""
    held = {key: one for key, one in identity.items() if key not in shown and one}
    text = "\n".join(f"{key}: {json.dumps(one, ensure_ascii=False)}" for key, one in held.items())
    config = ""
    if file := identity.get("file"):
        body = f'<pre tabindex="0">{escape(file[1])}</pre>'
        config = f"<details><summary>{escape(file[0])}</summary>{body}</details>"
    return f'<pre tabindex="0">{escape(text)}</pre>{config}'
