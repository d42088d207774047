"""Reports by key, from the parts of a store."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ssdlab.config.resolve import Config
from ssdlab.errors import OutputError
from ssdlab.results.report import Report
from ssdlab.store import rows
from ssdlab.store.files import CHECKS, Files, first_places

LOOK_S = 1.0
"""Seconds between checks for what others have added."""
KEPT_GROUPS = 8
"""Row groups that are held decompressed."""

Place: TypeAlias = tuple[str, int]
"""A part and the number of a row in it."""


@dataclass(frozen=True)
class StoredRun:
    """A run in a store."""

    key: str
    store: Reader = field(repr=False)
    place: Place | None
    """Where its row is; None if it is not written yet."""

    @property
    def report(self) -> Report:
        """Its report, as the run gave it. Raises `OutputError` if the part is damaged."""
        return self.store.read(self)[0]

    @property
    def why(self) -> str:
        """Why it could not finish; empty if it did."""
        return self.store.read(self)[1]


class Reader:
    """The results that `files` has. From any thread. Raises `OutputError` without pyarrow."""

    def __init__(self, files: Files) -> None:
        rows.parquet()
        self.files = files
        self.requested: set[str] = set()
        """Keys of the reports that were read."""
        self._index: dict[str, Place] = {}
        self._known_parts: frozenset[str] = frozenset()
        self._last_check = -LOOK_S
        self._groups: OrderedDict[Place, Any] = OrderedDict()
        self._metadata: dict[str, Any] = {}
        """The metadata of the part that was read last; large parts have a lot of it."""
        self._lock = threading.RLock()

    def keys(self) -> list[str]:
        """The keys of all runs, with those of a part next to each other."""
        with self._lock:
            self._look()
            return sorted(self._index, key=self._index.__getitem__)

    def find(self, keys: Iterable[str]) -> dict[str, StoredRun]:
        """Those of `keys` that are stored, in the order that is fastest to read."""
        with self._lock:
            self._look()
            stored = {
                key: StoredRun(key, self, self._index.get(key))
                for key in dict.fromkeys(keys)
                if key in self._index or self._pending(key)
            }
        return dict(sorted(stored.items(), key=lambda item: item[1].place or ("", 0)))

    def _pending(self, key: str) -> rows.ExecutedRun | None:  # noqa: ARG002 - of those that write
        """A run that is not written yet."""
        return None

    def _look(self) -> None:
        """Notice what others have added, unless that was checked a moment ago."""
        if time.monotonic() - self._last_check < LOOK_S:
            return
        entries = self.files.entries()
        self._last_check = time.monotonic()
        if entries.keys() == self._known_parts:
            return
        self._index = {key: (name, at) for key, (_, name, at) in first_places(entries).items()}
        self._known_parts = frozenset(entries)

    def read(self, stored: StoredRun, config: Config | None = None) -> tuple[Report, str]:
        """The report of a run that was found, and why it could not finish.

        With `config`, which has the same key, as its own run would have reported it.
        """
        row = self.row(stored)
        return rows.report_of(row, config), rows.why_of(row, config)

    def row(self, stored: StoredRun) -> dict[str, Any]:
        """The parts of a report. Raises `OutputError` if the part is damaged."""
        with self._lock:
            self.requested.add(stored.key)
            pending = self._pending(stored.key)
            row = pending.row() if pending else self._row(stored.key, stored.place)
        if row["key"] != stored.key:
            raise self._damage_error(stored.place, "another key is in its place")
        return row

    def _row(self, key: str, place: Place | None) -> dict[str, Any]:
        """The row of a key; collection may have moved it since it was found."""
        for is_last in (False, False, True):
            if place is not None:
                try:
                    group = self._group(place[0], place[1] // rows.GROUP)
                    index = place[1] % rows.GROUP
                    return {name: group.column(name)[index].as_py() for name in group.column_names}
                except FileNotFoundError:
                    if is_last:
                        raise self._damage_error(place, "is missing") from None
            self._last_check = -LOOK_S
            self._look()
            place = self._index.get(key)
        raise self._damage_error(place, f"has no row of {key}")

    def _group(self, part: str, number: int) -> Any:  # noqa: ANN401 - of a library
        """A row group as a table."""
        key = (part, number)
        if key not in self._groups:
            try:
                with self.files.checked_part(part).open("rb") as data:
                    file = rows.parquet().ParquetFile(data, metadata=self._metadata.get(part))
                    self._metadata = {part: file.metadata}
                    table = file.read_row_group(number, ["key", *rows.REPORT_TEXTS])
            except (FileNotFoundError, OutputError):
                raise
            except Exception as error:  # whatever the library says of damaged files
                raise self._damage_error((part, 0), f"is damaged: {error}") from error
            self._groups[key] = table
            if len(self._groups) > KEPT_GROUPS:
                self._groups.popitem(last=False)
        self._groups.move_to_end(key)
        return self._groups[key]

    def _damage_error(self, place: Place | None, reason: str) -> OutputError:
        if place is not None:
            return self.files.damage_error(place[0], reason)
        return OutputError(f"{self.files.root}: {reason}; {CHECKS}")
