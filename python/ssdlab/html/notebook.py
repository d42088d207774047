"""Plots of results in notebooks and as files, from the same code as the pages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from pathlib import Path

from ssdlab.display.form import Column, columns
from ssdlab.errors import ConfigError, OutputError
from ssdlab.html.answer import answer_figure
from ssdlab.html.compare_page import numbers_table
from ssdlab.html.page import Section, document, figures
from ssdlab.html.plot import Drawable, Figure, Missing
from ssdlab.html.png import png
from ssdlab.html.points_plots import bars, groups, heat, over_key
from ssdlab.html.run_page import run_figures
from ssdlab.html.search_page import points_table as tried_table
from ssdlab.html.search_plots import history
from ssdlab.html.svg import drawn
from ssdlab.html.sweep_page import numbers_table as points_table
from ssdlab.results import outputs, warned
from ssdlab.results.answer import AMOUNT
from ssdlab.results.comparison import Comparison
from ssdlab.results.points import Key, Points
from ssdlab.results.report import Report
from ssdlab.results.search import Search
from ssdlab.results.sweep import Sweep
from ssdlab.results.text import by_reason

MAIN = ("ccdf", "latency-time", "waf", "parts")
"""Plots of a run that are shown if none is requested."""
MOST_ROWS = 10
"""Points of a sweep in a notebook."""
KINDS = (".svg", ".png", ".html")


@dataclass(frozen=True, repr=False)
class Drawing:
    """Plots that notebooks show by themselves."""

    plots: tuple[Drawable, ...]

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the plot as `.svg` or `.png`, or any number of plots as `.html`. Returns the path.

        An existing file is replaced only with `force`. Raises `OutputError`.
        """
        if not isinstance(path, str | Path):
            message = f"save: found {path!r}; expected the name of a file, such as waf.svg"
            raise OutputError(message)
        file = Path(path)
        if file.suffix not in KINDS:
            raise OutputError(f"{file}: expected a name that ends with {', '.join(KINDS)}")
        if file.suffix == ".html":
            write = outputs.text(self._page())
        elif len(self.plots) > 1:
            names = ", ".join(one.key for one in self.plots)
            message = f"{file}: {len(self.plots)} plots; name one of them ({names}), or use .html"
            raise OutputError(message)
        else:
            text = drawn(self.plots[0], alone=True)
            write = png(text) if file.suffix == ".png" else outputs.text(text)
        return outputs.write_all({file: write}, force=force)[0]

    def _page(self) -> str:
        title = self.plots[0].title if len(self.plots) == 1 else f"{len(self.plots)} plots"
        return document(title, "", [Section("plots", "Plots", figures(self.plots))])

    def _svg(self, one: Drawable) -> str:
        text = drawn(one, alone=True).partition("\n")[2]
        # Plots of a notebook share a page, and so their names.
        unique = hashlib.sha256(text.encode()).hexdigest()[:12]
        return text.replace("clip-", f"clip-{unique}-")

    def _repr_svg_(self) -> str | None:
        return self._svg(self.plots[0]) if len(self.plots) == 1 else None

    def _repr_html_(self) -> str:
        style = "display:flex;flex-wrap:wrap;gap:8px"
        boxes = "".join(
            f'<div style="flex:1 1 420px;max-width:760px">{self._fluid(one)}</div>'
            for one in self.plots
        )
        return f'<div style="{style}">{boxes}</div>'

    def _fluid(self, one: Drawable) -> str:
        return self._svg(one).replace("<svg ", '<svg style="width:100%;height:auto" ', 1)

    def __repr__(self) -> str:
        return f"<{', '.join(one.title for one in self.plots)}>"


def _of(several: Sequence[Figure]) -> Drawing:
    """Those that can be drawn. Raises `ConfigError` with the reason if none can."""
    found = tuple(one for one in several if not isinstance(one, Missing))
    if not found:
        whys = [one.why for one in several if isinstance(one, Missing)]
        raise ConfigError([f"plot: {whys[0] if whys else 'there is nothing to draw'}"])
    return Drawing(found)


