"""The page of a served drive, in a process of its own, so that it never delays the drive."""

from __future__ import annotations

import json
import os
import pickle
import secrets
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any
from urllib.parse import parse_qs, urlsplit

from ssdlab.html.live_page import Sample, live_page, live_sections

EVERY_S = 1.0
"""Time between looks at the drive."""
MOST_SAMPLES = 300
"""Looks at the drive that the page draws."""
CHILD = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from ssdlab.running.served_page import main
main()
"""


class LivePage:
    """The process that serves the page, and what is on its way to it."""

    def __init__(self, name: str) -> None:
        token = secrets.token_urlsafe(18)
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches the server alone, with which this one ends.
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
        self.left = b""
        self.looked = 0.0

    def is_due(self) -> bool:
        """Whether it is time to show it the drive."""
        return time.monotonic() - self.looked >= EVERY_S

    def show(self, summary: dict[str, Any]) -> None:
        """Show it the drive, unless it has not yet seen what it was shown before."""
        self.looked = time.monotonic()
        if not self.left:
            self.left = json.dumps(summary).encode() + b"\n"
        with suppress(BlockingIOError, BrokenPipeError):  # The drive goes on without its page.
            while self.left:
                self.left = self.left[os.write(self.pipe, self.left) :]

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


class Shown:
    """What the page shows, for the threads that serve it."""

    def __init__(self, name: str, token: str) -> None:
        self.name, self.token = name, token
        self.samples: deque[Sample] = deque(maxlen=MOST_SAMPLES)
        self.changed = threading.Condition()
        self.number = 0
        self.ended = False

    def read(self, lines: IO[bytes]) -> None:
        """Take summaries until there are no more."""
        began = time.monotonic()
        for line in lines:
            with self.changed:
                self.samples.append(Sample(time.monotonic() - began, json.loads(line)))
                self.number += 1
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def after(self, number: int) -> tuple[int, list[Sample]] | None:
        """The number of the last summary when there is one after `number`, and those so far."""
        with self.changed:
            self.changed.wait_for(lambda: self.number > number or self.ended)
            return None if self.ended else (self.number, list(self.samples))


def main() -> None:
    """Serve the page until the input ends."""
    token, name = json.loads(sys.stdin.buffer.readline())
    shown = Shown(name, token)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(shown))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    shown.read(sys.stdin.buffer)


def _handler(shown: Shown) -> type[BaseHTTPRequestHandler]:
    """What answers the requests of a browser."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            paths: dict[str, Callable[[], None]] = {"/": self._page, "/events": self._events}
            token = parse_qs(asked.query).get("token", [""])[0]
            # A page of somebody else, to whose name this address belongs, too, has another host.
            host = (self.headers.get("Host") or "").rpartition(":")[0]
            if host not in ("127.0.0.1", "localhost") or not secrets.compare_digest(
                token.encode(), shown.token.encode()
            ):
                self.send_error(403, "give the address that the server has printed")
            elif answer := paths.get(asked.path):
                with suppress(ConnectionError):
                    answer()
            else:
                self.send_error(404)

        def _begin(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()

        def _page(self) -> None:
            if seen := shown.after(0):
                page = live_page(shown.name, seen[1], f"/events?token={shown.token}")
                self._begin("text/html")
                self.wfile.write(page.encode())

        def _events(self) -> None:
            self._begin("text/event-stream")
            number = 0
            while seen := shown.after(number):
                number, samples = seen
                sections = {one.key: one.body for one in live_sections(samples)}
                self.wfile.write(f"data: {json.dumps(sections)}\n\n".encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the terminal is the server's."""

    return Handler
