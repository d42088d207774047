"""Pieces of a page: numbers that carry their raw value, tables, figures, the frame."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from ssdlab import _core
from ssdlab.display.numbers import Value, on_page, shown
from ssdlab.html import cells, panels
from ssdlab.html.axes import x_ticks
from ssdlab.html.plot import Bars, Cells, Curve, Figure, Floats, Missing, Panels, Plot, Unit
from ssdlab.html.scale import Scale
from ssdlab.html.svg import drawn, scales, style

MOST_WARNINGS = 100
"""Warnings that are shown."""
MADE_BY = '<meta name="generator" content="ssdlab'
"""The start of the element that marks a page as ours."""

THEME = (
    "<script id=\"early\">try { const name = localStorage.getItem('ssdlab-theme');"
    " if (name === 'light' || name === 'dark')"
    " document.documentElement.setAttribute('data-theme', name); } catch {}</script>"
)
"""Applies the chosen colours before anything is drawn; a page in a sandbox has none."""
CHOICE = (
    '<label class="theme" hidden>Theme <select id="theme"><option value="">auto</option>'
    '<option value="light">light</option><option value="dark">dark</option></select></label>'
)
"""Chooses the colours; the script shows it, because without the script it would do nothing."""


def flattened(values: Any, key: str = "") -> Iterator[tuple[str, Value]]:  # noqa: ANN401
    """Every value of parsed JSON with its dotted key."""
    if isinstance(values, dict | list):
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        for name, value in pairs:
            yield from flattened(value, f"{key}.{name}" if key else str(name))
    else:
        yield key, values


def prose(text: str) -> str:
    """Text as HTML; code, emphasis and links to other documents as in Markdown.

    The documents are not next to a page, so only the text of their links is kept.
    """
    linked = re.sub(r"\[([^][]+)\]\([^() ]+\.md(?:#[^() ]*)?\)", r"\1", escape(text))
    stressed = re.sub(
        r"(?<![\w*`])\*([^\s*`](?:[^*`]*[^\s*`])?)\*(?![\w*`])", r"<em>\1</em>", linked
    )
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", stressed)


def number(key: str, value: Value, column: str = "") -> str:
    """A number of report.json or compare.json, with its key and its raw value.

    `column`: the column, if `key` does not end with it.
    """
    raw = json.dumps(value, ensure_ascii=False)
    text = escape(on_page(shown(column or key, value)))
    if not isinstance(value, str):
        text = text.replace(" ", "\u00a0")  # A number and its unit stay in one line.
    return f'<data data-key="{escape(key)}" value="{escape(raw)}">{text}</data>'


_UNIT = re.compile(r"(?<=\d) (?=(?:%|[µmn]?s|[KMGT]i?B|B)(?!\w))(?![^<]*>)")
"""The space between a number and its unit, which stay in one line; none within a tag."""


def table(
    head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], caption: str, name: str = ""
) -> str:
    """A table whose cells are HTML; the first column contains the heads of the rows."""
    top = "".join(f'<th scope="col">{_heading(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{prose(title)}</th>'
        + "".join(f"<td>{_UNIT.sub(chr(0xA0), cell)}</td>" for cell in cells)
        + "</tr>"
        for title, cells in rows
    )
    mark = f' id="{name}"' if name else ""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(caption)}">'
        f"<table{mark}><caption>{prose(caption)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _heading(text: str) -> str:
    """The head of a column; a key may be broken after its dots and underscores."""
    is_key = re.fullmatch(r"[a-z_]+(\.[a-z0-9_]+)+", text)
    return re.sub(r"([._])", r"\1<wbr>", text) if is_key else escape(text)


@dataclass(frozen=True)
class Section:
    """A part of the page, with its place in the table of contents."""

    key: str
    title: str
    body: str


def figures(several: Iterable[Figure]) -> str:
    """Figures side by side if there is room; figures missing for one reason in one box."""
    shown: list[Figure] = []
    for one in several:
        last = shown[-1] if shown else None
        if isinstance(one, Missing) and isinstance(last, Missing) and one.why == last.why:
            shown[-1] = replace(last, title=f"{last.title} · {one.title}")
        else:
            shown.append(one)
    return '<div class="figures">' + "".join(figure(one) for one in shown) + "</div>"


def figure(one: Figure) -> str:
    """A plot with its title and caption, or the reason why there is none."""
    title = f"<h3>{escape(one.title)}</h3>"
    if isinstance(one, Missing):
        return f'<figure class="missing" id="{one.key}">{title}<p>{prose(one.why)}</p></figure>'
    data = _hover(one) if isinstance(one, Plot | Panels | Cells) else ""
    caption = f"<figcaption>{prose(one.caption)}</figcaption>"
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


def _hover(plot: Plot | Panels | Cells) -> str:
    """What the script needs to name values and to zoom: scales, and the values of the curves."""
    if isinstance(plot, Cells):
        x, y = cells.scales(plot)
        rows = [[int(count) for count in row] for row in plot.counts]
        more = {"marks": [], "rows": rows, "noun": plot.noun}
        data = _axes(x, y, more, linked=True)
        data["x"] |= {"bin": plot.bin_x, "columns": math.ceil(x.high / plot.bin_x)}
        data["y"] |= {"bin": plot.bin_y}
        return script_data(json.dumps(data, separators=(",", ":")))
    if isinstance(plot, Panels):
        made = panels.layout(plot)
        x, y, marks = made.x, made.y, list[Curve | Bars](plot.curves)
    else:
        (x, y, _), marks = scales(plot), plot.marks
    data = _axes(x, y, {"marks": _marks(marks, y.axis.unit)}, linked=plot.linked)
    return script_data(json.dumps(data, separators=(",", ":")))


def _axes(x: Scale, y: Scale, more: dict[str, Any], *, linked: bool) -> dict[str, Any]:
    axes: dict[str, Any] = {
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
    axes["x"]["most"] = min(6, x_ticks(x))
    return {**axes, "linked": linked, **more}


MOST_EXACT = 8
"""Up to this many curves of a plot, values have five digits; beyond, as many as are shown."""


def _marks(marks: Sequence[Curve | Bars], unit: Unit) -> list[dict[str, Any]]:
    """The values of curves and bars; x values that equal those of an earlier one by its number."""
    found: list[dict[str, Any]] = []
    known: dict[str, int] = {}
    few = len(marks) <= MOST_EXACT

    def values(several: Floats) -> list[float | int | None]:
        return _list(several, 5) if few else _list(_as_shown(several, unit), 5)

    for i, mark in enumerate(marks):
        if isinstance(mark, Curve):
            x = _evenly(_list(mark.x, 9) if few else _list(_rounded(mark.x, 6), 6))
            one: dict[str, Any] = {"y": values(mark.y)}
            if mark.low is not None and mark.high is not None:
                one |= {"low": values(mark.low), "high": values(mark.high)}
        else:
            x = _list((mark.left + mark.right) / 2, 9)
            one = {"y": values(mark.height)}
        first = known.setdefault(json.dumps(x), i)
        found.append({"name": mark.name, "x": x if first == i else first, **one})
    return found


def _rounded(values: Floats, digits: int) -> Floats:
    """`values` with this many significant digits."""
    rounded: Floats = np.array([float(f"{v:.{digits}g}") for v in values.tolist()])
    return rounded


def _as_shown(values: Floats, unit: Unit) -> Floats:
    """`values` with the digits that the script shows: rounding them again changes nothing."""
    if unit == "ratio":
        return np.where(np.abs(values) < 0.001, _rounded(values, 3), np.round(values, 3))
    if unit == "count":
        whole = (np.abs(values) >= 1000) & (np.abs(values) < 1e6) | (values == np.rint(values))
        return np.where(whole, np.rint(values), _rounded(values, 3))
    return np.where(np.abs(values) < 1e12, _rounded(values, 3), _rounded(values, 5))


def _evenly(x: list[float | int | None]) -> list[float | int | None] | dict[str, Any]:
    """Whole numbers as the first one and the steps between them, if that is shorter."""
    if len(x) < 8 or not all(isinstance(v, int) for v in x):
        return x
    whole = [v for v in x if isinstance(v, int)]
    steps = (b - a for a, b in itertools.pairwise(whole))
    runs = [[step, len([*same])] for step, same in itertools.groupby(steps)]
    return {"from": whole[0], "steps": runs} if len(runs) < len(x) / 3 else x


def loss_banner(losses: Iterable[str | None]) -> str:
    """The first part of the page if much of a trace was skipped."""
    texts = dict.fromkeys(text for text in losses if text)
    return "".join(f'<p><strong class="bad">Lost: {escape(text)}</strong></p>' for text in texts)


def warnings_box(warnings: Sequence[str]) -> str:
    """What a reader should know before using the numbers."""
    if not warnings:
        return '<p class="fine">No warnings.</p>'
    items = "".join(f"<li>{prose(text)}</li>" for text in warnings[:MOST_WARNINGS])
    left = len(warnings) - MOST_WARNINGS
    if left > 0:
        items += f"<li>And {left:,} more.</li>"
    return f'<ul class="warnings">{items}</ul>'


def warning_boxes(groups: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """Groups of warnings, each with its title; the marks of text are not shown."""
    return "".join(
        f"<h3>{title[0].upper()}{title[1:]}</h3>{warnings_box(texts)}" for title, _, texts in groups
    )


def invalidating(groups: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """The warnings that invalidate numbers, for the top of a page."""
    return warning_boxes(one for one in groups if one[0] != "notes")


def notes(groups: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """The other warnings."""
    return "".join(warnings_box(texts) for title, _, texts in groups if title == "notes")


def document(
    title: str, lead: str, sections: Sequence[Section], *, reload_s: int | None = None
) -> str:
    """The whole page, as one self-contained file. With `reload_s` it is reloaded regularly."""
    contents = "".join(f'<li><a href="#{one.key}">{escape(one.title)}</a></li>' for one in sections)
    body = "".join(
        f'<section id="{one.key}" aria-labelledby="{one.key}-title">'
        f'<h2 id="{one.key}-title">{escape(one.title)}</h2>{one.body}</section>'
        for one in sections
    )
    sheets = "".join(style(f"{name}.css") for name in ("colours", "plot", "page"))
    scripts = "".join(style(f"{name}.js") for name in ("values", "chart", "page", "timeline"))
    # The browser asks the server of a page for an icon unless the page has one.
    icon = '<link rel="icon" href="data:,">'
    if reload_s is not None:
        icon += f'<meta http-equiv="refresh" content="{reload_s}">'
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{MADE_BY} {escape(_core.__version__)}">
<title>{escape(title)} – ssdlab</title>{icon}
{THEME}<style>{sheets}</style></head>
<body><a class="skip" href="#main">Skip to the results</a>
<header>{CHOICE}<h1>{escape(title)}</h1>{lead}</header>
<nav aria-label="Contents"><h2>Contents</h2><ol>{contents}</ol></nav>
<main id="main">{body}</main>
<div id="tip" role="status" hidden></div>
<script>{scripts}</script>
</body></html>
"""
