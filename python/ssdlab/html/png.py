"""Plots as PNG files, drawn from their SVG by resvg."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ssdlab.errors import OutputError
from ssdlab.versions import install

if TYPE_CHECKING:
    from ssdlab.results.outputs import Write

ZOOM = 1.5
"""Pixels for one of the SVG: 300 dots an inch on 14 cm."""
FONTS = ("DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica", "Segoe UI")
PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{}</svg>'


def png(svg: str) -> Write:
    """Writes `svg` as PNG. Raises `OutputError` without resvg-py or without any font."""
    try:
        import resvg_py
    except ImportError as error:
        message = f"PNG needs resvg-py: {install('resvg-py')}"
        raise OutputError(f"{message}; SVG needs nothing") from error
    font = _font()
    return lambda out: out.write(
        resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM, sans_serif_family=font)
    )


@cache
def _font() -> str:
    """An existing font: without one all letters would be left out silently."""
    import resvg_py

    blank = resvg_py.svg_to_bytes(svg_string=PROBE.format(""))
    for name in FONTS:
        letter = f'<text y="9" font-family="{name}">m</text>'
        if resvg_py.svg_to_bytes(svg_string=PROBE.format(letter)) != blank:
            return name
    raise OutputError(f"PNG needs a font, one of {', '.join(FONTS)}; SVG needs none")
