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
from ssdlab.running.runner import Ended, Planned, Runner, Work, place_of
from ssdlab.running.simulate import store_files
from ssdlab.store.read import Stored
from ssdlab.store.store import Store

AHEAD = (32, 4096)
"""Runs that are looked up at once: at first, and at most."""
PIPE = "the trace is a pipe"
LOGS = "logs are not stored"
CHANGED = "a file was changed meanwhile"


class Kept:
    """Returns the reports that `store` has; `inner` executes the other runs, which are stored.

    Runs that were interrupted, or failed for a reason outside of them, are not stored; neither are
    those of a pipe, or with logs.
    """

    def __init__(self, inner: Runner, store: Store) -> None:
        self.inner = inner
        self.store = store
        self.found = 0
        """Runs that came from the store."""
        self.added: list[str] = []
        """Keys of runs that were executed and stored."""
        self.passed: Counter[str] = Counter()
        """Runs that were executed and not stored, by reason."""
        self.unnoted: OutputError | None = None
        """Why the store could not record which of its runs were used."""
        self._before = store.unwritten
        self._reported = False

    @property
    def here(self) -> int:
        """As many as for the inner runner."""
        return self.inner.here

    def run(self, work: Work) -> None:
        """All runs of `work`."""
        try:
            self.inner.run(_Looked(work, self))
        finally:
            with suppress(OutputError):  # the runs continue without it
                self.store.flush()
            self.tell_trouble()

    @property
    def lost(self) -> int:
        """Runs that were to be stored, but are not in the folder."""
        return max(0, self.store.unwritten - self._before)

    def tell_trouble(self) -> None:
        """Report once that the store cannot be written."""
        if self.store.trouble is not None and not self._reported:
            self._reported = True
            tell(f"store: {self.store.trouble}; the runs continue")

    def told(self) -> str:
        """The runs from the store, in a sentence."""
        lost = self.lost
        made = f"{counted(self.found, 'run')} from it, {len(self.added) - lost:,} added"
        passed = [f"{number:,} not stored ({why})" for why, number in self.passed.items()]
        passed += [f"{lost:,} not stored (it cannot be written)"] if lost else []
        return f"store {self.store.files.folder}: {', '.join([made, *passed])}"


def not_stored(runner: Runner) -> dict[str, str]:
    """The failures of the store of `runner`, with reasons: runs, or their use, are not stored."""
    if not isinstance(runner, Kept) or not (runner.lost or runner.unnoted):
        return {}
    lost = f"{counted(runner.lost, 'run')} not stored: {runner.store.trouble}"
    why = lost if runner.lost else f"the use of its runs could not be noted: {runner.unnoted}"
    return {f"store {runner.store.files.folder}": why}


def tell(text: str) -> None:
    """Print something about the store on stderr."""
    print(f"ssdlab: {text}", file=sys.stderr, flush=True)


class _Looked:
    """Work whose runner gets only the runs that are not stored."""

    def __init__(self, work: Work, kept: Kept) -> None:
        self.work = work
        self.kept = kept
        self.store = kept.store
        self.folder, self.html = work.folder, work.html
        self.stop = work.stop
        self.point_errors = work.point_errors
        self.ahead = work.ahead
        self.callback, self.note, self.interrupt = work.callback, work.note, work.interrupt
        self._misses: deque[tuple[Planned, bool]] = deque()
        """Runs that are not in the store, and whether they will be."""
        self._going: set[int] = set()
        """Runs that are under way and will be stored, by the identity of their plan."""
        self._chunk = AHEAD[0] if work.ahead else 1
        self._lock = threading.Lock()

    def next(self) -> Planned | None:
        """The next run that is not stored; stored ones before it end here."""
        with self._lock:
            while not self.stop.is_set():
                if not self._misses and not self._look_up():
                    return None
                while self._misses and not self.stop.is_set():
                    one, stored = self._misses.popleft()
                    if not stored:
                        return one
                    # Another process may have stored it since it was looked up.
                    found = self.store.find([one.job.key])
                    if not found:
                        self._going.add(id(one))
                        return one
                    self._from_store(one, found[one.job.key])
            return None

    def _look_up(self) -> bool:
        """Take the next runs and end those that are stored. False if there are none."""
        taken = [*itertools.islice(iter(self.work.next, None), self._chunk)]
        if self.work.ahead:
            self._chunk = min(2 * self._chunk, AHEAD[1])
        looked_up = [(one, self._is_stored(one)) for one in taken]
        found = self.store.find(one.job.key for one, stored in looked_up if stored)
        places = {key: at for at, key in enumerate(found)}
        hits = []
        for one, stored in looked_up:
            if stored and one.job.key in found:
                hits.append(one)
            else:
                self._misses.append((one, stored))
        for one in sorted(hits, key=lambda hit: places[hit.job.key]):
            if not self.stop.is_set():
                self._from_store(one, found[one.job.key])
        return bool(taken)

    def _is_stored(self, one: Planned) -> bool:
        """Whether a run is looked up and stored; others are executed each time."""
        config = one.config
        files = [Path(name) for _, name in files_of(config.values)]
        why = ""
        if any(config.values["metrics"][key] for key in ("op_log", "request_log")):
            why = LOGS
        elif any(str(file) == "-" or file.is_fifo() for file in files):
            why = PIPE
        if why:
            self.kept.passed[why] += 1
            return False
        try:
            return bool(one.job.key)
        except (ConfigError, WorkloadError):  # the run says what is wrong
            return False

    def _from_store(self, one: Planned, stored: Stored) -> None:
        """End a run with the stored results."""
        report, why = self.store.read(stored, one.config)
        if self.folder is not None:
            place = place_of(one, self.folder)
            report = store_files(report, place, html=self.html and one.first)
        self.kept.found += 1
        self.work.end(one, Ended("failed" if why else "completed", report, why))

    def end(self, one: Planned, ended: Ended) -> None:
        """Note that a run has ended; it is stored if it would end like this again."""
        self.work.end(one, ended)
        stored = id(one) in self._going
        self._going.discard(id(one))
        sure = ended.how == "completed" or (ended.how == "failed" and not ended.traceback)
        if not stored or not sure or ended.report is None:
            return
        # A file that was changed meanwhile may have been read in its old or its new state.
        try:
            current = one.job.is_current()
        except WorkloadError:
            current = False
        if not current:
            self.kept.passed[CHANGED] += 1
            return
        given = Policies.unpack(one.policies).by_key if one.policies else {}
        labels = {key: label_of(policy) for key, policy in given.items()}
        why = "" if ended.how == "completed" else ended.why or "failed"
        job = one.job
        if self.store.add(job.key, ended.report, job=job.text, policies=labels, why=why):
            self.kept.added.append(job.key)
        self.kept.tell_trouble()
