"""The page of a served drive, in a separate process, so that it never delays the drive."""

from __future__ import annotations

import json
import os
import pickle
import secrets
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from ssdlab.running import child

EVERY_S = 1.0
"""Seconds between two updates of the page."""


class LivePage:
    """The process that serves the page, and the summary that is being sent to it."""

    def __init__(self, name: str) -> None:
        token = secrets.token_urlsafe(18)
        self.process = subprocess.Popen(
            child.command("ssdlab.running.page_server"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches only the server, which ends this process.
        )
        assert self.process.stdin
        assert self.process.stdout
        pickle.dump(sys.path, self.process.stdin)
        self.process.stdin.write(json.dumps([token, name]).encode() + b"\n")
        self.process.stdin.flush()
        port = int(self.process.stdout.readline())
        self.address = f"http://127.0.0.1:{port}/?token={token}"
        self.pipe = self.process.stdin.fileno()
        os.set_blocking(self.pipe, False)
        self.unsent = b""
        self.last_shown = 0.0

    def is_due(self) -> bool:
        """Whether the page is due for an update."""
        return time.monotonic() - self.last_shown >= EVERY_S

    def show(self, summary: dict[str, Any]) -> None:
        """Send the summary to the page, unless the previous one has not been sent completely."""
        self.last_shown = time.monotonic()
        if not self.unsent:
            self.unsent = json.dumps(summary).encode() + b"\n"
        with suppress(BlockingIOError, BrokenPipeError):  # The drive continues without the page.
            while self.unsent:
                self.unsent = self.unsent[os.write(self.pipe, self.unsent) :]

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()
