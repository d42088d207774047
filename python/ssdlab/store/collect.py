"""Cleans a store up: merges small parts into large ones, and removes what killed writers left.

Others may write, read and clean up meanwhile. A new part names those that it replaces, which are
removed once it is in its place: a reader of the manifest finds each row in one of them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ssdlab.errors import OutputError
from ssdlab.store import rows
from ssdlab.store.files import DRAFT, MISSING, Entry, Files, first_places, opened

MOST_ROWS = 16_384
"""Rows of a part."""
MOST_BYTES = 128 << 20
"""Bytes of a part."""
LEFTOVER_S = 3600.0
"""Age in seconds from which writers' files that no manifest names are left over."""


@dataclass
class Collected:
    """What was done."""

    parts_before: int = 0
    parts: int = 0
    rows: int = 0
    dropped: int = 0
    """Rows that were removed because they were unused, or for the size."""
    repeated: int = 0
    """Rows made redundant by another one with the same key."""
    leftovers: int = 0
    """Files of killed writers."""
    bytes_before: int = 0
    bytes: int = 0
    damaged: list[Path] = field(default_factory=list)
    """Parts that were left alone."""


def collect(
    files: Files,
    *,
    unused_s: float | None = None,
    most_bytes: int | None = None,
    leftover_s: float = LEFTOVER_S,
) -> Collected:
    """Clear a store up.

    With `unused_s`, remove runs that nobody requested in this many seconds; with `most_bytes`,
    remove the least recently requested ones until the rest is at most this large. Raises
    `OutputError`.
    """
    done = Collected()
    entries = files.entries()
    done.parts_before = len(entries)
    done.bytes_before = sum(one.bytes for one in entries.values())
    used = _used(files)
    wanted = _wanted(entries, used, unused_s, most_bytes)
    for several in _bins(entries, wanted):
        _compact(files, several, wanted, done)
    _remove_replaced(files)
    _remove_leftovers(files, leftover_s, done)
    left = files.entries()
    _merge_used(files, used, left)
    done.parts = len(left)
    done.rows = sum(len(one.rows) for one in left.values())
    done.bytes = sum(one.bytes for one in left.values())
    return done


def _used(files: Files) -> dict[Path, Mapping[str, int]]:
    """The contents of the files that record when runs were requested."""
    found: dict[Path, Mapping[str, int]] = {}
    for file in sorted(files.used.glob("*.json")):
        with suppress(OSError, OutputError, ValueError, TypeError), opened(file) as text:
            times = json.loads(text.read())
            found[file] = {str(key): int(at) for key, at in dict(times).items()}
    return found


def _latest(used: Mapping[Path, Mapping[str, int]]) -> dict[str, int]:
    """When each run was last requested."""
    latest: dict[str, int] = {}
    for times in used.values():
        for key, at in times.items():
            latest[key] = max(at, latest.get(key, at))
    return latest


def _merge_used(
    files: Files, used: Mapping[Path, Mapping[str, int]], entries: Mapping[str, Entry]
) -> None:
    """Replace the files that were read by one. If both exist they say the same."""
    if len(used) < 2:
        return
    there = {key for one in entries.values() for key, _ in one.rows}
    files.put_used({key: at for key, at in _latest(used).items() if key in there})
    for file in used:
        file.unlink(missing_ok=True)


Wanted = dict[str, frozenset[int]]
"""The rows of each part that stay, by number."""


def _wanted(
    entries: Mapping[str, Entry],
    used: Mapping[Path, Mapping[str, int]],
    unused_s: float | None,
    most_bytes: int | None,
) -> Wanted:
    first = first_places(entries)
    latest, now = _latest(used), time.time()
    last = {key: max(at / 1e6, latest.get(key, 0)) for key, (at, *_) in first.items()}
    stay = {key for key in first if unused_s is None or last[key] >= now - unused_s}
    if most_bytes is not None:
        left: float = most_bytes
        for key in sorted(stay, key=lambda key: (last[key], key), reverse=True):
            part = entries[first[key][1]]
            left -= part.bytes / len(part.rows)
            if left < -0.5:  # not by rounding alone
                stay.discard(key)
    found: dict[str, set[int]] = {name: set() for name in entries}
    for key in stay:
        _, name, at = first[key]
        found[name].add(at)
    return {name: frozenset(numbers) for name, numbers in found.items()}


