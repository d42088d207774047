"""A client of the NBD protocol on a plain socket, written from its specification."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

OPTION, REPLY = b"IHAVEOPT", 0x0003E889045565A9
GO, STRUCTURED_REPLY, SET_META_CONTEXT = 7, 8, 10
READ, WRITE, DISCONNECT, FLUSH, TRIM, CACHE, ZEROES, STATUS = range(8)
FUA, NO_HOLE = 1, 2


class RefusedError(Exception):
    """The server has answered with an error; `number` is its errno."""

    def __init__(self, number: int) -> None:
        super().__init__(f"errno {number}")
        self.number = number


class Client:
    """A connection to a Unix socket (a path) or to a port of the loopback."""

    def __init__(self, place: Path | int, *, structured: bool = True) -> None:
        if isinstance(place, int):
            self.socket = socket.create_connection(("127.0.0.1", place))
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(str(place))
        self.structured, self.cookie = structured, 0
        assert self.take(18) == b"NBDMAGIC" + OPTION + b"\x00\x03"
        self.push(struct.pack(">I", 3))
        if structured:
            self.option(STRUCTURED_REPLY, b"")
            name = b"base:allocation"
            query = struct.pack(">III", 0, 1, len(name)) + name
            assert self.option(SET_META_CONTEXT, query) == [(4, struct.pack(">I", 1) + name)]
        infos = {
            struct.unpack(">H", data[:2])[0]: data[2:]
            for _, data in self.option(GO, struct.pack(">IHH", 0, 1, 3))
        }
        self.bytes, self.flags = struct.unpack(">QH", infos[0])
        self.block_sizes = struct.unpack(">III", infos[3])

    def push(self, data: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(data)

    def pull(self, most: int) -> bytes:
        """The next bytes, at most so many; none at the end."""
        return self.socket.recv(most)

    def take(self, count: int) -> bytes:
        """So many bytes from the server."""
        received = b""
        while len(received) < count:
            piece = self.pull(count - len(received))
            if not piece:
                raise EOFError
            received += piece
        return received

    def option(self, number: int, data: bytes) -> list[tuple[int, bytes]]:
        """Send an option: the replies before the acknowledgement, by type."""
        self.push(OPTION + struct.pack(">II", number, len(data)) + data)
        replies: list[tuple[int, bytes]] = []
        while True:
            magic, option, kind, length = struct.unpack(">QIII", self.take(20))
            assert (magic, option) == (REPLY, number)
            data = self.take(length)
            if kind == 1:
                return replies
            if kind >= 1 << 31:
                raise RefusedError(kind)
            replies.append((kind, data))

    def send(
        self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0
    ) -> int:
        """Send a request; its cookie."""
        self.cookie += 1
        head = struct.pack(">IHHQQI", 0x25609513, flags, command, self.cookie, offset, length)
        self.push(head + data)
        return self.cookie

    def answer(self, length: int = 0) -> tuple[int, bytes]:
        """The next answer, with `length` bytes of data if it is simple: its cookie and data."""
        magic = struct.unpack(">I", self.take(4))[0]
        if magic == 0x67446698:
            error, cookie = struct.unpack(">IQ", self.take(12))
            if error:
                raise RefusedError(error)
            return cookie, self.take(length)
        assert magic == 0x668E33EF
        flags, kind, cookie, size = struct.unpack(">HHQI", self.take(16))
        data = self.take(size)
        assert flags == 1, "more than one chunk"
        if kind == 0x8001:
            raise RefusedError(struct.unpack(">I", data[:4])[0])
        return cookie, data[8:] if kind == 1 else data

    def ask(
        self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0
    ) -> bytes:
        """Send a request and wait for its answer, which is the next; its data."""
        cookie = self.send(command, offset, length, data, flags)
        answered_cookie, data = self.answer(length if command == READ else 0)
        assert answered_cookie == cookie
        return data

    def read(self, offset: int, length: int) -> bytes:
        """Read."""
        return self.ask(READ, offset, length)

    def write(self, offset: int, data: bytes, flags: int = 0) -> None:
        """Write."""
        self.ask(WRITE, offset, len(data), data, flags)

    def extents(self, offset: int, length: int) -> list[tuple[int, int]]:
        """The block status: lengths and bits."""
        words = self.ask(STATUS, offset, length)
        assert words[:4] == struct.pack(">I", 1)
        return list(struct.iter_unpack(">II", words[4:]))

    def close(self) -> None:
        """Leave."""
        self.send(DISCONNECT)
        self.socket.close()
