"""Runs on the workers of a cluster: few of them are under way at a time, and none is lost."""

from __future__ import annotations

import concurrent.futures
import pickle
import queue
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count

from distributed import Future, KilledWorker

from ssdlab.config.memory import TRACES
from ssdlab.display.numbers import size
from ssdlab.results.report import Report
from ssdlab.results.text import counted
from ssdlab.running.cluster.connection import Connection
from ssdlab.running.cluster.folder import store_run
from ssdlab.running.cluster.task import Answer, Call, Order, execute_orders, unpack
from ssdlab.running.cluster.workers import MEMORY, UsableWorker, Workers
from ssdlab.running.job import check_files
from ssdlab.running.processes import Died
from ssdlab.running.runner import PlannedRun, RunEnd, Work, waiting_for

AHEAD = 4
"""Tasks under way for each thread of a worker: it never waits for the next one."""
TASK_S = 0.25
"""A task combines short runs that together take about this long, because Dask needs milliseconds
per task.
"""
MOST_RUNS = 32
"""The most runs in a task."""
LOOK_S = 0.2
MOST_TRIES = 5
"""A run that was cancelled this often, and not by us, fails."""


@dataclass
class _Run:
    """A run that was taken and has not ended."""

    planned: PlannedRun
    order: Order
    apart_from: dict[str, str] = field(default_factory=dict)
    """Workers on which it cannot be executed, and why."""
    tries: int = 0
    """How often it was sent in vain."""


@dataclass(frozen=True)
class _Task:
    """Runs that were sent together."""

    runs: list[_Run]
    addresses: frozenset[str]
    """Workers that might make them."""
    future: Future[bytes]


