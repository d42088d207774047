"""A served drive is killed again and again while clients use it; it has all that it promised.

What it promised is in the ledger of a recorder at its door. `SSDLAB_KILLS` says how often the long
test kills it.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ledger import Ledger
from nbd_client import FLUSH, FUA, NO_HOLE, READ, TRIM, WRITE, ZEROES, Client
from recorder import Line, RecordedClient, check_drive
from running import HANG_S, sets
from served_drive import DRIVE

KILLS = int(os.environ.get("SSDLAB_KILLS", "200"))
KILLS_OF_DRIVE = 10
"""So often a drive is killed before there is another one."""
FORKS = """
import os, signal, sys
from ssdlab import cli
import ssdlab.cli.serve

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    folder, *words = line.rstrip("\\n").split("\\t")
    said = os.open(folder + "/said", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    child = os.fork()
    if child:
        os.close(said)
        print(child, flush=True)
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(folder)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.argv = ["ssdlab", *words]
    cli.main()
    os._exit(0)
"""
"""A process that has everything loaded and forks servers: a server of its own takes a second."""


class ForkServer:
    """The process that forks servers."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", FORKS], stdin=pipe, stdout=pipe, text=True, bufsize=1
        )

    def serve(self, folder: Path, *words: str) -> int:
        """Serve `tiny.toml` in `folder` at `server.sock`; the number of the process."""
        assert self.process.stdin
        assert self.process.stdout
        line = [str(folder), "serve", "tiny.toml", "--nbd", "unix:server.sock", *words]
        self.process.stdin.write("\t".join(line) + "\n")
        return int(self.process.stdout.readline())

    def end(self) -> None:
        """It is not needed any more."""
        self.process.communicate(timeout=HANG_S)


@pytest.fixture(scope="module")
def forks() -> Iterator[ForkServer]:
    """The process that forks servers."""
    forks = ForkServer()
    yield forks
    forks.end()


@dataclass(frozen=True)
class Kind:
    """A kind of drive: what is set, and whether writes without FUA may be lost."""

    sets: dict[str, object]
    is_volatile: bool
    page: int = 4096


WORN_IN: dict[str, object] = {"precondition.fill": 1, "precondition.overwrite": 1}
KINDS = [
    Kind({**WORN_IN, "host.write_buffer_pages": 64}, is_volatile=True),
    Kind(WORN_IN, is_volatile=False),
    Kind(
        {**WORN_IN, "host.write_buffer_pages": 16, "power.buffer": "protected"}, is_volatile=False
    ),
    Kind(
        {
            **WORN_IN,
            "host.write_buffer_pages": 8,
            "power.nvram": "256 B",
            "power.checkpoint": "64 KiB",
        },
        is_volatile=True,
    ),
    Kind(
        {**WORN_IN, "host.write_buffer_pages": 32, "device.page_size": "16KiB"},
        is_volatile=True,
        page=16384,
    ),
    Kind(
        {"precondition.fill": 0, "precondition.overwrite": 0, "host.write_buffer_pages": 8},
        is_volatile=True,
    ),
    Kind({**WORN_IN, "raid.group": 2, "host.write_buffer_pages": 8}, is_volatile=True),
    Kind({**WORN_IN, "raid.group": 2, "power.nvram": "256 B"}, is_volatile=False),
]


