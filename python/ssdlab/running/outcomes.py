"""The outcomes of a sweep in its folder: a file that grows by whole lines, and is never rewritten.

A process that is killed leaves at most a part of a line, which the next one cuts off. So an
interrupted sweep is resumed.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

from ssdlab.errors import OutputError
from ssdlab.results import outputs
from ssdlab.results.folder import check_replaceable, written_not
from ssdlab.results.sweep import JSON, OUTCOMES, VERSION, Outcome, readable


class Outcomes:
    """The outcomes stored in `folder`, by point and seed, to which others are added.

    `identity` is what the sweep runs, as parsed JSON: another sweep in the folder is refused unless
    `force` replaces it. Without `folder` nothing is stored. Raises `OutputError`.
    """

    def __init__(
        self,
        folder: Path | None,
        identity: Mapping[str, Any],
        *,
        force: bool = False,
        reads: tuple[Path, ...] = (),
    ) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        self.found: dict[tuple[int, int | None], Outcome] = {}
        self.file: FileIO | None = None
        if folder is None:
            return
        try:
            self._open(folder, identity, force, reads)
        except OSError as error:
            self.__exit__(None, None, None)
            raise written_not(error, folder) from error

    def _open(
        self, folder: Path, identity: Mapping[str, Any], force: bool, reads: tuple[Path, ...]
    ) -> None:
        if force or not _same(folder, identity):
            check_replaceable(folder, force, reads)
            if folder.is_dir():
                shutil.rmtree(folder)
            head = {"version": VERSION, "completed": False, "sweep": identity}
            text = outputs.text(json.dumps(head, indent=2, ensure_ascii=False) + "\n")
            outputs.write_all({folder / JSON: text}, force=True)
        self.file = (folder / OUTCOMES).open("a+b", buffering=0)
        _lock(folder, self.file)
        self.file.seek(0)
        data = self.file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self.file.truncate(whole)
        lines = data[:whole].decode("utf-8", "replace").splitlines()
        self.found = {(one.point, one.seed): one for one in readable(lines)}

    def add(self, one: Outcome) -> None:
        """Store an outcome, from any thread. Raises `OutputError`; what was stored before stays."""
        with self.lock:
            self._write(one)
            self.found[one.point, one.seed] = one

    def all(self) -> tuple[Outcome, ...]:
        """Those that are stored now."""
        with self.lock:
            return tuple(self.found.values())

    def _write(self, one: Outcome) -> None:
        if self.file is None or self.folder is None:
            return
        line = one.line().encode()
        end = self.file.seek(0, os.SEEK_END)
        try:
            # A full disk takes a part first, and says why only when asked for the rest.
            while line:
                line = line[self.file.write(line) :]
        except OSError as error:
            with suppress(OSError):
                self.file.truncate(end)
            place = self.folder / OUTCOMES
            reason = error.strerror or error
            message = f"{place}: cannot be written: {reason}; what is done is kept"
            raise OutputError(message) from error

    def __enter__(self) -> Outcomes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.file is not None:
            self.file.close()


def _lock(folder: Path, file: FileIO) -> None:
    """Keep other processes away until the file is closed."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing keeps two processes apart there.
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        message = f"{folder}: another process is sweeping into this folder"
        raise OutputError(message) from None


def _same(folder: Path, identity: Mapping[str, Any]) -> bool:
    """Whether `folder` holds this sweep. Raises `OutputError` if it holds another one."""
    try:
        values = json.loads((folder / JSON).read_text(encoding="utf-8"))
        stored = dict(values["sweep"])
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        message = f"{folder / JSON}: cannot be read; --force starts the sweep again"
        raise OutputError(message) from None
    apart = [key for key in identity if stored.get(key) != identity[key]]
    if not apart:
        return True
    which = ", ".join(dict.fromkeys(WORDS.get(key, key) for key in apart))
    message = f"{folder}: contains another sweep (with other {which}); --force replaces it,"
    raise OutputError(f"{message} --out names another folder")


WORDS = {
    "ssdlab": "version of ssdlab",
    "columns": "version of ssdlab",
    "preset": "preset",
    "file": "configuration",
    "set": "--set",
    "keys": "--vary",
    "log": "--vary",
    "draw": "--draw",
    "seed": "--seed",
    "traces": "traces",
    "seeds": "--seeds",
    "policies": "policies",
}
"""How the parts of what a sweep runs are called in messages."""
