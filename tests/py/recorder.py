"""A recorder at the door of a served drive: what passes between clients and server over NBD.

Clients connect to it, and it connects to the server. A request is in the ledger before the server
has the end of it, and an answer before the client has.
"""

from __future__ import annotations

import bisect
import itertools
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ledger import UNIT, ZERO, Change, Ledger, digests
from nbd_client import FLUSH, FUA, READ, TRIM, WRITE, ZEROES, Client
from running import HANG_S

OPTION, OPTION_REPLY = b"IHAV", b"\x00\x03\xe8\x89"
REQUEST, SIMPLE, STRUCTURED = b"\x25\x60\x95\x13", b"\x67\x44\x66\x98", b"\x66\x8e\x33\xef"
DATA, ERROR = 1, 0x8001
MOST_READ = 1 << 20
HEAD = struct.Struct(">?II")
"""Whether the server said it, the number of the connection, and bytes."""


@dataclass(frozen=True)
class PendingRequest:
    """A request that is under way."""

    command: int
    flags: int
    offset: int
    length: int
    begun: int
    change: Change | None


class Line:
    """One connection: its bytes, which it enters into the ledger."""

    def __init__(self, number: int, ledger: Ledger) -> None:
        self.number, self.ledger = number, ledger
        self.sent, self.answered = bytearray(), bytearray()
        # The flags of the client, and the greeting of the server.
        self.sent_skip, self.answered_skip = 4, 18
        self.asked: dict[int, PendingRequest] = {}

    def hear_client(self, data: bytes) -> None:
        """The client has sent these bytes."""
        self.sent += data
        self.sent_skip = skip(self.sent, self.sent_skip)
        while not self.sent_skip and (length := self.take_request()):
            del self.sent[:length]

    def take_request(self) -> int:
        """Enter the request that was sent first; its bytes, or 0 if some are to come."""
        head = self.sent
        if len(head) < 16:
            return 0
        if head[:4] == OPTION:
            length_of_request = 16 + int.from_bytes(head[12:16])
            return length_of_request if len(head) >= length_of_request else 0
        if len(head) < 28:
            return 0
        assert head[:4] == REQUEST, f"the client says {bytes(head[:28])!r}"
        flags, command, cookie, offset, length = struct.unpack_from(">HHQQI", head, 4)
        length_of_request = 28 + (length if command == WRITE else 0)
        if len(head) < length_of_request:
            return 0
        start, change = self.ledger.tick(), None
        if command == WRITE:
            data = digests(bytes(head[28:length_of_request]))
            change = self.ledger.begin(self.number, offset, data)
        elif command == ZEROES:
            change = self.ledger.begin(self.number, offset, [ZERO] * (length // UNIT))
        elif command == TRIM:
            change = self.ledger.begin_trim(self.number, offset, length)
        self.asked[cookie] = PendingRequest(command, flags, offset, length, start, change)
        return length_of_request

    def hear_server(self, data: bytes) -> None:
        """The server has sent these bytes."""
        self.answered += data
        self.answered_skip = skip(self.answered, self.answered_skip)
        while not self.answered_skip and (length := self.take_answer()):
            del self.answered[:length]

    def take_answer(self) -> int:
        """Enter the answer that came first; its bytes, or 0 if some are to come."""
        head = self.answered
        if len(head) < (16 if head[:4] == SIMPLE else 20):
            return 0
        if head[:4] == OPTION_REPLY:
            length_of_answer = 20 + int.from_bytes(head[16:20])
            return length_of_answer if len(head) >= length_of_answer else 0
        if head[:4] == SIMPLE:
            error, cookie = struct.unpack_from(">IQ", head, 4)
            start, has_data = 16, self.asked[cookie].command == READ and not error
            length_of_answer = start + (self.asked[cookie].length if has_data else 0)
        else:
            assert head[:4] == STRUCTURED, f"the server says {bytes(head[:20])!r}"
            flags, kind, cookie, size = struct.unpack_from(">HHQI", head, 4)
            assert flags == 1, "more than one chunk"
            error, has_data, start, length_of_answer = kind == ERROR, kind == DATA, 28, 20 + size
        if len(head) < length_of_answer:
            return 0
        request = self.asked.pop(cookie)
        if not error:
            self.end(request, bytes(head[start:length_of_answer]) if has_data else b"")
        return length_of_answer

    def end(self, request: PendingRequest, data: bytes) -> None:
        """A request has succeeded."""
        if request.change is not None:
            is_durable = request.command == TRIM or bool(request.flags & FUA)
            self.ledger.end(request.change, is_durable=is_durable)
        elif request.command == FLUSH:
            self.ledger.end_flush(request.begun)
        elif request.command == READ:
            self.ledger.check_read(request.begun, request.offset, digests(data))


def skip(data: bytearray, count: int) -> int:
    """Drop the first `count` bytes, as far as they are there; how many are to come."""
    count_of_buffer = min(count, len(data))
    del data[:count_of_buffer]
    return count - count_of_buffer


def receive(source: socket.socket) -> bytes:
    """What it says next; nothing when it is gone."""
    try:
        return source.recv(1 << 18)
    except OSError:
        return b""


class RecordedClient(Client):
    """A client whose requests and answers are entered into a ledger."""

    def __init__(self, place: Path, line: Line) -> None:
        self.line = line
        super().__init__(place)

    def push(self, data: bytes) -> None:
        """Send."""
        self.line.hear_client(data)
        super().push(data)

    def pull(self, most: int) -> bytes:
        """Receive."""
        data = super().pull(most)
        self.line.hear_server(data)
        return data

    def end(self) -> None:
        """The server is gone: what it has said before is entered."""
        while data := receive(self.socket):
            self.line.hear_server(data)
        self.socket.close()


def check_drive(ledger: Ledger, server: Path) -> None:
    """Ask the server, which nobody else uses, for all that was ever changed."""
    client = Client(server)
    blocks = sorted(ledger.blocks)
    start = 0
    while start < len(blocks):
        first = blocks[start]
        end = bisect.bisect_left(blocks, first + MOST_READ // UNIT)
        length = (blocks[end - 1] + 1 - first) * UNIT
        ledger.check(first * UNIT, client.read(first * UNIT, length))
        start = end
    client.close()


class Tape:
    """The file of a tape."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")

    def restart(self) -> None:
        """Forget what is on it."""
        self.file.seek(0)
        self.file.truncate()

    def hear(self, line: int, data: bytes, *, from_server: bool) -> None:
        """Something has passed."""
        self.file.write(HEAD.pack(from_server, line, len(data)) + data)
        self.file.flush()


class Recorder:
    """What listens at `door` for the server at `server` while there is one."""

    def __init__(self, door: Path, server: Path, ledger: Ledger, tape: Tape | None = None) -> None:
        self.server, self.ledger, self.tape = server, ledger, tape
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(door))
        self.listener.listen()
        self.is_open = False
        self.numbers = itertools.count(1)
        self.lines: list[tuple[threading.Thread, socket.socket]] = []
        self.errors: list[BaseException] = []
        self.guard = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        if self.tape:
            self.tape.file.close()

    def accept(self) -> None:
        """Let clients in."""
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with self.guard:
                    self.connect(client)

    def connect(self, client: socket.socket) -> None:
        """Connect a client to the server, or send it away."""
        server = socket.socket(socket.AF_UNIX)
        try:
            if not self.is_open:
                raise OSError
            server.connect(str(self.server))
        except OSError:
            client.close()
            server.close()
            return
        line = Line(next(self.numbers), self.ledger)
        for way in ((client, server, line, False), (server, client, line, True)):
            thread = threading.Thread(target=self.pass_on, args=way, daemon=True)
            self.lines.append((thread, way[0]))
            thread.start()

    def pass_on(
        self, source: socket.socket, target: socket.socket, line: Line, from_server: bool
    ) -> None:
        """Pass everything on until the end."""
        hear = line.hear_server if from_server else line.hear_client
        try:
            while data := receive(source):
                with self.ledger.lock:
                    if self.tape:
                        self.tape.hear(line.number, data, from_server=from_server)
                    hear(data)
                try:
                    target.sendall(data)
                except OSError:
                    # It is gone, but what it has said before may still be here.
                    break
        except BaseException as error:
            self.errors.append(error)
        with suppress(OSError):
            # Not every client hangs up on a server that is gone.
            target.shutdown(socket.SHUT_RDWR if from_server else socket.SHUT_WR)

    def open(self) -> None:
        """A server is there, which has what the ledger says."""
        if self.tape:
            self.tape.restart()
        self.is_open = True

    def close(self) -> None:
        """The server is gone: wait until everything that it has said is entered."""
        with self.guard:
            self.is_open = False
        for thread, source in self.lines:
            thread.join(HANG_S)
            source.close()
        self.lines.clear()
        if self.errors:
            raise self.errors[0]
