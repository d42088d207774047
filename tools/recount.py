#!/usr/bin/env python3
"""Count unchanged data blocks again, from the tables that compactions read and wrote.

    python tools/recount.py KEPT

KEPT is a folder with a manifest and every table that it has ever named. `kept_tables` keeps them
beside a store whose background work is done in steps. This shares no code with the store: it
parses logs, manifests and tables by LevelDB's format, and merges the pairs of each compaction by
itself. A pair was dropped if the outputs do not have it.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

RECORD_BLOCK = 32768
TRAILER = 5
FOOTER = 48


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def records(data: bytes) -> Iterator[bytes]:
    """The records of a log or manifest."""
    at, parts = 0, b""
    while at + 7 <= len(data):
        if RECORD_BLOCK - at % RECORD_BLOCK < 7:
            at += RECORD_BLOCK - at % RECORD_BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        if kind == 0:
            return
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in {1, 4}:
            yield parts
            parts = b""


@dataclass
class Edit:
    """What one edit of a manifest takes away and adds: levels and numbers of tables."""

    deleted: list[tuple[int, int]] = field(default_factory=list)
    added: list[tuple[int, int]] = field(default_factory=list)


def edits(manifest: bytes) -> Iterator[Edit]:
    """The edits of a manifest."""
    for record in records(manifest):
        edit, at = Edit(), 0
        while at < len(record):
            tag, at = varint(record, at)
            if tag in {2, 3, 4, 9}:
                _, at = varint(record, at)
            elif tag == 1:
                length, at = varint(record, at)
                at += length
            elif tag == 5:
                _, at = varint(record, at)
                length, at = varint(record, at)
                at += length
            elif tag == 6:
                level, at = varint(record, at)
                number, at = varint(record, at)
                edit.deleted.append((level, number))
            elif tag == 7:
                level, at = varint(record, at)
                number, at = varint(record, at)
                _, at = varint(record, at)
                for _ in range(2):
                    length, at = varint(record, at)
                    at += length
                edit.added.append((level, number))
            else:
                raise ValueError(f"tag {tag} of a manifest")
        yield edit


def entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block without its trailer."""
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end, at, key = len(block) - 4 - 4 * restarts, 0, b""
    while at < end:
        shared, at = varint(block, at)
        further, at = varint(block, at)
        length, at = varint(block, at)
        key = key[:shared] + block[at : at + further]
        at += further
        yield key, block[at : at + length]
        at += length


def order(key: bytes) -> tuple[bytes, int]:
    """Where an internal key stands: by its user key, then newest first."""
    (tag,) = struct.unpack("<Q", key[-8:])
    return key[:-8], -tag


@dataclass(frozen=True)
class Block:
    """A data block of a table."""

    table: int
    offset: int
    raw: bytes
    """With its trailer."""


def blocks(folder: Path, number: int) -> list[Block]:
    """The data blocks of a table, in order."""
    data = (folder / f"{number:06}.ldb").read_bytes()
    footer = data[-FOOTER:]
    _, at = varint(footer, 0)
    _, at = varint(footer, at)
    offset, at = varint(footer, at)
    size, at = varint(footer, at)
    found = []
    for _, handle in entries(data[offset : offset + size]):
        start, at = varint(handle, 0)
        length, _ = varint(handle, at)
        if data[start + length] != 0:
            raise ValueError(f"table {number}: a compressed block")
        found.append(Block(number, start, data[start : start + length + TRAILER]))
    return found


@dataclass
class Counted:
    """Data blocks of the compactions to a level."""

    input_blocks: int = 0
    unchanged_blocks: int = 0
    output_blocks: int = 0
    reused_blocks: int = 0
    """Output blocks equal to an unchanged input block."""
    equal_blocks: int = 0
    """Output blocks equal to any input block."""
    reused_bytes: int = 0
    """Pages of reused blocks, if they are aligned."""


def compaction(folder: Path, edit: Edit, counted: Counted) -> None:
    """Count one compaction."""
    inputs = [block for _, number in edit.deleted for block in blocks(folder, number)]
    outputs = [block for _, number in edit.added for block in blocks(folder, number)]
    kept = {key for block in outputs for key, _ in entries(block.raw[:-TRAILER])}
    merged = sorted(
        (order(key), at, key)
        for at, block in enumerate(inputs)
        for key, _ in entries(block.raw[:-TRAILER])
    )
    runs: dict[int, int] = {}
    whole: dict[int, bool] = {}
    before = None
    for _, at, key in merged:
        runs[at] = runs.get(at, 0) + (at != before)
        whole[at] = whole.get(at, True) and key in kept
        before = at
    unchanged = {block.raw for at, block in enumerate(inputs) if runs[at] == 1 and whole[at]}
    anything = {block.raw for block in inputs}
    counted.input_blocks += len(inputs)
    counted.unchanged_blocks += sum(runs[at] == 1 and whole[at] for at in runs)
    counted.output_blocks += len(outputs)
    for block in outputs:
        counted.equal_blocks += block.raw in anything
        if block.raw in unchanged:
            counted.reused_blocks += 1
            counted.reused_bytes += -(-len(block.raw) // 4096) * 4096


def recount(folder: Path) -> dict[int, Counted]:
    """All compactions by output level."""
    found: dict[int, Counted] = {}
    (manifest,) = folder.glob("MANIFEST-*")
    for edit in edits(manifest.read_bytes()):
        numbers = {number for _, number in edit.added}
        # A flush takes nothing away; a move adds what it takes away; all else is a compaction.
        if edit.deleted and not numbers & {number for _, number in edit.deleted}:
            levels = {level for level, _ in edit.added} or {max(level for level, _ in edit.deleted)}
            (level,) = levels
            compaction(folder, edit, found.setdefault(level, Counted()))
    return found


def kept_tables(store: Path, kept: Path) -> None:
    """Link to the files of a store, so that its tables stay; call it after every step."""
    for file in store.iterdir():
        if file.suffix == ".ldb" or file.name.startswith("MANIFEST-"):
            target = kept / file.name
            if not target.exists():
                os.link(file, target)


def main() -> None:
    """Print the counts of a folder."""
    for level, counted in sorted(recount(Path(sys.argv[1])).items()):
        sys.stdout.write(f"level {level}: {counted}\n")


if __name__ == "__main__":
    main()
