"""Pieces of a page: numbers that carry their raw value, tables, figures, the frame."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from ssdlab import _core
from ssdlab.display.numbers import Value, on_page, shown
from ssdlab.html.plot import Curve, Figure, Floats, Missing, Plot
from ssdlab.html.svg import drawn, scales, style

MOST_WARNINGS = 100
"""Warnings that are shown."""
MADE_BY = '<meta name="generator" content="ssdlab'
"""Begins the element by which a page of ours is known."""


def flattened(values: Any, key: str = "") -> Iterator[tuple[str, Value]]:  # noqa: ANN401
    """Every value of parsed JSON with its dotted key."""
    if isinstance(values, dict | list):
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        for name, value in pairs:
            yield from flattened(value, f"{key}.{name}" if key else str(name))
    else:
        yield key, values


def number(key: str, value: Value, column: str = "") -> str:
    """A number of report.json or compare.json, with its key and its value as it stands there.

    `column`: what it is, if `key` does not end with that.
    """
    raw = json.dumps(value, ensure_ascii=False)
    text = escape(on_page(shown(column or key, value)))
    if not isinstance(value, str):
        text = text.replace(" ", "\u00a0")  # A number and its unit stay in one line.
    return f'<data data-key="{escape(key)}" value="{escape(raw)}">{text}</data>'


def table(
    head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], caption: str, name: str = ""
) -> str:
    """A table whose cells are HTML; the first column is the heads of the rows."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(title)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
        for title, cells in rows
    )
    mark = f' id="{name}"' if name else ""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(caption)}">'
        f"<table{mark}><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


@dataclass(frozen=True)
class Section:
    """A part of the page, with its place in the table of contents."""

    key: str
    title: str
    body: str


def figures(several: Iterable[Figure]) -> str:
    """Figures side by side where there is room; those missing for one reason in one box."""
    shown: list[Figure] = []
    for one in several:
        last = shown[-1] if shown else None
        if isinstance(one, Missing) and isinstance(last, Missing) and one.why == last.why:
            shown[-1] = replace(last, title=f"{last.title} · {one.title}")
        else:
            shown.append(one)
    return '<div class="figures">' + "".join(figure(one) for one in shown) + "</div>"


def figure(one: Figure) -> str:
    """A plot with its title and caption, or the words that say why there is none."""
    title = f"<h3>{escape(one.title)}</h3>"
    if isinstance(one, Missing):
        return f'<figure class="missing" id="{one.key}">{title}<p>{escape(one.why)}</p></figure>'
    data = _hover(one) if isinstance(one, Plot) else ""
    caption = f"<figcaption>{escape(one.caption)}</figcaption>"
    return f'<figure id="{one.key}">{title}{drawn(one)}{data}{caption}</figure>'


def script_data(text: str, name: str = "data") -> str:
    """JSON inside the page; no text in it can end the element."""
    safe = text.replace("<", "\\u003c")
    return f'<script type="application/json" class="{name}">{safe}</script>'


def _list(values: Floats, digits: int) -> list[float | int | None]:
    return [
        None
        if not math.isfinite(v)
        else int(v)
        if v == int(v) and abs(v) < 1e15
        else float(f"{v:.{digits}g}")
        for v in values.tolist()
    ]


def _hover(plot: Plot) -> str:
    """What the script needs to name values and to zoom: scales, and the values of the curves."""
    x, y, _ = scales(plot)
    curves = []
    for mark in plot.marks:
        if isinstance(mark, Curve):
            one = {"x": _list(mark.x, 9), "y": _list(mark.y, 5)}
            if mark.low is not None and mark.high is not None:
                one |= {"low": _list(mark.low, 5), "high": _list(mark.high, 5)}
        else:
            middle = (mark.left + mark.right) / 2
            one = {"x": _list(middle, 9), "y": _list(mark.height, 5)}
        curves.append({"name": mark.name, **one})
    axes = {
        name: {
            "unit": scale.axis.unit,
            "log": scale.axis.log,
            "low": scale.low,
            "high": scale.high,
            "start": scale.start,
            "end": scale.end,
            "divisor": scale.divisor,
            "label": scale.axis.label,
        }
        for name, scale in (("x", x), ("y", y))
    }
    text = json.dumps({**axes, "linked": plot.linked, "marks": curves}, separators=(",", ":"))
    return script_data(text)


def loss_banner(losses: Iterable[str | None]) -> str:
    """What stands before everything else: that much of a trace was skipped."""
    texts = dict.fromkeys(text for text in losses if text)
    return "".join(f'<p><strong class="bad">Lost: {escape(text)}</strong></p>' for text in texts)


def warnings_box(warnings: Sequence[str]) -> str:
    """What a reader should know before using the numbers."""
    if not warnings:
        return '<p class="fine">No warnings.</p>'
    items = "".join(f"<li>{escape(text)}</li>" for text in warnings[:MOST_WARNINGS])
    left = len(warnings) - MOST_WARNINGS
    if left > 0:
        items += f"<li>And {left:,} more.</li>"
    return f'<ul class="warnings">{items}</ul>'


def warning_boxes(groups: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """Groups of warnings, each with its title; the marks of text are not shown."""
    return "".join(
        f"<h3>{title[0].upper()}{title[1:]}</h3>{warnings_box(texts)}" for title, _, texts in groups
    )


def document(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The whole page: one file that needs no other."""
    contents = "".join(f'<li><a href="#{one.key}">{escape(one.title)}</a></li>' for one in sections)
    body = "".join(
        f'<section id="{one.key}" aria-labelledby="{one.key}-title">'
        f'<h2 id="{one.key}-title">{escape(one.title)}</h2>{one.body}</section>'
        for one in sections
    )
    # The browser asks the server of a page for an icon unless the page has one.
    icon = '<link rel="icon" href="data:,">'
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{MADE_BY} {escape(_core.__version__)}">
<title>{escape(title)} – ssdlab</title>{icon}
<style>{style("colours.css")}{style("plot.css")}{style("page.css")}</style></head>
<body><a class="skip" href="#main">Skip to the results</a>
<header><h1>{escape(title)}</h1>{lead}</header>
<nav aria-label="Contents"><h2>Contents</h2><ol>{contents}</ol></nav>
<main id="main">{body}</main>
<div id="tip" role="status" hidden></div>
<script>{style("page.js")}{style("timeline.js")}</script>
</body></html>
"""
