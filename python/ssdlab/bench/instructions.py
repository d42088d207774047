"""Instructions of a small case, counted by valgrind: the same on a busy machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

TOLERANCE = 0.03
"""A count may exceed the recorded one by this share."""
BINARY = Path("target/release/examples/bench_case")


def count() -> tuple[int, str] | None:
    """Return instructions of crates/ssd-core/examples/bench_case.rs and what it printed.

    None without valgrind. Runs cargo in the current folder, which is that of the sources.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    build = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "ssd-core"]
    subprocess.run([*build, "--example", "bench_case"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        out = f"--callgrind-out-file={folder}/out"
        command = [valgrind, "--tool=callgrind", out, str(BINARY)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        message = f"valgrind reported no count: {done.stderr[-500:]}"
        raise RuntimeError(message)
    return int(found[1]), done.stdout.strip()
