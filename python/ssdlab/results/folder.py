"""Folders of runs, written under another name and renamed when complete: none is incomplete."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ssdlab.display.argument import argument
from ssdlab.errors import InternalError, OutputError
from ssdlab.results.names import ANSWERS, FOLDERS, PAGE, SEARCH_JSON, WRITTEN


def _foreign(folder: Path) -> Path | None:
    """A file in `folder` that no run has written, if there is one."""
    for entry in sorted(folder.rglob("*")):
        relative = entry.relative_to(folder)
        if (
            not entry.is_dir()
            and entry.name not in WRITTEN
            and not {*FOLDERS} & {*relative.parts[:-1]}
        ):
            return relative
    return None


def check_replaceable(folder: Path, force: bool, reads: Iterable[Path] = ()) -> None:
    """Raise `OutputError` if results may not go to `folder`; no file of `reads` may be in it."""
    refusal = _refusal(folder, force, reads)
    if refusal:
        raise OutputError(refusal)


def _refusal(folder: Path, force: bool, reads: Iterable[Path]) -> str | None:
    """Why results may not go to `folder`, if so; `reads`: files that it must not contain."""
    if not os.path.lexists(folder):
        return None
    real, cwd = folder.resolve(), Path.cwd()
    hint = f"choose another folder with {argument('out')}"
    if real in (cwd, *cwd.parents):
        relation = "is the current folder" if real == cwd else "contains the current folder"
        return f"{folder}: {relation} and cannot be replaced; {hint}"
    for file in reads:
        if real in file.resolve().parents:
            return f"{folder}: contains {file}, the configuration of this run; {hint}"
    if not folder.is_dir():
        return f"{folder}: exists and is not a folder; {hint}"
    names = {entry.name for entry in folder.iterdir() if not entry.name.endswith(".unfinished")}
    if not names:
        return None
    if not names & {*ANSWERS, SEARCH_JSON}:
        return f"{folder}: contains files that are not from a run; {hint}"
    if not force:
        return f"{folder}: contains a run; {replacement_hint()}"
    foreign = _foreign(folder)
    if foreign is not None:
        return (
            f"{folder}: contains {foreign}, which is not from a run and would be lost; move it or"
            f" {hint}"
        )
    return None


def replacement_hint() -> str:
    """What to do about a folder that already has results."""
    return f"{argument(force=True)} replaces it, {argument('out')} names another folder"


def write_error(error: OSError, folder: Path) -> OutputError:
    """`error` as a message that names the place."""
    if isinstance(error, OutputError):
        return error
    place = error.filename or folder
    reason = error.strerror or str(error)
    return OutputError(f"{place}: cannot be written: {reason}")


REPLACED = "-replaced"
"""The suffix of a folder while another one takes its place."""


def _prefix(target: Path) -> str:
    """The prefix of the names of drafts of `target` that are created on this machine."""
    return f".{target.name}.unfinished-{socket.gethostname()}-"


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # Asking would end it.
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def remove_stale(target: Path) -> None:
    """Remove the drafts of the folder `target` that killed processes have left behind.

    A process killed while it replaced a folder has moved that away: it is put back.
    """
    prefix = _prefix(target)
    siblings = target.parent.iterdir() if target.parent.is_dir() else ()
    for entry in sorted(siblings):
        number = entry.name.removeprefix(prefix).partition("-")[0]
        if not entry.name.startswith(prefix) or not number.isdecimal() or _is_alive(int(number)):
            continue
        if entry.name.endswith(REPLACED) and not os.path.lexists(target):
            entry.rename(target)
        else:
            shutil.rmtree(entry, ignore_errors=True)


def _is_completed(folder: Path) -> bool:
    """Whether `folder` holds the results of a run or a comparison that completed."""
    for name in ANSWERS:
        with suppress(OSError, ValueError, AttributeError):
            values = json.loads((folder / name).read_text(encoding="utf-8"))
            return bool(values.get("completed"))
    return False


class Draft:
    """A folder that is being written next to its final place."""

    def __init__(self, target: Path, force: bool, reads: Iterable[Path]) -> None:
        self.target = target if target.name not in ("", "..") else target.resolve()
        self.force = force
        self.reads = tuple(reads)
        remove_stale(self.target)
        check_replaceable(self.target, self.force, self.reads)
        parent = self.target.parent
        self.created_parents = [
            folder for folder in (parent, *parent.parents) if not folder.exists()
        ]
        parent.mkdir(parents=True, exist_ok=True)
        prefix = f"{_prefix(self.target)}{os.getpid()}-"
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self.path.chmod(0o777 & ~_umask())

    def settle(self, completed: bool) -> None:
        """Choose the final place: an incomplete run does not replace a complete one.

        It goes to the first free of NAME-partial, NAME-partial-2, ... next to it.
        """
        if completed or not _is_completed(self.target):
            return
        original = self.target
        self.target, number = original.with_name(f"{original.name}-partial"), 2
        while os.path.lexists(self.target):
            self.target, number = (
                original.with_name(f"{original.name}-partial-{number}"),
                number + 1,
            )

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder."""
        file = self.path / name
        try:
            with file.open("w", encoding="utf-8", newline="\n") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            # The error of a failed write does not contain the name of its file.
            raise OSError(error.errno, error.strerror, str(file)) from error

    def keep(self) -> None:
        """Move the folder to its place."""
        check_replaceable(self.target, self.force, self.reads)
        old = self.path.with_name(self.path.name + REPLACED)
        is_replacing = self.target.is_dir() and any(self.target.iterdir())
        if is_replacing:
            self.target.rename(old)
        elif self.target.is_dir():
            self.target.rmdir()
        try:
            self.path.rename(self.target)
        except OSError:
            if is_replacing:
                old.rename(self.target)
            raise
        if is_replacing:
            shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def draft(target: Path, force: bool, reads: Iterable[Path] = ()) -> Iterator[Draft]:
    """A draft of the folder `target`; what is not kept is removed. Raises `OutputError`.

    With `force` it may replace an existing run, unless that contains one of the files `reads`.
    """
    try:
        result = Draft(target, force, reads)
    except OutputError:
        raise
    except FileExistsError as error:
        message = f"{target}: cannot be created: {error.filename} is not a folder"
        raise OutputError(message) from error
    except OSError as error:
        raise OutputError(f"{target}: cannot be created: {error.strerror or error}") from error
    try:
        yield result
    except OutputError:
        raise
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise write_error(error, target) from error
    finally:
        with suppress(OSError):
            shutil.rmtree(result.path)
        # Nothing was kept, so the folders that were created for it are removed, too.
        with suppress(OSError):
            for folder in result.created_parents:
                folder.rmdir()


def keep_with_page(draft: Draft, page: Callable[[], str] | None) -> None:
    """Move a draft to its place, with the page that `page` returns.

    A page that cannot be written must not cost the results: they are kept before the error.
    """
    page_error: Exception | None = None
    if page is not None:
        try:
            draft.write(PAGE, page())
        except Exception as error:
            page_error = error
            (draft.path / PAGE).unlink(missing_ok=True)
    draft.keep()
    if page_error is None:
        return
    message = f"{draft.target} contains the results, but not their page: "
    if isinstance(page_error, OSError):
        raise OutputError(message + (page_error.strerror or str(page_error))) from page_error
    raise InternalError(f"{message}{type(page_error).__name__}: {page_error}") from page_error
