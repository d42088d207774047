"""A served drive as a block device of this machine, and programs on it in namespaces of their own.

It does what a `Guest` does at the speed of the machine, with the kernel of the machine: nbdfuse
shows the drive as a file, and a loop device, which bypasses the page cache, has the file. It needs
root. Mounts and processes of the agent are seen by nobody else and end with it.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guest import AGENT, program
from running import HANG_S

ADD, REMOVE = 0x4C80, 0x4C81
"""Requests to have a loop device of a number, and to have it no longer."""
PROGRAMS = ("nbdfuse", "losetup", "delpart", "fusermount")
START = """\
import os, sys
sys.path.insert(0, {folder!r})
os.environ.update(PATH={path!r}, TZ="UTC", LC_ALL="C")
import guest_agent
guest_agent.main_mounted()
"""


def repeat(attempt: Callable[[], bool]) -> None:
    """Repeat it until it succeeds: a device is in use for a moment after the last use of it."""
    deadline = time.monotonic() + 60
    while not attempt():
        assert time.monotonic() < deadline, "the device is in use"
        time.sleep(0.02)


class MountedDrive:
    """An agent on the drive at the socket `drive.sock` in `folder`."""

    def __init__(self, folder: Path, programs: list[Path]) -> None:
        if os.geteuid():
            pytest.skip("mounting a drive on this machine takes root")
        self.folder, self.device = folder, f"/dev/loop{os.getpid()}"
        with Path("/dev/loop-control").open("rb") as control:
            fcntl.ioctl(control, ADD, os.getpid())
        self.words = {name: str(program(name)) for name in PROGRAMS}
        (folder / "fuse").mkdir()
        self.attach()
        places = ":".join(
            [*sorted({str(executable.parent) for executable in programs}), "/usr/sbin:/usr/bin"]
        )
        start = START.format(folder=str(AGENT.parent), path=places)
        spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        pipe = subprocess.PIPE
        with (folder / "said-by-agent").open("w") as stderr:
            self.process = subprocess.Popen(
                [*spaces, sys.executable, "-c", start],
                stdin=pipe,
                stdout=pipe,
                stderr=stderr,
                text=True,
                bufsize=1,
            )
        self.call("use", self.device, "p")

    def attach(self) -> None:
        """Have the drive that is served now as a block device."""
        self.file = self.folder / "fuse" / "disk"
        uri = f"nbd+unix:///?socket={self.folder / 'drive.sock'}"
        self.fuse = subprocess.Popen([self.words["nbdfuse"], str(self.file), uri])
        deadline = time.monotonic() + HANG_S
        while not self.file.exists():
            assert self.fuse.poll() is None, "nbdfuse has ended"
            assert time.monotonic() < deadline, "nbdfuse shows no file"
            time.sleep(0.01)
        words = [self.words["losetup"], "--direct-io=on", self.device, str(self.file)]
        subprocess.run(words, check=True)

    def detach(self) -> None:
        """Let go of a drive that is gone."""
        for node in sorted(Path("/dev").glob(f"{Path(self.device).name}p*")):
            number = node.name.rpartition("p")[2]
            subprocess.run([self.words["delpart"], self.device, number], check=True)
        backing = Path("/sys/block", Path(self.device).name, "loop", "backing_file")
        repeat(lambda: self.run("losetup", "--detach", self.device) and not backing.exists())
        repeat(lambda: self.run("fusermount", "-u", str(self.file.parent)))
        self.fuse.wait(HANG_S)

    def run(self, name: str, *words: str) -> bool:
        """Whether a program succeeds."""
        process = subprocess.run([self.words[name], *words], capture_output=True, check=False)
        return process.returncode == 0

    def ask(self, name: str, *values: object) -> None:
        """Call a function of the agent."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps([name, *values]) + "\n")

    def answer(self) -> Any:  # noqa: ANN401 - whatever the function returns
        """What it has returned."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the agent has ended: " + (self.folder / "said-by-agent").read_text()
        reply = json.loads(line)
        assert "error" not in reply, reply["error"]
        return reply["value"]

    def call(self, name: str, *values: object) -> Any:  # noqa: ANN401 - whatever it returns
        """Call a function of the agent and wait for it."""
        self.ask(name, *values)
        return self.answer()

    def end(self) -> None:
        """End it, and let go of the drive."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=HANG_S)
            self.detach()
            with Path("/dev/loop-control").open("rb") as control:
                fcntl.ioctl(control, REMOVE, os.getpid())
