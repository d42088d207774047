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
from ssdlab.store.files import DRAFT, MISSING, Entry, Files, first_places, open_file

MOST_ROWS = 16_384
"""Rows of a part."""
MOST_BYTES = 128 << 20
"""Bytes of a part."""
LEFTOVER_S = 3600.0
"""Age in seconds from which writers' files that no manifest names are left over."""


@dataclass
class CollectResult:
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
) -> CollectResult:
    """Clear a store up.

    With `unused_s`, remove runs that nobody requested in this many seconds; with `most_bytes`,
    remove the least recently requested ones until the rest is at most this large. Raises
    `OutputError`.
    """
    result = CollectResult()
    entries = files.entries()
    result.parts_before = len(entries)
    result.bytes_before = sum(entry.bytes for entry in entries.values())
    used = _used(files)
    retained = _retained(entries, used, unused_s, most_bytes)
    for group in _bins(entries, retained):
        _compact(files, group, retained, result)
    _remove_replaced(files)
    _remove_leftovers(files, leftover_s, result)
    remaining = files.entries()
    _merge_used(files, used, remaining)
    result.parts = len(remaining)
    result.rows = sum(len(entry.rows) for entry in remaining.values())
    result.bytes = sum(entry.bytes for entry in remaining.values())
    return result


def _used(files: Files) -> dict[Path, Mapping[str, int]]:
    """The contents of the files that record when runs were requested."""
    times_by_file: dict[Path, Mapping[str, int]] = {}
    for file in sorted(files.used.glob("*.json")):
        with suppress(OSError, OutputError, ValueError, TypeError), open_file(file) as text:
            times = json.loads(text.read())
            times_by_file[file] = {str(key): int(moment) for key, moment in dict(times).items()}
    return times_by_file


def _latest(used: Mapping[Path, Mapping[str, int]]) -> dict[str, int]:
    """When each run was last requested."""
    latest: dict[str, int] = {}
    for times in used.values():
        for key, moment in times.items():
            latest[key] = max(moment, latest.get(key, moment))
    return latest


def _merge_used(
    files: Files, used: Mapping[Path, Mapping[str, int]], entries: Mapping[str, Entry]
) -> None:
    """Replace the files that were read by one. If both exist they say the same."""
    if len(used) < 2:
        return
    keys = {key for entry in entries.values() for key, _ in entry.rows}
    files.put_used({key: moment for key, moment in _latest(used).items() if key in keys})
    for file in used:
        file.unlink(missing_ok=True)


RetainedRows = dict[str, frozenset[int]]
"""The rows of each part that stay, by number."""


def _retained(
    entries: Mapping[str, Entry],
    used: Mapping[Path, Mapping[str, int]],
    unused_s: float | None,
    most_bytes: int | None,
) -> RetainedRows:
    first = first_places(entries)
    latest, now = _latest(used), time.time()
    last_use = {key: max(moment / 1e6, latest.get(key, 0)) for key, (moment, *_) in first.items()}
    retained_keys = {key for key in first if unused_s is None or last_use[key] >= now - unused_s}
    if most_bytes is not None:
        remaining_bytes: float = most_bytes
        for key in sorted(retained_keys, key=lambda key: (last_use[key], key), reverse=True):
            part = entries[first[key][1]]
            remaining_bytes -= part.bytes / len(part.rows)
            if remaining_bytes < -0.5:  # not by rounding alone
                retained_keys.discard(key)
    numbers_by_part: dict[str, set[int]] = {name: set() for name in entries}
    for key in retained_keys:
        _, name, number = first[key]
        numbers_by_part[name].add(number)
    return {name: frozenset(numbers) for name, numbers in numbers_by_part.items()}


