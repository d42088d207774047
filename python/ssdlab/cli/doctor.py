"""What a report of a bug or of a slow run should contain about the machine: `ssdlab doctor`."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import typer

from ssdlab import versions
from ssdlab.cli.terminal import put
from ssdlab.config import memory
from ssdlab.config.resolve import preset_names
from ssdlab.display.numbers import rate, size
from ssdlab.results.text import wrapped
from ssdlab.running.run import run
from ssdlab.running.runner import cores

REQUESTS = 50_000

app = typer.Typer()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _traces() -> str:
    files = sorted(Path("traces").glob("*.trace*"))
    if not files:
        return "none in ./traces (run this in a checkout to see those that it carries)"
    sizes = ", ".join(f"{file.name} ({size(file.stat().st_size)})" for file in files)
    return f"{len(files)} in ./traces: {sizes}"


def facts() -> Iterator[tuple[str, str]]:
    """Names and values, one line each."""
    yield "ssdlab", versions.described()
    yield "python", f"{platform.python_version()} ({sys.executable})"
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "rich", "typer"))
    yield "packages", packages
    yield "system", platform.platform()
    yield "processor", f"{_processor()}, {cores()} usable"
    free = memory.available()
    pages = "" if free is None else f", enough for {free // memory.BYTES_A_PAGE:,} flash pages"
    yield "memory", "unknown" if free is None else f"{size(free)} available{pages}"
    yield "presets", ", ".join(preset_names())
    yield "traces", _traces()
    settings = {"workload.requests": REQUESTS, "precondition.fill": 1.0}
    report = run("greedy-8ch", set=settings, progress=False)
    speed = rate(report.speed.flash_ops_per_s or 0)
    yield "test run", f"{REQUESTS:,} requests, {speed} flash operations/s"


@app.command("doctor")
def doctor_command() -> None:
    """Describe the installation and the machine, and do a test run."""
    for name, value in facts():
        put("".join(f"{line}\n" for line in wrapped(f"{name:<12}", value)))
