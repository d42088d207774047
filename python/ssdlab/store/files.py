"""The files of a store: each is whole or absent, whichever process is killed at whatever time."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import stat
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO

from ssdlab import versions
from ssdlab.display.argument import argument
from ssdlab.errors import OutputError
from ssdlab.results import outputs
from ssdlab.results.folder import write_error

MARK = "store.json"
FORMAT = 1
"""Version of the layout of a store."""
FOLDER = re.compile(r"results-(\d+)")
NAME = re.compile(r"\d{8}T\d{12}-[0-9a-f]{32}")
"""The form of the names of parts. A manifest with another name is refused."""
SQL_TYPES = ("BOOLEAN", "BIGINT", "DOUBLE", "JSON", "VARCHAR")
"""Types that a manifest may give to the values of keys."""
READ_BYTES = 1 << 20
DRAFT = ".unfinished"
"""The suffix of a file that is being written."""
CHECKS = "`ssdlab results verify` checks all files"
MISSING = "is missing: the manifest names it"
A_LINK = "is a link, which a store never contains: replace the link by the original"
NO_FILE = "is not a regular file"


def now() -> datetime:
    """The time, as stores record it."""
    return datetime.now(timezone.utc)


def new_name() -> str:
    """A unique file name, ordered by time as far as clocks agree."""
    return f"{now():%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex}"


def put(file: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file so that it is whole or absent. Raises `OutputError`."""
    draft = file.with_name(f".{file.name}-{uuid.uuid4().hex}{DRAFT}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("xb") as out:
                write(out)
                out.flush()
                os.fsync(out.fileno())
            draft.replace(file)
        finally:
            with suppress(OSError):
                draft.unlink()
        _sync(file.parent)
    except OSError as error:
        raise write_error(error, file) from error


def _sync(folder: Path) -> None:
    """Make the names in a folder survive a power cut, if the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def refusal_reason(file: Path) -> str:
    """Why a store refuses to open a file; empty if it accepts it, or if the file does not exist.

    A link may lead out of the store, and a pipe may block its reader forever.
    """
    try:
        mode = file.lstat().st_mode  # once: another process may remove it meanwhile
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if stat.S_ISLNK(mode):
        return A_LINK
    return "" if stat.S_ISREG(mode) else NO_FILE


def open_file(file: Path) -> BinaryIO:
    """Open a file of a store for reading. Raises `OutputError` with its `refusal_reason`."""
    reason = refusal_reason(file)
    if reason:
        raise OutputError(f"{file}: {reason}")
    return file.open("rb")


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    hasher = hashlib.sha256()
    with open_file(file) as data:
        while chunk := data.read(READ_BYTES):
            hasher.update(chunk)
    return hasher.hexdigest()


@dataclass(frozen=True)
class Entry:
    """The description of a part in the manifest."""

    name: str
    """The name of its files, without the ending."""
    rows: tuple[tuple[str, int], ...]
    """Key of each row, and when its run ended (microseconds since 1970)."""
    bytes: int
    sha256: str
    group: int
    """Rows of a row group."""
    config: Mapping[str, str]
    """The keys of its configurations, each with the type of its values in SQL."""
    replaces: tuple[str, ...] = ()
    """Parts that its rows replace."""
    writer: str = ""
    """Program, machine and process."""

    @staticmethod
    def of_json(name: str, text: str) -> Entry:
        """The entry in the text of its file. Raises `ValueError`, `KeyError` or `TypeError`."""
        values = json.loads(text)
        if values["format"] > FORMAT:
            message = f"written by a later ssdlab ({values['writer']})"
            raise ValueError(message)
        rows = tuple((str(key), int(created)) for key, created in values["rows"])
        entry = Entry(
            name,
            rows,
            int(values["bytes"]),
            str(values["sha256"]),
            int(values["group"]),
            dict(values["config"]),
            tuple(values["replaces"]),
            str(values["writer"]),
        )
        foreign = [part for part in (name, *entry.replaces) if not NAME.fullmatch(str(part))]
        foreign += [kind for kind in entry.config.values() if kind not in SQL_TYPES]
        if foreign:
            message = f"{foreign[0]!r} is not a name that ssdlab writes"
            raise ValueError(message)
        return entry

    def text(self) -> str:
        """The contents of its file."""
        values: dict[str, Any] = {"format": FORMAT, **vars(self)}
        del values["name"]
        return json.dumps(values, separators=(",", ":"), ensure_ascii=False) + "\n"


def first_places(entries: Mapping[str, Entry]) -> dict[str, tuple[int, str, int]]:
    """Time, part and number of the row that counts for each key: the first one."""
    first: dict[str, tuple[int, str, int]] = {}
    for name, entry in entries.items():
        for number, (key, created) in enumerate(entry.rows):
            place = (created, name, number)
            first[key] = min(first.get(key, place), place)
    return first


def quote_path(file: Path) -> str:
    """A path for the shell, on one line."""
    text = str(file)
    return shlex.quote(text) if text.isprintable() else f"${text!a}"


def writer() -> str:
    """Who writes: program, machine and process."""
    return f"ssdlab {versions.described()} on {platform.node()}, process {os.getpid()}"


class Files:
    """The files of one version of the results in a store.

    With `write` the folder is created when something is added. Raises `OutputError` for a folder
    that is not a store, or, without `write`, has no results of this version.
    """

    def __init__(self, folder: Path, results: int, *, write: bool) -> None:
        self.folder = folder
        self.results = results
        self.root = folder / f"results-{results}"
        self.parts = self.root / "parts"
        self.manifest = self.root / "manifest"
        self.used = self.root / "used"
        self._entries: dict[str, Entry] = {}
        self._checked_states: dict[str, tuple[int, int, int]] = {}
        """Size, modification time and inode of each part whose contents were checked."""
        self._check(must_exist=not write)

    def _check(self, must_exist: bool) -> None:
        folder, mark = self.folder, self.folder / MARK
        for path in (self.root, self.parts, self.manifest, self.used):
            if path.is_symlink():
                raise OutputError(f"{path}: {A_LINK}")
        if refusal_reason(mark):
            raise OutputError(f"{mark}: {refusal_reason(mark)}")
        try:
            text = mark.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            has_files = folder.is_dir() and any(
                file for file in folder.iterdir() if file.name != MARK
            )
            if folder.exists() and not folder.is_dir():
                raise OutputError(f"{folder}: is not a folder") from None
            if must_exist and not folder.exists():
                raise OutputError(
                    f"{folder}: no such folder; expected a store of results"
                ) from None
            # Another process may be creating it.
            if must_exist or (has_files and not _only_drafts(folder)):
                reason = f"is no store of results: {MARK} is missing"
                raise OutputError(f"{folder}: {reason}") from None
            return
        except OSError as error:
            raise OutputError(f"{mark}: cannot be read: {error.strerror or error}") from error
        try:
            version = int(json.loads(text)["format"])
        except (ValueError, KeyError, TypeError):
            raise OutputError(f"{mark}: is not that of a store of results") from None
        if version > FORMAT:
            reason = f"has version {version} of the layout of stores; this ssdlab knows {FORMAT}"
            raise OutputError(f"{folder}: {reason}: use a later ssdlab")
        if must_exist and not self.root.is_dir():
            raise OutputError(f"{folder}: {self._empty_reason()}")

    def _empty_reason(self) -> str:
        """Why there is nothing to read."""
        versions = self.versions()
        if not versions:
            return "is empty: no run was stored yet"
        listing = ", ".join(map(str, versions))
        return (
            f"has no results of version {self.results}, but of version {listing}:"
            f" {argument(version=versions[-1])} reads those"
        )

    def versions(self) -> list[int]:
        """The versions of results that the store has."""
        matches = [
            FOLDER.fullmatch(folder.name) for folder in self.folder.iterdir() if folder.is_dir()
        ]
        return sorted(int(match[1]) for match in matches if match)

    def part(self, name: str) -> Path:
        """The file with the rows of a part."""
        return self.parts / f"{name}.parquet"

    def entry(self, name: str) -> Path:
        """The file of a part in the manifest."""
        return self.manifest / f"{name}.json"

    def fault(self, entry: Entry) -> str:
        """The damage of the file of a part; empty if the file is unchanged.

        The file is read once, and again if it has changed since.
        """
        part = self.part(entry.name)
        try:
            reason = refusal_reason(part)
            if reason:
                return reason
            status = part.stat()
            state = status.st_size, status.st_mtime_ns, status.st_ino
            if self._checked_states.get(entry.name) == state:
                return ""
            if (status.st_size, digest(part)) != (entry.bytes, entry.sha256):
                return "is damaged: its contents are not those that were written (SHA-256)"
        except FileNotFoundError:
            return MISSING
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"
        self._checked_states[entry.name] = state
        return ""

    def checked_part(self, name: str) -> Path:
        """The undamaged file of a part. Raises `FileNotFoundError`, `OutputError`."""
        reason = self.fault(self._entries.get(name) or self.read(name))
        if reason == MISSING and not self.entry(name).exists():
            raise FileNotFoundError(self.part(name))  # another process has replaced it
        if reason:
            raise self.damage_error(name, reason)
        return self.part(name)

    def damage_error(self, name: str, reason: str) -> OutputError:
        """The error for a damaged part: the `reason`, and how to repair the store."""
        files = " ".join(quote_path(file) for file in (self.part(name), self.entry(name)))
        remedy = f"`rm -f {files}` repairs the store; its runs are repeated when they are needed"
        return OutputError(f"{self.part(name)}: {reason}; {remedy}; {CHECKS}")

    def add(
        self,
        rows: Iterable[tuple[str, int]],
        config: Mapping[str, str],
        group: int,
        write: Callable[[BinaryIO], object],
        replaces: Iterable[str] = (),
    ) -> Entry:
        """Move a part to its place, then add its entry: now it counts. Raises `OutputError`."""
        if not (self.folder / MARK).exists():
            text = json.dumps({"store": "results of ssdlab", "format": FORMAT}) + "\n"
            put(self.folder / MARK, outputs.text(text))
        name = new_name()
        part = self.part(name)
        put(part, write)
        try:
            size, sha256 = part.stat().st_size, digest(part)
            entry = Entry(name, tuple(rows), size, sha256, group, config, tuple(replaces), writer())
            put(self.entry(name), outputs.text(entry.text()))
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
        return entry

    def note_used(self, keys: Iterable[str]) -> None:
        """Record that runs were requested now. Raises `OutputError`."""
        self.put_used(dict.fromkeys(keys, round(now().timestamp())))

    def put_used(self, times: Mapping[str, int]) -> None:
        """Record when runs were last requested, in seconds since 1970. Raises `OutputError`."""
        text = json.dumps(times, sort_keys=True, separators=(",", ":")) + "\n"
        put(self.used / f"{new_name()}.json", outputs.text(text))

    def names(self) -> frozenset[str]:
        """The parts in the manifest at one instant.

        A file that appears while a folder is listed may be missed, and those that it replaces may
        be gone when they are reached. If two listings are equal, the first one began before any
        such change, or the second one after it.
        """
        previous: frozenset[str] | None = None
        while True:
            try:
                file_names = [
                    file.name for file in self.manifest.iterdir() if file.suffix == ".json"
                ]
            except FileNotFoundError:
                file_names = []
            names = frozenset(
                name[: -len(".json")] for name in file_names if not name.startswith(".")
            )
            if names == previous:
                return names
            previous = names

    def entries(self) -> dict[str, Entry]:
        """The parts that count, by name. Raises `OutputError` for a damaged entry."""
        while True:
            names = self.names()
            self._entries = {name: entry for name, entry in self._entries.items() if name in names}
            try:
                for name in sorted(names - self._entries.keys()):
                    self._entries[name] = self.read(name)
            except FileNotFoundError:
                continue  # another process has replaced it
            replaced = {name for entry in self._entries.values() for name in entry.replaces}
            return {name: entry for name, entry in self._entries.items() if name not in replaced}

    def read(self, name: str) -> Entry:
        """The entry of a part. Raises `FileNotFoundError`, `OutputError`."""
        file = self.entry(name)
        try:
            with open_file(file) as text:
                return Entry.of_json(name, text.read().decode())
        except (ValueError, KeyError, TypeError) as error:
            raise OutputError(f"{file}: is damaged: {error}; {CHECKS}") from error
        except PermissionError as error:
            raise OutputError(f"{file}: cannot be read: {error.strerror}") from error


def _only_drafts(folder: Path) -> bool:
    return all(file.name.endswith(DRAFT) for file in folder.iterdir())
