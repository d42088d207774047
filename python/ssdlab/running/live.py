"""A page that is rewritten regularly while runs continue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

EVERY_S = 30.0
SHARE = 0.05
"""The share of the time that it may take: a large page is written less often."""


@contextmanager
def live(write: Callable[[], object]) -> Iterator[None]:
    """Call `write` regularly, in a thread, until the context ends."""
    stop = threading.Event()

    def repeat() -> None:
        took_s = 0.0
        while not stop.wait(max(EVERY_S, took_s / SHARE)):
            start = time.monotonic()
            with suppress(OSError):  # Whatever cannot be written is told at the end.
                write()
            took_s = time.monotonic() - start

    thread = threading.Thread(target=repeat, name="live page", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
