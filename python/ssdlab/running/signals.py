"""Signals that are sent twice."""

from __future__ import annotations

import time

ONE_SIGNAL_S = 0.05
"""Time within which a signal and its repeat count as one."""


class Repeats:
    """Tells repeats of a signal from further signals.

    `timeout` signals its command, and at once the whole group, to which the command belongs.
    """

    def __init__(self) -> None:
        self._last: tuple[int, float] | None = None

    def has(self, number: int) -> bool:
        """Whether this signal, which has come now, repeats the last one."""
        last, now = self._last, time.monotonic()
        if last is not None and last[0] == number and now - last[1] < ONE_SIGNAL_S:
            return True
        self._last = (number, now)
        return False
