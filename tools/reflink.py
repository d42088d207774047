#!/usr/bin/env python3
"""Measure reuse by reflinks on XFS and btrfs: bytes written to the device, on loop devices.

    python tools/reflink.py [--size MIB] [--value BYTES ...] [--file-system NAME ...] [--check]

Needs root, `mkfs.xfs` and `mkfs.btrfs` (Debian: xfsprogs, btrfs-progs). Each file system is made
anew in a file, mounted, filled by `ssdlab kv bench --reuse reflink`, and unmounted. With `--check`
the exit code is 1 unless reflinks save 30 percent of LevelDB's bytes for values of 4 KiB.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssdlab_lab.kv import reuse

MAKE = {
    "xfs": ("mkfs.xfs", "-q"),
    "btrfs": ("mkfs.btrfs", "-q"),
    "ext4": ("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
}
SAVED = 0.3


def missing(name: str) -> str | None:
    """Why a file system cannot be made and mounted here; None if it can."""
    if os.geteuid() != 0:
        return "only root can mount a file"
    if shutil.which(MAKE[name][0]) is None:
        return f"there is no {MAKE[name][0]} (Debian: xfsprogs, btrfs-progs)"
    return None


@contextmanager
def mounted(name: str, mebibytes: int, place: Path) -> Iterator[Path]:
    """A new file system of this kind in a file under `place`."""
    image, mount = place / f"{name}.img", place / name
    with image.open("wb") as file:
        file.truncate(mebibytes << 20)
    subprocess.run([*MAKE[name], str(image)], check=True, capture_output=True)
    mount.mkdir()
    subprocess.run(["mount", "-o", "loop", str(image), str(mount)], check=True)
    try:
        yield mount
    finally:
        subprocess.run(["umount", str(mount)], check=True)
        image.unlink()


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")


def lines(name: str, rows: list[reuse.Row]) -> Iterator[str]:
    """Rows whose first number is a cell of the table in docs/store.md."""
    for row in rows:
        user = 3 * row.n * (row.value_size + 16)
        first = next(r for r in rows if r.value_size == row.value_size)
        assert row.device_bytes is not None
        assert first.device_bytes is not None
        ratio = row.device_bytes / first.device_bytes
        yield (
            f"| {name} | {row.value_size:,} | {row.name} | {row.device_bytes / user:.2f} "
            f"| {(ratio - 1) * 100:+.0f} % | {row.shared_bytes / user:.2f} "
            f"| {row.store_bytes / (row.n * (row.value_size + 16)):.2f} |"
        )


def main() -> int:
    """Measure all file systems and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64, help="MiB of values filled")
    parser.add_argument("--value", type=int, action="append", help="bytes of a value")
    parser.add_argument("--file-system", choices=sorted(MAKE), action="append")
    parser.add_argument("--pages", type=int, default=1, help="pages a block")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    has_failed = False
    sys.stdout.write("| file system | value, B | store | device | to LevelDB | shared | space |\n")
    sys.stdout.write("|---|--:|---|--:|--:|--:|--:|\n")
    for name in options.file_system or ["xfs", "btrfs"]:
        if (reason := missing(name)) is not None:
            sys.exit(f"{name}: {reason}")
        with (
            tempfile.TemporaryDirectory(prefix="ssdlab-reflink-") as place,
            mounted(name, max(options.size * 16, 1024), Path(place)) as mount,
        ):
            values = options.value or [1024, 4096]
            measured = reuse.measure(
                values,
                options.size,
                10,
                "reflink",
                options.pages,
                mount,
                _tell,
            )
            rows = list(measured)
        for line in lines(name, rows):
            sys.stdout.write(line + "\n")
        for size in values:
            rows_of_size = [row for row in rows if row.value_size == size]
            has_failed |= len({row.digest for row in rows_of_size}) > 1
            minimum = min(row.device_bytes or 0 for row in rows_of_size if row.shared_bytes)
            has_failed |= size == 4096 and minimum > (1 - SAVED) * (
                rows_of_size[0].device_bytes or 0
            )
    return int(has_failed and options.check)


if __name__ == "__main__":
    sys.exit(main())
