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
from ssdlab.running.cluster.arrivals import Elsewhere, brought
from ssdlab.running.cluster.cache import Cache
from ssdlab.running.cluster.check import memory_of
from ssdlab.running.job import InputFile, Job, contents, version_of
from ssdlab.running.moved import Moved
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


def packed(answers: list[Answer]) -> bytes:
    """Answers as bytes, which Dask carries unchanged."""
    return zlib.compress(pickle.dumps(answers), 1)


def unpacked(data: bytes) -> list[Answer]:
    """What `packed` made bytes of."""
    found: list[Answer] = pickle.loads(zlib.decompress(data))
    return found


class Call:
    """Unpickling it calls a function, wherever that happens, and yields the result.

    So a task is `pickle.loads` of bytes, and the scheduler needs nothing of ssdlab.
    """

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.call


class _Unwanted(threading.Event):
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


def made(orders: list[Order]) -> bytes:
    """Make runs on this worker, one after the other; their answers, packed."""
    return packed([answer_to(order) for order in orders])


def answer_to(order: Order) -> Answer:
    """Execute a run on this worker."""
    worker, began = get_worker(), time.monotonic()
    unwanted = _Unwanted(worker)
    with tempfile.TemporaryDirectory(
        prefix="ssdlab-", dir=worker.local_directory, ignore_cleanup_errors=True
    ) as temporary:
        answer = _answered(order, Path(temporary), unwanted)
    return replace(answer, worker=worker.address, seconds=time.monotonic() - began)


def _answered(order: Order, temporary: Path, unwanted: _Unwanted) -> Answer:
    config, moved = Config(order.job.config), Moved({})
    out = temporary / "run" if order.files else None

    def answer(how: Any, report: Report | None, why: str = "", traceback: str = "") -> Answer:  # noqa: ANN401
        return Answer(how, "", _parts(report), why, traceback, files=_read(out))

    try:
        with _placed(order, temporary, unwanted) as moved:
            return answer("completed", _report_of(order, config, moved, out, unwanted))
    except Interrupted as stopped:
        return answer("interrupted", stopped.report)
    except KeyboardInterrupt:
        return Answer("interrupted")
    except RunError as failed:
        cause = failed.__cause__
        return answer("failed", failed.report, str(failed), "" if cause is None else str(cause))
    except (Elsewhere, OutputError) as error:
        return Answer("elsewhere", why=str(error))
    except ImportError as error:
        if not order.job.policies:
            raise
        return Answer("failed", why=_policy_not_here(error))
    except Exception as error:
        return Answer("raised", error=_told(error, moved, config))


def _report_of(
    order: Order, config: Config, moved: Moved, out: Path | None, unwanted: _Unwanted
) -> Report:
    def progress(*_: object) -> None:
        if unwanted.is_set():
            raise KeyboardInterrupt

    job = order.job
    if job.policies:
        return run_apart(
            config,
            job.policies,
            progress,
            unwanted,
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


def _policy_not_here(error: ImportError) -> str:
    if isinstance(error, PolicyDiffers):
        what = f"{error}: the module is not the one of the client"
        remedy = "install the same one there and start the worker again"
    else:
        what = f"{error.name or error}: the module of a policy cannot be imported ({error})"
        remedy = "install it there, or define the policy in the script itself, which is sent"
    return f"worker {get_worker().address}: {what}: {remedy}"


def _told(error: Exception, moved: Moved, config: Config) -> Exception:
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


def _read(folder: Path | None) -> dict[str, bytes] | None:
    if folder is None or not folder.is_dir():
        return None
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


@contextmanager
def _placed(order: Order, temporary: Path, unwanted: _Unwanted) -> Iterator[Moved]:
    """The local paths of the files of a run, which are fetched if they are not here."""
    here = {}
    with ExitStack() as stack:
        for one in order.job.inputs:
            if not _in_place(one):
                if one.others:
                    raise WorkloadError(_not_alone(one))
                cache = Cache.of_environment()
                found = brought(one, cache, order.topic, unwanted.is_set)
                file = stack.enter_context(found)
            elif Path(one.path).absolute() in (Path(one.file), Path(one.file).parent):
                continue
            else:
                # Relative to another folder: as distinctive as a path in the cache.
                file = temporary / one.digest / Path(one.file).name
                file.parent.symlink_to(Path(one.file).parent)
            here[one.key] = str(file.parent if one.of_folder else file)
        yield Moved(here)


def _not_alone(one: InputFile) -> str:
    return (
        f"{one.path}: is read with {one.others:,} other files, which are not sent to workers: put"
        " them where workers see them, or make one file of them (ssdlab trace convert)"
    )


_hashing = threading.Lock()
"""A file is read by one thread, for all of them."""


def _in_place(one: InputFile) -> bool:
    """Whether this worker has access to the same file with the same contents."""
    file = Path(one.file)
    try:
        with _hashing:
            alike = one.others or file.stat().st_size == one.bytes
            if alike and one.version and version_of(file) == one.version:
                return True  # It is the very file that the client has read.
            return bool(alike) and contents(file)[0] == one.digest
    except (OSError, WorkloadError):
        return False
