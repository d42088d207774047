"""A run in a separate process: runs with policies in Python would wait for one interpreter.

The process is a fresh interpreter, so that it shares no lock, thread or global variable with this
one and needs no `if __name__ == "__main__"` of the caller. It reads pickles (where modules are,
then the run) from its standard input and writes messages to its standard output; the end of its
input means stop.
"""

from __future__ import annotations

import _thread
import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any, NoReturn, TypeVar

from ssdlab import _core
from ssdlab.config.resolve import Config
from ssdlab.display.argument import argument
from ssdlab.display.progress import REDRAW_S, Callback
from ssdlab.errors import InternalError, Interrupted, RunError
from ssdlab.policy import Policies
from ssdlab.results.report import Report
from ssdlab.running import child, simulate
from ssdlab.running.moved import NOTHING, LocalPaths
from ssdlab.running.sources import sources_digest

STOP_S = 30.0
"""How long a process may take to store its results after it was asked to stop."""
Raised = TypeVar("Raised", bound=BaseException)


class Died(RuntimeError):
    """The process of a run ended without an answer."""


class PolicyDiffers(ImportError):
    """A policy differs from the one with which its run was planned."""


class PolicyTraceback(Exception):
    """What a policy raised in another process, as the text of its traceback."""


def run_apart(
    config: Config,
    policies: bytes,
    callback: Callback,
    stop: threading.Event,
    *,
    out: Path | None,
    html: bool,
    moved: LocalPaths = NOTHING,
    sources: str = "",
) -> Report:
    """As `run_loaded`, in a process that ends when `stop` is set. `policies`: `Policies.pack()`.

    `callback` is called with the progress. With `sources`, the digest of the policies
    (`sources_digest`), others are refused by a `PolicyDiffers`. Raises what `run_loaded`
    raises, and `Died`.
    """
    job: dict[str, object] = {"config": config.text, "policies": policies, "out": out, "html": html}
    job |= {"moved": moved, "sources": sources}
    with subprocess.Popen(
        child.command(__name__),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches this process alone, which tells the others.
    ) as process:
        assert process.stdin
        assert process.stdout
        watcher = threading.Thread(target=_end_on, args=(stop, process), daemon=True)
        try:
            with suppress(BrokenPipeError):  # It has died: there is no answer either.
                pickle.dump(sys.path, process.stdin)
                pickle.dump(job, process.stdin)
                process.stdin.flush()
            watcher.start()
            return answer(
                process.stdout, callback, lambda: _exit_text(process.wait(), stop.is_set())
            )
        finally:
            process.kill()


def _end_on(stop: threading.Event, process: subprocess.Popen[bytes]) -> None:
    """Tell the process to stop when `stop` is set, and end it if it does not."""
    while not stop.wait(0.2):
        if process.poll() is not None:
            return
    with suppress(OSError):
        if process.stdin:
            process.stdin.close()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()


def answer(messages: IO[bytes], callback: Callback, death: Callable[[], str]) -> Report:
    """The report that the process of a run sends; `death` says why none came."""
    while True:
        try:
            kind, *rest = pickle.load(messages)
        except (EOFError, pickle.UnpicklingError):
            raise Died(death()) from None
        if kind == "progress":
            with suppress(KeyboardInterrupt):  # `stop` is set: the process learns it by itself.
                callback(*rest)
        elif kind == "output":
            print(rest[0], end="", flush=True)
        else:
            return _report_or_raise(kind, *rest)


def _report_or_raise(
    kind: str, report: Report, message: str, trace: str, error: Exception
) -> Report:
    if kind == "raised":
        raise error
    if kind == "interrupted":
        raise Interrupted(report, report.folder)
    if kind == "failed":
        cause = PolicyTraceback(trace) if trace else None
        raise RunError(message, report, report.folder) from cause
    return report


