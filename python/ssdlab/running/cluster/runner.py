"""Runs on the workers of a cluster: few of them are under way at a time, and none is lost."""

from __future__ import annotations

import concurrent.futures
import pickle
import queue
import uuid
from collections import deque
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count

from distributed import Future, KilledWorker

from ssdlab.display.numbers import size
from ssdlab.results.report import Report
from ssdlab.results.text import counted
from ssdlab.running.cluster.connection import Connection
from ssdlab.running.cluster.folder import kept
from ssdlab.running.cluster.task import Answer, Call, Order, made
from ssdlab.running.cluster.workers import MEMORY, Able, Workers
from ssdlab.running.job import Job
from ssdlab.running.processes import Died
from ssdlab.running.runner import Ended, Planned, Work, waiting_for

AHEAD = 4
"""Runs under way for each thread of a worker: it never waits for the next one."""
LOOK_S = 0.2
MOST_TRIES = 5
"""A run that was cancelled so often, and not by us, fails."""


@dataclass
class _Run:
    """A run that was taken and has not ended."""

    one: Planned
    order: Order
    memory_bytes: int
    apart_from: dict[str, str] = field(default_factory=dict)
    """Workers on which it cannot be made, and why."""
    tries: int = 0
    where: frozenset[str] = frozenset()
    """Workers that may make it, when it was sent."""
    future: Future[bytes] | None = None


@dataclass(frozen=True)
class Cluster:
    """A runner: the workers of the scheduler that `connection` leads to."""

    connection: Connection
    apart: bool = False
    """Every run has a process of its own; those with policies in Python always have."""

    @property
    def here(self) -> int:
        """None: the memory of workers is looked at when a run is sent."""
        return 0

    def run(self, work: Work) -> None:
        """All runs of `work`. Raises `ClusterError` when the scheduler has gone for good."""
        threads: list[concurrent.futures.Future[None]] = []
        pool = ThreadPoolExecutor(1, thread_name_prefix="cluster")
        with pool, waiting_for(threads, work):
            threads.append(pool.submit(_Flight(self, work).fly))
        threads[0].result()