def _bins(entries: Mapping[str, Entry], retained: RetainedRows) -> Iterator[list[Entry]]:
    """Parts that become one: neighbours that are small together, or one that loses rows."""
    group: list[Entry] = []
    for name in sorted(entries):
        entry = entries[name]
        loses_rows = len(retained[name]) < len(entry.rows)
        is_large = len(entry.rows) > MOST_ROWS // 2 or entry.bytes > MOST_BYTES // 2
        if is_large and not loses_rows:
            continue
        count = sum(len(retained[member.name]) for member in group) + len(retained[name])
        size = sum(member.bytes for member in group) + entry.bytes
        if group and (count > MOST_ROWS or size > MOST_BYTES):
            yield group
            group = []
        group.append(entry)
    if len(group) > 1 or any(len(retained[member.name]) < len(member.rows) for member in group):
        yield group


def _compact(
    files: Files, group: list[Entry], retained: RetainedRows, result: CollectResult
) -> None:
    """Put the wanted rows of several parts into one that replaces them."""
    intact = []
    for entry in group:
        fault = files.fault(entry)
        if fault == MISSING:
            return  # another process has replaced this part
        if fault:
            result.damaged.append(files.part(entry.name))
        else:
            intact.append(entry)
    if not intact:
        return
    try:
        retained_rows = [
            (key, created)
            for member in intact
            for number, (key, created) in enumerate(member.rows)
            if number in retained[member.name]
        ]
        files.add(
            retained_rows,
            rows.all_leaves(member.config for member in intact),
            rows.GROUP,
            lambda out: _copy(files, intact, retained, out),
            # The parts that it replaced may still exist, if their collection was killed.
            sorted(
                {name for member in intact for name in (member.name, *member.replaces)}
                & files.names()
            ),
        )
    except FileNotFoundError:
        return  # another process has replaced one of them
    keys = {key for member in group for key, _ in member.rows}
    removed_count = sum(len(member.rows) for member in intact) - len(retained_rows)
    dropped_count = len(keys - {key for key, _ in retained_rows})
    result.dropped += min(dropped_count, removed_count)
    result.repeated += max(0, removed_count - dropped_count)


def _copy(files: Files, entries: Sequence[Entry], retained: RetainedRows, out: BinaryIO) -> None:
    """Write the wanted rows, a row group at a time; columns that some parts lack are empty."""
    pa = rows.arrow()
    with ExitStack() as stack:
        parquet_files = [
            stack.enter_context(rows.parquet().ParquetFile(files.part(entry.name)))
            for entry in entries
        ]
        columns = pa.unify_schemas([file.schema_arrow for file in parquet_files])
        sink = stack.enter_context(rows.writer(out, columns))
        pending: Any = columns.empty_table()
        for entry, file in zip(entries, parquet_files, strict=True):
            begin = 0
            for number in range(file.num_row_groups):
                table = file.read_row_group(number)
                mask = [row in retained[entry.name] for row in range(begin, begin + table.num_rows)]
                begin += table.num_rows
                selected = table.filter(pa.array(mask, pa.bool_()))
                pending = pa.concat_tables([pending, selected], promote_options="default")
                while pending.num_rows >= rows.GROUP:
                    sink.write_table(pending.slice(0, rows.GROUP))
                    pending = pending.slice(rows.GROUP)
        if pending.num_rows:
            sink.write_table(pending)


def _remove_replaced(files: Files) -> None:
    """Remove the parts that others replace: first their entries, then the parts themselves."""
    live = files.entries()
    for entry in [*live.values()]:
        for name in entry.replaces:
            files.entry(name).unlink(missing_ok=True)
            files.part(name).unlink(missing_ok=True)


def _remove_leftovers(files: Files, older_s: float, result: CollectResult) -> None:
    """Remove drafts, and parts that no manifest names."""
    for file in leftovers(files):
        with suppress(FileNotFoundError):
            if time.time() - file.lstat().st_mtime > older_s:
                file.unlink()
                result.leftovers += 1


def leftovers(files: Files) -> list[Path]:
    """Drafts, and parts that no manifest names; active writers have some, too."""
    drafts = [file for file in files.folder.rglob(f".*{DRAFT}") if file.is_file()]
    parts = sorted(files.parts.glob("*.parquet"))
    names = files.names()
    return drafts + [file for file in parts if file.stem not in names]
