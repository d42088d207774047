"""The door at which the status of a served drive is asked for: a socket in its folder."""

from __future__ import annotations

import json
import os
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

DOOR = "status"
"""The socket."""
SUMMARY = "summary.json"
"""What a server has left that was stopped."""
LOST_S = 30.0
"""Whoever does not take the answer in this time has gone."""


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """A short name of the socket: the path of one has at most 107 bytes."""
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{opened}/{DOOR}"
    finally:
        os.close(opened)


class Door:
    """Answers those who ask, one after the other, in a thread that never delays the drive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_asked = False
        self.answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.socket = socket.socket(socket.AF_UNIX)
        for name in (DOOR, SUMMARY):  # Those of the last server.
            (folder / name).unlink(missing_ok=True)
        with suppress(OSError), _address(folder) as address:  # A file system without sockets.
            before = os.umask(0o177)
            try:
                self.socket.bind(address)
            finally:
                os.umask(before)
            self.socket.listen()
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()

    def _wait(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:  # It is closed.
                return
            with client, suppress(OSError):
                client.settimeout(LOST_S)
                self.is_asked = True
                client.sendall(self.answers.get())

    def answer(self, summary: dict[str, Any]) -> None:
        """Tell whoever has asked."""
        if self.is_asked:
            self.is_asked = False
            self.answers.put(json.dumps(summary).encode())

    def close(self) -> None:
        """Nobody asks any more; who has asked hears nothing."""
        (self.folder / DOOR).unlink(missing_ok=True)
        self.answers.put(b"")
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


def ask(folder: Path) -> dict[str, Any] | None:
    """The summary so far from the server of the drive in `folder`; `None`: there is none."""
    with suppress(ConnectionError, FileNotFoundError), socket.socket(socket.AF_UNIX) as door:
        with _address(folder) as address:
            door.connect(address)
        with door.makefile("rb") as answer:
            # A server that stops closes the door without a word.
            if said := answer.read():
                summary: dict[str, Any] = json.loads(said)
                return summary
    return None
