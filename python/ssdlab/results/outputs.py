"""Files that users request: either all of them are written, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from ssdlab.display.argument import argument
from ssdlab.errors import OutputError
from ssdlab.results.folder import write_error

Write: TypeAlias = "Callable[[BinaryIO], object]"
"""Writes the contents of a file."""

Ours: TypeAlias = "Callable[[Path], bool]"
"""Whether an existing file may be replaced without asking."""


def text(content: str) -> Write:
    """Writes a text."""
    return lambda out: out.write(content.encode())


def check(files: Iterable[Path], force: bool, ours: Ours = lambda _: False) -> None:
    """Raise `OutputError` if a file exists and neither `force` nor `ours` allows replacing it."""
    for file in files:
        if file.is_dir():
            raise OutputError(f"{file}: is a folder; name a file")
        if file.exists() and not force and not ours(file):
            raise OutputError(f"{file}: exists; {argument(force=True)} replaces it")


def write_all(
    files: Mapping[Path, Write], *, force: bool = False, ours: Ours = lambda _: False
) -> list[Path]:
    """Write every file and return their paths.

    An existing file is replaced with `force`, or if `ours` allows it; otherwise nothing is written.
    Raises `OutputError`.
    """
    check(files, force, ours)
    drafts = {file: file.with_name(f".{file.name}.unfinished") for file in files}
    try:
        for file, write in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with drafts[file].open("wb") as out:
                write(out)
        # A reader of an old file meanwhile sees all of it.
        for file, draft in drafts.items():
            draft.replace(file)
    except FileExistsError as error:
        raise OutputError(f"{error.filename}: is not a folder") from error
    except OSError as error:
        raise write_error(error, file) from error
    finally:
        for draft in drafts.values():
            with suppress(OSError):
                draft.unlink()
    return list(files)
