"""The socket and the file with the status of a served drive, in its folder."""

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

SOCKET = "status"
"""Name of the socket in the folder."""
SUMMARY = "summary.json"
"""Name of the file with the last summary of a server."""
CLIENT_TIMEOUT_S = 30.0
"""Seconds after which a client that has not read its answer is disconnected."""


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """A short path of the socket, because the path of a socket has at most 107 bytes."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


class StatusSocket:
    """Answers clients one after the other, in a thread of its own, so as not to delay the drive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.has_request = False
        self.answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.socket = socket.socket(socket.AF_UNIX)
        for name in (SOCKET, SUMMARY):  # They are from the last server.
            (folder / name).unlink(missing_ok=True)
        with suppress(OSError), _address(folder) as address:  # Not every file system has sockets.
            mask = os.umask(0o177)
            try:
                self.socket.bind(address)
            finally:
                os.umask(mask)
            self.socket.listen()
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()

    def _wait(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:  # The socket is closed.
                return
            with client, suppress(OSError):
                client.settimeout(CLIENT_TIMEOUT_S)
                self.has_request = True
                client.sendall(self.answers.get())

    def answer(self, summary: dict[str, Any]) -> None:
        """Send the summary to the client that waits for one."""
        if self.has_request:
            self.has_request = False
            self.answers.put(json.dumps(summary).encode())

    def close(self) -> None:
        """Close the socket; a client that still waits gets an empty answer."""
        (self.folder / SOCKET).unlink(missing_ok=True)
        self.answers.put(b"")
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


def store_summary(folder: Path, summary: dict[str, Any], *, is_over: bool) -> None:
    """Store a summary in `folder`, completely or not at all."""
    new = folder / f"{SUMMARY}.new"
    new.write_text(json.dumps({"is_over": is_over, **summary}) + "\n", encoding="utf-8")
    new.replace(folder / SUMMARY)


def read_summary(folder: Path) -> tuple[bool, dict[str, Any]] | None:
    """The stored summary, if any, and whether the server stored it when it stopped."""
    try:
        summary: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    # Older versions stored a summary only when they stopped, without this key.
    return summary.pop("is_over", True), summary


def request_summary(folder: Path) -> dict[str, Any] | None:
    """The summary so far from the server of `folder`; `None` if no server runs."""
    with suppress(ConnectionError, FileNotFoundError), socket.socket(socket.AF_UNIX) as client:
        with _address(folder) as address:
            client.connect(address)
        with client.makefile("rb") as answer:
            # A server that stops sends an empty answer.
            if reply := answer.read():
                summary: dict[str, Any] = json.loads(reply)
                return summary
    return None