class _Flight:
    """The runs of one `Work` that are under way. All in one thread."""

    def __init__(self, cluster: Cluster, work: Work) -> None:
        self.connection = cluster.connection
        self.apart = cluster.apart
        self.work = work
        self.sent: dict[str, _Run] = {}
        """By the key of their task."""
        self.held: deque[_Run] = deque()
        """Those that wait for a worker."""
        self.more = True
        """There may be further runs."""
        self.ended: queue.SimpleQueue[Future[bytes]] = queue.SimpleQueue()
        self.name, self.numbers = f"ssdlab-{uuid.uuid4().hex[:12]}", count()

    def fly(self) -> None:
        """Make all runs, until there are no more or `stop` is set."""
        try:
            while not self.work.stop.is_set():
                self._send()
                if not self.sent and not self.held:
                    return
                self._take()
                self._look()
        finally:
            self._end()

    def _send(self) -> None:
        """As many as the workers need not to wait."""
        workers = self.connection.workers
        room = max(1, AHEAD * workers.threads) - len(self.sent)
        for _ in range(len(self.held)):
            if room <= 0:
                return
            room -= self._sent(self.held.popleft())
        while room > len(self.held) and self.more and not self.work.stop.is_set():
            one = self.work.next()
            if one is None:
                self.more = False
                return
            room -= self._sent(self._begun(one))

    def _begun(self, one: Planned) -> _Run:
        self.work.callback(one)
        job = Job.of(one.config, one.policies)
        self.connection.sender.offer(job.inputs)
        files, topic = self.work.folder is not None, self.connection.sender.topic
        order = Order(job, files, self.work.html and one.first, self.apart, topic)
        return _Run(one, order, job.memory_bytes)

    def _sent(self, run: _Run) -> bool:
        """Send a run to the workers that may make it, or hold it while there is none."""
        able = self.connection.workers.able
        left = [one for address, one in able.items() if address not in run.apart_from]
        where = [one.address for one in left if one.memory_bytes >= run.memory_bytes]
        if not where and able:
            self.work.end(run.one, Ended("failed", None, _nowhere(run, left)))
            return False
        if not where:
            self.held.append(run)
            return False
        key = f"{self.name}-{next(self.numbers)}"
        run.where = frozenset(where)
        run.future = self.connection.client.submit(
            pickle.loads,
            pickle.dumps(Call(made, run.order)),
            key=key,
            workers=where,
            resources={MEMORY: run.memory_bytes},
            pure=False,
        )
        self.sent[key] = run
        run.future.add_done_callback(self.ended.put)
        return True

    def _take(self) -> None:
        """What has ended, all of it at once."""
        ended = []
        try:
            ended.append(self.ended.get(timeout=LOOK_S))
            while True:
                ended.append(self.ended.get_nowait())
        except queue.Empty:
            pass
        runs = [self.sent.pop(one.key) for one in ended if one.key in self.sent]
        good = [run for run in runs if run.future is not None and run.future.status == "finished"]
        for run, answer in zip(good, self._answers(good), strict=True):
            self._again(run) if answer is None else self._answered(run, answer)
        for run in runs:
            if run not in good:
                self._broken(run)

    def _answers(self, runs: list[_Run]) -> list[Answer | None]:
        """What the workers say; None: it was lost on the way."""
        try:
            found = self.connection.client.gather([run.future for run in runs]) if runs else []
        except (CancelledError, OSError):
            return [None] * len(runs)
        return [Answer.unpacked(one) for one in found]

    def _answered(self, run: _Run, answer: Answer) -> None:
        if answer.how == "elsewhere":
            run.apart_from[answer.worker] = answer.why
            self.held.append(run)
        elif answer.how == "interrupted":  # its worker is closing
            self._again(run)
        elif answer.how == "raised":
            assert answer.error is not None
            if not isinstance(answer.error, (Died, *self.work.point_errors)):
                raise answer.error
            self.work.end(run.one, Ended("failed", None, str(answer.error)))
        else:
            report = None
            if answer.report is not None:
                *texts, trace = answer.report
                report = Report.of(*texts, trace=trace)
            if self.work.folder is not None and report is not None and answer.files is not None:
                report = kept(report, answer.files, self.work.folder / run.one.folder)
            self.work.end(run.one, Ended(answer.how, report, answer.why, answer.traceback))

    def _broken(self, run: _Run) -> None:
        """Its task has no result."""
        assert run.future is not None
        if run.future.status != "error":  # cancelled, with the connection or by somebody
            self._again(run)
            return
        error = run.future.exception()
        if not isinstance(error, KilledWorker):
            raise error
        why = (
            f"{counted(error.allowed_failures + 1, 'worker')} died while making this run, the last"
            f" one {error.last_worker.address}: it takes too much memory, or a policy ends its"
            " process"
        )
        self.work.end(run.one, Ended("failed", None, why))

    def _again(self, run: _Run) -> None:
        run.tries += 1
        if run.tries > MOST_TRIES:
            why = f"it was cancelled {run.tries} times on the cluster, not by this process"
            self.work.end(run.one, Ended("failed", None, why))
        else:
            self.held.append(run)

    def _look(self) -> None:
        """At the scheduler, and at the workers."""
        connection = self.connection
        if connection.lost:
            self.work.note("the scheduler has gone: connecting again")
            self._recall([*self.sent])
            connection.again(self.work.stop)
        workers = connection.workers
        self.work.note(_described(workers, len(self.sent)))
        if workers.changed.is_set():
            workers.changed.clear()
            able = workers.able.keys()
            self._recall([key for key, run in self.sent.items() if not run.where & able])

    def _recall(self, keys: list[str]) -> None:
        """Hold runs again whose workers have all gone: others shall make them."""
        runs = [self.sent.pop(key) for key in keys]
        futures = [run.future for run in runs if run.future is not None]
        if futures and not self.connection.lost:
            self.connection.client.cancel(futures)
        self.held.extendleft(reversed(runs))

    def _end(self) -> None:
        """Give up what is under way; workers notice that it is not wanted any more."""
        left = [*self.sent.values(), *self.held]
        futures = [run.future for run in self.sent.values() if run.future is not None]
        self.sent.clear()
        self.held.clear()
        if futures and not self.connection.lost:
            self.connection.client.cancel(futures)
        for run in left:
            self.work.end(run.one, Ended("interrupted"))


def _described(workers: Workers, sent: int) -> str:
    """What the workers do, as a line beside the progress."""
    number = counted(len(workers.able), "worker")
    if not workers.able:
        return "waiting for workers" + ("" if not workers.refused else ": all there are refused")
    return f"{number}, {min(sent, workers.threads):,} running"


def _nowhere(run: _Run, left: list[Able]) -> str:
    """Why none of the workers can make a run; `left`: those that have not refused it."""
    if not left:
        return "; ".join(f"worker {worker}: {why}" for worker, why in run.apart_from.items())
    largest = max(left, key=lambda one: one.memory_bytes)
    return (
        f"it takes about {size(run.memory_bytes)} of memory, and the largest worker"
        f" ({largest.address}) has {size(largest.memory_bytes)}: start workers with more"
        " (--memory-limit), or use larger pages or fewer blocks"
    )
