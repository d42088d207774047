"""A runner that looks runs up in a store of results, and stores those that another executes."""

from __future__ import annotations

import itertools
import sys
import threading
from collections import Counter, deque
from contextlib import suppress
from pathlib import Path

from ssdlab.config.files import files_of
from ssdlab.errors import ConfigError, OutputError, WorkloadError
from ssdlab.policy import Policies, label_of
from ssdlab.results.text import counted
from ssdlab.running.runner import PlannedRun, RunEnd, Runner, Work, place_of
from ssdlab.running.simulate import store_files
from ssdlab.store.read import StoredRun
from ssdlab.store.store import Store

AHEAD = (32, 4096)
"""Runs that are looked up at once: at first, and at most."""
PIPE = "the trace is a pipe"
LOGS = "logs are not stored"
CHANGED = "a file was changed meanwhile"


class CachingRunner:
    """Returns the reports that `store` has; `inner` executes the other runs, which are stored.

    Runs that were interrupted, or failed for a reason outside of them, are not stored; neither are
    those of a pipe, or with logs.
    """

    def __init__(self, inner: Runner, store: Store) -> None:
        self.inner = inner
        self.store = store
        self.hits = 0
        """Runs that came from the store."""
        self.added: list[str] = []
        """Keys of runs that were executed and stored."""
        self.skipped: Counter[str] = Counter()
        """Runs that were executed and not stored, by reason."""
        self.usage_error: OutputError | None = None
        """Why the store could not record which of its runs were used."""
        self._initial_unwritten = store.unwritten
        self._reported = False

    @property
    def local_jobs(self) -> int:
        """As many as for the inner runner."""
        return self.inner.local_jobs

    def run(self, work: Work) -> None:
        """All runs of `work`."""
        try:
            self.inner.run(_FilteredWork(work, self))
        finally:
            with suppress(OutputError):  # the runs continue without it
                self.store.flush()
            self.report_failure()

    @property
    def loss_count(self) -> int:
        """Runs that were to be stored, but are not in the folder."""
        return max(0, self.store.unwritten - self._initial_unwritten)

    def report_failure(self) -> None:
        """Report once that the store cannot be written."""
        if self.store.trouble is not None and not self._reported:
            self._reported = True
            tell(f"store: {self.store.trouble}; the runs continue")

    def summary(self) -> str:
        """The runs from the store, in a sentence."""
        loss_count = self.loss_count
        counts = f"{counted(self.hits, 'run')} from it, {len(self.added) - loss_count:,} added"
        reasons = [f"{number:,} not stored ({reason})" for reason, number in self.skipped.items()]
        reasons += [f"{loss_count:,} not stored (it cannot be written)"] if loss_count else []
        return f"store {self.store.files.folder}: {', '.join([counts, *reasons])}"


def not_stored(runner: Runner) -> dict[str, str]:
    """The failures of the store of `runner`, with reasons: runs, or their use, are not stored."""
    if not isinstance(runner, CachingRunner) or not (runner.loss_count or runner.usage_error):
        return {}
    loss = f"{counted(runner.loss_count, 'run')} not stored: {runner.store.trouble}"
    reason = (
        loss
        if runner.loss_count
        else f"the use of its runs could not be noted: {runner.usage_error}"
    )
    return {f"store {runner.store.files.folder}": reason}


def tell(text: str) -> None:
    """Print something about the store on stderr."""
    print(f"ssdlab: {text}", file=sys.stderr, flush=True)


class _FilteredWork:
    """Work whose runner gets only the runs that are not stored."""

    def __init__(self, work: Work, keeper: CachingRunner) -> None:
        self.work = work
        self.keeper = keeper
        self.store = keeper.store
        self.folder, self.html = work.folder, work.html
        self.stop = work.stop
        self.point_errors = work.point_errors
        self.ahead = work.ahead
        self.callback, self.note, self.interrupt = work.callback, work.note, work.interrupt
        self._misses: deque[tuple[PlannedRun, bool]] = deque()
        """Runs that are not in the store, and whether they will be."""
        self._running: set[int] = set()
        """Runs that are under way and will be stored, by the identity of their plan."""
        self._chunk = AHEAD[0] if work.ahead else 1
        self._lock = threading.Lock()

    def next(self) -> PlannedRun | None:
        """The next run that is not stored; stored ones before it end here."""
        with self._lock:
            while not self.stop.is_set():
                if not self._misses and not self._look_up():
                    return None
                while self._misses and not self.stop.is_set():
                    run, stored = self._misses.popleft()
                    if not stored:
                        return run
                    # Another process may have stored it since it was looked up.
                    stored_runs = self.store.find([run.job.key])
                    if not stored_runs:
                        self._running.add(id(run))
                        return run
                    self._from_store(run, stored_runs[run.job.key])
            return None

    def _look_up(self) -> bool:
        """Take the next runs and end those that are stored. False if there are none."""
        runs = [*itertools.islice(iter(self.work.next, None), self._chunk)]
        if self.work.ahead:
            self._chunk = min(2 * self._chunk, AHEAD[1])
        lookups = [(run, self._is_stored(run)) for run in runs]
        stored_runs = self.store.find(run.job.key for run, stored in lookups if stored)
        positions = {key: position for position, key in enumerate(stored_runs)}
        hits = []
        for run, stored in lookups:
            if stored and run.job.key in stored_runs:
                hits.append(run)
            else:
                self._misses.append((run, stored))
        for run in sorted(hits, key=lambda hit: positions[hit.job.key]):
            if not self.stop.is_set():
                self._from_store(run, stored_runs[run.job.key])
        return bool(runs)

    def _is_stored(self, run: PlannedRun) -> bool:
        """Whether a run is looked up and stored; others are executed each time."""
        config = run.config
        files = [Path(name) for _, name in files_of(config.values)]
        reason = ""
        if any(config.values["metrics"][key] for key in ("op_log", "request_log")):
            reason = LOGS
        elif any(str(file) == "-" or file.is_fifo() for file in files):
            reason = PIPE
        if reason:
            self.keeper.skipped[reason] += 1
            return False
        try:
            return bool(run.job.key)
        except (ConfigError, WorkloadError):  # the run says what is wrong
            return False

    def _from_store(self, run: PlannedRun, stored: StoredRun) -> None:
        """End a run with the stored results."""
        report, reason = self.store.read(stored, run.config)
        if self.folder is not None:
            place = place_of(run, self.folder)
            report = store_files(report, place, html=self.html and run.first)
        self.keeper.hits += 1
        self.work.end(run, RunEnd("failed" if reason else "completed", report, reason))

    def end(self, run: PlannedRun, ending: RunEnd) -> None:
        """Note that a run has ended; it is stored if it would end like this again."""
        self.work.end(run, ending)
        stored = id(run) in self._running
        self._running.discard(id(run))
        is_repeatable = ending.how == "completed" or (
            ending.how == "failed" and not ending.traceback
        )
        if not stored or not is_repeatable or ending.report is None:
            return
        # A file that was changed meanwhile may have been read in its old or its new state.
        try:
            is_current = run.job.is_current()
        except WorkloadError:
            is_current = False
        if not is_current:
            self.keeper.skipped[CHANGED] += 1
            return
        policies = Policies.unpack(run.policies).by_key if run.policies else {}
        labels = {key: label_of(policy) for key, policy in policies.items()}
        reason = "" if ending.how == "completed" else ending.why or "failed"
        job = run.job
        if self.store.add(job.key, ending.report, job=job.text, policies=labels, why=reason):
            self.keeper.added.append(job.key)
        self.keeper.report_failure()
