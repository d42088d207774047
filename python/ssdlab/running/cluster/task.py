"""A run on a worker: what arrives there, and what goes back."""

from __future__ import annotations

import json
import pickle
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from distributed import Worker, get_worker

from ssdlab import _core
from ssdlab.config import memory
from ssdlab.config.resolve import Config
from ssdlab.errors import (
    ConfigError,
    InternalError,
    Interrupted,
    OutputError,
    RunError,
    WorkloadError,
)
from ssdlab.results.report import Report
from ssdlab.running.cluster.arrivals import Elsewhere, local_file
from ssdlab.running.cluster.cache import Cache
from ssdlab.running.cluster.check import memory_of
from ssdlab.running.job import InputFile, Job, contents, version_of
from ssdlab.running.moved import LocalPaths
from ssdlab.running.processes import PolicyDiffers, portable, run_apart
from ssdlab.running.simulate import run_loaded

LOOK_S = 0.2


@dataclass(frozen=True)
class Order:
    """A run to be made."""

    job: Job
    files: bool
    """Its files are wanted."""
    html: bool
    """Its page, too."""
    topic: str
    """The topic of the events in which files are requested."""


@dataclass(frozen=True)
class Answer:
    """How a run has ended on a worker."""

    how: Literal["completed", "failed", "interrupted", "raised", "elsewhere"]
    worker: str = ""
    report: tuple[str, str, str, dict[str, Any] | None] | None = None
    """The arguments of `Report.of`."""
    why: str = ""
    traceback: str = ""
    error: Exception | None = None
    """What was raised."""
    files: dict[str, bytes] | None = None
    """The files of the folder of the run, by their path in it."""

    seconds: float = 0.0
    """How long it took there."""


def pack(answers: list[Answer]) -> bytes:
    """Answers as bytes, which Dask carries unchanged."""
    return zlib.compress(pickle.dumps(answers), 1)


def unpack(data: bytes) -> list[Answer]:
    """What `pack` made bytes of."""
    answers: list[Answer] = pickle.loads(zlib.decompress(data))
    return answers


class Call:
    """Unpickling it calls a function, wherever that happens, and yields the result.

    So a task is `pickle.loads` of bytes, and the scheduler needs nothing of ssdlab.
    """

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.call


