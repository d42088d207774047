"""Folders of runs: written aside and renamed when complete, so that none is ever half written."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ssdlab.comparison import CSV, JSON, TEXT
from ssdlab.errors import InternalError, OutputError
from ssdlab.html import PAGE
from ssdlab.report import CONFIG, DISTRIBUTIONS, LOGS, REPORT, SERIES, SUMMARY

WRITTEN = {REPORT, CONFIG, SERIES, DISTRIBUTIONS, SUMMARY, PAGE, *LOGS.values(), JSON, CSV, TEXT}
EXPORTS = "export"
"""Where `ssdlab export` puts its files unless it is told."""


def _foreign(folder: Path) -> Path | None:
    """A file in `folder` that no run has written, if there is one."""
    for entry in sorted(folder.rglob("*")):
        place = entry.relative_to(folder)
        if not entry.is_dir() and entry.name not in WRITTEN and EXPORTS not in place.parts[:-1]:
            return place
    return None


def _refusal(folder: Path, force: bool) -> str | None:
    """Why results may not go to `folder`, if so."""
    if not os.path.lexists(folder):
        return None
    if not folder.is_dir():
        return f"{folder}: exists and is not a folder; choose another --out"
    held = {entry.name for entry in folder.iterdir()}
    if not held:
        return None
    if not held & {REPORT, JSON}:
        return f"{folder}: holds other files than those of a run; choose another --out"
    if not force:
        return f"{folder}: holds a run already; --force replaces it, --out names another folder"
    foreign = _foreign(folder)
    if foreign is not None:
        return (
            f"{folder}: holds {foreign}, which is not of a run and would be lost; move it or choose"
            " another --out"
        )
    return None


def written_not(error: OSError, folder: Path) -> OutputError:
    """`error` as a message that names the place."""
    if isinstance(error, OutputError):
        return error
    place = error.filename or folder
    reason = error.strerror or str(error)
    return OutputError(f"{place}: cannot be written: {reason}")


def _prefix(target: Path) -> str:
    """How the names of drafts of `target` begin."""
    return f".{target.name}.unfinished-"


def unfinished(target: Path) -> list[Path]:
    """Drafts of the folder `target` that somebody left behind who was ended."""
    prefix = _prefix(target)
    beside = target.parent.iterdir() if target.parent.is_dir() else ()
    return [entry for entry in beside if entry.name.startswith(prefix)]


class Draft:
    """A folder being written beside the place where it will stand."""

    def __init__(self, target: Path, force: bool) -> None:
        self.target = target
        self.force = force
        self._check()
        above = [target.parent, *target.parent.parents]
        self.made = [folder for folder in above if not folder.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        self.path.chmod(0o777 & ~_umask())

    def _check(self) -> None:
        refusal = _refusal(self.target, self.force)
        if refusal:
            raise OutputError(refusal)

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder."""
        file = self.path / name
        try:
            with file.open("w", encoding="utf-8", newline="\n") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            # A write that fails does not know the name of its file.
            raise OSError(error.errno, error.strerror, str(file)) from error

    def keep(self) -> None:
        """Put the folder in its place."""
        self._check()
        old = self.path.with_name(self.path.name + "-replaced")
        replaced = self.target.is_dir() and any(self.target.iterdir())
        if replaced:
            self.target.rename(old)
        elif self.target.is_dir():
            self.target.rmdir()
        try:
            self.path.rename(self.target)
        except OSError:
            if replaced:
                old.rename(self.target)
            raise
        if replaced:
            shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def draft(target: Path, force: bool) -> Iterator[Draft]:
    """A draft of the folder `target`; what is not kept is removed. Raises `OutputError`."""
    try:
        made = Draft(target, force)
    except OutputError:
        raise
    except FileExistsError as error:
        message = f"{target}: cannot be made: {error.filename} is not a folder"
        raise OutputError(message) from error
    except OSError as error:
        raise OutputError(f"{target}: cannot be made: {error.strerror or error}") from error
    try:
        yield made
    except OutputError:
        raise
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise written_not(error, target) from error
    finally:
        with suppress(OSError):
            shutil.rmtree(made.path)
        # Nothing was kept: neither are the folders that were made for it.
        with suppress(OSError):
            for folder in made.made:
                folder.rmdir()


def keep_with_page(made: Draft, page: Callable[[], str] | None) -> None:
    """Put a draft in its place, with the page that `page` makes.

    A page that cannot be made must not cost the results: they are kept, then the error is raised.
    """
    trouble = None
    if page is not None:
        try:
            text = page()
        except Exception as error:
            trouble = error
        else:
            made.write(PAGE, text)
    made.keep()
    if trouble is not None:
        message = (
            f"{made.target} holds the results, but not their page:"
            f" {type(trouble).__name__}: {trouble}"
        )
        raise InternalError(message) from trouble


def put(file: Path, text: str) -> None:
    """Write a file whole or not at all, in the place of one that is there. Raises `OutputError`."""
    draft_file = file.with_name(f".{file.name}.unfinished")
    try:
        draft_file.write_text(text, encoding="utf-8", newline="\n")
        draft_file.replace(file)
    except OSError as error:
        raise written_not(error, file) from error
