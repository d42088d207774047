"""`Store`: reports by key, for programs that execute runs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ssdlab import versions
from ssdlab.errors import OutputError
from ssdlab.results.report import Report
from ssdlab.store import files, rows
from ssdlab.store.files import Entry, Files
from ssdlab.store.keys import key_of
from ssdlab.store.read import Reader
from ssdlab.store.rows import ExecutedRun

FLUSH_S = 3.0
"""A run is in the folder at most this many seconds after it was added."""
FLUSH_ROWS = 256
"""Runs that are written at once, and runs that wait while the folder cannot be written."""


class Store(Reader):
    """The results of one version in `folder`, which is created if it does not exist.

    Usable from any thread. Runs that are added reach the folder within seconds; leaving the
    context, or `flush`, writes the rest. While the folder cannot be written, 256 runs wait, and
    further ones are `dropped`. Raises `OutputError` if the folder is not a store, and without
    pyarrow.
    """

    def __init__(self, folder: str | Path, results: int = versions.RESULTS) -> None:
        super().__init__(Files(Path(folder), results, write=True))
        self._waiting: dict[str, ExecutedRun] = {}
        self._condition = threading.Condition()
        self._writer: threading.Thread | None = None
        self._closing = False
        self.flushed = 0
        """Rows that this store has written."""
        self._failing = False
        self.trouble: OutputError | None = None
        """The error of the most recent write that failed."""
        self.dropped = 0
        """Runs that were given up because the folder could not be written."""

    @property
    def unwritten(self) -> int:
        """Runs that were added and are not in the folder."""
        return self.dropped + len(self._waiting)

    def _pending(self, key: str) -> ExecutedRun | None:
        return self._waiting.get(key)

    def add(
        self,
        key: str,
        report: Report,
        *,
        job: str,
        policies: Mapping[str, str] | None = None,
        why: str = "",
    ) -> bool:
        """Store a run. False if it exists. `job` is `Job.text`, of which `key` is the digest.

        `policies`: labels of those in Python, by key; `why`: why the run cannot finish.
        """
        assert key == key_of(job), "the key of another run"
        with self._lock:
            if key in self._index or key in self._waiting:
                return False
            if self._failing and len(self._waiting) >= FLUSH_ROWS:
                self.dropped += 1
                return True
            run = ExecutedRun(key, job, report, policies or {}, why, files.now())
            self._waiting[key] = run
            if self._writer is None:
                name = "store of results"
                self._writer = threading.Thread(target=self._write_loop, name=name, daemon=True)
                self._writer.start()
        with self._condition:
            self._condition.notify_all()
        return True

    def _is_write_due(self, number: int) -> bool:
        """Whether this many rows wait to be written, or the store is being closed."""
        return self._closing or len(self._waiting) >= number

    def _write_loop(self) -> None:
        """Write what is added, until the store is closed."""
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._is_write_due(1))
                # After a failed write, the next attempt comes after FLUSH_S.
                self._condition.wait_for(
                    lambda: self._is_write_due(FLUSH_ROWS + self._failing), FLUSH_S
                )
                if self._closing:
                    return
            with suppress(OutputError):
                self.flush()

    def flush(self) -> None:
        """Write what was added. Raises `OutputError`; then it is kept in memory."""
        with self._lock:
            if self._waiting:
                runs = [*self._waiting.values()]
                try:
                    entry = self._write_part(runs)
                except OutputError as error:
                    self._failing, self.trouble = True, error
                    raise
                self._failing = False
                for number, run in enumerate(runs):
                    self._index[run.key] = (entry.name, number)
                self._known_parts |= {entry.name}
                self._waiting.clear()
                self.flushed += len(runs)

    def _write_part(self, runs: list[ExecutedRun]) -> Entry:
        table = rows.table_of([run.row() for run in runs])
        configs = [rows.leaves(run.report.json["config"]) for run in runs]
        return self.files.add(
            [(run.key, round(run.created.timestamp() * 1e6)) for run in runs],
            rows.all_leaves(configs),
            rows.GROUP,
            lambda out: rows.write_table(table, out),
        )

    def close(self) -> None:
        """Write what was added and record which runs were requested. Raises `OutputError`."""
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        writer = self._writer
        if writer is not None:
            writer.join()
        self._closing, self._writer = False, None
        self.flush()
        with self._lock:
            requested, self.requested = self.requested, set()
        if requested:
            self.files.note_used(requested)

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
