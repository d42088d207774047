"""What reuse of unchanged blocks saves: `ssdlab kv bench --reuse`.

The same writes go to several stores, one after the other, in one folder. The kernel counts the
bytes that reach the block device of the folder, so they include everything that the file system
adds.
"""

from __future__ import annotations

import os
import random
import shutil
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from ssdlab.kv import store
from ssdlab.kv.findings import ReuseStats
from ssdlab_lab.kv.iterate import theirs

Mode: TypeAlias = Literal["base", "retention", "reflink"]
SECTOR = 512
_WRITTEN = 6
"""Field of a device's statistics: sectors written."""


class Writable(Protocol):
    """A store, ours or LevelDB's through plyvel."""

    def put(self, key: bytes, value: bytes) -> None:
        """Give a key a value."""

    def close(self) -> None:
        """Close it."""


@dataclass(frozen=True)
class Row:
    """One store after the writes."""

    name: str
    """What it is."""
    value_size: int
    """Bytes of a value."""
    n: int
    """Keys drawn; the first `n` writes fill the store, and `2 n` overwrite."""
    wall_s: float
    """Time by the wall."""
    cpu_s: float
    """Processor time of the process, without what the kernel writes later."""
    device_bytes: int | None
    """Bytes written to the device; None if the folder has no device of its own."""
    table_bytes: int | None
    """Bytes of tables written, including shared bytes; None for LevelDB."""
    shared_bytes: int
    """Bytes of them that were shared."""
    copied_bytes: int
    """Bytes of reused blocks that were copied."""
    store_bytes: int
    """Lengths of all files at the end."""
    reuse: tuple[ReuseStats, ...]
    """By output level."""
    digest: int
    """Digest of all keys and values: equal for all stores."""
    note: str | None
    """Why blocks were copied."""


def device_of(folder: Path) -> Path | None:
    """The statistics of the block device of a folder; None if it has none."""
    folder = folder.resolve()
    device: tuple[int, str] | None = None
    with Path("/proc/self/mountinfo").open(encoding="utf-8") as lines:
        for line in lines:
            mount, _, filesystem = line.partition(" - ")
            mountpoint = mount.split()[4].encode().decode("unicode_escape")
            source = filesystem.split()[1]
            is_inside = folder == Path(mountpoint) or Path(mountpoint) in folder.parents
            if (
                is_inside
                and source.startswith("/dev/")
                and (not device or len(mountpoint) >= device[0])
            ):
                device = (len(mountpoint), source)
            elif is_inside and (not device or len(mountpoint) > device[0]):
                device = (len(mountpoint), "")
    if not device or not device[1]:
        return None
    number = Path(device[1]).stat().st_rdev
    stat = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")
    return stat if stat.exists() else None


def _written(device: Path | None) -> int:
    if device is None:
        return 0
    return int(device.read_text(encoding="utf-8").split()[_WRITTEN]) * SECTOR


def _write(db: Writable, n: int, value_size: int, seed: int) -> None:
    """Put random keys out of `n`, three times as many as there are."""
    rng = random.Random(seed)
    for _ in range(3 * n):
        db.put(b"%016d" % rng.randrange(n), rng.randbytes(value_size))


def _stores(
    mode: Mode, share: Literal["copy", "reflink"], pages: int, bloom: int
) -> Iterator[tuple[str, Callable[[Path], Any]]]:
    """The stores that are compared: names and how to open them."""
    leveldb = theirs()
    if leveldb is not None:
        yield (
            "LevelDB",
            lambda folder: leveldb.DB(
                str(folder), create_if_missing=True, compression=None, bloom_filter_bits=bloom
            ),
        )

    def ours(**options: Any) -> Callable[[Path], Any]:  # noqa: ANN401 - options of `open`
        # Logs are synced as LevelDB's are.
        common: dict[str, Any] = {"compression": None, "bloom_filter_bits": bloom}
        return lambda folder: store.open(
            folder, create_if_missing=True, sync_logs=False, **common, **options
        )

    yield "stock", ours()
    yield "aligned", ours(pages_per_block=pages)
    yield "base", ours(pages_per_block=pages, reuse="base", share=share)
    if mode != "base":
        yield "retention", ours(pages_per_block=pages, reuse="retention", share=share)
        fill = pages * 2048
        yield (
            "half full",
            ours(pages_per_block=pages, reuse="retention", share=share, least_fill=fill),
        )


