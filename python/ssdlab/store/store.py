"""`Store`: reports by key, for programs that make runs."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from ssdlab import versions
from ssdlab.errors import OutputError
from ssdlab.results.report import Report
from ssdlab.store import files, rows
from ssdlab.store.files import Entry, Files
from ssdlab.store.keys import key_of
from ssdlab.store.rows import Made

FLUSH_S = 3.0
"""A run is in the folder so long after it was added, at the latest."""
FLUSH_ROWS = 256
"""So many runs are written at once."""
LOOK_S = 1.0
"""So often a store looks for what others have added."""
KEPT_GROUPS = 8
"""Row groups that are held decompressed."""

Place = tuple[str, int]
"""A part and the number of a row in it."""


@dataclass(frozen=True)
class Stored:
    """A run in a store."""

    key: str
    store: Store = field(repr=False)
    place: Place | None
    """Where its row is; None: it is not written yet."""

    @property
    def report(self) -> Report:
        """Its report, as the run gave it. Raises `OutputError` if the part is damaged."""
        return self.store.read(self)[0]

    @property
    def why(self) -> str:
        """Why it could not finish; empty if it did."""
        return self.store.read(self)[1]


class Store:
    """The results of one version in `folder`, which is made if it is not there.

    From any thread. Runs that are added reach the folder within seconds; leaving the context, or
    `flush`, writes the rest. Raises `OutputError` if the folder is no store, and without pyarrow.
    """

    def __init__(self, folder: str | Path, results: int = versions.RESULTS) -> None:
        rows.parquet()
        self.files = Files(Path(folder), results, write=True)
        self._index: dict[str, Place] = {}
        self._known: frozenset[str] = frozenset()
        self._looked = -LOOK_S
        self._waiting: dict[str, Made] = {}
        self._groups: OrderedDict[tuple[str, int], list[dict[str, Any]]] = OrderedDict()
        self._asked: set[str] = set()
        self._trouble: OutputError | None = None
        self._lock = threading.RLock()
        self._more = threading.Condition()
        self._writer: threading.Thread | None = None
        self._closing = False
        self.flushed = 0
        """Rows that this store has written."""

    # ---------------------------------------------------------------- reading

    def find(self, keys: Iterable[str]) -> dict[str, Stored]:
        """Those of `keys` that are stored, in the order in which they are read fastest."""
        with self._lock:
            self._look()
            found = {
                key: Stored(key, self, self._index.get(key))
                for key in dict.fromkeys(keys)
                if key in self._index or key in self._waiting
            }
        return dict(sorted(found.items(), key=lambda one: one[1].place or ("", 0)))

    def _look(self) -> None:
        """See what others have added, unless that was seen a moment ago."""
        if time.monotonic() - self._looked < LOOK_S:
            return
        entries = self.files.entries()
        self._looked = time.monotonic()
        if entries.keys() == self._known:
            return
        first: dict[str, tuple[int, str, int]] = {}
        for name, entry in entries.items():
            for at, (key, created) in enumerate(entry.rows):
                place = (created, name, at)
                first[key] = min(first.get(key, place), place)
        self._index = {key: (name, at) for key, (_, name, at) in first.items()}
        self._known = frozenset(entries)

    def read(self, one: Stored) -> tuple[Report, str]:
        """The report of a run that was found, and why it could not finish."""
        with self._lock:
            self._asked.add(one.key)
            made = self._waiting.get(one.key)
            if made is not None:
                return made.report, made.why
            row = self._row(one.key, one.place)
        if row["key"] != one.key:
            raise self._damaged(one.place, "another key is in its place")
        return rows.report_of(row), row["why"] or ""

    def _row(self, key: str, place: Place | None) -> dict[str, Any]:
        """The row of a key; collection may have moved it since it was found."""
        for last in (False, False, True):
            if place is not None:
                try:
                    return self._group(place[0], place[1] // rows.GROUP)[place[1] % rows.GROUP]
                except FileNotFoundError:
                    if last:
                        raise self._damaged(place, "is missing") from None
            self._looked = -LOOK_S
            self._look()
            place = self._index.get(key)
        raise self._damaged(place, f"has no row of {key}")

    def _group(self, part: str, number: int) -> list[dict[str, Any]]:
        which = (part, number)
        if which not in self._groups:
            try:
                with self.files.part(part).open("rb") as data:
                    file = rows.parquet().ParquetFile(data)
                    table = file.read_row_group(number, ["key", *rows.REPORT_TEXTS])
            except FileNotFoundError:
                raise
            except Exception as error:  # whatever the library says of damaged files
                raise self._damaged((part, 0), f"is damaged: {error}") from error
            self._groups[which] = table.to_pylist()
            if len(self._groups) > KEPT_GROUPS:
                self._groups.popitem(last=False)
        self._groups.move_to_end(which)
        return self._groups[which]

    def _damaged(self, place: Place | None, why: str) -> OutputError:
        where = self.files.part(place[0]) if place else self.files.root
        return OutputError(f"{where}: {why}; `ssdlab results verify` checks all files")

    # ---------------------------------------------------------------- writing

    def add(
        self,
        key: str,
        report: Report,
        *,
        job: str,
        policies: Mapping[str, str] | None = None,
        why: str = "",
    ) -> None:
        """Store a run, unless it is there. `job` is `Job.text`, of which `key` is the digest.

        `policies`: labels of those in Python, by key; `why`: the reason of a run that cannot finish.
        Raises `OutputError` if what was added before could not be written.
        """
        assert key == key_of(job), "the key of another run"
        with self._lock:
            if self._trouble is not None:
                raise self._trouble
            if key in self._index or key in self._waiting:
                return
            made = Made(key, job, report, policies or {}, why, files.now())
            self._waiting[key] = made
            if self._writer is None:
                self._writer = threading.Thread(
                    target=self._write_on, name="store of results", daemon=True
                )
                self._writer.start()
        with self._more:
            self._more.notify_all()

    def _write_on(self) -> None:
        """Write what is added, until the store is closed."""
        while True:
            with self._more:
                self._more.wait_for(lambda: self._closing or bool(self._waiting))
                full = len(self._waiting) >= FLUSH_ROWS
                if not self._closing and not full:
                    enough = lambda: self._closing or len(self._waiting) >= FLUSH_ROWS  # noqa: E731
                    self._more.wait_for(enough, FLUSH_S)
                if self._closing:
                    return
            try:
                self.flush()
            except OutputError as error:
                with self._lock:
                    self._trouble = error
                return

    def flush(self) -> None:
        """Write what was added. Raises `OutputError`; it is then kept in memory."""
        with self._lock:
            if self._waiting:
                made = [*self._waiting.values()]
                entry = self._put(made)
                self._trouble = None
                for at, one in enumerate(made):
                    self._index[one.key] = (entry.name, at)
                self._known |= {entry.name}
                self._waiting.clear()
                self.flushed += len(made)

    def _put(self, made: list[Made]) -> Entry:
        several = [one.row() for one in made]
        data = rows.to_bytes(rows.table_of(several))
        name = files.new_name()
        configs = [rows.leaves(one.report.json["config"]) for one in made]
        entry = Entry(
            name,
            tuple((one.key, round(one.created.timestamp() * 1e6)) for one in made),
            len(data),
            files.digest(data),
            rows.GROUP,
            rows.all_leaves(configs),
            (),
            files.writer(),
        )
        self.files.add(name, data, entry)
        return entry

    def close(self) -> None:
        """Write what was added and note which runs were asked for. Raises `OutputError`."""
        self._closing = True
        with self._more:
            self._more.notify_all()
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        self._closing = False
        self.flush()
        with self._lock:
            asked, self._asked = self._asked, set()
        if asked:
            self.files.note_used(asked)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except OutputError:
            if error is None:
                raise
