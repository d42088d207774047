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
from ssdlab.display.numbers import Value, format_value, on_page
from ssdlab.html import cells, panels
from ssdlab.html.axes import x_ticks
from ssdlab.html.plot import Bars, Cells, Curve, Figure, Floats, MissingPlot, Panels, Plot, Unit
from ssdlab.html.scale import Scale
from ssdlab.html.svg import draw, scales, style

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


def flatten(values: Any, key: str = "") -> Iterator[tuple[str, Value]]:  # noqa: ANN401
    """Every value of parsed JSON with its dotted key."""
    if isinstance(values, dict | list):
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        for name, value in pairs:
            yield from flatten(value, f"{key}.{name}" if key else str(name))
    else:
        yield key, values


def prose(text: str) -> str:
    """Text as HTML; code, emphasis and links to other documents as in Markdown.

    The documents are not next to a page, so only the text of their links is kept.
    """
    unlinked = re.sub(r"\[([^][]+)\]\([^() ]+\.md(?:#[^() ]*)?\)", r"\1", escape(text))
    emphasized = re.sub(
        r"(?<![\w*`])\*([^\s*`](?:[^*`]*[^\s*`])?)\*(?![\w*`])", r"<em>\1</em>", unlinked
    )
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", emphasized)


def number(key: str, value: Value, column: str = "") -> str:
    """A number of report.json or compare.json, with its key and its raw value.

    `column`: the column, if `key` does not end with it.
    """
    raw = json.dumps(value, ensure_ascii=False)
    text = escape(on_page(format_value(column or key, value)))
    if not isinstance(value, str):
        text = text.replace(" ", "\u00a0")  # A number and its unit stay in one line.
    return f'<data data-key="{escape(key)}" value="{escape(raw)}">{text}</data>'


_UNIT = re.compile(r"(?<=\d) (?=(?:%|[µmn]?s|[KMGT]i?B|B)(?!\w))(?![^<]*>)")
"""The space between a number and its unit, which stay in one line; none within a tag."""


def table(
    head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], caption: str, name: str = ""
) -> str:
    """A table whose cells are HTML; the first column contains the heads of the rows."""
    head_cells = "".join(f'<th scope="col">{_heading(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{prose(title)}</th>'
        + "".join(f"<td>{_UNIT.sub(chr(0xA0), cell)}</td>" for cell in cells)
        + "</tr>"
        for title, cells in rows
    )
    mark = f' id="{name}"' if name else ""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(caption)}">'
        f"<table{mark}><caption>{prose(caption)}</caption><thead><tr>{head_cells}</tr></thead>"
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


def figures(figures_: Iterable[Figure]) -> str:
    """Figures side by side if there is room; figures missing for one reason in one box."""
    boxes: list[Figure] = []
    for figure_ in figures_:
        previous = boxes[-1] if boxes else None
        if (
            isinstance(figure_, MissingPlot)
            and isinstance(previous, MissingPlot)
            and figure_.reason == previous.reason
        ):
            boxes[-1] = replace(previous, title=f"{previous.title} · {figure_.title}")
        else:
            boxes.append(figure_)
    return '<div class="figures">' + "".join(figure(figure_) for figure_ in boxes) + "</div>"


def figure(plot: Figure) -> str:
    """A plot with its title and caption, or the reason why there is none."""
    title = f"<h3>{escape(plot.title)}</h3>"
    if isinstance(plot, MissingPlot):
        return (
            f'<figure class="missing" id="{plot.key}">{title}<p>{prose(plot.reason)}</p></figure>'
        )
    data = _hover(plot) if isinstance(plot, Plot | Panels | Cells) else ""
    caption = f"<figcaption>{prose(plot.caption)}</figcaption>"
    return f'<figure id="{plot.key}">{title}{draw(plot)}{data}{caption}</figure>'


def script_data(text: str, name: str = "data") -> str:
    """JSON inside the page; no text in it can end the element."""
    safe = text.replace("<", "\\u003c")
    return f'<script type="application/json" class="{name}">{safe}</script>'


def _list(values: Floats, digits: int) -> list[float | int | None]:
    return [
        None
        if not math.isfinite(value)
        else int(value)
        if value == int(value) and abs(value) < 1e15
        else float(f"{value:.{digits}g}")
        for value in values.tolist()
    ]


def _hover(plot: Plot | Panels | Cells) -> str:
    """What the script needs to name values and to zoom: scales, and the values of the curves."""
    if isinstance(plot, Cells):
        x, y = cells.scales(plot)
        rows = [[int(count) for count in row] for row in plot.counts]
        extra = {"marks": [], "rows": rows, "noun": plot.noun}
        data = _axes(x, y, extra, linked=True)
        data["x"] |= {"bin": plot.bin_x, "columns": math.ceil(x.high / plot.bin_x)}
        data["y"] |= {"bin": plot.bin_y}
        return script_data(json.dumps(data, separators=(",", ":")))
    if isinstance(plot, Panels):
        layout = panels.layout(plot)
        x, y, marks = layout.x, layout.y, list[Curve | Bars](plot.curves)
    else:
        (x, y, _), marks = scales(plot), plot.marks
    data = _axes(x, y, {"marks": _marks(marks, y.axis.unit)}, linked=plot.linked)
    return script_data(json.dumps(data, separators=(",", ":")))