def _exit_text(code: int, was_stopped: bool) -> str:
    """What happened to a process that ended with `code`, in words."""
    if was_stopped:
        return f"its process did not stop within {STOP_S:.0f} s and was ended"
    if code >= 0:
        return f"its process ended with exit code {code} before the run did"
    name = signal.Signals(-code).name
    hint = ""
    if name in ("SIGKILL", "SIGABRT"):
        hint = f" (out of memory? fewer {argument('jobs')} take less)"
    return f"its process was ended by {name}{hint}"


# The other side.


class _OutputStream(io.TextIOBase):
    """Standard output of policies: the process that started them prints it."""

    def __init__(self, send: Callable[..., None]) -> None:
        self.send = send

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.send("output", text)
        return len(text)


def main() -> NoReturn:
    """Execute the run that standard input describes."""
    signal.signal(signal.SIGINT, _handle_interrupt)
    jobs = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    messages = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    job = pickle.load(sys.stdin.buffer)
    sys.stdin = io.StringIO()
    _execute(job, jobs, messages)


def serve(connection: socket.socket, start: _core.Start) -> NoReturn:
    """Execute the run that a connection describes from a start state."""
    jobs = connection.makefile("rb")
    job = pickle.load(jobs)
    _execute(job, jobs, connection.makefile("wb"), start)


def _execute(
    job: dict[str, Any], jobs: IO[bytes], messages: IO[bytes], start: _core.Start | None = None
) -> NoReturn:
    """Execute `job` until `jobs` ends, and send what becomes of it."""
    lock, stop = threading.Lock(), threading.Event()

    def send(*message: object) -> None:
        with lock:
            messages.write(pickle.dumps(message))
            messages.flush()

    sys.stdout = _OutputStream(send)

    def watch_input() -> None:
        jobs.read()
        stop.set()
        _thread.interrupt_main()

    threading.Thread(target=watch_input, daemon=True).start()
    with suppress(BrokenPipeError):
        send(*_outcome(job, send, stop, start))
    # Threads that a policy has started do not keep the process alive.
    sys.stderr.flush()
    os._exit(0)


def _handle_interrupt(_: int, frame: FrameType | None) -> None:
    """Stop a policy that is being called, and nothing else: finished work is still written."""
    outer = frame
    while outer is not None and outer.f_code is not simulate.run_simulator.__code__:
        outer = outer.f_back
    if outer is not None and outer is not frame:
        raise KeyboardInterrupt


def _outcome(
    job: dict[str, Any],
    send: Callable[..., None],
    stop: threading.Event,
    start: _core.Start | None,
) -> tuple[object, ...]:
    last_stage, last_time = "", 0.0

    def send_progress(stage: str, done: int, total: int | None) -> None:
        nonlocal last_stage, last_time
        if stop.is_set():
            raise KeyboardInterrupt
        now = time.monotonic()
        if stage != last_stage or now - last_time >= REDRAW_S:
            last_stage, last_time = stage, now
            send("progress", stage, done, total)

    try:
        try:
            policies = Policies.unpack(job["policies"])
        except AttributeError as error:  # a module of this name without the class
            raise PolicyDiffers(str(error)) from error
        if job["sources"] and job["sources"] != sources_digest(job["policies"]):
            message = ", ".join(
                sorted({type(policy).__module__ for policy in policies.by_key.values()})
            )
            raise PolicyDiffers(message)
        report = simulate.run_loaded(
            Config(job["config"]),
            send_progress,
            out=job["out"],
            html=job["html"],
            policies=policies,
            moved=job["moved"],
            start=start,
        )
    except Interrupted as interruption:
        return "interrupted", interruption.report, "", "", None
    except RunError as failure:
        cause = failure.__cause__
        trace = "" if cause is None else "".join(traceback.format_exception(cause))
        return "failed", failure.report, str(failure), trace, None
    except BaseException as error:
        return "raised", None, "", "", portable(error)
    return "completed", report, "", "", None


def portable(error: Raised) -> Raised | InternalError:
    """`error` if it can be sent to another process, otherwise its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return InternalError(f"{type(error).__name__}: {error}")
    return error
