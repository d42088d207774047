"""What is in a snapshot: `ssdlab.snapshot_info`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ssdlab import _core
from ssdlab.display.progress import Callback, show_progress
from ssdlab.errors import translate_errors


@dataclass(frozen=True)
class SnapshotInfo:
    """The contents of a snapshot."""

    digest: str
    """Digest of the state, as reports name it."""
    file_bytes: int
    """Length of the file."""
    host_pages_written: int
    """Pages written by the host so far, including preconditioning."""
    used_pages: int
    """Physical pages that are not erased."""
    valid_pages: int
    """Physical pages that hold live data."""
    extra_owners: int
    """Owners of pages beyond the first: a device needs a `remap.mode` to take them."""
    erases: int
    """Of all erase units."""
    config: dict[str, str | int | float | bool]
    """The keys on which the state depends, with their values as in a configuration file."""


def snapshot_info(path: str | Path, *, progress: bool | Callback = False) -> SnapshotInfo:
    """Read a whole snapshot and describe it. Raises `ConfigError` if it is not a snapshot."""
    with translate_errors(), show_progress(Path(path).name, progress) as callback:
        return SnapshotInfo(**json.loads(_core.snapshot_info(path, progress=callback)))