def _axes(x: Scale, y: Scale, extra: dict[str, Any], *, linked: bool) -> dict[str, Any]:
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
    return {**axes, "linked": linked, **extra}


MOST_EXACT = 8
"""Up to this many curves of a plot, values have five digits; beyond, as many as are shown."""


def _marks(marks: Sequence[Curve | Bars], unit: Unit) -> list[dict[str, Any]]:
    """The values of curves and bars; x values that equal those of an earlier one by its number."""
    entries: list[dict[str, Any]] = []
    first_uses: dict[str, int] = {}
    is_exact = len(marks) <= MOST_EXACT

    def values(numbers_: Floats) -> list[float | int | None]:
        return _list(numbers_, 5) if is_exact else _list(_round_as_shown(numbers_, unit), 5)

    for i, mark in enumerate(marks):
        if isinstance(mark, Curve):
            x = _encode_steps(_list(mark.x, 9) if is_exact else _list(_round(mark.x, 6), 6))
            entry: dict[str, Any] = {"y": values(mark.y)}
            if mark.low is not None and mark.high is not None:
                entry |= {"low": values(mark.low), "high": values(mark.high)}
        else:
            x = _list((mark.left + mark.right) / 2, 9)
            entry = {"y": values(mark.height)}
        first_use = first_uses.setdefault(json.dumps(x), i)
        entries.append({"name": mark.name, "x": x if first_use == i else first_use, **entry})
    return entries


def _round(values: Floats, digits: int) -> Floats:
    """`values` with this many significant digits."""
    rounded: Floats = np.array([float(f"{value:.{digits}g}") for value in values.tolist()])
    return rounded


def _round_as_shown(values: Floats, unit: Unit) -> Floats:
    """`values` with the digits that the script shows: rounding them again changes nothing."""
    if unit == "ratio":
        return np.where(np.abs(values) < 0.001, _round(values, 3), np.round(values, 3))
    if unit == "count":
        is_whole = (np.abs(values) >= 1000) & (np.abs(values) < 1e6) | (values == np.rint(values))
        return np.where(is_whole, np.rint(values), _round(values, 3))
    return np.where(np.abs(values) < 1e12, _round(values, 3), _round(values, 5))


def _encode_steps(x: list[float | int | None]) -> list[float | int | None] | dict[str, Any]:
    """Whole numbers as the first one and the steps between them, if that is shorter."""
    if len(x) < 8 or not all(isinstance(value, int) for value in x):
        return x
    integers = [value for value in x if isinstance(value, int)]
    steps = (following - previous for previous, following in itertools.pairwise(integers))
    runs = [[step, len([*equal_steps])] for step, equal_steps in itertools.groupby(steps)]
    return {"from": integers[0], "steps": runs} if len(runs) < len(x) / 3 else x


def loss_banner(losses: Iterable[str | None]) -> str:
    """The first part of the page if much of a trace was skipped."""
    texts = dict.fromkeys(text for text in losses if text)
    return "".join(f'<p><strong class="bad">Lost: {escape(text)}</strong></p>' for text in texts)


def warnings_box(warnings: Sequence[str]) -> str:
    """What a reader should know before using the numbers."""
    if not warnings:
        return '<p class="fine">No warnings.</p>'
    items = "".join(f"<li>{prose(text)}</li>" for text in warnings[:MOST_WARNINGS])
    omitted = len(warnings) - MOST_WARNINGS
    if omitted > 0:
        items += f"<li>And {omitted:,} more.</li>"
    return f'<ul class="warnings">{items}</ul>'


def warning_boxes(groups: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """Groups of warnings, each with its title; the marks of text are not shown."""
    return "".join(
        f"<h3>{title[0].upper()}{title[1:]}</h3>{warnings_box(texts)}" for title, _, texts in groups
    )


def invalidating_warnings(groups: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """The warnings that invalidate numbers, for the top of a page."""
    return warning_boxes(group for group in groups if group[0] != "notes")


def notes(groups: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """The other warnings."""
    return "".join(warnings_box(texts) for title, _, texts in groups if title == "notes")


def document(
    title: str, lead: str, sections: Sequence[Section], *, reload_s: int | None = None
) -> str:
    """The whole page, as one self-contained file. With `reload_s` it is reloaded regularly."""
    contents = "".join(
        f'<li><a href="#{section.key}">{escape(section.title)}</a></li>' for section in sections
    )
    body = "".join(
        f'<section id="{section.key}" aria-labelledby="{section.key}-title">'
        f'<h2 id="{section.key}-title">{escape(section.title)}</h2>{section.body}</section>'
        for section in sections
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
