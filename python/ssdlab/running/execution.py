"""How the runs of a verb are executed, and where their results go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ssdlab.errors import OutputError
from ssdlab.running.caching import CachingRunner, tell
from ssdlab.running.on import runner_of
from ssdlab.running.runner import Runner
from ssdlab.store.store import Store

VARIABLE = "SSDLAB_STORE"
"""The environment variable that names a store."""


@dataclass(frozen=True)
class Execution:
    """How runs are executed, and where their results go: the arguments that all verbs share."""

    on: str | None = None
    jobs: int | None = None
    store: str | Path | Store | None = None
    out: str | Path | None = None
    force: bool = False
    progress: bool = True
    html: bool = True

    @property
    def folder(self) -> Path | None:
        """Where the results go; None if nowhere."""
        return None if self.out is None else Path(self.out)

    @contextmanager
    def runner(self, runs: int | None = None) -> Iterator[Runner]:
        """The runner for at most this many runs, behind the store, if there is one.

        Results are written to the store when the context ends, which then, with `progress`, prints
        on stderr what came from the store. A store that cannot be written does not stop the runs;
        how many are not stored is always reported. Raises `OutputError` for a folder that is not a
        store.
        """
        location = self.store or os.environ.get(VARIABLE)
        with runner_of(self.on, self.jobs, runs) as inner:
            if not location:
                yield inner
                return
            store = location if isinstance(location, Store) else Store(location)
            runner = CachingRunner(inner, store)
            try:
                yield runner
            finally:
                try:
                    if store is not location:
                        store.close()
                except OutputError as error:
                    runner.usage_error = error
                runner.report_failure()
            if self.progress or runner.loss_count:
                tell(runner.summary())
