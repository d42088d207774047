"""All that has passed between clients and a served drive since its server started.

As a program it prints the requests of a tape and their answers in order, with the numbers of the
blocks: which of them were on their way, answered and flushed when the server was killed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from ledger import UNIT, Ledger
from nbd_client import FLUSH, FUA, READ, TRIM, WRITE, ZEROES
from recorder import HEAD, Line, PendingRequest

NAMES = {READ: "read", WRITE: "write", FLUSH: "flush", TRIM: "trim", ZEROES: "zeroes"}
OUTSIDE = 2048
"""Blocks before the first partition: a guest reads one of them as a mark."""


class TapedLine(Line):
    """A connection whose requests and answers are kept as texts."""

    def __init__(self, number: int, ledger: Ledger) -> None:
        super().__init__(number, ledger)
        self.texts: list[str] = []

    def take_request(self) -> int:
        """Tell of the request that was sent first."""
        count_before = len(self.asked)
        length = super().take_request()
        if len(self.asked) > count_before:
            self.texts.append(self.text("sent", [*self.asked.values()][-1]))
        return length

    def end(self, request: PendingRequest, _: bytes) -> None:
        """Tell of an answer."""
        self.ledger.tick()
        self.texts.append(self.text("done", request))

    def text(self, event: str, request: PendingRequest) -> str:
        """A request in a line."""
        name = NAMES.get(request.command, str(request.command))
        fua = " FUA" if request.flags & FUA else ""
        first = request.offset // UNIT
        mark = " mark" if request.command == READ and first < OUTSIDE else ""
        span = "" if request.command == FLUSH else f" {first}+{request.length // UNIT}"
        return (
            f"{self.ledger.time} {event} {request.begun} line {self.number} {name}{span}{fua}{mark}"
        )


def texts(path: Path) -> Iterator[str]:
    """The requests and answers of a tape."""
    data, offset = path.read_bytes(), 0
    ledger, lines = Ledger(UNIT, is_volatile=True), dict[int, TapedLine]()
    while offset < len(data):
        from_server, number, length = HEAD.unpack_from(data, offset)
        offset += HEAD.size + length
        line = lines.setdefault(number, TapedLine(number, ledger))
        (line.hear_server if from_server else line.hear_client)(data[offset - length : offset])
        yield from line.texts
        line.texts.clear()


if __name__ == "__main__":
    for text in texts(Path(sys.argv[1])):
        print(text)
