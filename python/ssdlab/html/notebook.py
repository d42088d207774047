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
from ssdlab.html.plot import Drawable, Figure, MissingPlot
from ssdlab.html.png import png
from ssdlab.html.points_plots import bars, groups, heat, over_key
from ssdlab.html.run_page import run_figures
from ssdlab.html.search_page import points_table as tried_table
from ssdlab.html.search_plots import history
from ssdlab.html.svg import draw
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
            names = ", ".join(plot.key for plot in self.plots)
            message = f"{file}: {len(self.plots)} plots; name one of them ({names}), or use .html"
            raise OutputError(message)
        else:
            text = draw(self.plots[0], is_file=True)
            write = png(text) if file.suffix == ".png" else outputs.text(text)
        return outputs.write_all({file: write}, force=force)[0]

    def _page(self) -> str:
        title = self.plots[0].title if len(self.plots) == 1 else f"{len(self.plots)} plots"
        return document(title, "", [Section("plots", "Plots", figures(self.plots))])

    def _svg(self, plot: Drawable) -> str:
        text = draw(plot, is_file=True).partition("\n")[2]
        # Plots of a notebook share a page, and so their names.
        unique = hashlib.sha256(text.encode()).hexdigest()[:12]
        return text.replace("clip-", f"clip-{unique}-")

    def _repr_svg_(self) -> str | None:
        return self._svg(self.plots[0]) if len(self.plots) == 1 else None

    def _repr_html_(self) -> str:
        style = "display:flex;flex-wrap:wrap;gap:8px"
        boxes = "".join(
            f'<div style="flex:1 1 420px;max-width:760px">{self._fluid(plot)}</div>'
            for plot in self.plots
        )
        return f'<div style="{style}">{boxes}</div>'

    def _fluid(self, plot: Drawable) -> str:
        return self._svg(plot).replace("<svg ", '<svg style="width:100%;height:auto" ', 1)

    def __repr__(self) -> str:
        return f"<{', '.join(plot.title for plot in self.plots)}>"


def _drawing_of(figures_: Sequence[Figure]) -> Drawing:
    """Those that can be drawn. Raises `ConfigError` with the reason if none can."""
    plots = tuple(figure for figure in figures_ if not isinstance(figure, MissingPlot))
    if not plots:
        reasons = [figure.reason for figure in figures_ if isinstance(figure, MissingPlot)]
        raise ConfigError([f"plot: {reasons[0] if reasons else 'there is nothing to draw'}"])
    return Drawing(plots)


def _unknown(argument: str, name: object, choices: Iterable[str]) -> ConfigError:
    """`name` is none of `choices`."""
    names = [*choices]
    if not isinstance(name, str):
        return ConfigError(
            [f"plot: {argument}: found {name!r}; expected one of: {', '.join(names)}"]
        )
    matches = get_close_matches(name, names, 1)
    hint = f"did you mean {matches[0]}? " if matches else ""
    return ConfigError([f"plot: {argument}: no {name}; {hint}there are: {', '.join(names)}"])


def of_comparison(comparison: Comparison) -> str:
    """The answer of a comparison, its picture, the table of numbers, and what to know of them."""
    parts = [f"<p>{escape(answer.text)}</p>" for answer in comparison.answers]
    picture = answer_figure(comparison)
    if picture is not None:
        parts.append(Drawing((picture,))._repr_html_())
    parts.append(f'<div style="overflow-x:auto">{numbers_table(comparison)}</div>')
    parts += [f"<p>{escape(line)}</p>" for line in comparison.first_lines() if line]
    for label, reason in by_reason(comparison.failures).items():
        parts.append(f"<p><b>{escape(label)} could not finish</b>: {escape(reason)}</p>")
    return "".join([*parts, warned.cell(comparison.warning_groups())])


def of_sweep(sweep: Sweep) -> str:
    """The answer of a sweep, a plot over its first key with numbers, the lowest points."""
    parts = [f"<p>{escape(text)}</p>" for text in (sweep.answer, *sweep.first_lines()) if text]
    if sweep.points.numeric and AMOUNT in sweep.points.metrics:
        parts.append(of_points(sweep.points, AMOUNT, None, None)._repr_html_())
    parts.append(f'<div style="overflow-x:auto">{points_table(sweep, MOST_ROWS)}</div>')
    return "".join([*parts, warned.cell(sweep.warning_groups())])


def of_search(search: Search) -> str:
    """The answer of a search, its history, the best points."""
    parts = [f"<p>{escape(text)}</p>" for text in (search.answer, *search.warnings) if text]
    figure = history(search, 0)
    parts += [] if isinstance(figure, MissingPlot) else [_drawing_of([figure])._repr_html_()]
    table = tried_table(search, MOST_ROWS)
    return "".join([*parts, f'<div style="overflow-x:auto">{table}</div>'])


def of_report(report: Report, names: tuple[str, ...]) -> Drawing:
    """The plots of a run called `names`."""
    figures_by_key = {figure.key: figure for figure in run_figures(report)}
    for name in names:
        if name not in figures_by_key:
            raise _unknown("names", name, figures_by_key)
    selected = names or [name for name in MAIN if name in figures_by_key]
    return _drawing_of([figures_by_key[name] for name in selected])


def of_points(points: Points, metric: str, x: str | None, y: str | None) -> Drawing:
    """A column over one key, or over two; if no key has numbers, a bar for each point."""
    column = _metric(points, metric)
    if not points.numeric and x is None and y is None:
        return _drawing_of([bars(points, column)])
    if not points.numeric:
        names = ", ".join(key.name for key in points.keys) or "no key"
        message = f"plot: no key with several numbers was varied ({names} varied); nothing for x"
        raise ConfigError([message])
    x_key = points.numeric[0] if x is None else _key(points, "x", x)
    if y is None:
        return _drawing_of([over_key(points, column, x_key)])
    y_key = _key(points, "y", y)
    groups_ = groups(points, points.named, 4)
    if len(groups_) < 2:
        return _drawing_of([heat(points, column, x_key, y_key)])
    return _drawing_of([heat(points, column, x_key, y_key, group) for group in groups_])


def _metric(points: Points, name: object) -> Column:
    if isinstance(name, str) and name in points.metrics:
        return points.metrics[name]
    if name in {column.name for column in columns() if column.measured}:
        raise ConfigError([f"plot: metric: no run has a number for {name}"])
    raise _unknown("metric", name, points.metrics)


def _key(points: Points, argument: str, name: object) -> Key:
    key = points.key(name) if isinstance(name, str) else None
    if key in points.numeric and key is not None:
        return key
    if key is not None:
        raise ConfigError([f"plot: {argument}: the values of {name} are no numbers, or only one"])
    raise _unknown(argument, name, [key.name for key in points.numeric])
