"""What a store reports about itself, and what checking and repairing it found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LevelStats:
    """A level: its tables now, and the work done for it since the store was opened."""

    tables: int
    """Tables."""
    bytes: int
    """Bytes of them."""
    compactions: int
    """Compactions that wrote to it."""
    bytes_read: int
    """Bytes of tables that they read."""
    bytes_written: int
    """Bytes of tables written to it."""


@dataclass(frozen=True)
class TableStats:
    """A table of the store."""

    level: int
    """Its level."""
    number: int
    """Its number, from which its name follows."""
    bytes: int
    """Its length."""
    smallest: str
    """Its first key, with sequence number and kind, as text."""
    largest: str
    """Its last key, in the same form."""


@dataclass(frozen=True)
class ReuseStats:
    """Data blocks that compactions to a level reused, since the store was opened."""

    input_blocks: int
    """Data blocks that the compactions read."""
    unchanged_blocks: int
    """Those that ended unchanged: all pairs kept, no pair of another block between them."""
    output_blocks: int
    """Data blocks that the compactions wrote, reused ones too."""
    reused_blocks: int
    """Those that were reused: a table that was read has the same block."""
    bytes_shared: int
    """Bytes of reused blocks for which two tables share the storage."""
    bytes_copied: int
    """Bytes of reused blocks that were copied."""
    calls: int
    """Calls of the file layer for reused blocks: neighbours take one."""
    lost_dropped: int
    """Input blocks not reused because a pair was dropped."""
    lost_switched: int
    """Input blocks not reused because a pair of another block came between their pairs."""
    lost_cut: int
    """Input blocks not reused because a table ended among their pairs."""
    lost_unaligned: int
    """Unchanged blocks that do not fill whole pages, or are compressed."""
    lost_declined: int
    """Unchanged blocks that were declined, or wanted only if the open block was empty."""
    lost_different: int
    """Unchanged blocks that came out as other blocks."""

    @property
    def output_share(self) -> float | None:
        """Reused blocks divided by output blocks; None without output."""
        return self.reused_blocks / self.output_blocks if self.output_blocks else None

    @property
    def input_share(self) -> float | None:
        """Unchanged blocks divided by input blocks; None without input."""
        return self.unchanged_blocks / self.input_blocks if self.input_blocks else None


@dataclass(frozen=True)
class Stats:
    """The contents of a store, and the work done since it was opened."""

    levels: tuple[LevelStats, ...]
    """By level, from 0 on."""
    reuse: tuple[ReuseStats, ...]
    """By level, from 0 on."""
    why_copied: str | None
    """Why reused blocks are copied, if they should be shared and are not."""
    tables: tuple[TableStats, ...]
    """All tables, level by level."""
    moved: int
    """Tables that were moved to the next level unchanged."""
    slowed: int
    """Writes that were slowed down by a step."""
    stalled_steps: int
    """Steps for which writes waited."""
    logged: int
    """Changes found in logs while opening."""
    damaged_log_records: int
    """Records of logs left out while opening."""
    damaged_logs: tuple[str, ...]
    """The present names of the logs that held them; renamed logs can be removed."""
    tails: tuple[str, ...]
    """Tails of the manifest and the last log at opening (torn records, zeros), as messages."""


@dataclass(frozen=True)
class Verified:
    """What was read and found correct."""

    tables: int
    """Tables."""
    entries: int
    """Entries, hidden ones too."""
    bytes: int
    """Bytes of tables."""


@dataclass(frozen=True)
class Repaired:
    """What a repair found."""

    pairs: int
    """Pairs of the repaired store."""
    tables: int
    """Its tables."""
    lost: tuple[str, ...]
    """What could not be read."""
    kept: tuple[str, ...]
    """The present names of the old files; they can be removed."""
