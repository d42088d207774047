"""Start states: preconditioned devices, each made once for all runs that start from it.

A state is in a process of its own, which forks for every run. The run then owns a copy of the
device that takes memory only where it changes. The process has no other thread when it forks.
"""

from __future__ import annotations

import os
import pickle
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from ssdlab import _core
from ssdlab.config import memory
from ssdlab.config.resolve import Config
from ssdlab.display.progress import Callback
from ssdlab.results.report import Report
from ssdlab.running import child, processes
from ssdlab.running.moved import NOTHING
from ssdlab.running.simulate import NONE

LEAST_BYTES = 64 << 20
"""Smallest device with a state: making a smaller one takes less time than starting a process."""
MOST_STATES = 4
"""Most states at a time. Each but the first leaves twice its size of memory available."""


def start_key(config: Config) -> str | None:
    """What determines the preconditioned device of a run. None if the run cannot share one."""
    reads_trace = config["workload.trace"] or config["workload.like"]
    is_small = memory.device_bytes(config) < LEAST_BYTES
    if not hasattr(os, "fork") or is_small or reads_trace:
        return None  # Runs in threads share their traces.
    return _core.Start.key(config.text)


class StartStates:
    """The start states of the runs of a `Runner`, until it is closed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.turn = 0
        """Number of requests for a state so far."""
        self.asked: dict[str, int] = {}
        """The last turn in which a run asked for a state, by the key of the state."""
        self.states: dict[str, _State] = {}

    def state_for(self, config: Config, is_shared: bool = False) -> _State | None:
        """The state from which a run starts; None if it preconditions its own device.

        The first run with a key does so unless `is_shared`: no state is made for a single run.
        """
        key = start_key(config)
        if key is None:
            return None
        with self.lock:
            self.turn += 1
            last, self.asked[key] = self.asked.get(key, 0), self.turn
            if key not in self.states and (last or is_shared) and self._make_room(config, last):
                with suppress(OSError):  # No disk space or no process is left for it.
                    self.states[key] = _State(config)
            return self.states.get(key)

    def _make_room(self, config: Config, last: int) -> bool:
        """Whether there is room for a state for which a run last asked in turn `last`.

        The least recently used state is closed if no run has asked for it since then. So runs that
        need more states in turn than there is room for do not close each other's.
        """
        room = (memory.available() or 0) // (3 * memory.device_bytes(config))
        if len(self.states) < max(1, min(MOST_STATES, room)):
            return True
        oldest = min(self.states, key=lambda key: self.asked[key])
        if self.asked[oldest] > last:
            return False
        self.states.pop(oldest).close()
        return True

    def close(self) -> None:
        """End the processes of all states. Runs that have started continue."""
        with self.lock:
            for state in self.states.values():
                state.close()
            self.states.clear()


class _State:
    """A process with a start state. It ends when its standard input does."""

    def __init__(self, config: Config) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="ssdlab-start-")
        self.address = str(Path(self.folder.name) / "runs")
        self.process = subprocess.Popen(
            child.command(__name__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # As for the process of a run.
        )
        assert self.process.stdin
        with suppress(BrokenPipeError):
            for value in (sys.path, self.address, config.text):
                pickle.dump(value, self.process.stdin)
            self.process.stdin.flush()
        self.lock = threading.Lock()
        self.made: bool | None = None

    def connect(self, callback: Callback, stop: threading.Event) -> socket.socket | None:
        """The connection to a new copy of the state, once it is made.

        None if it cannot be made or has been closed, or if `stop` is set: the run reports why.
        """
        if not self._is_made(callback, stop):
            return None
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(self.address)
        except OSError:
            connection.close()
            return None
        return connection

    def _is_made(self, callback: Callback, stop: threading.Event) -> bool:
        with self.lock:
            assert self.process.stdout
            while self.made is None:
                words = self.process.stdout.readline().split()
                if len(words) == 2:
                    with suppress(KeyboardInterrupt):  # `stop` is set.
                        callback("precondition", int(words[0]), int(words[1]))
                if stop.is_set() or len(words) < 2:
                    self.made = words == [b"made"]
            return self.made

    def close(self) -> None:
        """End the process. Runs that it has forked continue."""
        assert self.process.stdin
        with suppress(OSError):
            self.process.stdin.close()
        if not self.made:
            self.process.kill()
        self.process.wait()
        with self.lock:
            self.made = False
            if self.process.stdout:
                self.process.stdout.close()
        self.folder.cleanup()


def run_from(
    connection: socket.socket,
    config: Config,
    callback: Callback,
    stop: threading.Event,
    *,
    out: Path | None,
    html: bool,
) -> Report:
    """As `run_apart`, from the state behind `connection`."""
    with connection, connection.makefile("rb") as messages:
        job: dict[str, object] = {"config": config.text, "out": out, "html": html}
        job |= {"policies": NONE.pack(), "moved": NOTHING, "sources": ""}
        ended = threading.Event()
        watcher = threading.Thread(target=_end_on, args=(stop, ended, connection), daemon=True)
        try:
            with suppress(OSError):  # It has ended: there is no answer either.
                connection.sendall(pickle.dumps(job))
            watcher.start()
            return processes.answer(messages, callback, lambda: "its process ended before the run")
        finally:
            ended.set()


def _end_on(stop: threading.Event, ended: threading.Event, connection: socket.socket) -> None:
    """Make the process of a run stop when `stop` is set."""
    while not stop.wait(0.2):
        if ended.is_set():
            return
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)


# In the process of a state.


def main() -> NoReturn:
    """Make the state that standard input describes, and fork for each connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Nobody waits for the forked processes.
    address, config = pickle.load(sys.stdin.buffer), pickle.load(sys.stdin.buffer)

    def say_progress(_: str, done: int, total: int | None) -> None:
        print(done, total, flush=True)

    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(address)  # The path may be too long for a socket.
        listener.listen()
        start = _core.Start(config, progress=say_progress)
        print("made", flush=True)
    except (_core.ConfigError, OSError):
        os._exit(1)  # The run that then has no state reports why.
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(sys.stdin, select.POLLIN)
    while True:
        ready = [number for number, _ in poll.poll()]
        if listener.fileno() not in ready:
            # Its standard input has ended. The process that made the folder may have been killed.
            shutil.rmtree(Path(address).parent, ignore_errors=True)
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            processes.serve(connection, start)
        connection.close()
