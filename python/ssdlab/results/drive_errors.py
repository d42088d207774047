"""Named drives, and how far each is off from what was published of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

from ssdlab import _core
from ssdlab.config.resolve import DRIVE

KEPT = "drive_errors.json"
"""In this folder: the errors that the last comparison found (`ssdlab drives compare`)."""


@dataclass(frozen=True)
class Errors:
    """Of a drive as a whole; None where nothing was published, or a run is missing."""

    waf_mean: float | None
    """Mean of the absolute relative errors of its predicted write amplifications."""
    waf_largest: float | None
    knee: float | None
    """Relative, of the middle of its knee."""

    def text(self) -> str:
        """In words."""
        said = []
        if self.waf_mean is not None and self.waf_largest is not None:
            said.append(
                f"write amplification off by {100 * self.waf_mean:.1f} % on average, at most"
                f" {100 * self.waf_largest:.1f} %"
            )
        if self.knee is not None:
            said.append(f"knee {100 * self.knee:+.0f} %")
        return ", ".join(said) or "not compared"


def kept() -> dict[str, Errors]:
    """The errors of the comparison that is in the documentation, by drive."""
    text = files("ssdlab.results").joinpath(KEPT).read_text(encoding="utf-8")
    return {name: Errors(**values) for name, values in json.loads(text).items()}


def drive_of(preset: str | None) -> str:
    """A named drive and its errors, in words; empty if the preset is no named drive."""
    if preset is None or not preset.startswith(DRIVE):
        return ""
    presets = json.loads(_core.registry())["presets"]
    titles = {one["name"]: one["published"]["title"] for one in presets if one["published"]}
    if preset not in titles:
        return ""
    errors = kept().get(preset, Errors(None, None, None))
    return f"{titles[preset]} ({preset}; against published figures: {errors.text()})"
