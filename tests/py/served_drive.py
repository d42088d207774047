"""A server of a small drive in a process of its own, for tests."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbd_client import Client
from running import COMMAND, HANG_S, SMALL_DEVICE

PAGE = 4096
DRIVE = f"""\
[run]
name = "tiny"
{SMALL_DEVICE}\
[workload]
requests = 10
warmup_requests = 5
whole_pages = true
"""
UNIX = ["--nbd", "unix:drive.sock"]


class ServedDrive:
    """A server in a process of its own, and what it has said."""

    def __init__(self, *options: str, cwd: Path, most_bytes: int | None = None) -> None:
        self.folder, self.said, self.clients = cwd, "", list[Client]()
        (cwd / "tiny.toml").write_text(DRIVE)
        limit = ["prlimit", f"--fsize={most_bytes}"] if most_bytes else []
        words = [*limit, *COMMAND, "serve", "tiny.toml", *options]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, cwd=cwd, stdout=pipe, stderr=pipe, text=True)
        assert self.process.stderr is not None
        while "Ctrl-C stops it" not in self.said:
            line = self.process.stderr.readline()
            assert line, f"it has ended: {self.said}"
            self.said += line

    def client(self, *, structured: bool = True) -> Client:
        """A new client."""
        port = re.search(r"nbd://127.0.0.1:(\d+)/", self.said)
        place = int(port[1]) if port else self.folder / "drive.sock"
        self.clients.append(Client(place, structured=structured))
        return self.clients[-1]

    def page(self) -> str:
        """The address of the page."""
        assert self.process.stderr is not None
        while not (match_ := re.search(r"page of the drive: (\S+)", self.said)):
            line = self.process.stderr.readline()
            assert line, f"it has ended: {self.said}"
            self.said += line
        return match_[1]

    def status(self) -> str:
        """The summary so far, after SIGUSR1."""
        self.process.send_signal(signal.SIGUSR1)
        assert self.process.stderr is not None
        text = ""
        while "steady state" not in text:
            line = self.process.stderr.readline()
            assert line, f"it has ended: {text}"
            text += line
        return text

    def kill(self) -> None:
        """Kill -9."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def stop(self, number: int = signal.SIGINT) -> str:
        """Ctrl-C, or another signal: what it writes to stdout."""
        self.process.send_signal(number)
        stdout, err = self.process.communicate(timeout=HANG_S)
        assert self.process.returncode == 0, err
        assert "stopping" in err
        return stdout


@contextmanager
def served(*options: str, cwd: Path, most_bytes: int | None = None) -> Iterator[ServedDrive]:
    """A server that ends with the test at the latest, with files of at most so many bytes."""
    server = ServedDrive(*options, cwd=cwd, most_bytes=most_bytes)
    try:
        yield server
    finally:
        for client in server.clients:
            client.socket.close()
        server.kill()