def _bins(entries: Mapping[str, Entry], wanted: Wanted) -> Iterator[list[Entry]]:
    """Parts that become one: neighbours that are small together, or one that loses rows."""
    held: list[Entry] = []
    for name in sorted(entries):
        entry = entries[name]
        loses = len(wanted[name]) < len(entry.rows)
        large = len(entry.rows) > MOST_ROWS // 2 or entry.bytes > MOST_BYTES // 2
        if large and not loses:
            continue
        count = sum(len(wanted[one.name]) for one in held) + len(wanted[name])
        size = sum(one.bytes for one in held) + entry.bytes
        if held and (count > MOST_ROWS or size > MOST_BYTES):
            yield held
            held = []
        held.append(entry)
    if len(held) > 1 or any(len(wanted[one.name]) < len(one.rows) for one in held):
        yield held


def _compact(files: Files, several: list[Entry], wanted: Wanted, done: Collected) -> None:
    """Put the wanted rows of several parts into one that replaces them."""
    whole = []
    for entry in several:
        why = files.fault(entry)
        if why == MISSING:
            return  # another process has replaced this part
        if why:
            done.damaged.append(files.part(entry.name))
        else:
            whole.append(entry)
    if not whole:
        return
    try:
        kept = [
            (key, created)
            for one in whole
            for at, (key, created) in enumerate(one.rows)
            if at in wanted[one.name]
        ]
        files.add(
            kept,
            rows.all_leaves(one.config for one in whole),
            rows.GROUP,
            lambda out: _copy(files, whole, wanted, out),
            # The parts that it replaced may still exist, if their collection was killed.
            sorted({name for one in whole for name in (one.name, *one.replaces)} & files.names()),
        )
    except FileNotFoundError:
        return  # another process has replaced one of them
    keys = {key for one in several for key, _ in one.rows}
    lost = sum(len(one.rows) for one in whole) - len(kept)
    gone = len(keys - {key for key, _ in kept})
    done.dropped += min(gone, lost)
    done.repeated += max(0, lost - gone)


def _copy(files: Files, several: Sequence[Entry], wanted: Wanted, out: BinaryIO) -> None:
    """Write the wanted rows, a row group at a time; columns that some parts lack are empty."""
    pa = rows.arrow()
    with ExitStack() as stack:
        opened = [
            stack.enter_context(rows.parquet().ParquetFile(files.part(one.name))) for one in several
        ]
        columns = pa.unify_schemas([one.schema_arrow for one in opened])
        into = stack.enter_context(rows.writer(out, columns))
        waiting: Any = columns.empty_table()
        for entry, file in zip(several, opened, strict=True):
            begin = 0
            for number in range(file.num_row_groups):
                table = file.read_row_group(number)
                mask = [at in wanted[entry.name] for at in range(begin, begin + table.num_rows)]
                begin += table.num_rows
                taken = table.filter(pa.array(mask, pa.bool_()))
                waiting = pa.concat_tables([waiting, taken], promote_options="default")
                while waiting.num_rows >= rows.GROUP:
                    into.write_table(waiting.slice(0, rows.GROUP))
                    waiting = waiting.slice(rows.GROUP)
        if waiting.num_rows:
            into.write_table(waiting)


def _remove_replaced(files: Files) -> None:
    """Remove the parts that others replace: first their entries, then the parts themselves."""
    live = files.entries()
    for one in [*live.values()]:
        for name in one.replaces:
            files.entry(name).unlink(missing_ok=True)
            files.part(name).unlink(missing_ok=True)


def _remove_leftovers(files: Files, older_s: float, done: Collected) -> None:
    """Remove drafts, and parts that no manifest names."""
    for file in leftovers(files):
        with suppress(FileNotFoundError):
            if time.time() - file.lstat().st_mtime > older_s:
                file.unlink()
                done.leftovers += 1


def leftovers(files: Files) -> list[Path]:
    """Drafts, and parts that no manifest names; active writers have some, too."""
    found = [one for one in files.folder.rglob(f".*{DRAFT}") if one.is_file()]
    parts = sorted(files.parts.glob("*.parquet"))
    named = files.names()
    return found + [one for one in parts if one.stem not in named]