@dataclass(frozen=True)
class Cluster:
    """A runner: the workers of the scheduler at the other end of `connection`."""

    connection: Connection

    @property
    def local_jobs(self) -> int:
        """None: the memory of workers is checked when a run is sent."""
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
        self.work = work
        self.sent: dict[str, _Task] = {}
        """By key."""
        self.waiting: deque[_Run] = deque()
        """Runs that wait for a worker."""
        self.has_more = True
        """There may be further runs."""
        self.run_s = TASK_S
        """The time that a run takes, from recent runs."""
        self.ended: queue.SimpleQueue[Future[bytes]] = queue.SimpleQueue()
        self.name, self.numbers = f"ssdlab-{uuid.uuid4().hex[:12]}", count()

    def fly(self) -> None:
        """Execute all runs, until there are no more or `stop` is set."""
        try:
            while not self.work.stop.is_set():
                self._send()
                if not self.sent and not self.waiting:
                    return
                self._take()
                self._check_connection()
        finally:
            self._end()

    def _send(self) -> None:
        """Send as many runs as the workers need in order not to wait."""
        limit = max(1, AHEAD * self.connection.workers.threads)
        # Runs that once failed to be executed go alone: another run may have been the reason.
        for _ in range(len(self.waiting)):
            if len(self.sent) >= limit:
                return
            self._submit([self.waiting.popleft()])
        while len(self.sent) < limit and not self.waiting and self.has_more:
            runs = [*self._next(max(1, min(MOST_RUNS, int(TASK_S / max(self.run_s, 1e-3)))))]
            if runs:
                self._submit(runs)

    def _next(self, number: int) -> Iterator[_Run]:
        """The next runs, which form one task."""
        for _ in range(number):
            planned = None if self.work.stop.is_set() else self.work.next()
            if planned is None:
                self.has_more = False
                return
            check_files(planned.config)
            try:
                yield self._prepare(planned)
            except self.work.point_errors as error:
                self.work.end(planned, RunEnd("failed", None, str(error), error=error))

    def _prepare(self, planned: PlannedRun) -> _Run:
        self.work.callback(planned)
        self.connection.sender.offer(planned.job.inputs)
        files, topic = self.work.folder is not None, self.connection.sender.topic
        order = Order(planned.job, files, self.work.html and planned.first, topic)
        return _Run(planned, order)

    def _submit(self, runs: list[_Run]) -> None:
        """Send runs to the workers that may execute them; hold them while there are none."""
        able, shared_bytes = self.connection.workers.able, self.connection.workers.shared_bytes
        memory_bytes = max(run.order.job.memory_bytes(shared_bytes) for run in runs)
        candidates = [
            worker
            for worker in able.values()
            if not any(worker.address in run.apart_from for run in runs)
        ]
        addresses = [worker.address for worker in candidates if worker.memory_bytes >= memory_bytes]
        if not addresses and len(runs) > 1:
            for run in runs:
                self._submit([run])
            return
        if not addresses and able:
            self.work.end(
                runs[0].planned,
                RunEnd("failed", None, _no_worker_reason(runs[0], memory_bytes, candidates)),
            )
            return
        if not addresses:
            self.waiting.append(runs[0])
            return
        key = f"{self.name}-{next(self.numbers)}"
        future = self.connection.client.submit(
            pickle.loads,
            pickle.dumps(Call(execute_orders, [run.order for run in runs])),
            key=key,
            workers=addresses,
            resources={MEMORY: memory_bytes},
            pure=False,
        )
        self.sent[key] = _Task(runs, frozenset(addresses), future)
        future.add_done_callback(self.ended.put)

    def _take(self) -> None:
        """Take everything that has ended, all at once."""
        futures = []
        try:
            futures.append(self.ended.get(timeout=LOOK_S))
            while True:
                futures.append(self.ended.get_nowait())
        except queue.Empty:
            pass
        tasks = [self.sent.pop(future.key) for future in futures if future.key in self.sent]
        finished = [task for task in tasks if task.future.status == "finished"]
        for task in tasks:
            if task not in finished:
                self._handle_failure(task)
        for run, answer in self._answers(finished):
            self._retry(run) if answer is None else self._handle_answer(run, answer)

    def _answers(self, tasks: list[_Task]) -> Iterator[tuple[_Run, Answer | None]]:
        """The answers of the workers; None if they were lost on the way."""
        try:
            futures = [task.future for task in tasks]
            results = self.connection.client.gather(futures) if futures else []
        except (CancelledError, OSError):
            yield from ((run, None) for task in tasks for run in task.runs)
            return
        for task, data in zip(tasks, results, strict=True):
            yield from zip(task.runs, unpack(data), strict=True)

    def _handle_answer(self, run: _Run, answer: Answer) -> None:
        self.run_s += (answer.seconds - self.run_s) / AHEAD
        if answer.how == "elsewhere":
            run.apart_from[answer.worker] = answer.why
            self.waiting.append(run)
        elif answer.how == "interrupted":  # its worker is closing
            self._retry(run)
        elif answer.how == "raised":
            assert answer.error is not None
            if not isinstance(answer.error, (Died, *self.work.point_errors)):
                raise answer.error
            ending = RunEnd("failed", None, str(answer.error), error=answer.error)
            self.work.end(run.planned, ending)
        else:
            report = None
            if answer.report is not None:
                *texts, trace = answer.report
                report = Report.of(*texts, trace=trace)
            if self.work.folder is not None and report is not None and answer.files is not None:
                report = store_run(report, answer.files, self.work.folder / run.planned.folder)
            self.work.end(run.planned, RunEnd(answer.how, report, answer.why, answer.traceback))

    def _handle_failure(self, task: _Task) -> None:
        """It has no result."""
        # Otherwise it was cancelled, with the connection or by somebody.
        is_error = task.future.status == "error"
        error = task.future.exception() if is_error else None
        if error is not None and not isinstance(error, KilledWorker):
            raise error
        if error is None or len(task.runs) > 1:
            for run in task.runs:
                self._retry(run)
            return
        reason = (
            f"{counted(error.allowed_failures + 1, 'worker')} died while making this run, the last"
            f" one {error.last_worker.address}: it takes too much memory, or a policy ends its"
            " process"
        )
        self.work.end(task.runs[0].planned, RunEnd("failed", None, reason))

    def _retry(self, run: _Run) -> None:
        run.tries += 1
        if run.tries > MOST_TRIES:
            reason = f"it was cancelled {run.tries} times on the cluster, not by this process"
            self.work.end(run.planned, RunEnd("failed", None, reason))
        else:
            self.waiting.append(run)

    def _check_connection(self) -> None:
        """Check the scheduler and the workers."""
        connection = self.connection
        if connection.is_lost:
            self.work.note("the scheduler has gone: connecting again")
            self._recall([*self.sent])
            connection.reconnect(self.work.stop)
        workers = connection.workers
        self.work.note(_status_text(workers, self.sent.values(), connection.dashboard))
        if workers.changed.is_set():
            workers.changed.clear()
            able = workers.able.keys()
            self._recall([key for key, task in self.sent.items() if not task.addresses & able])

    def _recall(self, keys: list[str]) -> None:
        """Hold runs again whose workers have all gone, so that others execute them."""
        tasks = [self.sent.pop(key) for key in keys]
        if tasks and not self.connection.is_lost:
            self.connection.client.cancel([task.future for task in tasks])
        self.waiting.extendleft(run for task in reversed(tasks) for run in reversed(task.runs))

    def _end(self) -> None:
        """Give up what is under way; workers notice that it is not wanted any more."""
        tasks = [*self.sent.values()]
        runs = [*(run for task in tasks for run in task.runs), *self.waiting]
        self.sent.clear()
        self.waiting.clear()
        if tasks and not self.connection.is_lost:
            self.connection.client.cancel([task.future for task in tasks])
        for run in runs:
            self.work.end(run.planned, RunEnd("interrupted"))


def _status_text(workers: Workers, tasks: Iterable[_Task], dashboard: str | None) -> str:
    """The activity of the workers, as a line next to the progress."""
    if not workers.able:
        return "waiting for workers" + (
            " (all that there are were refused)" * bool(workers.refused)
        )
    running = min(sum(len(task.runs) for task in tasks), workers.threads)
    number = counted(len(workers.able), "worker")
    return f"{running:,} running on {number}" + (f", dashboard {dashboard}" if dashboard else "")


def _no_worker_reason(run: _Run, memory_bytes: int, candidates: list[UsableWorker]) -> str:
    """Why none of the workers can make a run; `candidates`: those that have not refused it."""
    if not candidates:
        return "; ".join(f"worker {worker}: {reason}" for worker, reason in run.apart_from.items())
    largest = max(candidates, key=lambda worker: worker.memory_bytes)
    total_bytes, traces = largest.memory_bytes + largest.traces_bytes, size(largest.traces_bytes)
    return (
        f"it takes about {size(memory_bytes)} of memory, and the largest worker"
        f" ({largest.address}) has {size(total_bytes)}, of which {traces} are for traces that runs"
        f" share ({TRACES}): start workers with more (--memory-limit), or use larger pages or fewer"
        " blocks"
    )
