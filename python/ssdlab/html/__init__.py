"""Results as a page to look at: one HTML file that needs no other, and plots as SVG files.

Route: `curves` (series and distributions) -> `run_plots`, `compare_plots`, `points_plots` (what is
shown) -> `svg`, `maps` (how it is drawn) -> `run_page`, `compare_page`, `sweep_page` (the page).
The style sheets and scripts in this folder are included in the page. `notebook` shows single plots.
"""

from ssdlab.results import drawing


def _drawer() -> drawing.Drawer:
    from ssdlab.html import notebook  # needs numpy, which is slow to import

    return notebook


def draw_results() -> None:
    """Let reports, comparisons and sweeps draw themselves."""
    drawing.draw_with(_drawer)
