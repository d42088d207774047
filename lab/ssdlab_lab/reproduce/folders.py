"""The folder of a reproduction: what its runs have in common, and whether it can be resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ssdlab.errors import OutputError, WorkloadError
from ssdlab.results import outputs
from ssdlab.versions import described
from ssdlab_lab.reproduce import registration
from ssdlab_lab.reproduce.paper import Recording

JSON = "reproduction.json"
VERSION = 5
"""Version of reproduction.json and of the folder. 4: scores instead of counted improvements. 5: the
registered choices, and the commit at which runs were started."""


def folder_of(name: str, quick: bool, out: str | Path | None) -> Path:
    """Where results go: `out`, or a folder in `runs`."""
    return Path("runs") / (f"{name}-quick" if quick else name) if out is None else Path(out)


@dataclass(frozen=True)
class FolderProperties:
    """The common properties of all results in the folder of a reproduction."""

    paper: str
    quick: bool
    traces: Mapping[str, str]
    """SHA-256 of recorded traces, by workload."""
    registered: str
    """SHA-256 of the registered choices."""
    commit: str | None
    """The commit at which the first run was started; None outside a checkout."""

    @staticmethod
    def of(paper: str, quick: bool, recordings: Mapping[str, Recording]) -> FolderProperties:
        """Those of what is to be run now. Raises `ConfigError` and `WorkloadError`."""
        try:
            digests = {
                name: sha256(recording.file.read_bytes()) for name, recording in recordings.items()
            }
        except OSError as error:
            raise WorkloadError(f"{error.filename}: {error.strerror}") from error
        return FolderProperties(
            paper,
            quick,
            {name: digest.hexdigest() for name, digest in digests.items()},
            registration.digest(paper),
            registration.commit(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Its part of reproduction.json."""
        return {"version": VERSION, "ssdlab": described(), **asdict(self)}

    def stated(self) -> str:
        """The sentence of a page on the registered choices."""
        return registration.stated(self.paper, self.commit, self.registered)

    def refused(self, stored: Mapping[str, Any]) -> str | None:
        """Why results with the values `stored` cannot be resumed."""
        if stored["version"] != VERSION:
            return f"of version {stored['version']}, this is version {VERSION}"
        if stored["paper"] != self.paper:
            return f"of {stored['paper']}, not of {self.paper}"
        if stored["quick"] != self.quick:
            return f"{'written with' if stored['quick'] else 'written without'} --quick"
        if stored["registered"] != self.registered:
            return "run under other choices than those registered now"
        for name, digest in self.traces.items():
            if stored["traces"].get(name, digest) != digest:
                return f"the recorded trace of {name} was a different one"
        return None


def check_folder(folder: Path, current: FolderProperties) -> FolderProperties:
    """Create the folder, or refuse one whose results do not match.

    Returns the properties of all runs that are or will be in it: the traces of all workloads, and
    the commit at which the first run was started.
    """
    file, common = folder / JSON, current
    if file.exists():
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
            reason = current.refused(values)
            if reason is None:
                traces = {**values["traces"], **current.traces}
                common = replace(current, traces=traces, commit=values["commit"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{file}: not a reproduction; choose another --out"
            raise OutputError(message) from error
        if reason is not None:
            raise OutputError(f"{file}: {reason}; choose another --out")
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder}: contains other files; choose another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            head = {**current.to_dict(), "completed": False}
            outputs.write_all({file: outputs.text(json.dumps(head) + "\n")})
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror or error}") from error
    return common
