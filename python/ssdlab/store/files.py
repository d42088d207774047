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
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def unfit(file: Path) -> str:
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


def opened(file: Path) -> BinaryIO:
    """Open a file of a store for reading. Raises `OutputError` if `unfit` gives a reason."""
    why = unfit(file)
    if why:
        raise OutputError(f"{file}: {why}")
    return file.open("rb")


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    found = hashlib.sha256()
    with opened(file) as data:
        while part := data.read(READ_BYTES):
            found.update(part)
    return found.hexdigest()


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
        held = json.loads(text)
        if held["format"] > FORMAT:
            message = f"written by a later ssdlab ({held['writer']})"
            raise ValueError(message)
        rows = tuple((str(key), int(created)) for key, created in held["rows"])
        entry = Entry(
            name,
            rows,
            int(held["bytes"]),
            str(held["sha256"]),
            int(held["group"]),
            dict(held["config"]),
            tuple(held["replaces"]),
            str(held["writer"]),
        )
        foreign = [part for part in (name, *entry.replaces) if not NAME.fullmatch(str(part))]
        foreign += [kind for kind in entry.config.values() if kind not in SQL_TYPES]
        if foreign:
            message = f"{foreign[0]!r} is not a name that ssdlab writes"
            raise ValueError(message)
        return entry

    def text(self) -> str:
        """The contents of its file."""
        held: dict[str, Any] = {"format": FORMAT, **vars(self)}
        del held["name"]
        return json.dumps(held, separators=(",", ":"), ensure_ascii=False) + "\n"


def first_places(entries: Mapping[str, Entry]) -> dict[str, tuple[int, str, int]]:
    """Time, part and number of the row that counts for each key: the first one."""
    first: dict[str, tuple[int, str, int]] = {}
    for name, entry in entries.items():
        for at, (key, created) in enumerate(entry.rows):
            place = (created, name, at)
            first[key] = min(first.get(key, place), place)
    return first


def quoted(file: Path) -> str:
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
        self._held: dict[str, Entry] = {}
        self._sound: dict[str, tuple[int, int, int]] = {}
        """Size, modification time and inode of each part whose contents were checked."""
        self._check(must_be=not write)

    def _check(self, must_be: bool) -> None:
        folder, mark = self.folder, self.folder / MARK
        for place in (self.root, self.parts, self.manifest, self.used):
            if place.is_symlink():
                raise OutputError(f"{place}: {A_LINK}")
        if unfit(mark):
            raise OutputError(f"{mark}: {unfit(mark)}")
        try:
            text = mark.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            there = folder.is_dir() and any(one for one in folder.iterdir() if one.name != MARK)
            if folder.exists() and not folder.is_dir():
                raise OutputError(f"{folder}: is not a folder") from None
            if must_be and not folder.exists():
                raise OutputError(
                    f"{folder}: no such folder; expected a store of results"
                ) from None
            # Another process may be creating it.
            if must_be or (there and not _only_drafts(folder)):
                why = f"is no store of results: {MARK} is missing"
                raise OutputError(f"{folder}: {why}") from None
            return
        except OSError as error:
            raise OutputError(f"{mark}: cannot be read: {error.strerror or error}") from error
        try:
            version = int(json.loads(text)["format"])
        except (ValueError, KeyError, TypeError):
            raise OutputError(f"{mark}: is not that of a store of results") from None
        if version > FORMAT:
            what = f"has version {version} of the layout of stores; this ssdlab knows {FORMAT}"
            raise OutputError(f"{folder}: {what}: use a later ssdlab")
        if must_be and not self.root.is_dir():
            raise OutputError(f"{folder}: {self._nothing()}")

    def _nothing(self) -> str:
        """Why there is nothing to read."""
        held = self.versions()
        if not held:
            return "is empty: no run was stored yet"
        others = ", ".join(map(str, held))
        return (
            f"has no results of version {self.results}, but of version {others}:"
            f" {argument(version=held[-1])} reads those"
        )

    def versions(self) -> list[int]:
        """The versions of results that the store has."""
        found = [FOLDER.fullmatch(one.name) for one in self.folder.iterdir() if one.is_dir()]
        return sorted(int(one[1]) for one in found if one)

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
            why = unfit(part)
            if why:
                return why
            known = part.stat()
            state = known.st_size, known.st_mtime_ns, known.st_ino
            if self._sound.get(entry.name) == state:
                return ""
            if (known.st_size, digest(part)) != (entry.bytes, entry.sha256):
                return "is damaged: its contents are not those that were written (SHA-256)"
        except FileNotFoundError:
            return MISSING
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"
        self._sound[entry.name] = state
        return ""

    def sound(self, name: str) -> Path:
        """The undamaged file of a part. Raises `FileNotFoundError`, `OutputError`."""
        why = self.fault(self._held.get(name) or self.read(name))
        if why == MISSING and not self.entry(name).exists():
            raise FileNotFoundError(self.part(name))  # another process has replaced it
        if why:
            raise self.damaged(name, why)
        return self.part(name)

    def damaged(self, name: str, why: str) -> OutputError:
        """The error for a damaged part: `why` it is damaged, and how to repair the store."""
        files = " ".join(quoted(one) for one in (self.part(name), self.entry(name)))
        repair = f"`rm -f {files}` repairs the store; its runs are repeated when they are needed"
        return OutputError(f"{self.part(name)}: {why}; {repair}; {CHECKS}")

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
        last: frozenset[str] | None = None
        while True:
            try:
                listed = [one.name for one in self.manifest.iterdir() if one.suffix == ".json"]
            except FileNotFoundError:
                listed = []
            found = frozenset(one[: -len(".json")] for one in listed if not one.startswith("."))
            if found == last:
                return found
            last = found

    def entries(self) -> dict[str, Entry]:
        """The parts that count, by name. Raises `OutputError` for a damaged entry."""
        while True:
            names = self.names()
            self._held = {name: one for name, one in self._held.items() if name in names}
            try:
                for name in sorted(names - self._held.keys()):
                    self._held[name] = self.read(name)
            except FileNotFoundError:
                continue  # another process has replaced it
            gone = {one for entry in self._held.values() for one in entry.replaces}
            return {name: one for name, one in self._held.items() if name not in gone}

    def read(self, name: str) -> Entry:
        """The entry of a part. Raises `FileNotFoundError`, `OutputError`."""
        file = self.entry(name)
        try:
            with opened(file) as text:
                return Entry.of_json(name, text.read().decode())
        except (ValueError, KeyError, TypeError) as error:
            raise OutputError(f"{file}: is damaged: {error}; {CHECKS}") from error
        except PermissionError as error:
            raise OutputError(f"{file}: cannot be read: {error.strerror}") from error


def _only_drafts(folder: Path) -> bool:
    return all(one.name.endswith(DRAFT) for one in folder.iterdir())