class _Cancellation(threading.Event):
    """Set when the run of this thread is no longer wanted: the client has gone or cancelled it."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.worker = worker
        self.key = worker.get_current_task()

    def is_set(self) -> bool:
        task = self.worker.state.tasks.get(self.key)
        return task is None or task.state != "executing"

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        if not self.is_set():
            time.sleep(timeout)
        return self.is_set()


def execute_orders(orders: list[Order]) -> bytes:
    """Make runs on this worker, one after the other; their answers, packed."""
    return pack([answer_to(order) for order in orders])


def answer_to(order: Order) -> Answer:
    """Execute a run on this worker."""
    worker, start = get_worker(), time.monotonic()
    cancellation = _Cancellation(worker)
    with tempfile.TemporaryDirectory(
        prefix="ssdlab-", dir=worker.local_directory, ignore_cleanup_errors=True
    ) as temporary:
        answer = _execute(order, Path(temporary), cancellation)
    return replace(answer, worker=worker.address, seconds=time.monotonic() - start)


def _execute(order: Order, temporary: Path, cancellation: _Cancellation) -> Answer:
    config, moved = Config(order.job.config), LocalPaths({})
    out = temporary / "run" if order.files else None

    def answer(kind: Any, report: Report | None, reason: str = "", traceback: str = "") -> Answer:  # noqa: ANN401
        return Answer(kind, "", _parts(report), reason, traceback, files=_file_contents(out))

    try:
        with _local_paths(order, temporary, cancellation) as moved:
            return answer("completed", _report_of(order, config, moved, out, cancellation))
    except Interrupted as interruption:
        return answer("interrupted", interruption.report)
    except KeyboardInterrupt:
        return Answer("interrupted")
    except RunError as failure:
        cause = failure.__cause__
        return answer("failed", failure.report, str(failure), "" if cause is None else str(cause))
    except (Elsewhere, OutputError) as error:
        return Answer("elsewhere", why=str(error))
    except ImportError as error:
        if not order.job.policies:
            raise
        return Answer("failed", why=_policy_error(error))
    except Exception as error:
        return Answer("raised", error=_portable_error(error, moved, config))


def _report_of(
    order: Order, config: Config, moved: LocalPaths, out: Path | None, cancellation: _Cancellation
) -> Report:
    def progress(*_: object) -> None:
        if cancellation.is_set():
            raise KeyboardInterrupt

    job = order.job
    if job.policies:
        return run_apart(
            config,
            job.policies,
            progress,
            cancellation,
            out=out,
            html=order.html,
            moved=moved,
            sources=job.sources,
        )
    return run_loaded(config, progress, out=out, html=order.html, moved=moved, traces=traces_here())


@cache
def traces_here() -> _core.Traces:
    """The traces that the runs of this worker share."""
    return _core.Traces(memory.traces_bytes(memory_of(get_worker())))


def _policy_error(error: ImportError) -> str:
    if isinstance(error, PolicyDiffers):
        finding = f"{error}: the module is not the one of the client"
        remedy = "install the same one there and start the worker again"
    else:
        finding = f"{error.name or error}: the module of a policy cannot be imported ({error})"
        remedy = "install it there, or define the policy in the script itself, which is sent"
    return f"worker {get_worker().address}: {finding}: {remedy}"


def _portable_error(error: Exception, moved: LocalPaths, config: Config) -> Exception:
    """`error` with the paths of the configuration, in a form that can be sent."""
    if isinstance(error, ConfigError):
        return ConfigError([moved.text(message, config) for message in error.messages])
    if isinstance(error, WorkloadError | InternalError):
        return type(error)(moved.text(str(error), config))
    return portable(error)


def _parts(report: Report | None) -> tuple[str, str, str, dict[str, Any] | None] | None:
    if report is None:
        return None
    return json.dumps(report.json), report.series_csv, report.distributions_csv, report.trace


def _file_contents(folder: Path | None) -> dict[str, bytes] | None:
    if folder is None or not folder.is_dir():
        return None
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


@contextmanager
def _local_paths(
    order: Order, temporary: Path, cancellation: _Cancellation
) -> Iterator[LocalPaths]:
    """The local paths of the files of a run, which are fetched if they are not here."""
    paths = {}
    with ExitStack() as stack:
        for source in order.job.inputs:
            if not _is_in_place(source):
                if source.others:
                    raise WorkloadError(_companions_text(source))
                cache = Cache.of_environment()
                arrival = local_file(source, cache, order.topic, cancellation.is_set)
                file = stack.enter_context(arrival)
            elif Path(source.path).absolute() in (Path(source.file), Path(source.file).parent):
                continue
            else:
                # Relative to another folder: as distinctive as a path in the cache.
                file = temporary / source.digest / Path(source.file).name
                file.parent.symlink_to(Path(source.file).parent)
            paths[source.key] = str(file.parent if source.of_folder else file)
        yield LocalPaths(paths)


def _companions_text(source: InputFile) -> str:
    return (
        f"{source.path}: is read with {source.others:,} other files, which are not sent to workers:"
        " put them where workers see them, or make one file of them (ssdlab trace convert)"
    )


_hashing = threading.Lock()
"""A file is read by one thread, for all of them."""


def _is_in_place(source: InputFile) -> bool:
    """Whether this worker has access to the same file with the same contents."""
    file = Path(source.file)
    try:
        with _hashing:
            is_same_size = source.others or file.stat().st_size == source.bytes
            if is_same_size and source.version and version_of(file) == source.version:
                return True  # It is the very file that the client has read.
            return bool(is_same_size) and contents(file)[0] == source.digest
    except (OSError, WorkloadError):
        return False
