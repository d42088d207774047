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


def varint(data: bytes, offset: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
        shift += 7


def records(data: bytes) -> Iterator[bytes]:
    """The records of a log or manifest."""
    offset, parts = 0, b""
    while offset + 7 <= len(data):
        if RECORD_BLOCK - offset % RECORD_BLOCK < 7:
            offset += RECORD_BLOCK - offset % RECORD_BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", data, offset)
        if kind == 0:
            return
        parts += data[offset + 7 : offset + 7 + length]
        offset += 7 + length
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
        edit, offset = Edit(), 0
        while offset < len(record):
            tag, offset = varint(record, offset)
            if tag in {2, 3, 4, 9}:
                _, offset = varint(record, offset)
            elif tag == 1:
                length, offset = varint(record, offset)
                offset += length
            elif tag == 5:
                _, offset = varint(record, offset)
                length, offset = varint(record, offset)
                offset += length
            elif tag == 6:
                level, offset = varint(record, offset)
                number, offset = varint(record, offset)
                edit.deleted.append((level, number))
            elif tag == 7:
                level, offset = varint(record, offset)
                number, offset = varint(record, offset)
                _, offset = varint(record, offset)
                for _ in range(2):
                    length, offset = varint(record, offset)
                    offset += length
                edit.added.append((level, number))
            else:
                raise ValueError(f"tag {tag} of a manifest")
        yield edit


def entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block without its trailer."""
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end, offset, key = len(block) - 4 - 4 * restarts, 0, b""
    while offset < end:
        shared_length, offset = varint(block, offset)
        suffix_length, offset = varint(block, offset)
        length, offset = varint(block, offset)
        key = key[:shared_length] + block[offset : offset + suffix_length]
        offset += suffix_length
        yield key, block[offset : offset + length]
        offset += length


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
    _, position = varint(footer, 0)
    _, position = varint(footer, position)
    offset, position = varint(footer, position)
    size, position = varint(footer, position)
    blocks_of_table = []
    for _, handle in entries(data[offset : offset + size]):
        start, position = varint(handle, 0)
        length, _ = varint(handle, position)
        if data[start + length] != 0:
            raise ValueError(f"table {number}: a compressed block")
        blocks_of_table.append(Block(number, start, data[start : start + length + TRAILER]))
    return blocks_of_table


@dataclass
class BlockCounts:
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


def compaction(folder: Path, edit: Edit, counts: BlockCounts) -> None:
    """Count one compaction."""
    inputs = [block for _, number in edit.deleted for block in blocks(folder, number)]
    outputs = [block for _, number in edit.added for block in blocks(folder, number)]
    output_keys = {key for block in outputs for key, _ in entries(block.raw[:-TRAILER])}
    merged = sorted(
        (order(key), index, key)
        for index, block in enumerate(inputs)
        for key, _ in entries(block.raw[:-TRAILER])
    )
    runs: dict[int, int] = {}
    is_kept: dict[int, bool] = {}
    previous = None
    for _, index, key in merged:
        runs[index] = runs.get(index, 0) + (index != previous)
        is_kept[index] = is_kept.get(index, True) and key in output_keys
        previous = index
    unchanged_blocks = {
        block.raw for index, block in enumerate(inputs) if runs[index] == 1 and is_kept[index]
    }
    input_blocks = {block.raw for block in inputs}
    counts.input_blocks += len(inputs)
    counts.unchanged_blocks += sum(runs[index] == 1 and is_kept[index] for index in runs)
    counts.output_blocks += len(outputs)
    for block in outputs:
        counts.equal_blocks += block.raw in input_blocks
        if block.raw in unchanged_blocks:
            counts.reused_blocks += 1
            counts.reused_bytes += -(-len(block.raw) // 4096) * 4096


def recount(folder: Path) -> dict[int, BlockCounts]:
    """All compactions by output level."""
    counts_by_level: dict[int, BlockCounts] = {}
    (manifest,) = folder.glob("MANIFEST-*")
    for edit in edits(manifest.read_bytes()):
        numbers = {number for _, number in edit.added}
        # A flush takes nothing away; a move adds what it takes away; all else is a compaction.
        if edit.deleted and not numbers & {number for _, number in edit.deleted}:
            levels = {level for level, _ in edit.added} or {max(level for level, _ in edit.deleted)}
            (level,) = levels
            compaction(folder, edit, counts_by_level.setdefault(level, BlockCounts()))
    return counts_by_level


def kept_tables(store: Path, folder: Path) -> None:
    """Link to the files of a store, so that its tables stay; call it after every step."""
    for file in store.iterdir():
        if file.suffix == ".ldb" or file.name.startswith("MANIFEST-"):
            target = folder / file.name
            if not target.exists():
                os.link(file, target)


def main() -> None:
    """Print the counts of a folder."""
    for level, counts in sorted(recount(Path(sys.argv[1])).items()):
        sys.stdout.write(f"level {level}: {counts}\n")


if __name__ == "__main__":
    main()
