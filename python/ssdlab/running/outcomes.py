"""The outcomes of the runs of a sweep, or of a fleet, in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab.results.sweep import JSON, OUTCOMES, VERSION, Outcome, readable
from ssdlab.running.lines import Form, Lines

WORDS = {
    "ssdlab": "version of ssdlab",
    "columns": "version of ssdlab",
    "preset": "preset",
    "file": "configuration",
    "policies": "policies",
}
"""How parts of what a sweep runs are called in messages."""
ARGUMENTS = {"keys": "vary", "log": "vary"}
FORM = Form("sweep", "sweeping", JSON, OUTCOMES, VERSION, WORDS, ARGUMENTS)


class Outcomes(Lines):
    """The outcomes stored in `folder`, by point and seed, to which others are added.

    `identity` is what is run, as parsed JSON: other runs in the folder are refused unless `force`
    replaces them. Without `folder` nothing is stored. Raises `OutputError`.
    """

    def __init__(
        self,
        folder: Path | None,
        identity: Mapping[str, Any],
        *,
        force: bool = False,
        reads: tuple[Path, ...] = (),
        form: Form = FORM,
    ) -> None:
        super().__init__(folder, identity, form, force=force, reads=reads)
        self.found = {(one.point, one.seed): one for one in readable(self.before)}

    def add(self, one: Outcome) -> None:
        """Store an outcome, from any thread. Raises `OutputError`; what was stored before stays."""
        self.write(one.line())
        with self.lock:
            self.found[one.point, one.seed] = one

    def all(self) -> tuple[Outcome, ...]:
        """Those that are stored now."""
        with self.lock:
            return tuple(self.found.values())

    def has_results(self) -> bool:
        """Whether a run that is stored has completed."""
        return any(not one.error for one in self.all())

    def __enter__(self) -> Outcomes:
        return self
