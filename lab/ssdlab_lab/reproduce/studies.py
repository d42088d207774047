"""The studies that belong to no single paper, which `ssdlab reproduce` runs besides the papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ssdlab_lab.reproduce import maps, raid_beyond, separations, suspension
from ssdlab_lab.reproduce.combined import choices, page, study
from ssdlab_lab.reproduce.maps.choices import TITLE as MAPS
from ssdlab_lab.reproduce.separations.page import TITLE as SEPARATIONS
from ssdlab_lab.reproduce.suspension.choices import TITLE as SUSPENSION


class StudyOutcome(Protocol):
    """The outcome of a study."""

    @property
    def failures(self) -> Mapping[str, str]:
        """Runs that failed, and why."""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""

    @property
    def folder(self) -> Path:
        """The folder of its results."""


class StudyEntry(NamedTuple):
    """A study by its parts."""

    title: str
    run: Callable[..., StudyOutcome]
    """Takes `quick`, `jobs`, `on`, `out` and `progress`; raises what `reproduce` raises."""
    verdict: Callable[[Any], list[str]]
    """The lines that the command prints."""
    to_json: Callable[[Any], str]


STUDIES = {
    choices.NAME: StudyEntry(choices.TITLE, study.combined, page.verdict, page.to_json),
    "maps": StudyEntry(MAPS, maps.maps, maps.verdict, maps.to_json),
    raid_beyond.NAME: StudyEntry(
        raid_beyond.TITLE, raid_beyond.raid_beyond, raid_beyond.verdict, raid_beyond.to_json
    ),
    "separations": StudyEntry(
        SEPARATIONS, separations.separations, separations.verdict, separations.to_json
    ),
    "suspension": StudyEntry(
        SUSPENSION, suspension.suspension, suspension.verdict, suspension.to_json
    ),
}
"""By name."""
