"""The table of the runs of a sweep, a search or a fleet: a row for each that has ended.

Its file grows by whole lines and is never rewritten. A killed process leaves at most part of a
line, which the next one cuts off. So what was interrupted can be resumed.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ssdlab.display.argument import argument
from ssdlab.errors import ConfigError, OutputError, WorkloadError
from ssdlab.results import outputs
from ssdlab.results.folder import check_replaceable, replacement_hint, write_error
from ssdlab.running.runner import PlannedRun, RunEnd

if TYPE_CHECKING:
    from typing_extensions import Self


class RowLike(Protocol):
    """The least that a row has."""

    @property
    def error(self) -> str:
        """Why the run failed, or cannot run; empty if it has results."""


Key = TypeVar("Key", bound=Hashable)
Row = TypeVar("Row", bound=RowLike)


@dataclass(frozen=True)
class Form:
    """The contents of a folder of lines."""

    what: str
    """`sweep`, `search`: its name, and the key of its identity in `head`."""
    doing: str
    """`sweeping`: the activity of a process that uses it."""
    head: str
    """Name of the file that identifies it, as JSON."""
    lines: str
    """Name of the file that grows."""
    version: int
    """The version of these files."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Arguments for parts of the identity that have other names."""


WORDS = {
    "ssdlab": "version of ssdlab",
    "columns": "version of ssdlab",
    "optuna": "version of Optuna",
    "preset": "preset",
    "file": "configuration",
    "policies": "policies",
    "traces": "traces",
}
"""The names of parts of an identity in messages, if they are not arguments."""


class RunTable(ABC, Generic[Key, Row]):
    """The rows in a folder, to which others are added; without `folder` nothing is stored.

    `identity` defines what the rows belong to, as parsed JSON: a folder of another one is refused
    unless `force` replaces it. Other processes are excluded until the end of the context. Raises
    `OutputError`.
    """

    def __init__(
        self,
        folder: Path | None,
        identity: Mapping[str, Any],
        form: Form,
        *,
        force: bool = False,
        reads: tuple[Path, ...] = (),
    ) -> None:
        self.folder = folder
        self.form = form
        self.lock = threading.Lock()
        self.rows: dict[Key, Row] = {}
        """By what identifies the run."""
        self.file: FileIO | None = None
        self.created: list[Path] = []
        """New folders, the innermost first."""
        if folder is None:
            return
        try:
            self._open(folder, identity, force, reads)
        except OSError as error:
            self.__exit__(None, None, None)
            raise write_error(error, folder) from error

    def _open(
        self, folder: Path, identity: Mapping[str, Any], force: bool, reads: tuple[Path, ...]
    ) -> None:
        form = self.form
        if force or not _is_same(folder, identity, form):
            check_replaceable(folder, force, reads)
            if folder.is_dir():
                shutil.rmtree(folder)
            self.created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
            head = {"version": form.version, "completed": False, form.what: identity}
            text = outputs.text(json.dumps(head, indent=2, ensure_ascii=False) + "\n")
            outputs.write_all({folder / form.head: text}, force=True)
        self.file = (folder / form.lines).open("a+b", buffering=0)
        _lock(folder, self.file, form)
        for line in complete_lines(self.file).decode("utf-8", "replace").splitlines():
            with suppress(ValueError, KeyError, TypeError):  # damaged: the run is made again
                key, row = self.of_line(line)
                self.rows[key] = row

    @abstractmethod
    def row(self, key: Key, ending: RunEnd) -> Row:
        """The row of a run that has completed or failed."""

    @abstractmethod
    def line(self, key: Key, row: Row) -> str:
        """A row as a line of the file."""

    @abstractmethod
    def of_line(self, line: str) -> tuple[Key, Row]:
        """The row in a line. Raises `ValueError`, `KeyError` or `TypeError` if it is damaged."""

    def take(self, run: PlannedRun, ending: RunEnd) -> None:
        """Add the row of a run; the outcome of one that Ctrl-C has stopped is unknown."""
        if ending.how != "interrupted":
            self.add(run.key, self.row(run.key, ending))

    def add(self, key: Key, row: Row) -> None:
        """Add a row, from any thread. Raises `OutputError`; what was stored before stays."""
        self.write(self.line(key, row))
        with self.lock:
            self.rows[key] = row

    def ended(self) -> tuple[Row, ...]:
        """The rows of now."""
        with self.lock:
            return tuple(self.rows.values())

    def has_results(self) -> bool:
        """Whether a run has completed."""
        return any(not row.error for row in self.ended())

    def write(self, line: str) -> None:
        """Add a line, from any thread. Raises `OutputError`; what was stored before stays."""
        if self.file is None or self.folder is None:
            return
        unwritten = line.encode()
        with self.lock:
            end = self.file.seek(0, os.SEEK_END)
            try:
                # A full disk takes a part first, and reports the error only for the rest.
                while unwritten:
                    unwritten = unwritten[self.file.write(unwritten) :]
            except OSError as error:
                with suppress(OSError):
                    self.file.truncate(end)
                path = self.folder / self.form.lines
                reason = error.strerror or error
                message = f"{path}: cannot be written: {reason}; what is done is kept"
                raise OutputError(message) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.file is not None:
            self.file.close()
        # Bad input leaves nothing behind.
        if (
            self.created
            and isinstance(error, ConfigError | WorkloadError)
            and not self.has_results()
        ):
            with suppress(OSError):
                shutil.rmtree(self.created[0])
                for parent in self.created[1:]:
                    parent.rmdir()


def complete_lines(file: FileIO) -> bytes:
    """The lines of a file that may end with part of a line, which is cut off."""
    file.seek(0)
    data = file.read()
    end = data.rfind(b"\n") + 1
    if end < len(data):
        file.truncate(end)
    return data[:end]


def _lock(folder: Path, file: FileIO, form: Form) -> None:
    """Exclude other processes until the file is closed."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing keeps two processes apart there.
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        message = f"{folder}: another process is {form.doing} into this folder"
        raise OutputError(message) from None


def _is_same(folder: Path, identity: Mapping[str, Any], form: Form) -> bool:
    """Whether `folder` holds this. Raises `OutputError` if it holds another one."""
    try:
        values = json.loads((folder / form.head).read_text(encoding="utf-8"))
        stored = dict(values[form.what])
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        hint = f"{argument(force=True)} starts the {form.what} again"
        message = f"{folder / form.head}: cannot be read; {hint}"
        raise OutputError(message) from None
    mismatches = [key for key in identity if stored.get(key) != identity[key]]
    if not mismatches:
        return True
    words = [WORDS.get(key) or argument(form.arguments.get(key, key)) for key in mismatches]
    names = ", ".join(dict.fromkeys(words))
    message = f"{folder}: contains another {form.what} (with other {names}); {replacement_hint()}"
    raise OutputError(message)