class Storm:
    """Clients that send whatever comes to their mind."""

    def __init__(self, draw: random.Random, clients: Sequence[Client], page: int) -> None:
        self.draw, self.clients, self.page = draw, clients, page
        self.depth = draw.choice((1, 4, 32, 120))
        self.under_way = [0] * len(clients)
        self.unit = draw.choice((512, page))
        # Few places, so that requests meet, or all, so that the drive collects.
        self.places = min(draw.choice((40, 400, 1 << 40)), clients[0].bytes // page) * page
        self.most = draw.choice((1, 4, 40))
        self.weights = [10, draw.choice((0, 2)), draw.choice((0, 2)), 2, draw.choice((0, 0.3, 3))]
        self.fua = draw.choice((0, 0.1, 1))

    def run(self, requests: int) -> None:
        """Send so many requests."""
        for _ in range(requests):
            number = self.draw.randrange(len(self.clients))
            while self.under_way[number] >= self.depth:
                self.clients[number].answer()
                self.under_way[number] -= 1
            self.send(self.clients[number])
            self.under_way[number] += 1
            if self.draw.random() < 0.002:
                time.sleep(self.draw.random() / 50)

    def send(self, client: Client) -> None:
        """Send a request."""
        draw = self.draw
        length = draw.randint(1, self.most) * self.unit
        length = min(length, self.places)
        offset = draw.randint(0, (self.places - length) // self.unit) * self.unit
        command = draw.choices((WRITE, TRIM, ZEROES, READ, FLUSH), self.weights)[0]
        flags = FUA if draw.random() < self.fua else 0
        if command == WRITE:
            client.send(WRITE, offset, length, draw.randbytes(length), flags)
        elif command == FLUSH:
            client.send(FLUSH)
        else:
            extra = flags | draw.choice((0, NO_HOLE)) if command == ZEROES else 0
            client.send(command, offset, length, flags=extra)


@dataclass
class Count:
    """What was done."""

    kills: int = 0
    requests: int = 0
    flushes: int = 0


def kill_drive(
    forks: ForkServer, folder: Path, seed: int, kills: int, most: int, count: Count
) -> None:
    """Kill a drive so many times, each time after at most `most` requests, and check it."""
    draw = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    (folder / "tiny.toml").write_text(DRIVE)
    words = ["--state", "drive", *sets(kind.sets), "--scale", draw.choice(("0.001", "0.02", "1"))]
    ledger, server = Ledger(kind.page, is_volatile=kind.is_volatile), folder / "server.sock"
    lines = itertools.count(1)
    for life in range(kills + 1):
        limit = draw.choice(("2KiB", "64KiB", "256MiB"))
        process = forks.serve(folder, *words, "--log-limit", limit)
        clients: list[RecordedClient] = []
        try:
            wait_for(process, folder)
            check_drive(ledger, server)
            if life == kills:
                break
            some = itertools.islice(lines, draw.randint(1, 4))
            clients += [RecordedClient(server, Line(number, ledger)) for number in some]
            requests = int(most * draw.random() ** 2)
            Storm(draw, clients, kind.page).run(requests)
            time.sleep(draw.choice((0, 0, draw.random() / 100)))
        finally:
            kill(process)
            for client in clients:
                client.end()
        count.kills += 1
        count.requests += requests
    count.flushes += ledger.flushes


def kill(process: int) -> None:
    """Kill -9, and wait until the last thread has gone: it may be writing."""
    os.kill(process, signal.SIGKILL)
    while Path(f"/proc/{process}").exists():
        time.sleep(0.001)


def wait_for(process: int, folder: Path) -> None:
    """Wait until clients may come."""
    while "Ctrl-C stops it" not in (said := (folder / "said").read_text()):
        alive = Path(f"/proc/{process}").exists()
        assert alive, f"the server has ended: {said}"
        time.sleep(0.002)


def test_a_killed_drive_has_what_it_promised(forks: ForkServer, tmp_path: Path) -> None:
    count = Count()
    for seed in range(len(KINDS)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        kill_drive(forks, folder, seed, 1, 400, count)
    assert count.kills == len(KINDS)


@pytest.mark.slow  # As many kills as are asked for.
def test_a_drive_has_what_it_promised_after_many_kills(forks: ForkServer, tmp_path: Path) -> None:
    count, seed = Count(), len(KINDS)
    while count.kills < KILLS:
        folder = tmp_path / str(seed)
        folder.mkdir()
        kill_drive(forks, folder, seed, KILLS_OF_DRIVE, 6000, count)
        shutil.rmtree(folder)
        seed += 1
    print(f"{count.kills} kills in {count.requests:,} requests, {count.flushes:,} of them flushes")
