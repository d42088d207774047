"""Plots of results in notebooks. The package `html`, which uses this one, supplies the drawer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ssdlab.results.comparison import Comparison
    from ssdlab.results.points import Points
    from ssdlab.results.report import Report
    from ssdlab.results.search import Search
    from ssdlab.results.sweep import Sweep


class Drawing(Protocol):
    """Plots that notebooks show by themselves."""

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the plot as `.svg` or `.png`, or any number of plots as `.html`. Returns the path.

        An existing file is replaced only with `force`. Raises `OutputError`.
        """

    def _repr_html_(self) -> str: ...

    def _repr_svg_(self) -> str | None: ...


class Drawer(Protocol):
    """Draws results."""

    def of_report(self, report: Report, names: tuple[str, ...]) -> Drawing:
        """The plots of a run called `names`."""

    def of_comparison(self, comparison: Comparison) -> str:
        """A comparison in a notebook, as HTML."""

    def of_sweep(self, sweep: Sweep) -> str:
        """A sweep in a notebook, as HTML."""

    def of_search(self, search: Search) -> str:
        """A search in a notebook, as HTML."""

    def of_points(self, points: Points, metric: str, x: str | None, y: str | None) -> Drawing:
        """A column over one key, or over two."""


_find: Callable[[], Drawer] | None = None


def draw_with(find: Callable[[], Drawer]) -> None:
    """Let `find` supply the drawer when the first plot is drawn."""
    global _find
    _find = find


def drawer() -> Drawer:
    """What draws results."""
    assert _find is not None, "ssdlab/__init__.py supplies the drawer"
    return _find()