def _content(folder: Path, bloom: int) -> int:
    """A digest of all pairs, read with all checks."""
    digest = 0
    with store.open(folder, read_only=True, paranoid_checks=True, bloom_filter_bits=bloom) as db:
        for key, value in db.iterator(verify_checksums=True):
            digest = zlib.crc32(value, zlib.crc32(key, digest))
    return digest


def measure(
    sizes: Sequence[int],
    mebibytes: int,
    bloom: int,
    mode: Mode,
    pages: int,
    folder: Path,
    tell: Callable[[str], None],
) -> Iterator[Row]:
    """A row for each size of values and each store."""
    share: Literal["copy", "reflink"] = "reflink" if mode == "reflink" else "copy"
    device = device_of(folder)
    if device is None:
        tell(f"{folder}: on no block device of its own: bytes of the device are not counted")
    for size in sizes:
        n = max((mebibytes << 20) // size, 1)
        for name, open_store in _stores(mode, share, pages, bloom):
            tell(f"{size} B: {name}")
            place = folder / "reuse-bench"
            os.sync()
            start, wall, cpu = _written(device), time.perf_counter(), time.process_time()
            db = open_store(place)
            try:
                _write(db, n, size, seed=size)
                stats = db.stats() if isinstance(db, store.DB) else None
            finally:
                db.close()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            os.sync()
            device_bytes = _written(device) - start if device is not None else None
            reuse = stats.reuse if stats else ()
            tables = sum(level.bytes_written for level in stats.levels) if stats else None
            length = sum(file.stat().st_size for file in place.iterdir())
            yield Row(
                name,
                size,
                n,
                wall,
                cpu,
                device_bytes,
                tables,
                sum(level.bytes_shared for level in reuse),
                sum(level.bytes_copied for level in reuse),
                length,
                reuse,
                _content(place, bloom),
                stats.why_copied if stats else None,
            )
            shutil.rmtree(place)
            os.sync()


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.1f}"


def table(rows: Sequence[Row]) -> str:
    """As text: bytes per byte of keys and values, and what was reused by level."""
    head = ("device", "tables", "shared", "copied", "space")
    lines = ["bytes for a byte of keys and values; space: for a byte of what is in the store"]
    lines.append(f"{'value':>6} {'store':<10}" + "".join(f"{h:>8}" for h in head) + "   us/write")
    for row in rows:
        user = 3 * row.n * (row.value_size + 16)
        live = row.n * (1 - 0.049787) * (row.value_size + 16)  # e^-3 of the keys never come
        amounts = (row.device_bytes, row.table_bytes, row.shared_bytes, row.copied_bytes)
        cells = [
            f"{amount / user:>8.2f}" if amount is not None else f"{'-':>8}" for amount in amounts
        ]
        cells.append(f"{row.store_bytes / live:>8.2f}")
        line = f"{row.value_size:>6} {row.name:<10}" + "".join(cells)
        lines.append(line + f"{row.wall_s / (3 * row.n) * 1e6:>11.1f}")
    lines.append(
        "\nreused blocks in percent of output blocks (unchanged of input blocks), by level"
    )
    for row in rows:
        if not any(level.output_blocks for level in row.reuse):
            continue
        line = f"{row.value_size:>6} {row.name:<10}"
        for level_number, level in enumerate(row.reuse):
            if level.output_blocks:
                shares = _percent(level.output_share), _percent(level.input_share)
                line += f"  {level_number}: {shares[0]} ({shares[1]})"
        lines.append(line)
    notes = sorted({row.note for row in rows if row.note})
    lines.extend(f"blocks are copied: {note}" for note in notes)
    lines.extend(
        f"{size} B: the stores differ"
        for size in sorted({row.value_size for row in rows})
        if len({row.digest for row in rows if row.value_size == size}) > 1
    )
    return "\n".join(lines) + "\n"
