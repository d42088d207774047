"""The process that serves the page of a served drive. Only this process loads the plotting code."""

from __future__ import annotations

import json
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO
from urllib.parse import parse_qs, urlsplit

from ssdlab.html.live_page import Sample, live_page, live_sections

MOST_SAMPLES = 300
"""Number of summaries that the plots of the page cover."""


class PageState:
    """The summaries that the page shows, shared by the threads that serve it."""

    def __init__(self, name: str, token: str) -> None:
        self.name, self.token = name, token
        self.samples: deque[Sample] = deque(maxlen=MOST_SAMPLES)
        self.changed = threading.Condition()
        self.number = 0
        self.ended = False

    def read(self, lines: IO[bytes]) -> None:
        """Read summaries, one per line, until the input ends."""
        start = time.monotonic()
        for line in lines:
            with self.changed:
                self.samples.append(Sample(time.monotonic() - start, json.loads(line)))
                self.number += 1
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait_after(self, number: int) -> tuple[int, list[Sample]] | None:
        """Wait for a summary after `number`. Returns its number, and all summaries so far."""
        with self.changed:
            self.changed.wait_for(lambda: self.number > number or self.ended)
            return None if self.ended else (self.number, list(self.samples))


def main() -> None:
    """Serve the page until the input ends."""
    token, name = json.loads(sys.stdin.buffer.readline())
    shown = PageState(name, token)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(shown))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    shown.read(sys.stdin.buffer)


def _handler(shown: PageState) -> type[BaseHTTPRequestHandler]:
    """The handler of the requests of a browser."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            paths: dict[str, Callable[[], None]] = {"/": self._page, "/events": self._events}
            token = parse_qs(url.query).get("token", [""])[0]
            # A page of somebody else whose name resolves to this address has another host.
            host = (self.headers.get("Host") or "").rpartition(":")[0]
            if host not in ("127.0.0.1", "localhost") or not secrets.compare_digest(
                token.encode(), shown.token.encode()
            ):
                self.send_error(403, "give the address that the server has printed")
            elif handler := paths.get(url.path):
                with suppress(ConnectionError):
                    handler()
            else:
                self.send_error(404)

        def _begin(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()

        def _page(self) -> None:
            if update := shown.wait_after(0):
                page = live_page(shown.name, update[1], f"/events?token={shown.token}")
                self._begin("text/html")
                self.wfile.write(page.encode())

        def _events(self) -> None:
            self._begin("text/event-stream")
            number = 0
            while update := shown.wait_after(number):
                number, samples = update
                sections = {section.key: section.body for section in live_sections(samples)}
                self.wfile.write(f"data: {json.dumps(sections)}\n\n".encode())

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing: the terminal is the server's."""

    return Handler
