"""Runs of the `ssdlab` command as a user would start them, and a configuration for small runs."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ssdlab.reproduce.calibration import Arrivals, Calibration, Lifetimes, entry_name
from ssdlab.reproduce.matrix import Scheme

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "ssdlab"]
HANG_S = 1800
"""After so long a command hangs: a guard, far beyond what the slowest busy machine needs."""

SMALL: dict[str, object] = {
    "device.channels": 2,
    "device.chips_per_channel": 2,
    "device.planes_per_chip": 1,
    "device.blocks_per_plane": 32,
    "device.pages_per_block": 16,
    "device.over_provisioning": 0.25,
    "precondition.fill": 1,
    "precondition.overwrite": 1,
    "workload.requests": 4000,
    "workload.read": 0.3,
}
"""A device that collects from the start and takes a few milliseconds."""

SMALL_TOML = """\
[device]
channels = 2
chips_per_channel = 2
planes_per_chip = 1
blocks_per_plane = 32
pages_per_block = 16
over_provisioning = 0.25
[precondition]
fill = 1
overwrite = 1
[workload]
requests = 4000
read = 0.3
"""


def ssdlab_command(
    *arguments: str | Path,
    cwd: Path,
    stdin: bytes = b"",
    limit: Callable[[], None] | None = None,
    stdout: Any = subprocess.PIPE,  # noqa: ANN401 - as in subprocess
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end in the folder `cwd`."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
        check=False,
        timeout=HANG_S,
    )
    out = (done.stdout or b"").decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, done.stderr.decode())


SIGNALLED_AT = """
import os, sys, threading
from ssdlab.display import progress
from ssdlab.cli import main

stage, number, *words = sys.argv[1:]
sent = threading.Event()

def callback(self, label):
    def report(stage_now, done, total):
        if stage_now == stage and done > 0 and not sent.is_set():
            sent.set()
            # From another thread: it arrives while the simulator runs, not inside this function.
            threading.Thread(target=os.kill, args=(os.getpid(), int(number))).start()
    return report

progress._Lines.run = callback
sys.argv = ["ssdlab", *words]
main()
"""


def signalled_at(
    stage: str, words: list[str], folder: Path, number: int = signal.SIGINT
) -> subprocess.CompletedProcess[str]:
    """Run the command in `folder`; a signal comes when it first reports progress in `stage`.

    However fast the machine is: the signal waits for the progress, and `words` ask for a run that
    never ends by itself.
    """
    return subprocess.run(
        [sys.executable, "-c", SIGNALLED_AT, stage, str(int(number)), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def refused(
    done: subprocess.CompletedProcess[str], code: int, *words: str, out_is_empty: bool = True
) -> None:
    """The run ended with `code`, said all `words` on stderr and showed no traceback."""
    assert done.returncode == code, done.stderr + done.stdout
    for word in words:
        assert word in done.stderr
    for inner in ("Traceback", "panicked", "internal error"):
        assert inner not in done.stderr + done.stdout
    assert not (out_is_empty and done.stdout)


def nothing_left(folder: Path, *expected: str) -> None:
    """`folder` holds only what is expected: no half-written run, hidden or not."""
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(expected)


def sets(values: Mapping[str, object]) -> list[str]:
    """`values` as `--set` options."""
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def report_of(folder: Path) -> dict[str, Any]:
    """The report in the folder of a run."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert isinstance(report, dict)
    return report


def one_workload(paper: str) -> str:
    """A workload of that paper that is quickly run."""
    return "wdev_0" if paper == "deferred-gc-raid" else "SQLite"


def with_any_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices of a size that nothing was calibrated for have the requests of the small one."""

    def keys(
        found: Calibration, _: Scheme, __: int, reading: str, workload: str
    ) -> tuple[Lifetimes, Arrivals]:
        return found.lifetimes[workload], found.entries[entry_name(4, reading)].arrivals[workload]

    monkeypatch.setattr(Calibration, "keys", keys)