def _unknown(what: str, name: object, known: Iterable[str]) -> ConfigError:
    """`name` is none of `known`."""
    names = [*known]
    if not isinstance(name, str):
        return ConfigError([f"plot: {what}: found {name!r}; expected one of: {', '.join(names)}"])
    near = get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    return ConfigError([f"plot: {what}: no {name}; {hint}there are: {', '.join(names)}"])


def of_comparison(done: Comparison) -> str:
    """The answer of a comparison, its picture, the table of numbers, and what to know of them."""
    parts = [f"<p>{escape(one.text)}</p>" for one in done.answers]
    picture = answer_figure(done)
    if picture is not None:
        parts.append(Drawing((picture,))._repr_html_())
    parts.append(f'<div style="overflow-x:auto">{numbers_table(done)}</div>')
    parts += [f"<p>{escape(one)}</p>" for one in done.first_lines() if one]
    for label, why in by_reason(done.failures).items():
        parts.append(f"<p><b>{escape(label)} could not finish</b>: {escape(why)}</p>")
    return "".join([*parts, warned.cell(done.warning_groups())])


def of_sweep(done: Sweep) -> str:
    """The answer of a sweep, a plot over its first key with numbers, the lowest points."""
    parts = [f"<p>{escape(one)}</p>" for one in (done.answer, *done.first_lines()) if one]
    if done.points.numeric and AMOUNT in done.points.metrics:
        parts.append(of_points(done.points, AMOUNT, None, None)._repr_html_())
    parts.append(f'<div style="overflow-x:auto">{points_table(done, MOST_ROWS)}</div>')
    return "".join([*parts, warned.cell(done.warning_groups())])


def of_search(done: Search) -> str:
    """The answer of a search, its history, the best points."""
    parts = [f"<p>{escape(one)}</p>" for one in (done.answer, *done.warnings) if one]
    first = history(done, 0)
    parts += [] if isinstance(first, Missing) else [_of([first])._repr_html_()]
    table = tried_table(done, MOST_ROWS)
    return "".join([*parts, f'<div style="overflow-x:auto">{table}</div>'])


def of_report(report: Report, names: tuple[str, ...]) -> Drawing:
    """The plots of a run called `names`."""
    known = {one.key: one for one in run_figures(report)}
    for name in names:
        if name not in known:
            raise _unknown("names", name, known)
    wanted = names or [name for name in MAIN if name in known]
    return _of([known[name] for name in wanted])


def of_points(points: Points, metric: str, x: str | None, y: str | None) -> Drawing:
    """A column over one key, or over two; if no key has numbers, a bar for each point."""
    column = _metric(points, metric)
    if not points.numeric and x is None and y is None:
        return _of([bars(points, column)])
    if not points.numeric:
        names = ", ".join(key.name for key in points.keys) or "no key"
        message = f"plot: no key with several numbers was varied ({names} varied); nothing for x"
        raise ConfigError([message])
    across = points.numeric[0] if x is None else _key(points, "x", x)
    if y is None:
        return _of([over_key(points, column, across)])
    up = _key(points, "y", y)
    several = groups(points, points.named, 4)
    if len(several) < 2:
        return _of([heat(points, column, across, up)])
    return _of([heat(points, column, across, up, group) for group in several])


def _metric(points: Points, name: object) -> Column:
    if isinstance(name, str) and name in points.metrics:
        return points.metrics[name]
    if name in {one.name for one in columns() if one.measured}:
        raise ConfigError([f"plot: metric: no run has a number for {name}"])
    raise _unknown("metric", name, points.metrics)


def _key(points: Points, which: str, name: object) -> Key:
    known = points.key(name) if isinstance(name, str) else None
    if known in points.numeric and known is not None:
        return known
    if known is not None:
        raise ConfigError([f"plot: {which}: the values of {name} are no numbers, or only one"])
    raise _unknown(which, name, [key.name for key in points.numeric])
