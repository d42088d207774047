"""Runs of the `ssdlab` command as a user would start them, and a configuration for small runs."""

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

import ssdlab
from ssdlab import cli
from ssdlab.results.text import WIDTH
from ssdlab_lab.reproduce.calibration import Arrivals, Calibration, Lifetimes, entry_name
from ssdlab_lab.reproduce.matrix import Scheme

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

STEADY: dict[str, object] = {
    **SMALL,
    "run.mode": "functional",
    "device.channels": 1,
    "device.chips_per_channel": 1,
    "device.blocks_per_plane": 64,
    "device.pages_per_block": 32,
    "device.over_provisioning": 0.5,
    "precondition.overwrite": 2,
    "workload.requests": 6000,
    "workload.read": 0.0,
}
"""Small runs without time, which no warning invalidates."""

SMALL_DEVICE = """\
[device]
channels = 2
chips_per_channel = 2
planes_per_chip = 1
blocks_per_plane = 32
pages_per_block = 16
over_provisioning = 0.25
"""
SMALL_TOML = f"""\
{SMALL_DEVICE}\
[precondition]
fill = 1
overwrite = 1
[workload]
requests = 4000
read = 0.3
"""


def ssdlab_command(
    *arguments: str | Path, cwd: Path, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end in the folder `cwd`, in this process.

    It finds the working folder, streams, arguments and `__main__` as a process of its own would. A
    process takes as long to start as most commands run: what a test says of signals, limits or
    streams that fail needs one, see `ssdlab_process`.
    """
    words = [str(Path(ssdlab.__file__).with_name("__main__.py")), *map(str, arguments)]
    modules_before = {*sys.modules}
    with contextlib.ExitStack() as stack:
        stack.callback(os.chdir, Path.cwd())
        os.chdir(cwd)
        files = stack.enter_context(_streams(stdin))
        stack.enter_context(mock.patch.object(sys, "argv", words))
        stack.enter_context(mock.patch.object(sys, "path", [str(cwd), *sys.path]))
        # Other modules that the command imports stay: some do not bear to be imported twice.
        stack.callback(sys.modules.__setitem__, "__main__", sys.modules["__main__"])
        sys.modules["__main__"] = _main_module(words[0])
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.getsignal(number))
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        finally:
            # A module of the folder, such as a policy: another folder has another one of its name.
            for name in {*sys.modules} - modules_before:
                if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(cwd):
                    del sys.modules[name]
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        stdout, errors = (file.read_bytes().decode() for file in files)
    assert isinstance(code, int)
    return subprocess.CompletedProcess(words, code, stdout, errors)


@contextlib.contextmanager
def _streams(stdin: bytes) -> Iterator[tuple[Path, Path]]:
    """Files as standard streams of this process: of Python, of the simulator, and of children."""
    python = sys.stdin, sys.stdout, sys.stderr
    for stream in python[1:]:
        stream.flush()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        paths[0].write_bytes(stdin)
        descriptors = [os.dup(number) for number in range(3)]
        try:
            for number, path in enumerate(paths):
                opened_descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
                os.dup2(opened_descriptor, number)
                os.close(opened_descriptor)
            sys.stdin, sys.stdout, sys.stderr = (
                open(number, mode, 1, "utf-8", closefd=False)  # noqa: SIM115
                for number, mode in enumerate("rww")
            )
            yield paths[1], paths[2]
        finally:
            sys.stdin, sys.stdout, sys.stderr = python
            for number, saved_descriptor in enumerate(descriptors):
                os.dup2(saved_descriptor, number)
                os.close(saved_descriptor)


def _main_module(file: str) -> ModuleType:
    """What `__main__` is in `python -m ssdlab`: messages name the command by it."""
    module = ModuleType("__main__")
    module.__file__, module.__package__ = file, "ssdlab"
    return module


def ssdlab_process(
    *arguments: str | Path,
    cwd: Path,
    limit: Callable[[], None] | None = None,
    stdout: Any = subprocess.PIPE,  # noqa: ANN401 - as in subprocess
) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, which `limit` prepares."""
    process = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
        check=False,
        timeout=HANG_S,
    )
    text = (process.stdout or b"").decode()
    return subprocess.CompletedProcess(
        process.args, process.returncode, text, process.stderr.decode()
    )


def as_a_user() -> None:
    """Bind this process to the permissions of files, and what it starts, even if root runs it."""
    if os.geteuid() != 0:
        return
    drop_from_the_bound, overrides = 24, (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    libc = ctypes.CDLL(None, use_errno=True)
    for number in overrides:
        if libc.prctl(drop_from_the_bound, number, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` has filled once for all workers, which steal tests from each other."""
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, temporary = base / name, base / f"{name}.unfinished"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            make(temporary)
            temporary.rename(folder)
    return folder


SIGNALLED_AT = """
import os, sys, threading, time
from ssdlab.display import progress
from ssdlab.cli import main
from ssdlab.running import signals

stage, number, times, *words = sys.argv[1:]
sent = threading.Event()

# However slow the machine is, a repeat is one; the first signal is handled before it comes.
signals.ONE_SIGNAL_S = 60.0

def send():
    for _ in range(int(times)):
        os.kill(os.getpid(), int(number))
        time.sleep(0.1)

def callback(self, label):
    def report(stage_now, done, total):
        if stage_now == stage and done > 0 and not sent.is_set():
            sent.set()
            # From another thread: it arrives while the simulator runs, not inside this function.
            threading.Thread(target=send).start()
    return report

progress._Lines.run = callback
sys.argv = ["ssdlab", *words]
main()
"""


def signalled_at(
    stage: str, words: list[str], folder: Path, number: int = signal.SIGINT, times: int = 1
) -> subprocess.CompletedProcess[str]:
    """Run the command in `folder`; a signal comes when it first reports progress in `stage`.

    `times`: how often it is sent at once.

    However fast the machine is: the signal waits for the progress, and `words` ask for a run that
    never ends by itself.
    """
    return subprocess.run(
        [sys.executable, "-c", SIGNALLED_AT, stage, str(int(number)), str(times), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def refused(
    process: subprocess.CompletedProcess[str], code: int, *words: str, out_is_empty: bool = True
) -> None:
    """The run ended with `code`, said all `words` on stderr and showed no traceback."""
    assert process.returncode == code, process.stderr + process.stdout
    for word in words:
        assert word in process.stderr
    for inner in ("Traceback", "panicked", "internal error"):
        assert inner not in process.stderr + process.stdout
    assert not (out_is_empty and process.stdout)


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


def too_wide(text: str) -> list[str]:
    """The lines of `text` that do not fit a terminal."""
    # A path or a number of digits is one word, whatever its length and wherever the sources are.
    lines = text.replace(f"{ROOT}/", "").splitlines()
    wide_lines = [line for line in lines if len(line) > WIDTH and " " in line.strip()]
    return [line for line in wide_lines if max(map(len, line.split())) < WIDTH - 30]


def one_workload(paper: str) -> str:
    """A workload of that paper that is quickly run."""
    return "wdev_0" if paper == "deferred-gc-raid" else "SQLite"


def with_any_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices of a size that nothing was calibrated for have the requests of the small one."""

    def keys(
        calibration: Calibration, _: Scheme, __: int, reading: str, workload: str
    ) -> tuple[Lifetimes, Arrivals]:
        return calibration.lifetimes[workload], calibration.entries[
            entry_name(4, reading)
        ].arrivals[workload]

    monkeypatch.setattr(Calibration, "keys", keys)
