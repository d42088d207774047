"""Iteration from Python compared with plyvel's: `ssdlab kv bench --iterate`.

Both modules execute the same calls in one process, in turns, on stores of the same pairs. A cell is
a size of keys and values, the location of the pairs, a span, a direction, and the parts of a pair
that are returned. Its ratio is the median over the turns, so that other programs on the machine
affect both alike. In a turn, each side reads twice: once right after itself, with its pairs in the
cache, and once after the other side.
"""

from __future__ import annotations

import importlib
import itertools
import random
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from ssdlab._core import KvError
from ssdlab.kv import plyvel as ours
from ssdlab.versions import install

SIZES = ((16, 0), (16, 100), (16, 1000), (16, 4096), (100, 100))
"""Bytes of keys and values."""
PLACES = ("tables", "memory")
SPANS = ("all", "bounds", "prefix", "seek")
SHOWN: dict[str, dict[str, bool]] = {
    "both": {},
    "keys": {"include_value": False},
    "values": {"include_key": False},
}
Db: TypeAlias = Any
"""A store of either module."""
Consumer: TypeAlias = Callable[[Iterable[Any]], object]
ReadFunction: TypeAlias = Callable[[Consumer], object]
BYTES = 4 << 20
"""Keys and values of a store at most."""
AFTER_SEEK = 10
"""Pairs read after a seek."""


@dataclass(frozen=True)
class Cell:
    """One way to read, on both sides."""

    key: int
    """Bytes of a key."""
    value: int
    """Bytes of a value."""
    place: str
    """Where the pairs are: in tables or in memory."""
    span: str
    """All keys, between bounds, of a prefix, or some after each of many seeks."""
    direction: str
    """Forward or reverse."""
    shown: str
    """Keys, values, or both."""
    ours_ns: float
    """Our nanoseconds of processor time per pair: the median."""
    plyvel_ns: float | None
    """As `ours_ns`, for plyvel."""
    ratio: float | None
    """The median of the ratios of the turns."""


def theirs() -> ModuleType | None:
    """Plyvel, if it is installed."""
    try:
        return importlib.import_module("plyvel")
    except ImportError:
        return None


