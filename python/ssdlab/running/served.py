"""A simulated drive as a network block device that other programs use."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssdlab import _core
from ssdlab.config import memory
from ssdlab.config.resolve import Config, load_config
from ssdlab.display.progress import show_progress
from ssdlab.errors import ConfigError, ServerError, translate_errors
from ssdlab.running.fitted import fitted
from ssdlab.running.served_page import LivePage
from ssdlab.running.served_socket import StatusSocket, store_summary
from ssdlab.running.signals import ONE_SIGNAL_S, Repeats

# Real-time priority (1 to 99): above all ordinary programs, below the threads of the kernel.
PRIORITY = 5


@dataclass(frozen=True)
class Address:
    """Where clients connect: the path of a Unix socket, or an address and a port."""

    unix: Path | None = None
    tcp: str | None = None


@dataclass(frozen=True)
class Pacing:
    """How the clock of the drive follows wall time.

    `scale` is the wall time per second of the drive's time, in seconds; `None` raises it until
    replies are on time. When the server is behind, the clock stops, or with `clock_continues`
    replies are late. With `polls` the server polls instead of sleeping shortly before an event.
    """

    scale: float | None = 1.0
    clock_continues: bool = False
    polls: bool = False


def serve_drive(
    config: Config,
    address: Address,
    *,
    state: Path | None,
    record: Path | None,
    pacing: Pacing,
    most_log: int,
    ready: Callable[[dict[str, Any]], object],
    status: Callable[[dict[str, Any]], object],
    stops: Callable[[], object],
    progress: bool,
    page: bool = False,
) -> dict[str, Any]:
    """Serve the drive of `config` until Ctrl-C or SIGTERM. Returns the summary.

    `state` and `record` are the folders of the drive and of the recording. A log of more than
    `most_log` bytes is folded. `ready` is called when clients may connect, with size, port,
    recovery, and the address of the page (with `page`). `status` is called with the summary so far
    after SIGUSR1, `stops` when the server stops; a second Ctrl-C then kills the process. Raises
    `ConfigError` if the drive cannot be served, `ServerError` if it fails, `OutputError` for files.
    """
    if config["run.mode"] != "timed":
        message = 'run.mode: a served drive needs "timed": set that, or leave the key out'
        raise ConfigError([message])
    loaded = fitted(config)
    memory.check([loaded])
    cleanups = ExitStack()
    with cleanups, translate_errors(), handle_signals(stops) as signals, ExitStack() as displays:
        callback = displays.enter_context(show_progress(loaded.name, progress))
        folders = [folder for folder in (state, record) if folder is not None]
        session = _Session(signals, displays, cleanups, status, folders)

        def is_ready(text: str) -> None:
            ready(json.loads(text) | session.begin(loaded.name if page else None))

        def stage(name: str, done: int, total: int | None) -> None:
            if signals.stop:
                # Give up real-time priority: bringing a large drive to rest takes a while.
                displays.close()
                raise KeyboardInterrupt
            # Serving has no end, so it has no progress.
            if callback is not None and name != "workload":
                callback(name, done, total)

        try:
            summary = _core.serve(
                loaded.text,
                loaded.name,
                unix=address.unix,
                tcp=address.tcp,
                state=state,
                record=record,
                scale=pacing.scale,
                clock_continues=pacing.clock_continues,
                polls=pacing.polls,
                most_log=most_log,
                temporary=Path(tempfile.gettempdir()),
                commit=_core.__commit__,
                ready=is_ready,
                asks=session.wants_summary,
                hear=session.publish,
                progress=stage,
            )
        except _core.StuckError as error:
            raise ServerError(str(error)) from None
        if record is not None:
            _write_run(loaded, record, with_state=state is not None)
        return session.end(summary)


@dataclass
class _Session:
    """A running server, and the recipients of its summary: folders, sockets, page and terminal."""

    signals: Signals
    displays: ExitStack
    cleanups: ExitStack
    status: Callable[[dict[str, Any]], object]
    folders: list[Path]
    sockets: list[StatusSocket] = field(default_factory=list)
    page: LivePage | None = None
    is_real_time: bool = False
    has_stored_summary: bool = False

    def begin(self, page: str | None) -> dict[str, Any]:
        """Open the status sockets, and a page with the name `page`, if there is to be one."""
        self.displays.close()
        self.sockets = [StatusSocket(folder) for folder in self.folders]
        for socket in self.sockets:
            # Clients that ask while the drive comes to rest are answered when the socket closes.
            self.cleanups.callback(socket.close)
        if page is not None:
            self.page = LivePage(page)
            self.displays.callback(self.page.close)
        self.is_real_time = self.displays.enter_context(_real_time())
        return {"real_time": self.is_real_time, "page": self.page and self.page.address}

    def complete(self, summary: str) -> dict[str, Any]:
        """The summary of the core with the priority of the server."""
        return {"real_time": self.is_real_time, **json.loads(summary)}

    def end(self, text: str) -> dict[str, Any]:
        """Store the summary of the whole session in its folders, and return it."""
        summary = self.complete(text)
        for folder in self.folders:
            store_summary(folder, summary, is_over=True)
        return summary

    def wants_summary(self) -> bool:
        """Whether a summary is requested or due, or none has been stored yet."""
        is_requested = self.signals.status or any(socket.has_request for socket in self.sockets)
        is_due = self.page is not None and self.page.is_due()
        return not self.has_stored_summary or is_requested or is_due

    def publish(self, text: str) -> None:
        """Send the summary to whoever requested it, and store it for `status` after a kill."""
        summary = self.complete(text)
        self.has_stored_summary = True
        for folder in self.folders:
            with suppress(OSError):  # A full disk must not end the server.
                store_summary(folder, summary, is_over=False)
        if self.page is not None:
            self.page.show(summary)
        for socket in self.sockets:
            socket.answer(summary)
        if self.signals.take_status_request():
            self.status(summary)


@dataclass
class Signals:
    """The signals that a server has received and not yet handled."""

    status: bool = False
    stop: bool = False

    def take_status_request(self) -> bool:
        """Whether SIGUSR1 has arrived since the last call."""
        is_requested, self.status = self.status, False
        return is_requested


@contextmanager
def handle_signals(stops: Callable[[], object]) -> Iterator[Signals]:
    """Handle SIGUSR1, SIGINT and SIGTERM; the latter two call `stops`, and a second one kills.

    Repeats of one signal within a moment are ignored: see `Repeats`.
    No handler raises: an exception would end whichever callback it meets.
    """
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return

    def request_status(_number: int, _frame: object) -> None:
        signals.status = True

    repeats = Repeats()

    def stop(number: int, _frame: object) -> None:
        if repeats.has(number):
            return
        if signals.stop:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        signals.stop = True
        stops()
        # Repeats arrive during this sleep. After it, a signal kills even where no handler can run.
        time.sleep(ONE_SIGNAL_S)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)

    handlers = {signal.SIGINT: stop, signal.SIGTERM: stop, signal.SIGUSR1: request_status}
    previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield signals
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _real_time() -> Iterator[bool]:
    """Run this thread with real-time priority if that is permitted. Yields whether it is."""
    scheduler = os.sched_getscheduler(0)
    if scheduler in (os.SCHED_FIFO, os.SCHED_RR):
        yield True
        return
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, scheduler, os.sched_param(0))


def _write_run(config: Config, record: Path, *, with_state: bool) -> None:
    """Write the configuration with which `ssdlab run` repeats the recorded session."""
    path = record / "run.toml"
    # The preset and the settings of another workload would change the requests.
    text = re.sub(
        r"^preset = .*?\n|^\[workload\]\n.*?(?=^\[|\Z)",
        "",
        config.toml(),
        flags=re.DOTALL | re.MULTILINE,
    )
    path.write_text(text, encoding="utf-8")
    values: dict[str, object] = {
        "workload.trace": str((record / _core.SERVED_REQUESTS).absolute()),
        "precondition.snapshot": str((record / _core.SERVED_START).absolute()),
        "host.mode": "open",
        "host.max_outstanding": 0,
        "host.queues": 1,
    }
    if with_state:
        values["power.cut"] = "on-request"
    path.write_text(load_config(path, set=values).file_text(), encoding="utf-8")
