"""Instructions of small cases, counted by valgrind: the same on a busy machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .cases import CASES, Case, Value, steady_user, toml

TOLERANCE = 0.03
"""A count may exceed the recorded one by this share."""
BINARY = Path("target/release/examples/bench_case")


@dataclass(frozen=True)
class CountedRun:
    """A run whose requests from `first` on are counted."""

    name: str
    what: str
    settings: Mapping[str, Value]
    first: int
    most: int | None = None
    """Most instructions per host page."""


@dataclass(frozen=True)
class Count:
    """The outcome."""

    instructions: int
    pages: int
    """Host pages written by the counted requests."""
    operations: int
    """Flash reads, programs and erases for them."""
    answer: str
    """What the program printed."""


def _e2() -> CountedRun:
    """Return the yardstick: the second half of e2, whose pages are overwritten several times."""
    case = next(case for case in CASES if case.name == "e2")
    settings = {**case.settings(), "workload.warmup_requests": 0}
    return CountedRun("e2", "e2, its second half", settings, case.warmup, most=3_600)


def _steady(
    name: str, amplification: float | None, writes: int, *, timed: bool = True
) -> CountedRun:
    """Return 16 GiB in the steady state; without an amplification over-provisioning is 28 %."""
    blocks, pages = 512, 128
    case = Case(
        name,
        "",
        chips=8,
        blocks=blocks,
        pages=pages,
        user=steady_user(amplification, blocks, pages),
        writes=writes,
        required=0,
        aim=0,
        depth=128,
        overwrite=0.0,
        built=True,
        functional=not timed,
    )
    condition = "over-provisioning 28 %" if amplification is None else f"WA {amplification:g}"
    time = "" if timed else ", without time"
    return CountedRun(name, f"16 GiB, {condition}{time}", case.settings(), writes // 2)


def _replay() -> CountedRun:
    settings: dict[str, Value] = {
        "device.blocks_per_plane": 128,
        "device.pages_per_block": 64,
        "device.over_provisioning": 0.1,
        "precondition.fill": 1.0,
        "precondition.steady_state": "mean-field",
        "workload.kind": "trace",
        "workload.trace": "traces/varmail.trace.zst",
        "workload.fit": "compact",
    }
    return CountedRun("replay", "the recorded mail server, on 1 GiB", settings, 0)


COUNTED = (
    _e2(),
    _steady("wa2", 2.0, 400_000),
    _steady("wa4", 4.0, 200_000),
    _replay(),
    _steady("functional", None, 2_000_000, timed=False),
)


def build(sources: Path = Path(), target: Path | None = None) -> None:
    """Build the program that is counted, from these sources, into `target` or cargo's folder."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "ssd-trace"]
    environment = {} if target is None else {"CARGO_TARGET_DIR": str(target.resolve())}
    command += ["--example", "bench_case"]
    subprocess.run(command, check=True, cwd=sources, env=os.environ | environment)


def words(case: CountedRun) -> list[str]:
    """Return the arguments of the program for a case."""
    settings = [f"{key}={toml(value)}" for key, value in case.settings.items()]
    return [str(case.first), *settings]


def count(case: CountedRun, binary: Path = BINARY) -> Count | None:
    """Count a case with the program `binary`; None without valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        option = f"--callgrind-out-file={folder}/out"
        toggle = "--toggle-collect=bench_case::counted*"
        command = [valgrind, "--tool=callgrind", option, toggle, str(binary), *words(case)]
        process = subprocess.run(command, check=True, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", process.stderr)
    totals = re.match(r"(\d+) pages, (\d+) operations", process.stdout)
    if collected is None or totals is None:
        message = f"valgrind reported no count: {process.stderr[-500:]}"
        raise RuntimeError(message)
    return Count(int(collected[1]), int(totals[1]), int(totals[2]), process.stdout.strip())
