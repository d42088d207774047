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
from recorder import HEAD, Asked, Line

NAMES = {READ: "read", WRITE: "write", FLUSH: "flush", TRIM: "trim", ZEROES: "zeroes"}
OUTSIDE = 2048
"""Blocks before the first partition: a guest reads one of them as a mark."""


class Teller(Line):
    """A connection whose requests and answers are kept as texts."""

    def __init__(self, number: int, ledger: Ledger) -> None:
        super().__init__(number, ledger)
        self.texts: list[str] = []

    def take_request(self) -> int:
        """Tell of the request that was sent first."""
        before = len(self.asked)
        taken = super().take_request()
        if len(self.asked) > before:
            self.texts.append(self.text("sent", [*self.asked.values()][-1]))
        return taken

    def end(self, asked: Asked, _: bytes) -> None:
        """Tell of an answer."""
        self.ledger.tick()
        self.texts.append(self.text("done", asked))

    def text(self, what: str, asked: Asked) -> str:
        """A request in a line."""
        name = NAMES.get(asked.command, str(asked.command))
        fua = " FUA" if asked.flags & FUA else ""
        first = asked.offset // UNIT
        mark = " mark" if asked.command == READ and first < OUTSIDE else ""
        where = "" if asked.command == FLUSH else f" {first}+{asked.length // UNIT}"
        return (
            f"{self.ledger.time} {what} {asked.begun} line {self.number} {name}{where}{fua}{mark}"
        )


def texts(path: Path) -> Iterator[str]:
    """The requests and answers of a tape."""
    data, at = path.read_bytes(), 0
    ledger, lines = Ledger(UNIT, is_volatile=True), dict[int, Teller]()
    while at < len(data):
        from_server, number, length = HEAD.unpack_from(data, at)
        at += HEAD.size + length
        line = lines.setdefault(number, Teller(number, ledger))
        (line.hear_server if from_server else line.hear_client)(data[at - length : at])
        yield from line.texts
        line.texts.clear()


if __name__ == "__main__":
    for text in texts(Path(sys.argv[1])):
        print(text)