def _keys(size: int, count: int) -> list[bytes]:
    """Keys in order; a quarter each begins with the same letter."""
    return [b"%c%0*d" % (b"abcd"[i * 4 // count], size - 1, i) for i in range(count)]


def _filled(module: ModuleType, folder: Path, keys: Sequence[bytes], value: int, place: str) -> Db:
    """A store of these keys, all in tables or all in memory."""
    db = module.DB(
        str(folder), create_if_missing=True, compression=None, write_buffer_size=64 << 20
    )
    content = random.Random(1).randbytes(value)
    with db.write_batch() as batch:
        for key in keys:
            batch.put(key, content)
    if place == "tables":
        db.compact_range(start=b"", stop=b"\xff")  # Without bounds, plyvel compacts nothing.
    return db


def _reader(db: Db, keys: Sequence[bytes], span: str, options: dict[str, Any]) -> ReadFunction:
    """What a turn reads."""
    if span == "seek":
        targets = random.Random(2).sample(keys, len(keys) // AFTER_SEEK)

        def sought(take: Consumer) -> None:
            with db.iterator(**options) as walk:
                for target in targets:
                    walk.seek(target)
                    take(itertools.islice(walk, AFTER_SEEK))

        return sought
    quarter = len(keys) // 4
    limits: dict[str, dict[str, Any]] = {
        "all": {},
        "bounds": {"start": keys[quarter], "stop": keys[-quarter]},
        "prefix": {"prefix": b"b"},
    }
    return lambda take: take(db.iterator(**limits[span], **options))


def _answer(read: ReadFunction) -> list[Any]:
    answer: list[Any] = []
    read(answer.extend)
    return answer


def _spent(read: ReadFunction, times: int) -> float:
    forget = deque[Any](maxlen=0).extend
    start = time.process_time()
    for _ in range(times):
        read(forget)
    return time.process_time() - start


def _cell(
    sides: Sequence[Db], keys: Sequence[bytes], way: tuple[str, str, str], turns: int
) -> tuple[float, float | None, float | None]:
    """Nanoseconds per pair of both sides, and their ratio."""
    span, direction, columns = way
    options = {"reverse": direction == "reverse", **SHOWN[columns]}
    readers = [_reader(db, keys, span, options) for db in sides]
    answers = [_answer(read) for read in readers]
    pairs = len(answers[0])
    if any(answer != answers[0] for answer in answers):
        raise KvError(f"{span}, {direction}, {columns}: plyvel reads something else")
    times = max(len(keys) // max(pairs, 1), 1)
    samples: list[list[float]] = []
    # The first turn begins like all others: after a read of the first side.
    _spent(readers[0], times)
    for _ in range(turns):
        first_pass = [_spent(read, times) for read in readers]
        second_pass = [_spent(read, times) for read in reversed(readers)][::-1]
        pairs_of_times = zip(first_pass, second_pass, strict=True)
        samples.append(
            [sum(times_of_reader) / (2 * times * pairs) * 1e9 for times_of_reader in pairs_of_times]
        )
    own_ns, *plyvel_ns = (statistics.median(side) for side in zip(*samples, strict=True))
    if not plyvel_ns:
        return own_ns, None, None
    return own_ns, plyvel_ns[0], statistics.median(a / b for a, b in samples)


def measure(
    sizes: Sequence[tuple[int, int]],
    folder: Path | None,
    tell: Callable[[str], None],
    pairs: int = 20_000,
    turns: int = 11,
) -> Iterator[Cell]:
    """All cells, one after the other, each of about this many pairs, read this many times."""
    plyvel = theirs()
    if plyvel is None:
        tell(f"plyvel is left out: it is not installed ({install('plyvel')})")
    modules = [ours] if plyvel is None else [ours, plyvel]
    for (key, value), place in itertools.product(sizes, PLACES):
        tell(f"keys of {key} B, values of {value} B, in {place}")
        keys = _keys(key, min(pairs, BYTES // (key + value)))
        with tempfile.TemporaryDirectory(prefix="ssdlab-kv-", dir=folder) as directory:
            sides = [
                _filled(module, Path(directory, str(i)), keys, value, place)
                for i, module in enumerate(modules)
            ]
            for way in itertools.product(SPANS, ("forward", "reverse"), SHOWN):
                yield Cell(key, value, place, *way, *_cell(sides, keys, way, turns))
            for db in sides:
                db.close()


def table(cells: Sequence[Cell]) -> str:
    """As text: nanoseconds of processor time per pair, and ratios."""
    head = f"{'key':>4}{'value':>6} {'in':<7} {'span':<7} {'direction':<10}{'shown':<7}"
    has_plyvel = cells[0].ratio is not None
    lines = [head + f"{'ours':>8}" + (f"{'plyvel':>8}{'ratio':>7}" if has_plyvel else "")]
    for cell in cells:
        line = f"{cell.key:>4}{cell.value:>6} {cell.place:<7} {cell.span:<7} "
        line += f"{cell.direction:<10}{cell.shown:<7}{cell.ours_ns:>8.0f}"
        if cell.plyvel_ns is not None and cell.ratio is not None:
            line += f"{cell.plyvel_ns:>8.0f}{cell.ratio:>7.2f}"
        lines.append(line)
    ratios = [cell.ratio for cell in cells if cell.ratio is not None]
    if ratios:
        above = sum(ratio > 1 for ratio in ratios)
        middle, top = statistics.median(ratios), max(ratios)
        lines.append(
            f"\n{len(ratios)} cells: median ratio {middle:.2f}, at most {top:.2f}, {above} above 1"
        )
    return "\n".join(lines) + "\n"
